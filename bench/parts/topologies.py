#!/usr/bin/env python3
"""Networks that are made for plans, beside a fat-tree of equal cost, one switch for all ports, and a torus, as `lemma plan topology` predicts
them (docs/plans.md, "A network for a plan"). For each network the best plan that is found on it counts."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import plan_comparison
import results

ROOT = Path(__file__).resolve().parents[2]
# Name, batch, and the loss of a step of training; none: inference.
MODELS = (("alexnet", 64, "cross-entropy"), ("resnet_block", 16, "mse"), ("gcn", 1, "mse"), ("two_layer", 1, "mse"), ("dlrm", 64, None),
          ("resnet18", 64, None))
DEVICES, DEGREE = 16, 4
NETWORKS = ("this one", "fat-tree of equal cost", "switch for all ports", "torus")
LIMIT = 1500  # seconds


def what_of(model, batch, loss):
    return f"{model}, batch {batch}, {'a step of training' if loss else 'inference'}"


def row_of(options, model, batch, loss, folder):
    file, what = plan_comparison.built(options, model, batch, loss, folder), what_of(model, batch, loss)
    begin = time.monotonic()
    try:
        done = subprocess.run([options.lemma, "plan", "topology", file, "--devices", str(DEVICES), "--degree", str(DEGREE), "--other-networks",
                               "--json", "-o", folder / "plan.json"], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return [what, *(None,) * (len(NETWORKS) + 3), LIMIT]
    if done.returncode != 0:
        raise results.Malformed(f"{model}: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    by_name = {network["network"]: network for network in found["networks"]}
    times = [by_name[name]["seconds"] * 1e6 for name in NETWORKS]
    own = by_name[NETWORKS[0]]
    return [what, own["mesh"], own["computing_seconds"] * 1e6, *times, times[1] / times[0], time.monotonic() - begin]


def known_rows(file):
    """What the result has already, by model."""
    return {row[0]: row for row in json.loads(file.read_text())["rows"]} if file else {}


def main():
    parser = argparse.ArgumentParser(prog="bench/search topologies", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", default=str(ROOT / "build" / "release" / "bin" / "lemma"), help="built by scripts/build release lemma")
    parser.add_argument("--models", nargs="*", help="of those that are planned; the rows of others stay. Otherwise all")
    results.add_option(parser)
    options, rows = parser.parse_args(), {}
    try:
        with tempfile.TemporaryDirectory() as name:
            for model, batch, loss in MODELS:
                if options.models and model not in options.models:
                    continue
                rows[what_of(model, batch, loss)] = row_of(options, model, batch, loss, Path(name))
                print(*rows[what_of(model, batch, loss)], sep="; ", flush=True)
        known = known_rows(options.result) | rows
        results.update(options.result, [known[what] for what in (what_of(*model) for model in MODELS) if what in known])
    except (subprocess.CalledProcessError, results.Malformed) as error:
        print(f"bench/search topologies: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
