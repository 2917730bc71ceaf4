#!/usr/bin/env python3
"""Each command of bench/ and each of its parts has --help, and says what is wrong with a part that it does not have."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "cli")]
import environment
import tested_programs

BENCH = ROOT / "bench"
MOST = 15
# With the programs that bench/CMakeLists.txt builds.
COMMANDS = sorted(path for path in BENCH.iterdir() if path.is_file() and os.access(path, os.X_OK))
PROGRAMS = sorted(BENCH.glob("*.cpp"))


def run(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=60)


def parts_of(command):
    """Names and files, by the text of the command."""
    return re.findall(r'^    "(\w+)": \("(\w+)", "', command.read_text(), re.MULTILINE)


class Commands(unittest.TestCase):
    def test_there_are_few(self):
        self.assertGreater(len(COMMANDS), 5)
        self.assertLessEqual(len(COMMANDS) + len(PROGRAMS), MOST)

    def test_help(self):
        for command in COMMANDS:
            done = run(command, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            self.assertIn("usage: ", done.stdout)
            for name, _ in parts_of(command):
                self.assertRegex(done.stdout, rf"(?m)^  {name} ", command)

    @tested_programs.long
    def test_help_of_parts(self):
        for command in COMMANDS:
            for name, _ in parts_of(command):
                done = run(command, name, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""), f"{command} {name}")
                self.assertTrue(done.stdout.startswith(f"usage: bench/{command.name} {name} "), done.stdout[:80])

    def test_each_part_belongs_to_a_command(self):
        named = {file for command in COMMANDS for _, file in parts_of(command)}
        programs = {path.stem for path in (BENCH / "parts").glob("*.py") if os.access(path, os.X_OK)}
        self.assertEqual(named, programs)

    def test_parts_that_are_not_there(self):
        for words, what in (((), "a part is missing"), (("sizes",), "there is no part 'sizes'")):
            done = run(BENCH / "tasks", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"bench/tasks: {what}; it has times, ", done.stderr)


if __name__ == "__main__":
    environment.enter_or_skip()
    rest, = tested_programs.given(__doc__)
    unittest.main(argv=[sys.argv[0], *rest])
