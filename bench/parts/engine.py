#!/usr/bin/env python3
"""Measures the e-graph engine. Two parts:

- with --before BINARY: build/release/bench/bin/egraph_benchmark (LEMMA_BUILD_BENCHMARKS) beside an older one, in alternating runs; the figure is
  the median of the ratios of processor time of neighbouring runs. With valgrind also the instructions of a saturation,
  which do not depend on what else runs;
- terms by the engine alone (build/release/bench/bin/engine_terms), beside egglog (package egglog) and egg (package
  snake-egg) where --python has them: sums of N terms until nothing new follows, and egg's math set.

Exit code: 0 all programs that count nodes agree on the saturated sums, 4 otherwise.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import results

HERE = Path(__file__).resolve().parent
BIN = results.ROOT / "build" / "release" / "bench" / "bin"
MATH = "(i (* (+ x (cos x)) (- (* 3 (pow x 2)) (d x (* x (sin (+ x y)))))) x)"
FILTER = "saturate_sum/terms:8/log:0/threads:1|saturate_sum/terms:10/log:0/threads:1|extract_sum"


def arguments():
    parser = argparse.ArgumentParser(prog="bench/search engine", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="BINARY", help="an older egraph_benchmark")
    parser.add_argument("--runs", type=int, default=11, help="of each program")
    parser.add_argument("--python", default=sys.executable, help="a Python that has egglog and snake-egg")
    parser.add_argument("--terms", type=int, nargs="*", default=[6, 8], help="terms of the sums")
    parser.add_argument("--iterations", type=int, nargs="*", default=[6], help="of the math set")
    results.add_option(parser)
    return parser.parse_args()


# ---- Before and after ------------------------------------------------------------------------------------------------

def processor_times(binary):
    done = subprocess.run([binary, f"--benchmark_filter={FILTER}", "--benchmark_format=json", "--benchmark_min_time=0.05"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return {run["name"]: run["cpu_time"] for run in json.loads(done.stdout)["benchmarks"] if not run.get("error_occurred")}


def compare(before, runs):
    ratios, times = {}, {}
    for run in range(runs):
        order = [before, BIN / "egraph_benchmark"]
        if run % 2:
            order.reverse()  # what runs second may find the machine in another state
        measured = {binary: processor_times(binary) for binary in order}
        for name, time in measured[BIN / "egraph_benchmark"].items():
            ratios.setdefault(name, []).append(time / measured[before][name])
            times.setdefault(name, []).append((measured[before][name], time))
    for name, of_runs in ratios.items():
        what = re.sub(r"saturate_sum/terms:(\d+).*", r"tensors: saturation of a sum of \1 terms", name)
        what = re.sub(r"extract_sum/(\d+)", r"tensors: extraction from a sum of \1 terms", what)
        yield [what, None, statistics.median(a for a, _ in times[name]), statistics.median(b for _, b in times[name]),
               statistics.median(of_runs), None, None]


def instructions(binary):
    """Millions, of the program that saturates the sum of eight terms once."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", binary,
                           "--benchmark_filter=saturate_sum/terms:8/log:0/threads:1", "--benchmark_min_time=0.000001"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    return int(re.search(r"refs:\s*([\d,]+)", done.stderr)[1].replace(",", "")) / 1e6


def compare_instructions(before):
    old, new = instructions(before), instructions(BIN / "egraph_benchmark")
    return ["tensors: saturation of a sum of 8 terms, million instructions", None, old, new, new / old, None, None]


# ---- Terms -----------------------------------------------------------------------------------------------------------

def sum_of(count):
    term = "x0"
    for i in range(1, count):
        term = f"(+ {term} x{i})"
    return term


def beside(python, program, rules, term, iterations):
    """What another engine says; None where it is not installed."""
    done = subprocess.run([python, HERE / "other_engines.py", program, HERE / rules, term, str(iterations)], text=True,
                          stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def terms(options):
    problems = [(f"sum of {count} terms", "sum.rules", sum_of(count), 1000) for count in options.terms]
    problems += [(f"egg's math set, {count} iterations", "math.rules", MATH, count) for count in options.iterations]
    for name, rules, term, iterations in problems:
        runs = [json.loads(subprocess.run([BIN / "engine_terms", HERE / rules, term, "--iterations", str(iterations)],
                                          stdout=subprocess.PIPE, check=True).stdout) for _ in range(options.runs)]
        others = {program: beside(options.python, program, rules, term, iterations) for program in ("egglog", "egg")}
        milliseconds = [others[program] and round(others[program]["milliseconds"], 1) for program in ("egglog", "egg")]
        yield [f"terms: {name}", runs[0]["nodes"], None, statistics.median(run["milliseconds"] for run in runs), None,
               *milliseconds], runs[0], others["egglog"]


def main():
    options = arguments()
    rows, agree = [], True
    if options.before:
        rows += compare(options.before, options.runs)
        if shutil.which("valgrind"):
            rows.append(compare_instructions(options.before))
    for row, own, egglog in terms(options):
        rows.append(row)
        if own["stop"] == "saturated" and egglog and egglog["nodes"] != own["nodes"]:
            print(f"{row[0]}: {own['nodes']} nodes, egglog {egglog['nodes']}", file=sys.stderr)
            agree = False
    for row in rows:
        print(*row, sep=", ")
    results.update(options.result, rows)
    return 0 if agree else 4


if __name__ == "__main__":
    sys.exit(main())
