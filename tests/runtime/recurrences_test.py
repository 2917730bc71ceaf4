#!/usr/bin/env python3
"""Recurrences that are written out step by step become one operator for each layer; the results are those of ONNX
Runtime for the original, and the explanation is accepted. Operators of a kind that the record does not describe are
left alone."""

import argparse
import collections
import json
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
import unrolled  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

# What is written is compared with ONNX Runtime here.
OPTIONS = ("--no-measure", "--no-second-judge", "--quiet")
COMPUTING = {"MatMul", "Gemm", "Sigmoid", "Tanh", "Relu", "Mul", "Add", "Sub"}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise ValueError(f"{pathlib.Path(command[0]).name} {command[1]}: {(done.stderr + done.stdout).strip()}")
    return done.stdout


def results(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    generator = numpy.random.default_rng(3)
    return session.run(None, {one.name: generator.standard_normal(one.shape).astype(numpy.float32)
                              for one in session.get_inputs()})


def check_folded(programs, case, folder):
    source, target, explanation = (folder / f"{case.name}{end}" for end in (".onnx", ".out.onnx", ".explanation"))
    onnx.save(case.model(), source)
    run(programs.lemma, "optimize", source, "-o", target, *OPTIONS, "--explain", explanation)
    nodes = collections.Counter(node.op_type for node in onnx.load(target).graph.node)
    if nodes[case.operator] != case.layers or any(nodes[op] for op in COMPUTING):
        raise ValueError(f"it becomes {dict(nodes)}")
    for before, after in zip(results(source), results(target), strict=True):
        numpy.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)


def check_left_alone(programs, case, folder):
    """What looks like a step is none."""
    source, target = (folder / f"{case.name}{end}" for end in (".onnx", ".out.onnx"))
    onnx.save(case.model(), source)
    run(programs.lemma, "optimize", source, "-o", target, *OPTIONS)
    nodes = collections.Counter(node.op_type for node in onnx.load(target).graph.node)
    if nodes[case.operator] or not nodes[getattr(case, "activation", "Sigmoid")]:
        raise ValueError(f"it becomes {dict(nodes)}")
    for before, after in zip(results(source), results(target), strict=True):
        numpy.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)


def opaque_models():
    """LSTM as ONNX has it beyond the records."""
    steps, batch, features, hidden = 3, 2, 3, 4
    shapes = {"x": [steps, batch, features], "w": [1, 4 * hidden, features], "r": [1, 4 * hidden, hidden],
              "b": [1, 8 * hidden], "h": [1, batch, hidden], "c": [1, batch, hidden]}
    yield "clipped", shapes, {"clip": 0.5}, ""
    yield "other_activations", shapes, {"activations": ["Sigmoid", "Relu", "Tanh"]}, ""
    yield "coupled", shapes, {"input_forget": 1}, ""
    yield "peepholes", {**shapes, "p": [1, 3 * hidden]}, {}, ""
    yield "lengths", shapes, {}, "lengths"
    yield "steps_not_known", {**shapes, "x": ["steps", batch, features]}, {}, ""


def check_opaque(programs, case, folder):
    name, shapes, attributes, lengths = case
    operands = [one if one in shapes or (one and one == lengths) else ""
                for one in ("x", "w", "r", "b", "lengths", "h", "c", "p")]
    inputs = [helper.make_tensor_value_info(one, TensorProto.FLOAT, shape) for one, shape in shapes.items()]
    if lengths:
        inputs.append(helper.make_tensor_value_info(lengths, TensorProto.INT32, [2]))
    node = helper.make_node("LSTM", operands, ["y"], hidden_size=4, **attributes)
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    path = folder / f"opaque_{name}.onnx"
    onnx.save(helper.make_model(helper.make_graph([node], "g", inputs, outputs),
                                opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    found = json.loads(run(programs.lemma, "inspect", path, "--json"))["operators"]
    if [(one["name"], one["opaque"]) for one in found] != [("LSTM", True)]:
        raise ValueError(f"it is read as {found}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True, help="the program to test")
    parser.add_argument("--checker", required=True, help="the program lemma-check")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--every", type=int, default=1, help="take the first of so many cases, the next one behind them, ...")
    arguments = parser.parse_args()
    work = [(case.name, check_folded, case) for case in unrolled.all_models()]
    work += [(case.name, check_left_alone, case) for case in unrolled.models_of_no_recurrence()]
    work += [(f"opaque_{case[0]}", check_opaque, case) for case in opaque_models()]
    work = [one for one in work if arguments.only in one[0]][::arguments.every]
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        for title, check, case in work:
            try:
                check(arguments, case, pathlib.Path(name))
            except Exception as error:  # ONNX Runtime has no common base class for its errors
                faults += 1
                print(f"{title}: {error}")
        try:
            run(arguments.checker, "rules/substitutions", *sorted(pathlib.Path(name).glob("*.explanation")))
        except ValueError as error:
            faults += 1
            print(error)
    print(f"{len(work)} models, {faults} faults")
    sys.exit(1 if faults or not work else 0)


if __name__ == "__main__":
    main()
