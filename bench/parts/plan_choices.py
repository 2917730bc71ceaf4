#!/usr/bin/env python3
"""Choices of strategies beside published ones (docs/plans.md): the cases of Alpa's solver with their closed forms, nnScaler's
problems of a few operators, ZeRO's sizes, and random problems as large as those of the contest on intra-operator
parallelism (IOPDDL, 2025), of which only the form was taken. --iopddl has the instances of the contest themselves, where somebody has fetched
them (benchmarks/*.json or *.json.gz of google/iopddl).

Alpa's cases are steps of training of layers without activations: batch x hidden, hidden x hidden weights. The expected costs are
computed here from the published formulas. The gradient of the second weight of the n layers reads the result of the
first layer here; there it reads that of the last but one, which has the same sizes.
"""

import argparse
import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]


class Missing(Exception):
    """Says what has to be built first."""


def chosen(program, problem):
    if not Path(program).exists():
        raise Missing(f"{program} is missing; scripts/build release plan_problems builds it")
    done = subprocess.run([program], input=json.dumps(problem), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Missing(f"{program}: {done.stderr.strip()}")
    return json.loads(done.stdout)


# ---- Alpa ------------------------------------------------------------------------------------------------------------

class Layers:
    """Operators of a step of training, in order."""

    def __init__(self):
        self.nodes, self.bring = [], []

    def node(self, op, *operands, **fields):
        self.nodes.append({"op": op, "operands": list(operands), **fields})
        return len(self.nodes) - 1

    def update(self, weight, gradient):
        self.bring.append([self.node("elementwise", weight, gradient), weight])


def layers(count, batch, hidden, bias=False):
    step = Layers()
    x, y = (step.node("parameter", sizes=[batch, hidden]) for _ in range(2))
    weights = [step.node("parameter", sizes=[hidden, hidden]) for _ in range(count)]
    biases = [step.node("parameter", sizes=[hidden]) for _ in range(count if bias else 0)]
    inputs, last = [], x
    for layer, weight in enumerate(weights):
        inputs.append(last)
        last = step.node("product", last, weight, summed=[1, 0])
        if bias:
            last = step.node("elementwise", last, step.node("broadcast_rows", biases[layer], rows=batch))
    gradient = step.node("elementwise", step.node("elementwise", last, y))
    for layer in reversed(range(count)):
        step.update(weights[layer], step.node("product", inputs[layer], gradient, summed=[0, 0]))
        if bias:
            step.node("elementwise", biases[layer], step.node("sum_of_rows", gradient))
        if layer > 0:
            gradient = step.node("product", gradient, weights[layer], summed=[1, 1])
    return {"kind": "operators", "nodes": step.nodes, "bring": step.bring}


def all_reduce(size, devices, beta):
    return int(1 + beta * 2 * (devices - 1) / devices * size) + 0.01


def alpa_cases():
    """(what, problem, expected cost)"""
    for count in (2, 12):
        for name, batch, hidden in (("data", 1024, 128), ("model", 128, 1024)):
            for mesh in ((4, 1), (1, 4)):
                one = all_reduce(hidden * hidden * 4 if name == "data" else batch * hidden * 4, 4, 1)
                yield (f"{count} layers, {name} parallel, {mesh[0]}x{mesh[1]}",
                       layers(count, batch, hidden) | {"mesh": mesh, "alpha": [1, 1], "beta": [1, 1]},
                       one * (count if name == "data" else count - 1))
        for mesh in ((4, 8), (8, 4), (3, 4)):
            expected = (count * all_reduce(128 * 128 * 4 / mesh[1], mesh[0], 1)
                        + (count - 1) * all_reduce(1024 * 128 * 4 / mesh[0], mesh[1], 0.01))
            yield (f"{count} layers, {mesh[0]}x{mesh[1]}",
                   layers(count, 1024, 128) | {"mesh": mesh, "alpha": [1, 1], "beta": [1, 0.01]}, expected)
    for mesh in ((4, 1), (1, 4)):
        yield (f"2 layers with biases, data parallel, {mesh[0]}x{mesh[1]}",
               layers(2, 1024, 128, bias=True) | {"mesh": mesh, "alpha": [1, 1], "beta": [1, 1]},
               2 * all_reduce(128 * 128 * 4, 4, 1) + 2 * all_reduce(128 * 4, 4, 1))
        yield (f"2 layers with biases, model parallel, {mesh[0]}x{mesh[1]}",
               layers(2, 128, 1024, bias=True) | {"mesh": mesh, "alpha": [1, 1], "beta": [1, 1]},
               all_reduce(128 * 1024 * 4, 4, 1))
    for mesh in ((4, 8), (8, 4), (3, 4)):
        expected = (all_reduce(1024 * 128 * 4 / mesh[0], mesh[1], 0.01) + 2 * all_reduce(128 * 128 * 4 / mesh[1], mesh[0], 1)
                    + all_reduce(128 * 4, mesh[0], 1) + all_reduce(128 * 4 / mesh[1], mesh[0], 1))
        yield (f"2 layers with biases, {mesh[0]}x{mesh[1]}",
               layers(2, 1024, 128, bias=True) | {"mesh": mesh, "alpha": [1, 1], "beta": [1, 0.01]}, expected)
    yield ("2 layers, data parallel by force, 4x1",
           layers(2, 128, 1024) | {"mesh": (4, 1), "alpha": [1, 1], "beta": [1, 1], "batch_axis": 0, "gather": 1e10},
           2 * all_reduce(1024 * 1024 * 4, 4, 1))


def measure_alpa(options):
    for what, problem, expected in alpa_cases():
        outcome = chosen(options.program, problem)
        cheapest = chosen(options.program, problem | {"resharding": "cheapest"})
        if cheapest["seconds"] > outcome["seconds"] * (1 + 1e-9):
            print(f"{what}: with cheaper changes of placement a choice takes more", file=sys.stderr)
        yield [f"Alpa: {what}", outcome["seconds"], expected, outcome["method"] if outcome["optimal"] else "not proved",
               outcome["planning_seconds"]]


# ---- nnScaler, ZeRO --------------------------------------------------------------------------------------------------

def nnscaler_cases():
    """(what, problem, field, expected value; None: impossible)"""
    ffn = {"kind": "problem",
           "nodes": [{"strategies": [[1, 1], [2, 2]]}, {"strategies": [[0.5, 1], [1, 2]]}, {"strategies": [[1, 1], [2, 2]]}],
           "edges": [[0, 1, [0.1, 1, 1, 0]], [1, 2, [0.2, 1, 1, 0]]], "limit": 80 * 1024}
    yield "nnScaler: three operators, time", ffn, "seconds", 2.8
    # What is there: weights beside their transient part (35) and the two largest buffers (9); with activations (8) or the
    # optimizer's transient memory (15); and the activations of one of the recomputed groups (3 and 12). Each pair of the
    # alternatives is a moment of its own.
    def part(size, begin=0, end=4):
        return {"strategies": [[0, size]], "begin": begin, "end": end}
    times = [0.1, 0.2, 0.3, 0.4, 0.5]
    nodes = [{"strategies": [[seconds, 10 - transient]], "begin": 0, "end": 4}
             for seconds, transient in zip(times, range(1, 6))]
    nodes += [part(5 + 4), part(8, 0, 2), part(15, 2, 4), part(3, 0, 1), part(12, 1, 2), part(3, 2, 3), part(12, 3, 4)]
    chain = [[at, at + 1, [0]] for at in range(4)]
    memory = {"kind": "problem", "nodes": nodes, "edges": chain, "limit": 100}
    yield "nnScaler: recomputation, time", memory, "seconds", 1.5
    yield "nnScaler: recomputation, memory", memory, "peak", 71
    yield "nnScaler: memory that does not suffice", {
        "kind": "problem", "nodes": [{"strategies": [[0, size]]} for size in (8, 5, 11)], "edges": [], "limit": 10}, None, None


def measure_nnscaler(options):
    for what, problem, field, expected in nnscaler_cases():
        outcome = chosen(options.program, problem)
        if field is None:
            yield [what, "impossible" if outcome["impossible"] else "found", "impossible", "", outcome["planning_seconds"]]
        else:
            yield [what, round(outcome[field], 9), expected, outcome["method"], outcome["planning_seconds"]]


def measure_zero(options):
    sizes = chosen(options.program, {"kind": "zero", "parameters": 7.5e9, "ranks": 64})["bytes"]
    for stage, (size, published) in enumerate(zip(sizes, (120, 31.4, 16.6, 1.9))):
        yield [f"ZeRO, stage {stage}: GB of 7.5e9 parameters on 64 devices", size / 1e9, published, "closed form", None]


# ---- Random problems -------------------------------------------------------------------------------------------------

def random_problem(nodes, part):
    """Nodes with 1 to 12 strategies; less memory takes more time; edges between nodes that are near; memory for some steps.
    The limit lies between what is needed at least and where every node takes its fastest strategy."""
    draw = random.Random(nodes)
    problem = {"kind": "problem", "nodes": [], "edges": []}
    for number in range(nodes):
        size = draw.choice([0, 0, 1000, 4000, 16000])
        strategies = [[round(draw.uniform(1, 100) * parts ** 0.5), size // parts]
                      for parts in (draw.choice([1, 2, 4, 8]) for _ in range(draw.randint(1, 12)))]
        problem["nodes"].append({"strategies": strategies, "begin": number, "end": number + draw.choice([1, 2, 3, 10, 50])})
        for _ in range(draw.choice([1, 1, 1, 2]) if number else 0):
            source = max(0, number - draw.choice([1, 1, 1, 2, 3, 20]))
            count = len(problem["nodes"][source]["strategies"]) * len(strategies)
            problem["edges"].append([source, number, [draw.choice([0, 0, 5, 20, 80]) for _ in range(count)]])

    def peak(strategy_of):
        changes = [0] * (nodes + 51)
        for node in problem["nodes"]:
            size = strategy_of(node["strategies"])[1]
            changes[node["begin"]] += size
            changes[node["end"]] -= size
        there = most = 0
        for change in changes:
            there += change
            most = max(most, there)
        return most
    least, fastest = peak(lambda all: min(all, key=lambda s: s[1])), peak(lambda all: min(all, key=lambda s: s[0]))
    return problem | {"limit": int(least + part * (fastest - least))}


def measure_random(options):
    for nodes in options.nodes:
        problem = random_problem(nodes, options.part)
        outcome = chosen(options.program, problem)
        yield [f"random: {nodes} nodes, {len(problem['edges'])} edges", outcome["seconds"] if outcome["found"] else None,
               outcome["bound"], outcome["method"], outcome["planning_seconds"]]


# ---- IOPDDL ----------------------------------------------------------------------------------------------------------

# The best cost of a team, by instance: misc/iopddl_final_results.csv of asplos-contest/2025.
BEST = {"A": 6548641531, "B": 532843, "C": 84102445260, "D": 313613524736, "E": 338965335230, "F": 364364563561, "G": 217039,
        "H": 527715404257, "I": 583706456444, "J": 1360981630371, "K": 2274276676, "L": 1970993742, "M": 49928460991,
        "N": 202739586553, "O": 222880199765, "P": 662197407330, "Q": 526776842042, "R": 371899551572, "S": 1534613444,
        "T": 682895254913, "U": 2569342178, "V": 1632051, "W": 904000028847754848168, "X": 280461191177, "Y": 621176568278}


def contest_problem(file):
    """An instance of the contest: strategies of nodes with cost and usage, intervals in which these count, and edges."""
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    given = json.loads(text)["problem"]
    nodes = given["nodes"]
    return {"kind": "problem",
            "nodes": [{"strategies": [list(pair) for pair in zip(costs, usages)], "begin": begin, "end": end}
                      for (begin, end), costs, usages in zip(nodes["intervals"], nodes["costs"], nodes["usages"])],
            "edges": [[*ends, costs] for ends, costs in zip(given["edges"]["nodes"], given["edges"]["costs"])],
            "limit": given["usage_limit"]}


def measure_contest(options):
    files = sorted(file for pattern in ("*.json", "*.json.gz") for file in Path(options.iopddl).glob(pattern)) if options.iopddl else []
    ratios = []
    for file in files:
        name = file.name.split(".")[0].rpartition("-")[2]
        outcome = chosen(options.program, contest_problem(file))
        best = BEST.get(name)
        if best:
            ratios.append(best / outcome["seconds"] if outcome["found"] else 0)
        yield [f"IOPDDL {name}", outcome["seconds"] if outcome["found"] else None, best or outcome["bound"], outcome["method"],
               outcome["planning_seconds"]]
    if ratios:
        yield ["IOPDDL: mean of best over own", sum(ratios) / len(ratios), 1, "", None]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/search plans", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "bench" / "bin" / "plan_problems"),
                        help="built by scripts/build release plan_problems")
    parser.add_argument("--nodes", type=int, nargs="*", default=[200, 1000, 10000, 60000], help="of the random problems")
    parser.add_argument("--iopddl", metavar="FOLDER", help="with instances of the contest")
    parser.add_argument("--part", type=float, default=0.3, help="of the memory between the least and that of the fastest")
    results.add_option(parser)
    return parser.parse_args()


def main():
    options, rows = arguments(), []
    try:
        for measure in (measure_alpa, measure_nnscaler, measure_zero, measure_random, measure_contest):
            for row in measure(options):
                rows.append(row)
                print(*(f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row), sep="; ", flush=True)
        results.update(options.result, rows)
    except (Missing, results.Malformed) as error:
        print(f"bench/search plans: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
