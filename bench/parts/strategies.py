#!/usr/bin/env python3
"""Compares the strategies of `lemma optimize` on the seven models of the literature (models/build): time, nodes,
predicted cost before and after, and how far the choice can be from the best one in the e-graph. Fails if a run takes
longer than --limit, or if saturation with exact extraction ends with a more expensive graph than backtracking.

With --tensat it prints predicted speed-ups on a description of the device that TENSAT was measured on beside TENSAT's
own figures (Yang et al., MLSys 2021, table 1), counted from the original and from the original with its normalizations
folded, which those models do not have. With --times, what saturation and backtracking find from that alone, and when each had
a graph of the cost that backtracking ends with.

Exit code: 0 all conditions hold, 4 one does not.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import results

MODELS = ["bert-base", "resnext50_32x4d", "nasnet_a", "nasrnn", "inception_v3", "squeezenet1_1", "vgg19"]
STRATEGIES = ["saturation", "backtracking", "combined", "auto"]
PROOF_SECONDS = 3
# Speed-ups over the original, percent: TASO's search and TENSAT.
PUBLISHED = {"bert-base": (8.5, 9.2), "resnext50_32x4d": (5.5, 8.8), "nasnet_a": (1.9, 7.3), "nasrnn": (45.4, 68.9),
             "inception_v3": (6.3, 10.0), "squeezenet1_1": (6.7, 24.5), "vgg19": (8.9, 8.9)}
# Seconds of the search of TASO and of TENSAT.
PUBLISHED_SECONDS = {"bert-base": (13.6, 1.4), "resnext50_32x4d": (25.3, 0.7), "nasnet_a": (1226, 10.6),
                     "nasrnn": (177.3, 0.5), "inception_v3": (68.6, 5.1), "squeezenet1_1": (16.4, 0.3), "vgg19": (8.9, 0.4)}


def arguments():
    parser = argparse.ArgumentParser(prog="bench/search strategies",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--models", type=Path, default=ROOT / "out" / "real_models" / "literature",
                        help="folder of the models; they are made if it is not there")
    parser.add_argument("--only", nargs="*", default=MODELS, metavar="MODEL", help="of --models (default: " + " ".join(MODELS) + ")")
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES, choices=STRATEGIES)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=float, default=10, metavar="S", help="seconds for one run")
    parser.add_argument("--tensat", action="store_true")
    parser.add_argument("--devices", nargs="+", default=[], metavar="NAME",
                        help="only what the default finds for each model on each of these devices, with its rules")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--json", action="store_true")
    results.add_option(parser)
    return parser.parse_args()


def optimize(options, model, strategy, folder, *more, proves=True, result="result"):
    """Figures of one run; saturation proves its choice if wanted. `model`: a name of --models, or a file."""
    call = [environment.lemma_program(options.lemma), "optimize", options.models / f"{model}.onnx", "-o",
            folder / f"{result}.onnx", "--strategy", strategy, "--time-limit", options.limit, "--json", *more]
    if proves and strategy in ("saturation", "auto"):
        call += ["--exact-extraction", PROOF_SECONDS]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{model}, {strategy}: exit code {done.returncode}: {done.stderr}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(done.stdout)["models"][0], "processor_seconds": processor}


def gap(figures):
    cost, bound = figures["extraction_cost"], figures["extraction_lower_bound"]
    if cost is None:
        return "-"
    return "optimal" if figures["extraction_optimal"] else f"{(cost - bound) / cost:.1e}"


def work_of(figures):
    return f"{figures['graphs']} graphs" if figures["graphs"] else f"{figures['egraph_nodes']} e-nodes"


def compare_strategies(options, folder):
    rows, faults = [], []
    for model in options.only:
        cost = {}
        for strategy in options.strategies:
            figures = optimize(options, model, strategy, folder, "--device", options.device)
            cost[strategy] = figures["cost_after"]
            rows.append({"model": model, "strategy": strategy, "taken": figures["strategy"],
                         "seconds": figures["seconds"], "search_seconds": figures["search_seconds"],
                         "processor_seconds": figures["processor_seconds"],
                         "work": work_of(figures), "rules": figures["rules_considered"],
                         "before": figures["cost_before"], "after": figures["cost_after"], "gap": gap(figures),
                         "status": figures["status"], "message": figures["message"]})
            if figures["seconds"] > 1.05 * options.limit:
                faults.append(f"{model}, {strategy}: {figures['seconds']:.1f} s")
            print(f"{model}, {strategy}: {figures['seconds']:.1f} s", file=sys.stderr)
        for strategy in ("saturation", "auto"):
            if "backtracking" in cost and strategy in cost and cost[strategy] > cost["backtracking"] * (1 + 1e-9):
                faults.append(f"{model}: {strategy} loses to backtracking")
    return rows, faults


def print_strategies(rows):
    print("| model | strategy | seconds | of them search | processor | work | before, ms | after, ms | change | gap |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        name = row["strategy"] if row["strategy"] != "auto" else f"auto: {row['taken']}"
        note = "" if row["status"] == "optimized" else f" ({row['message'] or row['status']})"
        print(f"| {row['model']} | {name}{note} | {row['seconds']:.1f} | {row['search_seconds']:.1f} | "
              f"{row['processor_seconds']:.1f} | {row['work']} | "
              f"{row['before'] * 1e3:.4g} | {row['after'] * 1e3:.4g} | {row['after'] / row['before'] - 1:+.1%} | "
              f"{row['gap']} |")


def result_row(row):
    """A row of bench/results/strategies-*.json."""
    name = row["strategy"] if row["strategy"] != "auto" else f"auto: {row['taken']}"
    note = "" if row["status"] == "optimized" else f" ({row['message'] or row['status']})"
    costs = [float(f"{row[key] * 1e3:.4g}") for key in ("before", "after")]
    return [row["model"], name + note, *(round(row[key], 1) for key in ("seconds", "search_seconds", "processor_seconds")),
            row["work"], *costs, round(100 * (row["after"] / row["before"] - 1), 1), None if row["gap"] == "-" else row["gap"]]


def speed_up(before, after):
    return 100 * (before / after - 1)


def fold_normalizations(options, model, folder):
    """Writes the model without what TENSAT's do not have as FOLDER/folded.onnx."""
    return optimize(options, model, "saturation", folder, "--device", options.device, "--only-rules",
                    "fold_|batch_normalization|dropout|identity", proves=False, result="folded")


