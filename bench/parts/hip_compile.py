#!/usr/bin/env python3
"""Emits models as HIP source (docs/cuda.md), compiles and links each with hipcc for each architecture, and prints a table: kernels,
seconds of the processor to compile, registers and spills of the persistent kernel, shared memory. Nothing is run.

Exit code: 0, or 4 where a model that can be emitted does not compile; 77 where there is no hipcc.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import results
from cuda_compile import measured, shared_bytes
from model_sizes import shape_options

ARCHITECTURES = ("gfx906", "gfx90a")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/cuda hip",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files (default: all below --folder)")
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "real_models")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--arch", action="append", choices=ARCHITECTURES, help="of the device (default: all)")
    parser.add_argument("--hipcc", default=shutil.which("hipcc"))
    parser.add_argument("--time-limit", type=float, default=900, metavar="S", help="of each compilation")
    results.add_option(parser)
    options = parser.parse_args()
    options.models = options.models or sorted(options.folder.rglob("*.onnx"))
    options.arch = options.arch or list(ARCHITECTURES)
    return options


def figures_of(code, name="run_schedule"):
    """Registers of a lane and bytes that it spills, of the persistent kernel, as the compiler states them in its metadata."""
    kernels = code[code.index("amdhsa.kernels:"):].split("\n  - .a")  # .agpr_count or .args, which come first
    kernel = next(text for text in kernels if re.search(rf"\.name: .*{name}", text))

    def number(key):
        found = re.search(rf"\.{key}: *(\d+)", kernel)
        return int(found[1]) if found else 0

    return {"registers": number("vgpr_count") + number("agpr_count"), "spilled": number("vgpr_spill_count"),
            "stack_bytes": number("private_segment_fixed_size")}


def compiled(options, model, architecture, folder):
    directory = Path(folder) / architecture
    done = subprocess.run([environment.lemma_program(options.lemma), "emit", model, "--target", "hip", "--arch", architecture, "-o",
                           directory, "--name", "model", *shape_options(model)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
        return {"status": "refused" if done.returncode in (2, 3) else "FAILED", "reason": reason}
    code, output, seconds = measured(
        [options.hipcc, "-std=c++20", "-O3", f"--offload-arch={architecture}", "-save-temps", '-DPROGRAM_DIRECTORY="."', "model.hip",
         "selfcheck.hip", "-o", "selfcheck"], directory, options.time_limit)
    if code != 0:
        reason = "it takes too long to compile" if code < 0 else (output.strip() or "hipcc failed").splitlines()[-1]
        return {"status": "FAILED", "reason": reason}
    assembly = next(directory.glob(f"model-hip-amdgcn-amd-amdhsa-{architecture}*.s"))
    return {"status": "compiled", "seconds": seconds, "kernels": (directory / "kernels.cuh").read_text().count("\n    case "),
            "shared_bytes": shared_bytes(directory), **figures_of(assembly.read_text())}


def line(model, architecture, figures):
    values = [f"{key} {round(value, 1) if isinstance(value, float) else value}" for key, value in figures.items() if key != "status"]
    return f"{figures['status']:9} {model.stem:44} {architecture}  {'  '.join(values)}"


def row_of(model, by_architecture):
    row = [model.stem]
    for figures in by_architecture.values():
        row += [figures.get(key) for key in ("kernels", "registers", "spilled", "shared_bytes")]
        row.append(round(figures["seconds"], 1) if "seconds" in figures else None)
    return row


def main():
    options = arguments()
    if options.hipcc is None:
        print("there is no hipcc (scripts/setup --hip)", file=sys.stderr)
        return 77
    all_figures = {}
    for model in options.models:
        with tempfile.TemporaryDirectory(prefix="lemma-hip-") as folder:
            all_figures[model] = {architecture: compiled(options, model, architecture, folder) for architecture in options.arch}
        for architecture, figures in all_figures[model].items():
            print(line(model, architecture, figures), flush=True)
    results.update(options.result, [row_of(model, figures) for model, figures in all_figures.items()])
    return 4 if any(figures["status"] == "FAILED" for each in all_figures.values() for figures in each.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
