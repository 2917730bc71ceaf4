#!/usr/bin/env python3
"""`lemma rules build --hand-written`: rules written by hand become part of the database.

Those that follow from what is found, and that the search finds without them, are named and marked as
not needed; the others are needed, or kept with a reason. What cannot be proved ends the job.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import few_axioms  # noqa: E402
from shipped_rules import certificates_in  # noqa: E402

# relu_of_permuted is an instance of what is found among the candidates; the other two are about an
# operator that no candidate has.
HAND_WRITTEN = """\
rule relu_of_permuted
  x : [n, m, k]
  Relu(Transpose{perm=[2, 0, 1]}(x)) = Transpose{perm=[2, 0, 1]}(Relu(x))

rule tanh_of_transpose
  x : [A..]
  group A : 0..4
  param p : permutation[len(A)]
  Tanh(Transpose{perm=p}(x)) = Transpose{perm=p}(Tanh(x))

rule tanh_of_transposed_matrix
  x : [n, m]
  Tanh(Transpose{perm=[1, 0]}(x)) = Transpose{perm=[1, 0]}(Tanh(x))
"""


def build(lemma, written, output, *extra):
    return subprocess.run(
        [lemma, "rules", "build", "--candidates", HERE / "candidates.rules", "--name", "test",
         "--rules", output.parent / "rules", "--hand-written", written, "-o", output, "--work", f"{output}.work", "--threads", "2", *extra],
        capture_output=True, text=True)


def check_marks(lemma, scratch):
    written, output = scratch / "written", scratch / "built"
    written.mkdir()
    (written / "hand.rules").write_text(HAND_WRITTEN)
    done = build(lemma, written, output, "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["hand_written"] == 3, figures
    report = json.loads((output / "test.report").read_text())
    assert report["hand_written_but_not_needed"] == ["relu_of_permuted", "tanh_of_transposed_matrix"], report
    assert (output / "substitutions" / "hand.rules").read_text() == HAND_WRITTEN
    for name in ("relu_of_permuted", "tanh_of_transpose"):
        assert name in certificates_in(output / "substitutions"), name
    listed = subprocess.run([lemma, "rules", "list", "--rules", output, "--json"],
                            capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    assert '"tanh_of_transpose"' in listed.stdout, listed.stdout
    return output


def check_own_folder(lemma, output):
    """The job may be given the folder that it writes: its own files are not hand-written."""
    before = {p: p.read_bytes() for p in output.rglob("*") if p.is_file()}
    done = build(lemma, output / "substitutions", output)
    assert done.returncode == 0, done.stderr
    after = {p: p.read_bytes() for p in output.rglob("*") if p.is_file()}
    assert before == after, [p for p in before if before[p] != after.get(p)]


def check_refusal(lemma, scratch):
    """A false one, and one that is no rule: one line, exit code 2, and nothing written."""
    for name, text, wanted in (
            ("false", "rule wrong\n  x : [n]\n  Relu(x) => x\n", "wrong"),
            ("broken", "rule wrong\n  x : [n\n  Relu(x) => x\n", "hand.rules:2")):
        written, output = scratch / name, scratch / f"{name}.built"
        written.mkdir()
        (written / "hand.rules").write_text(text)
        done = build(lemma, written, output)
        assert done.returncode == 2, (done.returncode, done.stderr)
        last = done.stderr.strip().splitlines()[-1]
        assert wanted in last, done.stderr
        assert not output.exists()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        few_axioms.write(scratch / "rules")
        output = check_marks(arguments.lemma, scratch)
        check_own_folder(arguments.lemma, output)
        check_refusal(arguments.lemma, scratch)


if __name__ == "__main__":
    sys.exit(main())
