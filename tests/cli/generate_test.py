"""`lemma rules generate`: what it says about bad sets, its figures, and runs that are killed."""

import argparse
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LEMMA = ""


def generate(*arguments):
    return subprocess.run([LEMMA, "rules", "generate", *map(str, arguments)],
                          capture_output=True, text=True, check=False)


class GenerateTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_a_bad_set_is_one_line_and_writes_nothing(self):
        bad = self.folder / "bad.set"
        bad.write_text("set s\ninput x : [2]\n\noperator o\n  a : [n]\n  Banana(a)\n")
        result = generate("--set", bad, "-o", self.folder / "out.rules")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, f"lemma: {bad}:6: o: there is no operator 'Banana'\n")
        self.assertFalse((self.folder / "out.rules").exists())

    def test_an_unknown_set_is_named(self):
        result = generate("--set", "nothing", "-o", self.folder / "out.rules")
        self.assertEqual(result.returncode, 2)
        self.assertIn("nothing.set: there is no such operator set", result.stderr)

    def test_figures(self):
        out = self.folder / "out.rules"
        result = generate("--set", "small", "--max-ops", 3, "-o", out, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        figures = json.loads(result.stdout)
        self.assertEqual(figures["candidates"], out.read_text().count("\nrule "))
        self.assertEqual(sum(figures["terms_by_operators"]), figures["terms"])
        self.assertGreater(figures["graphs"], figures["terms"])
        self.assertEqual(figures["refuted_by_other_sizes"], 0)
        self.assertGreater(figures["peak_rss_bytes"], 0)

    def test_killed_runs_are_resumed_to_the_same_bytes(self):
        whole = self.folder / "whole.rules"
        begin = time.monotonic()
        self.assertEqual(generate("--set", "taso", "--max-ops", 2, "-o", whole).returncode, 0)
        seconds = time.monotonic() - begin
        choose = random.Random(3)
        killed = 0
        for number in range(20):
            out = self.folder / f"{number}.rules"
            command = [LEMMA, "rules", "generate", "--set", "taso", "--max-ops", "2",
                       "--work", str(self.folder / "work" / str(number % 4)), "-o", str(out)]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(choose.uniform(0, seconds))
            process.send_signal(signal.SIGKILL)
            killed += process.wait() == -signal.SIGKILL
            result = subprocess.run(command, capture_output=True, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(out.read_bytes(), whole.read_bytes())
        self.assertGreater(killed, 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    options, rest = parser.parse_known_args()
    LEMMA = options.lemma
    unittest.main(argv=[sys.argv[0], *rest])
