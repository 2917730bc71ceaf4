#!/usr/bin/env python3
"""Times each operator, in three sizes and its types, as a task program (docs/rtask.md) beside ONNX Runtime: so it is seen
where the loops that follow from a definition are slow. The models are those of bench/parts/operator_cases.py; they are
emitted, checked and timed as by bench/tasks times. A table, the worst first.

Cases that take ONNX Runtime less than 10 us are left out, as are those that it does not run. Those that are not emitted
are counted.

--growth N times procedures and operators with long loops in place of that, at sizes N, 2 N, 4 N and 8 N, as a task program with
one thread: milliseconds, and the exponent e of the size such that the time grows as its power between N and 8 N.

Exit code: 0 all programs are built and agree, 4 otherwise.
"""

import argparse
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
import onnxruntime

import emitted_program
import operator_cases
import results
import task_times
from agreement import inputs_of

LEAST_MILLISECONDS = 0.01


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks operators",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="NAME", help="operators (default: all)")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--types", nargs="+", metavar="TYPE", help="types of elements, as numpy has them (default: all)")
    parser.add_argument("--sizes", type=int, default=3, help="of each operator")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="of both runtimes")
    parser.add_argument("--seconds", type=float, default=0.2, help="of timing, for each case and number of threads")
    parser.add_argument("--growth", type=int, metavar="N", help="times at N, 2 N, 4 N and 8 N instead")
    parser.add_argument("--runs", type=int, help="as many rounds, in place of --seconds")
    results.add_option(parser)
    return parser.parse_args()


class Refused(Exception):
    """The case is not emitted, with the reason."""


def measure(options, model, folder, threads):
    """Milliseconds of the program and of ONNX Runtime, and the median of their ratios; None where the case is too small."""
    feed = inputs_of(model)
    reference = task_times.OnnxRuntime(model, feed, threads)
    settings = argparse.Namespace(threads=threads, seconds=options.seconds, runs=options.runs)
    alone = task_times.timed({"onnxruntime": reference.run},
                             argparse.Namespace(threads=threads, seconds=0, runs=5))["onnxruntime"]
    if 1e3 * statistics.median(alone) < LEAST_MILLISECONDS:
        return None
    try:
        emitted_program.build(options.lemma, model, folder, threads)
    except RuntimeError as error:
        raise Refused(str(error)) from error
    program = emitted_program.Program(folder, feed)
    program.run()
    worst = task_times.worst_difference(program, reference)
    times = task_times.timed({"program": program.run, "onnxruntime": reference.run}, settings)
    program.close()
    return {"ms": {name: 1e3 * statistics.median(taken) for name, taken in times.items()}, "worst": worst,
            "ratio": statistics.median(a / b for a, b in zip(times["program"], times["onnxruntime"]))}


def cases_of(options):
    for name, types, cases in operator_cases.all_cases():
        if options.operators and name not in options.operators:
            continue
        for kind in types:
            if options.types and kind not in options.types:
                continue
            for inputs, attributes in cases[:options.sizes]:
                model = operator_cases.model_of(name, kind, inputs, attributes)
                if model is not None:
                    yield f"{name} {kind}", operator_cases.text_of(inputs, attributes), model


def rows_of(options, counts):
    for name, sizes, model in cases_of(options):
        row = [name, sizes]
        with tempfile.TemporaryDirectory(prefix="lemma-operators-") as folder:
            path = Path(folder) / "operator.onnx"
            onnx.save(model, path)
            try:
                measured = [measure(options, path, Path(folder) / f"program{threads}", threads)
                            for threads in options.threads]
            except Refused as error:
                counts["not emitted"].append(f"{name} {sizes}: {error}")
                continue
            except subprocess.CalledProcessError as error:
                counts["not built"].append(f"{name} {sizes}: {error}")
                continue
            except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime raises where it has no kernel
                counts["not run by ONNX Runtime"].append(f"{name} {sizes}: {str(error).splitlines()[0][:100]}")
                continue
        if None in measured:
            counts["below 10 us"].append(f"{name} {sizes}")
            continue
        if not all(figures["worst"] <= 1 for figures in measured):
            counts["other results"].append(f"{name} {sizes}: {max(figures['worst'] for figures in measured):.2g}")
        for figures in measured:
            row += [round(figures["ms"]["program"], 3), round(figures["ms"]["onnxruntime"], 3), round(figures["ratio"], 2)]
        print(f"{row[0]:28} {'  '.join(f'{cell:9.3f}' for cell in row[2:])}  {row[1]}", flush=True)
        yield row


def growth_rows(options):
    for name, case in operator_cases.GROWTH.items():
        if options.operators and name not in options.operators:
            continue
        times = []
        for factor in (1, 2, 4, 8):
            model = operator_cases.model_of(name, "float32", *case(factor * options.growth))
            with tempfile.TemporaryDirectory(prefix="lemma-operators-") as folder:
                path = Path(folder) / "operator.onnx"
                onnx.save(model, path)
                emitted_program.build(options.lemma, path, Path(folder) / "program", 1)
                program = emitted_program.Program(Path(folder) / "program", inputs_of(path))
                settings = argparse.Namespace(threads=1, seconds=options.seconds, runs=options.runs)
                times.append(1e3 * statistics.median(task_times.timed({"program": program.run}, settings)["program"]))
                program.close()
        row = [name, *(round(taken, 4) for taken in times), round(math.log(times[-1] / times[0], 8), 2)]
        print(f"{name:20} {'  '.join(f'{taken:9.4f}' for taken in row[1:5])}  {row[5]:6.2f}", flush=True)
        yield row


def measure_growth(options):
    print("milliseconds at " + ", ".join(str(factor * options.growth) for factor in (1, 2, 4, 8)) + ", and the exponent")
    results.update(options.result, list(growth_rows(options)))
    return 0


def main():
    options = arguments()
    if options.growth:
        return measure_growth(options)
    counts = {name: [] for name in ("not emitted", "not built", "not run by ONNX Runtime", "below 10 us", "other results")}
    print("milliseconds of the program, of ONNX Runtime, and the ratio, for "
          f"{' and '.join(map(str, options.threads))} threads")
    rows = sorted(rows_of(options, counts), key=lambda row: -row[4])
    print("\nthe worst first:")
    for row in rows[:40]:
        print(f"{row[0]:28} {'  '.join(f'{cell:9.3f}' for cell in row[2:])}  {row[1]}")
    for place, threads in enumerate(options.threads):
        ratios = [max(row[4 + 3 * place], 0.01) for row in rows]
        if ratios:
            print(f"{len(rows)} cases, {threads} threads: geometric mean of the ratios "
                  f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}")
    for name, cases in counts.items():
        print(f"{name}: {len(cases)}", *cases[:20], sep="\n  ")
    results.update(options.result, rows)
    return 4 if counts["not built"] or counts["other results"] else 0


if __name__ == "__main__":
    sys.exit(main())
