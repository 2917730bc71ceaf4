#!/usr/bin/env python3
"""Predicts each operator of bench/parts/operator_cases.py with the roofline of ONNX Runtime's description (docs/costs.md),
times it in ONNX Runtime with one thread, and prints both, those that are furthest apart first.

A time below 10 us counts as 10 us on both sides: there it is the call that is timed, not the operator. --before PROGRAM adds
the prediction of another build of lemma.

Exit code: 0.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import onnx

import operator_cases
import results
import task_times
from agreement import inputs_of

DEVICE = ROOT / "targets" / "devices" / "onnxruntime-cpu.json"
LEAST_MILLISECONDS = 0.01
SHOWN = 40
GROWN_SIZE = 8192  # of the cases that grow


def arguments():
    parser = argparse.ArgumentParser(prog="bench/models operators",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="NAME", help="operators (default: all)")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--before", metavar="PROGRAM", help="another build, whose predictions are shown as well")
    parser.add_argument("--sizes", type=int, default=2, help="of each operator")
    parser.add_argument("--seconds", type=float, default=0.05, help="of timing, for each case")
    parser.add_argument("--factor", type=float, default=10, help="how far apart a prediction may be")
    results.add_option(parser)
    return parser.parse_args()


def cases_of(options):
    """(name, sizes, model) in f32 where the operator has it, or else in its first type."""
    for name, types, cases in operator_cases.all_cases():
        if not types:
            continue
        kind = "float32" if "float32" in types else types[0]
        for inputs, attributes in cases[:options.sizes]:
            yield name, inputs, attributes, kind
    for name, case in operator_cases.GROWTH.items():
        yield name, *case(GROWN_SIZE), "float32"


def predicted(lemma, path):
    """Milliseconds; none where the operator has no record."""
    call = [lemma, "inspect", path, "--device", DEVICE, "--json"]
    answer = json.loads(subprocess.run(list(map(str, call)), capture_output=True, text=True, check=True).stdout)
    return None if answer["opaque"] else 1e3 * answer["cost"]


def measured(path, seconds):
    run = task_times.OnnxRuntime(path, inputs_of(path), 1).run
    settings = argparse.Namespace(threads=1, seconds=seconds, runs=None)
    return 1e3 * statistics.median(task_times.timed({"onnxruntime": run}, settings)["onnxruntime"])


def ratio(prediction, time):
    return max(prediction, LEAST_MILLISECONDS) / max(time, LEAST_MILLISECONDS)


def rows_of(options, lemma, folder):
    """[operator, sizes, measured, predicted, ratio], and the same two of the other build."""
    path = Path(folder) / "operator.onnx"
    for name, inputs, attributes, kind in cases_of(options):
        if options.operators and name not in options.operators:
            continue
        model = operator_cases.model_of(name, kind, inputs, attributes)
        if model is None:
            continue
        onnx.save(model, path)
        try:
            time = measured(path, options.seconds)
        except Exception:  # noqa: BLE001 - whatever ONNX Runtime raises where it has no kernel
            continue
        figures = [time]
        for program in [lemma, *[options.before] * bool(options.before)]:
            prediction = predicted(program, path)
            figures += [None, None] if prediction is None else [prediction, ratio(prediction, time)]
        if None not in figures:
            yield [name, operator_cases.text_of(inputs, attributes), *(float(f"{figure:.3g}") for figure in figures)]


def distance(row):
    return max(abs(math.log(each)) for each in row[4::2])


def main():
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="lemma-operators-") as folder:
        rows = list(rows_of(options, environment.lemma_program(options.lemma), folder))
    rows.sort(key=distance, reverse=True)
    print("milliseconds measured and predicted, and the ratio" + ("; predicted before, and the ratio" if options.before else ""))
    for row in rows[:SHOWN]:
        print(f"{row[0]:26} {'  '.join(f'{cell:10.4g}' for cell in row[2:])}  {row[1]}")
    for place, program in ((4, "now"), (6, "before"))[:1 + bool(options.before)]:
        errors = [abs(math.log(row[place])) for row in rows]
        far = sorted({row[0] for row, error in zip(rows, errors) if error > math.log(options.factor)})
        print(f"{program}: {len(rows)} cases, {sum(error > math.log(options.factor) for error in errors)} more than "
              f"{options.factor:g} times apart ({', '.join(far) or 'none'}); geometric mean of the factors "
              f"{math.exp(statistics.fmean(errors)):.2f}")
    results.update(options.result, rows[:SHOWN])
    return 0


if __name__ == "__main__":
    sys.exit(main())
