#!/usr/bin/env python3
"""lemma compare with what only ONNX Runtime can run: its inputs are texts, sequences and optional values."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, I64, STRING, content, node, number, tensor_type

LEMMA = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "bin" / "python"
ML = "ai.onnx.ml"


def strings_attribute(name, values):
    return content(1, name) + b"".join(content(9, value) for value in values) + number(20, 8)


def numbered(classes, end):
    """The numbers of words, of which `end` makes twice as much."""
    count = tensor_type(I64, ["N"])
    nodes = [node("LabelEncoder", ["x"], ["n"], ML, [strings_attribute("classes_strings", classes)]), end]
    return tiny_models.model(nodes, [("x", tensor_type(STRING, ["N"]))], [("y", count)], domains=[ML],
                             initializers=[tiny_models.tensor("two", [], [2], I64)])


ADDED, MULTIPLIED = node("Add", ["n", "n"], ["y"]), node("Mul", ["n", "two"], ["y"])


class Compare(unittest.TestCase):
    def setUp(self):
        found = subprocess.run([PYTHON, "-c", "import onnxruntime"], capture_output=True) if PYTHON.exists() else None
        if found is None or found.returncode != 0:
            self.skipTest("ONNX Runtime is not installed")
        folder = tempfile.TemporaryDirectory(prefix="lemma-compare-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compare(self, one, other, code):
        files = [self.folder / "one.onnx", self.folder / "other.onnx"]
        for file, contents in zip(files, (one, other)):
            file.write_bytes(contents)
        done = subprocess.run([LEMMA, "compare", *files, "--json", "--time-limit", "300"], capture_output=True, text=True,
                              timeout=900)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(json.loads(done.stdout)["compared_by"], "onnx runtime", done.stdout)

    def test_texts(self):
        words = [f"word {i}" for i in range(40)]
        swapped = words[:17] + [words[18], words[17]] + words[19:]
        self.compare(numbered(words, ADDED), numbered(words, MULTIPLIED), 0)
        self.compare(numbered(words, ADDED), numbered(swapped, MULTIPLIED), 4)
        self.compare(numbered(words, ADDED), numbered(words[:-1], MULTIPLIED), 4)

    def test_random_operators_are_not_told_to_differ(self):
        """Texts, which nothing reads, keep the rest from being computed here."""
        vector = tensor_type(F32, [4])
        files = [self.folder / "one.onnx", self.folder / "other.onnx"]
        for file, operator in zip(files, ("Add", "Sum")):
            nodes = [node("RandomNormalLike", ["x"], ["r"]), node(operator, ["r", "x"], ["y"])]
            file.write_bytes(tiny_models.model(nodes, [("x", vector), ("w", tensor_type(STRING, [2]))], [("y", vector)]))
        done = subprocess.run([LEMMA, "compare", *files, "--time-limit", "300"], capture_output=True, text=True, timeout=900)
        self.assertIn(done.returncode, (0, 3), done.stdout + done.stderr)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
