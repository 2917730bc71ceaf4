#!/usr/bin/env python3
"""Processor seconds of `lemma optimize --no-measure` on random models of few operators (models/random_network.py),
as whole processes with all that they start. Prints the slowest, the median and how many take more than --bound.

Exit code: 0 none takes more than the bound, 4 some do or fail.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models")]
import environment

environment.enter()

import onnx

import results
from random_network import random_model


def arguments():
    parser = argparse.ArgumentParser(prog="bench/real_models small",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--count", type=int, default=60, help="models")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed of the first one")
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--bound", type=float, default=1.0, help="processor seconds")
    parser.add_argument("--runs", type=int, default=1, help="of each model, of which the least counts")
    parser.add_argument("--no-second-judge", action="store_true", help="without the comparison in ONNX Runtime")
    results.add_option(parser)
    return parser.parse_args()


def model_of(seed, nodes):
    """The next seed's model that has exactly so many nodes; seeds of different models are far apart."""
    for attempt in range(1000):
        model = random_model(1000 * seed + attempt, nodes)
        if len(model.graph.node) == nodes:
            return model
    raise RuntimeError(f"no model of {nodes} nodes")


def processor_seconds(call):
    """And the exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode


def main():
    options = arguments()
    rows = []
    with tempfile.TemporaryDirectory(prefix="lemma-small-") as folder:
        file, out = Path(folder) / "model.onnx", Path(folder) / "out.onnx"
        call = [environment.lemma_program(options.lemma), "optimize", str(file), "-o", str(out), "--no-measure",
                "--threads", "1", *(["--no-second-judge"] if options.no_second_judge else [])]
        for seed in range(options.first, options.first + options.count):
            model = model_of(seed, options.nodes)
            onnx.save(model, file)
            seconds, code = min((processor_seconds(call) for _ in range(options.runs)), key=lambda run: (-run[1], run[0]))
            rows.append((seconds, seed, code, ", ".join(node.op_type for node in model.graph.node)))
    rows.sort(reverse=True)
    for seconds, seed, code, operators in rows[:8]:
        print(f"{seconds:6.2f} s  seed {seed}, exit code {code}: {operators}")
    slow, failed = sum(row[0] > options.bound for row in rows), sum(row[2] != 0 for row in rows)
    print(f"{len(rows)} models of {options.nodes} nodes: median {statistics.median(row[0] for row in rows):.2f}, slowest "
          f"{rows[0][0]:.2f} processor seconds; {slow} take more than {options.bound:g} s, {failed} fail")
    median = statistics.median(row[0] for row in rows)
    results.update(options.result, [["operators of a model", options.nodes], ["processor seconds, median", round(median, 2)],
                                    ["processor seconds, slowest", round(rows[0][0], 2)],
                                    [f"models above {options.bound:g} s", slow]])
    return 4 if slow or failed else 0


if __name__ == "__main__":
    sys.exit(main())
