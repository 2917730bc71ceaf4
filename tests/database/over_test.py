#!/usr/bin/env python3
"""`lemma rules build --over`: only what does not follow from a database is written, and `lemma optimize --rules` takes both.
Names of files and folders that cannot be written are refused before anything is proved.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "cli")]
import few_axioms  # noqa: E402
import tiny_models  # noqa: E402
from tiny_models import F32, integers_attribute, node, tensor_type  # noqa: E402

SET = """set first
input x y : [2, 3]
limit elements 12
limit operators 2

operator relu
  u : [S..]
  Relu(u)
"""
MORE = SET.replace("set first", "set second") + """
operator swap
  u : [a, b]
  Transpose{perm=[1, 0]}(u)
"""


def call(lemma, *words, code=0):
    done = subprocess.run([lemma, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done


def names_in(lemma, folder):
    return {rule["name"] for rule in json.loads(call(lemma, "rules", "list", "--rules", folder, "--json").stdout)["rules"]}


def build(lemma, scratch, set_file, output, *extra, code=0):
    return call(lemma, "rules", "build", "--set", set_file, "--rules", scratch / "rules", "-o", output, "--json", *extra, code=code)


def check_over(lemma, scratch):
    first, second = scratch / "first.set", scratch / "second.set"
    first.write_text(SET)
    second.write_text(MORE)
    build(lemma, scratch, first, scratch / "a")
    whole = json.loads(build(lemma, scratch, second, scratch / "whole").stdout)
    over = json.loads(build(lemma, scratch, second, scratch / "b", "--over", scratch / "a").stdout)
    known, new = names_in(lemma, scratch / "a"), names_in(lemma, scratch / "b")
    assert known and new and not known & new, (known, new)
    assert over["proved_from_rules_before"] > whole["proved_from_rules_before"], (over, whole)
    assert over["rules"] < whole["rules"], (over, whole)
    nothing = json.loads(build(lemma, scratch, first, scratch / "c", "--over", scratch / "a", "--over", scratch / "b").stdout)
    assert nothing["rules"] == 0 and nothing["unknown"] == 0, nothing
    return scratch / "a", scratch / "b"


def check_optimize(lemma, scratch, folders):
    """The rule that moves Relu past Transpose stands in the second database; that Relu twice is Relu, in the first."""
    model, report = scratch / "model.onnx", scratch / "report.json"
    nodes = [node("Relu", ["x"], ["a"]), node("Transpose", ["a"], ["b"], attributes=[integers_attribute("perm", [1, 0])]),
             node("Relu", ["b"], ["y"])]
    model.write_bytes(tiny_models.model(nodes, [("x", tensor_type(F32, [4, 6]))], [("y", tensor_type(F32, [6, 4]))]))
    counts = []
    for rules in (folders[:1], folders):
        words = [word for folder in rules for word in ("--rules", folder)]
        call(lemma, "optimize", model, "-o", scratch / "out.onnx", "--target", "cpu", "--report", report, *words)
        counts.append(json.loads(report.read_text())["models"][0]["after"]["operators"])
    assert counts == [3, 2], counts
    rules = next((folders[0] / "substitutions").glob("*.rules"))
    assert "no folder" in call(lemma, "optimize", model, "-o", scratch / "out.onnx", "--rules", rules, code=2).stderr


def check_diff(lemma, scratch, folders):
    """What the second database proves does not follow from the first; the page has pictures of both sides."""
    page = scratch / "diff.html"
    sides = json.loads(call(lemma, "rules", "diff", *folders, "--json", "-o", page).stdout)["databases"]
    assert [side["rules"] for side in sides] == [len(names_in(lemma, folder)) for folder in folders], sides
    assert sides[0]["only"] and sides[1]["only"], sides
    assert page.read_text().count("<svg") >= 2 * len(sides[1]["only"]), page
    same = json.loads(call(lemma, "rules", "diff", folders[0], folders[0], "--json").stdout)["databases"]
    assert not any(side["only"] for side in same), same
    assert "no folder" in call(lemma, "rules", "diff", folders[0], scratch / "none", code=2).stderr


def check_refusals(lemma, scratch):
    first = scratch / "first.set"
    for name in ("../evil", "a/b", "", ".hidden", "x" * 200):
        refused = build(lemma, scratch, first, scratch / "refused", "--name", name, code=2)
        assert "is no name" in refused.stderr, refused.stderr
    file = scratch / "a_file"
    file.write_text("")
    refused = build(lemma, scratch, first, file / "out", "--work", scratch / "refused.work", code=2)
    assert "candidates" not in refused.stderr, refused.stderr
    assert "no folder" in build(lemma, scratch, first, scratch / "refused", "--over", scratch / "none", code=2).stderr
    assert not (scratch / "refused").exists()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True)
    lemma = parser.parse_args().lemma
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        few_axioms.write(scratch / "rules", few_axioms.THEMES)
        folders = check_over(lemma, scratch)
        check_optimize(lemma, scratch, folders)
        check_diff(lemma, scratch, folders)
        check_refusals(lemma, scratch)


if __name__ == "__main__":
    main()
