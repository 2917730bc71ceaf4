#!/usr/bin/env python3
"""How fast the checkers replay certificates.

Runs lemma-check on all shipped certificates, on one processor and on all, and the checker in Python
once. Prints the least of N runs, as other processes only ever add to it: wall time, processor time,
and certificates (each with all the cases of a rule) and cases a second of each.
"""

import argparse
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def measure(command, runs, processors):
    """Least wall and processor time, and the counts that the command prints."""
    best, counts = None, None
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              preexec_fn=lambda: os.sched_setaffinity(0, processors))
        wall = time.perf_counter() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            sys.exit(f"{command[0]} ended with {done.returncode}: {done.stderr}")
        processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        best = (wall, processor) if best is None else (min(best[0], wall), min(best[1], processor))
        counts = [int(number) for number in re.findall(r"\d+", done.stdout)]
    return best, counts


def main():
    parser = argparse.ArgumentParser(prog="bench/proofs certificates",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    everything = str(ROOT / "rules" / "substitutions")
    checker = str(arguments.build / "bin" / "lemma-check")
    processors = os.sched_getaffinity(0)
    single = {min(processors)}
    for title, command, runs, allowed in (
            ("lemma-check, 1 processor", [checker, everything], arguments.runs, single),
            (f"lemma-check, {len(processors)} processors", [checker, everything], arguments.runs,
             processors),
            ("lemma_check.py", [str(ROOT / "checkers" / "lemma_check.py"), everything], 1, single)):
        (wall, processor), (certificates, cases, steps, _) = measure(command, runs, allowed)
        print(f"{title}: {certificates} certificates, {cases} cases, {steps} steps\n"
              f"  wall {wall:.3f} s: {certificates / wall:.0f} certificates/s, "
              f"{cases / wall:.0f} cases/s\n"
              f"  processor {processor:.3f} s: {certificates / processor:.0f} certificates/s, "
              f"{cases / processor:.0f} cases/s")


if __name__ == "__main__":
    main()
