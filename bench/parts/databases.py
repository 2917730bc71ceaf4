#!/usr/bin/env python3
"""Makes a rule database of each shipped operator set by itself, and prints a table. Takes some minutes.

"After generalization" counts what direct proofs and compositions became, before any of them was left out.
"""

import argparse
import json
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
    parser.add_argument("--threads", type=int, default=2, help="with 1 no work is done ahead")
    results.add_option(parser)
    return parser.parse_args()


def build(options, folder, operator_set):
    done = subprocess.run([options.lemma, "rules", "build", "--set", operator_set, "--threads", str(options.threads), "-o",
                           folder / operator_set, "--json"], capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout)
    return [operator_set, *(round(figures[name]) for name in BEFORE), figures["rules"] + figures["derived_and_left_out"],
            *(figures[name] for name in AFTER), round(figures["cpu_seconds"]), round(figures["peak_rss_bytes"] / 1e6)]


def main():
    options = arguments()
    print("set, " + ", ".join(BEFORE) + ", after generalization, " + ", ".join(AFTER) + ", processor seconds, MB")
    with tempfile.TemporaryDirectory(prefix="lemma-databases-") as name:
        rows = []
        for operator_set in SETS:
            rows.append(build(options, options.folder or Path(name), operator_set))
            print(*rows[-1], sep=", ", flush=True)
    results.update(options.result, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
