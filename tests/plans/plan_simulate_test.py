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
