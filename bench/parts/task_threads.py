#!/usr/bin/env python3
"""Runs task programs (docs/rtask.md) many times with several numbers of threads, more than there are processors among
them. Each program runs in a process of its own, which has to end within a time limit: a program that hangs is ended and
named. All runs have to give the same bytes, with each number of threads, and the process must not grow.

Schedules are for a processor that is slow beside its waits, so that all threads have tasks and many waits. Growth is what is resident after the last run beyond what was after the first tenth of the runs; more than --growth is
an error. Exit code: 0 if nothing was found, 4 otherwise.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import emitted_program
from agreement import inputs_of

DEFAULT = ["two_layer", "lstm", "nasrnn", "squeezenet1_1", "dien"]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks threads",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help=f"ONNX files (default: {', '.join(DEFAULT)})")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "real_models", help="folder of models")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--growth", type=int, default=1 << 20, metavar="BYTES", help="that is allowed")
    parser.add_argument("--time-limit", type=float, default=600, metavar="S", help="of all runs of a program")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--loop", type=Path, help=argparse.SUPPRESS)  # the folder of a program: this is such a process
    options = parser.parse_args()
    if options.runs < 10:
        parser.error("--runs is at least 10")
    return options


def resident_bytes():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("/proc/self/status has no VmRSS")


def loop(options):
    """In a process of its own: digests of the outputs, and bytes that it grew by."""
    program = emitted_program.Program(options.loop, inputs_of(options.models[0]))
    digests, before = set(), 0
    for run in range(options.runs):
        for output in program.outputs:
            output[:] = 0xff
        program.run()
        digests.add(hashlib.sha256(b"".join(output.tobytes() for output in program.outputs)).hexdigest())
        if run + 1 == options.runs // 10:
            before = resident_bytes()
    growth = resident_bytes() - before
    program.close()
    print(json.dumps({"digests": sorted(digests), "growth": growth}))
    return 0


def observe(options, model, threads, folder):
    """One row: what the runs gave, or what went wrong."""
    row = {"model": model.stem, "threads": threads, "runs": options.runs}
    try:
        emitted_program.build(options.lemma, model, folder, threads, "--device", "slow-cpu")
        done = subprocess.run([sys.executable, __file__, str(model), "--loop", str(folder), "--runs", str(options.runs)],
                              capture_output=True, text=True, check=False, timeout=options.time_limit)
    except subprocess.TimeoutExpired:
        return row | {"fault": f"not done within {options.time_limit:g} s"}
    except (RuntimeError, subprocess.CalledProcessError) as error:
        return row | {"fault": str(error)}
    if done.returncode != 0:
        return row | {"fault": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    row |= json.loads(done.stdout)
    if len(row["digests"]) > 1:
        row["fault"] = f"{len(row['digests'])} different outputs"
    elif row["growth"] > options.growth:
        row["fault"] = f"grew by {row['growth']} bytes"
    return row


def main():
    options = arguments()
    if options.loop:
        return loop(options)
    rows = []
    print(f"{'model':24} {'threads':>7} {'runs':>6} {'growth, bytes':>13}  result")
    for model in options.models or [options.work / "literature" / f"{name}.onnx" for name in DEFAULT]:
        expected = None
        for threads in options.threads:
            with tempfile.TemporaryDirectory(prefix="lemma-tasks-") as folder:
                row = observe(options, model, threads, Path(folder) / "program")
            if "fault" not in row:
                expected = expected or row["digests"]
                if row["digests"] != expected:
                    row["fault"] = f"other bytes than with {options.threads[0]}"
            rows.append(row)
            print(f"{row['model']:24} {threads:7} {row['runs']:6} {row.get('growth', '-'):>13}  {row.get('fault', 'equal')}",
                  flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 4 if any("fault" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
