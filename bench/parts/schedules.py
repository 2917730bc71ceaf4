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

Exit code: 0, or 4 where a model has no plan or a kernel has no time in the file.
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

DEVICES = ROOT / "targets" / "devices"
NAMES = ["resnext50_32x4d", "nasnet_a", "lstm_10_layers", "seq2seq", "deepspeech2"]
COLUMNS = [("operator by operator", "#9aa5b1"), ("co-scheduled", "#7fb3d5"), ("with kernel choice", "#f0b27a"),
           ("critical path", "#58b368"), ("best", "#a569bd")]
POLICIES = {"co-scheduled": "waves-without-choice", "with kernel choice": "waves", "critical path": "critical-path",
            "best": "best"}


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
    rows = [row("operator by operator", plan["operator_by_operator"], plan)]
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


def plot(results):
    """Bars of times over the lower bound, one of each variant for each model; longer ones are cut and carry their number."""
    left, top, bar, gap, scale, most = 190, 50, 11, 14, 110, 6
    height = top + len(results) * (len(COLUMNS) * bar + gap) + 20
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + scale * most + 80}" height="{height}" '
             'font-family="sans-serif" font-size="11">',
             f'<text x="{left}" y="16">time over the lower bound, {results[0]["units"]} simulated units</text>']
    for index, (name, color) in enumerate(COLUMNS):
        lines.append(f'<rect x="{left + 140 * index}" y="24" width="10" height="10" fill="{color}"/>'
                     f'<text x="{left + 140 * index + 14}" y="33">{name}</text>')
    for step in range(1, most + 1):
        lines.append(f'<line x1="{left + scale * step}" y1="{top - 6}" x2="{left + scale * step}" y2="{height - 14}" '
                     f'stroke="#ccc"/><text x="{left + scale * step}" y="{height - 2}" text-anchor="middle">{step}</text>')
    y = top
    for result in results:
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
    results, failures = [], 0
    for model in options.models:
        try:
            results.append(compared(options, model))
            print(table(results[-1]), flush=True)
        except RuntimeError as error:
            failures += 1
            print(f"{model.name}: {error}", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.plot and results:
        options.plot.write_text(plot(results))
    return 4 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
