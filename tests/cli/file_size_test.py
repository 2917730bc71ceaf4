#!/usr/bin/env python3
"""How large the file of a result may be. Models are encoded by hand."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, I64, node, tensor_type

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
