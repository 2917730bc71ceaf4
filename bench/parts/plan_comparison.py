#!/usr/bin/env python3
"""Plans of models over the devices of a cluster beside data parallelism and FlexFlow's search, as `lemma plan make --other-plans` predicts
them (docs/plans.md, "Making a plan"). All have the same ways of operators and the same costs."""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]
# Name, batch, and the loss of a step of training; none: inference.
MODELS = (("alexnet", 64, None), ("alexnet", 64, "cross-entropy"), ("resnet18", 64, None), ("resnext50_32x4d", 16, None),
          ("dlrm", 64, None), ("seq2seq", 8, None), ("bert-base", 1, None))
CLUSTERS = (("h100-host", ()), ("h100-hosts", ("--hosts", "2")))
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1}
LIMIT = 900  # seconds


def built(options, name, batch, loss, folder):
    words = [ROOT / "models" / "build", name, "--out", folder, *(("--batch", str(batch)) if batch > 1 else ())]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    file = folder / (f"{name}-batch{batch}.onnx" if batch > 1 else f"{name}.onnx")
    if not loss:
        return file
    step = folder / f"{name}-step.onnx"
    subprocess.run([options.lemma, "differentiate", file, "--loss", loss, "--optimizer", "sgd", "-o", step], check=True,
                   capture_output=True)
    return step


def seconds(text):
    value, unit = text.split()
    return float(value) * UNITS[unit]


def rows_of(options):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model, batch, loss in MODELS:
            if options.models and model not in options.models:
                continue
            file = built(options, model, batch, loss, folder)
            what = f"{model}, batch {batch}{', a step of training' if loss else ''}"
            for cluster, words in CLUSTERS:
                begin = time.monotonic()
                try:
                    done = subprocess.run([options.lemma, "plan", "make", file, "--cluster", cluster, *words, "--other-plans", "-o",
                                           folder / "plan.json"], capture_output=True, text=True, timeout=LIMIT)
                except subprocess.TimeoutExpired:
                    yield [what, cluster, None, None, None, None, LIMIT]
                    continue
                found = re.findall(r"^(this one|everything[\w ]*|data parallelism|Metropolis[\w, ]*?)  +([\d.]+ \w+)", done.stdout,
                                   re.MULTILINE)
                if done.returncode != 0 or len(found) != 4:
                    raise results.Malformed(f"{model} on {cluster}: {done.stderr.strip() or done.stdout[-300:]}")
                yield [what, cluster, *(round(seconds(text) * 1e6, 3) for _, text in found), time.monotonic() - begin]


def main():
    parser = argparse.ArgumentParser(prog="bench/search other_plans", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", default=str(ROOT / "build" / "release" / "bin" / "lemma"), help="built by scripts/build release lemma")
    parser.add_argument("--models", nargs="*", help="of those that are planned; otherwise all")
    results.add_option(parser)
    options, rows = parser.parse_args(), []
    try:
        for row in rows_of(options):
            rows.append(row)
            print(*row, sep="; ", flush=True)
        results.update(options.result, rows)
    except (subprocess.CalledProcessError, results.Malformed) as error:
        print(f"bench/search other_plans: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
