#!/usr/bin/env python3
"""Plans for models, proved, and run on ranks (docs/plans.md).

The models are those of models/training_models.py, each by itself and as a step of training (lemma differentiate, mean squares, momentum), on 2
and 4 ranks of the clusters local-2 and local-4. Each is split in the ways of KINDS: how some inputs, weights or states are placed,
from which the rest follows (lemma plan make --place). A plan is proved when it is made. It is run by threads and, where mpirun is
there, by processes, which have to print the same; and by task programs. Printed are the claims of the proof, the collectives of a
rank, the bytes that it sends, which `lemma plan run` holds against those planned, and the largest differences from one device.

With --steps, the most memory of so many steps of training is compared with that of a fifth of them.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "models"), str(ROOT / "scripts")]
import environment

environment.enter()

import numpy as np
import onnx
import onnx.numpy_helper
import training_models

# By model: what the ways are called, and what is placed how.
KINDS = {
    "mlp": {"data": ("x:0",), "tensor": ("first.weight:0", "second.weight:1")},
    "resnet": {"data": ("x:0",), "filters": ("stage*.conv1.weight:0",)},
    "lstm_steps": {"data": ("x:1",), "units": ("lstm.input:1", "lstm.state:1")},
    "bert": {"data": ("tokens:0",), "tensor": ("*.query.weight:1", "*.key.weight:1", "*.value.weight:1", "*.up.weight:1")},
    "dlrm": {"data": ("dense:0", "ids*:0"), "tables": ("table*:1",)},
    "gcn": {"nodes": ("joined:0", "x:0"), "features": ("first.weight:1",)},
    "translation": {"data": ("source:1", "given:1")},
}
# Of a step of training, beside the data: what the optimizer keeps, and the weights.
STEP_KINDS = {"data": ("target:0",), "data, state in parts (ZeRO-1)": ("target:0", "*.momentum:0"),
              "data, weights and state in parts (ZeRO-3)": ("target:0", "*.momentum:0", "*.weight:0")}
COMPILED = ("mlp", "gcn", "dlrm")  # others have up to a hundred stages, each of which is compiled, and are so in one way only


def call(words, limit=200):
    try:
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 3, "", f"no answer in {limit} s")


def last_line(done):
    return ((done.stdout + done.stderr).strip().splitlines() or ["?"])[-1]


def on_processes(ranks):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]


def write_weights(model, step, folder):
    """The weights of the model as inputs of its step of training; with random ones, deep models overflow."""
    folder.mkdir(exist_ok=True)
    weights = {weight.name: weight for weight in onnx.load(model).graph.initializer}
    for number, value in enumerate(onnx.load(step).graph.input):
        file = folder / f"input_{number}.pb"
        file.unlink(missing_ok=True)
        if value.name in weights:
            file.write_bytes(weights[value.name].SerializeToString())


def row_of(lemma, name, kind, places, model, ranks, folder, is_compiled):
    plan, started = folder / "plan.json", time.perf_counter()
    made = call([lemma, "plan", "make", model, "--cluster", f"local-{ranks}", "-o", plan, *(word for place in places for word in ("--place", place))])
    seconds = time.perf_counter() - started
    if made.returncode != 0:
        return [name, kind, ranks, last_line(made), None, None, None, None, None, round(seconds, 1)]
    claims = int(re.search(r"by (\d+) claims", made.stdout).group(1))
    run = [lemma, "plan", "run", model, plan, *(["--inputs", folder / "weights"] if "step" in name else [])]
    threads = call([*run, "--json"])
    if threads.returncode != 0:
        return [name, kind, ranks, last_line(threads), claims, None, None, None, None, round(seconds, 1)]
    answer = json.loads(threads.stdout)
    outcome = "as one device"
    if shutil.which("mpirun"):
        outcome += ", processes alike" if call([*on_processes(ranks), *run]).stdout == call(run).stdout else ", processes differ"
    compiled = None
    if is_compiled:
        programs = call([*run, "--engine", "task-programs", "--json"])
        compiled = json.loads(programs.stdout)["difference"] if programs.returncode == 0 else last_line(programs)
    return [name, kind, ranks, outcome, claims, max(rank["collectives"] for rank in answer["ranks"]),
            max(rank["bytes"] for rank in answer["ranks"]), float(f"{answer['difference']:.1e}"),
            float(f"{compiled:.1e}") if isinstance(compiled, float) else compiled, round(seconds, 1)]


def rows(options, lemma, folder):
    for ranks in options.ranks:
        for name in options.models or KINDS:
            model, step = folder / f"{name}.onnx", folder / f"{name}-step.onnx"
            onnx.save(training_models.make(name, batch=8), model)
            call([lemma, "differentiate", model, "--loss", "mse", "--optimizer", "momentum", "-o", step])
            write_weights(model, step, folder / "weights")
            for kind, places in KINDS[name].items():
                yield row_of(lemma, name, kind, places, model, ranks, folder,
                             ranks == 2 and (name in COMPILED or kind == next(iter(KINDS[name]))))
            data = next(iter(KINDS[name].values()))
            for kind, places in STEP_KINDS.items():
                is_compiled = ranks == 2 and name in COMPILED and kind == "data"
                yield row_of(lemma, f"{name}, step of training", kind, (*data, *places), step, ranks, folder, is_compiled)


def resident(process):
    """Memory of a process and of its children, in kB."""
    total, waiting = 0, [process]
    while waiting:
        number = waiting.pop()
        try:
            status = Path(f"/proc/{number}/status").read_text()
            waiting += [int(child) for task in Path(f"/proc/{number}/task").glob("*/children") for child in task.read_text().split()]
        except OSError:
            continue
        total += int((re.search(r"VmRSS:\s+(\d+)", status) or [0, 0])[1])
    return total


def most_memory(words):
    """The most memory of a run, and its exit code."""
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        most = max(most, resident(process.pid))
        time.sleep(0.02)
    return most, process.returncode


def growth(lemma, folder, steps, exchange, is_on_processes):
    """The most memory of a fifth of the steps, of all of them, and the exit code."""
    step, plan = folder / "mlp-step.onnx", folder / "plan.json"
    onnx.save(training_models.make("mlp", batch=8), folder / "mlp.onnx")
    call([lemma, "differentiate", folder / "mlp.onnx", "--loss", "mse", "--optimizer", "momentum", "-o", step])
    call([lemma, "plan", "make", step, "--cluster", "local-2", "-o", plan, "--place", "x:0", "--place", "target:0"])
    inputs = folder / "inputs"
    inputs.mkdir(exist_ok=True)
    for number, value in enumerate(onnx.load(step).graph.input):
        if value.name == "learning_rate":  # so small that nothing has converged at the end
            shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
            rate = onnx.numpy_helper.from_array(np.full(shape, 0.0003, np.float32), value.name)
            (inputs / f"input_{number}.pb").write_bytes(rate.SerializeToString())
    words = [*(on_processes(2) if is_on_processes else []), lemma, "plan", "run", step, plan, "--exchange", exchange, "--inputs", inputs]
    few, _ = most_memory([*words, "--steps", steps // 5])
    return few, *most_memory([*words, "--steps", steps])


def main():
    parser = argparse.ArgumentParser(prog="bench/proofs ranks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma")
    parser.add_argument("--models", nargs="*")
    parser.add_argument("--ranks", nargs="*", type=int, default=[2, 4])
    parser.add_argument("--steps", type=int, help="nothing else is measured than the growth of memory in so many steps")
    results.add_option(parser)
    options = parser.parse_args()
    lemma = environment.lemma_program(options.lemma)
    with tempfile.TemporaryDirectory() as scratch:
        if options.steps:
            for exchange in ("collectives", "one-sided", "send-receive", "remote-calls"):
                for is_on_processes in (False, True):
                    few, most, code = growth(lemma, Path(scratch), options.steps, exchange, is_on_processes)
                    print(f"{options.steps} steps, {exchange}, {'processes' if is_on_processes else 'threads'}: {most - few:+} kB in the last four fifths, to {most} kB, "
                          f"exit code {code}", flush=True)
            return
        measured = []
        for row in rows(options, lemma, Path(scratch)):
            measured.append(row)
            print(*row, sep="; ", flush=True)
    results.update(options.result, measured)


if __name__ == "__main__":
    main()
