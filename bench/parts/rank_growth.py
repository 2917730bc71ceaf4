#!/usr/bin/env python3
"""Measures the enumeration on several ranks (`mpirun -n N lemma rules generate`): time of each part, memory and bytes that are
sent, and from the counts of one rank a model of more ranks. All runs of a set have to write the same bytes.

The model: what all ranks repeat (smaller terms and their rules), plus the part that is divided (largest terms) over the
number of ranks, plus what the first rank does alone, plus what is sent. Entries of largest terms have 16 bytes, and all but
one in N go to another rank; a rank sends a message to every other one in each exchange. The rates are options.

Where a set is enumerated up to N - 1 and up to N operators, N + 1 operators are projected: terms that are kept grow once more
by the factor of the last two levels, and the largest terms by the factor between the two runs; times and memory grow as what
they are for.

Exit code: 0 all runs wrote the same bytes, 4 otherwise.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import results

ENTRY_BYTES = 16
REPEATED, DIVIDED, ALONE = ("smaller terms", "rules of smaller terms"), ("largest terms",), ("rules of largest terms", "what follows")
LARGEST_BATCH = 1 << 25  # bytes that a rank holds until it sends them (generator/largest_groups.cpp)


def arguments():
    parser = argparse.ArgumentParser(prog="bench/generator ranks", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", type=Path, default=results.ROOT / "build" / "release" / "bin" / "lemma")
    parser.add_argument("--set", action="append", metavar="NAME:OPERATORS", help="what to enumerate (default: small:5 and taso:3)")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4], help="numbers of ranks to measure; the first one is 1")
    parser.add_argument("--model", type=int, nargs="+", default=[100, 1000], help="numbers of ranks of the model")
    parser.add_argument("--memory-limit", metavar="BYTES", help="of each rank")
    parser.add_argument("--bytes-per-second", type=float, default=1.25e9, help="that a rank sends, and receives at the same time")
    parser.add_argument("--seconds-per-message", type=float, default=1e-5, help="that a rank takes to send one message")
    results.add_option(parser)
    return parser.parse_args()


def generate(options, file, operator_set, operators, ranks):
    """The figures of a run."""
    start = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
    limit = ["--memory-limit", options.memory_limit] if options.memory_limit else []
    done = subprocess.run([*start, options.lemma, "rules", "generate", "--set", operator_set, "--max-ops", operators, "--threads", "1",
                           *limit, "-o", file, "--json"], stdout=subprocess.PIPE, text=True, check=True,
                          env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    return json.loads(done.stdout)


def seconds(figures, stages, key):
    return sum(stage[key] for stage in figures["stages"] if stage["stage"] in stages)


def row(figures, operators, ranks, kind):
    parts = [round(seconds(figures, stages, "seconds"), 2) for stages in (REPEATED, DIVIDED, ALONE)]
    return [figures["set"], int(operators), ranks, kind, figures["terms"], *parts, round(sum(parts), 2), round(figures["cpu_seconds"], 1),
            round(figures["peak_rss_bytes"] / 1e6), figures["exchanges"], round(figures["sent_bytes"] / 1e6, 2)]


def modelled(options, figures, operators, ranks):
    """A row of the model, from the processor seconds of a run with one rank."""
    repeated, divided, alone = (seconds(figures, stages, "cpu_seconds") for stages in (REPEATED, DIVIDED, ALONE))
    sent = figures["terms_by_operators"][-1] * ENTRY_BYTES * (ranks - 1) / ranks  # by all ranks
    rounds = 1 + math.ceil(sent / ranks / LARGEST_BATCH)
    sending = sent / ranks / options.bytes_per_second + rounds * (ranks - 1) * options.seconds_per_message
    parts = [round(repeated, 2), round(divided / ranks + sending, 2), round(alone, 2)]
    return [figures["set"], int(operators), ranks, "model", figures["terms"], *parts, round(sum(parts), 2), None, None, rounds,
            round(sent / 1e6, 2)]


def projected(before, last):
    """Figures of one more operator: of one rank."""
    kept = last["terms_by_operators"][-2] / last["terms_by_operators"][-3]
    largest = last["terms_by_operators"][-1] / before["terms_by_operators"][-1]
    levels = [*last["terms_by_operators"][:-1], round(last["terms_by_operators"][-2] * kept),
              round(last["terms_by_operators"][-1] * largest)]
    stages = [{"stage": stage["stage"], "cpu_seconds": stage["cpu_seconds"] * (kept if stage["stage"] in REPEATED else largest)}
              for stage in last["stages"]]
    return {"set": last["set"], "terms_by_operators": levels, "terms": sum(levels), "stages": stages,
            "table_bytes": last["table_bytes"] * kept}


def main():
    options = arguments()
    rows, same, runs = [], True, {}
    print("set, operators, ranks, kind, terms, repeated s, divided s, first rank s, all s, processor s, MB, exchanges, MB sent")
    with tempfile.TemporaryDirectory(prefix="lemma-ranks-") as name:
        for case in options.set or ["small:5", "taso:3"]:
            operator_set, operators = case.split(":")
            written, first = set(), None
            for ranks in options.ranks:
                file = Path(name) / "candidates.rules"
                figures = generate(options, file, operator_set, operators, ranks)
                first = first or figures
                written.add(file.read_bytes())
                rows.append(row(figures, operators, ranks, "measured"))
                print(*rows[-1], sep=", ", flush=True)
            for ranks in options.model:
                rows.append(modelled(options, first, operators, ranks))
                print(*rows[-1], sep=", ", flush=True)
            runs[operator_set, int(operators)] = first
            before = runs.get((operator_set, int(operators) - 1))
            if before and len(first["terms_by_operators"]) > 2:
                more = projected(before, first)
                for ranks in [1, *options.model]:
                    rows.append(modelled(options, more, int(operators) + 1, ranks))
                    rows[-1][3] = "projected"
                    rows[-1][10] = round(more["table_bytes"] / 1e6)
                    print(*rows[-1], sep=", ", flush=True)
            if len(written) > 1:
                print(f"{operator_set} up to {operators} operators: the candidates differ", file=sys.stderr)
                same = False
    results.update(options.result, rows)
    return 0 if same else 4


if __name__ == "__main__":
    sys.exit(main())
