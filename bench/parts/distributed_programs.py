#!/usr/bin/env python3
"""Programs over many devices (docs/plans.md): right ones are proved, wrong ones are not.

    bench/proofs distributed [--mutants N] [--layers N] [--result FILE]

Right programs are a transformer block with heads, tokens or samples on 2, 4 and 8 ranks, experts, a step of training with
its state on ranks, and attention behind an exchange of heads and tokens; and a stack of Llama's layers of published size
without weights. Wrong ones are those with a mistake of models/parallel.py, and random changes of the right ones: a sum
left out, made twice or at another place, parts of a weight given to other ranks, another axis, another number, results passed to
a neighbour. A changed program is wrong if its outputs differ from those of one device when both are run (lemma plan run).
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
import parallel
from onnx import helper, numpy_helper

SIZES = parallel.Sizes(batch=8, tokens=8, hidden=32, heads=8, experts=8)


class Program:
    """Files of a single-device model and its ranks."""

    def __init__(self, folder, single, ranks):
        self.files = []
        for number, model in enumerate([single, *ranks]):
            self.files.append(str(folder / f"model{number}.onnx"))
            onnx.save(model, self.files[-1])

    def call(self, lemma, command, *options):
        started = time.perf_counter()
        done = subprocess.run([lemma, "plan", command, *self.files, *options], capture_output=True, text=True)
        return done, time.perf_counter() - started


def counted(output):
    """Related values, values and claims."""
    match = re.search(r"(\d+) of (\d+) values .* by (\d+) claims", output)
    return [int(group) for group in match.groups()] if match else [None, None, None]


def right_programs(lemma, folder):
    rows = []
    for kind, make in parallel.KINDS.items():
        for ranks in (2, 4, 8):
            done, seconds = Program(folder, *make(SIZES, ranks)).call(lemma, "verify")
            rows.append([f"{kind}, {ranks} ranks", done.stdout.split(":")[0] or done.stderr.strip(), *counted(done.stdout), seconds])
            print("  ", *rows[-1])
    return rows


def mistakes(lemma, folder):
    refuted = 0
    for kind, mistake in parallel.MISTAKES:
        done, _ = Program(folder, *parallel.KINDS[kind](SIZES, 2, mistake)).call(lemma, "verify")
        refuted += done.stdout.startswith("refuted") and "the first value that is none of them" in done.stdout
    print("  ", refuted, "of", len(parallel.MISTAKES), "mistakes are refuted, with a place")
    return refuted


# ---- Random changes --------------------------------------------------------------------------------------------------

def behind(model, position, *nodes):
    """Puts nodes behind another one: each reads the value before it, and what read the first value reads the last one."""
    graph = model.graph
    original = graph.node[position].output[0]
    last = original
    for number, node in enumerate(nodes):
        node.input.append(last)
        last = f"{original}_changed_{number}"
        node.output.append(last)
    for reader in list(graph.node)[position + 1:]:
        for place, name in enumerate(reader.input):
            if name == original:
                reader.input[place] = last
    for number, node in enumerate(nodes):
        graph.node.insert(position + 1 + number, node)


def collective(op, ranks, **attributes):
    return helper.make_node(op, [], [], domain="lemma", group_size=ranks, **attributes)


def changed(models, seed):
    """A random change of all ranks' models; its name, or nothing if it does not apply."""
    generator = random.Random(seed)
    count = len(models)
    nodes = list(models[0].graph.node)
    position = generator.randrange(len(nodes) - 1)
    node = nodes[position]
    way = generator.choice(["drop", "sum", "twice", "maximum", "pass", "weights", "first", "axis", "number", "perm"])
    sums = [place for place, other in enumerate(nodes) if other.op_type == "AllReduce"]
    tensors = [tensor.name for tensor in models[0].graph.initializer]
    if way == "drop" and sums:
        place = generator.choice(sums)
        for model in models:
            model.graph.node[place].op_type, model.graph.node[place].domain = "Identity", ""
            del model.graph.node[place].attribute[:]
    elif way == "sum":
        for model in models:
            behind(model, position, collective("AllReduce", count))
    elif way == "twice" and sums:
        place = generator.choice(sums)
        for model in models:
            behind(model, place, collective("AllReduce", count))
    elif way == "maximum" and sums:
        place = generator.choice(sums)
        for model in models:
            model.graph.node[place].domain = "lemma"
            model.graph.node[place].attribute.append(helper.make_attribute("reduction", "max"))
    elif way == "pass":
        for model in models:
            behind(model, position, collective("Permute", count, shift=1, ring=1))
    elif way in ("weights", "first"):
        name = generator.choice(tensors)
        arrays = [numpy_helper.to_array(next(t for t in model.graph.initializer if t.name == name)) for model in models]
        if all((array == arrays[0]).all() for array in arrays) or len({array.shape for array in arrays}) > 1:
            return None
        for rank, model in enumerate(models):
            tensor = next(t for t in model.graph.initializer if t.name == name)
            tensor.CopyFrom(numpy_helper.from_array(arrays[(rank + 1) % count if way == "weights" else 0], name))
    elif way == "axis" and node.op_type in ("Softmax", "AllGather", "ReduceScatter"):
        for model in models:
            for attribute in model.graph.node[position].attribute:
                if attribute.name == "axis":
                    attribute.i = {-1: -2}.get(attribute.i, 0 if attribute.i else 1)
    elif way == "number":
        numbers = [name for name in tensors if name.startswith("number")]
        if not numbers:
            return None
        name = generator.choice(numbers)
        for model in models:
            tensor = next(t for t in model.graph.initializer if t.name == name)
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * numpy.float32(1.5), name))
    elif way == "perm" and node.op_type == "Transpose":
        perm = list(node.attribute[0].ints)
        a, b = generator.sample(range(len(perm)), 2)
        perm[a], perm[b] = perm[b], perm[a]
        for model in models:
            del model.graph.node[position].attribute[0].ints[:]
            model.graph.node[position].attribute[0].ints.extend(perm)
    else:
        return None
    return way


