#!/usr/bin/env python3
"""Tunes operators of sizes that no kernel was written for (docs/tune.md), and times what was found once more.

Each shape of SHAPES is tuned by `lemma tune` with one thread, a program of one operator at a time. When all are done, each record is
timed anew beside the program without schedules (`lemma tune --recheck`): these are the figures of the table, so that what was
chosen by its times is not judged by the same times. A shape without a record counts as 1. The database can be used again: what
was timed is not timed twice.

Exit code: 0, or 4 if a shape has no program.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import results

# Name, operator, operands, attributes.
SHAPES = [
    ("product, 37x129 by 129x65", "MatMul", ["f32[37, 129]", "constant f32[129, 65]"], []),
    ("product, 100x300 by 300x200", "MatMul", ["f32[100, 300]", "constant f32[300, 200]"], []),
    ("row by 1000x333", "MatMul", ["f32[1, 1000]", "constant f32[1000, 333]"], []),
    ("product, 17x500 by 500x48", "MatMul", ["f32[17, 500]", "constant f32[500, 48]"], []),
    ("product, 250x90 by 90x24", "MatMul", ["f32[250, 90]", "constant f32[90, 24]"], []),
    ("product, 64x768 by 768x96", "MatMul", ["f32[64, 768]", "constant f32[768, 96]"], []),
    ("product of inputs, 333x47 by 47x211", "MatMul", ["f32[333, 47]", "f32[47, 211]"], []),
    ("Gemm with transposed weights", "Gemm", ["f32[50, 200]", "constant f32[120, 200]", "constant f32[120]"], ["transB=1"]),
    ("12 products, 50x64 by 64x50", "MatMul", ["f32[12, 50, 64]", "f32[12, 64, 50]"], []),
    ("6 products, 70x33 by 33x90", "MatMul", ["f32[6, 70, 33]", "f32[6, 33, 90]"], []),
    ("24 products, 9x40 by 40x130", "MatMul", ["f32[24, 9, 40]", "f32[24, 40, 130]"], []),
    ("5x5, stride 2, 3 to 24 channels", "Conv", ["f32[1, 3, 64, 64]", "constant f32[24, 3, 5, 5]"], ["strides=[2, 2]"]),
    ("3x3, 24 to 40 channels", "Conv", ["f32[1, 24, 30, 30]", "constant f32[40, 24, 3, 3]"], ["pads=[1, 1, 1, 1]"]),
    ("5x5 of each of 48 channels", "Conv", ["f32[1, 48, 14, 14]", "constant f32[48, 1, 5, 5]"], ["group=48", "pads=[2, 2, 2, 2]"]),
    ("1x1, 40 to 80 channels", "Conv", ["f32[1, 40, 20, 20]", "constant f32[80, 40, 1, 1]"], []),
    ("1x7, 30 channels", "Conv", ["f32[1, 30, 28, 28]", "constant f32[30, 30, 1, 7]"], ["pads=[0, 3, 0, 3]"]),
    ("3x3, stride 2, 36 to 72 channels", "Conv", ["f32[1, 36, 19, 19]", "constant f32[72, 36, 3, 3]"], ["strides=[2, 2]"]),
    ("3x3 in 4 groups of 16", "Conv", ["f32[1, 64, 17, 17]", "constant f32[64, 16, 3, 3]"], ["group=4"]),
    ("3x3 dilated, 2 images", "Conv", ["f32[2, 20, 25, 25]", "constant f32[50, 20, 3, 3]"], ["dilations=[2, 2]"]),
    ("1x1 of 7x7, 96 to 200 channels", "Conv", ["f32[1, 96, 7, 7]", "constant f32[200, 96, 1, 1]"], []),
    ("9 along one axis, 40 to 56 channels", "Conv", ["f32[1, 40, 200]", "constant f32[56, 40, 9]"], []),
    ("7x7, 12 channels", "Conv", ["f32[1, 12, 40, 40]", "constant f32[12, 12, 7, 7]"], ["pads=[3, 3, 3, 3]"]),
    ("transposed 4x4, stride 2", "ConvTranspose", ["f32[1, 24, 16, 16]", "constant f32[24, 12, 4, 4]"], ["strides=[2, 2]"]),
    ("3x3, 56 channels", "Conv", ["f32[1, 56, 33, 33]", "constant f32[56, 56, 3, 3]"], ["pads=[1, 1, 1, 1]"]),
    ("sum over the middle of 20x300x70", "ReduceSum", ["f32[20, 300, 70]"], ["axes=[1]"]),
    ("greatest over axis 2 of 8x50x64x20", "ReduceMax", ["f32[8, 50, 64, 20]"], ["axes=[2]"]),
    ("mean over the first of 60x40x33", "ReduceMean", ["f32[60, 40, 33]"], ["axes=[0]"]),
    ("60x50x70 turned around", "Transpose", ["f32[60, 50, 70]"], ["perm=[2, 1, 0]"]),
    ("softmax of 300 rows of 77", "Softmax", ["f32[300, 77]"], ["axis=1"]),
    ("layer normalization of 128 rows of 200", "LayerNormalization",
     ["f32[128, 200]", "constant f32[200]", "constant f32[200]"], []),
]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks tune", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", type=int, help="numbers of shapes, from 1 on (default: all)")
    parser.add_argument("--lemma", default=str(ROOT / "build" / "release" / "bin" / "lemma"), help="the program")
    parser.add_argument("--seconds", type=float, default=60, help="of the search, for each shape")
    parser.add_argument("--database", type=Path, help="that records are kept in (default: one that goes)")
    parser.add_argument("--json", type=Path)
    results.add_option(parser)
    return parser.parse_args()


def tuned(options, shape, database, *more):
    """What `lemma tune` says of a shape."""
    _, name, operands, attributes = shape
    call = [options.lemma, "tune", "--operator", name, "--database", str(database), "--threads", "1", "--json", *more]
    for operand in operands:
        call += ["--operand", operand]
    for attribute in attributes:
        call += ["--attribute", attribute]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{shape[0]}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return json.loads(done.stdout)["operators"][0]


def row_of(shape, found, again, seconds):
    schedules = "; ".join(entry["schedule"] for entry in found["schedules"]) if found["recorded"] else None
    before, after = again["seconds_before"], again["seconds"]
    return [shape[0], 1e6 * before or None, 1e6 * after or None, before / after if after else 1.0, found["planned"],
            found["timed"] + found["known"], round(seconds), schedules]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    options = arguments()
    chosen = [SHAPES[number - 1] for number in options.shapes] or SHAPES
    rows, failed = [], False
    with tempfile.TemporaryDirectory(prefix="lemma-tuning-") as folder:
        database = options.database or Path(folder) / "profile.sqlite"
        searched = []
        for number, shape in enumerate(chosen, 1):
            begin = time.monotonic()
            found = tuned(options, shape, database, "--seconds", str(options.seconds))
            if found is None:
                failed = True
                continue
            searched.append((shape, found, time.monotonic() - begin))
            gain = found["seconds_before"] / found["seconds"] if found["recorded"] else 1
            print(f"[{number} of {len(chosen)}] {shape[0]}: {gain:.2f}x, {found['timed']} timed", file=sys.stderr, flush=True)
        for shape, found, seconds in searched:
            rows.append(row_of(shape, found, tuned(options, shape, database, "--recheck"), seconds))
    for row in rows:
        print(f"{row[0]:40} {row[3]:5.2f}x  {row[7] or ''}")
    if rows:
        print(f"geometric mean of {len(rows)} shapes: {geometric_mean([row[3] for row in rows]):.3f}x, "
              f"least {min(row[3] for row in rows):.2f}x")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    results.update(options.result, rows)
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
