#!/usr/bin/env python3
"""Says where the time of task programs (docs/rtask.md) goes: for each model, the kernels that take most of the
processor's time, with one thread. Each model is emitted and built; a function beside the program then runs its steps in
order and reads the thread's clock around each.

Columns: the part of all time, milliseconds of a run (the least of the rounds, summed over the operators that share the
kernel), operators, GFLOP/s, GB/s, and what the kernel computes. Operations are those of the loop nests: a multiplication
with an addition counts as four (two reads, product, sum), so that GFLOP/s are half of them, and mean something where sums of
products prevail. Bytes are those of all tensors that an operator reads or writes, each once.

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
    return parser.parse_args()


def least_seconds(options, folder, feed, operators):
    """Of each operator, over the rounds."""
    program = emitted_program.Program(folder, feed)
    run = program.library.program_operator_times
    least = numpy.full(operators, numpy.inf)
    for _ in range(options.rounds):
        seconds = numpy.zeros(operators)
        if run(program.state, program.words[0], program.words[3], ctypes.c_void_p(seconds.ctypes.data)) != 0:
            raise RuntimeError("the program has several threads")
        least = numpy.minimum(least, seconds)
    program.close()
    return least


def profile(options, model, folder):
    """Rows of kernels, those that take most first."""
    feed = inputs_of(model)
    shapes = emitted_program.shape_words(model, feed)
    emitted_program.emit(options.lemma, model, folder, 1, *shapes)
    (folder / "profile.cpp").write_text(SOURCE.read_text().replace("{{name}}", "program"))
    emitted_program.compile_library(folder, "profile.cpp", "-Wno-subobject-linkage")
    done = subprocess.run([environment.lemma_program(options.lemma), "emit", str(model), "--plan", "--json", "--threads", "1",
                           "--list-operators", *shapes], capture_output=True, text=True, check=True)
    operators = json.loads(done.stdout)["each_operator"]
    seconds = least_seconds(options, folder, feed, len(operators))
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
    return sorted(rows.values(), key=lambda row: -row["seconds"])


def main():
    options = arguments()
    models, failed = {}, []
    for model in options.models:
        with tempfile.TemporaryDirectory(prefix="lemma-tasks-") as folder:
            try:
                rows = profile(options, model, Path(folder) / "program")
            except (RuntimeError, subprocess.CalledProcessError) as error:
                failed.append(model.stem)
                print(f"{model.stem}: {error}", flush=True)
                continue
        models[model.stem] = rows
        total = sum(row["seconds"] for row in rows)
        print(f"{model.stem}: {1e3 * total:.2f} ms in {len(rows)} kernels")
        print(f"  {'part':>5} {'ms':>8} {'operators':>9} {'GFLOP/s':>8} {'GB/s':>6}  what")
        for row in rows[:options.kernels]:
            print(f"  {row['seconds'] / total:5.1%} {1e3 * row['seconds']:8.3f} {row['operators']:9} "
                  f"{row['operations'] / 2e9 / row['seconds']:8.1f} {row['bytes'] / 1e9 / row['seconds']:6.1f}  "
                  f"{row['what']} ({row['name']})", flush=True)
        if options.json:
            options.json.write_text(json.dumps(models, indent=1) + "\n")
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
