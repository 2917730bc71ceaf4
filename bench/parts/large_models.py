#!/usr/bin/env python3
"""What `lemma simplify` and `lemma optimize` do with large models at the default time limit: models of 11,300 and 24,000
nodes with an open batch, and one with 2.4 GB of weights (models/large.py makes them).

For each: nodes before and after (Constant nodes not counted), the time of the command, its peak memory by the size of
the model with its weights, whether the result was timed, and its time under ONNX Runtime by that of the original
(medians of interleaved runs, all of ONNX Runtime's optimizations on).

Exit code: 0 every command ended with 0, 4 one did not.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models")]
import environment

environment.enter()

import numpy
import onnx
import onnxruntime

import results
from large import exported, write_heavy

FOLDER = ROOT / "out" / "large_models"


def arguments():
    parser = argparse.ArgumentParser(prog="bench/models large", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--nodes", type=int, nargs="*", default=[11300, 24000])
    parser.add_argument("--gigabytes", type=float, nargs="*", default=[2.4])
    parser.add_argument("--runs", type=int, default=15)
    results.add_option(parser)
    return parser.parse_args()


def made(options):
    FOLDER.mkdir(parents=True, exist_ok=True)
    for nodes in options.nodes:
        file = FOLDER / f"nodes_{nodes}.onnx"
        if not file.exists():
            onnx.save(exported(nodes), str(file))
        yield file, {"x": numpy.random.default_rng(0).standard_normal((1, 128, 32), numpy.float32)}
    for size in options.gigabytes:
        file = FOLDER / f"weights_{size}GB.onnx"
        if not file.exists():
            write_heavy(file, size * 1e9)
        yield file, {"x": numpy.random.default_rng(0).standard_normal((1, 4096), numpy.float32)}


def nodes_of(file):
    return sum(node.op_type != "Constant" for node in onnx.load(str(file), load_external_data=False).graph.node)


def bytes_of(file):
    return sum(beside.stat().st_size for beside in file.parent.glob(file.stem + ".*"))


def run(call):
    """Exit code, seconds, and the peak of resident memory of the command and its workers, in bytes."""
    begin = time.monotonic()
    process = subprocess.Popen(list(map(str, call)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begin
    try:
        report = json.loads(output)["models"][0]
    except (ValueError, KeyError, IndexError):
        report = {}
    return process.returncode, seconds, max(usage.ru_maxrss * 1024, report.get("peak_memory_bytes", 0)), report


def ratio(original, result, feed, runs):
    sessions = []
    for file in (original, result):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        sessions.append(onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"]))
        sessions[-1].run(None, feed)
    ratios = []
    for _ in range(runs):
        seconds = []
        for session in sessions:
            begin = time.thread_time()
            session.run(None, feed)
            seconds.append(time.thread_time() - begin)
        ratios.append(seconds[1] / seconds[0])
    return float(numpy.median(ratios))


def main():
    options = arguments()
    lemma, rows, failed = environment.lemma_program(options.lemma), [], False
    for file, feed in made(options):
        for command in ("simplify", "optimize"):
            result = FOLDER / "result" / file.name
            result.parent.mkdir(exist_ok=True)
            code, seconds, memory, report = run([lemma, command, file, "-o", result, "--json"])
            failed = failed or code != 0
            timed = report.get("timing", {}).get("state")
            rows.append([file.stem, command, code, nodes_of(file), nodes_of(result) if code == 0 else None,
                         round(seconds, 1), round(memory / bytes_of(file), 2), report.get("status"),
                         "yes" if timed == 1 else "no",
                         round(ratio(file, result, feed, options.runs), 3) if code == 0 else None])
            print(*rows[-1], sep="  ", flush=True)
            for beside in result.parent.glob(file.stem + ".*"):
                beside.unlink()
    results.update(options.result, rows)
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
