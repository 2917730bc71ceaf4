#!/usr/bin/env python3
"""Enumerates the shipped operator sets up to three operators, with one and with two threads, which have to write the same
bytes. The speed-up by two threads means something on an idle machine only; it is the median of --repeat runs.

Exit code: 0 the files of one and of two threads are the same, 4 otherwise.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import results

SETS = ("taso", "cnn", "transformer", "recurrent")
COUNTS = ("graphs", "terms", "equal_terms", "refuted_by_other_sizes", "no_rule", "candidates")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/generator enumeration",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", type=Path, default=results.ROOT / "build" / "release" / "bin" / "lemma")
    parser.add_argument("--folder", type=Path, help="keep the candidates there")
    parser.add_argument("--repeat", type=int, default=1, help="runs for the speed-up")
    parser.add_argument("--four", action="store_true", help="also `taso` up to four operators, which takes minutes")
    results.add_option(parser)
    return parser.parse_args()


def generate(options, folder, operator_set, operators, threads):
    """A row of the table, and the file of candidates."""
    file = folder / f"{operator_set}.{operators}.{threads}.rules"
    begin = time.monotonic()
    done = subprocess.run([options.lemma, "rules", "generate", "--set", operator_set, "--max-ops", str(operators), "--threads",
                           str(threads), "-o", file, "--refuted", file.with_suffix(".refuted"), "--json"],
                          stdout=subprocess.PIPE, text=True, check=True)
    wall, figures = time.monotonic() - begin, json.loads(done.stdout)
    return [operator_set, operators, threads, *(round(figures[name]) for name in COUNTS), round(figures["cpu_seconds"], 1),
            round(wall, 1), round(figures["peak_rss_bytes"] / 1e6)], file


def speed_up(options, folder, operator_set):
    seconds = {threads: statistics.median(generate(options, folder, operator_set, 3, threads)[0][-2]
                                          for _ in range(options.repeat)) for threads in (1, 2)}
    print(f"{operator_set} up to 3 operators: {seconds[1]:.1f} s with one thread, {seconds[2]:.1f} s with two: "
          f"{seconds[1] / seconds[2]:.2f} times as fast")


def main():
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="lemma-generator-") as name:
        folder = options.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        rows, same = [], True
        print("set, operators, threads, " + ", ".join(COUNTS) + ", processor seconds, wall seconds, MB")
        for operator_set in SETS:
            files = []
            for operators, threads in ((2, 1), (3, 1), (3, 2)):
                row, file = generate(options, folder, operator_set, operators, threads)
                files.append(file)
                rows.append(row)
                print(*row, sep=", ", flush=True)
            if files[1].read_bytes() != files[2].read_bytes():
                print(f"{operator_set}: one and two threads write different candidates", file=sys.stderr)
                same = False
        for operator_set in ("taso", "transformer"):
            speed_up(options, folder, operator_set)
        if options.four:
            rows.append(generate(options, folder, "taso", 4, 2)[0])
            print(*rows[-1], sep=", ")
    results.update(options.result, rows)
    return 0 if same else 4


if __name__ == "__main__":
    sys.exit(main())
