#!/usr/bin/env python3
"""Whether `lemma optimize --memory M --time-limit S` keeps to its limits: on the models with the most weights, the
largest e-graphs and the most operators, the resident memory of the worker process (its peak as the kernel counted it,
mapped files included) and the elapsed time of the whole call must stay within 1.1 times the limits, and a model that
onnx.checker accepts must be written.

Exit code: 0 all conditions hold, 4 one does not.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import onnx

import results

SUFFIXES = {"K": 2**10, "M": 2**20, "G": 2**30}
# Nodes of the e-graph without end: only the other limits can stop the search.
UNBOUNDED = ["--node-limit", "100000000"]
RUNS = [("vgg19", "auto", []), ("bert-base", "auto", []), ("nasnet_a", "auto", []), ("nasnet_a", "saturation", UNBOUNDED),
        ("nasnet_a", "backtracking", ["--budget", "1000000"]), ("nasrnn", "saturation", UNBOUNDED),
        ("lstm", "saturation", UNBOUNDED), ("inception_v3", "saturation", [*UNBOUNDED, "--exact-extraction", "100"])]


def size(text):
    return int(float(text[:-1]) * SUFFIXES[text[-1]]) if text[-1] in SUFFIXES else int(text)


def arguments():
    parser = argparse.ArgumentParser(prog="bench/search limits",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--models", type=Path, default=ROOT / "out" / "real_models" / "literature",
                        help="folder of the models; they are made if it is not there")
    parser.add_argument("--memory", default="1G", help="such as 1G or 300M")
    parser.add_argument("--time-limit", type=float, default=5, metavar="S")
    parser.add_argument("--json", action="store_true")
    results.add_option(parser)
    return parser.parse_args()


def measure(options, model, strategy, more, folder):
    output = folder / f"{model}.onnx"
    output.unlink(missing_ok=True)
    call = [environment.lemma_program(options.lemma), "optimize", options.models / f"{model}.onnx", "-o", output,
            "--strategy", strategy, "--memory", options.memory, "--time-limit", options.time_limit, "--json", *more]
    start = time.monotonic()
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        return {"model": model, "strategy": strategy, "seconds": seconds, "memory": 0, "status": done.stderr.strip(),
                "change": 0, "valid": False, "work": ""}
    figures = json.loads(done.stdout)["models"][0]
    try:
        onnx.checker.check_model(str(output))
        valid = True
    except Exception:  # whatever the checker finds wrong
        valid = False
    return {"model": model, "strategy": strategy, "seconds": seconds, "memory": figures["peak_memory_bytes"],
            "status": figures["message"] or figures["status"], "stop": figures["stop_reason"], "valid": valid,
            "change": figures["cost_after"] / figures["cost_before"] - 1,
            "work": f"{figures['graphs']} graphs" if figures["graphs"] else f"{figures['egraph_nodes']} e-nodes"}


def main():
    options = arguments()
    if not options.models.is_dir():
        subprocess.run([ROOT / "models" / "build", "--out", options.models], check=True, stdout=sys.stderr)
    limit = size(options.memory)
    with tempfile.TemporaryDirectory(prefix="lemma-limits-") as folder:
        rows = [measure(options, *run, Path(folder)) for run in RUNS]
    for row in rows:
        row["holds"] = bool(row["valid"] and row["memory"] <= 1.1 * limit and row["seconds"] <= 1.1 * options.time_limit)
    results.update(options.result, [[row["model"], row["strategy"], row["work"], row.get("stop", ""), round(row["seconds"], 1),
                                     round(row["memory"] / 2**20), round(100 * row["change"], 1), row["status"],
                                     "yes" if row["holds"] else "NO"] for row in rows])
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print("| model | strategy | work | ended by | seconds | memory, MiB | change | result | within limits |")
        print("|---|---|---:|---|---:|---:|---:|---|---|")
        for row in rows:
            print(f"| {row['model']} | {row['strategy']} | {row['work']} | {row.get('stop', '')} | {row['seconds']:.1f} | "
                  f"{row['memory'] / 2**20:.0f} | {row['change']:+.1%} | {row['status']} | "
                  f"{'yes' if row['holds'] else 'NO'} |")
    sys.exit(0 if all(row["holds"] for row in rows) else 4)


if __name__ == "__main__":
    main()
