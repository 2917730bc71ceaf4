#!/usr/bin/env python3
"""scripts/new_operator in a copy of what says something about operators: what it writes compiles, what is missing is named, and
what cannot be is refused with nothing written."""

import argparse
import filecmp
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("operators", "cmake", "checkers", "rules/axioms", "rules/substitutions", "tests/operators", "tests/checkers",
           "tests/runtime", "tests/plans")
COMPILER = "c++"
RULE = """
rule of_the_test
  x : [A..]
  LogCosh(Neg(x)) => LogCosh(x)
"""


class NewOperator(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = Path(folder.name)
        for name in FOLDERS:
            shutil.copytree(ROOT / name, self.copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        (self.copy / "docs").mkdir()
        shutil.copy(ROOT / "docs" / "operators.md", self.copy / "docs")

    def run_script(self, *words, code=0):
        done = subprocess.run([sys.executable, ROOT / "scripts" / "new_operator", *words, "--root", self.copy],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def compile(self, source):
        done = subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-DFMT_SHARED", f"-I{self.copy}",
                               f"-I{ROOT}", self.copy / source], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_record_in_a_new_family(self):
        said = self.run_script("LogCosh", "--file", "hyperbolic", "--new")
        self.assertIn("docs/operators.md: no section LogCosh: scripts/docs writes it", said)
        self.assertIn("operators/hyperbolic.cpp:13: the skeleton's line is still there", said)
        self.assertIn("    helpers.cpp\n    hyperbolic.cpp\n", (self.copy / "operators" / "CMakeLists.txt").read_text())
        self.assertIn("operators::hyperbolic()})", (self.copy / "operators" / "all_operators.cpp").read_text())
        self.compile("operators/hyperbolic.cpp")
        self.compile("operators/all_operators.cpp")

    def test_what_rules_need_is_missing_until_it_is_written(self):
        self.run_script("LogCosh", "--file", "unary")
        self.compile("operators/unary.cpp")
        self.assertNotIn("checkers/", self.run_script("LogCosh", "--missing", code=4))
        (self.copy / "rules" / "substitutions" / "test.rules").write_text(RULE)
        said = self.run_script("LogCosh", "--missing", code=4)
        for named in ("checkers/second_checker/operators.py: no shape rule", "checkers/rule_evaluation/networks.py: no meaning",
                      "tests/checkers/rule_evaluation_test.py: no sample"):
            self.assertIn(named, said)
        self.run_script("LogCosh", "--for-rules")
        said = self.run_script("LogCosh", "--missing", code=4)
        self.assertNotIn("no meaning", said)
        self.assertRegex(said, r"checkers/rule_evaluation/networks.py:\d+: the skeleton's line is still there")
        done = subprocess.run([sys.executable, "-c", "from second_checker.operators import OPERATORS; print(OPERATORS['LogCosh'].operands)"],
                              cwd=self.copy / "checkers", capture_output=True, text=True)
        self.assertEqual(done.stdout, "(1, 1)\n", done.stderr)

    def test_nothing_is_missing_for_operators_that_are_there(self):
        for name in ("Relu", "Conv", "Shrink"):
            self.assertEqual(self.run_script(name, "--missing"), "nothing is missing\n")
        self.assertIn("no record is named Banana", self.run_script("Banana", "--missing", code=4))

    def test_an_example_and_a_section_that_are_removed_are_missing(self):
        (self.copy / "tests" / "operators" / "examples" / "Shrink.graph").unlink()
        document = self.copy / "docs" / "operators.md"
        document.write_text(document.read_text().replace("\n## Shrink\n", "\n"))
        self.assertIn("docs/operators.md: no section Shrink", self.run_script("Shrink", "--missing", code=4))

    def test_what_cannot_be_is_refused_and_nothing_is_written(self):
        for words, said in ((("Relu", "--file", "unary"), "has a record of Relu"), (("Other", "--file", "none"), "--new makes it"),
                            (("Other", "--file", "unary", "--new"), "is there already"), (("Other",), "--file FAMILY says where"),
                            (("other", "--file", "unary"), "no name of an operator"),
                            (("Other", "--file", "elementwise"), "has no table of records")):
            self.assertIn(said, self.run_script(*words, code=2))
        table = self.copy / "operators" / "all_operators.cpp"
        table.write_text(table.read_text().replace("operators::devices()})", "operators::devices() })"))
        self.run_script("Other", "--file", "new_family", "--new", code=2)
        for name in ("CMakeLists.txt", "families.h", "unary.cpp"):
            self.assertTrue(filecmp.cmp(ROOT / "operators" / name, self.copy / "operators" / name, shallow=False), name)
        self.assertFalse((self.copy / "operators" / "new_family.cpp").exists())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default=COMPILER)
    options, rest = parser.parse_known_args()
    COMPILER = options.compiler
    unittest.main(argv=[sys.argv[0], *rest])
