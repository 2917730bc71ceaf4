#!/usr/bin/env python3
"""Plans of what rules make of models, beside plans of the models themselves: `lemma plan make --rewritten` judges each graph that the search
proposes by its plan (docs/plans.md, "Rules and plans together"). Predicted for the devices of a cluster."""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import plan_comparison
import results

ROOT = Path(__file__).resolve().parents[2]
MODELS = (("squeezenet1_1", 1), ("resnet18", 64), ("resnext50_32x4d", 16), ("nasrnn", 1), ("bert-base", 1), ("dlrm", 64))
CLUSTER = "h100-host"
JUDGED = re.compile(r"(has the plan that takes least, of|of) (\d+) graphs")
PLANNED = re.compile(r"^([\d.]+ \w+) of computing and ([\d.]+ \w+) of communicating", re.MULTILINE)


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise results.Malformed(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def planned_seconds(text):
    return sum(map(plan_comparison.seconds, PLANNED.search(text).groups()))


def rows_of(options):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model, batch in MODELS:
            if options.models and model not in options.models:
                continue
            file = plan_comparison.built(options, model, batch, None, folder)
            make = [options.lemma, "plan", "make", "--cluster", CLUSTER, "-o", folder / "plan.json"]
            own = planned_seconds(run(*make, file))
            # First the rules, for one device, and then the plan.
            run(options.lemma, "optimize", file, "-o", folder / "optimized.onnx", "--device", "h100")
            after = planned_seconds(run(*make, folder / "optimized.onnx"))
            begin = time.monotonic()
            said = run(*make, file, "--rewritten", folder / "rewritten.onnx")
            seconds = time.monotonic() - begin
            together = planned_seconds(said)
            yield [f"{model}, batch {batch}", own * 1e6, after * 1e6, together * 1e6, own / together, int(JUDGED.search(said)[2]), seconds]


def main():
    parser = argparse.ArgumentParser(prog="bench/search rewritten_plans", description=__doc__,
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
        print(f"bench/search rewritten_plans: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
