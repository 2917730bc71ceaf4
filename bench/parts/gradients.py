#!/usr/bin/env python3
"""Compares steps of training with JAX: losses, gradients, and the loss after many steps.

MODELS holds models of models/training_models.py; GRADIENTS what `lemma differentiate --optimizer none` writes of them under
the same names, SGD what `--optimizer sgd` writes. Needs JAX, which nothing else needs: pip install jax.
"""

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models")]
import environment

environment.enter()

import numpy as np
import onnx
import onnxruntime

try:
    import jax
    import jax_evaluation
except ImportError:
    jax = None

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
RATE = 0.02


def session_of(path, optimize=True):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def drawn(session, weights, seed, classes):
    """Values for the inputs that are no parameters."""
    random = np.random.default_rng(seed)
    values = {}
    for entry in session.get_inputs():
        if entry.name in weights or entry.name in ("learning_rate", "steps"):
            continue
        dtype = TYPES[entry.type]
        if dtype == np.int64:
            values[entry.name] = random.integers(0, classes if entry.name == "labels" else 10, entry.shape)
        else:
            values[entry.name] = random.normal(size=entry.shape).astype(dtype)
    return values


def compare_gradients(model, loss, session, weights, classes, seeds):
    parameters = [o.name.removesuffix(".gradient") for o in session.get_outputs() if o.name.endswith(".gradient")]
    differentiated = jax.jit(jax.value_and_grad(lambda p, i: jax_evaluation.loss_of(model, loss, p, i)))
    worst = 0.0
    for seed in range(seeds):
        inputs = drawn(session, weights, seed, classes)
        given = {name: weights[name] for name in parameters}
        outputs = dict(zip((o.name for o in session.get_outputs()), session.run(None, {**inputs, **given})))
        value, gradients = differentiated(given, inputs)
        worst = max(worst, abs(outputs["loss"] - value) / abs(value))
        # Some gradients are 0 up to rounding, that of the bias of an attention's keys for one.
        largest = max(np.abs(g).max() for g in gradients.values())
        for name in parameters:
            mine, theirs = outputs[name + ".gradient"], np.asarray(gradients[name])
            scale = np.abs(theirs).max() + 1e-3 * largest
            worst = max(worst, np.abs(mine - theirs).max() / scale)
    return len(parameters), worst


def train(model, loss, session, weights, classes, steps):
    """The loss after so many steps on a few batches, by the step and by JAX; and the time of a step of each."""
    parameters = {o.name.removesuffix(".next") for o in session.get_outputs() if o.name.endswith(".next")}
    batches = [drawn(session, weights, 100 + i, classes) for i in range(4)]
    mine = {name: weights[name] for name in parameters}
    theirs = {name: jax.numpy.asarray(weights[name]) for name in parameters}
    names = [o.name for o in session.get_outputs()]

    @jax.jit
    def update(p, i):
        value, gradients = jax.value_and_grad(lambda q: jax_evaluation.loss_of(model, loss, q, i))(p)
        return value, {name: (p[name] - np.float32(RATE) * gradients[name]).astype(p[name].dtype) for name in p}

    first, seconds = None, 0.0
    for step in range(steps):
        batch = batches[step % len(batches)]
        start = time.perf_counter()
        outputs = dict(zip(names, session.run(None, {**batch, **mine, "learning_rate": np.array(RATE, np.float32)})))
        seconds += time.perf_counter() - start
        mine = {name: outputs[name + ".next"] for name in parameters}
        value, theirs = update(theirs, batch)
        first = float(value) if first is None else first
    return first, float(outputs["loss"]), float(value), seconds / steps


def arguments():
    parser = argparse.ArgumentParser(prog="bench/models gradients", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("gradients", type=Path)
    parser.add_argument("--steps", type=int, default=0, help="so many steps are made; needs --sgd")
    parser.add_argument("--sgd", type=Path)
    return parser.parse_args()


def main():
    options = arguments()
    if jax is None:
        print("JAX is not installed: pip install jax", file=sys.stderr)
        return 77
    import training_models

    models, gradients, steps, updates = options.models, options.gradients, options.steps, options.sgd
    for name in training_models.MODELS:
        if not (gradients / f"{name}.onnx").exists():
            print(f"{name}: no step")
            continue
        model = onnx.load(models / f"{name}.onnx")
        weights = jax_evaluation.weights_of(model)
        loss = training_models.LOSSES.get(name, "cross-entropy")
        classes = next((d.dim_value for d in list(model.graph.output[0].type.tensor_type.shape.dim)[1:2]), 2)
        session = session_of(gradients / f"{name}.onnx")
        count, worst = compare_gradients(model, loss, session, weights, classes, 5)
        line = f"{name}: {count} gradients, largest error {worst:.1e} of the largest element"
        if steps and updates is not None:
            first, mine, theirs, seconds = train(model, loss, session_of(updates / f"{name}.onnx"), weights, classes, steps)
            line += f"; loss {first:.4f}, after {steps} steps {mine:.4f} and {theirs:.4f} in JAX ({1e3 * seconds:.2f} ms a step)"
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
