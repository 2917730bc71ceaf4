"""What ONNX Runtime says of the forms of a model: judged_forms.py ORIGINAL NAME=FILE... prints a JSON object.

Each form is compared with the original without any of the runtime's optimizations, on several inputs; where sizes are
open, on inputs of two sizes. Then all are timed with its optimizations, in turn, on one thread. A process of its own:
the runtime may end with it. The tolerances are relative to the largest element of an output: 1e-3 in f32, 2e-2 where the
model computes in f16 or in int8, in which a rounding moves a whole step.
"""

import argparse
import json
import random
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import numpy
import onnx

from agreement import RandomInputs, session

COARSE = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.INT8, onnx.TensorProto.UINT8}
SAMPLES = 3
OTHER_SIZES = 40  # choices that are tried


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for body in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from graphs_of(body)


def tolerance(file):
    graphs = list(graphs_of(onnx.load(file).graph))
    types = {tensor.data_type for graph in graphs for tensor in graph.initializer}
    types |= {value.type.tensor_type.elem_type for graph in graphs for value in (*graph.input, *graph.value_info)}
    is_quantized = any("Quantize" in node.op_type or "Integer" in node.op_type for graph in graphs for node in graph.node)
    return 2e-2 if is_quantized or types & COARSE else 1e-3


def samples(reference, shapes):
    """Inputs that the original accepts: of the sizes that are found first, and of others where there are some."""
    inputs = RandomInputs(reference.get_inputs(), shapes, seed=0)
    if error := inputs.settle(lambda feeds: reference.run(None, feeds)):
        raise error
    result = [inputs.sample(index) for index in range(SAMPLES)]
    first = dict(inputs.extents)
    for _, (inputs.extents, inputs.integers) in zip(range(OTHER_SIZES), inputs.choices()):
        if inputs.extents == first:
            continue
        try:
            feeds = inputs.sample(SAMPLES)
            reference.run(None, feeds)
            return [*result, feeds]
        except Exception:  # the runtime's errors have no common base class
            continue
    return result


def flat(values):
    """Arrays of outputs that may be lists or maps."""
    for value in values:
        if isinstance(value, dict):
            yield from flat(value.values())
        elif isinstance(value, (list, tuple)):
            yield from flat(value)
        else:
            yield numpy.asarray(value)


def difference(expected, actual, limit):
    """Of two lists of outputs: the error relative to the largest element, and what differs beyond the limit."""
    expected, actual = list(flat(expected)), list(flat(actual))
    if [array.shape for array in expected] != [array.shape for array in actual]:
        return 0, f"shapes {[array.shape for array in actual]}, not {[array.shape for array in expected]}"
    worst = 0.0
    for place, (a, b) in enumerate(zip(expected, actual)):
        if a.dtype != b.dtype:
            return worst, f"output {place} has type {b.dtype}, not {a.dtype}"
        if a.dtype.kind != "f":
            if (a != b).any():
                return worst, f"output {place}: {int((a != b).sum())} of {a.size} elements differ"
            continue
        a, b = a.astype(numpy.float64), b.astype(numpy.float64)
        finite = numpy.isfinite(a)
        if not numpy.array_equal(a[~finite], b[~finite], equal_nan=True) or not numpy.isfinite(b[finite]).all():
            return worst, f"output {place}: NaN or infinity in only one of the two"
        if finite.any():
            worst = max(worst, float(numpy.abs(a - b)[finite].max() / max(numpy.abs(a[finite]).max(), 1e-6)))
    return worst, "" if worst <= limit else f"{worst:.2g} of the largest element"


def compared(original, forms, feeds):
    """By form: the error, and why it does not agree."""
    reference, limit = session(original), tolerance(original)
    expected = [reference.run(None, sample) for sample in feeds]
    result = {}
    for name, file in forms.items():
        worst, reason = 0.0, ""
        try:
            form = session(file)
            for sample, right in zip(feeds, expected):
                error, why = difference(right, form.run(None, sample), limit)
                worst, reason = max(worst, error), reason or why
        except Exception as error:
            reason = "does not run: " + " ".join(str(error).split())[:200]
        result[name] = {"error": worst, "differs": reason}
    return result


def timed(files, feeds, seconds):
    """Median microseconds of each form; all run in turn, in random order."""
    sessions = {}
    for name, file in files.items():
        try:
            sessions[name] = session(file, optimized=True, threads=1)
            sessions[name].run(None, feeds)
        except Exception:
            sessions.pop(name, None)
    times, order = {name: [] for name in sessions}, random.Random(0)
    end = time.monotonic() + seconds
    while sessions and (time.monotonic() < end or len(next(iter(times.values()))) < 7):
        for name in order.sample(sorted(sessions), len(sessions)):
            begin = time.perf_counter()
            sessions[name].run(None, feeds)
            times[name].append(1e6 * (time.perf_counter() - begin))
    return {name: statistics.median(some) for name, some in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("original", type=Path)
    parser.add_argument("forms", nargs="*", metavar="NAME=FILE")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1,3,8,8")
    parser.add_argument("--seconds", type=float, default=4, help="of timing")
    options = parser.parse_args()
    forms = dict(word.split("=", 1) for word in options.forms)
    shapes = {name: [int(size) for size in sizes.split(",")] for name, sizes in (word.split("=") for word in options.shape)}
    feeds = samples(session(options.original), shapes)
    answer = {"samples": len(feeds), "forms": compared(options.original, forms, feeds),
              "microseconds": timed({"original": options.original, **forms}, feeds[0], options.seconds)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
