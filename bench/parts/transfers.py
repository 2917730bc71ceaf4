#!/usr/bin/env python3
"""A tensor from one of two ranks to the other one, as processes of mpirun on this machine (docs/plans.md, "Exchanges").

The ways are a put into registered memory with a flag behind it, a message of MPI (send and receive), and a remote call that
answers with a serialized message (protobuf over a socket of the machine, in place of gRPC); and a get behind metadata, where the
receiver does not know the size. Times are half of those there and back, medians of a run, and the least of the runs. Then a
tensor is sent from the memory of a device to that of another one: a processor that touches a page of it is counted.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]
WAYS = ("one-sided", "fetched", "send-receive", "remote-calls")


def measured(folder):
    program, module = folder / "bench" / "bin" / "transfer_times", folder / "lib" / "lemma" / "lemma_mpi_plans.so"
    if not program.exists() or not module.exists():
        sys.exit(f"{program} or {module} is missing; scripts/build release transfer_times lemma_mpi_plans builds them")
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2", program, module],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or "transfer_times has failed")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(prog="bench/proofs transfers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--runs", type=int, default=5)
    results.add_option(parser)
    options = parser.parse_args()
    runs = [measured(options.build) for _ in range(options.runs)]
    rows = []
    for size in runs[0]["seconds"][WAYS[0]]:
        micros = [min(run["seconds"][way][size] for run in runs) * 1e6 for way in WAYS]
        rows.append([int(size), *(round(m, 2) for m in micros), round(micros[2] / micros[0], 2), round(micros[3] / micros[0], 1)])
        print(*rows[-1], sep="; ")
    for way, pages in runs[0]["pages"].items():
        print(f"pages of device memory that processors have touched, {way}: {pages}, in all runs {[run['pages'][way] for run in runs]}")
    results.update(options.result, rows)


if __name__ == "__main__":
    main()
