#!/usr/bin/env python3
"""Commands under the thread sanitizer, with four threads, on small input: it has nothing to report. Needs the preset tsan
(docs/building.md)."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "faults"))

import commands  # noqa: E402: after the path

SKIPPED = 77
LEMMA = None


def with_threads(words):
    """The words, with four threads where a command takes one for its results not to depend on time."""
    return re.sub(r"--threads \d+", "--threads 4", words).split()


class Races(unittest.TestCase):
    def run_in(self, folder, words):
        """Each process writes its reports to a file of its own: those of workers would be lost otherwise."""
        options = f"log_path={folder / 'races'} exitcode=0 ignore_noninstrumented_modules=1 history_size=4"
        # With addresses chosen at random, some kernels leave no room for what the sanitizer reserves.
        keeps_addresses = ["setarch", "--addr-no-randomize"] if shutil.which("setarch") else []
        done = subprocess.run([*keeps_addresses, LEMMA, *words], cwd=folder, capture_output=True, text=True, timeout=1800,
                              env={**os.environ, "TSAN_OPTIONS": options, "LEMMA_CACHE": str(folder / "cache")})
        reports = [file.read_text() for file in folder.glob("races.*")]
        self.assertEqual(reports, [], f"{' '.join(words)}: {len(reports)} processes have races\n" + "\n".join(reports)[:6000])
        return done

    def check(self, command):
        with tempfile.TemporaryDirectory(prefix="lemma-threads-") as name:
            folder = pathlib.Path(name)
            command.prepare(folder, 0)
            if command.first:
                self.run_in(folder, with_threads(command.first))
            done = self.run_in(folder, with_threads(command.words))
            self.assertEqual(done.returncode, command.exit, done.stdout[-2000:] + done.stderr[-2000:])


def add_tests():
    """One for each command."""
    for command in commands.COMMANDS:
        setattr(Races, f"test_{command.name}", lambda self, command=command: self.check(command))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True, type=pathlib.Path)
    arguments, rest = parser.parse_known_args()
    LEMMA = arguments.lemma.resolve()
    if b"__tsan_init" not in LEMMA.read_bytes():
        print("skipped: the program is not built under the thread sanitizer (preset tsan)")
        sys.exit(SKIPPED)
    add_tests()
    unittest.main(argv=[sys.argv[0], *rest])
