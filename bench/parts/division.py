#!/usr/bin/env python3
"""Measures what elementwise subtraction and division cost: enumerates `transformer` up to three operators with one thread, as
it is, with Sub, and with Sub and Div.

Exit code: 0 all runs ended.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import results

SET = results.ROOT / "rules" / "operator_sets" / "transformer.set"
ADDED = ((), ("Sub",), ("Sub", "Div"))
COUNTS = ("terms", "equal_terms", "refuted_by_other_sizes", "no_rule", "candidates")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/generator division",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", type=Path, default=results.ROOT / "build" / "release" / "bin" / "lemma")
    results.add_option(parser)
    return parser.parse_args()


def with_operators(names):
    """The set with elementwise operators of two operands added."""
    return SET.read_text() + "".join(
        f"\noperator elementwise_{name.lower()}\n  u : [S..]\n  v : [S..]\n  {name}(u, v)\n" for name in names)


def main():
    options = arguments()
    rows = []
    print("added operators, " + ", ".join(COUNTS) + ", processor seconds")
    with tempfile.TemporaryDirectory(prefix="lemma-division-") as name:
        for added in ADDED:
            file = Path(name) / "added.set"
            file.write_text(with_operators(added))
            done = subprocess.run([options.lemma, "rules", "generate", "--set", file, "--max-ops", "3", "--threads", "1", "-o",
                                   file.with_suffix(".rules"), "--json"], stdout=subprocess.PIPE, text=True, check=True)
            figures = json.loads(done.stdout)
            rows.append([" and ".join(added) or "none", *(round(figures[count]) for count in COUNTS),
                         round(figures["cpu_seconds"], 1)])
            print(*rows[-1], sep=", ", flush=True)
    results.update(options.result, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
