#!/usr/bin/env python3
"""The reference of the library can be made, no comment in a public header is wrong, and not more names are without one than
there were."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
MOST_WITHOUT_COMMENT = 0  # public names
sys.path.insert(0, str(ROOT / "scripts"))

import reference_filter  # noqa: E402: after the path


class Filter(unittest.TestCase):
    def check(self, source, wanted):
        self.assertEqual("\n".join(reference_filter.filtered(source.splitlines())), wanted)

    def test_the_first_comment_is_that_of_the_file(self):
        self.check("#pragma once\n// Costs.\n// All of them.\n\n// ---- One\nint a;",
                   "#pragma once\n/// \\file\n/// Costs.\n/// All of them.\n\n// ---- One\nint a;")

    def test_comments_behind_declarations(self):
        self.check("int a;  // how many\n        // there are\nint b;\n// Not of b.",
                   "int a;  ///< how many\n///< there are\nint b;\n// Not of b.")
        self.check("enum A {\n  one,  // the first\n};", "enum A {\n  one,  ///< the first\n};")

    def test_comments_behind_what_a_line_opens(self):
        self.check("struct A {  // of A\n  int a;\n};", "/** of A */ struct A {\n  int a;\n};")
        self.check("struct A {  // of A\n            // still\n};",
                   "/** of A still */ struct A {\n            // still\n};")
        self.check("enum class A { one, two };  // of A", "/** of A */ enum class A { one, two };")

    def test_several_variables_of_one_declaration(self):
        each = "int a = 0;  /**< of both */ int b;  /**< of both */"
        self.check("int a = 0, b;  // of both", each)
        self.check("/// of both\nint a = 0, b;", "/// of both\n" + each)
        self.check("int a = 0, b;\nint f(int a, int b);", "int a = 0, b;\nint f(int a, int b);")

    def test_numbers_of_outputs_are_no_links(self):
        self.check("/// As in `both#0`.\nint a;", "/// As in `both\\#0`.\nint a;")


class Reference(unittest.TestCase):
    def test_it_is_made(self):
        with tempfile.TemporaryDirectory(prefix="lemma-reference-") as folder:
            done = subprocess.run([ROOT / "scripts" / "reference", "--out", folder], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            pages = pathlib.Path(folder)
            self.assertTrue((pages / "index.html").exists())
            page = (pages / "structlemma_1_1OptimizeOptions.html").read_text()
            self.assertIn("Another thread sets it to end the call soon", page)  # a comment above
            self.assertIn("for the graph after each step", page)  # a comment behind
        without = int(re.search(r"(\d+) public names have no comment", done.stdout)[1])
        self.assertLessEqual(without, MOST_WITHOUT_COMMENT)


if __name__ == "__main__":
    if shutil.which("doxygen") is None:
        print("skipped: there is no doxygen (scripts/setup --tests installs it)")
        sys.exit(SKIPPED)
    unittest.main()
