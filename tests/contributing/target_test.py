#!/usr/bin/env python3
"""The worked example of "Add a target" in CONTRIBUTING.md: a description of a device in a file of one's own is a target, by which
models are optimized and priced."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import tested_programs
import tiny_models as onnx

LEMMA = None


def example(name):
    return re.search(rf"<!-- example: {name} -->\n```json\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)[1]


def model():
    """Twice the same function of x, and their sum."""
    kind = onnx.tensor_type(onnx.F32, [64, 64])
    nodes = [onnx.node("Tanh", ["x"], ["a"]), onnx.node("Tanh", ["x"], ["b"]), onnx.node("Add", ["a", "b"], ["c"]),
             onnx.node("Relu", ["c"], ["d"]), onnx.node("Relu", ["d"], ["y"])]
    return onnx.model(nodes, [("x", kind)], [("y", kind)])


class Target(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.model = self.folder / "model.onnx"
        self.model.write_bytes(model())
        self.device = self.folder / "machine.json"
        self.device.write_text(example("device"))

    def run_lemma(self, *words, code=0):
        done = subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_models_are_optimized_for_it(self):
        words = ["optimize", self.model, "-o", self.folder / "out.onnx", "--target", self.device, "--json"]
        report = json.loads(self.run_lemma(*words).stdout)["models"][0]
        self.assertEqual(report["status"], "optimized")
        self.assertLess(report["cost_after"], report["cost_before"])

    def test_it_prices_models(self):
        def cost():
            said = json.loads(self.run_lemma("inspect", self.model, "--device", self.device, "--json").stdout)
            self.assertEqual(said["device"], json.loads(self.device.read_text())["operators"]["name"])
            return said["cost"]

        before = cost()
        slower = json.loads(self.device.read_text())
        slower["operators"]["elementwise_flops_per_second"]["f32"] /= 100
        self.device.write_text(json.dumps(slower))
        self.assertGreater(cost(), 5 * before)

    def test_a_missing_entry_is_named(self):
        broken = json.loads(self.device.read_text())
        del broken["operators"]["memory_bytes_per_second"]
        self.device.write_text(json.dumps(broken))
        said = self.run_lemma("optimize", self.model, "-o", self.folder / "out.onnx", "--target", self.device, code=2).stderr
        self.assertIn("machine.json", said)
        self.assertIn("memory_bytes_per_second", said)
        self.assertFalse((self.folder / "out.onnx").exists())


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
