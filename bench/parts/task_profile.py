#!/usr/bin/env python3
"""Says where the time of task programs (docs/rtask.md) goes: for each model, the kernels that take most of the
processor's time, with one thread. Each model is emitted and built; a function beside the program then runs its steps in
order and reads the thread's clock around each.

Columns: the part of all time, milliseconds of a run (the least of the rounds, summed over the operators that share the
kernel), operators, GFLOP/s, GB/s, and what the kernel computes. Operations are those of the loop nests: a multiplication
with an addition counts as four (two reads, product, sum), so that GFLOP/s are half of them, and mean something where sums of
products prevail. Bytes are those of all tensors that an operator reads or writes, each once.

--result FILE replaces figures of how much the times of operators vary over the rounds: the coefficient of variation, which
is the standard deviation over the mean. What varies little can be scheduled before it runs.

Exit code: 0 all programs are built, 4 otherwise.
"""

import argparse
import ctypes
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import numpy

import emitted_program
import results
from agreement import inputs_of

# A function that runs the steps of the only thread and reads its clock between operators.
SOURCE = ROOT / "backend" / "emit" / "parts" / "operator_times.cpp.in"


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks profile",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help="ONNX files")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--kernels", type=int, default=8, help="that are printed for each model")
    parser.add_argument("--json", type=Path)
    results.add_option(parser)
    return parser.parse_args()


def seconds_by_round(options, folder, feed, operators):
    """Of each operator. What is read for the first time is read before."""
    program = emitted_program.Program(folder, feed)
    run = program.library.program_operator_times
    rounds = []
    for _ in range(1 + options.rounds):
        seconds = numpy.zeros(operators)
        if run(program.state, program.words[0], program.words[3], ctypes.c_void_p(seconds.ctypes.data)) != 0:
            raise RuntimeError("the program has several threads")
        rounds.append(seconds)
    program.close()
    return numpy.array(rounds[1:])


def spread(model, seconds):
    """A row of bench/results/operator-spread.json."""
    variation = 100 * seconds.std(axis=0) / seconds.mean(axis=0)
    of_all = seconds.sum(axis=1)
    figures = [numpy.mean(variation), *numpy.percentile(variation, [50, 90]), variation.max(),
               numpy.average(variation, weights=seconds.mean(axis=0)), 100 * of_all.std() / of_all.mean()]
    return [model, seconds.shape[1], seconds.shape[0], *(round(float(figure), 2) for figure in figures)]


def profile(options, model, folder):
    """Rows of kernels, those that take most first, and the row of the spread."""
    feed = inputs_of(model)
    shapes = emitted_program.shape_words(model, feed)
    emitted_program.emit(options.lemma, model, folder, 1, *shapes)
    (folder / "profile.cpp").write_text(SOURCE.read_text().replace("{{name}}", "program"))
    emitted_program.compile_library(folder, "profile.cpp", "-Wno-subobject-linkage")
    done = subprocess.run([environment.lemma_program(options.lemma), "emit", str(model), "--plan", "--json", "--threads", "1",
                           "--list-operators", *shapes], capture_output=True, text=True, check=True)
    operators = json.loads(done.stdout)["each_operator"]
    by_round = seconds_by_round(options, folder, feed, len(operators))
    seconds = by_round.min(axis=0)
    table = re.search(r"Operator operators\[\] = \{(.*?)\n\};", (folder / "schedule.h").read_text(), re.DOTALL)
    kernels = re.findall(r"\{(kernel_\d+),", table.group(1))
    rows = {}
    for kernel, operator, taken in zip(kernels, operators, seconds, strict=True):
        row = rows.setdefault(kernel, {"kernel": kernel, "what": operator["description"], "name": operator["name"],
                                       "operators": 0, "seconds": 0.0, "operations": 0.0, "bytes": 0})
        row["operators"] += 1
        row["seconds"] += float(taken)
        row["operations"] += operator["operations"]
        row["bytes"] += operator["bytes"]
    return sorted(rows.values(), key=lambda row: -row["seconds"]), spread(model.stem, by_round)


def main():
    options = arguments()
    models, spreads, failed = {}, [], []
    for model in options.models:
        with tempfile.TemporaryDirectory(prefix="lemma-tasks-") as folder:
            try:
                rows, variation = profile(options, model, Path(folder) / "program")
            except (RuntimeError, subprocess.CalledProcessError) as error:
                failed.append(model.stem)
                print(f"{model.stem}: {error}", flush=True)
                continue
        models[model.stem] = rows
        spreads.append(variation)
        total = sum(row["seconds"] for row in rows)
        print(f"{model.stem}: {1e3 * total:.2f} ms in {len(rows)} kernels")
        print(f"  {'part':>5} {'ms':>8} {'operators':>9} {'GFLOP/s':>8} {'GB/s':>6}  what")
        for row in rows[:options.kernels]:
            print(f"  {row['seconds'] / total:5.1%} {1e3 * row['seconds']:8.3f} {row['operators']:9} "
                  f"{row['operations'] / 2e9 / row['seconds']:8.1f} {row['bytes'] / 1e9 / row['seconds']:6.1f}  "
                  f"{row['what']} ({row['name']})", flush=True)
        if options.json:
            options.json.write_text(json.dumps(models, indent=1) + "\n")
    if spreads:
        results.update(options.result, spreads)
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
