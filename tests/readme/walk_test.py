#!/usr/bin/env python3
"""The commands in the documents run: each line of a block that calls a program of this repository, in the order of the document,
in a folder that has what the document speaks of (document_walks.py)."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(HERE)]
import environment  # noqa: E402

environment.enter_or_skip()
import document_walks as walks  # noqa: E402

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAM = re.compile(r"([A-Z_]+=\S+ )*(mpirun -n \d+ )?(\./|build/release/bin/)?"
                     r"(lemma(?=[ ][a-z-])|lemma-check|cmake|ctest|pip|python3|(scripts|bench|checkers|damage|models|cuda_book)/[\w./]+)( |$)")
TIME = 1500  # seconds that one command may take
OPTIONS = None


def lines_of_blocks(text):
    """Lines of fenced and of indented blocks, those joined that end with a backslash."""
    is_fenced, joined = False, ""
    for line in text.splitlines():
        if line.startswith("```"):
            is_fenced = not is_fenced
        elif is_fenced or line.startswith("    "):
            joined += line.strip()
            if joined.endswith("\\"):
                joined = joined[:-1]
            else:
                yield joined
                joined = ""


def commands_of(document):
    for line in lines_of_blocks(document.read_text()):
        command = line.split("  #")[0].strip()
        # A line with brackets says what may be given; it is no command.
        if PROGRAM.match(command) and not re.search(r" \[|FILE\.\.\.", command):
            yield command


def has_prefix(command, prefixes):
    return any(command.startswith(prefix) for prefix in prefixes)


class Walk(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        programs = self.folder / "build" / "release" / "bin"
        programs.mkdir(parents=True)
        for name, program in (("lemma", OPTIONS.lemma), ("lemma-check", OPTIONS.lemma_check)):
            (programs / name).symlink_to(Path(program).resolve())
        (self.folder / "lemma").symlink_to(Path(OPTIONS.lemma).resolve())
        for name in ("bench", "checkers", "cuda_book", "damage", "examples", "models", "rules", "scripts", "targets"):
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "out").mkdir()
        (self.folder / "home").mkdir()
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(self.folder / "home"),
                            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def run_command(self, command):
        written = re.match(r"lemma (?:emit|compile) .*-o (program)\b", command)
        if written:  # an example begins anew
            shutil.rmtree(self.folder / written[1], ignore_errors=True)
        for word, instead in walks.PLACEHOLDERS.items():
            command = command.replace(word, instead)
        begin = time.monotonic()
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=TIME)
        print(f"{time.monotonic() - begin:.1f} s: {command}", flush=True)
        self.assertEqual(done.returncode, walks.EXIT_CODES.get(command, 0), f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")

    def walk(self, document):
        wanted = [command for command in commands_of(document) if not has_prefix(command, walks.NOT_RUN)
                  and (OPTIONS.long or not has_prefix(command, walks.SLOW))]
        if not wanted:
            return
        make, before = walks.WALKS.get(document.name, (walks.two_layers, ()))
        make(self.folder)
        for command in before:
            self.run_command(command)
        for command in wanted:
            needed = next((program for word, program in walks.NEEDED.items() if word in command and not shutil.which(program)), None)
            if needed:
                print(f"{document.name}: not run, there is no {needed}: {command}")
                continue
            next((other for word, other in walks.MODELS.items() if word in command), make)(self.folder)
            with self.subTest(f"{document.name}: {command}"):
                self.run_command(command)


class Exceptions(unittest.TestCase):
    def test_each_is_of_a_command(self):
        commands = [command for document in DOCUMENTS for command in commands_of(document)]
        self.assertGreater(len(commands), 80)
        for prefix in (*walks.NOT_RUN, *walks.SLOW):
            self.assertTrue(any(command.startswith(prefix) for command in commands), prefix)
        for name in walks.WALKS:
            self.assertTrue((ROOT / "docs" / name).exists() or (ROOT / name).exists(), name)


def add_walks():
    for document in DOCUMENTS:
        if document.name not in walks.WALKED_ELSEWHERE and any(True for _ in commands_of(document)):
            name = re.sub(r"\W", "_", document.stem.lower())
            setattr(Walk, f"test_{name}", lambda self, document=document: self.walk(document))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("lemma", "lemma-check"):
        parser.add_argument(f"--{name}", required=True, metavar="FILE")
    parser.add_argument("--long", action="store_true", help="the slow commands, too")
    OPTIONS, rest = parser.parse_known_args()
    add_walks()
    unittest.main(argv=[sys.argv[0], *rest])
