#!/usr/bin/env python3
"""Calls sessions of `lemma.compile` for a long time: several threads share one session, and with --sizes each call has inputs
of other sizes. Outputs are compared with what the session gave one caller before (the same bytes), and with --sizes with those of
ONNX Runtime on the same inputs. Memory is what the process holds after half of the time, when as many programs as may be are
kept, and at the end: a session that keeps what it should drop grows in between.

Each model has a process of its own.

Exit code: 0 all outputs agree and no process grew by more than a tenth and 32 MB, 4 otherwise.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "parts"), str(ROOT / "scripts")]
import environment

environment.enter()

import results
from sessions import lemma_session, package, resident_megabytes, worst_difference

LARGEST = 64  # extent of an axis of any size
FEEDS = 16  # inputs that callers choose from, where sizes stay as they are


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks soak", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help="ONNX files")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--callers", type=int, default=8, help="threads that call the session")
    parser.add_argument("--threads", type=int, default=1, help="of a call")
    parser.add_argument("--seconds", type=float, default=60, help="for each model")
    parser.add_argument("--sizes", action="store_true", help="random sizes in each call, for models with open sizes")
    parser.add_argument("--background", action="store_true",
                        help="compile beside the calls, which ONNX Runtime answers meanwhile")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    results.add_option(parser)
    return parser.parse_args()


# ---- In a process of its own -----------------------------------------------------------------------------------------

class Inputs:
    """Random inputs that ONNX Runtime accepts, with the answers that are expected."""

    def __init__(self, model, session, sizes):
        import agreement
        self.runtime = agreement.session(model, optimized=True, threads=1)
        self.inputs = agreement.RandomInputs(self.runtime.get_inputs(), {}, seed=0)
        if error := self.inputs.settle(lambda feeds: self.runtime.run(None, feeds)):
            raise error
        self.symbols = self.open_symbols(agreement) if sizes else []
        self.change = threading.Lock()
        samples = [] if sizes else [self.inputs.sample(index) for index in range(FEEDS)]
        self.fixed = [(feeds, session.run(None, feeds)) for feeds in samples]

    def differ(self, outputs, expected):
        if not self.fixed:
            return not worst_difference(outputs, expected) <= 1
        return any(a.shape != b.shape or a.tobytes() != b.tobytes() for a, b in zip(outputs, expected))

    def open_symbols(self, agreement):
        symbols = [symbol for entry in self.inputs.inputs for symbol in agreement.dimension_symbols(entry)
                   if not isinstance(symbol, int)]
        return list(dict.fromkeys(symbols))

    def next(self, shuffled):
        """Inputs and answers. Sizes that ONNX Runtime refuses are drawn again."""
        if self.fixed:
            return shuffled.choice(self.fixed)
        while True:
            with self.change:
                usual = dict(self.inputs.extents)
                self.inputs.extents = usual | {symbol: shuffled.randint(1, LARGEST) for symbol in self.symbols}
                feeds = self.inputs.sample(shuffled.randrange(1 << 30))
                self.inputs.extents = usual
            try:
                return feeds, self.runtime.run(None, feeds)
            except Exception:  # ONNX Runtime has no common base class for its errors
                continue


class Callers:
    """Threads that call one session until a point in time."""

    def __init__(self, session, inputs, seconds):
        self.session, self.inputs, self.end = session, inputs, time.monotonic() + seconds
        self.calls, self.different, self.errors, self.sizes = 0, 0, [], set()
        self.change = threading.Lock()

    def call(self, seed):
        shuffled = random.Random(seed)
        while time.monotonic() < self.end and not self.errors:
            feeds, expected = self.inputs.next(shuffled)
            try:
                outputs = self.session.run(None, feeds)
            except Exception as error:  # what is wrong with a call is a result here
                self.errors.append(str(error))
                return
            wrong = self.inputs.differ(outputs, expected)
            with self.change:
                self.calls += 1
                self.different += wrong
                self.sizes.add(tuple(array.shape for array in feeds.values()))

    def run(self, count):
        threads = [threading.Thread(target=self.call, args=(seed,)) for seed in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def child(options):
    [model] = options.models
    with lemma_session(model, options.threads, in_background=options.background) as session:
        inputs = Inputs(model, session, options.sizes)
        begin = time.monotonic()
        callers = Callers(session, inputs, options.seconds)
        memory = []
        watch = threading.Timer(options.seconds / 2, lambda: memory.append(resident_megabytes()))
        watch.start()
        callers.run(options.callers)
        watch.cancel()
        seconds = time.monotonic() - begin
        end = resident_megabytes()
    print(json.dumps({"calls": callers.calls, "sizes": len(callers.sizes), "seconds": seconds, "different": callers.different,
                      "before": memory[0] if memory else end, "after": end, "errors": callers.errors}))


# ---- All models ------------------------------------------------------------------------------------------------------

def measure(options, model, folder):
    with tempfile.TemporaryDirectory(prefix="lemma-soak-") as cache:
        environ = dict(os.environ, PYTHONPATH=str(folder), LEMMA_CACHE=cache)
        call = [sys.executable, __file__, model, "--child", "--callers", options.callers, "--threads", options.threads,
                "--seconds", options.seconds, *(["--sizes"] if options.sizes else []),
                *(["--background"] if options.background else [])]
        done = subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False, env=environ)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:200])
    return json.loads(done.stdout.splitlines()[-1])


def is_good(said):
    return not said["errors"] and not said["different"] and said["after"] <= said["before"] + max(32, said["before"] / 10)


def main():
    options = arguments()
    if options.child:
        child(options)
        return 0
    rows, failed = [], []
    print(f"{'model':24} {'callers':>7} {'seconds':>8} {'calls':>8} {'sizes':>6} {'different':>9} {'MB':>6} {'MB, end':>8}")
    with tempfile.TemporaryDirectory(prefix="lemma-package-") as name:
        package(options.lemma, Path(name))
        for model in options.models:
            try:
                said = measure(options, model, Path(name))
            except RuntimeError as error:
                failed.append(model.stem)
                print(f"{model.stem:24} {error}", flush=True)
                continue
            rows.append([model.stem, options.callers, round(said["seconds"]), said["calls"], said["sizes"], said["different"],
                         round(said["before"]), round(said["after"])])
            print(f"{model.stem:24} {options.callers:7} {said['seconds']:8.0f} {said['calls']:8} {said['sizes']:6} "
                  f"{said['different']:9} {said['before']:6.0f} {said['after']:8.0f}", *said["errors"][:1], flush=True)
            if not is_good(said):
                failed.append(model.stem)
    if failed:
        print(f"an error, other outputs, or growth: {', '.join(failed)}")
    results.update(options.result, rows)
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
