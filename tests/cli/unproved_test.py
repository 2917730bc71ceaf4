#!/usr/bin/env python3
"""`lemma optimize --unproved FILE`: rules without proof are used, and everything that is said of the result names them."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, node, tensor_type

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SECOND = ROOT / "checkers" / "lemma_check.py"
LEMMA = CHECKER = None
# True, and nothing that the shipped rules would not find; false.
TRUE = "rule added_zeros\n  x : [A..]\n  Sub(Add(x, x), x) => x\n"
FALSE = "rule no_sign\n  x : [A..]\n  Neg(x) => x\n"


def run(*call):
    return subprocess.run(list(map(str, call)), capture_output=True, text=True, timeout=300)


class Unproved(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-unproved-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        vector = tensor_type(F32, [64])
        self.model = self.folder / "model.onnx"
        self.model.write_bytes(tiny_models.model(
            [node("Add", ["x", "x"], ["s"]), node("Sub", ["s", "x"], ["t"]), node("Neg", ["t"], ["y"])],
            [("x", vector)], [("y", vector)]))
        self.output, self.explanation = self.folder / "out.onnx", self.folder / "it.explanation"

    def optimize(self, rules, *options):
        file = self.folder / "mine.rules"
        file.write_text(rules)
        done = run(LEMMA, "optimize", self.model, "-o", self.output, "--no-measure", "--no-second-judge", "--json", "--explain",
                   self.explanation, "--only-rules", "added_zeros|no_sign", "--unproved", file, *options)
        return done, json.loads(done.stdout)["models"][0] if done.stdout else None

    def test_a_result_names_them(self):
        page = self.folder / "report.html"
        done, figures = self.optimize(TRUE, "--report", page)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(figures["rules_without_proof"], ["added_zeros"])
        self.assertLess(figures["after"]["operators"], figures["before"]["operators"])
        self.assertIn("which have no proof: added_zeros", done.stderr)
        self.assertIn("Without proof: added_zeros.", page.read_text())

    def test_no_checker_accepts_the_explanation(self):
        self.optimize(TRUE)
        self.assertIn("outside rule 'added_zeros': it is taken without proof", self.explanation.read_text())
        few = self.folder / "few"
        few.mkdir()
        smallest = min((ROOT / "rules" / "substitutions").glob("*.certificates"), key=lambda file: file.stat().st_size)
        for file in (smallest, smallest.with_suffix(".rules")):
            shutil.copy(file, few)
        for checker in ([CHECKER], [sys.executable, SECOND]):
            words = (*checker, "--axioms", ROOT / "rules" / "axioms", "--rules", few, few)
            self.assertEqual(run(*words).returncode, 0)
            done = run(*words, self.explanation)
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.assertIn("added_zeros", done.stdout + done.stderr)

    def test_false_ones_are_caught_by_the_check(self):
        done, figures = self.optimize(FALSE)
        self.assertEqual((done.returncode, figures["status"]), (4, "mismatch"), done.stderr)
        self.assertEqual(figures["rules_without_proof"], [])
        self.assertEqual(figures["rules_used"], {})

    def test_unused_ones_change_nothing(self):
        done, figures = self.optimize("rule unused_no_sign\n  x : [A..]\n  Exp(Log(Tanh(x))) => Tanh(x)\n")
        self.assertEqual((done.returncode, figures["rules_without_proof"]), (0, []), done.stderr)

    def test_bad_files_are_refused(self):
        for text, line in (("rule broken\n  x : [A..]\n  Nag(x) => x\n", "mine.rules:3"),
                           ("rule neg_of_transpose\n  x : [A..]\n  Relu(x) => x\n", "is another one than the one of this name")):
            done, _ = self.optimize(text)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(line, done.stderr)
            self.assertFalse(self.output.exists())


if __name__ == "__main__":
    LEMMA, CHECKER, words = tested_programs.given(__doc__, "lemma", "checker")
    unittest.main(argv=[sys.argv[0], *words])
