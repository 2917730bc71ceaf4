#!/usr/bin/env python3
"""Runs `lemma extract` over a folder of e-graphs and compares its costs with the folder's reference.json, and
optionally over random e-graphs whose optimum is found by trying all selections.

reference.json maps file names to {"dag_cost", "lower_bound", "optimal", "greedy_dag_cost"}; without it only the
selections' validity is judged. Every selection is checked here once more, from the file that `lemma extract -o` writes.

Exit code: 0 no verdict is worse than "same", 4 otherwise.
"""

import argparse
import fractions
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"


def arguments():
    parser = argparse.ArgumentParser(prog="bench/search extraction",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?", help="e-graphs, and reference.json where there is one")
    parser.add_argument("--lemma", default=BUILD / "bin" / "lemma", type=pathlib.Path)
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--no-programs", action="store_true", help="without clasp")
    parser.add_argument("--only", default="", help="instances whose name contains this")
    parser.add_argument("--random", type=int, metavar="COUNT", help="random e-graphs against trying all selections")
    parser.add_argument("--covering", type=int, metavar="CLASSES",
                        help="a covering problem of so many classes, each of which one of four shared leaves covers: how long "
                             "the command takes with --time-limit")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def exact_sum(file, choices):
    """The cost of the chosen nodes if they are a selection without cycles, else None. Reads everything anew."""
    document = json.loads(file.read_text(), parse_float=fractions.Fraction)
    nodes = document["nodes"]
    state, total = {}, fractions.Fraction(0)
    present = {node["eclass"] for node in nodes.values()}
    stack = [root for root in document["root_eclasses"] if root in present]
    while stack:
        name = stack[-1]
        if state.get(name) == "done":
            stack.pop()
            continue
        node = nodes.get(choices.get(name))
        if node is None or node["eclass"] != name:
            return None
        children = [nodes[child]["eclass"] for child in node["children"]]
        if name not in state:
            state[name] = "open"
            total += fractions.Fraction(node.get("cost", 1))
            for child in children:
                if state.get(child) == "open":
                    return None
                if child not in state:
                    stack.append(child)
            continue
        if any(state.get(child) != "done" for child in children):
            return None
        state[name] = "done"
        stack.pop()
    return total


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))


def verdict(result, reference):
    """In words, and whether it is at least as good as the reference."""
    if not result["valid"]:
        return "INVALID", False
    if reference is None:
        return "proved" if result["optimal"] else "gap", True
    cost, known = float(result["cost"]), reference["dag_cost"]
    greedy = reference.get("greedy_dag_cost")
    if greedy is not None and cost > greedy and not close(cost, greedy):
        return "ABOVE GREEDY", False
    if reference["optimal"]:
        if not close(cost, known):
            return ("BELOW PROVED OPTIMUM" if cost < known else "more expensive"), False
        return ("proved", True) if result["optimal"] else ("not proved", False)
    if cost > known and not close(cost, known):
        return "more expensive", False
    if result["optimal"]:
        return "proved, open before", True
    bound, known = float(result["lower_bound"]), reference["lower_bound"]
    if close(bound, known):
        return "same bound", True
    return ("better bound", True) if bound > known else ("weaker bound", False)


def extract(options, file):
    with tempfile.TemporaryDirectory(prefix="lemma-bench-") as folder:
        selection = pathlib.Path(folder) / "selection.json"
        command = [options.lemma, "extract", file, "--json", "-o", selection, "--time-limit", str(options.time_limit)]
        if options.no_programs:
            command.append("--no-programs")
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.monotonic() - start
        if done.returncode != 0:
            return {"valid": False, "seconds": seconds, "cost": "-", "lower_bound": "-", "optimal": False,
                    "method": done.stderr.strip()}
        result = json.loads(done.stdout, parse_float=fractions.Fraction, parse_int=fractions.Fraction)
        total = exact_sum(file, json.loads(selection.read_text())["choices"])
        result["valid"] = bool(result["valid"]) and total == result["cost"]
        result["seconds"] = seconds
        return result


def shown(value):
    return value if isinstance(value, str) else "-" if value is None else f"{float(value):.10g}"


def table(headings, rows):
    widths = [max(len(row[i]) for row in [headings] + rows) for i in range(len(headings))]
    line = lambda row: "| " + " | ".join(
        cell.rjust(width) if 0 < i < 6 else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths))) + " |"
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([line(headings), rule] + [line(row) for row in rows])


