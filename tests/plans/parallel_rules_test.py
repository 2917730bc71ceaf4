#!/usr/bin/env python3
"""rules/parallel: the certificates hold for both checkers, and there is one for each rule but those that are named here."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "cli")]
import tested_programs

ROOT = Path(__file__).resolve().parents[2]
RULES, AXIOMS = ROOT / "rules" / "parallel", ROOT / "rules" / "axioms"
CHECK = None

# Proved from the definitions alone; with neither proof.
ONE_PROOF, NO_PROOF = {"a05_reduce_of_replicate"}, {"g03_gather_as_one_hot_product"}
# The second checker does not know Gather.
NOT_KNOWN_TO_SECOND = 2


class ParallelRules(unittest.TestCase):
    def test_there_is_a_certificate_for_each_rule(self):
        rules, certified = set(), set()
        for file in RULES.glob("*.rules"):
            rules |= set(re.findall(r"^rule (\w+)", file.read_text(), re.MULTILINE))
        for file in RULES.glob("*.certificates"):
            certified |= set(re.findall(r"^\s*rule (\w+)", file.read_text(), re.MULTILINE))
        self.assertEqual(rules - certified, ONE_PROOF | NO_PROOF)
        self.assertGreaterEqual(len(certified & rules), 60)

    def test_the_first_checker_accepts_all(self):
        done = subprocess.run([CHECK, "--axioms", AXIOMS, RULES], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"65 certificates hold: .*; 0 fail")

    def test_the_second_checker_accepts_what_it_knows(self):
        done = subprocess.run([sys.executable, ROOT / "checkers" / "lemma_check.py", "--axioms", AXIOMS, *sorted(RULES.glob("*.certificates"))],
                              capture_output=True, text=True)
        self.assertRegex(done.stdout, rf"{65 - NOT_KNOWN_TO_SECOND} certificates hold: .*; {NOT_KNOWN_TO_SECOND} fail")
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), NOT_KNOWN_TO_SECOND, done.stderr)
        for line in lines:
            self.assertIn("operator 'Gather' is not known to this checker", line)


if __name__ == "__main__":
    CHECK, rest = tested_programs.given(__doc__, "check")
    unittest.main(argv=[sys.argv[0], *rest])
