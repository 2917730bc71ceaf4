#!/usr/bin/env python3
"""Timetables kept up to date through random moves beside timetables computed anew (docs/plans.md, "Timetables").

Each move puts the pieces of an operator on other devices. After each, all times are compared with those of the full simulation.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(prog="bench/search simulator", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=10000, help="of each kind of model")
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "bench" / "bin" / "simulator_moves"),
                        help="built by scripts/build release simulator_moves")
    results.add_option(parser)
    options = parser.parse_args()
    if not Path(options.program).exists():
        print(f"bench/search simulator: {options.program} is missing; scripts/build release simulator_moves builds it",
              file=sys.stderr)
        return 2
    done = subprocess.run([options.program, str(options.moves)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"bench/search simulator: {done.stderr.strip()}", file=sys.stderr)
        return 1
    rows = []
    for line in done.stdout.splitlines():
        what, tasks, devices, moves, again, building, full, kept = json.loads(line)
        rows.append([what, tasks, devices, moves, again, building, full, kept, full / kept, (building + full) / kept])
        print(line, flush=True)
    try:
        results.update(options.result, rows)
    except results.Malformed as error:
        print(f"bench/search simulator: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
