#!/usr/bin/env python3
"""lemma emit --prime-field: kernels of f32 compiled for residues modulo 2^61 - 1, whose self-check compares all outputs
exactly with the interpreter over the same field."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import cuda_models
import tested_programs
from cuda_models import integer_attribute, integers_attribute, model, node, weights

LEMMA = None
PADS = integers_attribute("pads", [1, 1, 1, 1])


def product(name, sizes, columns):
    nodes = [node("MatMul", ["x" + name, "w" + name], ["a" + name]), node("Add", ["a" + name, "b" + name], ["y" + name])]
    return (nodes, [("x" + name, sizes)], [("y" + name, [*sizes[:-1], columns])],
            [weights("w" + name, [sizes[-1], columns]), weights("b" + name, [columns])])


def product_of_inputs(name):
    """Both operands change from run to run, and one is read across its rows."""
    nodes = [node("Transpose", ["b" + name], ["t" + name], attributes=[integers_attribute("perm", [0, 2, 1])]),
             node("MatMul", ["a" + name, "t" + name], ["y" + name])]
    return nodes, [("a" + name, [2, 19, 24]), ("b" + name, [2, 37, 24])], [("y" + name, [2, 19, 37])], []


def convolution(name, sizes, filters, result, *attributes):
    nodes = [node("Conv", ["x" + name, "w" + name, "b" + name], ["y" + name], attributes=attributes)]
    return (nodes, [("x" + name, sizes)], [("y" + name, result)],
            [weights("w" + name, filters), weights("b" + name, [filters[0]])])


def residual(name, sizes, filters, result):
    """A convolution whose result another tensor is added to, of which each row is computed with channels side by side."""
    nodes, inputs, outputs, constants = convolution(name, sizes, filters, result)
    nodes[0] = node("Conv", ["x" + name, "w" + name, "b" + name], ["c" + name])
    nodes.append(node("Add", ["c" + name, "r" + name], ["y" + name]))
    return nodes, [*inputs, ("r" + name, result)], outputs, constants


def side_by_side(*parts):
    """Models without anything in common as one: programs are compiled once."""
    return model(*(sum((part[i] for part in parts), []) for i in range(4)))


def products():
    return side_by_side(product("_plain", [20, 70], 37), product("_row", [1, 300], 5), product("_long_row", [1, 64], 700),
                        product("_few_columns", [90, 64], 3), product("_few_rows", [4, 48], 200),
                        product_of_inputs("_of_inputs"))


def convolutions():
    two, group = integers_attribute("strides", [2, 2]), lambda count: integer_attribute("group", count)
    return side_by_side(
        convolution("_plain", [1, 5, 17, 35], [9, 5, 3, 3], [1, 9, 17, 35], PADS),
        convolution("_many_channels", [1, 16, 13, 13], [64, 16, 3, 3], [1, 64, 13, 13], PADS),
        convolution("_tiles", [1, 48, 12, 16], [32, 48, 3, 3], [1, 32, 12, 16], PADS),
        convolution("_tiles_over_edges", [2, 48, 9, 11], [64, 48, 3, 3], [2, 64, 9, 11], PADS),
        convolution("_pointwise", [1, 160, 14, 14], [48, 160, 1, 1], [1, 48, 14, 14]),
        convolution("_grouped_panels", [1, 64, 7, 7], [64, 16, 3, 3], [1, 64, 7, 7], PADS, group(4)),
        residual("_few_positions", [1, 160, 7, 7], [64, 160, 1, 1], [1, 64, 7, 7]),
        convolution("_strided", [2, 3, 17, 23], [5, 3, 3, 5], [2, 5, 9, 12], two, integers_attribute("pads", [1, 2, 1, 2])),
        convolution("_strided_channels", [1, 16, 19, 19], [32, 16, 3, 3], [1, 32, 9, 9], two),
        convolution("_grouped", [1, 16, 14, 14], [32, 4, 3, 3], [1, 32, 14, 14], PADS, group(4)),
        convolution("_depthwise", [1, 8, 19, 40], [8, 1, 3, 3], [1, 8, 19, 40], PADS, group(8)),
        convolution("_dilated", [1, 3, 14, 30], [4, 3, 3, 3], [1, 4, 10, 24], integers_attribute("dilations", [2, 3])),
        convolution("_signals", [2, 4, 50], [6, 4, 7], [2, 6, 50], integers_attribute("pads", [3, 3])))


def network():
    """Squares in place of other activations; branches, a residual sum, pools, quotients and a last product."""
    nodes = [node("Conv", ["x", "a"], ["1"], attributes=[PADS]), node("Mul", ["1", "1"], ["2"]),
             node("Conv", ["2", "b"], ["3"], attributes=[PADS, integer_attribute("group", 4)]),
             node("Sub", ["3", "1"], ["4"]),
             node("AveragePool", ["4"], ["5"], attributes=[integers_attribute("kernel_shape", [3, 3]), PADS,
                                                           integers_attribute("strides", [2, 2])]),
             node("Conv", ["5", "c"], ["6"]), node("Concat", ["5", "6"], ["7"], attributes=[integer_attribute("axis", 1)]),
             node("GlobalAveragePool", ["7"], ["8"]), node("Flatten", ["8"], ["9"]), node("MatMul", ["9", "d"], ["10"]),
             node("Div", ["10", "e"], ["y"])]
    return model(nodes, [("x", [1, 3, 30, 28])], [("y", [1, 10])],
                 [weights("a", [16, 3, 3, 3]), weights("b", [16, 4, 3, 3]), weights("c", [8, 16, 1, 1]),
                  weights("d", [24, 10]), weights("e", [10])])


MODELS = {"products": products, "convolutions": convolutions, "network": network}


def kernels_of(directory):
    """The text of all kernels."""
    return "".join(file.read_text() for file in sorted(directory.glob("kernels_*.cpp")))


class PrimeField(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lemma-field-")
        cls.folder = pathlib.Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def emit(self, contents, name, *words):
        """The directory, and what was said."""
        file = self.folder / f"{name}.onnx"
        file.write_bytes(contents)
        directory = self.folder / f"{name}{len(list(self.folder.iterdir()))}"
        return directory, subprocess.run([LEMMA, "emit", file, "-o", directory, "--name", "program", *map(str, words)],
                                         capture_output=True, text=True, timeout=600)

    def emitted(self, contents, name, *words):
        directory, done = self.emit(contents, name, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return directory

    def check(self, directory, *options):
        compiler = shutil.which("g++") or shutil.which("c++")
        if not compiler:
            self.skipTest("there is no compiler")
        done = subprocess.run([compiler, "-std=c++20", "-O1", *options, "-pthread", "-Wall", "-Wextra", "-Werror",
                               '-DPROGRAM_DIRECTORY="."', "program.cpp", "selfcheck.cpp", "-o", "check"],
                              cwd=directory, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        return subprocess.run([directory / "check", directory], capture_output=True, text=True, timeout=600)

    def test_results_are_equal_to_the_interpreters(self):
        self.compare(0)

    @tested_programs.long
    def test_results_of_the_others_are_equal(self):
        self.compare(1)

    def compare(self, first):
        # Blocks have other sizes where vectors are wider: each width has every fourth model.
        for number, (name, make) in list(enumerate(MODELS.items()))[first::2]:
            options = ("-march=native",) if number % 4 < 2 else ()
            with self.subTest(model=name, options=options):
                words = ("--prime-field", "--device", "slow-cpu", "--threads", 3)
                checked = self.check(self.emitted(make(), name, *words), *options)
                self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_kernels_are_those_of_f32_but_for_the_type(self):
        """But for those whose known factors go into weights: these are rounded, which residues are not."""
        blocks = 0
        self.assertIn("network", MODELS)
        for name, make in MODELS.items():
            if name == "network":
                continue
            plain, field = (kernels_of(self.emitted(make(), name, *words)) for words in ((), ("--prime-field",)))
            number = re.compile(r"\b0x[0-9a-f.]+p[-+]\d+F\b|\bResidue\{\d+U\}")
            expected = number.sub("N", plain.replace("float", "Residue"))
            text = number.sub("N", field).replace('#include "residues.h"\n', "")
            self.assertEqual(text, expected)
            blocks += text.count("across[lanes / count]")
        self.assertGreater(blocks, 5)  # sums in vectors

    def test_one_wrong_element_is_found(self):
        directory = self.emitted(model(*product("", [4, 48], 200)), "wrong", "--prime-field")
        data = bytearray((directory / "selfcheck.bin").read_bytes())
        data[-8] ^= 1  # the lowest bit of the last residue that should come out, which f32 would round away
        (directory / "selfcheck.bin").write_bytes(data)
        checked = self.check(directory)
        self.assertEqual(checked.returncode, 1, checked.stdout + checked.stderr)

    def test_what_is_not_in_the_field_is_refused(self):
        for contents, reason in ((cuda_models.softmax(), "prime field"), (cuda_models.convolution(), "prime field")):
            directory, done = self.emit(contents, "refused", "--prime-field")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(reason, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1)
            self.assertFalse(directory.exists())


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
