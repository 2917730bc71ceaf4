#!/usr/bin/env python3
"""The self-check of emitted programs: right programs pass, whatever the scale of their sums; wrong ones fail.

A program is compiled once, with and without contraction of products and sums. Wrong programs are played by the outputs
of a changed model: the check compares the program with them, which is as if the program were that of the changed model
and the outputs those of the original."""

import concurrent.futures
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from tiny_models import F16, F32, I64, content, integer_attribute, integers_attribute, node, number, tensor_type

LEMMA = None
U8, I8 = 2, 3


def weights(seed, name, sizes, scale, data_type=F32, change=None):
    """Normally distributed; `change` maps the list of them to another one."""
    generator = random.Random(f"{seed} {name}")
    count = 1
    for size in sizes:
        count *= size
    values = [generator.gauss(0, scale) for _ in range(count)]
    return tiny_models.tensor(name, sizes, change(values) if change else values, data_type)


def flip(values, attempt=0):
    """The sign of one weight of ordinary size changes; another one in each attempt."""
    middle = sorted(abs(value) for value in values)[len(values) // 2]
    nearest = sorted(range(len(values)), key=lambda index: abs(abs(values[index]) - middle))[attempt]
    return [-value if index == nearest else value for index, value in enumerate(values)]


def another(attempt):
    return lambda values: flip(values, attempt)


def exchange(values):
    """Two neighbours change places."""
    at = next(i for i in range(len(values) - 1) if abs(values[i] - values[i + 1]) > 0.5 * abs(values[i]))
    return values[:at] + [values[at + 1], values[at]] + values[at + 2:]


def scalar_of(data_type, name, value):
    """Of an 8-bit type."""
    raw = struct.pack("b" if data_type == I8 else "B", value)
    return number(2, data_type) + content(8, name) + content(9, raw)


def perceptron(width, layers, scale, batch=8, data_type=F32):
    def make(change=None, at=0, order=None):
        nodes, tensors, value = [], [], "x"
        for layer in range(layers):
            tensors.append(weights(0, f"w{layer}", [width, width], scale, data_type,
                                   change if layer == at else None))
            nodes.append(node("MatMul", [value, f"w{layer}"], [f"m{layer}"]))
            value = "y" if layer + 1 == layers else f"r{layer}"
            nodes.append(node("Relu", [f"m{layer}"], [value]))
        shape = tensor_type(data_type, [batch, width])
        return tiny_models.model(nodes, [("x", shape)], [("y", shape)], initializers=tensors)

    return make, [{"change": flip, "at": 0}, {"change": flip, "at": layers - 1}, {"change": exchange, "at": layers // 2}]


def difference():
    """Large terms that cancel: (x A) B - (x C) D, and the operands exchanged."""
    width = 96

    def make(change=None, at=0, order=("p", "q")):
        names = ("a", "b", "c", "d")
        tensors = [weights(1, name, [width, width], 30, F32, change if at == index else None)
                   for index, name in enumerate(names)]
        nodes = [node("MatMul", ["x", "a"], ["xa"]), node("MatMul", ["xa", "b"], ["p"]), node("MatMul", ["x", "c"], ["xc"]),
                 node("MatMul", ["xc", "d"], ["q"]), node("Sub", list(order), ["y"])]
        shape = tensor_type(F32, [4, width])
        return tiny_models.model(nodes, [("x", shape)], [("y", shape)], initializers=tensors)

    return make, [{"change": flip}, {"change": flip, "at": 3}, {"order": ("q", "p")}, {"order": ("p", "p")}]


def small_outputs():
    """Outputs of about 1e-7: an absolute tolerance of 1e-5 would hide them."""
    def make(change=None, at=0, order=("x", "w")):
        tensors = [weights(2, "w", [32, 32], 1e-8, F32, change)]
        nodes = [node("MatMul", list(order), ["y"])]
        shape = tensor_type(F32, [32, 32])
        return tiny_models.model(nodes, [("x", shape)], [("y", shape)], initializers=tensors)

    return make, [{"change": flip}, {"change": exchange}, {"order": ("w", "x")}]


def attention():
    def make(change=None, at=0, order=("q", "t")):
        tensors = [weights(3, name, [64, 64], 0.3, F32, change if at == index else None)
                   for index, name in enumerate(("a", "b", "c"))]
        nodes = [node("MatMul", ["x", "a"], ["q"]), node("MatMul", ["x", "b"], ["k"]), node("MatMul", ["x", "c"], ["v"]),
                 node("Transpose", ["k"], ["t"], attributes=[integers_attribute("perm", [1, 0])]),
                 node("MatMul", ["q", "t"], ["s"]), node("Softmax", ["s"], ["p"], attributes=[integer_attribute("axis", 0 if at == 9 else 1)]),
                 node("MatMul", ["p", "v"], ["y"])]
        shape = tensor_type(F32, [48, 64])
        return tiny_models.model(nodes, [("x", shape)], [("y", shape)], initializers=tensors)

    return make, [{"change": flip, "at": 0}, {"change": flip, "at": 2}, {"change": exchange, "at": 1}, {"at": 9}]


def gathered():
    """A table of weights read by integer inputs, which cannot be changed by a rounding; and one wrong index."""
    def make(change=None, at=0, order=(0, 1)):
        tensors = [weights(4, "table", [2, 64], 100, F32, change), weights(4, "w", [64, 64], 1, F32),
                   tiny_models.tensor("first", [], [order[0]], I64)]
        nodes = [node("Gather", ["table", "i"], ["e"]), node("MatMul", ["e", "w"], ["m"]),
                 node("Gather", ["m", "first"], ["f"], attributes=[integer_attribute("axis", 1)]), node("Tanh", ["m"], ["t"]),
                 node("ReduceSum", ["m"], ["s"], attributes=[integer_attribute("keepdims", 0)]), node("Mul", ["f", "s"], ["y"])]
        return tiny_models.model(nodes, [("i", tensor_type(I64, [16]))],
                                 [("y", tensor_type(F32, [16])), ("t", tensor_type(F32, [16, 64]))],
                                 initializers=tensors)

    return make, [{"change": flip}, {"change": exchange}, {"order": (1, 0)}]


def quantised(real_output):
    """Layers between quantisers, whose inputs often lie between two steps: scales are powers of two, weights small."""
    width, layers = 64, 4

    def make(change=None, at=0, order=None):
        nodes, value = [], "x"
        tensors = [tiny_models.tensor("s", [], [0.0625]), scalar_of(I8, "z", 0)]
        for layer in range(layers):
            generator = random.Random(layer)
            steps = [generator.randint(-40, 40) / 64 for _ in range(width * width)]
            if change and at == layer:
                steps = change(steps)
            tensors.append(tiny_models.tensor(f"w{layer}", [width, width], steps))
            nodes += [node("QuantizeLinear", [value, "s", "z"], [f"q{layer}"]),
                      node("DequantizeLinear", [f"q{layer}", "s", "z"], [f"d{layer}"]),
                      node("MatMul", [f"d{layer}", f"w{layer}"], [f"m{layer}"]),
                      node("Mul", [f"m{layer}", "third"], [f"o{layer}"])]
            value = f"o{layer}"
        tensors.append(tiny_models.tensor("third", [], [0.3]))
        shape = tensor_type(F32 if real_output else I8, [16, width])
        nodes.append(node("Identity", [value], ["y"]) if real_output else node("QuantizeLinear", [value, "s", "z"], ["y"]))
        return tiny_models.model(nodes, [("x", tensor_type(F32, [16, width]))], [("y", shape)], initializers=tensors)

    return make, [{"change": flip, "at": 0}, {"change": exchange, "at": 1}]


FAMILIES = {
    "perceptron": perceptron(512, 6, 1 / 8),
    "wide_perceptron": perceptron(640, 3, 1),
    "half_perceptron": perceptron(96, 3, 0.1, data_type=F16),
    "difference": difference(),
    "small_outputs": small_outputs(),
    "attention": attention(),
    "gathered": gathered(),
    "quantised": quantised(False),
    "dequantised": quantised(True),
}
SHORT = ("half_perceptron", "quantised", "small_outputs")
# With sums that are contracted, whose bits are not the interpreter's; of some families without, too.
CONTRACTIONS = ("fast", "off")
WITHOUT = ("perceptron", "half_perceptron", "quantised")


class SelfCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-self-check-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def emit(self, name, contents):
        file = self.folder / f"{name}.onnx"
        file.write_bytes(contents)
        done = subprocess.run([LEMMA, "emit", file, "-o", self.folder / name, "--name", "checked", "--threads", "1"],
                              capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / name

    def compiled(self, directory, contraction):
        program = directory / f"selfcheck-{contraction}"
        done = subprocess.run(["c++", "-std=c++20", "-O2", f"-ffp-contract={contraction}", "-march=native", "-pthread",
                               '-DPROGRAM_DIRECTORY="."', "checked.cpp", "selfcheck.cpp", "-o", program],
                              cwd=directory, capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def check(self, program, directory):
        done = subprocess.run([program, directory, "1"], capture_output=True, text=True, timeout=900)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode == 0, done.stdout + done.stderr

    def visible(self, directory, name, index, make, mutant):
        """The program of a mutant. A weight that is flipped may act through units alone that are 0 on all recorded inputs
        (Relu): then another one is."""
        for attempt in range(10):
            if attempt > 0:
                self.assertIs(mutant.get("change"), flip, f"{name} {index} changes nothing")
            other = self.emit(f"{name}-{index}-{attempt}", make(**mutant if attempt == 0 else {**mutant, "change": another(attempt)}))
            before, after = ((each / "selfcheck.bin").read_bytes() for each in (directory, other))
            if sum(one != two for one, two in zip(before, after)) > 2:
                return other
        self.fail(f"{name} {index} changes nothing")

    def family(self, name):
        make, mutants = FAMILIES[name]
        directory = self.emit(name, make())
        changed = [self.visible(directory, name, index, make, mutant) for index, mutant in enumerate(mutants)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            programs = list(pool.map(lambda each: self.compiled(directory, each),
                                     CONTRACTIONS if name in WITHOUT else CONTRACTIONS[:1]))
        for program in programs:
            right, text = self.check(program, directory)
            self.assertTrue(right, f"{program.name} of {name}: {text}")
            for index, other in enumerate(changed):
                played = self.folder / f"{name}-{index}-played"
                shutil.rmtree(played, ignore_errors=True)
                played.mkdir()
                shutil.copy(directory / "weights.bin", played)
                shutil.copy(other / "selfcheck.bin", played)
                right, text = self.check(program, played)
                self.assertFalse(right, f"{program.name} of {name}, wrong program {index}: {text}")


def case(name):
    def test(self):
        self.family(name)

    return test if name in SHORT else tested_programs.long(test)


for each in FAMILIES:
    setattr(SelfCheck, f"test_{each}", case(each))


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
