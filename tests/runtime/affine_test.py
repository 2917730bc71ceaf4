#!/usr/bin/env python3
"""Scales and shifts that exporters write around convolutions fold into them, a hard swish that is written out becomes
HardSigmoid and Mul, and a scale and a shift that nothing takes up become a batch normalization. ONNX Runtime computes
the same for the result, and the explanation is accepted."""

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import environment  # noqa: E402

environment.enter_or_skip()

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

CHANNELS, SIZE = 32, 40


class Network:
    """Nodes one after the other, with constants of one element in a given shape."""

    def __init__(self, shape):
        self.shape, self.nodes, self.constants, self.value = shape, [], [], "x"
        self.generator = numpy.random.default_rng(5)

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(value, numpy.float32), name))
        return name

    def number(self, value):
        return self.constant(numpy.full(self.shape, value))

    def add(self, operator, *operands, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(operands), [name], **attributes))
        return name

    def then(self, operator, *operands, **attributes):
        self.value = self.add(operator, self.value, *operands, **attributes)

    def conv(self, kernel, group=1):
        weights = self.generator.uniform(-0.2, 0.2, (CHANNELS, CHANNELS // group, kernel, kernel))
        bias = self.generator.uniform(-1, 1, CHANNELS)
        self.then("Conv", self.constant(weights), self.constant(bias), group=group, pads=[kernel // 2] * 4)

    def affine(self, scale, shift):
        self.then("Mul", self.number(scale))
        self.then("Add", self.number(shift))

    def hard_swish(self):
        clipped = self.add("Clip", self.add("Add", self.value, self.number(3)), self.constant(0), self.constant(6))
        self.then("Mul", clipped)
        self.then("Div", self.number(6))

    def save(self, path):
        self.nodes[-1].output[0] = "y"
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, CHANNELS, SIZE, SIZE]) for name in "xy"]
        graph = helper.make_graph(self.nodes, "network", values[:1], values[1:], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8), path)


def after_convolution(network):
    network.conv(3)
    network.affine(1.5, -0.25)
    return {"Conv": 1}


def before_convolution(network):
    network.affine(1.5, -0.25)
    network.conv(1)
    return {"Conv": 1}


def written_out_hard_swish(network):
    network.hard_swish()
    return {"HardSigmoid": 1, "Mul": 1}


def block(network):
    """Of PP-OCRv4. The shift before a convolution with a border stays."""
    network.conv(1)
    network.affine(0.75, 0.5)
    network.hard_swish()
    network.affine(1.25, -0.5)
    network.conv(3, CHANNELS)
    return {"Conv": 2, "HardSigmoid": 1, "Mul": 1, "BatchNormalization": 1}


CASES = [after_convolution, before_convolution, written_out_hard_swish, block]


def outputs(path, value):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"x": value})[0]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise ValueError(f"{command[0]}: {(done.stderr + done.stdout).strip()}")


def check(arguments, case, shape, folder):
    network = Network(shape)
    expected = case(network)
    name = f"{case.__name__}_{len(shape)}"
    original, result, explanation = (folder / f"{name}{end}" for end in (".onnx", ".out.onnx", ".explanation"))
    network.save(original)
    run(arguments.lemma, "optimize", original, "-o", result, "--target", "onnxruntime-cpu", "--no-measure", "--no-second-judge", "--explain",
        explanation, "--time-limit", 60)
    found = collections.Counter(node.op_type for node in onnx.load(result).graph.node)
    if found != expected:
        raise ValueError(f"{dict(found)}, not {expected}")
    value = numpy.random.default_rng(9).uniform(-4, 4, (1, CHANNELS, SIZE, SIZE)).astype(numpy.float32)
    before, after = outputs(original, value), outputs(result, value)
    error = numpy.abs(before - after).max() / numpy.abs(before).max()
    if not error < 2e-6:
        raise ValueError(f"the results differ by {error:.2g} of the largest element")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--checker", required=True)
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in CASES:
            for shape in ((), (1,)):
                try:
                    check(arguments, case, shape, folder)
                    print(f"{case.__name__} {shape}: passes")
                except ValueError as problem:
                    failed += 1
                    print(f"{case.__name__} {shape}: {problem}")
        # In one call: it reads all rules first.
        explanations = sorted(folder.glob("*.explanation"))
        try:
            if len(explanations) != 2 * len(CASES):
                raise ValueError(f"{len(explanations)} explanations")
            run(arguments.checker, "rules/substitutions", *explanations)
        except ValueError as problem:
            failed += 1
            print(problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
