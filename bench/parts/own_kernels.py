#!/usr/bin/env python3
"""Times operators by the kernels that Lemma has for them (operators/own_kernels.cpp) beside the loops that follow from their
definitions, as task programs with one thread in turn. Both have to give the same bytes.

MaxPool over windows of k x k positions that advance by 1, with as many results as elements, as spatial pyramids have them: f32
of sizes 1, 64, 40, 40.

Exit code: 0 all results agree, 4 otherwise.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import onnx
from onnx import TensorProto, helper

import emitted_program
import results
import task_times
from agreement import inputs_of

SIZES, WINDOWS = [1, 64, 40, 40], (5, 9, 13)


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks overrides",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--seconds", type=float, default=2, help="of timing, for each window")
    parser.add_argument("--runs", type=int, help="as many rounds, in place of --seconds")
    results.add_option(parser)
    return parser.parse_args()


def pool(window):
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[window] * 2, pads=[window // 2] * 4)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SIZES) for name in "xy"]
    graph = helper.make_graph([node], "pool", values[:1], values[1:])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])


def row_of(options, window, folder):
    """Milliseconds and scalar operations of both, and whether they agree."""
    model = folder / "pool.onnx"
    onnx.save(pool(window), model)
    feed, programs, operations = inputs_of(model), {}, {}
    for name, words in (("derived", ("--without", "own-kernels")), ("own", ())):
        said, _ = emitted_program.build(options.lemma, model, folder / name, 1, "--list-operators", *words)
        if (name == "own") != ("own_kernels" in said):
            sys.exit(f"{name}: {said.get('own_kernels')}")
        operations[name] = sum(operator["operations"] for operator in said["each_operator"])
        programs[name] = emitted_program.Program(folder / name, feed)
    taken = task_times.timed({name: program.run for name, program in programs.items()},
                             argparse.Namespace(threads=1, seconds=options.seconds, runs=options.runs))
    agree = programs["own"].outputs[0].tobytes() == programs["derived"].outputs[0].tobytes()
    derived, own = (1e3 * statistics.median(taken[name]) for name in ("derived", "own"))
    row = [f"{window} x {window}", round(derived, 3), round(own, 3), round(derived / own, 2),
           round(operations["derived"] / operations["own"], 2)]
    print(*row, "" if agree else "other bytes", sep="  ", flush=True)
    return row, agree


def main():
    options = arguments()
    print("window, milliseconds by derived loops, by the kernel, quotient, quotient of operations")
    rows, all_agree = [], True
    for window in WINDOWS:
        with tempfile.TemporaryDirectory(prefix="lemma-own-kernels-") as folder:
            row, agree = row_of(options, window, Path(folder))
        rows.append(row)
        all_agree = all_agree and agree
    if all_agree:
        results.update(options.result, rows)
    return 0 if all_agree else 4


if __name__ == "__main__":
    sys.exit(main())
