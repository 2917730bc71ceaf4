#!/usr/bin/env python3
"""Time against memory: the fastest plan of BERT-large on four devices within each of several limits of memory (docs/plans.md, "Making a
plan"). Where tensors are and what collectives move is chosen together; what is computed again is not: operators run once.

The limits go down from what the fastest plan needs, until no plan is found or there are as many as --points says. --picture draws the plans.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]
MODEL, BATCH, CLUSTER = "bert-large", 8, ("p100-hosts", "--hosts", "1")
PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}
SAID = re.compile(r"^([\d.]+) (\w+) of computing and ([\d.]+) (\w+) of communicating, .*; ([\d.]+) (\w?) ?bytes on a device; (.*) \(predicted",
                  re.MULTILINE)


def plan(options, model, folder, limit):
    """[limit in MB, milliseconds of computing, of communicating, MB that are needed, percent above the bound, seconds of planning]; None: no
    plan is found."""
    begin = time.monotonic()
    command = [options.lemma, "plan", "make", model, "--cluster", *CLUSTER, "--memory-limit", str(round(limit)), "-o", folder / "plan.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 2 and "no plan needs at most" in done.stderr:
        return None
    said = SAID.search(done.stdout)
    if done.returncode != 0 or not said:
        raise results.Malformed(f"{MODEL} within {limit:.0f} bytes: {done.stderr.strip() or done.stdout[-300:]}")
    computing, communicating = (float(said.group(at)) * UNITS[said.group(at + 1)] for at in (1, 3))
    above = re.search(r"at most ([\d.]+)% above", said.group(7))
    return [limit / 1e6, computing, communicating, computing + communicating, float(said.group(5)) * PREFIXES[said.group(6)] / 1e6,
            float(above.group(1)) if above else 0.0, time.monotonic() - begin]


def rows_of(options):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, ROOT / "models" / "build", MODEL, "--batch", str(BATCH), "--hollow", "--out", folder], check=True,
                       capture_output=True)
        limit = options.first_limit
        for _ in range(options.points):
            row = plan(options, folder / f"{MODEL}-batch{BATCH}.onnx", folder, limit)
            if row is None:
                return
            yield row
            limit = min(limit, 1e6 * row[4]) * options.factor


# ---- The picture -----------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, BELOW, ABOVE = 640, 360, 70, 50, 40


def picture(rows):
    """An SVG: a point for each plan, megabytes along, milliseconds up, both from 0."""
    most = (1.1 * max(row[4] for row in rows), 1.1 * max(row[3] for row in rows))

    def place(row):
        return (LEFT + row[4] / most[0] * (WIDTH - LEFT - 20), HEIGHT - BELOW - row[3] / most[1] * (HEIGHT - BELOW - ABOVE))

    def text(x, y, words, more=""):
        return f'<text x="{x:.1f}" y="{y:.1f}" font-family="sans-serif" font-size="12" {more}>{words}</text>'

    points = [place(row) for row in sorted(rows, key=lambda row: row[4])]
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             text(LEFT, 22, f"{MODEL}, {BATCH} samples on 4 devices: the fastest plan within each limit of memory"),
             f'<path d="M{LEFT} {ABOVE}V{HEIGHT - BELOW}H{WIDTH - 20}" fill="none" stroke="black"/>',
             '<polyline points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '" fill="none" stroke="#4477aa"/>']
    for tick in range(5):
        x, y = LEFT + tick / 4 * (WIDTH - LEFT - 20), HEIGHT - BELOW - tick / 4 * (HEIGHT - BELOW - ABOVE)
        lines += [text(x, HEIGHT - BELOW + 18, f"{tick / 4 * most[0]:.0f}", 'text-anchor="middle"'),
                  text(LEFT - 8, y + 4, f"{tick / 4 * most[1]:.0f}", 'text-anchor="end"')]
    lines += [text((LEFT + WIDTH) / 2, HEIGHT - 12, "MB on a device", 'text-anchor="middle"'), text(8, 30, "ms")]
    lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#4477aa"/>' for x, y in points]
    return "\n".join([*lines, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="bench/search plan_memory", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", default=str(ROOT / "build" / "release" / "bin" / "lemma"), help="built by scripts/build release lemma")
    parser.add_argument("--first-limit", type=float, default=16e9, help="bytes")
    parser.add_argument("--factor", type=float, default=0.8, help="of what a plan needs: the next limit")
    parser.add_argument("--points", type=int, default=6, help="most plans")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="an SVG of the plans")
    results.add_option(parser)
    options, rows = parser.parse_args(), []
    try:
        for row in rows_of(options):
            rows.append(row)
            print(*(f"{cell:.4g}" for cell in row), sep="; ", flush=True)
        results.update(options.result, rows)
    except (subprocess.CalledProcessError, results.Malformed) as error:
        print(f"bench/search plan_memory: {error}", file=sys.stderr)
        return 2
    if options.picture:
        options.picture.write_text(picture(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
