#!/usr/bin/env python3
"""lemma plan simulate: what devices compute and send adds up, collectives and messages take their time, and a trace and a picture have
all tasks."""

import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models"), str(ROOT / "tests" / "cli")]
import environment

environment.enter_or_skip()

import onnx
import placed
import sharded
import tested_programs

LEMMA = None
# Of Chakra's schema (MLCommons, schema/protobuf/et_def.proto): types of nodes, and numbers of fields.
COMP, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
INT64, STRING = 9, 29


def varint(value):
    result = b""
    while value > 127:
        result, value = result + bytes([value & 127 | 128]), value >> 7
    return result + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(number, kind, waits_for=(), micros=0, **attributes):
    text = field(1, number) + field(2, f"n{number}") + field(3, kind) + b"".join(field(5, other) for other in waits_for)
    text += field(7, micros) + field(99, "of a later version")
    for name, value in attributes.items():
        text += field(10, field(1, name) + field(INT64 if isinstance(value, int) else STRING, value))
    return text


def trace(*nodes):
    return b"".join(varint(len(text)) + text for text in (field(1, "0.0.4"), *nodes))


class Simulate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        onnx.save(sharded.layers(), self.folder / "model.onnx")

    def lemma(self, *words, code=0):
        done = subprocess.run([LEMMA, "plan", *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def simulated(self, *words):
        return json.loads(self.lemma("simulate", "model.onnx", *words, "--json").stdout)

    def test_devices_that_do_the_same_take_the_same(self):
        self.lemma("make", "model.onnx", "--cluster", "local-2", "--place", "x:0", "-o", "plan.json")
        found = self.simulated("plan.json", "--cluster", "local-2")
        first, second = found["ranks"]
        self.assertEqual(first, second)
        self.assertGreater(first["computing_seconds"], 0)
        self.assertEqual(first["sending_seconds"], 0)
        self.assertAlmostEqual(found["seconds"], first["computing_seconds"], places=10)
        self.assertEqual(found["least_seconds"], found["seconds"])
        # x and y in halves, all weights, and the largest two neighbours of what lies between.
        self.assertGreater(first["peak_bytes"], 4 * (sharded.WIDTH * sharded.HIDDEN * 2 + sharded.ROWS // 2 * sharded.WIDTH))

    def test_a_collective_has_the_ports_of_all(self):
        specifications, devices = sharded.RIGHT["tensor"]
        onnx.save(sharded.with_specifications(sharded.layers(), specifications, devices), self.folder / "sharded.onnx")
        found = self.simulated("sharded.onnx", "--cluster", "local-2")
        first, second = found["ranks"]
        self.assertGreater(first["sending_seconds"], 0)
        self.assertEqual(first["sending_seconds"], first["receiving_seconds"])
        self.assertEqual(first, second)
        self.assertGreater(found["seconds"], first["computing_seconds"])

    def test_a_part_of_what_a_device_has_takes_no_time(self):
        self.lemma("make", "model.onnx", "--cluster", "local-2", "--place", "x:replicated", "--place", "y:0", "-o", "plan.json")
        self.simulated("plan.json", "--cluster", "local-2", "--events", "trace.json")
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        own_parts = [event for event in events if event["ph"] == "X" and event["name"] == "OwnPart"]
        self.assertGreater(len(own_parts), 0)
        self.assertEqual({event["dur"] for event in own_parts}, {0})
        rows = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
        self.assertEqual({rows[event["tid"]] for event in own_parts}, {"device 0", "device 1"})

    def test_trace_and_picture_have_all_tasks(self):
        single, ranks = placed.KINDS["pipeline"]()
        onnx.save(single, self.folder / "model.onnx")
        files = []
        for rank, model in enumerate(ranks):
            files.append(f"rank{rank}.onnx")
            onnx.save(model, self.folder / files[-1])
        found = self.simulated(*files, "--cluster", "local-4", "--events", "trace.json", "--timeline", "picture.svg")
        self.assertLessEqual(found["least_seconds"], found["seconds"])
        self.assertLess(found["seconds"], sum(rank["computing_seconds"] for rank in found["ranks"]))
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        rows = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
        busy = {}
        for event in events:
            if event["ph"] == "X":
                busy[rows[event["tid"]]] = busy.get(rows[event["tid"]], 0) + event["dur"] * 1e-6
        for number, rank in enumerate(found["ranks"]):
            self.assertAlmostEqual(busy[f"device {number}"], rank["computing_seconds"], places=12)
            self.assertAlmostEqual(busy.get(f"out of {number}", 0), rank["sending_seconds"], places=12)
        for rank in range(len(ranks)):
            used = [event["args"]["bytes"] for event in events if event["ph"] == "C" and event["name"] == f"memory {rank}"]
            self.assertEqual(max(used), found["ranks"][rank]["peak_bytes"])
        picture = xml.etree.ElementTree.parse(self.folder / "picture.svg").getroot()
        boxes = [box for box in picture.iter() if box.tag.endswith("rect")]
        self.assertEqual(len(boxes), sum(1 for event in events if event["ph"] == "X"))
        again = self.folder / "again.svg"
        self.simulated(*files, "--cluster", "local-4", "--timeline", again)
        self.assertEqual(again.read_bytes(), (self.folder / "picture.svg").read_bytes())

    def replayed(self, *traces, groups=None, code=0):
        files = []
        for rank, data in enumerate(traces):
            files.append(f"own.{rank}.et")
            (self.folder / files[-1]).write_bytes(data)
        more = []
        if groups is not None:
            (self.folder / "groups.json").write_text(groups)
            more = ["--groups", "groups.json"]
        done = self.lemma("replay", *files, "--cluster", "local-2", "--json", *more, code=code)
        return done.stderr if code else json.loads(done.stdout)

    def test_what_is_written_for_others_is_simulated_alike(self):
        single, ranks = placed.KINDS["pipeline"]()
        onnx.save(single, self.folder / "stages.onnx")
        for rank, model in enumerate(ranks):
            onnx.save(model, self.folder / f"rank{rank}.onnx")
        self.lemma("make", "model.onnx", "--cluster", "local-2", "--place", "x:replicated", "--place", "y:0", "-o", "plan.json")
        for model, program, cluster, count in (("model.onnx", ["plan.json"], "local-2", 2),
                                               ("stages.onnx", [f"rank{rank}.onnx" for rank in range(len(ranks))], "local-4", len(ranks))):
            done = self.lemma("simulate", model, *program, "--cluster", cluster, "--chakra", "out", "--json")
            before = json.loads(done.stdout)
            files = [f"out.{rank}.et" for rank in range(count)]
            again = json.loads(self.lemma("replay", *files, "--groups", "out.groups.json", "--cluster", cluster, "--json").stdout)
            self.assertAlmostEqual(again["seconds"], before["seconds"], places=11)
            for old, new in zip(before["ranks"], again["ranks"]):
                old.pop("peak_bytes")
                self.assertEqual(old, new)

    def test_traces_of_others_are_read(self):
        # Rank 0 computes for 5 us and sends what rank 1 needs for 7 us of its own.
        found = self.replayed(trace(node(1, COMP, micros=5), node(2, SEND, [1], comm_size=1000, comm_dst=1, comm_src=0)),
                              trace(node(1, RECEIVE, comm_size=1000, comm_dst=1, comm_src=0), node(2, COMP, [1], micros=7)))
        for rank, seconds in zip(found["ranks"], (5e-6, 7e-6)):
            self.assertAlmostEqual(rank["computing_seconds"], seconds, places=12)
        self.assertGreater(found["ranks"][0]["sending_seconds"], 0)
        self.assertGreater(found["seconds"], 12e-6 + found["ranks"][0]["sending_seconds"])
        # Both wait for the slower one.
        both = [trace(node(1, COMP, micros=micros), node(2, COLLECTIVE, [1], comm_size=1 << 20, comm_type=0, pg_name="all"),
                      node(3, COMP, [2], micros=1)) for micros in (2, 9)]
        found = self.replayed(*both, groups='{"all": [0, 1]}')
        self.assertAlmostEqual(found["seconds"], 10e-6 + found["ranks"][0]["sending_seconds"], places=11)

    def test_traces_that_are_none_are_refused_in_a_line(self):
        message = {"comm_size": 8, "comm_src": 0, "comm_dst": 1}
        compute, sent = node(1, COMP, micros=1), node(2, SEND, **message)
        gathered = node(3, COLLECTIVE, comm_size=8, comm_type=2)
        for traces, groups, words in (
                ([trace(compute)[:-3], trace(compute)], None, r"own\.0\.et: the message at byte 8 is cut off"),
                ([b"", trace(compute)], None, r"own\.0\.et: it is empty"),
                ([b"\x03\xff\xff\xff", trace()], None, r"the message at byte 0 is none of a Chakra trace"),
                ([trace(compute, compute), trace()], None, r"two nodes have the id 1"),
                ([trace(node(1, COMP, [7])), trace()], None, r"node 1 'n1' waits for node 7, which is not there"),
                ([trace(node(1, COMP, [2]), node(2, COMP, [1])), trace()], None, r"'n1' waits for operations that wait for it"),
                ([trace(sent), trace(compute)], None, r"rank 1 has not the other end of this message"),
                ([trace(sent), trace(node(1, RECEIVE, **{**message, "comm_size": 9}))], None, r"have other sizes"),
                ([trace(node(1, SEND, comm_size=8, comm_src=0, comm_dst=5)), trace()], None, r"there is no other rank 5"),
                ([trace(node(1, SEND, comm_dst=1)), trace()], None, r"it needs the attribute comm_size"),
                ([trace(gathered), trace()], None, r"1 of the 2 ranks of its group have this collective"),
                ([trace(gathered), trace(node(3, COLLECTIVE, comm_size=8, comm_type=0))], None, r"is another collective than"),
                ([trace(node(3, COLLECTIVE, comm_size=8, comm_type=3))] * 2, None, r"how long GATHER takes is not known"),
                ([trace(node(3, COLLECTIVE, comm_size=8, comm_type=77))] * 2, None, r"there is no collective 77"),
                ([trace(node(3, COLLECTIVE, comm_size=8, comm_type=0, pg_name="a"))] * 2, None, r"there is no group 'a' \(--groups\)"),
                ([trace(compute)] * 2, '{"a": [0, 2]}', r"group 'a': 2 is none of the 2 ranks"),
                ([trace(compute)] * 2, "[]", r"groups\.json: it is no JSON object of groups"),
                ([trace(node(1, COMP, micros=1 << 62)), trace()], None, r"it takes more than 10\^6 seconds"),
                # Each waits for what the other sends later.
                ([trace(node(1, RECEIVE, comm_size=8, comm_src=1, comm_dst=0), node(2, SEND, [1], **message)),
                  trace(node(1, RECEIVE, **message), node(2, SEND, [1], comm_size=8, comm_src=1, comm_dst=0))], None, r"waits? for")):
            with self.subTest(words):
                said = self.replayed(*traces, groups=groups, code=2)
                self.assertRegex(said, rf"^lemma: .*{words}.*\n$")
        said = self.lemma("replay", "own.0.et", "own.1.et", "own.0.et", "--cluster", "local-2", code=2).stderr
        self.assertRegex(said, r"^lemma: there are traces of 3 ranks, and the cluster '.*' has 2 devices\n$")

    def test_mistakes_are_answered_in_a_line(self):
        self.lemma("make", "model.onnx", "--cluster", "local-4", "--own-operators", "-o", "plan.json")
        said = self.lemma("simulate", "model.onnx", "plan.json", "--cluster", "local-2", code=2).stderr
        self.assertRegex(said, r"^lemma: the plan is for 4 devices, and the cluster '.*' has 2\n$")
        self.lemma("make", "model.onnx", "--cluster", "local-2", "--place", "x:0", "-o", "two.json")
        said = self.lemma("simulate", "model.onnx", "two.json", "--cluster", "local-4", code=2).stderr
        self.assertRegex(said, r"^lemma: the plan is for 2 devices, and the cluster '.*' has the meshes .*\n$")
        said = self.lemma("simulate", "model.onnx", "two.json", "--cluster", "local-2", "--events", "model.onnx", code=2).stderr
        self.assertIn("model.onnx", said)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
