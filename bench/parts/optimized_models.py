#!/usr/bin/env python3
"""Optimizes the models of bench/real_models.list in one call of `lemma optimize`: the light models, the models of the
literature, trained models from PyPI packages, and variants in f16, bf16, int8 and other operator sets. Checks every
result with onnx.checker and against its original under ONNX Runtime on random inputs, or, where ONNX Runtime has no
kernels (bf16), with `lemma compare`, whose interpreter computes in f64 beside the model's own types. Prints a table (or
JSON) of predicted costs and errors.

Exit code: 0 every model of the list is there, was written, agrees, costs no more and has no larger file, 4 otherwise.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import onnx

import testdata
from model_sizes import shape_options


def picture_options(model):
    """Sizes of pictures: with tiny ones, pools would be empty. Other models stay as they are."""
    return shape_options(model) if Path(model).name.startswith("rapidocr") else []


LIST = ROOT / "bench" / "real_models.list"
# Results of f16 differ by rounding more than the usual tolerances allow.
HALF_TOLERANCES = ["--rtol", "1e-2", "--atol", "1e-2"]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/real_models optimize",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "real_models", help="folder for models and results")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="models whose file name contains one of these")
    parser.add_argument("--no-trained", action="store_true", help="leave out the PyPI packages (no download)")
    parser.add_argument("--no-measure", action="store_true", help="lemma times nothing")
    parser.add_argument("--resume", action="store_true", help="go on with a run that was ended")
    parser.add_argument("--time-limit", type=float, help="of lemma for each model, in seconds")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def gather(options, with_variants=False):
    """Paths of all models, made or unpacked if they are not there yet."""
    literature, trained, variants = (options.work / name for name in ("literature", "trained", "variants"))
    scripts = ROOT / "models"
    if not literature.is_dir():
        subprocess.run([scripts / "build", "--out", literature], check=True, stdout=sys.stderr)
    if not options.no_trained and not trained.is_dir():
        subprocess.run([scripts / "unpack-trained", "--out", trained], check=True, stdout=sys.stderr)
    models = [*testdata.light_models(), *sorted(literature.glob("*.onnx"))]
    if not options.no_trained:
        models += sorted(trained.rglob("*.onnx"))
    if with_variants:
        if not variants.is_dir():  # what cannot be written is missing, which is told at the end
            subprocess.run([scripts / "variants", "--sources", literature, trained, "--out", variants],
                           stdout=sys.stderr)
        models += sorted(variants.glob("*.onnx"))
    return [path for path in models if not options.only or any(word in path.name for word in options.only)]


def missing_models(options, models):
    """Names of the list that no file has."""
    wanted = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    names = {path.stem for path in models}
    return [name for name in wanted if name not in names and
            (not options.only or any(word in name for word in options.only))]


def megabytes(path):
    """Of a model with the data beside it."""
    path = Path(path)
    return sum(part.stat().st_size for part in (path, path.with_name(path.stem + ".data"),
                                                path.with_name(path.name + ".data")) if part.is_file()) / 1e6


def optimize(options, models):
    out = options.work / f"optimized-{options.device}"
    if not options.resume:
        shutil.rmtree(out, ignore_errors=True)
    command = [environment.lemma_program(options.lemma), "optimize", *models, "--out-dir", out, "--device",
               options.device, "--json", "--max-growth", "0", *(["--no-measure"] if options.no_measure else []),
               *(["--resume"] if options.resume else []),
               *(["--time-limit", str(options.time_limit)] if options.time_limit else [])]
    start = time.monotonic()
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    report = json.loads(finished.stdout)
    return report["models"], finished.returncode, time.monotonic() - start


def compare(options, entry):
    if entry["output"] is None:
        return {"passed": False, "checker": "-", "reason": entry["message"]}
    if entry["model"].endswith("-bf16.onnx"):
        return compare_without_runtime(options, entry)
    command = [ROOT / "scripts" / "compare", entry["model"], entry["output"], "--samples", str(options.samples), "--json",
               *picture_options(entry["model"]), *(HALF_TOLERANCES if entry["model"].endswith("-f16.onnx") else [])]
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        return json.loads(finished.stdout)
    except json.JSONDecodeError:
        return {"passed": False, "checker": "-", "reason": finished.stderr.strip()[-200:]}


def compare_without_runtime(options, entry):
    """By the interpreter of Lemma."""
    command = [environment.lemma_program(options.lemma), "compare", entry["model"], entry["output"], "--samples",
               str(options.samples), "--json"]
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        onnx.checker.check_model(entry["output"], full_check=True)
    except Exception as error:  # the checker raises several unrelated types
        return {"passed": False, "checker": "failed", "reason": str(error)[:200]}
    return {"passed": finished.returncode == 0, "checker": "passed", "judge": "interpreter",
            "reason": finished.stderr.strip()[-200:]}


def table(rows):
    lines = ["| model | status | operators | predicted cost, us | change | checker | agrees | tolerance needed | seconds |",
             "|---|---|---|---|---|---|---|---|---|"]
    for entry, result in rows:
        before, after = entry["cost_before"] * 1e6, entry["cost_after"] * 1e6
        change = f"{(after - before) / before * 100:+.1f}%" if before else ""
        lines.append(f"| {Path(entry['model']).name} | {entry['status']} | {entry['before']['operators']} → "
                     f"{entry['after']['operators']} | {before:.0f} → {after:.0f} | {change} | {result['checker']} | "
                     f"{'yes' if result['passed'] else 'NO'} | {float(result.get('scale') or 'nan' if result.get('scale') != 0 else 0):.3g} | "
                     f"{entry['seconds']:.1f} |")
    return "\n".join(lines)


def main():
    options = arguments()
    models = gather(options, with_variants=True)
    missing = missing_models(options, models)
    entries, code, seconds = optimize(options, models)
    rows = [(entry, compare(options, entry)) for entry in entries]
    failed = [entry["model"] for entry, result in rows if not result["passed"]]
    costlier = [entry["model"] for entry, _ in rows if entry["cost_after"] > entry["cost_before"]]
    larger = [entry["model"] for entry, _ in rows
              if entry["output"] and megabytes(entry["output"]) > megabytes(entry["model"])]
    if options.json:
        print(json.dumps({"seconds": seconds, "exit_code": code, "failed": failed, "more_expensive": costlier,
                          "missing": missing, "larger": larger,
                          "models": [{**entry, "comparison": result} for entry, result in rows]}, indent=1))
    else:
        print(table(rows))
        print(f"\n{len(rows)} models in one call of {seconds:.0f} s, exit code {code}; {len(failed)} fail, {len(missing)} "
              f"are missing, {len(costlier)} are more expensive than before, {len(larger)} files are larger")
        for kind, names in (("missing", missing), ("larger", larger), ("more expensive", costlier)):
            for name in names:
                print(f"  {kind}: {name}")
        for entry, result in rows:
            if not result["passed"]:
                print(f"  {entry['model']}: {result.get('reason') or result.get('checker_message', '')}")
    return 4 if failed or costlier or missing or larger else 0


if __name__ == "__main__":
    sys.exit(main())
