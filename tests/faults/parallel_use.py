#!/usr/bin/env python3
"""Two to eight processes at once over everything that they can share: a folder of results, one result, the cache of
compiled programs, the profile database, a report, the record of what is done, a folder of rules, an emitted program.

Every round begins with a new folder and starts its processes at the same moment. A round is wrong if a result is not
that of its model, or is no whole file, or if something is left that no process would have left alone; it is refused if
a process does not exit with 0. Processes and models are drawn with --seed.

Exit codes: 0 no round is wrong or refused, 4 otherwise.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import commands
import sandbox

NO_JUDGE = ["--no-second-judge", "--time-limit", "600"]  # a busy machine must not change what is found
NO_TIMES = ["--no-measure", "--threads", "1", *NO_JUDGE]


class Round:
    """Processes that begin at once, and what was found afterwards."""

    def __init__(self, lemma, box, random_numbers, processes):
        self.lemma, self.box, self.random, self.processes = lemma, box, random_numbers, processes
        self.work = box.work
        self.wrong, self.refused = [], []

    def command(self, *words):
        return [self.lemma, *map(str, words)]

    def run(self, *words):
        return subprocess.run(self.command(*words), cwd=self.work, env=self.box.environment(), capture_output=True,
                              text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=3600)

    def at_once(self, calls, **environment):
        """Runs the calls, each a list of words of lemma; those that do not exit with 0 are refused."""
        started = [subprocess.Popen(self.command(*call), cwd=self.work, env=self.box.environment(**environment),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    errors="replace") for call in calls]
        outputs = []
        for call, process in zip(calls, started):
            out, error = process.communicate(timeout=3600)
            outputs.append(out)
            if process.returncode != 0:
                self.refused.append(f"`{' '.join(map(str, call))}` exits with {process.returncode}: {error.strip()[:300]}")
        return outputs

    def expect_equal(self, model, result):
        done = self.run("compare", model, result)
        if done.returncode != 0:
            self.wrong.append(f"{model} and {result}: {(done.stdout + done.stderr).strip()[:300]}")

    def expect_clean(self):
        """Nothing temporary; an emitted program has a list of its files."""
        left = [path for path in self.box.contents()
                if path.startswith(sandbox.TEMPORARY + "/") and not path.endswith(".lock") or
                path.endswith((".tmp", "-journal", "-wal", "-shm")) or "/." in path or ".partial" in path]
        left = [path for path in left if not path.endswith("/.lemma-files")]
        if left:
            self.wrong.append(f"left: {', '.join(sorted(left)[:5])}")

    def models(self, count, data="weights.bin"):
        """In a folder each, all with their weights in a file of the same name."""
        files = [pathlib.Path(f"from_{i}", f"model_{i}.onnx") for i in range(count)]
        for i, file in enumerate(files):
            commands.write_model(self.work / file, seed=i, data=data)
        return files


def results_in_one_folder(each):
    """Each process has two models, whose data files have one name."""
    models = each.models(2 * each.processes)
    verb = each.random.choice((["simplify", *NO_JUDGE], ["optimize", *NO_TIMES]))
    each.at_once([[*verb, *models[2 * i:2 * i + 2], "--out-dir", "out", "--jobs", each.random.choice("12")]
                  for i in range(each.processes)])
    for model in models:
        each.expect_equal(model, f"out/{model.name}")


def one_result(each):
    """The same model to the same file."""
    model, = each.models(1)
    each.at_once([["simplify", model, "-o", "result.onnx", *NO_JUDGE]] * each.processes)
    each.expect_equal(model, "result.onnx")


def different_models_to_one_result(each):
    """The result is that of one of them."""
    models = each.models(each.processes)
    each.at_once([["simplify", model, "-o", "result.onnx", *NO_JUDGE] for model in models])
    if not any(each.run("compare", model, "result.onnx").returncode == 0 for model in models):
        each.wrong.append("the result is that of no model")


def report(each):
    models = each.models(each.processes)
    each.at_once([["optimize", model, "-o", f"out_{i}.onnx", "--report", "report.json", *NO_TIMES]
                  for i, model in enumerate(models)])
    try:
        told = json.loads((each.work / "report.json").read_text())
        names = [one["model"] for one in told["models"]]
    except (OSError, ValueError, KeyError) as error:
        each.wrong.append(f"the report cannot be read: {error}")
        return
    if names not in [[str(model)] for model in models]:
        each.wrong.append(f"the report is of {names}")


def record(each):
    """The same batch in the same folder, some of them going on with what the others did."""
    models = each.models(4)
    each.at_once([["optimize", *models, "--out-dir", "out", *["--resume"] * each.random.randrange(2), *NO_TIMES]
                  for _ in range(each.processes)])
    for model in models:
        each.expect_equal(model, f"out/{model.name}")


def compiled_programs(each):
    """Some have the same model, so that they build the same program."""
    models = each.models(2)
    chosen = [each.random.choice(models) for _ in range(each.processes)]
    quick = each.box.root / "compiler"
    quick.write_text('#!/bin/sh\nexec c++ "$@" -O0\n')
    quick.chmod(0o755)
    each.at_once([["run", model, "--random", "1", "--engine", "rtask-cpu", "--outputs", f"built_{i}"]
                  for i, model in enumerate(chosen)], CXX=str(quick))
    for i, model in enumerate(chosen):
        done = each.run("run", model, "--random", "1", "--compare", f"built_{i}")
        if done.returncode != 0:
            each.wrong.append(f"process {i} computed another result: {(done.stdout + done.stderr).strip()[:300]}")


def profile_database(each):
    """Processes create, fill, read and close it."""
    model, = each.models(1, data=None)
    if not MEASURED:
        done = each.run("profile", model, "--seconds", "0.01", "--database", "first.sqlite", "--export", "times.json")
        assert done.returncode == 0, done.stderr
        MEASURED.append((each.work / "times.json").read_bytes())
    (each.work / "times.json").write_bytes(MEASURED[0])
    database = ["--database", "times.sqlite"]
    calls = [["profile", "--import", "times.json", *database], ["profile", "--list", *database],
             ["profile", "--export", "exported.json", *database],
             ["optimize", model, "-o", "out.onnx", "--target", "onnxruntime-cpu", "--costs", "measured", *database,
              *NO_TIMES]]
    each.at_once([calls[0], *(each.random.choice(calls) for _ in range(each.processes - 1))])
    each.run("profile", "--export", "afterwards.json", *database)
    exported = each.work / "afterwards.json"
    if not exported.exists() or json.loads(exported.read_text()) != json.loads(MEASURED[0]):
        each.wrong.append("the database does not hold what was taken in")


MEASURED = []  # what `profile --export` wrote, once


def rules(each):
    """Proved by several at once, and listed meanwhile."""
    commands.rule_folder(each.work, 0)
    verify = ["rules", "verify", "--write", "--threads", "1", "--rules", "rules"]
    records = each.work / "rules" / "substitutions.proofs"
    assert each.run(*verify).returncode == 0
    alone = records.read_bytes()
    each.at_once([each.random.choice((verify, ["rules", "list", "--rules", "rules"])) for _ in range(each.processes)])
    if records.read_bytes() != alone:
        each.wrong.append("the records are not those of one process alone")


def built_rules(each):
    """The same job in the same folder."""
    commands.candidates(each.work, 0)
    each.at_once([["rules", "build", "--candidates", "candidates.rules", "--rules", "axioms", "--name", "mine", "-o", "built",
                   "--threads", "1"]] * each.processes)
    done = each.run("rules", "list", "--rules", "built")
    if done.returncode != 0:
        each.wrong.append(f"the rules cannot be loaded: {done.stderr.strip()[:300]}")


def new_emitted_program(each, is_there=False):
    """The same program to the same folder, which no process has made yet."""
    def files(name):
        folder = each.work / name
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    model, = each.models(1, data=None)
    words = ["emit", model, "--replace", "--threads", "2", "--name", "net", "-o"]
    for name in ("alone", "program")[:1 + is_there]:
        assert each.run(*words, name).returncode == 0
    each.at_once([[*words, "program"]] * each.processes)
    if files("program") != files("alone"):
        each.wrong.append("the emitted program is not that of one process alone")


def emitted_program(each):
    """The same program over an older one."""
    new_emitted_program(each, is_there=True)


SHARED = {function.__name__: function for function in (
    results_in_one_folder, one_result, different_models_to_one_result, report, record, compiled_programs, profile_database,
    rules, built_rules, new_emitted_program, emitted_program)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", required=True, type=pathlib.Path)
    parser.add_argument("--only", nargs="*", default=list(SHARED), choices=list(SHARED), metavar="SHARED",
                        help=", ".join(SHARED))
    parser.add_argument("--rounds", type=int, default=200, help="of each")
    parser.add_argument("--processes", type=int, help="of every round (default: 2 to 8)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = False
    for name in options.only:
        begin, wrong, refused, shown, processes = time.monotonic(), 0, 0, [], 0
        for number in range(options.rounds):
            random_numbers = random.Random(f"{options.seed} {name} {number}")
            with tempfile.TemporaryDirectory(prefix="lemma-parallel-") as folder:
                each = Round(options.lemma, sandbox.Sandbox(pathlib.Path(folder, "sandbox")), random_numbers,
                             options.processes or random_numbers.randint(2, 8))
                SHARED[name](each)
                each.expect_clean()
            processes += each.processes
            wrong += bool(each.wrong)
            refused += bool(each.refused)
            shown += [f"  round {number}, {each.processes} processes: {what}" for what in each.wrong + each.refused]
        print(f"{name}: {options.rounds} rounds, {processes} processes, {wrong} wrong, {refused} refused, "
              f"{time.monotonic() - begin:.0f} s", flush=True)
        print("\n".join(shown[:20]), end="\n" if shown else "", flush=True)
        failed |= bool(shown)
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
