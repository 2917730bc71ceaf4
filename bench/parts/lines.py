#!/usr/bin/env python3
"""Counts the lines of what is written by hand so that Lemma knows its operators and rules, and of the rules that it found:
beside TASO's (Jia et al., SOSP 2019), whose operators are specified in 1,400 lines where TensorFlow has 53,000 lines of
rules. Lines that are empty or are comments do not count. A record of an operator is all that is said of it: its shapes, its
definition, from which proofs, costs and code are derived, and its ONNX form.
"""

import argparse
import re
import sys

import results
from results import ROOT

COMMENT = re.compile(r"\s*(//|#|$)")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/generator lines",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    results.add_option(parser)
    return parser.parse_args()


def lines_of(files):
    """All lines that say something."""
    return [line for file in files for line in file.read_text().splitlines() if not COMMENT.match(line)]


def row(what, files, count, taso=None):
    """A row of bench/results/lines-by-hand.json; `count`: of operators, axioms or rules, by their lines."""
    lines = lines_of(files)
    number = count(lines)
    return [what, len(files), len(lines), number, round(len(lines) / number, 1), taso]


def starting_with(word):
    return lambda lines: sum(line.startswith(f"{word} ") for line in lines)


def operators(_):
    """The number that the page of operators states, which is made from the records."""
    return int(re.search(r"There are (\d+) operators\.", (ROOT / "docs" / "operators.md").read_text())[1])


def rows():
    substitutions = sorted((ROOT / "rules" / "substitutions").glob("*.rules"))
    found = [file for file in substitutions if file.stem.endswith("_found")]
    by_hand = [file for file in substitutions if file not in found]
    sets = sorted((ROOT / "rules" / "operator_sets").glob("*.set"))
    return [
        row("operators, by hand", sorted((ROOT / "operators").glob("*.cpp")) + sorted((ROOT / "operators").glob("*.h")), operators, 1400),
        row("operators of the sets that are enumerated, by hand", sets, starting_with("operator")),
        row("axioms, by hand", sorted((ROOT / "rules" / "axioms").glob("*.axioms")), starting_with("axiom")),
        row("rules, by hand", by_hand, starting_with("rule"), 53000),
        row("rules, found", found, starting_with("rule")),
    ]


def main():
    options = arguments()
    figures = rows()
    for what, files, lines, count, of_one, taso in figures:
        print(f"{what:52} {files:3} files {lines:6} lines {count:5} of them, {of_one:5.1f} lines for one"
              + (f" (TASO and TensorFlow: {taso})" if taso else ""))
    results.update(options.result, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
