#!/usr/bin/env python3
"""bench/cuda plans: its figures are those of `lemma schedule`, orders change where costs do, and what has no plan is said."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cli"), str(ROOT / "scripts"), str(ROOT / "bench" / "parts")]
import cuda_plans
import tested_programs
import tiny_models
from tiny_models import F32, node, tensor_type

LEMMA = None
COMMAND = [ROOT / "bench" / "cuda", "plans"]


class Plans(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-plans-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def model(self, name, rows):
        matrix, square = tensor_type(F32, [rows, 64]), tensor_type(F32, [64, 64])
        file = self.folder / f"{name}.onnx"
        nodes = [node("MatMul", ["x", "a"], ["p"]), node("Tanh", ["p"], ["q"]), node("MatMul", ["q", "a"], ["y"])]
        file.write_bytes(tiny_models.model(nodes, [("x", matrix), ("a", square)], [("y", matrix)]))
        return file

    def run_it(self, *words):
        return subprocess.run([sys.executable, *COMMAND, "--lemma", LEMMA, *map(str, words)], capture_output=True, text=True,
                              timeout=120)

    def predicted(self, *words):
        file = self.folder / "plans.json"
        done = self.run_it(*words, "--json", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, file.read_text()

    def test_figures_are_those_of_the_schedule(self):
        model = self.model("chain", 32)
        output, text = self.predicted(model)
        plans = json.loads(text)["plans"]
        self.assertEqual([plan["device"] for plan in plans], ["h100", "a100"])
        for plan in plans:
            done = subprocess.run([LEMMA, "schedule", model, "--device", plan["device"], "--stitch",
                                   "--json"], capture_output=True, text=True, check=True)
            self.assertEqual(plan["seconds"]["c"], json.loads(done.stdout)["schedule"]["seconds"])
            self.assertEqual((plan["library_calls"], plan["kernels"], plan["launches"]), (2, 1, {"a": 3, "b": 3, "c": 1}))
            self.assertEqual(plan["bytes"]["a"], 4 * (2 * (2 * 32 * 64 + 64 * 64) + 2 * 32 * 64))
            # Three launches of 3.8 microseconds, or of 1.3 in a graph.
            self.assertAlmostEqual(plan["seconds"]["a"] - plan["seconds"]["b"], 3 * 2.5e-6, places=12)
        self.assertEqual(output.count("launches     3 (   2 of libraries)"), 2)

    def test_operators_of_the_file_are_not_taken_apart(self):
        """A normalisation is one kernel for (a) and (b), though the program has its parts."""
        file = self.folder / "normalization.onnx"
        nodes = [node("LayerNormalization", ["x", "s"], ["n"]), node("Relu", ["n"], ["y"])]
        matrix = tensor_type(F32, [32, 64])
        file.write_bytes(tiny_models.model(nodes, [("x", matrix), ("s", tensor_type(F32, [64]))], [("y", matrix)]))
        _, text = self.predicted(file, "--device", "h100")
        self.assertEqual([plan["kernels"] for plan in json.loads(text)["plans"]], [2])

    def test_the_same_call_writes_the_same_bytes(self):
        model = self.model("chain", 32)
        self.assertEqual(self.predicted(model), self.predicted(model))

    def test_what_has_no_plan_is_left_out_with_the_reason(self):
        output, text = self.predicted(self.model("symbolic", "N"), self.model("chain", 8), "--device", "h100")
        self.assertIn("left out: the sizes of input 'x', f32[N, 64], are not fixed; give --shape", output)
        self.assertIn("1 plans, 1 left out", output)
        self.assertNotIn("seconds", json.loads(text)["plans"][0])
        missing = self.run_it(self.model("chain", 8), "--device", "no-such-device")
        self.assertIn("no-such-device", missing.stdout)
        self.assertEqual(missing.returncode, 4)

    def test_orders_change_with_the_costs(self):
        base = {"one_by_one_seconds": 3, "graph_seconds": 2, "schedule_seconds": 1}
        self.assertEqual(cuda_plans.order(base), "c < b < a")
        plan = {"library_calls": {"scaled": [{"factor": 1.5, "launches": {**base, "one_by_one_seconds": 4},
                                              "waits": {"schedule_seconds": 2.5}}]}}
        self.assertEqual(cuda_plans.scaled_orders(plan, base), {"launches x 1.5": "c < b < a", "waits x 1.5": "b < c < a"})


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
