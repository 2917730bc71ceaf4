#!/usr/bin/env python3
"""Times of exchanges and of plans, predicted from what `lemma plan calibrate` has measured, beside measured ones (docs/plans.md,
"Calibration").

exchanges: on 2, 4 and 8 ranks as processes, by MPI and by puts into registered memory, the time of an all-reduce and of a message for sizes
between those that were calibrated. The prediction is that of the file: between two sizes along the line through both. The median of
--repeats pairs of runs; the fit is a latency and a bandwidth.

plans: for each seed, each input and weight of a model is whole on all ranks, or in parts along an axis, as random numbers say
(lemma plan make --place); what is proved is run by threads, --repeats times in turn with the other plans, and simulated for a
cluster that was calibrated with the operators of the models. With --processes ranks are processes, which do not sleep while they wait. A time is the median over the runs of their median steps. Kendall's
tau is (concordant - discordant) / all, over pairs whose measured times differ by more than what both scatter between runs.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "models"), str(ROOT / "scripts")]
import environment

environment.enter()

import onnx
import training_models

MODELS = {"mlp": 4096, "autoencoder": 2048, "bert": 8}  # and their batches
CALIBRATED = [1024 << power for power in range(14)]     # bytes
BETWEEN = (98304, 393216, 1572864, 6291456)            # bytes between these


def call(words, limit=600):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=limit, check=False)
    return done if done.returncode == 0 else None


def on_processes(ranks, ahead=()):
    return [*ahead, "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]


def calibrated(launcher, lemma, folder, *words):
    file = folder / "cluster.json"
    done = subprocess.run([*launcher, str(lemma), "plan", "calibrate", "-o", str(file), *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench/search calibration: {done.stderr.strip()}")
    return json.loads(file.read_text())


def times_of(cluster, what, ranks):
    return next(entry["times"] for entry in cluster["measured"] if entry["what"] == what and entry["ranks"] == ranks)


def between(times, size):
    """As the file is read: along the line through the next smaller and the next larger size."""
    for (low, first), (high, second) in zip(times, times[1:]):
        if low <= size <= high:
            return first + (second - first) * (size - low) / (high - low)
    return times[-1][1] * size / times[-1][0]


def fit(times):
    """Least squares of what a line is off, relative to each time."""
    weights = [1 / seconds ** 2 for _, seconds in times]
    w, wx = sum(weights), sum(v * x for v, (x, _) in zip(weights, times))
    wxx, wt = sum(v * x * x for v, (x, _) in zip(weights, times)), sum(v * t for v, (_, t) in zip(weights, times))
    wxt = sum(v * x * t for v, (x, t) in zip(weights, times))
    latency = (wxx * wt - wx * wxt) / (w * wxx - wx * wx)
    return latency, (wxt - latency * wx) / wxx


def exchange_rows(options, lemma, folder):
    for ranks in options.ranks:
        for way in ("collectives", "one-sided"):
            predicted, measured, fits = {}, {}, {}
            for _ in range(options.repeats):
                known = calibrated(on_processes(ranks, options.ahead), lemma, folder, "--exchange", way, "--bytes", ",".join(map(str, CALIBRATED)))
                again = calibrated(on_processes(ranks, options.ahead), lemma, folder, "--exchange", way, "--bytes", ",".join(map(str, BETWEEN)))
                for what, group in (("all-reduce", ranks), ("message", 2)):
                    line = fit([pair for pair in times_of(known, what, group) if pair[0] >= 65536])
                    for size, seconds in times_of(again, what, group):
                        key = what, size
                        predicted.setdefault(key, []).append(between(times_of(known, what, group), size))
                        fits.setdefault(key, []).append(line[0] + line[1] * size)
                        measured.setdefault(key, []).append(seconds)
            for what, size in measured:
                key = what, size
                micros = [statistics.median(times[key]) * 1e6 for times in (measured, predicted, fits)]
                yield [what, way, ranks, int(size), *(round(value, 1) for value in micros),
                       *(round(100 * (value / micros[0] - 1), 1) for value in micros[1:])]


def random_places(model, seed):
    """For each input and weight of two axes or more, and each input, nothing or an axis whose size is even."""
    draw, places = random.Random(seed), []
    tensors = [(value.name, [d.dim_value for d in value.type.tensor_type.shape.dim], True) for value in model.graph.input]
    tensors += [(weight.name, list(weight.dims), False) for weight in model.graph.initializer]
    for name, sizes, is_input in tensors:
        axes = [axis for axis, size in enumerate(sizes) if size % 2 == 0 and size > 1]
        if not axes or (not is_input and len(sizes) < 2):
            continue
        chosen = draw.choice([None, *axes])
        if chosen is not None:
            places += ["--place", f"{name}:{chosen}"]
    return places


def step_seconds(launcher, lemma, model, plan, steps):
    """The median step of a run, without the first ones."""
    done = call([*launcher, lemma, "plan", "run", model, plan, "--steps", steps, "--json"])
    ends = [step["seconds"] for step in json.loads(done.stdout)["steps"]]
    return statistics.median(after - before for before, after in zip(ends[1:], ends[2:]))


def plans_of(options, lemma, folder, cluster):
    """Random plans that are proved: the model, its file, the plan and the seed."""
    for name, batch in MODELS.items():
        file, made, seed = folder / f"{name}.onnx", 0, 0
        while made < options.plans // len(MODELS) and seed < 200:
            seed += 1
            plan = folder / f"{name}-{seed}.json"
            words = [lemma, "plan", "make", file, "--cluster", cluster, "-o", plan, *random_places(onnx.load(file), seed)]
            if call(words) is not None:
                made += 1
                yield name, file, plan, seed


def tau(rows, is_same_model):
    """Concordant, discordant, and left out pairs. Of a row: the model, measured seconds, their scatter, simulated seconds."""
    counts = [0, 0, 0]
    for at, (model, measured, scatter, simulated) in enumerate(rows):
        for other, others_measured, others_scatter, others_simulated in rows[:at]:
            if is_same_model and other != model:
                continue
            if abs(measured - others_measured) <= scatter + others_scatter:
                counts[2] += 1
            else:
                counts[0 if (measured - others_measured) * (simulated - others_simulated) > 0 else 1] += 1
    return counts


def plan_rows(options, lemma, folder):
    for name, batch in MODELS.items():
        onnx.save(training_models.make(name, batch=batch), folder / f"{name}.onnx")
    files = [folder / f"{name}.onnx" for name in MODELS]
    launcher = on_processes(2, options.ahead) if options.processes else options.ahead
    calibrated(launcher, lemma, folder, *files, "--time-limit", 900)
    cluster = folder / "cluster.json"
    plans = list(plans_of(options, lemma, folder, cluster))
    seconds = [[] for _ in plans]
    for _ in range(options.repeats):
        for place, (_, file, plan, _) in enumerate(plans):
            seconds[place].append(step_seconds(launcher, lemma, file, plan, options.steps))
    rows, compared = [], []
    for (name, file, plan, seed), times in zip(plans, seconds):
        simulated = json.loads(call([lemma, "plan", "simulate", file, plan, "--cluster", cluster, "--json"]).stdout)["seconds"]
        measured, scatter = statistics.median(times), (max(times) - min(times)) / 2
        compared.append((name, measured, scatter, simulated))
        rows.append([name, MODELS[name], seed, *(round(value * 1e3, 3) for value in (measured, scatter, simulated)), round(simulated / measured, 2)])
    for what, is_same_model in (("all pairs", False), ("pairs of one model", True)):
        concordant, discordant, left_out = tau(compared, is_same_model)
        print(f"{what}: Kendall's tau {(concordant - discordant) / max(1, concordant + discordant):.3f} over {concordant + discordant} pairs; "
              f"{left_out} differ by less than they scatter", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(prog="bench/search calibration", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("exchanges", "plans"))
    parser.add_argument("--lemma")
    parser.add_argument("--ranks", nargs="*", type=int, default=[2, 4, 8], help="of exchanges")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--processes", action="store_true", help="of plans: ranks are processes")
    parser.add_argument("--plans", type=int, default=30)
    parser.add_argument("--steps", type=int, default=30)
    results.add_option(parser)
    parser.add_argument("--real-time", action="store_const", const=["chrt", "-f", "5"], default=[], dest="ahead",
                        help="what is measured comes before all other programs (chrt -f 5), where these compete for the processors")
    options = parser.parse_args()
    lemma = environment.lemma_program(options.lemma)
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        rows = list((exchange_rows if options.part == "exchanges" else plan_rows)(options, lemma, Path(scratch)))
    for row in rows:
        print(*row, sep="; ", flush=True)
    print(f"and after: {os.getloadavg()[0]:.1f}", flush=True)
    results.update(options.result, rows)


if __name__ == "__main__":
    main()
