#!/usr/bin/env python3
"""Schedules of collectives (docs/plans.md, "Schedules of collectives").

  synthesis   what Z3 finds or proves impossible: SCCL's table for the all-gather of a DGX-1, and whether the bounds of steps and
              rounds are met at once on topologies with unit links
  times       greedy schedules beside the times that the tests of TACOS expect, and of 128 nodes with two kinds of links
  algorithms  steps, bytes and seconds of known algorithms

Published figures are written here with where they come from; the rest is what `lemma plan collective --json` says.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]
GIGABYTE = 2**30

# SYNTHESIS.md of microsoft/sccl: steps, rounds, chunks, what was found, seconds.
SCCL = [((2, 2, 1), "found", 0.5), ((2, 3, 2), "found", 0.9), ((3, 4, 3), "found", 2.9), ((3, 5, 4), "found", 6.5),
        ((3, 6, 5), "found", 44), ((3, 7, 6), "found", 56), ((2, 4, 3), "impossible", 1.1)]
# Fewest chunks with which the rounds of the bound are a whole number are tried first, up to 8.
UNIT_LINKS = ["ring:4", "ring:8", "one-way-ring:8", "line:4", "star:8", "hypercube:3", "hypercube:4", "torus:4x4", "torus:3x3",
              "mesh:3x3", "full:8"]
# tests/ of astra-sim/tacos: GB/s of the axes, microseconds of latency, chunks of a node, MB of the tensor, expected microseconds.
TACOS = [("mesh:5x5", [50], 0.5, 1, 1024, 9606.0), ("mesh:10x10", [100], 1, 2, 1024, 5049.0),
         ("mesh:12x7", [100], 1, 3, 4096, 19966.27), ("mesh:3x3x3", [50], 0.5, 1, 1024, 6671.17),
         ("mesh:5x4x3", [50], 0.5, 2, 2048, 13353.33), ("mesh:3x2x4", [50], 0.5, 3, 3072, 19178.17),
         ("torus:3x3x3", [50], 0.5, 1, 1024, 3706.20), ("torus:5x4x3", [50], 0.5, 2, 2048, 6676.67),
         ("torus:3x2x4", [50], 0.5, 3, 3072, 11673.67), ("mesh:5x5", [75, 50], 0.5, 1, 1024, 8005.0),
         ("mesh:5x8", [35, 80], 1, 2, 1024, 8595.43), ("mesh:10x7", [73, 16], 1.5, 3, 4096, 44612.47),
         ("mesh:8x16", [73, 16], 1.5, 1, 1024, None), ("torus:8x16", [73, 16], 1.5, 1, 1024, None)]


class Missing(Exception):
    """Says what has to be built first."""


def said(options, *words):
    """What the command prints as JSON, and the seconds of the whole process."""
    if not Path(options.lemma).exists():
        raise Missing(f"{options.lemma} is missing; scripts/build release lemma builds it")
    begin = time.monotonic()
    done = subprocess.run([options.lemma, "plan", "collective", *map(str, words), "--json"], capture_output=True, text=True,
                          check=False, timeout=600)
    if done.returncode not in (0, 3, 4):
        raise Missing(done.stderr.strip())
    return json.loads(done.stdout), time.monotonic() - begin


def triple(steps, rounds, chunks):
    return f"{steps}, {rounds}, {chunks}"


def measure_synthesis(options):
    total = 0
    for request, expected, published in SCCL:
        found, _ = said(options, "dgx-1", "--find", ",".join(map(str, request)))
        answer = found["asked"][0]
        total += answer["search_seconds"]
        yield ["DGX-1", triple(*request), answer["answer"], answer["reason"], answer["search_seconds"], expected, published]
    yield ["DGX-1, all of these", "", "", "", total, "", sum(seconds for _, _, seconds in SCCL)]
    for topology in UNIT_LINKS:
        bounds = said(options, topology)[0]["bounds"]
        steps, over, under = bounds["steps"], bounds["rounds_over"], bounds["rounds_under"]
        for chunks in range(under, 9, under):
            request = (steps, over * chunks // under, chunks)
            answer = said(options, topology, "--find", ",".join(map(str, request)))[0]["asked"][0]
            yield [topology, triple(*request), answer["answer"], answer["reason"], answer["search_seconds"],
                   f"bound {steps}, {over}" + (f"/{under}" if under > 1 else ""), None]
            if answer["answer"] == "found":
                break


def measure_times(options):
    for topology, bandwidths, latency, chunks, size, expected in TACOS:
        nodes = 1
        for sizes in topology.split(":")[1].split("x"):
            nodes *= int(sizes)
        chunk = size * 2**20 // (nodes * chunks)
        found, _ = said(options, topology, "--greedy", "--latency", latency * 1e-6, "--bandwidth",
                        ",".join(str(value * GIGABYTE) for value in bandwidths), "--chunks", chunks, "--bytes",
                        chunk * nodes * chunks)
        timed = found["timed"]
        yield [f"{topology}, {chunks} chunks, {'/'.join(map(str, bandwidths))} GB/s", timed["seconds"] * 1e6,
               timed["bound_seconds"] * 1e6, expected, timed["tries"], timed["search_seconds"]]


def measure_algorithms(options):
    for topology, size in (("h100-host", "64K"), ("h100-host", "1G"), ("h100-hosts", "1G"), ("hypercube:4", "1G")):
        for collective in ("all-gather", "all-reduce"):
            found, _ = said(options, topology, "--collective", collective, "--bytes", size, "--group", 8)
            for row in found["schedules"]:
                yield [topology, f"{collective}, {size}", row["method"], row["steps"], row["rounds"], row["chunks"],
                       row["most_bytes_of_a_node"] / 1e6, row["seconds"] * 1e3]


MEASURED = {"synthesis": measure_synthesis, "times": measure_times, "algorithms": measure_algorithms}


def arguments():
    parser = argparse.ArgumentParser(prog="bench/search collectives", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=MEASURED)
    parser.add_argument("--lemma", default=str(ROOT / "build" / "release" / "bin" / "lemma"),
                        help="built by scripts/build release lemma")
    results.add_option(parser)
    return parser.parse_args()


def main():
    options, rows = arguments(), []
    try:
        for row in MEASURED[options.what](options):
            rows.append(row)
            print(*(f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row), sep="; ", flush=True)
        results.update(options.result, rows)
    except (Missing, results.Malformed) as error:
        print(f"bench/search collectives: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
