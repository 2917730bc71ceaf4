#!/usr/bin/env python3
"""How well the times of single nodes predict the time of whole models under ONNX Runtime.

For each model, variants are made with `lemma optimize --no-measure` and descriptions of devices on which starting an
operator, moving bytes or computing is far too cheap or too expensive, and with rules drawn at random
(bench/random_variants.cpp), so that good and bad rewrites are among them. `lemma profile` prices each variant as the
sum of the nodes that ONNX Runtime makes of it, once with all of them measured, and once with all nodes of the model
and its variants held out. Then it times the variant. The error is |predicted / measured - 1|; tau is Kendall's tau-b
of predicted and measured times over the pairs of variants that differ by more than --noise.

Exit code: 0.
"""

import argparse
import filecmp
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import results
import testdata

LITERATURE = ["lstm", "nasrnn", "squeezenet1_1", "inception_v3", "resnext50_32x4d", "nasnet_a", "two_layer", "decoder"]
LIGHT = ["light_shufflenet", "light_inception_v1", "light_densenet121", "light_squeezenet"]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/models predictions",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "real_models")
    parser.add_argument("--only", nargs="*", default=[], help="models whose name contains one of these words")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--variants", type=int, default=10, help="at most, for each model")
    parser.add_argument("--noise", type=float, default=0.03)
    parser.add_argument("--time-limit", type=float, default=8, help="of lemma, for each variant")
    parser.add_argument("--folder", type=Path, help="keep the variants there, and take those that are there already")
    parser.add_argument("--only-variants", action="store_true", help="make them, and time nothing")
    parser.add_argument("--database", type=Path, help="of what is measured; nothing that is there is measured again")
    parser.add_argument("--json", type=Path)
    results.add_option(parser)
    return parser.parse_args()


def gather(options):
    literature = options.work / "literature"
    if not literature.is_dir():
        subprocess.run([ROOT / "models" / "build", "--out", literature], check=True, stdout=sys.stderr)
    files = [literature / f"{name}.onnx" for name in LITERATURE]
    files += [path for path in testdata.light_models() if path.stem in LIGHT]
    return [file for file in files if not options.only or any(word in str(file) for word in options.only)]


def devices(folder):
    """Descriptions of unlikely devices."""
    base = json.loads((ROOT / "targets" / "devices" / "onnxruntime-cpu.json").read_text())["operators"]
    changes = {"slow_start": {"launch_overhead_seconds": 50e-6}, "slow_views": {"view_overhead_seconds": 50e-6},
               "slow_memory": {"memory_bytes_per_second": 1e9},
               "slow_products": {"contraction_flops_per_second": {"f32": 2e9}},
               "free_start": {"launch_overhead_seconds": 1e-9, "view_overhead_seconds": 1e-9},
               "slow_small": {"half_peak_flops": 1e9}}
    for name, change in changes.items():
        file = folder / f"{name}.json"
        file.write_text(json.dumps({**base, **change}))
        yield file


