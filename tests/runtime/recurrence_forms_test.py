#!/usr/bin/env python3
"""LSTM, GRU and RNN in the forms that no record describes (lengths of sequences, peepholes, limits, other activations,
coupled gates): the results of `lemma run`, by the interpreter and as a task program, are those of ONNX Runtime. Skipped
(77) without the Python environment of scripts/setup --tests."""

import argparse
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

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, INPUTS, SIZE = 4, 3, 2, 3


def lengths(*values):
    return numpy.array(values, numpy.int32)


# Name: (operator, operands beside x, w and r, attributes, lengths that are constant).
CASES = {
    "lstm_peepholes": ("LSTM", "bhcp", {}, None),
    "lstm_peepholes_both_ways": ("LSTM", "bp", {"direction": "bidirectional"}, None),
    "lstm_lengths": ("LSTM", "bshc", {}, None),
    "lstm_constant_lengths_reverse": ("LSTM", "bs", {"direction": "reverse"}, lengths(4, 1, 2)),
    "lstm_length_0": ("LSTM", "bshc", {"direction": "bidirectional"}, lengths(0, 4, 3)),
    "lstm_limit_and_coupled_gates": ("LSTM", "bhc", {"clip": 0.4, "input_forget": 1}, None),
    "lstm_activations": ("LSTM", "b", {"activations": ["HardSigmoid", "Softsign", "LeakyRelu"],
                                       "activation_alpha": [0.3, 0.2], "activation_beta": [0.4]}, None),
    "gru_lengths_both_ways": ("GRU", "bsh", {"direction": "bidirectional"}, None),
    "gru_reset_after_product": ("GRU", "bsh", {"linear_before_reset": 1, "direction": "reverse"}, lengths(2, 4, 1)),
    "gru_limit": ("GRU", "bh", {"clip": 0.3}, None),
    "gru_limit_after_product": ("GRU", "bh", {"clip": 0.3, "linear_before_reset": 1}, None),
    "gru_activations_without_bias": ("GRU", "h", {"activations": ["Softplus", "Elu"], "activation_alpha": [0.7]}, None),
    "rnn_lengths_both_ways": ("RNN", "bsh", {"direction": "bidirectional"}, None),
    "rnn_limit": ("RNN", "bh", {"clip": 0.5}, None),
    "rnn_activations": ("RNN", "b", {"activations": ["ScaledTanh", "Affine"], "activation_alpha": [1.2, 0.4],
                                     "activation_beta": [0.7, 0.1], "direction": "bidirectional"}, None),
    "rnn_thresholded": ("RNN", "b", {"activations": ["ThresholdedRelu"], "activation_alpha": [0.2]}, None),
}


class Model:
    """All cases in one model, since it takes a compiler seconds to start. Weights are constants, as models have them."""

    def __init__(self, cases):
        self.generator = numpy.random.default_rng(5)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], {}, []
        for name, case in cases.items():
            self.add(name, *case)

    def add(self, name, op, present, attributes, constant_lengths):
        parts = 2 if attributes.get("direction") == "bidirectional" else 1
        shapes = {"x": (STEPS, BATCH, INPUTS), "w": (parts, GATES[op] * SIZE, INPUTS),
                  "r": (parts, GATES[op] * SIZE, SIZE), "b": (parts, 2 * GATES[op] * SIZE), "h": (parts, BATCH, SIZE),
                  "c": (parts, BATCH, SIZE), "p": (parts, 3 * SIZE)}
        operands = [f"{name}_{letter}" if letter in "xwr" + present else "" for letter in "xwrbshcp"]
        while not operands[-1]:
            operands.pop()
        for operand in filter(None, operands):
            letter = operand[-1]
            value = lengths(3, 0, 4) if letter == "s" else self.random(shapes[letter])
            if letter == "s" and constant_lengths is not None:
                value = constant_lengths
            if letter in "xhc" or (letter == "s" and constant_lengths is None):
                self.inputs[operand] = value
            else:
                self.weights.append(numpy_helper.from_array(value, operand))
        names = [f"{name}_y{k}" for k in range(3 if op == "LSTM" else 2)]
        self.nodes.append(helper.make_node(op, operands, names, hidden_size=SIZE, **attributes))
        self.outputs += names

    def random(self, shape):
        return self.generator.standard_normal(shape).astype(numpy.float32)

    def message(self):
        types = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32}
        inputs = [helper.make_tensor_value_info(name, types[value.dtype.name], value.shape)
                  for name, value in self.inputs.items()]
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in self.outputs]
        return helper.make_model(helper.make_graph(self.nodes, "g", inputs, outputs, self.weights),
                                 opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(folder, kind, values):
    for position, value in enumerate(values):
        (folder / f"{kind}_{position}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())


def faults(lemma, cases, folder):
    """Names of outputs that differ from those of ONNX Runtime, with the difference."""
    model = Model(cases)
    source = folder / "forms.onnx"
    onnx.save(model.message(), source)
    write(folder, "input", model.inputs.values())
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    wanted = session.run(None, model.inputs)
    return [f"{engine}: {fault}" for engine in ("interpreter", "rtask-cpu")
            for fault in faults_of_engine(lemma, engine, model, source, wanted)]


def faults_of_engine(lemma, engine, model, source, wanted):
    folder = source.parent
    results = folder / engine
    done = subprocess.run([lemma, "run", source, "--engine", engine, "--inputs", folder, "--outputs", results],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [done.stderr.strip()]
    differences = []
    for position, (name, expected) in enumerate(zip(model.outputs, wanted)):
        tensor = onnx.TensorProto.FromString((results / f"output_{position}.pb").read_bytes())
        result = numpy_helper.to_array(tensor)
        if result.shape != expected.shape or not numpy.allclose(result, expected, rtol=1e-4, atol=1e-5):
            differences.append(f"{name}:\n{result}\nONNX Runtime:\n{expected}")
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True, help="the program to test")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    arguments = parser.parse_args()
    cases = {name: case for name, case in CASES.items() if arguments.only in name}
    with tempfile.TemporaryDirectory() as folder:
        differences = faults(arguments.lemma, cases, pathlib.Path(folder))
    for difference in differences:
        print(difference)
    print(f"{len(cases)} forms, {len(differences)} faults")
    sys.exit(1 if differences or not cases else 0)


if __name__ == "__main__":
    main()
