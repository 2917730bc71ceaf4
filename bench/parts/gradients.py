#!/usr/bin/env python3
"""Compares gradients and steps of training with JAX: of single operators, and of models their losses, gradients, the loss after
many steps, and times.

    bench/models gradients MODELS GRADIENTS [--steps N --sgd SGD]
    bench/models gradients MODELS --sgd SGD --times
    bench/models gradients --operators [--only NAME...]

MODELS holds models of models/training_models.py; GRADIENTS what `lemma differentiate --optimizer none` writes of them under
the same names, SGD what `--optimizer sgd` writes. Needs JAX, which nothing else needs: pip install jax.

With --times, a step is timed as it is written and after `lemma optimize` in ONNX Runtime, as a task program, and in JAX, in
turn on the same processors. Times are those of the processors, of all threads of this process together.

Exit code: 0 all agree, 4 a gradient of an operator or a result of a timed step differs, 77 there is no JAX.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models")]
import environment

environment.enter()

import numpy as np
import onnx
import onnxruntime

import emitted_program

try:
    import jax
    import jax_evaluation
    import operator_gradients
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


# ---- Times -----------------------------------------------------------------------------------------------------------

def rate_and(values):
    return {**values, "learning_rate": np.array(RATE, np.float32)}


class RuntimeStep:
    """A file in ONNX Runtime, with inputs and outputs in place."""

    def __init__(self, path, feed, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        names = {i.name for i in self.session.get_inputs()}
        self.feed = {name: value for name, value in feed.items() if name in names}
        for name, value in self.feed.items():
            self.binding.bind_cpu_input(name, value)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name, "cpu")

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return dict(zip((o.name for o in self.session.get_outputs()), self.session.run(None, self.feed)))


def jax_step(model, loss, parameters, inputs):
    """A function that makes the step and waits for its results."""
    @jax.jit
    def update(p, i):
        value, gradients = jax.value_and_grad(lambda q: jax_evaluation.loss_of(model, loss, q, i))(p)
        return value, {name: (p[name] - np.float32(RATE) * gradients[name]).astype(p[name].dtype) for name in p}

    given = {name: jax.numpy.asarray(value) for name, value in parameters.items()}
    batch = {name: jax.numpy.asarray(value) for name, value in inputs.items()}
    return lambda: jax.block_until_ready(update(given, batch))


def in_turn(runs, seconds):
    """Median milliseconds of the processors by name, of all threads together, the runs taking turns."""
    for run in runs.values():
        for _ in range(3):
            run()
    times = {name: [] for name in runs}
    end = time.perf_counter() + seconds
    while len(times[next(iter(runs))]) < 5 or time.perf_counter() < end:
        for name, run in runs.items():
            begin = time.process_time()
            run()
            times[name].append(time.process_time() - begin)
    return {name: 1e3 * statistics.median(taken) for name, taken in times.items()}


def nodes_of(path):
    return len(onnx.load(path, load_external_data=False).graph.node)


def time_step(options, folder, model, loss, path, classes):
    """Milliseconds of a step by where it runs, the nodes of the file before and after, and the greatest difference of the
    results of the optimized file and of the task program, in parts of the largest element."""
    session = session_of(path)
    weights = jax_evaluation.weights_of(model)
    parameters = {o.name.removesuffix(".next") for o in session.get_outputs() if o.name.endswith(".next")}
    inputs = drawn(session, weights, 1, classes)
    given = {name: weights[name] for name in parameters}
    optimized = folder / "optimized.onnx"
    subprocess.run([environment.lemma_program(options.lemma), "optimize", path, "-o", optimized, "--device", "onnxruntime-cpu", "--no-second-judge"],
                   check=True, capture_output=True)
    feed = rate_and({**inputs, **given})
    before, after = RuntimeStep(path, feed, options.threads), RuntimeStep(optimized, feed, options.threads)
    runs = {"before": before.run, "after": after.run, "jax": jax_step(model, loss, given, inputs)}
    expected, got = before.outputs(), after.outputs()
    worst = max(relative(got[name], value) for name, value in expected.items())
    try:
        emitted_program.build(options.lemma, path, folder / "program", options.threads)
        program = emitted_program.Program(folder / "program", feed)
        program.run()
        worst = max(worst, *(relative(data.view(value.dtype).reshape(value.shape), value)
                             for data, value in zip(program.outputs, expected.values())))
        runs["program"] = program.run
    except RuntimeError as error:
        print(f"no task program: {error}", file=sys.stderr)
    return in_turn(runs, options.seconds), nodes_of(path), nodes_of(optimized), worst


def relative(got, expected):
    if not (np.isfinite(got).all() and np.isfinite(expected).all()):
        return float("inf")
    return float(np.abs(got - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1e-6))


def time_steps(options):
    import training_models

    good = True
    for name in training_models.MODELS:
        path = options.sgd / f"{name}.onnx"
        if not path.exists() or (options.only and name not in options.only):
            continue
        model = onnx.load(options.models / f"{name}.onnx")
        loss = training_models.LOSSES.get(name, "cross-entropy")
        with tempfile.TemporaryDirectory(prefix="lemma-steps-") as folder:
            times, before, after, worst = time_step(options, Path(folder), model, loss, path, classes_of(model))
        good = good and worst < 1e-3
        print(f"{name}: nodes {before} and {after}; ms: " +
              ", ".join(f"{where} {times[where]:.3f}" for where in ("before", "after", "program", "jax") if where in times) +
              f"; largest difference {worst:.1e}", flush=True)
    return good


def classes_of(model):
    return next((d.dim_value for d in list(model.graph.output[0].type.tensor_type.shape.dim)[1:2]), 2)


def arguments():
    parser = argparse.ArgumentParser(prog="bench/models gradients", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="?")
    parser.add_argument("gradients", type=Path, nargs="?")
    parser.add_argument("--steps", type=int, default=0, help="so many steps are made; needs --sgd")
    parser.add_argument("--sgd", type=Path)
    parser.add_argument("--operators", action="store_true", help="gradients of single operators")
    parser.add_argument("--times", action="store_true", help="times of the steps of --sgd")
    parser.add_argument("--only", nargs="*", default=[], help="names of operators or models")
    parser.add_argument("--threads", type=int, default=2, help="for --times")
    parser.add_argument("--seconds", type=float, default=5, help="for each model of --times")
    parser.add_argument("--lemma", help="program to use")
    options = parser.parse_args()
    if not options.operators and (options.models is None or (options.sgd if options.times else options.gradients) is None):
        parser.error("MODELS and GRADIENTS are needed, or MODELS and --sgd with --times, or --operators")
    return options


def main():
    options = arguments()
    if jax is None:
        print("JAX is not installed: pip install jax", file=sys.stderr)
        return 77
    if options.operators:
        return 0 if operator_gradients.compare_operators(environment.lemma_program(options.lemma), options.only) else 4
    if options.times:
        return 0 if time_steps(options) else 4
    import training_models

    models, gradients, steps, updates = options.models, options.gradients, options.steps, options.sgd
    for name in training_models.MODELS:
        if not (gradients / f"{name}.onnx").exists():
            print(f"{name}: no step")
            continue
        model = onnx.load(models / f"{name}.onnx")
        weights = jax_evaluation.weights_of(model)
        loss = training_models.LOSSES.get(name, "cross-entropy")
        classes = classes_of(model)
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
