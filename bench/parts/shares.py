#!/usr/bin/env python3
"""Where the models of bench/models spend their time under ONNX Runtime: `lemma profile` measures each node of the graph
that ONNX Runtime makes of a model; the table has the three kinds of nodes that take the most time together, as a
share of the sum, and how well the sum agrees with the time of the whole model.

With --outside, the share of a model's time that ONNX Runtime spends outside the kernels of nodes: from the time of runs that
are not profiled, and the times of kernels in runs that are. These are whole microseconds, rounded down, so that the share is
between two bounds, which are far apart where kernels take about a microsecond.

Exit code: 0.
"""

import argparse
import collections
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import onnxruntime

import model_times as models
import results


def arguments():
    parser = argparse.ArgumentParser(prog="bench/models shares",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files (default: those of --work)")
    parser.add_argument("--outside", action="store_true")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "real_models")
    parser.add_argument("--only", nargs="*", default=[], help="models whose name contains one of these words")
    parser.add_argument("--no-trained", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=40, help="of measuring, for each model")
    results.add_option(parser)
    return parser.parse_args()


# ---- Outside kernels -------------------------------------------------------------------------------------------------

def opened(options, file, profile=None):
    words = onnxruntime.SessionOptions()
    words.log_severity_level = 4
    words.intra_op_num_threads = options.threads
    words.inter_op_num_threads = 1
    if profile:
        words.enable_profiling = True
        words.profile_file_prefix = str(profile)
    return onnxruntime.InferenceSession(str(file), words, providers=["CPUExecutionProvider"])


def kernels_of_runs(trace):
    """By run: the number of kernels, and the microseconds of all of them, each rounded down."""
    runs = [event for event in trace if event.get("cat") == "Session" and event["name"] == "model_run"]
    spans = sorted((run["ts"], run["ts"] + run["dur"]) for run in runs)
    counts, sums = [0] * len(spans), [0] * len(spans)
    for event in trace:
        if event.get("cat") != "Node" or not event["name"].endswith("_kernel_time"):
            continue
        for index, (begin, end) in enumerate(spans):
            if begin <= event["ts"] <= end:
                counts[index] += 1
                sums[index] += event["dur"]
                break
    return list(zip(counts, sums))


def outside(options, file, folder):
    """A row of bench/results/outside-kernels.json."""
    feed = models.inputs_of(file, {})
    plain, profiled = opened(options, file), opened(options, file, folder / file.stem)
    seconds, end = [], time.perf_counter() + options.seconds
    for _ in range(3):
        plain.run(None, feed)
    # The profile keeps a million events at most.
    while time.perf_counter() < end and len(seconds) < 100:
        begin = time.perf_counter()
        plain.run(None, feed)
        seconds.append(time.perf_counter() - begin)
        profiled.run(None, feed)
    runs = kernels_of_runs(json.loads(Path(profiled.end_profiling()).read_text()))[1:]
    count, least = runs[0][0], statistics.median(run[1] for run in runs)
    whole = 1e6 * statistics.median(seconds)
    shares = [100 * max(0.0, 1 - kernels / whole) for kernels in (least + count, least)]
    return [file.stem, count, float(f"{whole / 1e3:.3g}"), *(round(share, 1) for share in shares), len(runs)]


def print_outside(options):
    rows = []
    print("| model | kernels | ms | outside, % at least | at most | runs |\n|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as temporary:
        for file, shapes in models.gather(options):
            rows.append(outside(options, models.with_sizes(file, shapes, Path(temporary)), Path(temporary)))
            print("| " + " | ".join(map(str, rows[-1])) + " |", flush=True)
    results.update(options.result, rows)


# ---- Kinds of nodes --------------------------------------------------------------------------------------------------

def main():
    options = arguments()
    if options.outside:
        print_outside(options)
        return
    print("| model | ms | sum of nodes | the most time |\n|---|---|---|---|")
    errors = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for file, shapes in models.gather(options):
            fixed = models.with_sizes(file, shapes, folder)
            call = [environment.lemma_program(options.lemma), "profile", fixed, "--json", "--threads", options.threads,
                    "--database", folder / "profile.sqlite", "--seconds", options.seconds]
            done = subprocess.run(list(map(str, call)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            report = json.loads(done.stdout)["models"][0] if done.stdout else {"message": done.stderr.strip()}
            if report.get("message"):
                print(f"| {file.stem} | - | - | {report['message'][:80]} |", flush=True)
                continue
            shares = collections.Counter()
            for node in report["by_key"]:
                shares[node["key"].split("{")[0].split(":")[-1]] += node["ms"] or 0
            total = sum(shares.values()) or 1
            error = report["predicted_ms"] / report["latency_ms"] - 1
            errors.append(abs(error))
            most = ", ".join(f"{kind} {ms / total:.0%}" for kind, ms in shares.most_common(3))
            print(f"| {file.stem} | {report['latency_ms']:.3g} | {error:+.1%} | {most} |", flush=True)
    print(f"\nMean error of the sums: {sum(errors) / max(1, len(errors)):.1%} over {len(errors)} models.")


if __name__ == "__main__":
    main()
