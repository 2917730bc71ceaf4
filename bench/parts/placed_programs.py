#!/usr/bin/env python3
"""Programs in which each rank has operators of its own (docs/plans.md): right ones are proved, wrong ones are not, and plans that are
made for four devices are near what no plan can beat.

    bench/proofs placed [--mutants N] [--result FILE] [--plans FILE]

Right programs are those of models/placed.py: a convolution that is split in each of its dimensions and in two, layers of
LSTM in a wavefront, pipelines, branches. Wrong ones are those with its mistakes, and random changes of one rank: channels or
weights that are exchanged, another part of a tensor, a value in place of another one, an operator left out, an element of a
weight. A changed program is wrong if its outputs differ from those of one device when both are run (lemma plan run). Plans are
made by `lemma plan make --own-operators` for the cluster local-4, verified, and run. At least: the operators that wait for each
other, or all of them over the devices, without messages.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "models"), str(ROOT / "scripts")]
import environment

environment.enter()

import numpy
import onnx
import placed
from distributed_programs import Program, behind, counted, judged_changes
from onnx import helper, numpy_helper


def right_programs(lemma, folder):
    rows = []
    for kind, make in placed.KINDS.items():
        single, ranks = make()
        program = Program(folder, single, ranks)
        done, seconds = program.call(lemma, "verify")
        ran, _ = program.call(lemma, "run")
        outcome = done.stdout.split(":")[0] or done.stderr.strip()
        rows.append([f"{kind}, {len(ranks)} ranks", outcome + (", run as one device" if ran.returncode == 0 else ""), *counted(done.stdout), seconds])
        print("  ", *rows[-1])
    return rows


def mistakes(lemma, folder):
    refuted = 0
    for kind, mistake in placed.MISTAKES:
        done, _ = Program(folder, *placed.KINDS[kind](mistake)).call(lemma, "verify")
        refuted += done.stdout.startswith("refuted") and "the first value that is none of them" in done.stdout
    print("  ", refuted, "of", len(placed.MISTAKES), "mistakes are refuted, with a place")
    return refuted


# ---- Random changes of one rank --------------------------------------------------------------------------------------

def attribute(node, name):
    return next((item for item in node.attribute if item.name == name), None)


def exchange_channels(model, generator):
    receivers = [node for node in model.graph.node if node.op_type == "Recv"]
    pairs = [(a, b) for a in receivers for b in receivers if a.name != b.name or a.output[0] < b.output[0]
             if a is not b and list(attribute(a, "shape").ints) == list(attribute(b, "shape").ints) and attribute(a, "from").i == attribute(b, "from").i]
    if not pairs:
        return False
    a, b = (attribute(node, "channel") for node in generator.choice(pairs))
    a.s, b.s = b.s, a.s
    return True


def exchange_weights(model, generator):
    tensors = [tensor for tensor in model.graph.initializer if tensor.data_type == 1]
    pairs = [(a, b) for a in tensors for b in tensors if a.name < b.name and list(a.dims) == list(b.dims)]
    if not pairs:
        return False
    a, b = generator.choice(pairs)
    a.name, b.name = b.name, a.name
    return True


def change_element(model, generator):
    tensors = [tensor for tensor in model.graph.initializer if tensor.data_type == 1]
    if not tensors:
        return False
    tensor = generator.choice(tensors)
    array = numpy_helper.to_array(tensor).copy()
    array.flat[generator.randrange(array.size)] += 1
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return True


def another_part(model, generator):
    """A Slice of the same size at another place."""
    slices = [node for node in model.graph.node if node.op_type == "Slice"]
    if not slices:
        return False
    node = generator.choice(slices)
    step = generator.choice([-2, -1, 1, 2])
    for place in (1, 2):
        old = next(tensor for tensor in model.graph.initializer if tensor.name == node.input[place])
        name = f"moved_{old.name}"
        model.graph.initializer.append(numpy_helper.from_array(numpy_helper.to_array(old) + step, name))
        node.input[place] = name
    return True


def leave_out(model, generator):
    places = [place for place, node in enumerate(model.graph.node) if node.op_type in ("Relu", "AllReduce", "Add", "MaxPool")]
    if not places:
        return False
    node = model.graph.node[generator.choice(places)]
    node.op_type, node.domain = "Identity", ""
    del node.attribute[:], node.input[1:]
    return True


def another_value(model, generator):
    """A node reads another result of the operator that made its operand."""
    makers = {output: node for node in model.graph.node for output in node.output}
    order = {output: place for place, node in enumerate(model.graph.node) for output in node.output}
    choices = []
    for place, node in enumerate(model.graph.node):
        for position, name in enumerate(node.input):
            if name in makers:
                choices += [(place, position, other) for other, maker in makers.items()
                            if other != name and maker.op_type == makers[name].op_type and order[other] < place]
    if not choices:
        return False
    place, position, other = generator.choice(choices)
    model.graph.node[place].input[position] = other
    return True


def another_reduction(model, generator):
    sums = [node for node in model.graph.node if node.op_type == "AllReduce"]
    for node in sums:
        node.attribute.append(helper.make_attribute("reduction", "max"))
    return bool(sums)


def operands_exchanged(model, generator):
    nodes = [node for node in model.graph.node if node.op_type in ("Concat", "MatMul") and len(node.input) > 1]
    if not nodes:
        return False
    node = generator.choice(nodes)
    a, b = generator.sample(range(len(node.input)), 2)
    node.input[a], node.input[b] = node.input[b], node.input[a]
    return True


def twice(model, generator):
    place = generator.randrange(len(model.graph.node) - 1)
    if model.graph.node[place].op_type in ("Send", "Split", "LSTM"):
        return False
    behind(model, place, helper.make_node("Add", [model.graph.node[place].output[0]], []))
    return True


def other_pads(model, generator):
    nodes = [node for node in model.graph.node if attribute(node, "pads") and len(set(attribute(node, "pads").ints)) > 1]
    if not nodes:
        return False
    pads = attribute(generator.choice(nodes), "pads")
    pads.ints[:] = list(pads.ints)[::-1]
    return True


WAYS = [exchange_channels, exchange_weights, change_element, another_part, leave_out, another_value, another_reduction, operands_exchanged, twice, other_pads]


def mutants(lemma, folder, count):
    kinds = list(placed.KINDS)

    def draw(seed):
        generator = random.Random(seed)
        kind = kinds[seed % len(kinds)]
        single, ranks = placed.KINDS[kind]()
        way = WAYS[seed // len(kinds) % len(WAYS)]
        models = ranks if way is another_reduction else [generator.choice(ranks)]
        return (f"{kind} {way.__name__}", single, ranks) if all([way(model, generator) for model in models]) else None

    return judged_changes(lemma, folder, count, draw)


# ---- Plans that are made ---------------------------------------------------------------------------------------------

def plans():
    for chunks in (2, 4, 8, 16):
        sizes = placed.RecurrentSizes(chunks=chunks, hidden=256, steps=4, batch=4)
        yield f"4 layers of LSTM, {chunks} chunks", placed.lstm(sizes)[0], []
    yield "2 blocks of Inception", placed.inception(placed.InceptionSizes(channels=64, size=28, width=64))[0], []
    for parts in (1, 2, 4, 8):
        sizes = placed.PipelineSizes(batch=64, hidden=512)
        yield f"4 layers of a batch of 64, {parts} microbatches", placed.pipeline(sizes)[0], ["--microbatches", str(parts)]


def seconds_of(text):
    return [float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit] for number, unit in re.findall(r"([0-9.]+) (us|ms|s)\b", text)]


def made_plans(lemma, folder):
    rows = []
    for name, single, options in plans():
        model, plan = folder / "single.onnx", folder / "plan.json"
        onnx.save(single, model)
        started = time.perf_counter()
        done = subprocess.run([lemma, "plan", "make", model, "--cluster", "local-4", "--own-operators", *options, "-o", plan], capture_output=True, text=True)
        seconds = time.perf_counter() - started
        if done.returncode != 0:
            print(name, done.stderr)
            continue
        line = next(line for line in done.stdout.splitlines() if "on one device, and" in line)
        planned, single_time, least = seconds_of(line)
        checks = [subprocess.run([lemma, "plan", command, model, plan], capture_output=True, text=True).returncode for command in ("verify", "run")]
        rows.append([name, line.split(":")[0], round(planned * 1e6, 1), round(single_time * 1e6, 1), round(least * 1e6, 1), round(planned / least, 3),
                     "proved, run as one device" if checks == [0, 0] else f"codes {checks}", seconds])
        print("  ", *rows[-1])
    return rows


def main():
    parser = argparse.ArgumentParser(prog="bench/proofs placed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma")
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--plans", type=Path, metavar="FILE", help="the result of plans that are made, likewise")
    results.add_option(parser)
    options = parser.parse_args()
    lemma = environment.lemma_program(options.lemma)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        made = made_plans(lemma, folder)
        rows = right_programs(lemma, folder)
        refuted = mistakes(lemma, folder)
        tally = mutants(lemma, folder, options.mutants)
    rows.append([f"{len(placed.MISTAKES)} mistakes of models/placed.py", f"{refuted} refuted, with a place", None, None, None, None])
    outcomes = ", ".join(f"{tally[kind]} {kind}" for kind in ("refuted", "unknown", "accepted"))
    rows.append([f"{tally['wrong']} random changes that are wrong", outcomes, None, None, None, None])
    rows.append([f"{tally['equal']} random changes that change no result", f"{tally['equal and proved']} proved", None, None, None, None])
    results.update(options.result, rows)
    results.update(options.plans, made)


if __name__ == "__main__":
    main()
