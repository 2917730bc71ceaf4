#!/usr/bin/env python3
"""lemma plan run --schedule: collectives by schedules give what the built-in ways give, with the messages and bytes of the schedule, and
a schedule that is wrong or does not fit is refused in a line."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models"), str(ROOT / "tests" / "cli")]
import environment

environment.enter_or_skip()

import onnx
from onnx import TensorProto, helper
import tested_programs

LEMMA = None
RANKS, ROWS, COLUMNS = 4, 8, 16


def rank_model(op, rows, **attributes):
    """y is a collective of the square of what a rank has."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, COLUMNS])
    y = helper.make_empty_tensor_value_info("y")
    nodes = [helper.make_node("Mul", ["x", "x"], ["square"]),
             helper.make_node(op, ["square"], ["y"], domain="lemma", group_size=RANKS, **attributes)]
    y.type.tensor_type.elem_type = TensorProto.FLOAT
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("lemma", 1)]
    return helper.make_model(helper.make_graph(nodes, "rank", [x], [y]), opset_imports=opsets, ir_version=9)


def single_model(sums):
    x, y = (helper.make_empty_tensor_value_info(name) for name in "xy")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [RANKS * ROWS, COLUMNS])
    y.type.tensor_type.elem_type = TensorProto.FLOAT
    nodes = [helper.make_node("Mul", ["x", "x"], ["square" if sums else "y"])]
    weights = []
    if sums:
        weights = [helper.make_tensor("sizes", TensorProto.INT64, [3], [RANKS, ROWS, COLUMNS]), helper.make_tensor("axes", TensorProto.INT64, [1], [0])]
        nodes += [helper.make_node("Reshape", ["square", "sizes"], ["stacked"]),
                  helper.make_node("ReduceSum", ["stacked", "axes"], ["y"], keepdims=0)]
    return helper.make_model(helper.make_graph(nodes, "single", [x], [y], weights), opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


MODELS = {"all-reduce": (True, "AllReduce", {}), "all-gather": (False, "AllGather", {"axis": 0}), "reduce-scatter": (True, "ReduceScatter", {"axis": 0})}


class Schedules(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def lemma(self, *words, code=0, launcher=()):
        done = subprocess.run([*launcher, LEMMA, "plan", *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def write(self, collective):
        sums, op, attributes = MODELS[collective]
        onnx.save(single_model(sums), self.folder / "single.onnx")
        onnx.save(rank_model(op, ROWS, **attributes), self.folder / "rank.onnx")
        return ("single.onnx", *["rank.onnx"] * RANKS, "--place", "x:0")

    def run_by(self, files, *words, launcher=()):
        return json.loads(self.lemma("run", *files, *words, "--json", launcher=launcher).stdout)

    def schedule(self, collective, topology, *words):
        self.lemma("collective", topology, "--collective", collective, *words, "-o", "schedule.json")
        return json.loads((self.folder / "schedule.json").read_text())

    def test_results_and_traffic(self):
        ways = (("full:4", "--algorithm", "naive"), ("ring:4", "--algorithm", "ring"), ("full:4", "--algorithm", "tree"), ("one-way-ring:4", "--greedy", "--chunks", "2"))
        for collective in MODELS:
            files = self.write(collective)
            built_in = self.run_by(files)
            self.assertEqual(built_in["schedules"], [])
            for way in ways:
                with self.subTest(collective=collective, way=way):
                    schedule = self.schedule(collective, *way)
                    found = self.run_by(files, "--schedule", "schedule.json")
                    self.assertLess(found["difference"], 1e-6)
                    sends = schedule["sends"] if "sends" in schedule else [send for step in schedule["steps"] for send in step["sends"]]
                    chunk = ROWS * COLUMNS * 4 * (RANKS if collective == "all-gather" else 1) // schedule["chunks"]
                    for rank, sent in enumerate(found["ranks"]):
                        own = sum(send[0] == rank for send in sends)
                        self.assertEqual((sent["messages"], sent["bytes"], sent["planned_bytes"]), (own, own * chunk, own * chunk))
                    (used,) = found["schedules"]
                    self.assertEqual((used["collective"], used["sends"], used["exchanges"]), (collective, len(sends), 1))
                    if "steps" in schedule:
                        self.assertEqual(used["steps"], len(schedule["steps"]))

    def test_processes_and_messages_of_pairs(self):
        files = self.write("all-reduce")
        self.schedule("all-reduce", "ring:4", "--algorithm", "ring")
        threads = self.lemma("run", *files, "--schedule", "schedule.json").stdout
        self.assertRegex(threads, r"all-reduce of 4 ranks by a schedule \(ring\): 6 steps, 24 sends of one of 4 chunks, 1 times in a step")
        self.assertEqual(self.lemma("run", *files, "--schedule", "schedule.json", "--exchange", "send-receive").stdout, threads)
        if shutil.which("mpirun") is None or not (Path(LEMMA).resolve().parent.parent / "lib" / "lemma" / "lemma_mpi_plans.so").exists():
            self.skipTest("lemma was built without MPI, or there is no mpirun")
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "4"]
        self.assertEqual(self.lemma("run", *files, "--schedule", "schedule.json", launcher=launcher).stdout, threads)

    def refused(self, said, *words):
        done = self.lemma("run", *words, code=2)
        self.assertIn(said, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_what_does_not_fit_is_refused(self):
        files = self.write("all-reduce")
        right = self.schedule("all-reduce", "ring:4", "--algorithm", "ring")
        (self.folder / "wrong.json").write_text(json.dumps({**right, "steps": right["steps"][:-1]}))
        self.refused("wrong.json: the schedule of an all-reduce of 4 ranks is wrong: ", *files, "--schedule", "wrong.json")
        self.refused("is given twice", *files, "--schedule", "schedule.json", "--schedule", "schedule.json")
        self.refused("--schedule is for --exchange collectives or send-receive", *files, "--schedule", "schedule.json", "--exchange", "one-sided")
        self.schedule("all-reduce", "ring:3", "--algorithm", "ring")
        self.refused("which has no AllReduce of 3 ranks", *files, "--schedule", "schedule.json")
        self.schedule("all-gather", "ring:4", "--algorithm", "ring")
        self.refused("which has no AllGather of 4 ranks", *files, "--schedule", "schedule.json")
        self.schedule("all-reduce", "full:4", "--greedy", "--chunks", "3")
        self.refused("it has 12 chunks, and the tensor 128 elements", *files, "--schedule", "schedule.json")
        self.refused("absent.json", *files, "--schedule", "absent.json")

    def test_timed_schedules_of_sums_are_checked(self):
        made = self.schedule("all-reduce", "mesh:2x2", "--greedy")
        self.assertIn("the schedule is right", self.lemma("collective", "mesh:2x2", "--schedule", "schedule.json").stdout)
        made["sends"].pop()
        (self.folder / "schedule.json").write_text(json.dumps(made))
        self.assertIn("wrong: the end: node", self.lemma("collective", "mesh:2x2", "--schedule", "schedule.json", code=4).stdout)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
