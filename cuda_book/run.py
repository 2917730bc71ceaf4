#!/usr/bin/env python3
"""Checks and times prepared CUDA programs on the device that is here (docs/cuda.md, "The run book"): run.py [DIRECTORY]
Without DIRECTORY, that of this file. Needs Python's library, the CUDA driver, and runtimes that are compared with where
they are installed.

Exit code: 0; 3 where steps were not run (call it again: what has a result is not run again); 4 where a result is wrong or
a step failed; 2 for wrong calls, and where this Python cannot unpack the programs; 77, with one line, where there is no
device that the programs are for.
"""

import argparse
import ctypes
import json
import sys
from pathlib import Path

try:
    import steps
except ModuleNotFoundError as error:
    # Not every Python is built with the library that unpacks what is carried.
    if error.name not in ("lzma", "_lzma"):
        raise
    print(f"{sys.executable} has no module {error.name}, which unpacks the programs: nothing was run; call another Python",
          file=sys.stderr)
    sys.exit(2)

ATTRIBUTES = {"major": 75, "minor": 76, "multiprocessors": 16}  # CUdevice_attribute


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", type=Path, default=Path(__file__).resolve().parent)
    parser.add_argument("--results", type=Path, help="folder (default: results in the directory)")
    parser.add_argument("--seconds", type=float, default=480, help="after which no step begins")
    parser.add_argument("--runs", type=int, default=300, help="of each program that is timed")
    parser.add_argument("--copied-megabytes", type=int, default=512, help="by which the bandwidth of memory is measured")
    parser.add_argument("--rounds", type=int, default=2000, help="of signals and steps whose time is measured")
    options = parser.parse_args(words)
    options.results = options.results or options.directory / "results"
    return options


def device():
    """What the driver says of the first device, or the reason why there is none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no CUDA driver"
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return "no CUDA device was found"
    values = {}
    for name, number in ATTRIBUTES.items():
        value = ctypes.c_int()
        if driver.cuDeviceGetAttribute(ctypes.byref(value), number, 0) != 0:
            return "the driver does not describe its device"
        values[name] = value.value
    return values


def unfit(device_values, contents):
    """Why the programs do not run on the device; None if they do. Code of an architecture runs on later ones of the same
    major number."""
    if isinstance(device_values, str):
        return device_values
    number = int(contents["arch"].removeprefix("sm_"))
    if device_values["major"] != number // 10 or device_values["minor"] < number % 10:
        return f"the programs are for {contents['arch']}, the device is sm_{device_values['major']}{device_values['minor']}"
    return None


def microseconds(result, key):
    return f"{result['seconds'][key] * 1e6:.1f}" if result and result.get("seconds") else (result or {}).get("status", "")


def table(contents, results):
    """Predictions beside times, in microseconds."""
    columns = ["model", "predicted a", "b", "c", "d", "ours p50", "p99"]
    variants = sorted({variant for model in contents["models"] for variant in model["variants"]} - {"ours"})
    columns += [*variants, "calls (a)", "graph (b)", *steps.RUNTIMES, "agrees"]
    rows = [columns]
    for model in contents["models"]:
        name = model["model"]
        row = [name, *(f"{model['predicted'][way] * 1e6:.1f}" if model["predicted"] else "" for way in "abcd")]
        ours = results.get(f"latency-{name}-ours")
        row += [microseconds(ours, "p50"), microseconds(ours, "p99")]
        row += [microseconds(results.get(f"latency-{name}-{variant}"), "p50") for variant in variants]
        row += [microseconds(results.get(f"baseline-{name}-{way}"), "p50") for way in steps.BASELINES]
        row += [microseconds(results.get(f"runtime-{name}-{runtime}"), "p50") for runtime in steps.RUNTIMES]
        agree = {results[f"correctness-{name}-{variant}"]["status"] for variant in model["variants"]}
        agree -= {steps.SKIPPED}
        row.append("yes" if agree == {steps.DONE} else ", ".join(sorted(agree - {steps.DONE})))
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows) + "\n"


def write_description(options, device_values, results):
    """Of this device, for `lemma emit --device results/device.json`, where its costs were measured."""
    carried, costs = options.directory / "device.json", results["costs"]
    if not carried.exists() or costs["status"] != steps.DONE:
        return
    state = steps.state_of_device() or {}
    name = state.get("name", f"a device of sm_{device_values['major']}{device_values['minor']}")
    steps.write(options.results / "device.json", steps.described(json.loads(carried.read_text()), costs, name))


def exit_code(results):
    statuses = {result["status"] for result in results.values()}
    if statuses & {steps.WRONG, steps.FAILED}:
        return 4
    return 3 if steps.NO_TIME in statuses else 0


def main(words=None):
    options = arguments(words)
    try:
        contents = json.loads((options.directory / "book.json").read_text())
    except (OSError, ValueError) as error:
        print(f"{options.directory}: no prepared directory: {error}", file=sys.stderr)
        return 2
    device_values = device()
    reason = unfit(device_values, contents)
    if reason:
        print(f"{reason}: nothing was run, {len(steps.steps_of(contents))} steps of {len(contents['models'])} models are left",
              file=sys.stderr)
        return 77
    book = steps.Book(options.directory, options.results, options.seconds, options.runs, options.copied_megabytes, options.rounds)

    def report(name, result):
        detail = result.get("reason", "")
        if result.get("seconds"):
            detail = f"p50 {microseconds(result, 'p50')} p99 {microseconds(result, 'p99')} microseconds"
        if result.get("costs"):
            detail = ", ".join(f"{name} {1e6 * seconds:.2f}" for name, seconds in result["costs"].items()) + " microseconds"
        print(f"{result['status']:8} {name}  {detail}".rstrip(), flush=True)

    results = steps.run_all(book, report)
    text = table(contents, results)
    write_description(options, device_values, results)
    steps.write(options.results / "results.json", {"device": device_values, "models": contents["models"], "steps": results})
    (options.results / "table.txt").write_text(text)
    print(text, end="")
    return exit_code(results)


if __name__ == "__main__":
    sys.exit(main())
