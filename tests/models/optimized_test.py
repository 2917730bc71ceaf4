#!/usr/bin/env python3
"""Models of the literature, optimized: cheaper where that is known to be possible, the same bytes for any number of
threads and jobs and with the models in any order, and in agreement with their originals under ONNX Runtime."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import environment  # noqa: E402

SKIPPED = 77
MODELS = {"squeezenet1_1": [], "nasrnn": [], "lstm": [], "resnext50_32x4d": [], "bert-base": ["--vocabulary", "50"]}
FEW = ("squeezenet1_1", "nasrnn")
QUICK = ("squeezenet1_1",)  # of the few, those that are optimized twice
CHEAPER = ("bert-base", "nasrnn", "squeezenet1_1", "resnext50_32x4d")


def build(names, folder):
    for name in names:
        subprocess.run([sys.executable, ROOT / "models" / "build", name, "--out", folder, *MODELS[name]],
                       check=True, stdout=subprocess.DEVNULL)
    return [folder / f"{name}.onnx" for name in names]


def optimize(lemma, models, folder, *options):
    # A search that the clock ends, on a busy machine, may end anywhere; here the number of nodes is to end it.
    done = subprocess.run([lemma, "optimize", *models, "--out-dir", folder, "--json", "--time-limit", "1000", *options],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"lemma optimize: exit code {done.returncode}: {done.stderr}")
    return {pathlib.Path(entry["model"]).stem: entry for entry in json.loads(done.stdout)["models"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True, help="the program to test")
    parser.add_argument("--all", action="store_true", help="all models, not only the small ones")
    arguments = parser.parse_args()
    lemma = arguments.lemma
    if not environment.PYTHON.exists():
        print("skipped: scripts/setup has not made the Python environment")
        sys.exit(SKIPPED)
    faults = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        models = build(MODELS if arguments.all else FEW, folder / "originals")
        first = optimize(lemma, models, folder / "first", "--threads", "1", "--jobs", "1")
        again = [model for model in models if arguments.all or model.stem in QUICK]
        optimize(lemma, again[::-1], folder / "second", "--threads", "4", "--jobs", "2")
        for model in models:
            cost_before, cost_after = (first[model.stem][key] for key in ("cost_before", "cost_after"))
            cheaper = cost_after < cost_before
            print(f"{model.stem}: predicted cost {cost_before:.6g} -> {cost_after:.6g}")
            if cost_after > cost_before or (model.stem in CHEAPER and not cheaper):
                faults.append(f"{model.stem}: the predicted cost does not fall")
            first_bytes = (folder / "first" / model.name).read_bytes()
            if model in again and first_bytes != (folder / "second" / model.name).read_bytes():
                faults.append(f"{model.stem}: other bytes with 4 threads and 2 jobs than with 1 and 1")
            compared = subprocess.run([sys.executable, ROOT / "scripts" / "compare", model, folder / "first" / model.name,
                                       "--samples", "2"], capture_output=True, text=True)
            if compared.returncode != 0:
                faults.append(f"{model.stem}: {compared.stdout}{compared.stderr}")
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
