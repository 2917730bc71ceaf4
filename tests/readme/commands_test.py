#!/usr/bin/env python3
"""The commands in the documents exist: programs, their commands, and their options."""

import argparse
import functools
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
GENERATED = {"operators.md", "found_rules.md"}
FOLDERS = ("scripts", "bench", "checkers", "damage", "models", "cuda_book", "tests")
PROGRAMS = None


def spans(text):
    """What is set as code: the lines of fenced blocks, and code within sentences, with the number of its line."""
    is_fenced = False
    sentences = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            is_fenced = not is_fenced
        elif is_fenced:
            yield number, line.split("  #")[0]
        else:
            sentences.append((number, line))
    joined = "\n".join(line for _, line in sentences)
    for code in re.finditer(r"`([^`]+)`", joined):
        yield sentences[joined[:code.start()].count("\n")][0], " ".join(code[1].split())


def commands(text):
    """Single commands of such a span, without variables before them and brackets of what may be left out."""
    for number, span in spans(text):
        for part in re.split(r"&&|\||;", span):
            words = re.sub(r"[\[\]]", " ", part).split()
            while words and re.fullmatch(r"[A-Z_]+=.*|mpirun|-n|N|\d+|nice|python3", words[0]):
                words.pop(0)
            if words:
                yield number, words


@functools.cache
def help_of(program, *words):
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, cwd=ROOT, timeout=60)
    return done.stdout if done.returncode == 0 else ""


def program_of(word):
    """The path of the program that a command calls, or nothing if it is none of ours."""
    name = word.rpartition("/")[2]
    if word in ("lemma", "./lemma", "lemma-check") or re.fullmatch(r"build/\w+/bin/lemma(-check)?", word):
        return PROGRAMS["lemma-check" if name == "lemma-check" else "lemma"]
    return ROOT / word if re.match(rf"({'|'.join(FOLDERS)})/[a-z]", word) else None


def options_in(words):
    return [word.split("=")[0] for word in words if re.match(r"--\w", word)]


class Commands(unittest.TestCase):
    def calls(self):
        for document in DOCUMENTS:
            if document.name in GENERATED:
                continue
            for number, words in commands(document.read_text()):
                if program_of(words[0]):
                    yield f"{document.relative_to(ROOT)}:{number}: {' '.join(words)}", words

    def test_there_are_some(self):
        self.assertGreater(len(list(self.calls())), 150)

    def test_programs_exist(self):
        for where, words in self.calls():
            with self.subTest(where):
                path = pathlib.Path(program_of(words[0]))
                self.assertTrue(list(ROOT.glob(words[0].rstrip("/"))) or path.exists())
                if len(words) > 1 and path.is_file():
                    self.assertTrue(os.access(path, os.X_OK) or path.suffix == ".py", "cannot be executed")

    def test_lemma_has_the_commands_and_options(self):
        for where, words in self.calls():
            if program_of(words[0]) != PROGRAMS["lemma"] or len(words) == 1 or not re.match(r"[a-z]", words[1]):
                continue
            with self.subTest(where):
                names = [words[1]]
                if words[1] in ("rules", "plan") and len(words) > 2 and re.match(r"[a-z]", words[2]):
                    names.append(words[2])
                said = help_of(PROGRAMS["lemma"], *names)
                self.assertTrue(said, "there is no such command")
                for option in options_in(words[1:]):
                    self.assertRegex(said, rf"(?<![\w-]){option}(?![\w-])")

    def test_measurements_have_the_commands(self):
        for where, words in self.calls():
            if not words[0].startswith("bench/") or len(words) == 1 or not re.match(r"[a-z_]+$", words[1]):
                continue
            with self.subTest(where):
                self.assertRegex(help_of(str(ROOT / words[0])), rf"(?m)^ +{words[1]}\b")
                said = help_of(str(ROOT / words[0]), words[1])
                for option in options_in(words):
                    self.assertRegex(said, rf"(?<![\w-]){option}(?![\w-])")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("lemma", "lemma-check"):
        parser.add_argument(f"--{name}", required=True, metavar="FILE")
    options, rest = parser.parse_known_args()
    PROGRAMS = {"lemma": options.lemma, "lemma-check": options.lemma_check}
    unittest.main(argv=[sys.argv[0], *rest])
