#!/usr/bin/env python3
"""bench/cuda measurements: plans are near what others measured and above the bandwidth of no device; and what they depend on:
threads, rows that are gathered, steps of recurrent calls."""

import json
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cli"), str(ROOT / "scripts"), str(ROOT / "bench" / "parts")]
import cuda_measurements
import numpy
import onnx
import tested_programs
from onnx import TensorProto, helper

LEMMA = None
BOUND = 0.3


class Measurements(unittest.TestCase):
    def test_plans_are_near_what_was_measured_and_above_no_bandwidth(self):
        entries = json.loads(cuda_measurements.FILE.read_text())["measurements"]
        self.assertGreaterEqual(len(entries), 12)
        self.assertTrue(all(entry["source"] for entry in entries))
        for row, is_too_fast in cuda_measurements.rows_of(LEMMA, entries):
            self.assertLess(abs(row[4] - 1), BOUND, row)
            self.assertFalse(is_too_fast, row)


class Costs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-costs-")
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "model.onnx"

    def plan(self, builder, *words):
        onnx.save(builder.model(), self.file)
        done = subprocess.run([LEMMA, *words[:1], self.file, *words[1:], "--json"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_more_threads_hide_more_of_the_latency(self):
        """Rows that lie far from each other are read one element at a time."""
        builder = cuda_measurements.Builder("f32")
        builder.tensor("x", [33000, 31], builder.inputs)
        builder.weight("axes", [1])
        builder.node("ReduceProd", ["x", "axes"], "y", keepdims=0)
        builder.tensor("y", [33000], builder.outputs)
        seconds = [self.plan(builder, "emit", "--target", "cuda", "--plan", "--block-threads", threads)["planned_seconds"]
                   for threads in ("64", "128", "256")]
        self.assertEqual(sorted(seconds, reverse=True), seconds)
        self.assertEqual(len(set(seconds)), 3, seconds)

    def test_plans_take_no_memory_for_the_tensors(self):
        """4 GiB of an input, with 2 for all of the program."""
        model, _ = cuda_measurements.model_of("sum", [1 << 30], "f32")
        onnx.save(model, self.file)
        limit = 2 << 30
        done = subprocess.run([LEMMA, "schedule", self.file, "--device", "h100", "--json"], capture_output=True, text=True, timeout=60,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_gather_costs_what_it_reads(self):
        seconds = []
        for rows in (1000, 100000):
            builder = cuda_measurements.Builder("f32")
            builder.inputs.append(helper.make_tensor_value_info("i", TensorProto.INT64, [128]))
            builder.node("Gather", [builder.tensor("x", [rows, 768], builder.inputs), "i"], "y", axis=0)
            builder.tensor("y", [128, 768], builder.outputs)
            seconds.append(self.plan(builder, "schedule", "--device", "h100")["schedule"]["seconds"])
        self.assertLess(max(seconds), 20e-6)
        self.assertLess(seconds[1], 1.1 * seconds[0])

    def test_steps_of_a_recurrent_call_cost_time(self):
        def seconds(steps):
            builder = cuda_measurements.Builder("f32")
            builder.tensor("x", [steps, 1, 256], builder.inputs)
            for name, sizes in (("w", [1, 1024, 256]), ("r", [1, 1024, 256])):
                builder.weight(name, numpy.zeros(sizes, numpy.float32), TensorProto.FLOAT)
            builder.nodes.append(helper.make_node("LSTM", ["x", "w", "r"], ["", "y"], hidden_size=256))
            builder.tensor("y", [1, 1, 256], builder.outputs)
            plan = self.plan(builder, "schedule", "--device", "h100", "--call-costs", "h100")
            return plan["library_calls"]["graph_seconds"]

        self.assertGreater(seconds(20) - seconds(4), 16 * 1e-6)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
