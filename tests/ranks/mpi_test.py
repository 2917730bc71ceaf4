#!/usr/bin/env python3
"""`mpirun -n N lemma rules build` and `generate`: the same bytes for any number of ranks; what ends them.

Skipped where lemma was built without MPI, or mpirun is missing.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import few_axioms  # noqa: E402

CANDIDATES = HERE.parent / "database" / "candidates.rules"
THEMES = ("elementwise", "elementwise_movement", "matmul")  # with most axioms that the few candidates need
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def on_ranks(count, command):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(count), *map(str, command)]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)


def spoken(errors):
    """What lemma itself says, without mpirun's explanations."""
    return [line for line in errors.splitlines() if line.startswith("lemma: ")]


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def build(lemma, scratch, name):
    return [lemma, "rules", "build", "--candidates", scratch / "few.rules", "--name", "test",
            "--rules", scratch / "rules", "-o", scratch / name, "--threads", "1", "--json"]


def check_build(lemma, scratch):
    """The result without mpirun, with which all others are compared."""
    done = run(build(lemma, scratch, "alone"))
    assert done.returncode == 0, done.stderr
    expected = contents(scratch / "alone")
    figures = json.loads(done.stdout)
    assert figures["proved"] >= 6 and figures["rules"] >= 8, figures
    for count in (1, 3):
        done = run(on_ranks(count, build(lemma, scratch, f"build{count}")))
        assert done.returncode == 0, done.stderr
        assert contents(scratch / f"build{count}") == expected, f"other bytes with {count} ranks"
        several = json.loads(done.stdout)  # one rank alone has printed
        assert several["ranks"] == count, several
        for key in ("candidates", "proved", "refuted", "rules", "basis"):
            assert several[key] == figures[key], (key, several, figures)
    return expected


def check_generate(lemma, scratch):
    def command(name, *words):
        return [lemma, "rules", "generate", "--set", "small", "--max-ops", "4", "-o", scratch / name,
                "--json", *words]

    alone = run(command("alone.rules"))
    assert alone.returncode == 0, alone.stderr
    expected, figures = (scratch / "alone.rules").read_bytes(), json.loads(alone.stdout)
    for count in (1, 3):
        done = run(on_ranks(count, command(f"{count}.rules")))
        assert done.returncode == 0, done.stderr
        several = json.loads(done.stdout)
        assert several["ranks"] == count and (several["sent_bytes"] > 0) == (count > 1), several
        for key in ("terms", "terms_by_operators", "groups", "equal_terms", "candidates", "operators"):
            assert several[key] == figures[key], (count, key, several[key], figures[key])
        assert (scratch / f"{count}.rules").read_bytes() == expected, count
    # As after a killed rank: some ranges of keys are finished. Another number of ranks has other ranges.
    work = scratch / "ranges"
    for count in (2, 3):
        done = run(on_ranks(count, command("resumed.rules", "--work", work)))
        assert done.returncode == 0, done.stderr
        assert (scratch / "resumed.rules").read_bytes() == expected, f"{count} ranks with a work folder"
        finished = sorted(work.glob("range_*.groups"))
        assert len(finished) >= 16, finished
        for file in finished[::3]:
            file.unlink()


def check_enumeration_in_build(lemma, scratch):
    def command(name):
        return [lemma, "rules", "build", "--set", "small", "--max-ops", "2", "--rules", scratch / "rules",
                "-o", scratch / name, "--threads", "1"]

    assert run(command("set")).returncode == 0
    done = run(on_ranks(2, command("set2")))
    assert done.returncode == 0, done.stderr
    assert contents(scratch / "set2") == contents(scratch / "set"), "other bytes with an enumeration"


def process_of_rank(launcher, rank):
    """The process that mpirun has started as this rank; it appears some time after mpirun."""
    wanted = f"OMPI_COMM_WORLD_RANK={rank}".encode()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for task in pathlib.Path(f"/proc/{launcher}/task").glob("*/children"):
            for child in task.read_text().split():
                try:
                    if wanted in pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
                        return int(child)
                except OSError:
                    pass
        time.sleep(0.01)
    raise AssertionError(f"rank {rank} did not start")


def check_kill(lemma, scratch, expected):
    """A rank that is killed ends the job; it is resumed from the answers in the journal, also with one rank."""
    command = build(lemma, scratch, "killed")
    journal = scratch / "killed.work" / "test.journal"
    for victim in (1, 0):
        before = journal.stat().st_size if journal.exists() else 0
        job = subprocess.Popen(on_ranks(2, command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, env=ENVIRONMENT)
        process = process_of_rank(job.pid, victim)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and job.poll() is None:
            if journal.exists() and journal.stat().st_size > before + 200:
                break
            time.sleep(0.002)
        assert job.poll() is None, "the job was done before its rank could be killed"
        os.kill(process, signal.SIGKILL)
        _, errors = job.communicate(timeout=60)
        assert job.returncode != 0, errors
        assert len(spoken(errors)) <= 1, errors
        assert f"rank {victim}" in errors and "signal 9" in errors, errors  # says mpirun
        assert not (scratch / "killed").exists(), "a job that was ended has written"
    done = run(on_ranks(2, command))
    assert done.returncode == 0, done.stderr
    assert "resuming: " in done.stderr, done.stderr
    assert contents(scratch / "killed") == expected, "other bytes after a rank was killed"


def check_refusals(lemma, scratch):
    for command, code, words in (
            ([lemma, "optimize", "x.onnx", "-o", "y.onnx"], 5, "started as 2 ranks"),
            ([lemma, "rules", "build", "--candidates", "/missing", "-o", scratch / "no"], 2, "/missing"),
            ([lemma, "rules", "build", "--nonsense"], 2, "--help lists")):
        done = run(on_ranks(2, command))
        assert done.returncode == code, (command, done.returncode, done.stderr)
        assert len(spoken(done.stderr)) == 1 and words in spoken(done.stderr)[0], done.stderr
    # As a lemma without MPI: the same program where the module is not beside it.
    alone = scratch / "elsewhere" / "bin" / "lemma"
    alone.parent.mkdir(parents=True)
    shutil.copy2(lemma, alone)
    done = run(on_ranks(2, build(alone, scratch, "no")))
    assert done.returncode == 5, done.stderr
    assert spoken(done.stderr) == ["lemma: started as 2 ranks, but this lemma was built without MPI"], \
        done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True, type=pathlib.Path)
    lemma = parser.parse_args().lemma
    if not (lemma.parent.parent / "lib" / "lemma" / "lemma_mpi.so").exists():
        print("skipped: lemma was built without MPI")
        return 77
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        few_axioms.write(scratch / "rules", THEMES)
        # Those with a convolution would take most of the time.
        comment, *rules = CANDIDATES.read_text().split("\n\nrule ")
        few = [rule for rule in rules if "Conv" not in rule][:8]
        (scratch / "few.rules").write_text("\n\nrule ".join([comment, *few]) + "\n")
        expected = check_build(lemma, scratch)
        check_enumeration_in_build(lemma, scratch)
        check_generate(lemma, scratch)
        check_kill(lemma, scratch, expected)
        check_refusals(lemma, scratch)
    print("the same bytes with 1, 2 and 3 ranks, and after ranks were killed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
