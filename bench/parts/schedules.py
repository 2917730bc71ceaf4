#!/usr/bin/env python3
"""Compares ways to schedule models on a device that is only described (docs/rtask.md, "Schedules on a described
device"): operator by operator, co-scheduled, with a choice of kernels, by the critical path, and the default policy, which
is the best of these three. Nothing is run: times of tasks are those of a file, and a schedule's time is simulated. A
table, JSON (--json FILE) and a picture (--plot FILE).

Ratios are to the lower bound, the larger of the longest path and the least work over the number of units; the second
ratio is to the bound that counts waits no placement avoids. Planning is the processor's time for all stages from the
graph to the proof.

--record first writes the modelled times of all kernels of these models to the file of kernel times, in place of what it
had: after a change of how operators are lowered it lacks kernels.

--averages FILE replaces the figures of a result with the mean utilisation and the mean time outside tasks, beside those
that Rammer's authors report.

Exit code: 0, or 4 where a model has no plan, a kernel has no time in the file, or one of the first three ways takes longer
than the one before it.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import results

DEVICES = ROOT / "targets" / "devices"
NAMES = ["resnext50_32x4d", "nasnet_a", "lstm_10_layers", "seq2seq", "deepspeech2"]
COLUMNS = [("operator by operator", "#9aa5b1"), ("after barriers", "#d0d7de"), ("co-scheduled", "#7fb3d5"), ("with kernel choice", "#f0b27a"),
           ("critical path", "#58b368"), ("best", "#a569bd")]
POLICIES = {"co-scheduled": "waves-without-choice", "with kernel choice": "waves", "critical path": "critical-path",
            "best": "best"}
# The bars of Rammer's figures: each is to be no longer than the one before it.
FALLING = ["operator by operator", "co-scheduled", "with kernel choice"]
# Ma et al., OSDI 2020, on a V100: the system, its mean utilisation in percent, and its mean scheduling overhead in
# milliseconds. The paper gives Rammer's utilisation as 4.32 times TensorFlow's and 1.61 times that of RammerBase.
PUBLISHED = {"operator by operator": ("TensorFlow", 20.3, 32.29),
             "after barriers": ("RammerBase", round(20.3 * 4.32 / 1.61, 1), 2.27),
             "with kernel choice": ("Rammer", round(20.3 * 4.32, 1), 0.37)}


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks schedules",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path,
                        help="ONNX files (default: those of --folder that models/build makes with batch 1 and 4)")
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "real_models" / "literature")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--device", type=Path, default=DEVICES / "simulated-80.json")
    parser.add_argument("--kernel-times", type=Path, default=DEVICES / "simulated-80.kernel_times.json")
    parser.add_argument("--units", type=int, default=0, help="another number of units, with modelled times")
    parser.add_argument("--record", action="store_true", help="write the file of kernel times anew")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="SVG file")
    parser.add_argument("--averages", type=Path, metavar="FILE", help="as --result, of the means")
    results.add_option(parser)
    options = parser.parse_args()
    options.models = options.models or [options.folder / f"{name}{batch}.onnx" for name in NAMES
                                        for batch in ("", "-batch4")]
    return options


def planned(options, model, policy):
    """What `lemma schedule` says of a model with a policy."""
    call = [environment.lemma_program(options.lemma), "schedule", model, "--device", options.device, "--policy", policy,
            "--json"]
    call += ["--units", options.units] if options.units else ["--kernel-times", options.kernel_times]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    plan = json.loads(done.stdout)
    missing = plan["kernels"]["all"] - plan["kernels"]["with_recorded_times"]
    if missing and not options.units:
        raise RuntimeError(f"{model.name}: {missing} kernels have no time in {options.kernel_times.name}")
    return plan


def record(options):
    """The modelled times of all kernels of the models."""
    options.kernel_times.unlink(missing_ok=True)
    for model in options.models:
        subprocess.run([environment.lemma_program(options.lemma), "schedule", str(model), "--device", str(options.device),
                        "--write-kernel-times", str(options.kernel_times), "--json"], check=True, stdout=subprocess.DEVNULL)


def row(variant, run, plan):
    bound = plan["lower_bound"]
    result = {"variant": variant, **run,
              "ratio": run["seconds"] / max(bound["work"], bound["critical_path"]),
              "ratio_with_events": run["seconds"] / max(bound["work"], bound["path_with_events"])}
    if variant in POLICIES:
        result |= {key: plan[key] for key in ("tasks", "waits", "arena_bytes", "largest_live_bytes",
                                              "planning_cpu_seconds")}
    return result


def compared(options, model):
    plans = {variant: planned(options, model, policy) for variant, policy in POLICIES.items()}
    plan = plans["co-scheduled"]
    rows = [row("operator by operator", plan["operator_by_operator"], plan),
            row("after barriers", plan["operators_after_barriers"], plan)]
    rows += [row(variant, plan["schedule"], plan) for variant, plan in plans.items()]
    return {"model": model.stem, "units": plan["units"], "operators": plan["operators"],
            "lower_bound": plan["lower_bound"], "variants": rows}


def table(result):
    bound = result["lower_bound"]
    lines = [f"{result['model']}: {result['operators']} operators; work {bound['work'] * 1e6:.0f}, longest path "
             f"{bound['critical_path'] * 1e6:.0f}, with events {bound['path_with_events'] * 1e6:.0f} microseconds"]
    for row in result["variants"]:
        text = (f"  {row['variant']:22}{row['seconds'] * 1e6:9.0f} us  busy {row['utilisation']:4.0%}  outside "
                f"{row['outside_seconds'] * 1e6:7.0f} us  ratio {row['ratio']:6.3f} {row['ratio_with_events']:6.3f}")
        if "arena_bytes" in row:
            text += (f"  arena {row['arena_bytes']:10} live {row['largest_live_bytes']:10} "
                     f"({row['arena_bytes'] / max(1, row['largest_live_bytes']):.2f})  "
                     f"planned in {row['planning_cpu_seconds']:.1f} s")
        lines.append(text)
    return "\n".join(lines)


def faults_of(result):
    """What takes longer than it may."""
    seconds = {row["variant"]: row["seconds"] for row in result["variants"]}
    return [f"{result['model']}: '{after}' takes longer than '{before}'" for before, after in zip(FALLING, FALLING[1:])
            if seconds[after] > seconds[before]]


def result_row(result):
    """A row of bench/results/schedules.json."""
    name, batch = re.fullmatch(r"(.*?)(?:-batch(\d+))?", result["model"]).groups()
    rows = {row["variant"]: row for row in result["variants"]}
    cells = [cell for variant, _ in COLUMNS for cell in (round(rows[variant]["seconds"] * 1e6),
                                                         round(rows[variant]["ratio"], 2))]
    best = rows["best"]
    return [name, int(batch or 1), *cells, round(100 * best["utilisation"]),
            round(best["arena_bytes"] / max(1, best["largest_live_bytes"]), 2), round(best["planning_cpu_seconds"], 1)]


def average_rows(all_results):
    """Rows of bench/results/schedule-averages.json."""
    rows, first = [], None
    for variant, _ in COLUMNS:
        of_models = [row for result in all_results for row in result["variants"] if row["variant"] == variant]
        utilisation = 100 * statistics.fmean(row["utilisation"] for row in of_models)
        outside = 1e3 * statistics.fmean(row["outside_seconds"] for row in of_models)
        first = first or utilisation
        rows.append([variant, round(utilisation, 1), round(utilisation / first, 2), round(outside, 3),
                     *PUBLISHED.get(variant, (None, None, None))])
    return rows


def plot(all_results):
    """Bars of times over the lower bound, one of each variant for each model; longer ones are cut and carry their number."""
    left, top, bar, gap, scale, most = 190, 50, 11, 14, 110, 6
    height = top + len(all_results) * (len(COLUMNS) * bar + gap) + 20
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + scale * most + 80}" height="{height}" '
             'font-family="sans-serif" font-size="11">',
             f'<text x="{left}" y="16">time over the lower bound, {all_results[0]["units"]} simulated units</text>']
    for index, (name, color) in enumerate(COLUMNS):
        lines.append(f'<rect x="{left + 120 * index}" y="24" width="10" height="10" fill="{color}"/>'
                     f'<text x="{left + 120 * index + 14}" y="33">{name}</text>')
    for step in range(1, most + 1):
        lines.append(f'<line x1="{left + scale * step}" y1="{top - 6}" x2="{left + scale * step}" y2="{height - 14}" '
                     f'stroke="#ccc"/><text x="{left + scale * step}" y="{height - 2}" text-anchor="middle">{step}</text>')
    y = top
    for result in all_results:
        lines.append(f'<text x="{left - 6}" y="{y + 26}" text-anchor="end">{result["model"]}</text>')
        for row, (_, color) in zip(result["variants"], COLUMNS):
            width = scale * min(row["ratio"], most)
            lines.append(f'<rect x="{left}" y="{y}" width="{width:.1f}" height="{bar - 1}" fill="{color}"/>'
                         f'<text x="{left + width + 4:.1f}" y="{y + 9}">{row["ratio"]:.2f}</text>')
            y += bar
        y += gap
    return "\n".join(lines + ["</svg>", ""])


def main():
    options = arguments()
    if options.record:
        record(options)
    compared_models, faults = [], []
    for model in options.models:
        try:
            compared_models.append(compared(options, model))
            print(table(compared_models[-1]), flush=True)
            faults += faults_of(compared_models[-1])
        except RuntimeError as error:
            faults.append(f"{model.name}: {error}")
    if options.json:
        options.json.write_text(json.dumps(compared_models, indent=1) + "\n")
    if options.plot and compared_models:
        options.plot.write_text(plot(compared_models))
    if compared_models:
        results.update(options.result, list(map(result_row, compared_models)))
        results.update(options.averages, average_rows(compared_models))
    print("\n".join(faults), file=sys.stderr)
    return 4 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
