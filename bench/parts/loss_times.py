#!/usr/bin/env python3
"""The loss of a small sequence-to-sequence model over time, on two ranks that exchange gradients in three ways (as the figure of
Xue and others, "Fast distributed deep learning over RDMA", EuroSys 2019, shows it for larger models).

The model is `translation` of models/training_models.py: an LSTM reads a sequence of 6 words, another one writes one. Each rank has
half of the sequences; weights are replicated. Ranks compute by task programs, as processes of mpirun. The data and the first
weights are the same for all ways, and so is the loss of each step, which is checked.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "models"), str(ROOT / "scripts")]
import environment

environment.enter()

import numpy as np
import onnx
import training_models
from onnx import numpy_helper

WAYS = ("one-sided", "send-receive", "remote-calls")
SIZES = {"batch": 16, "words": 200, "size": 64, "hidden": 128}


def call(words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"{words} has failed")
    return done.stdout


def write_inputs(step, model, folder):
    weights = {weight.name: weight for weight in model.graph.initializer}
    random = np.random.default_rng(1)
    for number, value in enumerate(step.graph.input):
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        tensor = weights.get(value.name)
        if value.name == "learning_rate":
            tensor = numpy_helper.from_array(np.full(shape, 1, np.float32), value.name)
        elif tensor is None:
            tensor = numpy_helper.from_array(random.integers(0, SIZES["words"], shape), value.name)
        (folder / f"input_{number}.pb").write_bytes(tensor.SerializeToString())


def losses(lemma, steps, runs):
    """By way, the loss and the seconds of each step; of several runs the shortest one."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        model, step, plan = folder / "model.onnx", folder / "step.onnx", folder / "plan.json"
        onnx.save(training_models.make("translation", **SIZES), model)
        call([lemma, "differentiate", model, "--loss", "cross-entropy", "--optimizer", "sgd", "-o", step])
        call([lemma, "plan", "make", step, "--cluster", "local-2", "-o", plan, "--place", "source:1", "--place", "given:1", "--place", "labels:0"])
        write_inputs(onnx.load(step), onnx.load(model), folder)
        taken = {}
        for _ in range(runs):
            for way in WAYS:
                answer = json.loads(call(["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", 2, lemma, "plan", "run", step, plan,
                                          "--inputs", folder, "--steps", steps, "--engine", "task-programs", "--exchange", way, "--json"]))
                if way not in taken or answer["steps"][-1]["seconds"] < taken[way]["steps"][-1]["seconds"]:
                    taken[way] = answer
        return taken


def main():
    parser = argparse.ArgumentParser(prog="bench/proofs losses", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    results.add_option(parser)
    options = parser.parse_args()
    taken = losses(environment.lemma_program(options.lemma), options.steps, options.runs)
    curves = [[step["loss"] for step in taken[way]["steps"]] for way in WAYS]
    if any(curve != curves[0] for curve in curves):
        sys.exit("the losses of the ways differ")
    rows = []
    for step in [1, *range(options.steps // 5, options.steps + 1, options.steps // 5)]:
        rows.append([step, round(curves[0][step - 1], 4), *(round(taken[way]["steps"][step - 1]["seconds"], 3) for way in WAYS)])
        print(*rows[-1], sep="; ")
    first = taken[WAYS[0]]
    print(f"{first['ranks'][0]['bytes'] // options.steps} bytes and {first['ranks'][0]['collectives'] // options.steps} collectives a step and rank; "
          f"largest difference from one device {max(answer['difference'] for answer in taken.values()):.1e}")
    results.update(options.result, rows)


if __name__ == "__main__":
    main()
