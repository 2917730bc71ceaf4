#!/usr/bin/env python3
"""Evaluates every found rule without Lemma's own code: with numpy (checkers/rule_evaluation) and in ONNX Runtime, each at
--instances random instances; then rules with one change in the right side, which have to be noticed.

A changed rule of which both evaluators notice nothing is given to `lemma rules verify`: one that is proved is true, and
counts as no mutant. A bitwise rule is also compared bit by bit with numpy.

Exit code: 0 nothing is wrong and at least 99% of the mutants are noticed, 4 otherwise.
"""

import argparse
import json
import multiprocessing
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import results

sys.path[:0] = [str(results.ROOT / "scripts"), str(results.ROOT / "checkers")]
import environment

environment.enter()

from rule_evaluation.language import rules_in
from rule_evaluation.report import read_classes
from rule_evaluation.rule_mutants import mutant_of
from rule_evaluation.runtime import RuntimeJudge
from rule_evaluation.work import evaluate_rule

RULES = results.ROOT / "rules"
LEAST_NOTICED = 0.99


def arguments():
    parser = argparse.ArgumentParser(prog="bench/generator soundness",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", type=Path, default=results.ROOT / "build" / "release" / "bin" / "lemma")
    parser.add_argument("--rules", type=Path, nargs="*", help="files (default: all found rules of rules/)")
    parser.add_argument("--instances", type=int, default=20, help="of each rule and evaluator")
    parser.add_argument("--mutants", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    results.add_option(parser)
    return parser.parse_args()


def evaluated(rule, seed, instances, is_bitwise):
    """What both evaluators say of a rule."""
    summary = evaluate_rule(rule, seed, instances, is_bitwise)["summary"]
    judge = RuntimeJudge(rule, seed)
    computed, difference = judge.run(instances)
    first = summary["failures"][0] if summary["failures"] else None
    return {"name": rule.name, "numpy": summary["instances"], "runtime": computed, "element": judge.element.__name__,
            "numpy_fault": f"{first['kind']}: {first['difference']}" if first else "", "runtime_fault": difference,
            "refusal": judge.refusal}


def evaluate_all(work, jobs):
    with multiprocessing.Pool(jobs) as pool:
        return pool.starmap(evaluated, work, chunksize=4)


# ---- Rules -----------------------------------------------------------------------------------------------------------

def rule_rows(options, rules):
    """Rows of the table about the rules, and how many are wrong."""
    classes = read_classes(RULES)
    found = evaluate_all([(rule, options.seed, options.instances, classes.get(rule.name) == "bitwise")
                          for rule, _ in rules], options.jobs)
    rows, faults = [], 0
    for evaluator, fault in (("numpy", "numpy_fault"), ("runtime", "runtime_fault")):
        wrong = [one for one in found if one[fault]]
        fewer = [one for one in found if one[evaluator] < options.instances and not one[fault]]
        for one in wrong:
            print(f"wrong: {one['name']}: {one[fault]}", file=sys.stderr)
        for one in fewer:
            print(f"{one['name']}: {one[evaluator]} instances only in {evaluator} {one['refusal']}", file=sys.stderr)
        name = "found rules in ONNX Runtime" if evaluator == "runtime" else "found rules in numpy"
        rows.append([name, len(found), sum(one[evaluator] for one in found), len(fewer), len(wrong)])
        faults += len(wrong)
    singles = sum(one["element"] == "float32" for one in found)
    print(f"{singles} rules in ONNX Runtime with f32, for want of kernels for f64; the others with f64")
    return rows, faults


# ---- Mutants ---------------------------------------------------------------------------------------------------------

def mutants_of(options, rules):
    """(what was changed, mutant, text), each of another rule drawn at random."""
    generator, found, number = random.Random(options.seed), [], 0
    while len(found) < options.mutants:
        number += 1
        mutant = mutant_of(*generator.choice(rules), generator, number)
        if mutant is not None:
            found.append(mutant)
    return found


def proved(lemma, texts):
    """Which of the rules are proved as they stand."""
    if not texts:
        return []
    with tempfile.TemporaryDirectory(prefix="lemma-soundness-") as folder:
        file, verdicts = Path(folder, "mutants.rules"), Path(folder, "verdicts")
        file.write_text("\n".join(texts))
        subprocess.run([lemma, "rules", "verify", file, "--verdicts", verdicts], capture_output=True, check=False)
        lines = [json.loads(line) for line in verdicts.read_text().splitlines()]
    return [line["verdict"] == "proved" and not line.get("added") for line in lines]


def mutant_rows(options, rules):
    """Rows of the table about mutants, and the share of those that are noticed."""
    mutants = mutants_of(options, rules)
    found = evaluate_all([(mutant, options.seed, options.instances, False) for _, mutant, _ in mutants], options.jobs)
    silent = [i for i, one in enumerate(found) if not one["numpy_fault"] and not one["runtime_fault"]]
    true = {i for i, holds in zip(silent, proved(options.lemma, [mutants[i][2] for i in silent])) if holds}
    for i in silent:
        if i not in true:
            print(f"not noticed, and not proved ({mutants[i][0]}):\n{mutants[i][2]}", file=sys.stderr)
    wrong = [one for i, one in enumerate(found) if i not in true]
    rows = [["changed rules that are proved to be true", len(true), None, None, None]]
    for name, is_noticed in (("noticed in numpy", lambda one: one["numpy_fault"]),
                             ("noticed in ONNX Runtime", lambda one: one["runtime_fault"]),
                             ("noticed in either", lambda one: one["numpy_fault"] or one["runtime_fault"])):
        rows.append([f"other changed rules, {name}", len(wrong), None, None, sum(1 for one in wrong if is_noticed(one))])
    return rows, rows[-1][-1] / max(1, len(wrong))


def blocks_of(file):
    """The text of each rule of a file, by name."""
    blocks = {}
    for block in file.read_text().split("\n\n"):
        lines = [line for line in block.split("\n") if line.strip() and not line.lstrip().startswith("#")]
        if lines and lines[0].startswith("rule "):
            blocks[lines[0].split()[1]] = "\n".join(line for line in lines if not line.startswith("  role "))
    return blocks


def main():
    options = arguments()
    files = options.rules or sorted((RULES / "substitutions").glob("*_found.rules"))
    rules = []
    for file in files:
        blocks = blocks_of(file)
        rules += [(rule, blocks[rule.name]) for rule in rules_in(file)]
    rows, faults = rule_rows(options, rules)
    more, share = mutant_rows(options, rules)
    rows += more
    for row in rows:
        print(*("-" if cell is None else cell for cell in row), sep=", ")
    print(f"{share:.2%} of the mutants are noticed")
    results.update(options.result, rows)
    return 0 if faults == 0 and share >= LEAST_NOTICED else 4


if __name__ == "__main__":
    sys.exit(main())
