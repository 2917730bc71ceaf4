#!/usr/bin/env python3
"""Memory of importing and exporting a model with large weights in external data: makes one (3 GB unless --gigabytes
says otherwise), runs `lemma optimize --strategy none` on it and prints the peak of anonymous memory, that is resident
memory less what is mapped from files, sampled from /proc while the program runs.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import numpy
import onnx
from onnx import TensorProto, helper

import results

WIDTH = 8192  # a weight of WIDTH x WIDTH floats has 256 MiB


def arguments():
    parser = argparse.ArgumentParser(prog="bench/real_models memory",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "memory")
    parser.add_argument("--gigabytes", type=float, default=3.0)
    parser.add_argument("--json", action="store_true")
    results.add_option(parser)
    return parser.parse_args()


def make_model(options):
    """A chain of matrix products; every weight is a slice of one external file."""
    path = options.work / "large.onnx"
    count = max(1, round(options.gigabytes * 2**30 / (4 * WIDTH * WIDTH)))
    size = 4 * WIDTH * WIDTH
    options.work.mkdir(parents=True, exist_ok=True)
    block = numpy.random.default_rng(0).standard_normal(WIDTH * 1024, dtype=numpy.float32) / 90
    with open(options.work / "large.weights", "wb") as file:
        for index in range(count):
            for part in range(WIDTH * WIDTH // block.size):
                numpy.roll(block, index * 64 + part).tofile(file)
    initializers, nodes = [], []
    for index in range(count):
        tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[WIDTH, WIDTH],
                             data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "large.weights"), ("offset", index * size), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        initializers.append(tensor)
        nodes.append(helper.make_node("MatMul", [f"x{index}", f"w{index}"], [f"x{index + 1}"]))
    graph = helper.make_graph(
        nodes, "large", [helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, WIDTH])],
        [helper.make_tensor_value_info(f"x{count}", TensorProto.FLOAT, [1, WIDTH])], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path, count * size


def memory_of(process):
    """Anonymous and mapped resident bytes of a process and its children."""
    anonymous = mapped = 0
    for candidate in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(line.split(":", 1) for line in (candidate / "status").read_text().splitlines())
            if int(candidate.name) != process and int(status["PPid"]) != process:
                continue
            anonymous += int(status["RssAnon"].split()[0]) * 1024
            mapped += int(status["RssFile"].split()[0]) * 1024
        except (OSError, KeyError, ValueError):
            continue  # the process ended while we looked
    return anonymous, mapped


def main():
    options = arguments()
    path, weights = make_model(options)
    output = options.work / "written" / "large.onnx"
    output.parent.mkdir(exist_ok=True)
    start = time.monotonic()
    process = subprocess.Popen([environment.lemma_program(options.lemma), "optimize", path, "-o", output, "--strategy",
                                "none", "--json"], stdout=subprocess.DEVNULL)
    peaks = [0, 0]
    while process.poll() is None:
        peaks = [max(old, new) for old, new in zip(peaks, memory_of(process.pid))]
        time.sleep(0.01)
    written = sum(file.stat().st_size for file in output.parent.iterdir())
    result = {"weight_bytes": weights, "peak_anonymous_bytes": peaks[0], "peak_mapped_bytes": peaks[1],
              "seconds": time.monotonic() - start, "exit_code": process.returncode, "bytes_written": written}
    print(json.dumps(result) if options.json else "\n".join(f"{key:22} {value:,}" for key, value in result.items()))
    results.update(options.result, [["weights in external data, GB", round(weights / 1e9, 2)],
                                    ["time, s", round(result["seconds"], 1)],
                                    ["peak of anonymous memory, MB", round(peaks[0] / 1e6, 1)],
                                    ["mapped from files, GB", round(peaks[1] / 1e9, 2)]])
    return 0 if process.returncode == 0 and peaks[0] < 2**29 and written >= weights else 4


if __name__ == "__main__":
    sys.exit(main())
