"""`lemma rules generate`: what it says about bad sets, its figures, and runs that are killed."""

import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import tested_programs

LEMMA = ""


def generate(*arguments):
    return subprocess.run([LEMMA, "rules", "generate", *map(str, arguments)],
                          capture_output=True, text=True, check=False)


MATRICES = """
set matrices
input x y : [2, 3]
input a b : [3, 3]
limit elements 36

operator matmul
  u : [m, k]
  v : [k, n]
  MatMul(u, v)

operator add
  u : [S..]
  v : [S..]
  Add(u, v)

operator relu
  u : [S..]
  Relu(u)

operator join
  u : [m, n]
  v : [m, p]
  Concat{axis=1}(u, v)

operator divide
  u : [m, n + p]
  where n == p
  let both = Split{axis=1, split=[n, p]}(u)
  both#0 & both#1
"""


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
        self.assertEqual(result.stderr, f"lemma: {bad}:6: o: there is no operator 'Banana'; one of a library is known with "
                                        "--operators FILE\n")
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

    @tested_programs.long
    def test_kills_at_four_operators_lose_no_finished_work(self):
        """One run, killed 20 times and gone on with; at times its files are damaged."""
        matrices = self.folder / "matrices.set"
        matrices.write_text(MATRICES)
        whole, out, work = (self.folder / name for name in ("whole.rules", "out.rules", "work"))
        # Several ranges of keys.
        command = ["--set", matrices, "--max-ops", 4, "--range-bytes", 200_000]
        begin = time.monotonic()
        self.assertEqual(generate(*command, "-o", whole).returncode, 0)
        seconds = time.monotonic() - begin
        choose = random.Random(4)
        killed = finished = ranges = joined = 0
        while killed < 20:
            threads = choose.choice((1, 2))
            process = subprocess.Popen(
                [LEMMA, "rules", "generate", *map(str, command), "--work", str(work), "-o",
                 str(out), "--threads", str(threads)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(timeout=choose.uniform(0, seconds))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            if process.wait() == 0:
                finished += 1
                self.assertEqual(out.read_bytes(), whole.read_bytes())
                for file in work.iterdir():
                    file.unlink()
                continue
            killed += 1
            files = sorted(work.glob("*")) if work.exists() else []
            ranges = max(ranges, sum(file.suffix == ".groups" for file in files))
            for file in files:
                if file.name == "joined.journal":
                    joined = max(joined, len(file.read_text().splitlines()) - 1)
                contents = bytearray(file.read_bytes())
                if not contents or choose.random() > 0.2:
                    continue
                at = choose.randrange(len(contents))
                if choose.random() < 0.5:
                    file.write_bytes(contents[:at])
                else:
                    contents[at] ^= 1
                    file.write_bytes(contents)
        result = generate(*command, "--work", work, "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(out.read_bytes(), whole.read_bytes())
        self.assertGreater(ranges, 3, "no range of keys was finished before a kill")
        self.assertGreater(joined, 2, "no groups were joined before a kill")


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
