#!/usr/bin/env python3
"""Measures how the enumeration grows with the number of operators: terms, classes, candidates, processor seconds and memory,
with one and with two threads, and for several limits of memory. All runs of a set and a number of operators have to write
the same bytes.

Exit code: 0 they did, 4 otherwise.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import results

# Set, numbers of operators, threads, and limits of memory (with one thread).
RUNS = (
    ("small", (3, 4, 5), (1, 2), ()),
    ("recurrent", (3,), (1, 2), ("48M", "32M")),
    ("taso", (3,), (1, 2), ("96M", "72M")),
)
FOUR = (("taso", (4,), (2,), ("1G", "400M", "300M")),)


def arguments():
    parser = argparse.ArgumentParser(prog="bench/generator growth", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", type=Path, default=results.ROOT / "build" / "release" / "bin" / "lemma")
    parser.add_argument("--four", action="store_true", help="also `taso` up to four operators, which takes minutes")
    parser.add_argument("--five", type=Path, metavar="SET", help="a file of a set for three to five operators")
    results.add_option(parser)
    return parser.parse_args()


def generate(options, folder, operator_set, operators, threads, memory):
    """A row of the table, and the bytes of the candidates."""
    file = folder / "candidates.rules"
    limit = ["--memory-limit", memory] if memory else []
    done = subprocess.run([options.lemma, "rules", "generate", "--set", operator_set, "--max-ops", str(operators), "--threads",
                           str(threads), *limit, "-o", file, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    figures = json.loads(done.stdout)
    peak = figures["peak_rss_bytes"]
    row = [figures["set"], operators, threads, memory, figures["terms"], figures["classes"], figures["candidates"],
           round(figures["cpu_seconds"], 1), round(peak / 1e6), round(peak / figures["terms"]),
           round(figures["table_bytes"] / 1e6, 1)]
    print(*row, sep=", ", flush=True)
    return row, file.read_bytes()


def main():
    options = arguments()
    runs = list(RUNS) + (list(FOUR) if options.four else [])
    if options.five:
        runs.append((str(options.five), (3, 4, 5), (1, 2), ("400M", "250M", "150M")))
    rows, same = [], True
    print("set, operators, threads, memory limit, terms, classes, candidates, processor seconds, MB, bytes a term, MB of the table")
    with tempfile.TemporaryDirectory(prefix="lemma-growth-") as name:
        for operator_set, numbers, threads, memories in runs:
            for operators in numbers:
                settings = [(count, None) for count in threads]
                if operators == numbers[-1]:
                    settings += [(1, memory) for memory in memories]
                written = set()
                for count, memory in settings:
                    row, candidates = generate(options, Path(name), operator_set, operators, count, memory)
                    rows.append(row)
                    written.add(candidates)
                if len(written) > 1:
                    print(f"{operator_set} up to {operators} operators: the candidates differ", file=sys.stderr)
                    same = False
    results.update(options.result, rows)
    return 0 if same else 4


if __name__ == "__main__":
    sys.exit(main())
