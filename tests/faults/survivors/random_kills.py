#!/usr/bin/env python3
"""Ends commands at random moments, by signals and by limits, and counts the processes that are alive some seconds after.

Each command is run once to its end, which says how long it takes. Then it is started anew and sent a signal after a
random part of that time. A process belongs to a command if it has inherited a variable of its environment. Exit code 0
when none survived, else 4; --record writes the figures as JSON.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import tiny_models  # noqa: E402: found by the line above

EXAMPLE = ROOT / "examples" / "two_layer.onnx"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)
VARIABLE = "LEMMA_TEST_MARK"
ENDLESS = ("optimize, no ends", "run, limited")


class Commands:
    """What is ended, each in a folder of its own. `runs` is a number that no two calls share."""

    def __init__(self, lemma, folder):
        self.lemma, self.folder = lemma, folder
        self.models = []
        for i in range(4):
            self.models.append(folder / f"model{i}.onnx")
            shutil.copy(EXAMPLE, self.models[-1])
        self.endless = folder / "endless.onnx"
        self.endless.write_bytes(tiny_models.counting_loop(10**12))

    def signalled(self):
        """Name, and words that depend on the folder of a run."""
        return {
            "simplify": lambda out: ["simplify", *self.models, "--out-dir", out, "--jobs", "2"],
            "optimize": lambda out: ["optimize", *self.models[:2], "--out-dir", out, "--time-limit", "5"],
            "optimize, no ends": lambda out: ["optimize", self.endless, "-o", out / "o.onnx", "--no-measure",
                                              "--time-limit", "100000"],
            "run, compiled": lambda out: ["run", EXAMPLE, "--random", "1", "--engine", "rtask-cpu"],
            "run, limited": lambda out: ["run", self.endless, "--random", "1", "--time-limit", "100000"],
            "profile": lambda out: ["profile", EXAMPLE, "--database", out / "profile.sqlite", "--seconds", "3"],
            "profile, compiled": lambda out: ["profile", EXAMPLE, "--target", "rtask-cpu", "--database",
                                              out / "profile.sqlite", "--seconds", "3"],
        }

    def limited(self):
        """Those that a limit ends."""
        return {
            "--model-time-limit": lambda out, seconds: ["optimize", self.endless, "-o", out / "o.onnx", "--no-measure",
                                                        "--time-limit", "100000", "--model-time-limit", seconds],
            "--time-limit of optimize": lambda out, seconds: ["simplify", self.endless, "-o", out / "o.onnx",
                                                              "--time-limit", seconds],
            "--time-limit of run": lambda out, seconds: ["run", self.endless, "--random", "1", "--time-limit", seconds],
            "--time-limit, compiled": lambda out, seconds: ["run", EXAMPLE, "--random", "1", "--engine", "rtask-cpu",
                                                            "--time-limit", seconds],
        }


def survivors(mark):
    wanted = f"{VARIABLE}={mark}".encode()
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
        except OSError:
            pass
    return found


class Trials:
    def __init__(self, commands, folder, patience):
        self.commands, self.folder, self.patience = commands, folder, patience
        self.number = 0
        self.worst = 0.0  # seconds until the last process was gone
        self.failures = []

    def start(self, words_of, *more):
        self.number += 1
        out = self.folder / str(self.number)
        out.mkdir()
        mark = str(uuid.uuid4())
        environment = dict(os.environ, **{VARIABLE: mark}, LEMMA_CACHE=str(out / "cache"),
                           LEMMA_PROFILE=str(out / "profile.sqlite"))
        words = [self.commands.lemma, *map(str, words_of(out, *more))]
        # Other signals than those that are sent have their usual effect, whatever this process was started with.
        running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                                   restore_signals=True, preexec_fn=reset_signals)
        return running, mark, out

    def finish(self, name, running, mark, out):
        """Waits for the end, and then for that of all others. The pipe is read to its end: nobody may hold it open."""
        running.wait()
        ended = time.monotonic()
        alive = survivors(mark)
        while alive and time.monotonic() < ended + self.patience:
            time.sleep(0.005)
            alive = survivors(mark)
        self.worst = max(self.worst, time.monotonic() - ended)
        if alive:
            self.failures.append((name, alive))
            print(f"{name}: alive after {self.patience} s: {alive}", flush=True)
        for process, _ in alive:
            os.kill(process, signal.SIGKILL)
        running.stdout.read()
        running.stdout.close()
        shutil.rmtree(out)


def reset_signals():
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", required=True, help="the program")
    parser.add_argument("--kills", type=int, default=200, help="by signals and by limits (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=2, help="seconds (default: %(default)s)")
    parser.add_argument("--record", help="file of the figures")
    options = parser.parse_args()
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="lemma-survivors-") as name:
        folder = pathlib.Path(name)
        commands = Commands(options.lemma, folder)
        trials = Trials(commands, folder, options.patience)
        signalled, limited = list(commands.signalled().items()), list(commands.limited().items())
        length, counts = {}, {}
        for kill in range(options.kills):
            if kill % 4 == 3:
                what, words_of = limited[kill // 4 % len(limited)]
                trial = trials.start(words_of, f"{moments.uniform(0.05, 3):.3f}")
            else:
                what, words_of = signalled[kill % len(signalled)]
                if what not in length:
                    length[what] = 3.0 if what in ENDLESS else whole_length(trials, words_of)
                trial = trials.start(words_of)
                time.sleep(moments.uniform(0, length[what]))
                trial[0].send_signal(moments.choice(SIGNALS))
            trials.finish(what, *trial)
            counts[what] = counts.get(what, 0) + 1
    figures = {"kills": sum(counts.values()), "by command": counts, "survived": len(trials.failures),
               "seconds until all were gone, at most": round(trials.worst, 3)}
    print(json.dumps(figures, indent=2))
    if options.record:
        pathlib.Path(options.record).write_text(json.dumps(figures, indent=2) + "\n")
    return 4 if trials.failures else 0


def whole_length(trials, words_of):
    """Seconds that a command takes when nothing ends it, at most five: some never end."""
    running, mark, out = trials.start(words_of)
    begin = time.monotonic()
    try:
        running.wait(timeout=5)
    except subprocess.TimeoutExpired:
        running.kill()
    seconds = time.monotonic() - begin
    trials.finish("to its end", running, mark, out)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
