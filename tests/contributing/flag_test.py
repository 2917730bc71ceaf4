#!/usr/bin/env python3
"""The steps of "Add a flag of operators" in CONTRIBUTING.md, in copies of the files that they change: the records and the test that
have the flag compile with it."""

import argparse
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILER = "c++"


def example(name):
    block = re.search(rf"<!-- example: {name} -->\n *```cpp\n(.*?)\n *```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)[1]
    return textwrap.dedent(block)


class Flag(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = Path(folder.name)

    def change(self, name, old, new):
        text = (ROOT / name).read_text()
        self.assertEqual(text.count(old), 1, f"{name}: '{old}'")
        target = self.copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.replace(old, new))

    def errors(self, name):
        """Those of the compiler, which reads a changed file where there is one."""
        done = subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-DFMT_SHARED", f"-I{self.copy}", f"-I{ROOT}", self.copy / name],
                              capture_output=True, text=True, timeout=300)
        return done.stderr if done.returncode else ""

    def test_steps(self):
        flags = (ROOT / "ir" / "operator.h").read_text().partition("enum OperatorFlag")[2].partition("};")[0]
        bit = int(re.search(r"1U << (\d+)", example("flag"))[1])
        self.assertEqual(sorted(int(used) for used in re.findall(r"1U << (\d+)", flags)), list(range(bit)), "the next bit")
        self.assertNotIn(example("flag").split()[0], flags, "a flag that there is not yet")
        last = re.findall(r".+\n", flags)[-1]
        self.change("ir/operator.h", last, f"{last}  {example('flag')}\n")
        self.change("operators/unary.cpp", 'unary_record<"Abs", TypeSet::numeric, absolute>("absolute value"),', example("flag-record"))
        self.assertEqual(self.errors("operators/unary.cpp"), "")
        test = "}  // namespace\n}  // namespace lemma"
        self.change("tests/operators/flags_test.cpp", test, f"{example('flag-test')}\n\n{test}")
        self.assertEqual(self.errors("tests/operators/flags_test.cpp"), "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default=COMPILER)
    options, rest = parser.parse_known_args()
    COMPILER = options.compiler
    unittest.main(argv=[sys.argv[0], *rest])
