#!/usr/bin/env python3
"""Emits models as CUDA source (docs/cuda.md), compiles and links each with nvcc, and prints a table: kernels, seconds to
emit, seconds of the processor to compile, registers of the persistent kernel, bytes that it spills, shared memory. Nothing is run.

Exit code: 0, or 4 where a model that can be emitted does not compile; 77 where there is no nvcc.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

from model_sizes import shape_options


def arguments():
    parser = argparse.ArgumentParser(prog="bench/cuda compile",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files (default: all below --folder)")
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "real_models")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--nvcc", default=shutil.which("nvcc"))
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--time-limit", type=float, default=900, metavar="S", help="of each compilation")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.models = options.models or sorted(options.folder.rglob("*.onnx"))
    return options


def measured(words, folder, limit):
    """Exit code, output and seconds of the processor; None if it takes too long. Stages of the compiler count, too."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(words, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        timer = threading.Timer(limit, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return process.returncode, output.read(), usage.ru_utime + usage.ru_stime


def resources(output):
    """What ptxas says of all functions."""
    registers = [int(number) for number in re.findall(r"Used (\d+) registers", output)]
    spills = [int(number) for number in re.findall(r"(\d+) bytes spill stores", output)]
    return {"registers": max(registers, default=0), "spilled_bytes": sum(spills)}


def shared_bytes(directory):
    return int(re.search(r" shared_bytes = (\d+);", (directory / "schedule.cuh").read_text())[1])


def compiled(options, model, folder):
    directory = Path(folder) / "program"
    begin = time.monotonic()
    done = subprocess.run([environment.lemma_program(options.lemma), "emit", model, "--target", "cuda", "--arch", options.arch,
                           "-o", directory, "--name", "model", "--json", *shape_options(model)], capture_output=True, text=True, check=False)
    result = {"model": str(model), "options": shape_options(model), "emit_seconds": time.monotonic() - begin}
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
        return {**result, "status": "refused" if done.returncode in (2, 3) else "FAILED", "reason": reason}
    plan = json.loads(done.stdout)
    result.update({"operators": plan["operators"], "tasks": plan["tasks"], "shared_bytes": shared_bytes(directory)})
    code, output, seconds = measured(
        [options.nvcc, "-std=c++20", "-O3", f"-arch={options.arch}", "--expt-relaxed-constexpr", "-Xptxas", "-v",
         '-DPROGRAM_DIRECTORY="."', "model.cu", "selfcheck.cu", "-o", "selfcheck"], directory, options.time_limit)
    result["compile_cpu_seconds"] = seconds
    if code < 0:
        return {**result, "status": "FAILED", "reason": "it takes too long to compile"}
    if code != 0:
        return {**result, "status": "FAILED", "reason": (output.strip() or "nvcc failed").splitlines()[-1]}
    return {**result, "status": "compiled", "kernels": (directory / "kernels.cuh").read_text().count("\n    case "),
            **resources(output)}


def line(result):
    text = f"{result['status']:9} {Path(result['model']).stem:44} emitted {result['emit_seconds']:7.1f} s"
    if result["status"] == "compiled":
        text += (f"  compiled {result['compile_cpu_seconds']:6.1f} s  {result['operators']:5} operators {result['tasks']:6} tasks "
                 f"{result['kernels']:4} kernels  {result['registers']:3} registers  {result['spilled_bytes']:5} bytes spilled  "
                 f"{result['shared_bytes']:6} bytes shared")
    return "  ".join([text, *result["options"], *([result["reason"]] if "reason" in result else [])])


def main():
    options = arguments()
    if options.nvcc is None:
        print("there is no nvcc", file=sys.stderr)
        return 77

    def run(model):
        with tempfile.TemporaryDirectory(prefix="lemma-cuda-") as folder:
            return compiled(options, model, folder)

    results = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(run, options.models):
            results.append(result)
            print(line(result), flush=True)
    counts = {}
    for result in results:
        counts[result["status"]] = counts.get(result["status"], 0) + 1
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    if options.json:
        options.json.write_text(json.dumps({"arch": options.arch, "models": results}, indent=1) + "\n")
    return 4 if counts.get("FAILED") else 0


if __name__ == "__main__":
    sys.exit(main())