def judged_changes(lemma, folder, count, draw):
    """Random changes: how many were wrong, how many of these are refuted, unknown and proved; and equal ones that are proved.
    `draw` gives the name, the single-device model and the models of the ranks for a seed, or nothing."""
    tally = {"wrong": 0, "refuted": 0, "unknown": 0, "accepted": 0, "equal": 0, "equal and proved": 0, "refused": 0}
    seed = 0
    while tally["wrong"] + tally["equal"] < count and seed < 40 * count:
        seed += 1
        drawn = draw(seed)
        if drawn is None:
            continue
        name, single, models = drawn
        program = Program(folder, single, models)
        run, _ = program.call(lemma, "run")
        if run.returncode not in (0, 4):
            tally["refused"] += 1
            continue
        verdict = program.call(lemma, "verify")[0].stdout.split(":")[0]
        if run.returncode == 0:
            tally["equal"] += 1
            tally["equal and proved"] += verdict == "proved"
            continue
        tally["wrong"] += 1
        tally[{"proved": "accepted"}.get(verdict, verdict)] += 1
        if verdict == "proved":
            print("   accepted:", name, "seed", seed)
    print("  ", tally)
    return tally


def mutants(lemma, folder, count):
    kinds = [kind for kind in parallel.KINDS if kind != "data"]

    def draw(seed):
        kind, ranks = kinds[seed % len(kinds)], 2 + 2 * (seed // len(kinds) % 2)
        single, models = parallel.KINDS[kind](SIZES, ranks)
        return None if changed(models, seed) is None else (f"{kind} {ranks}", single, models)

    return judged_changes(lemma, folder, count, draw)


def stack(lemma, folder, layers):
    sizes = parallel.LlamaSizes(layers=layers)
    program = Program(folder, parallel.llama(sizes, 1), [parallel.llama(sizes, 8)])
    done, seconds = program.call(lemma, "verify", "--mesh", "tensor=8")
    row = [f"Llama 3.1 405B, {layers} layers, 8 ranks", done.stdout.split(":")[0], *counted(done.stdout), seconds]
    print("  ", *row)
    return row


def main():
    parser = argparse.ArgumentParser(prog="bench/proofs distributed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma")
    parser.add_argument("--mutants", type=int, default=400)
    parser.add_argument("--layers", type=int, default=126)
    results.add_option(parser)
    options = parser.parse_args()
    lemma = environment.lemma_program(options.lemma)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rows = right_programs(lemma, folder)
        refuted = mistakes(lemma, folder)
        tally = mutants(lemma, folder, options.mutants)
        rows.append([f"{len(parallel.MISTAKES)} mistakes of models/parallel.py", f"{refuted} refuted, with a place", None, None, None, None])
        outcomes = ", ".join(f"{tally[kind]} {kind}" for kind in ("refuted", "unknown", "accepted"))
        rows.append([f"{tally['wrong']} random changes that are wrong", outcomes, None, None, None, None])
        rows.append([f"{tally['equal']} random changes that change no result", f"{tally['equal and proved']} proved", None, None, None, None])
        rows.append(stack(lemma, folder, options.layers))
    results.update(options.result, rows)


if __name__ == "__main__":
    main()
