#!/usr/bin/env python3
"""What Lemma writes for the operators of ONNX Runtime where a file is to have standard operators only.

For each case of cases.py: the file has none of the runtime's operators and gives the same outputs; where the case says
so, ONNX Runtime makes the operator again of it. The file that it saves then is read without opaque nodes."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import environment  # noqa: E402

environment.enter_or_skip()

import cases  # noqa: E402
import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

ORIGINAL, SPELLED, SAVED, AGAIN = "original.onnx", "spelled.onnx", "saved.onnx", "again.onnx"


def session(path, saved=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if saved:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(saved)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def nodes_of(path):
    return [(node.domain, node.op_type) for node in onnx.load(path).graph.node]


def round_trip(program, source, target, *options):
    done = subprocess.run([program, source, target, "--opaque", *options], capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stdout:
        raise ValueError((done.stderr + done.stdout).strip())


def check(program, case, folder, early):
    """Raises ValueError with what is wrong. `early`: in an operator set that has fewer operators."""
    folder.mkdir(parents=True)
    original, spelled, saved, again = (folder / name for name in (ORIGINAL, SPELLED, SAVED, AGAIN))
    generator = numpy.random.default_rng(7)
    values = {name: case.values(generator, shape) for name, shape in case.inputs.items()}
    free = {name: values.pop(name) for name in case.free()}
    model = case.model(values)
    if early:
        model.opset_import[0].version = min(case.set, early)
    onnx.save(model, original)
    round_trip(program, original, spelled, "--runtime=")
    nodes = nodes_of(spelled)
    if (case.domain, case.op) in nodes or any(domain for domain, _ in nodes):
        raise ValueError(f"spelled as {nodes}")
    expected = session(original).run(None, free)
    for one in (session(spelled), session(spelled, saved)):
        for wanted, got in zip(expected, one.run(None, free), strict=True):
            numpy.testing.assert_allclose(got, wanted, rtol=1e-4, atol=max(case.tolerance, 1e-5))
    made = nodes_of(saved)
    if case.fused != ((case.domain, case.op) in made):
        raise ValueError(f"ONNX Runtime makes {made} of {nodes}")
    round_trip(program, saved, again)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--round-trip", required=True, help="the program onnx_round_trip")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    arguments = parser.parse_args()
    chosen = [case for case in cases.all_cases() if arguments.only in case.name]
    faults = []
    with tempfile.TemporaryDirectory() as name:
        for case in chosen:
            for early in (0, 13):
                try:
                    check(arguments.round_trip, case, pathlib.Path(name) / case.name / str(early), early)
                except Exception as error:  # ONNX Runtime has no common base class for its errors
                    faults.append(f"{case.name}{', operator set 13' if early else ''}: {error}")
    print("\n".join([*faults, f"ONNX Runtime {onnxruntime.__version__}: {len(chosen)} cases, {len(faults)} faults"]))
    sys.exit(1 if faults or not chosen else 0)


if __name__ == "__main__":
    main()
