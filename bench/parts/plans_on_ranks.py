#!/usr/bin/env python3
"""Plans that are made for models, proved, and run on ranks (docs/plans.md).

The models are those of models/training_models.py, each by itself and as a step of training (lemma differentiate), for the
clusters local-2 and local-4. A plan is made within the least memory that is found, by halves of what the first plan needs, so that
weights are cut and ranks exchange; it is proved when it is made, and run by threads and, where mpirun is there, by processes. Printed are
the claims of the proof, what a rank sends, and the largest difference from one device.
"""

import argparse
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

import onnx
import training_models

NUMBER = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}


def call(words, limit=600):
    try:
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 3, "", f"no answer in {limit} s")


def least_plan(lemma, model, cluster, plan):
    """A plan within half of the memory of the one before, as long as there is one: its text and its time."""
    best, limit = None, None
    for _ in range(6):
        started = time.perf_counter()
        done = call([lemma, "plan", "make", model, "--cluster", cluster, "-o", plan, *(["--memory-limit", limit] if limit else [])])
        if done.returncode != 0:
            return best or (None, done.stderr.strip().splitlines()[-1:] or ["?"], 0)
        best = (done.stdout, None, time.perf_counter() - started)
        amount, prefix = re.search(r"([\d.]+) ?([kMG]?) bytes on a device", done.stdout).groups()
        limit = str(int(float(amount) * NUMBER[prefix] * 0.6))
    return best


def row_of(lemma, name, model, cluster, folder):
    plan, ranks = folder / "plan.json", cluster[-1]
    text, error, seconds = least_plan(lemma, model, cluster, plan)
    if text is None:
        return [name, int(ranks), error[0], None, None, None, None]
    claims = int(re.search(r"by (\d+) claims", text).group(1))
    threads = call([lemma, "plan", "run", model, plan])
    outcome = "as one device" if threads.returncode == 0 else (threads.stdout + threads.stderr).strip().splitlines()[-1]
    sent = [int(words[2]) for words in (line.split() for line in threads.stdout.splitlines()) if len(words) == 3 and words[0].isdigit()]
    if shutil.which("mpirun"):
        processes = call(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks, lemma, "plan", "run", model, plan])
        outcome += ", processes alike" if processes.stdout == threads.stdout else ", processes differ"
    difference = re.search(r"by ([\d.e+-]+) of the largest", threads.stdout)
    return [name, int(ranks), outcome, claims, max(sent, default=None), float(difference.group(1)) if difference else None, round(seconds, 1)]


def rows(options, lemma, folder):
    for name in options.models or training_models.MODELS:
        model, step = folder / f"{name}.onnx", folder / f"{name}-step.onnx"
        onnx.save(training_models.make(name), model)
        loss = training_models.LOSSES.get(name, "cross-entropy")
        differentiated = call([lemma, "differentiate", model, "--loss", loss, "-o", step])
        cases = [(name, model)] + ([(f"{name}, step of training", step)] if differentiated.returncode == 0 else [])
        for title, file in cases:
            for cluster in ("local-2", "local-4"):
                yield row_of(lemma, title, file, cluster, folder)


def main():
    parser = argparse.ArgumentParser(prog="bench/proofs ranks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma")
    parser.add_argument("--models", nargs="*")
    results.add_option(parser)
    options = parser.parse_args()
    lemma = environment.lemma_program(options.lemma)
    with tempfile.TemporaryDirectory() as scratch:
        measured = []
        for row in rows(options, lemma, Path(scratch)):
            measured.append(row)
            print(*row, sep="; ", flush=True)
    results.update(options.result, measured)


if __name__ == "__main__":
    main()
