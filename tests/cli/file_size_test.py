#!/usr/bin/env python3
"""How large the file of a result may be. Models are encoded by hand."""

import json
import pathlib
import random as random_numbers
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, I64, integers_attribute, node, tensor_type

LEMMA = None
SIZE = 30


def with_fills(count):
    """y = Relu(Relu(...)) of products of x with matrices of one number each, which take 3,600 bytes when they are
    written out."""
    nodes, initializers, value = [], [tiny_models.tensor("shape", [2], [SIZE, SIZE], I64)], "x"
    for i in range(count):
        initializers.append(tiny_models.tensor(f"c{i}", [1], [0.125 * (i + 1)]))
        nodes += [node("Expand", [f"c{i}", "shape"], [f"fill{i}"]), node("MatMul", [value, f"fill{i}"], [f"product{i}"]),
                  node("Sigmoid", [f"product{i}"], [f"s{i}"])]
        value = f"s{i}"
    nodes += [node("Relu", [value], ["r"]), node("Relu", ["r"], ["y"])]
    matrix = tensor_type(F32, [SIZE, SIZE])
    return tiny_models.model(nodes, [("x", matrix)], [("y", matrix)], initializers=initializers)


def residual_block(channels, size):
    """Relu(Conv3x3(Relu(Conv3x3(x))) + Conv1x1(x)): the example of TASO (Jia and others, SOSP 2019, figure 3)."""
    random = random_numbers.Random(1)

    def weights(name, kernel):
        count = channels * channels * kernel * kernel
        values = [random.uniform(-1, 1) / (channels * kernel) for _ in range(count)]
        return tiny_models.tensor(name, [channels, channels, kernel, kernel], values)

    pads = integers_attribute("pads", [1, 1, 1, 1])
    nodes = [node("Conv", ["x", "a"], ["p"], attributes=[pads]), node("Relu", ["p"], ["q"]),
             node("Conv", ["q", "b"], ["r"], attributes=[pads]), node("Conv", ["x", "c"], ["s"]),
             node("Add", ["r", "s"], ["t"]), node("Relu", ["t"], ["y"])]
    image = tensor_type(F32, [1, channels, size, size])
    return tiny_models.model(nodes, [("x", image)], [("y", image)], initializers=[weights("a", 3), weights("b", 3), weights("c", 1)])


class DescribedDevices(unittest.TestCase):
    """A kernel of 1x1 that is enlarged pays where launches are expensive, and not where arithmetic is."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-file-size-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def optimized(self, model, device, *words):
        """The status, the growth in bytes, and what is said."""
        file, result = self.folder / "model.onnx", self.folder / "result.onnx"
        file.write_bytes(model)
        done = subprocess.run([LEMMA, "optimize", file, "-o", result, "--device", device, "--no-second-judge", "--json", *words],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)["models"][0]
        return report["status"], result.stat().st_size - len(model), report["message"]

    def test_one_block_has_two_answers(self):
        block = residual_block(64, 28)
        status, growth, _ = self.optimized(block, "v100-2019")
        self.assertEqual(status, "optimized")
        self.assertGreater(growth, 100000)
        self.assertLess(growth, len(block))
        self.assertEqual(self.optimized(block, "k80")[0], "unchanged")

    def test_a_result_that_is_too_large_is_told(self):
        status, growth, message = self.optimized(residual_block(64, 14), "v100-2019", "--max-growth", "10")
        self.assertEqual((status, growth), ("unchanged", 0))
        self.assertIn("--max-growth allows more", message)
        self.assertIn("is not written", message)


class FileSize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-file-size-")
        self.addCleanup(folder.cleanup)
        self.model = pathlib.Path(folder.name) / "model.onnx"
        self.result = pathlib.Path(folder.name) / "result.onnx"
        self.model.write_bytes(with_fills(5))

    def growth(self, command, *words):
        """In bytes."""
        done = subprocess.run([LEMMA, command, self.model, "-o", self.result, "--no-second-judge", *words],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotEqual(self.model.read_bytes(), self.result.read_bytes(), done.stderr)
        return self.result.stat().st_size - self.model.stat().st_size

    def test_a_result_that_was_not_timed_is_hardly_larger(self):
        self.assertLessEqual(self.growth("optimize", "--no-measure"), 4096)

    def test_no_growth_is_no_growth(self):
        self.assertLessEqual(self.growth("optimize", "--no-measure", "--max-growth", "0"), 0)

    def test_cleaning_makes_no_file_larger(self):
        self.assertLessEqual(self.growth("simplify"), 0)

    def test_fills_that_are_written_out_add_little_together(self):
        growth = self.growth("optimize", "--no-measure", "--max-growth", "100000")
        self.assertGreater(growth, 0)
        self.assertLess(growth, 4096)

    def test_the_growth_is_a_number(self):
        done = subprocess.run([LEMMA, "optimize", self.model, "-o", self.result, "--max-growth", "-1"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--max-growth", done.stderr)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
