#!/usr/bin/env python3
"""Compares times that task programs (docs/rtask.md) are planned to take with those that they take, with modelled and with
measured times of tasks: `lemma schedule --device cpu --measure-kernels` measures them. The programs of a model take turns.

Columns: the planned time of a run, that of the thread that starts it (the least of all runs; with one thread its processor
time), their ratio, units and tasks of the program. With --rounds 1, planned times alone mean something.

Exit code: 0, or 4 where a model has no program.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import emitted_program
import results
from agreement import inputs_of


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks plans",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help="ONNX files")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--threads", type=int, default=1, help="at most")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where files of kernel times are kept, and taken from if they are there")
    parser.add_argument("--json", type=Path)
    results.add_option(parser)
    return parser.parse_args()


def scheduled(options, model, *words):
    call = [environment.lemma_program(options.lemma), "schedule", model, "--device", "cpu", "--units", options.threads,
            "--json", *words]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def least_times(options, programs):
    """Seconds of a run, by name."""
    clock = time.thread_time if options.threads == 1 else time.perf_counter
    least, shuffled, order = dict.fromkeys(programs, float("inf")), random.Random(1), list(programs)
    for program in programs.values():
        program.run()
    for _ in range(options.rounds):
        shuffled.shuffle(order)
        for name in order:
            begin = clock()
            programs[name].run()
            least[name] = min(least[name], clock() - begin)
    return least


def compared(options, model, folder):
    times = (options.folder or folder) / f"{model.stem}-{options.threads}.kernel_times.json"
    begin = time.perf_counter()
    is_kept = times.exists()
    if not is_kept:
        scheduled(options, model, "--measure-kernels", times)
    result = {"model": model.stem, "threads": options.threads,
              "measuring_seconds": None if is_kept else time.perf_counter() - begin, "rows": {}}
    programs = {}
    for name, words in {"modelled": [], "measured": ["--kernel-times", times]}.items():
        plan = scheduled(options, model, *words)
        place = folder / name
        emitted_program.build(options.lemma, model, place, options.threads, *words)
        programs[name] = emitted_program.Program(place, inputs_of(model))
        result["rows"][name] = {"planned": plan["schedule"]["seconds"], "units": plan["units"], "tasks": plan["tasks"],
                                "kernels": plan["kernels"]}
    for name, seconds in least_times(options, programs).items():
        result["rows"][name]["seconds"] = seconds
    for program in programs.values():
        program.close()
    return result


def result_row(result):
    """A row of bench/results/planned-times.json."""
    modelled, measured = result["rows"]["modelled"], result["rows"]["measured"]
    figures = [part for row in (modelled, measured)
               for part in (round(1e3 * row["planned"], 3), round(1e3 * row["seconds"], 3), row["units"])]
    measuring = result["measuring_seconds"]
    return [result["model"], None if measuring is None else round(measuring), *figures,
            round(measured["seconds"] / modelled["seconds"], 2)]


def main():
    options = arguments()
    rows, failures = [], 0
    for model in options.models:
        with tempfile.TemporaryDirectory(prefix="lemma-kernel-times-") as folder:
            try:
                result = compared(options, model, Path(folder))
            except (RuntimeError, subprocess.CalledProcessError) as error:
                failures += 1
                print(f"{model.stem}: {error}", file=sys.stderr)
                continue
        rows.append(result)
        measuring = "kept" if result["measuring_seconds"] is None else f"{result['measuring_seconds']:.0f} s"
        print(f"{model.stem}, at most {options.threads} threads, kernels measured: {measuring}")
        for name, row in result["rows"].items():
            print(f"  {name}: planned {1e3 * row['planned']:8.3f} ms  taken {1e3 * row['seconds']:8.3f} ms  ratio "
                  f"{row['planned'] / row['seconds']:5.2f}  units {row['units']}  tasks {row['tasks']}  kernels with times "
                  f"{row['kernels']['with_recorded_times']} of {row['kernels']['all']}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    results.update(options.result, [result_row(result) for result in rows])
    return 4 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
