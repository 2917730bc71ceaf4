#!/usr/bin/env python3
"""Looks into the code that nvcc makes of emitted kernels: what a thread has in flight, how wide its accesses are, whether they
know where memory is, and how many instructions a byte takes. From that it estimates a time (Little's law), beside the
planned one and that of a good kernel for the same. Nothing is run on a GPU.

What is read is the code of the device (SASS), as NVIDIA's nvdisasm prints it. The toolkit may lack it: --fetch brings it from the
package nvidia-cuda-nvdisasm to out/tools. What is read of the code is in scripts/device_code.py.

Exit code: 0, or 4 where a hot loop has loads that do not know where memory is, a function spills, or an estimate is more than
1.5 times a good kernel, or 2 for attention; 77 where there is no nvcc or no nvdisasm.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import onnx

import audited_kernels
import device_code
import results

# An H100 SXM: data sheet; cycles from a load of memory to its use, on an idle device and (assumed) on a busy one.
UNITS, THREADS, CYCLES, BANDWIDTH, REACHED = 132, 256, 1.755e9, 3.35e12, 0.9
BUSY_LATENCY = 900 / CYCLES
LANES, SCHEDULERS = 128, 4
TOOLS = device_code.TOOLS
PACKAGE = "nvidia-cuda-nvdisasm==13.5.37"


def parse():
    parser = argparse.ArgumentParser(prog="bench/cuda audit",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", help="names (default: all)")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--nvcc", default=shutil.which("nvcc"))
    parser.add_argument("--nvdisasm", help="the program (default: that of the search path, or what --fetch brought)")
    parser.add_argument("--fetch", action="store_true", help=f"bring nvdisasm ({PACKAGE}, 5 MB) to out/tools where it is missing")
    parser.add_argument("--arch", default="sm_90")
    results.add_option(parser)
    return parser.parse_args()


def disassembler(options):
    """The program, or None."""
    fetched = TOOLS / "nvdisasm"
    if options.fetch and not fetched.exists():
        with tempfile.TemporaryDirectory(prefix="lemma-nvdisasm-") as folder:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, PACKAGE], check=True)
            with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
                name = next(name for name in wheel.namelist() if name.endswith("/bin/nvdisasm"))
                TOOLS.mkdir(parents=True, exist_ok=True)
                fetched.write_bytes(wheel.read(name))
        fetched.chmod(0o755)
    return options.nvdisasm or device_code.disassembler(options.nvcc)


def estimate(kernel, loops):
    """Seconds: bytes by bandwidth, by what is in flight, and instructions. Each hot loop goes through its share of the bytes that
    are read."""
    in_turn = 0
    for at, loop in enumerate(loops):
        of_loop = kernel.read_bytes * (kernel.shares[at] if at < len(kernel.shares) else 1)
        in_flight = loop.in_flight * THREADS * UNITS / BUSY_LATENCY
        issued = of_loop / loop.bytes * loop.instructions / (UNITS * LANES * CYCLES)
        in_turn += max(of_loop / in_flight, issued)
    return max((kernel.read_bytes + kernel.written_bytes) / (REACHED * BANDWIDTH), in_turn) + kernel.fixed * 1e-6


def compiled(options, kernel, folder):
    """The code of the emitted program, and bytes that ptxas spills."""
    file, directory, code = folder / "model.onnx", folder / "program", folder / "program.cubin"
    onnx.save(kernel.model, file)
    subprocess.run([environment.lemma_program(options.lemma), "emit", file, "--target", "cuda", "--arch", options.arch, "-o", directory,
                    "--name", "audited", "--most-check-memory", "1M", *kernel.words], check=True, capture_output=True)
    done = subprocess.run([options.nvcc, "-std=c++20", "-O3", "--expt-relaxed-constexpr", f"-arch={options.arch}", "-I", directory,
                           "--ptxas-options=-v", "-cubin", "-o", code, directory / "audited.cu"], check=True, capture_output=True,
                          text=True)
    spilled = sum(map(int, re.findall(r"(\d+) bytes spill (?:stores|loads)", done.stderr)))
    text = subprocess.run([disassembler(options), code], check=True, capture_output=True, text=True).stdout
    return text, spilled


def issued_seconds(kernel, functions):
    """The instructions of the longest step, which the schedulers of a multiprocessor begin for all warps of a block."""
    longest = max((device_code.instructions_of_step(body, kernel.turns) for body in functions.values()), default=0)
    return kernel.steps * longest * (THREADS // 32) / SCHEDULERS / CYCLES


def planned_seconds(options, kernel, file):
    done = subprocess.run([environment.lemma_program(options.lemma), "emit", file, "--target", "cuda", "--arch", options.arch,
                           "--plan", "--json", *kernel.words], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["planned_seconds"]


def audited(options, kernel):
    with tempfile.TemporaryDirectory(prefix="lemma-audit-") as name:
        folder = Path(name)
        text, spilled = compiled(options, kernel, folder)
        functions = device_code.sass_functions(text)
        loops = list(device_code.loops_of(functions))
        hot = [loop for loop in loops if loop.bytes >= max(other.bytes for other in loops) / 4]
        seconds = issued_seconds(kernel, functions) if kernel.steps else estimate(kernel, hot)
        return {"planned": planned_seconds(options, kernel, folder / "model.onnx"), "estimate": seconds, "loops": hot,
                "spilled": spilled, "unknown": sum(loop.unknown for loop in hot)}


def row_of(kernel, facts):
    loops = facts["loops"]
    widest = max((max(loop.widths) for loop in loops), default=0)
    least = min((loop.in_flight for loop in loops), default=0)
    each = sum(loop.instructions for loop in loops) / max(1, sum(loop.bytes for loop in loops))
    estimated = facts["estimate"] * 1e6
    return [kernel.name, facts["planned"] * 1e6, estimated, kernel.good, estimated / kernel.good, widest, least, each,
            facts["unknown"], facts["spilled"]]


def line(row):
    name, planned, estimated, good, ratio, widest, least, each, unknown, spilled = row
    return (f"{name:34} planned {planned:8.1f} us, estimate {estimated:8.1f}, good {good:6.1f}, {ratio:.2f}; loads up to {widest} bytes, {least} in flight, {each:.2f} instructions "
            f"a byte, {unknown} of unknown memory, {spilled} bytes spilled")


def main():
    options = parse()
    if options.nvcc is None or disassembler(options) is None:
        print("there is no nvcc, or no nvdisasm (--fetch brings it)", file=sys.stderr)
        return 77
    rows, wrong = [], 0
    for kernel in audited_kernels.all_kernels():
        if options.kernels and kernel.name.split(",")[0] not in options.kernels:
            continue
        row = row_of(kernel, audited(options, kernel))
        rows.append(row)
        wrong += row[8] > 0 or row[9] > 0 or row[4] > kernel.most
        print(line(row), flush=True)
    try:
        results.update(options.result, rows)
    except results.Malformed as error:
        raise SystemExit(str(error)) from error
    return 4 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
