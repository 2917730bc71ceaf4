#!/usr/bin/env python3
"""A name of an option means one thing: docs/options.md says what, for all that several commands have. Names that options had
before are understood, and not shown."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import tested_programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "two_layer.onnx"
EVERYWHERE = {"--help", "--json", "--output"}
LEMMA = None


def run(*words):
    return subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=120)


def commands():
    """The words of each command that has no commands below it."""
    def below(path):
        said = run(*path, "--help").stdout
        section = said.partition("Subcommands:")[2]
        names = re.findall(r"^  ([a-z]+) ", section, re.MULTILINE)
        return [found for name in names for found in below([*path, name])] if names else [path]

    return below([])


def options_of(command):
    said = run(*command, "--help").stdout
    shown = [re.split(r"\s{2,}|\sTEXT|\sINT|\sUINT|\sFLOAT", line[2:], maxsplit=1)[0]
             for line in said.splitlines() if line.startswith("  -")]
    return {name for words in shown for name in re.findall(r"--[a-z][a-z0-9-]*", words)}


class OneMeaning(unittest.TestCase):
    def test_the_table_has_what_commands_share(self):
        users = {}
        for command in commands():
            for option in options_of(command) - EVERYWHERE:
                users.setdefault(option, []).append(" ".join(command))
        shared = {option: sorted(names) for option, names in users.items() if len(names) > 1}
        rows = re.findall(r"^\| `(--[a-z0-9-]+)` \| ([^|]*) \| ([^|]+) \|$", (ROOT / "docs" / "options.md").read_text(),
                          re.MULTILINE)
        table = {option: sorted(names.replace("`", "").split(", ")) for option, names, _ in rows}
        self.assertEqual(table, shared)
        self.assertTrue(all(meaning.strip() for _, _, meaning in rows))
        self.assertEqual([option for option, _, _ in rows], sorted(table))


class FormerNames(unittest.TestCase):
    def test_they_mean_what_they_meant(self):
        for present, former in ((("run", EXAMPLE, "--seed", 3), ("run", EXAMPLE, "--random", 3)),
                                (("run", EXAMPLE, "--seed=3", "--model-time-limit", 60),
                                 ("run", EXAMPLE, "--random=3", "--time-limit", 60)),
                                (("emit", EXAMPLE, "--plan", "--seed", 3), ("emit", EXAMPLE, "--plan", "--random", 3))):
            wanted, given = run(*present), run(*former)
            self.assertEqual((wanted.returncode, given.returncode), (0, 0), given.stderr)
            self.assertEqual(wanted.stdout, given.stdout)
        with tempfile.TemporaryDirectory() as folder:
            done = run("simplify", EXAMPLE, "-o", f"{folder}/o.onnx", "--outputs", "y", "--fp-class", "bitwise",
                       "--no-second-judge", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(json.loads(done.stdout)["models"])

    def test_they_are_not_shown(self):
        for command, former in ((["run"], "--random"), (["run"], "--time-limit"), (["emit"], "--random"),
                                (["optimize"], "--outputs"), (["optimize"], "--check"), (["optimize"], "--memory"),
                                (["profile"], "--seconds"), (["rules", "build"], "--memory"),
                                (["rules", "minimize"], "--nodes")):
            self.assertNotIn(former, options_of(command), command)

    def test_other_commands_have_them_not(self):
        self.assertEqual(run("compare", EXAMPLE, EXAMPLE, "--random", 1).returncode, 2)


class Version(unittest.TestCase):
    def test_what_it_says(self):
        lines = run("--version").stdout.splitlines()
        self.assertRegex(lines[0], r"^lemma \d+\.\d+\.\d+$")
        text = "\n".join(lines[1:])
        self.assertRegex(text, r"ONNX operator sets \d+ to \d+, IR versions to \d+")
        self.assertRegex(text, r"(^|\n)(ONNX Runtime \d|no ONNX Runtime: )")
        commit = re.search(r"^commit ([0-9a-f]+)$", text, re.MULTILINE)
        known = subprocess.run(["git", "cat-file", "-t", commit[1] if commit else "HEAD"], cwd=ROOT, capture_output=True,
                               text=True)
        if known.returncode == 0 and commit:
            self.assertEqual(known.stdout.strip(), "commit")


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