def compare_with_tensat(options, folder):
    rows = []
    for model in options.only:
        figures = optimize(options, model, "auto", folder, "--device", options.device)
        folded = fold_normalizations(options, model, folder)
        rows.append({"model": model, "before": figures["cost_before"], "folded": folded["cost_after"],
                     "after": figures["cost_after"], "operators": figures["before"]["operators"],
                     "ours": speed_up(figures["cost_before"], figures["cost_after"]),
                     "ours_folded": speed_up(folded["cost_after"], figures["cost_after"]),
                     "taso": PUBLISHED[model][0], "tensat": PUBLISHED[model][1]})
        print(f"{model}: {rows[-1]['ours_folded']:.1f}%", file=sys.stderr)
    return rows


def seconds_to(figures, cost):
    """When the search had a graph of the cost; nothing if it never had."""
    if figures["cost_before"] <= cost * (1 + 1e-9):
        return 0.0
    return next((graph["seconds"] for graph in figures["improvements"] if graph["cost"] <= cost * (1 + 1e-9)), None)


def search_times(options, folder):
    """Rows of bench/results/tensat-times-t4.json."""
    rows = []
    for model in options.only:
        fold_normalizations(options, model, folder)
        runs = {strategy: optimize(options, (folder / "folded").resolve(), strategy, folder, "--device", options.device, proves=False)
                for strategy in ("backtracking", "saturation")}
        walked, saturated = runs["backtracking"], runs["saturation"]
        first, second = (seconds_to(run, walked["cost_after"]) for run in (walked, saturated))
        taso, tensat = PUBLISHED_SECONDS[model]
        gains = [1 + percent / 100 for percent in PUBLISHED[model]]
        rows.append([model, *(round(run["cost_after"] * 1e6, 1) for run in (walked, saturated)),
                     round(speed_up(walked["cost_after"], saturated["cost_after"]), 1), round(100 * (gains[1] / gains[0] - 1), 1),
                     *(round(run["search_seconds"], 2) for run in (walked, saturated)),
                     *(None if seconds is None else round(seconds, 3) for seconds in (first, second)),
                     round(first / second, 1) if first and second else None, round(taso / tensat, 1)])
        print(f"{model}: {rows[-1]}", file=sys.stderr)
    return rows


def compare_devices(options, folder):
    """Rows of bench/results/residual-block.json."""
    rows = []
    for model in options.only:
        for device in options.devices:
            figures = optimize(options, model, "auto", folder, "--device", device)
            rows.append([model, device, *(round(figures[key] * 1e6, 1) for key in ("cost_before", "cost_after")),
                         round(figures["cost_before"] / figures["cost_after"], 3), ", ".join(sorted(figures["rules_used"])) or None])
            print(*rows[-1], sep=", ")
    return rows


def print_times(rows):
    print("| model | backtracking, us | saturation, us | cheaper | TENSAT's than TASO's | search s, backtracking | saturation "
          "| s to the cost of backtracking, backtracking | saturation | times sooner | TENSAT's search sooner |")
    print("|---" + "|---:" * 10 + "|")
    for row in rows:
        print("| " + " | ".join("-" if cell is None else str(cell) for cell in row) + " |")


def tensat_row(row):
    """A row of bench/results/tensat-*.json."""
    return [row["model"], row["operators"], *(round(row[key] * 1e6) for key in ("before", "folded", "after")),
            round(row["ours"], 1), round(row["ours_folded"], 1), row["tensat"], row["taso"]]


def print_tensat(rows):
    print("| model | operators | before, us | folded, us | after, us | speed-up | from folded | TENSAT | TASO |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row in sorted(rows, key=lambda row: -row["ours_folded"]):
        print(f"| {row['model']} | {row['operators']} | {row['before'] * 1e6:.0f} | {row['folded'] * 1e6:.0f} | "
              f"{row['after'] * 1e6:.0f} | {row['ours']:.1f}% | {row['ours_folded']:.1f}% | {row['tensat']}% | "
              f"{row['taso']}% |")


def main():
    options = arguments()
    if not options.models.is_dir():
        subprocess.run([ROOT / "models" / "build", "--out", options.models], check=True, stdout=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="lemma-search-") as folder:
        if options.devices:
            results.update(options.result, compare_devices(options, Path(folder)))
            return
        if options.times:
            times = search_times(options, Path(folder))
            print_times(times)
            results.update(options.result, times)
            return
        if options.tensat:
            rows, faults = compare_with_tensat(options, Path(folder)), []
            results.update(options.result, [tensat_row(row) for row in sorted(rows, key=lambda row: -row["ours_folded"])])
        else:
            rows, faults = compare_strategies(options, Path(folder))
            results.update(options.result, [result_row(row) for row in rows])
    if options.json:
        print(json.dumps({"rows": rows, "faults": faults}, indent=2))
    elif options.tensat:
        print_tensat(rows)
    else:
        print_strategies(rows)
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(4 if faults else 0)


if __name__ == "__main__":
    main()