def run_folder(options):
    reference_file = options.folder / "reference.json"
    references = json.loads(reference_file.read_text()) if reference_file.exists() else {}
    files = sorted(path for path in options.folder.rglob("*.json") if path != reference_file)
    files = [path for path in files if options.only in path.relative_to(options.folder).as_posix()]
    rows, good, records, slowest = [], True, [], 0
    counts = {}
    for number, file in enumerate(files):
        name = file.relative_to(options.folder).as_posix()
        if sys.stderr.isatty():
            print(f"\r{number + 1}/{len(files)} {name[:70]:70}", end="", file=sys.stderr, flush=True)
        reference = references.get(name)
        result = extract(options, file)
        words, fine = verdict(result, reference)
        good &= fine
        counts[words] = counts.get(words, 0) + 1
        slowest = max(slowest, result["seconds"])
        short = name if len(name) <= 60 else name[:57] + "..."
        known = "-" if reference is None else shown(reference["dag_cost"]) + (
            "" if reference["optimal"] else f" (≥ {shown(reference['lower_bound'])})")
        greedy = "-" if reference is None else shown(reference.get("greedy_dag_cost"))
        rows.append([short, shown(result["cost"]), shown(result["lower_bound"]), known, greedy,
                     f"{result['seconds']:.2f}", words, result["method"]])
        records.append({"instance": name, "verdict": words, "cost": shown(result["cost"]),
                        "lower_bound": shown(result["lower_bound"]), "seconds": round(result["seconds"], 3)})
    if sys.stderr.isatty():
        print("\r" + " " * 80 + "\r", end="", file=sys.stderr)
    if options.json:
        print(json.dumps({"instances": records, "verdicts": counts, "slowest_seconds": slowest}, indent=1))
    else:
        print(table(["instance", "cost", "bound", "reference", "greedy", "seconds", "verdict", "by"], rows))
        print(f"\n{len(files)} instances: " + ", ".join(f"{count} {words}" for words, count in sorted(counts.items())) +
              f"; slowest {slowest:.1f} s")
    return good


def run_random(options):
    program = options.lemma.resolve().parent.parent / "tests" / "bin" / "exact_test"
    if not program.exists():
        sys.exit(f"extraction: {program} is missing: build the target exact_test")
    done = subprocess.run([program, "--gtest_filter=BruteForce.ExtractAgrees"], capture_output=True, text=True,
                          env={**os.environ, "LEMMA_RANDOM_EGRAPHS": str(options.random)})
    sys.stderr.write(done.stdout if done.returncode else "")
    print(f"{options.random} random e-graphs: " + ("all agree" if done.returncode == 0 else "DISAGREEMENT"))
    return done.returncode == 0


def run_covering(options):
    """Half as many leaves as classes, each at a random price; every class is a root."""
    draw, count = random.Random(1), options.covering
    nodes = {f"{cover}.{node}": {"op": "covered", "children": [f"leaf{draw.randrange(count // 2)}.0"], "eclass": str(cover),
                                 "cost": 0} for cover in range(count) for node in range(4)}
    nodes |= {f"leaf{leaf}.0": {"op": "leaf", "children": [], "eclass": f"leaf{leaf}", "cost": draw.randint(1, 50)}
              for leaf in range(count // 2)}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "covering.json"
        file.write_text(json.dumps({"nodes": nodes, "root_eclasses": [str(cover) for cover in range(count)]}))
        begin = time.monotonic()
        done = subprocess.run([options.lemma, "extract", file, "--json", "--time-limit", str(options.time_limit)],
                              capture_output=True, text=True)
        seconds = time.monotonic() - begin
    if done.returncode != 0:
        print(done.stderr)
        return False
    report = json.loads(done.stdout)
    print(f"covering problem of {report['classes']} classes and {report['nodes']} nodes, --time-limit {options.time_limit:g}: "
          f"{seconds:.1f} s, cost {report['cost']}, at least {report['lower_bound']}")
    return True


def main():
    options = arguments()
    if options.folder is None and options.random is None and options.covering is None:
        sys.exit("extraction: a folder, --random COUNT or --covering CLASSES")
    good = True
    if options.folder is not None:
        good &= run_folder(options)
    if options.random is not None:
        good &= run_random(options)
    if options.covering is not None:
        good &= run_covering(options)
    sys.exit(0 if good else 4)


if __name__ == "__main__":
    main()