def variants_of(options, file, folder):
    """Distinct files, the model itself first."""
    calls = [["--device", device] for device in devices(folder)]
    calls += [["--strategy", "backtracking", "--budget", "30"], ["--rounding-class", "bitwise"]]
    variants = [file]
    for number, more in enumerate(calls):
        if len(variants) >= options.variants:
            break
        out = folder / f"variant_{number}.onnx"
        call = [environment.lemma_program(options.lemma), "optimize", file, "-o", out, "--no-measure",
                "--no-second-judge", "--time-limit", options.time_limit, *more]
        subprocess.run(list(map(str, call)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if out.exists() and is_new(out, variants):
            variants.append(out)
    return variants + [out for out in random_variants(options, file, folder, options.variants) if is_new(out, variants)][
        :options.variants - len(variants)]


def kept_variants(options, file, folder):
    """The same, from an earlier run if there was one."""
    listed = folder / "variants.json"
    if not listed.exists():
        folder.mkdir(parents=True, exist_ok=True)
        listed.write_text(json.dumps([str(file) for file in variants_of(options, file, folder)]))
    return [Path(file) for file in json.loads(listed.read_text())]


def is_new(file, files):
    return not any(filecmp.cmp(file, other, shallow=False) for other in files)


def random_variants(options, file, folder, count):
    """Files with a few rules, drawn at random, applied wherever they fit."""
    program = Path(environment.lemma_program(options.lemma)).parents[1] / "bench" / "bin" / "random_variants"
    subprocess.run([program, file, folder, ROOT / "rules", str(count), "1"], check=True)
    return sorted(folder.glob("random_*.onnx"))


def profile(options, files, database):
    call = [environment.lemma_program(options.lemma), "profile", *files, "--database", database, "--threads",
            options.threads, "--hold-out-all", "--json"]
    done = subprocess.run(list(map(str, call)), stdout=subprocess.PIPE, text=True)
    return [entry for entry in json.loads(done.stdout)["models"] if "latency_ms" in entry]


def tau_b(pairs, noise):
    """Kendall's tau-b over the pairs whose measured times differ by more than the noise; nothing if there are none."""
    concordant = discordant = ties = 0
    for index, (predicted, measured) in enumerate(pairs):
        for other_predicted, other_measured in pairs[:index]:
            if abs(measured / other_measured - 1) <= noise:
                continue
            product = (predicted - other_predicted) * (measured - other_measured)
            concordant += product > 0
            discordant += product < 0
            ties += product == 0
    counted = concordant + discordant + ties
    if counted == 0:
        return None
    return (concordant - discordant) / ((counted * (counted - ties)) ** 0.5 or 1)


def result_row(row):
    """A row of bench/results/predictions.json."""
    ends = [float(f"{end(row['latency_ms']):.3g}") for end in (min, max)]
    errors = [round(100 * row[key], 1) for key in ("error", "held_out_error")]
    return [row["model"], row["variants"], *ends, *errors, None if row["tau"] is None else round(row["tau"], 2)]


def main():
    options = arguments()
    rows = []
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        database = options.database or work / "profile.sqlite"
        sets = []
        for file in gather(options):
            print(f"{file.stem} ...", file=sys.stderr, flush=True)
            sets.append((file, kept_variants(options, file, (options.folder or work) / file.stem)))
        if options.only_variants:
            return 0
        # Everything is measured before anything is held out, so that each model is predicted from all the others.
        for _, files in sets:
            profile(options, files, database)
        for file, files in sets:
            entries = profile(options, files, database)
            if not entries:
                continue
            measured = [entry["latency_ms"] for entry in entries]
            known = [entry["predicted_ms"] for entry in entries]
            held = [entry["held_out_ms"] for entry in entries]
            rows.append({"model": file.stem, "variants": len(entries), "latency_ms": measured, "predicted_ms": known,
                         "held_out_ms": held,
                         "error": statistics.fmean(abs(p / m - 1) for p, m in zip(known, measured)),
                         "held_out_error": statistics.fmean(abs(p / m - 1) for p, m in zip(held, measured)),
                         "tau": tau_b(list(zip(known, measured)), options.noise)})
            if options.json:
                options.json.write_text(json.dumps({"threads": options.threads, "models": rows}, indent=1) + "\n")
    print("| model | variants | ms | mean error | held out | tau-b |\n|---|---|---|---|---|---|")
    for row in rows:
        tau = "-" if row["tau"] is None else f"{row['tau']:.2f}"
        print(f"| {row['model']} | {row['variants']} | {min(row['latency_ms']):.3g} to {max(row['latency_ms']):.3g} | "
              f"{row['error'] * 100:.1f}% | {row['held_out_error'] * 100:.1f}% | {tau} |")
    results.update(options.result, [result_row(row) for row in rows])
    taus = [row["tau"] for row in rows if row["tau"] is not None]
    print(f"mean error {statistics.fmean(row['error'] for row in rows) * 100:.1f}%, held out "
          f"{statistics.fmean(row['held_out_error'] for row in rows) * 100:.1f}%, tau-b "
          f"{statistics.fmean(taus) if taus else float('nan'):.2f} over {len(taus)} models")
    return 0


if __name__ == "__main__":
    sys.exit(main())
