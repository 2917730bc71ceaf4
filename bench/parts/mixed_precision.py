#!/usr/bin/env python3
"""Compares steps of training in mixed precision (f16) with those in f32, by ONNX Runtime: gradients of one step, and the loss after
many steps on a few batches, with the scale of the loss as state. Where ONNX Runtime has no operator in f16 the step runs as a task
program.

    bench/models mixed [MODEL...] [--steps N]

Models are those of models/training_models.py. The error of gradients is that of all of them together, as one vector: the length of
the difference in parts of the length of those in f32.

Exit code: 0 all agree (gradients within 5%, losses within 5% of the first loss), 4 otherwise.
"""

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models")]
import environment

environment.enter()

import numpy as np
import onnx
import onnxruntime
import onnx.numpy_helper

import sessions
import training_models

GRADIENT_PART, LOSS_PART = 0.05, 0.05
STATE = {"loss_scale": np.float32(65536), "good_steps": np.float32(0)}
RATE = np.float32(0.02)


def arguments():
    parser = argparse.ArgumentParser(prog="bench/models mixed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="names (default: all)")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--lemma", help="program to use")
    return parser.parse_args()


def compiled(file):
    """A session of the task program."""
    import lemma
    warnings.simplefilter("ignore", lemma.FallbackWarning)
    return lemma.compile(file)


class Step:
    """A step that `lemma differentiate` writes, in ONNX Runtime; as a task program where ONNX Runtime lacks an operator in f16."""

    def __init__(self, lemma, model, name, folder, *words):
        self.file = folder / ("-".join([name, *words]) + ".onnx")
        loss = training_models.LOSSES.get(name, "cross-entropy")
        done = subprocess.run([lemma, "differentiate", model, "--loss", loss, "-o", self.file, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4  # a refusal is answered, not shown
        self.session = onnxruntime.InferenceSession(self.file.read_bytes(), options, providers=["CPUExecutionProvider"])
        self.inputs = self.session.get_inputs()
        self.names = [output.name for output in self.session.get_outputs()]
        self.runs_in = "ONNX Runtime"

    def outputs(self, values):
        feed = {entry.name: np.asarray(values[entry.name]) for entry in self.inputs}
        try:
            results = self.session.run(None, feed)
        except Exception as error:  # the runtime's own classes have no common base
            if self.runs_in != "ONNX Runtime" or "is not supported" not in str(error):
                raise
            self.session, self.runs_in = compiled(self.file), "a task program"
            results = self.session.run(self.names, feed)
        return dict(zip(self.names, results, strict=True))


def batch_of(step, known, classes, seed):
    """Values for the inputs that are neither weights nor state."""
    random = np.random.default_rng(seed)
    values = {}
    for entry in step.inputs:
        if entry.name in known:
            continue
        if entry.type == "tensor(int64)":
            values[entry.name] = random.integers(0, classes if entry.name == "labels" else 10, entry.shape)
        else:
            values[entry.name] = random.normal(size=entry.shape).astype(np.float32)
    return values


def gradient_error(wide, narrow, values):
    expected, got = wide.outputs(values), narrow.outputs(values)
    names = [name for name in expected if name.endswith(".gradient")]
    difference = sum(float(((got[name] - expected[name]).astype(np.float64) ** 2).sum()) for name in names)
    length = sum(float((expected[name].astype(np.float64) ** 2).sum()) for name in names)
    return (difference / length) ** 0.5, bool(got["finite"])


def losses(step_file, weights, batches, steps):
    """The first and the last loss, and how many steps changed nothing because a gradient was not finite."""
    state = {**weights, **STATE}
    first, left_out = None, 0
    for step in range(steps):
        outputs = step_file.outputs({**batches[step % len(batches)], **state, "learning_rate": RATE})
        state.update({name.removesuffix(".next"): value for name, value in outputs.items() if name.endswith(".next")})
        left_out += not outputs.get("finite", True)
        first = float(outputs["loss"]) if first is None else first
    return first, float(outputs["loss"]), left_out


def compare(lemma, name, model, folder, steps):
    """A line of the table, and whether both steps agree."""
    loaded = onnx.load(model)
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in loaded.graph.initializer}
    classes = next((d.dim_value for d in list(loaded.graph.output[0].type.tensor_type.shape.dim)[1:2]), 2)
    mixed = ("--mixed-precision", "f16")
    wide = Step(lemma, model, name, folder, "--optimizer", "none")
    narrow = Step(lemma, model, name, folder, "--optimizer", "none", *mixed)
    known = {*weights, *STATE, "learning_rate"}
    batches = [batch_of(wide, known, classes, 100 + seed) for seed in range(4)]
    scale = dict(STATE)
    error, finite = gradient_error(wide, narrow, {**weights, **scale, **batches[0]})
    while not finite and scale["loss_scale"] > 1:
        scale["loss_scale"] /= 2
        error, finite = gradient_error(wide, narrow, {**weights, **scale, **batches[0]})
    first, end, _ = losses(Step(lemma, model, name, folder, "--optimizer", "sgd"), weights, batches, steps)
    _, narrow_end, left_out = losses(Step(lemma, model, name, folder, "--optimizer", "sgd", *mixed), weights, batches, steps)
    line = f"{name:12}{100 * error:10.2f}%{int(scale['loss_scale']):10}{first:12.4f}{end:12.4f}{narrow_end:12.4f}{left_out:10}   {narrow.runs_in}"
    return line, finite and error < GRADIENT_PART and abs(end - narrow_end) < LOSS_PART * abs(first)


def main():
    options = arguments()
    lemma = environment.lemma_program(options.lemma)
    good = True
    with tempfile.TemporaryDirectory(prefix="lemma-mixed-") as made:
        folder = Path(made)
        sessions.package(options.lemma, folder)
        sys.path.insert(0, made)
        subprocess.run([sys.executable, ROOT / "models" / "training_models.py", folder], check=True, capture_output=True)
        print(f"{'model':12}{'gradients':>11}{'at scale':>10}{'first loss':>12}{'f32':>12}{'f16':>12}{'left out':>10}   f16 in")
        for name in options.models or training_models.MODELS:
            line, agrees = compare(lemma, name, folder / f"{name}.onnx", folder, options.steps)
            print(line + ("" if agrees else "   differs"), flush=True)
            good = good and agrees
    return 0 if good else 4


if __name__ == "__main__":
    sys.exit(main())
