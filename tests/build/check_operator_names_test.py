#!/usr/bin/env python3
"""cmake/check_operator_names.py refuses sources that name operators, and a list that is not true."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "check_operator_names.py"
FILES = {
    "cmake/edges.txt": "folder ir :\nfolder operators : ir\nfolder verifier : ir\n",
    "cmake/operator_names.txt": "verifier/import.cpp: reads rules of others\n",
    "operators/all.cpp": 'constexpr auto a = OperatorRecord{.name = "MatMul"}, b = unary_record<"Relu", 1>();\n',
    "verifier/import.cpp": 'auto term = fmt::format("MatMul({}, {})", a, b);\n',
    "ir/clean.cpp": '// "Relu" in a comment\n#include "Relu"\nauto text = "Relus are fine, and so is a Relu within";\n',
}


class CheckOperatorNames(unittest.TestCase):
    def check(self, **changed):
        with tempfile.TemporaryDirectory() as root:
            files = FILES | {path.replace("__", "/") + ".cpp": text for path, text in changed.items()}
            for path, text in files.items():
                file = pathlib.Path(root) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)

    def test_accepts_what_is_listed(self):
        result = self.check()
        self.assertEqual((result.returncode, result.stdout), (0, "2 files, 0 complaints\n"))

    def test_refuses_a_name(self):
        result = self.check(ir__typing='\nif (op.name == "Relu") return;\n')
        self.assertEqual(result.returncode, 1)
        self.assertIn("ir/typing.cpp:2: names the operator Relu", result.stdout)

    def test_refuses_a_list_of_what_names_none(self):
        result = self.check(verifier__import="int nothing;\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("verifier/import.cpp names no operator", result.stdout)

    def test_no_records_is_no_success(self):
        self.assertEqual(self.check(operators__all="").returncode, 2)


if __name__ == "__main__":
    unittest.main()
