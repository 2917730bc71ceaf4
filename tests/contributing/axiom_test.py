#!/usr/bin/env python3
"""The worked example of "Add an axiom" in CONTRIBUTING.md: it is proved, its rounding class is told until it has one, and a rule that
needs it is proved by it."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import tested_programs

LEMMA, CHECKER = None, None
RULE = """rule with_the_axiom
  x : [A..]
  y : [A..]
  Sub(Max(x, y), Min(x, y)) => Abs(Sub(x, y))
"""


def example(name):
    return re.search(rf"<!-- example: {name} -->\n```text\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)[1]


class Axiom(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.rules = Path(folder.name, "rules")
        (self.rules / "axioms").mkdir(parents=True)
        (self.rules / "substitutions").mkdir()
        (self.rules / "substitutions" / "mine.rules").write_text(RULE)

    def verify(self, *words, code=0):
        done = subprocess.run([LEMMA, "rules", "verify", *words, "--rules", self.rules], capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_steps(self):
        (self.rules / "axioms" / "mine.axioms").write_text(example("axiom"))
        self.assertIn("1 of 1 axioms have an index proof", self.verify("--axioms", "--write").stdout)
        done = self.verify("--write")
        self.assertIn("axioms.rounding: there is no such table", done.stderr)
        self.assertRegex(done.stdout, r"with_the_axiom +proved +yes +yes +rounding")
        (self.rules / "axioms.rounding").write_text("distance_of_extremes  reassociation\n")
        done = self.verify("--axioms", "--write")
        done = self.verify("--write")
        self.assertEqual(done.stderr, "")
        self.assertRegex(done.stdout, r"with_the_axiom +proved +yes +yes +reassociation")
        folder = self.rules / "substitutions"
        checked = subprocess.run([CHECKER, "--axioms", self.rules / "axioms", "--rules", folder, folder], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertIn("0 fail", checked.stdout)

    def test_a_false_one_is_refused(self):
        (self.rules / "axioms" / "mine.axioms").write_text(example("axiom").replace("Abs(Sub(x, y))", "Sub(x, y)"))
        done = subprocess.run([LEMMA, "rules", "verify", "--axioms", "--write", "--rules", self.rules], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("0 of 1 axioms have an index proof", done.stdout + done.stderr)


if __name__ == "__main__":
    LEMMA, CHECKER, rest = tested_programs.given(__doc__, "lemma", "checker")
    unittest.main(argv=[sys.argv[0], *rest])
