#!/usr/bin/env python3
"""Counts the found rules that differ from another one only in what a more general rule could leave open.

That is: in declared shapes (and the conditions, groups and parameters that belong to them), in axes and sizes that
attributes name, in the order of the operands of commutative operators, in the direction, and in `defined` and `weight`.
What is left is the form of a rule: its operators, the attributes that are neither axes nor sizes, and where each input
occurs. For each rule of a form but one a more general rule could stand.
"""

import argparse
import collections
import functools
import itertools
import re
import sys
from pathlib import Path

import results

sys.path.insert(0, str(results.ROOT / "checkers"))
from rule_evaluation import language

# Attributes that say where something is done or how large it is, not what is done.
OF_PLACE = {"axis", "axes", "perm", "shape", "split", "keepdims", "starts", "ends", "steps", "pads", "num_outputs", "size",
            "batch_dims", "output_shape", "repeats", "sizes"}
MOST_ORDERS = 720  # of the inputs of a rule


def arguments():
    parser = argparse.ArgumentParser(prog="bench/generator pairs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=results.ROOT / "rules",
                        help="a rule folder (default: rules)")
    parser.add_argument("--list", action="store_true", help="the rules of each form that several have")
    results.add_option(parser)
    return parser.parse_args()


@functools.cache
def commutative_operators():
    """Those that the page of operators, which is made from the records, calls so."""
    text = (results.ROOT / "docs" / "operators.md").read_text()
    return set(re.findall(r"^\| \[(\w+)\]\(.*\bcommutative\b.*\|$", text, re.MULTILINE))


def form_of_term(rule, term, names):
    """A text that does not depend on the order of operands that commute."""
    if term is None:
        return "-"
    number, output = term
    node = rule.nodes[number]
    if node.operator is None:
        return names[node.input]
    attributes = ", ".join(f"{name}={without_names(value)}" for name, value in sorted(node.attributes.items()) if name not in OF_PLACE)
    operands = [form_of_term(rule, operand, names) for operand in node.operands]
    if node.operator in commutative_operators():
        operands.sort()
    return f"{node.operator}{{{attributes}}}({', '.join(operands)})#{output}"


def without_names(expression):
    """Parameters have any names."""
    if isinstance(expression, (tuple, list)):
        if expression and expression[0] == "variable":
            return "variable"
        return tuple(without_names(part) for part in expression)
    return expression


def form_of(rule):
    """The least text over all names that the inputs may have."""
    used = sorted({rule.nodes[number].input for number in rule.nodes_of(rule.left + rule.right)
                   if rule.nodes[number].operator is None})
    best = None
    for order in itertools.islice(itertools.permutations(range(len(used))), MOST_ORDERS):
        names = {number: f"x{place}" for number, place in zip(used, order)}
        sides = sorted("; ".join(sorted(form_of_term(rule, term, names) for term in side))
                       for side in (rule.left, rule.right))
        text = " = ".join(sides)
        if best is None or text < best:
            best = text
    return best


def found_rules(folder):
    for file in sorted((folder / "substitutions").glob("*_found.rules")) or sorted((folder / "substitutions").glob("*.rules")):
        yield from language.rules_in(file)


def main():
    options = arguments()
    forms = collections.defaultdict(list)
    for rule in found_rules(options.folder):
        forms[form_of(rule)].append(rule.name)
    several = sorted((form, names) for form, names in forms.items() if len(names) > 1)
    rules = sum(len(names) for names in forms.values())
    if not rules:
        print(f"bench/generator pairs: {options.folder}: no rules in substitutions/", file=sys.stderr)
        return 2
    alike, surplus = sum(len(names) for _, names in several), rules - len(forms)
    if options.list:
        for form, names in several:
            print(form, *names, sep="\n  ")
    print("rules, forms, rules that share their form, of these more than one of each form, percent")
    print(f"{rules}, {len(forms)}, {alike}, {surplus}, {100 * surplus / rules:.1f}")
    name = options.folder.resolve().name
    results.update(options.result, [[name, rules, len(forms), alike, surplus, round(100 * surplus / rules, 1)]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
