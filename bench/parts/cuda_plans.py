#!/usr/bin/env python3
"""Predicts what models take on NVIDIA devices that are only described (docs/cuda.md, "Predictions"), in three ways:

  (a) calls      operators one after the other: a call of cuBLASLt or cuDNN where one computes it, else a kernel of its own
  (b) graph      the same calls as one CUDA graph
  (c) program    the persistent program that `lemma emit --target cuda` writes

and, to tell what the schedule does from what fusion and the model of times do, (d): the operators of (c), one after the
other as one CUDA graph. Times of (a) and (b) are those of the cost provider for the device (the part `operators` of targets/devices), that of (c) is the simulated time of
the schedule (the part `schedule`). Nothing is run. (a) and (b) run the operators of the file, without fusion beyond what
an operator of the file says. Then launches and waits take half as long and half as long again: the
order of the three is said for each. Schedules are not planned anew for that.

A table, and JSON (--json FILE) with the same bytes for the same input. Models that cannot be planned are listed with the
reason. Exit code: 0, or 4 where that reason is no limit of the program, or there is no plan at all.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

WAYS = {"a": "one_by_one_seconds", "b": "graph_seconds", "c": "schedule_seconds"}
FACTORS = (0.5, 1.5)
UNSUPPORTED = (2, 3)  # exit codes where it is said why there is no plan


def arguments():
    parser = argparse.ArgumentParser(prog="bench/cuda plans",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files (default: all of --folder)")
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "real_models" / "literature")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--device", action="append", metavar="NAME", help="of a shipped description (default: h100, a100)")
    parser.add_argument("--shape", action="append", default=[], help="as for `lemma schedule`, for all models")
    parser.add_argument("--calls", type=Path, metavar="FILE", help="for the calls of (a), a line each; of one model and device")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.models = options.models or sorted(options.folder.glob("*.onnx"))
    options.device = options.device or ["h100", "a100"]
    if options.calls and len(options.models) * len(options.device) != 1:
        parser.error("--calls is for one model and one device")
    return options


def order(seconds):
    """The ways from the fastest: "c < b < a"."""
    return " < ".join(sorted(WAYS, key=lambda way: (seconds[WAYS[way]], way)))


def scaled_orders(plan, base):
    """Orders where one cost is another."""
    orders = {}
    for scale in plan["library_calls"].get("scaled", []):
        for cost in ("launches", "waits"):
            orders[f"{cost} x {scale['factor']:g}"] = order({**base, **scale[cost]})
    return orders


def prediction(plan):
    """The figures of a model that `lemma schedule` gives, by way."""
    calls = plan["library_calls"]
    base = {"one_by_one_seconds": calls["one_by_one_seconds"], "graph_seconds": calls["graph_seconds"],
            "schedule_seconds": plan["schedule"]["seconds"]}
    launches = calls["calls"] + calls["kernels"]
    return {"operators": plan["operators"], "tasks": plan["tasks"], "waits": plan["waits"],
            "library_calls": calls["calls"], "kernels": calls["kernels"],
            "launches": {"a": launches, "b": launches, "c": 1},
            "bytes": {"a": calls["bytes"], "b": calls["bytes"], "c": plan["bytes_read"] + plan["bytes_written"]},
            "seconds": {way: base[key] for way, key in WAYS.items()} | {"d": calls["operators_in_graph_seconds"]},
            "order": order(base),
            "orders": scaled_orders(plan, base), "scaled": calls["scaled"]}


def predicted(options, model, device):
    call = [environment.lemma_program(options.lemma), "schedule", model, "--device", device, "--stitch", "--call-costs", device,
            "--json"]
    for factor in FACTORS:
        call += ["--scale-costs", factor]
    call += ["--write-library-calls", options.calls] if options.calls else []
    for shape in options.shape:
        call += ["--shape", shape]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False)
    result = {"model": model.stem, "device": device}
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {**result, "left_out": lines[-1].removeprefix(f"lemma: {model}: "), "failed": done.returncode not in UNSUPPORTED}
    return {**result, **prediction(json.loads(done.stdout))}


def line(result):
    name = f"{result['device']:5} {result['model']:26}"
    if "left_out" in result:
        return f"{name} left out: {result['left_out']}"
    seconds, sizes = result["seconds"], result["bytes"]
    changed = [what for what, other in result["orders"].items() if other != result["order"]]
    return (f"{name} launches {result['launches']['a']:5} ({result['library_calls']:4} of libraries)  MB {sizes['a'] / 1e6:8.1f} "
            f"{sizes['c'] / 1e6:8.1f}  us (a) {seconds['a'] * 1e6:9.1f} (b) {seconds['b'] * 1e6:9.1f} (c) "
            f"{seconds['c'] * 1e6:9.1f} (d) {seconds['d'] * 1e6:9.1f}  {result['order']}"
            + "".join(f"; {what}: {result['orders'][what]}" for what in changed))


def main():
    options = arguments()
    results = []
    for device in options.device:
        for model in options.models:
            results.append(predicted(options, model, device))
            print(line(results[-1]), flush=True)
    planned = [plan for plan in results if "left_out" not in plan]
    stable = sum(set(plan["orders"].values()) <= {plan["order"]} for plan in planned)
    print(f"{len(planned)} plans, {len(results) - len(planned)} left out; the order stays the same in {stable} plans "
          "where launches or waits take half as long, or half as long again")
    if options.json:
        options.json.write_text(json.dumps({"provenance": "analytic: nothing was run", "plans": results}, indent=1) + "\n")
    return 4 if not planned or any(plan.get("failed") for plan in results) else 0


if __name__ == "__main__":
    sys.exit(main())
