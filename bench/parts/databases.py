#!/usr/bin/env python3
"""Makes a rule database of each shipped operator set by itself, and prints a table. Takes some minutes.

"After generalization" counts what direct proofs and compositions became, before any of them was left out.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import results

SETS = ("taso", "cnn", "transformer", "recurrent", "movement", "elementary")
BEFORE = ("graphs", "classes", "candidates", "proved", "refuted", "unknown")
AFTER = ("rules", "basis", "derived_and_kept", "derived_and_left_out")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/generator databases",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", type=Path, default=results.ROOT / "build" / "release" / "bin" / "lemma")
    parser.add_argument("--folder", type=Path, help="keep the databases there")
    parser.add_argument("--only", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--four", action="store_true", help="also `taso` up to four operators, which takes many minutes")
    parser.add_argument("--threads", type=int, default=2, help="with 1 no work is done ahead")
    results.add_option(parser)
    return parser.parse_args()


def limit_of(operator_set):
    """The most operators of a term that the set names."""
    text = (results.ROOT / "rules" / "operator_sets" / f"{operator_set}.set").read_text()
    return int(re.search(r"^limit operators (\d+)", text, re.MULTILINE)[1])


def build(options, folder, operator_set, operators=None):
    """`operators`: the most of a term, if not those of the set."""
    limit = ["--max-ops", str(operators)] if operators else []
    done = subprocess.run([options.lemma, "rules", "build", "--set", operator_set, "--threads", str(options.threads), "-o",
                           folder / f"{operator_set}{operators or ''}", "--json", *limit], capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout)
    return [operator_set, operators or limit_of(operator_set), *(round(figures[name]) for name in BEFORE), figures["rules"] + figures["derived_and_left_out"],
            *(figures[name] for name in AFTER), round(figures["cpu_seconds"]), round(figures["peak_rss_bytes"] / 1e6)]


def main():
    options = arguments()
    print("set, operators, " + ", ".join(BEFORE) + ", after generalization, " + ", ".join(AFTER) + ", processor seconds, MB")
    with tempfile.TemporaryDirectory(prefix="lemma-databases-") as name:
        rows = []
        sets = [(operator_set, None) for operator_set in options.only] + ([("taso", 4)] if options.four else [])
        for operator_set, operators in sets:
            rows.append(build(options, options.folder or Path(name), operator_set, operators))
            print(*rows[-1], sep=", ", flush=True)
    results.update(options.result, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
