#!/usr/bin/env python3
"""Plans models for a machine of tiles that is only described (docs/rtask.md, "Machines of tiles"): operators that share supersteps
beside each operator with all tiles for itself. Programs are proved; nothing is run, and times are simulated.

Exit code: 0, or 4 where a model fails for another reason than that it has no room.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import results
from model_sizes import shape_options

NAMES = ["resnext50_32x4d", "nasnet_a", "lstm_10_layers", "seq2seq", "deepspeech2", "lstm", "nasrnn", "inception_v3",
         "squeezenet1_1", "bert-base"]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks tiles",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files (default: ten of --folder)")
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "real_models" / "literature")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--device", default="tiles-1216")
    parser.add_argument("--units", type=int, default=0, help="another number of tiles")
    results.add_option(parser)
    options = parser.parse_args()
    options.models = options.models or [options.folder / f"{name}.onnx" for name in NAMES]
    return options


def planned(options, model):
    """What `lemma schedule` says of a model, or {"refused": why}."""
    done = subprocess.run([environment.lemma_program(options.lemma), "schedule", model, "--device", options.device, "--units",
                           str(options.units), "--json", *shape_options(model)], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout)
    reason = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
    return {"refused": reason, "has_no_room": bool(re.search(r"tile \d+ would need|no places are found", reason))}


def row_of(model, plan):
    if "refused" in plan:
        return [model.stem, *[None] * 11]
    shared, alone = plan["schedule"], plan["operator_by_operator"]
    return [model.stem, plan["operators"], plan["tasks"], plan["supersteps"], round(1e6 * shared["seconds"], 1),
            round(1e6 * shared["exchange_seconds"], 1), round(100 * shared["utilisation"], 1),
            round(1e6 * alone["seconds"], 1) if alone else None,
            round(alone["seconds"] / shared["seconds"], 2) if alone else None,
            round(shared["exchanged_bytes"] / 1e6, 1), plan["most_tile_bytes"], round(plan["planning_cpu_seconds"], 1)]


def main():
    options = arguments()
    rows, fails = [], False
    for model in options.models:
        plan = planned(options, model)
        fails = fails or not plan.get("has_no_room", True)
        rows.append(row_of(model, plan))
        print(f"{model.stem:20} " + (plan["refused"] if "refused" in plan else
                                     "  ".join("-" if value is None else str(value) for value in rows[-1][1:])), flush=True)
    results.update(options.result, rows)
    return 4 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
