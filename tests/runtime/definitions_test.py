#!/usr/bin/env python3
"""The operators of ONNX Runtime, as the records define them, against ONNX Runtime itself on random inputs.

Each case is a model of one node. `lemma run` evaluates it from the definition; an operator that the records did not
read would be opaque, and fails here. The model that Lemma writes again must have the node still."""

import argparse
import json
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
from onnx import numpy_helper  # noqa: E402


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # a batch that is dealt out to threads is quantized by parts
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def write(case, folder, generator):
    """The model, its inputs, and the outputs of ONNX Runtime."""
    folder.mkdir(parents=True)
    model = folder / "model.onnx"
    onnx.save(case.model(), model)
    values = {name: case.values(generator, shape, name) for name, shape in case.inputs.items()}
    outputs = session(model).run(None, values)
    for i, (name, value) in enumerate(values.items()):
        (folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())
    for i, value in enumerate(outputs):
        (folder / f"output_{i}.pb").write_bytes(numpy_helper.from_array(value, f"y{i}").SerializeToString())
    return model


def faults_of(lemma, case, folder, seeds):
    for seed in seeds:
        place = folder / case.name / str(seed)
        try:
            model = write(case, place, numpy.random.default_rng(seed))
        except Exception as error:  # ONNX Runtime has no common base class for its errors
            return [f"{case.name}: ONNX Runtime refuses it: {error}"]
        done = subprocess.run([lemma, "run", model, "--inputs", place, "--compare", place, "--json", "--rtol", "1e-4",
                               "--atol", str(case.tolerance)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return [f"{case.name}: seed {seed}: {done.stderr.strip() or done.stdout}"]
    again = folder / case.name / "again.onnx"
    done = subprocess.run([lemma, "optimize", model, "-o", again, "--strategy", "none", "--json"], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        return [f"{case.name}: it is not written again: {done.stderr.strip()}"]
    nodes = [node.op_type for node in onnx.load(again).graph.node]
    return [] if nodes == [case.op] else [f"{case.name}: written as {nodes}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True, help="the program to test")
    parser.add_argument("--seeds", type=int, default=2, help="random inputs for each case")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    arguments = parser.parse_args()
    everything = [*cases.all_cases(), *cases.recurrences(), *cases.quantized_recurrences()]
    chosen = [case for case in everything if arguments.only in case.name]
    with tempfile.TemporaryDirectory() as name:
        faults = [fault for case in chosen
                  for fault in faults_of(arguments.lemma, case, pathlib.Path(name), range(arguments.seeds))]
    for fault in faults:
        print(fault)
    print(f"ONNX Runtime {onnxruntime.__version__}: {len(chosen)} cases, {len(faults)} differ")
    sys.exit(1 if faults or not chosen else 0)


if __name__ == "__main__":
    main()
