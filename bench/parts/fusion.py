#!/usr/bin/env python3
"""Counts what fusion saves in task programs (docs/rtask.md): calls (operators that are run), bytes between memory and
units as planned, and seconds of planning, for each model without any scheme, with the thread scheme alone, with all
schemes, and with all but one. With --simulate, bytes are also counted in a simulated cache, for programs that are
named. Nothing is timed but planning, and nothing is run.

With --time, programs are built and timed beside ONNX Runtime instead, with one thread: memory-bound operators in several sizes
(--operators), and models (by default memory-bound ones of models/), these also without each scheme, and beside XLA and
OpenVINO where Python has jax and openvino. Columns: megabytes of inputs, weights and outputs; milliseconds; the time over that
of ONNX Runtime; bytes per second as a share of those of a copy; and times of others over that of ONNX Runtime.

Exit code: 0 all models are planned, or timed with the results of ONNX Runtime, 4 one is not.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import results

SCHEMES = ["thread", "packing", "warp", "block"]
VARIANTS = [("none", SCHEMES), ("thread only", SCHEMES[1:]), ("all", [])] + [(f"no {scheme}", [scheme]) for scheme in SCHEMES]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks fusion",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--threads", type=int, default=1, help="units of the device")
    parser.add_argument("--simulate", nargs="*", default=[], metavar="NAME", help="models with a simulated cache")
    parser.add_argument("--cache", type=int, default=1 << 20, help="bytes of the simulated cache")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--operators", nargs="*", metavar="KIND", help="time operators only, all kinds or these")
    parser.add_argument("--no-variants", action="store_true", help="time models with all schemes only")
    parser.add_argument("--seconds", type=float, default=0.25, help="of timing for an operator; a model has four times as many")
    results.add_option(parser)
    options = parser.parse_args()
    if not options.models and not options.time:
        parser.error("models are missing")
    return options


def plan(options, model, without):
    call = [environment.lemma_program(options.lemma), "emit", model, "--plan", "--json", "--threads", options.threads]
    for scheme in without:
        call += ["--without", scheme]
    if model.stem in options.simulate:
        call += ["--simulate-cache", options.cache]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def row(name, answer):
    moved = answer["bytes_read"] + answer["bytes_written"]
    result = {"variant": name, "calls": answer["operators"], "tasks": answer["tasks"], "megabytes": moved / 1e6,
              "planning_seconds": answer["planning_seconds"]}
    if "simulated_bytes_read" in answer:
        result["simulated_megabytes"] = (answer["simulated_bytes_read"] + answer["simulated_bytes_written"]) / 1e6
    return result


def line(result):
    text = (f"  {result['variant']:12} {result['calls']:6} calls {result['megabytes']:10.3f} MB "
            f"{result['planning_seconds']:7.2f} s of planning")
    if "simulated_megabytes" in result:
        text += f" {result['simulated_megabytes']:10.3f} MB simulated"
    return text


def main():
    options = arguments()
    if options.time:
        import fusion_times
        return fusion_times.main(options)
    models, failed = {}, False
    for model in options.models:
        print(model.stem, flush=True)
        rows = models.setdefault(model.stem, [])
        try:
            for name, without in VARIANTS:
                rows.append(row(name, plan(options, model, without)))
                print(line(rows[-1]), flush=True)
        except RuntimeError as error:
            print(f"  {error}", flush=True)
            failed = True
            continue
        before, threads, after = rows[0], rows[1], rows[2]
        print(f"  calls {before['calls'] / after['calls']:.1f} times fewer than without fusion, "
              f"{threads['calls'] / after['calls']:.1f} times fewer than with the thread scheme; bytes "
              f"{before['megabytes'] / after['megabytes']:.2f} and {threads['megabytes'] / after['megabytes']:.2f}")
    if options.json:
        options.json.write_text(json.dumps({"threads": options.threads, "models": models}, indent=1) + "\n")
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
