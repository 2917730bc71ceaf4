#!/usr/bin/env python3
"""`lemma rules build`: the same bytes for any number of threads, and after being killed.

The job is killed with SIGKILL at 10 random moments, started again each time, and its result compared
with that of a job that was left alone. A damaged journal is used as far as it is good. The whole job has all
axioms; the job that is done again and again has those of a few themes, and every second of the candidates without
convolutions, which take most of the time of the whole one.
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

HERE = pathlib.Path(__file__).resolve().parent
KILLS = 2
sys.path.insert(0, str(HERE.parent))
import few_axioms  # noqa: E402
from shipped_rules import certificates_in  # noqa: E402


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


class Job:
    """`lemma rules build` of the candidates of a file, with the axioms of a folder (none: the shipped ones)."""

    def __init__(self, lemma, candidates, rules=None):
        self.words = [lemma, "rules", "build", "--candidates", str(candidates), "--name", "test", "--json"]
        self.words += ["--rules", str(rules)] if rules else []

    def command(self, work, output, threads=2):
        return [*self.words, "-o", str(output), "--work", str(work), "--threads", str(threads)]

    def run(self, work, output, threads=2):
        done = subprocess.run(self.command(work, output, threads), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def short_job(lemma, scratch):
    comment, *candidates = (HERE / "candidates.rules").read_text().split("\n\nrule ")
    file = scratch / "short.rules"
    file.write_text("\n\nrule ".join([comment, *[one for one in candidates if "Conv" not in one][1::2]]))
    themes = [theme for theme in few_axioms.THEMES if theme != "convolution"]
    return Job(lemma, file, few_axioms.write(scratch / "axioms", themes))


def check_figures(figures):
    assert figures["candidates"] == 29, figures
    assert figures["refuted"] == 1, figures
    assert figures["proved"] + figures["refuted"] + figures["unknown"] == 29, figures
    assert figures["unknown"] <= 2, figures
    assert figures["rules"] >= 20 and figures["peak_rss_bytes"] > 0, figures
    for key in ("graphs", "classes", "cpu_seconds"):
        assert key in figures, figures


def check_rules(folder):
    """What the machine has to find."""
    text = "".join(p.read_text() for p in sorted((folder / "substitutions").glob("*.rules")))
    for wanted in (
            # any permutation
            "Relu(Transpose{perm=p1}(x1)) = Transpose{perm=p1}(Relu(x1))",
            # any axis, any sizes
            "Concat{axis=len(A)}(Relu(x1), Relu(x2)) = Relu(Concat{axis=len(A)}(x1, x2))",
            # strides, pads, dilations, groups, spatial axes
            "Add(Conv{dilations=p1, group=n2, pads=p2, strides=p3}(x1, x2), "
            "Conv{dilations=p1, group=n2, pads=p2, strides=p3}(x3, x2)) = "
            "Conv{dilations=p1, group=n2, pads=p2, strides=p3}(Add(x1, x3), x2)",
            # two outputs, composed of rules with one: merged projections
            "MatMul(x1, x2) & MatMul(x1, x3) => t1#0 & t1#1"):
        assert wanted in text, f"not found: {wanted}\n{text}"
    marks = (folder / "substitutions.derived").read_text()
    assert " from " in marks and ": " in marks, marks


def check_loads(lemma, folder):
    done = subprocess.run([lemma, "rules", "list", "--rules", str(folder), "--json"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = {rule["name"] for rule in json.loads(done.stdout)["rules"]}
    certificates = set(certificates_in(folder / "substitutions"))
    assert names == certificates, names ^ certificates


def check_kills(short, scratch, expected, seconds):
    chance = random.Random(20)
    work, output = scratch / "killed.work", scratch / "killed"
    hits = 0
    while hits < KILLS:
        job = subprocess.Popen(short.command(work, output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            job.wait(timeout=chance.uniform(0.0, 0.6 * seconds))
            assert contents(output) == expected, f"other bytes after {hits} kills"
            shutil.rmtree(work)
            shutil.rmtree(output)
            continue
        except subprocess.TimeoutExpired:
            job.send_signal(signal.SIGKILL)
            hits += 1
        job.wait()
        journal = work / "test.journal"
        if journal.exists() and chance.random() < 0.3:  # a torn last line
            data = journal.read_bytes()
            journal.write_bytes(data[:max(0, len(data) - chance.randrange(1, 200))])
    short.run(work, output)
    assert contents(output) == expected, "other bytes after kills"


def check_damaged_journal(short, scratch, expected):
    work, output = scratch / "short.work", scratch / "damaged"
    journal = work / "test.journal"
    data = bytearray(journal.read_bytes())
    data[len(data) // 2] ^= 1
    journal.write_bytes(bytes(data) + b"0123 torn")
    short.run(work, output)
    assert contents(output) == expected, "other bytes with a damaged journal"


def check_interruption(short, scratch):
    """Ctrl-C ends the job at once, with a code of its own; nothing is written."""
    work, output = scratch / "interrupted.work", scratch / "interrupted"
    job = subprocess.Popen(short.command(work, output), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (work / "test.journal").exists() and job.poll() is None:
        time.sleep(0.01)
    time.sleep(0.05)
    job.send_signal(signal.SIGINT)
    _, errors = job.communicate(timeout=30)
    assert job.returncode == 3, (job.returncode, errors)
    assert "interrupted" in errors, errors
    assert not output.exists()


def check_killed_enumeration(lemma, scratch):
    """The enumeration is a step of its own, in a process of its own: it goes on as well."""
    axioms = few_axioms.write(scratch / "fewer_axioms", ("elementwise", "elementwise_movement", "matmul"))

    def build(name):
        return [lemma, "rules", "build", "--set", "small", "--max-ops", "3", "--rules", str(axioms), "--threads", "2",
                "--json", "-o", str(scratch / name), "--work", str(scratch / f"{name}.work")]

    done = subprocess.run(build("set"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kept = scratch / "set_killed.work" / "small.3.enumeration"
    hits = 0
    chance = random.Random(7)
    for _ in range(200):
        # Where others have the processors, the one that kills is to be woken up first.
        job = subprocess.Popen(build("set_killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: os.nice(19))
        while job.poll() is None and not (kept / "joined.journal").exists():
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.1))
        job.send_signal(signal.SIGKILL)
        job.wait()
        hits += kept.exists() and any(kept.glob("*.groups"))
        if hits == 1:
            break
        if (kept.parent / "small.3.json").exists():  # too late: from the beginning
            shutil.rmtree(kept.parent)
    assert hits == 1, hits
    done = subprocess.run(build("set_killed"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert contents(scratch / "set_killed") == contents(scratch / "set"), "other bytes after kills"
    assert not kept.exists(), "what the enumeration kept is left behind"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    lemma = parser.parse_args().lemma
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        check_figures(Job(lemma, HERE / "candidates.rules").run(scratch / "whole.work", scratch / "whole"))
        check_rules(scratch / "whole")
        check_loads(lemma, scratch / "whole")
        short = short_job(lemma, scratch)
        begin = time.monotonic()
        figures = short.run(scratch / "short.work", scratch / "short")
        seconds = time.monotonic() - begin
        assert figures["refuted"] == 1 and figures["proved"] >= 8 and figures["one_proof"] > 0, figures
        expected = contents(scratch / "short")
        short.run(scratch / "one.work", scratch / "one", threads=1)
        assert contents(scratch / "one") == expected, "other bytes with one thread"
        check_interruption(short, scratch)
        check_kills(short, scratch, expected, seconds)
        check_damaged_journal(short, scratch, expected)
        check_killed_enumeration(lemma, scratch)
    print(f"identical bytes after {KILLS} kills of a job of {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
