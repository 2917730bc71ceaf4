#!/usr/bin/env python3
"""Compares planned times with those that others measured (bench/parts/measured_kernels.json names the sources): products by
the price of a library call, and what is bound by memory by the schedule of the program that Lemma emits. A line for each:
measured, planned, and planned by measured. Nothing is run on a GPU.

Exit code: 0, or 4 where a plan is further from the measurement than --bound, or faster than the bytes of its tensors by the
bandwidth of the device's data sheet.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import onnx
from onnx import TensorProto, helper, numpy_helper

import numpy
import results

FILE = Path(__file__).resolve().parent / "measured_kernels.json"
TYPES = {"f32": (TensorProto.FLOAT, 4), "f16": (TensorProto.FLOAT16, 2), "bf16": (TensorProto.BFLOAT16, 2)}
# Bytes a second, of data sheets.
BANDWIDTHS = {"h100": 3.35e12, "b200": 8e12, "a100": 2.039e12, "a10": 600e9, "t4": 320e9, "v100": 900e9, "rtx5090": 1.792e12}
SCHEDULED_BY = "h100"  # whose schedule is made where only the price of a call is asked for


def parse():
    parser = argparse.ArgumentParser(prog="bench/cuda measurements",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--bound", type=float, default=0.3, help="how far a plan may be from the measurement")
    results.add_option(parser)
    return parser.parse_args()


class Builder:
    """A model of one kernel; counts the bytes of inputs and outputs."""

    def __init__(self, kind):
        self.type, self.size = TYPES[kind]
        self.nodes, self.inputs, self.outputs, self.weights, self.bytes = [], [], [], [], 0

    def tensor(self, name, sizes, to):
        to.append(helper.make_tensor_value_info(name, self.type, sizes))
        elements = 1
        for size in sizes:
            elements *= size
        self.bytes += elements * self.size
        return name

    def node(self, operator, inputs, output, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))

    def weight(self, name, values, kind=TensorProto.INT64):
        array = numpy.asarray(values)
        if kind == TensorProto.INT64:
            self.weights.append(numpy_helper.from_array(array.astype(numpy.int64), name))
        else:
            self.weights.append(helper.make_tensor(name, kind, list(array.shape), array.flatten().tolist()))
        return name

    def model(self):
        graph = helper.make_graph(self.nodes, "kernel", self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def rms_norm(builder, x, columns, output):
    """In f32, of elements that are rounded when they are stored."""
    for name, value in (("two", 2.0), ("epsilon", 1e-6)):
        builder.weight(name, [value], TensorProto.FLOAT)
    builder.weight("axes", [-1])
    builder.weight("scale", numpy.ones(columns), builder.type)
    builder.node("Cast", [x], "wide", to=TensorProto.FLOAT)
    builder.node("Mul", ["wide", "wide"], "squares")
    builder.node("ReduceMean", ["squares", "axes"], "mean", keepdims=1)
    builder.node("Add", ["mean", "epsilon"], "above")
    builder.node("Sqrt", ["above"], "root")
    builder.node("Div", ["wide", "root"], "normal")
    builder.node("Cast", ["normal"], "narrow", to=builder.type)
    builder.node("Mul", ["narrow", "scale"], output)


def model_of(kernel, sizes, kind):
    """The model, and the bytes of its inputs and outputs."""
    builder = Builder(kind)
    if kernel == "product":
        rows, columns, terms = sizes
        builder.node("MatMul", [builder.tensor("a", [rows, terms], builder.inputs),
                                builder.tensor("b", [terms, columns], builder.inputs)], "y")
        builder.tensor("y", [rows, columns], builder.outputs)
    elif kernel == "sum":
        builder.node("ReduceSum", [builder.tensor("x", sizes, builder.inputs)], "y", keepdims=0)
        builder.tensor("y", [], builder.outputs)
    elif kernel == "copy":
        builder.node("Neg", [builder.tensor("x", sizes, builder.inputs)], "y")
        builder.tensor("y", sizes, builder.outputs)
    else:
        x = builder.tensor("x", sizes, builder.inputs)
        if kernel == "add_rms_norm":
            builder.node("Add", [x, builder.tensor("r", sizes, builder.inputs)], "sum")
            x = builder.tensor("sum", sizes, builder.outputs)
        rms_norm(builder, x, sizes[-1], "y")
        builder.tensor("y", sizes, builder.outputs)
    return builder.model(), builder.bytes


def measured_seconds(entry, count):
    if "microseconds" in entry:
        return entry["microseconds"] * 1e-6
    if "gigabytes_per_second" in entry:
        return count / (entry["gigabytes_per_second"] * 1e9)
    rows, columns, terms = entry["sizes"]
    return 2 * rows * columns * terms / (entry["teraflops"] * 1e12)


def plan(lemma, entry, file):
    """Seconds, as `lemma schedule` or `lemma emit --plan` has them."""
    if entry["planned"] == "call":
        words = ["schedule", file, "--device", SCHEDULED_BY, "--call-costs", entry["device"], "--json"]
    else:
        words = ["schedule", file, "--device", entry["device"], "--stitch", "--json"]
    done = subprocess.run([lemma, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{entry}: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    return answer["library_calls"]["graph_seconds"] if entry["planned"] == "call" else answer["schedule"]["seconds"]


def rows_of(lemma, entries):
    """A row for each measurement, and what is wrong with it."""
    with tempfile.TemporaryDirectory(prefix="lemma-measurements-") as folder:
        for entry in entries:
            model, count = model_of(entry["kernel"], entry["sizes"], entry["type"])
            file = Path(folder) / "kernel.onnx"
            onnx.save(model, file)
            planned, measured = plan(lemma, entry, file), measured_seconds(entry, count)
            least = count / BANDWIDTHS[entry["device"]]
            name = f"{entry['kernel']} {'x'.join(map(str, entry['sizes']))} {entry['type']}"
            yield [entry["device"], name, measured * 1e6, planned * 1e6, planned / measured, entry["source"]], planned < least


def main():
    options = parse()
    entries = json.loads(FILE.read_text())["measurements"]
    rows, wrong = [], 0
    for row, is_too_fast in rows_of(environment.lemma_program(options.lemma), entries):
        rows.append(row)
        is_off = abs(row[4] - 1) > options.bound
        wrong += is_off or is_too_fast
        print(f"{row[0]:8} {row[1]:36} measured {row[2]:9.1f} us, planned {row[3]:9.1f}, {row[4]:.2f}"
              + ("  further off than the bound" if is_off else "") + ("  faster than memory" if is_too_fast else ""), flush=True)
    try:
        results.update(options.result, [[*row[:2], *(float(number) for number in row[2:5]), row[5]] for row in rows])
    except results.Malformed as error:
        raise SystemExit(str(error)) from error
    return 4 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
