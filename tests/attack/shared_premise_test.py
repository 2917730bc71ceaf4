#!/usr/bin/env python3
"""Claims and records that rested on a premise nobody checked, as they were found (../shared/audit3 and
../shared/library, or below $LEMMA_SHARED): numbers taken for parameters, rounded constants, an operator whose digest
covered nothing. Without these folders the test is skipped; tests/attack/false/opaque_reals.axioms and
exact_constants.axioms say the same in the words of this project."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("LEMMA_SHARED", ROOT.parent / "shared"))
AUDIT, LIBRARY = SHARED / "audit3", SHARED / "library"
LEMMA = CHECKER = None


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=ROOT)


def names_in(file, kind):
    return re.findall(rf"(?m)^{kind} (\w+)", file.read_text())


class Premise(unittest.TestCase):
    def not_proved(self, file):
        done = run(LEMMA, "rules", "verify", file)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        names = names_in(file, "rule")
        lines = {line.split()[0]: line for line in done.stdout.split("\n") if line.split()[:1]}
        for name in names:
            self.assertTrue(" proved " not in lines[name] or " under " in lines[name], lines[name])
        return names

    def test_false_rules_are_not_proved(self):
        self.assertGreaterEqual(len(self.not_proved(AUDIT / "false.rules")), 5)

    def test_rounded_sums_are_not_proved(self):
        self.not_proved(AUDIT / "round_sum.rules")

    def test_the_certificate_of_a_rounded_sum_is_refused_by_both_checkers(self):
        file = AUDIT / "round_sum.certificates"
        for done in (run(CHECKER, "--axioms", ROOT / "rules" / "axioms", file),
                     run(sys.executable, ROOT / "checkers" / "lemma_check.py", file)):
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)

    def test_false_axioms_have_no_index_proof(self):
        with tempfile.TemporaryDirectory(prefix="lemma-premise-") as folder:
            folder = pathlib.Path(folder)
            (folder / "axioms").mkdir()
            (folder / "substitutions").mkdir()
            shutil.copy(AUDIT / "false.axioms", folder / "axioms")
            done = run(LEMMA, "rules", "verify", "--axioms", "--rules", folder)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn(f"0 of {len(names_in(AUDIT / 'false.axioms', 'axiom'))} ", done.stdout + done.stderr)

    def test_a_proof_about_a_meaning_of_which_nothing_was_recorded_is_refused(self):
        folder = LIBRARY / "stale_proof"
        listed = run(LEMMA, "rules", "list", "--rules", folder)
        self.assertNotEqual(listed.returncode, 0, listed.stdout)
        self.assertIn("affine_grid_of_neg", listed.stdout + listed.stderr)
        file = folder / "substitutions" / "a.certificates"
        for done in (run(CHECKER, "--axioms", folder / "axioms", file),
                     run(sys.executable, ROOT / "checkers" / "lemma_check.py", "--axioms", folder / "axioms", file)):
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.assertIn("grid_of_negated", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--checker", required=True)
    arguments, rest = parser.parse_known_args()
    LEMMA, CHECKER = arguments.lemma, arguments.checker
    if not AUDIT.is_dir() or not LIBRARY.is_dir():
        print(f"{AUDIT} or {LIBRARY} is not there")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
