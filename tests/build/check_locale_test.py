#!/usr/bin/env python3
"""cmake/check_locale.py refuses calls that follow the locale, and nothing else."""

import pathlib
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "cmake"
sys.path.insert(0, str(CHECK))
import check_locale  # noqa: E402: where it is


class CheckLocale(unittest.TestCase):
    def faults(self, text, path="ir/a.cpp"):
        with tempfile.TemporaryDirectory() as root:
            file = pathlib.Path(root) / path
            file.parent.mkdir(parents=True)
            file.write_text(text)
            return check_locale.faults_below(pathlib.Path(root), set())

    def test_refuses_calls(self):
        for text in ("double x = std::strtod(t, nullptr);", "x = std::stod(t);", "x = atof(t);", "sscanf(t, \"%lf\", &x);",
                     "std::ostringstream s;", "std::stringstream s(t);", "std::istringstream s(t);", "if (std::isalnum(c)) a();",
                     "c = tolower(c);", "std::printf(\"%.9g\\n\", x);", "setlocale(LC_ALL, \"\");", "fmt::format(\"{:a}\", x);", "s.imbue(l);"):
            for path in ("ir/a.cpp", "backend/emit/parts/a.h.in", "cli/deep/er/a.h"):
                faults = self.faults(f"\n{text}\n", path)
                self.assertTrue(faults and faults[0].startswith(f"{path}:2: "), (text, faults))

    def test_accepts_others(self):
        for text in ("// std::strtod(t)", "auto x = number_of<double>(t);", "std::printf(\"%d %s\\n\", i, s);",
                     "std::stoul(t);", "if (is_ascii_digit(c)) a();", "graph.isolate(c);"):
            self.assertEqual(self.faults(text), [])
        self.assertEqual(self.faults("std::stod(t);", "tests/a.cpp"), [])


if __name__ == "__main__":
    unittest.main()
