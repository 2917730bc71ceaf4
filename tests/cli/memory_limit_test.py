#!/usr/bin/env python3
"""--memory-limit of lemma emit and lemma differentiate: programs and files within the limit, and what is said of them."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

import tested_programs
import tiny_models
from tiny_models import F32, node, tensor_type

LEMMA = None
STEPS = 8


class MemoryLimit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-memory-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *words):
        return subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=600,
                              env=dict(os.environ, LEMMA_CACHE=str(self.folder / "cache")))

    def ladder(self):
        """Products one after the other, all of which are read again in reverse order, and the sum of the last one."""
        square = tensor_type(F32, [32, 32])
        nodes, last = [], "x"
        for step in range(STEPS):
            nodes.append(node("MatMul", [last, "w"], [f"p{step}"]))
            last = f"p{step}"
        for step in reversed(range(STEPS)):
            nodes.append(node("Mul", [last, f"p{step}"], [f"m{step}"]))
            last = f"m{step}"
        nodes.append(node("ReduceSum", [last], ["loss"]))
        file = self.folder / "ladder.onnx"
        weights = [((7 * i) % 11 - 5) / 40 for i in range(32 * 32)]
        file.write_bytes(tiny_models.model(nodes, [("x", square)], [("loss", tensor_type(F32, [1, 1]))],
                                           initializers=[tiny_models.tensor("w", [32, 32], weights)]))
        return file

    def planned(self, model, *words, threads=1):
        done = self.run_it("emit", model, "--plan", "--no-fusion", "--threads", threads, "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def normalizations(self):
        """Softmax beside products: operators that are stitched where memory allows it."""
        nodes, last = [], "x"
        for step in range(4):
            nodes += [node("Softmax", [last], [f"s{step}"]), node("MatMul", [f"s{step}", "w"], [f"p{step}"]),
                      node("Softmax", [f"p{step}"], [f"q{step}"]), node("Add", [f"q{step}", last], [f"a{step}"])]
            last = f"a{step}"
        wide = tensor_type(F32, [512, 128])
        file = self.folder / "normalizations.onnx"
        weights = [((7 * i) % 11 - 5) / 40 for i in range(128 * 128)]
        file.write_bytes(tiny_models.model(nodes, [("x", wide)], [(last, wide)],
                                           initializers=[tiny_models.tensor("w", [128, 128], weights)]))
        return file

    def test_what_is_given_up_is_told(self):
        model = self.normalizations()
        words = ["emit", model, "--plan", "--threads", 2]
        usual = json.loads(self.run_it(*words, "--json").stdout)
        limit = ["--memory-limit", int(0.9 * usual["arena_bytes"])]
        limited = json.loads(self.run_it(*words, "--json", *limit).stdout)
        self.assertLessEqual(limited["arena_bytes"], limit[1])
        self.assertEqual(limited["units"], usual["units"])  # kept: they need no memory
        self.assertRegex(limited["memory"]["given_up"], r"^\d+ stitched operators of \d+$")
        self.assertIn(f"given up for the limit: {limited['memory']['given_up']}", self.run_it(*words, *limit).stdout)

    def test_programs_are_within_the_limit(self):
        model = self.ladder()
        usual = self.planned(model)
        self.assertNotIn("memory", usual)
        for part in (0.7, 0.5):
            limit = int(part * usual["arena_bytes"])
            for threads in (1, 2):
                limited = self.planned(model, "--memory-limit", limit, "--device", "slow-cpu", threads=threads)
                self.assertLessEqual(limited["arena_bytes"], limit)
                self.assertGreater(limited["operators"], usual["operators"])
                self.assertGreater(limited["memory"]["seconds"], limited["memory"]["seconds_before"])
                self.assertLessEqual(limited["memory"]["seconds_bound"], limited["memory"]["seconds"])
                again = limited["memory"]["again"]
                self.assertEqual(sum(again.values()), limited["operators"] - usual["operators"])

    def test_a_program_that_fits_is_the_usual_one(self):
        model = self.ladder()
        usual = self.planned(model)
        for limit in ("1G", usual["arena_bytes"]):
            limited = self.planned(model, "--memory-limit", limit)
            self.assertNotIn("memory", limited)
            self.assertEqual(limited["arena_bytes"], usual["arena_bytes"])

    def test_programs_compute_the_same(self):
        model = self.ladder()
        limit = self.planned(model)["arena_bytes"] // 2
        picture = self.folder / "memory.svg"
        done = self.run_it("emit", model, "-o", self.folder / "program", "--no-fusion", "--threads", "1",
                           "--memory-limit", limit, "--memory-picture", picture)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"memory: \d+ bytes before, \d+ now, limit \d+; \d+ operators run again, \+")
        self.assertEqual(len(ElementTree.parse(picture).getroot().findall("{*}polyline")), 2)
        for words in (["cmake", "-S", "program", "-B", "build"], ["cmake", "--build", "build"],
                      ["ctest", "--test-dir", "build", "--output-on-failure"]):
            built = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=600)
            self.assertEqual(built.returncode, 0, built.stdout + built.stderr)

    def test_a_limit_that_is_too_small_names_the_least(self):
        model = self.ladder()
        done = self.run_it("emit", model, "--plan", "--no-fusion", "--threads", "1", "--memory-limit", "100")
        self.assertEqual(done.returncode, 2)
        least = re.search(r"limit of 100 bytes is too small: the least for which a plan is found is (\d+) bytes", done.stderr)
        self.assertIsNotNone(least, done.stderr)
        self.assertLessEqual(self.planned(model, "--memory-limit", least[1])["arena_bytes"], int(least[1]))

    def test_the_least_memory_without_recomputation(self):
        model = self.ladder()
        usual, least = self.planned(model), self.planned(model, "--memory-limit", "least")
        self.assertLessEqual(least["arena_bytes"], usual["arena_bytes"])
        self.assertEqual(least["operators"], usual["operators"])

    def test_words_that_are_no_limit_are_refused(self):
        for word in ("-1", "few", "1X"):
            done = self.run_it("emit", self.ladder(), "--plan", f"--memory-limit={word}")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("neither a number of bytes", done.stderr)

    def step(self, *words):
        file = self.folder / "step.onnx"
        done = self.run_it("differentiate", self.ladder(), "--loss", "loss", "--optimizer", "none", "-o", file, *words)
        return done, file

    def test_steps_of_training_are_written_within_the_limit(self):
        done, file = self.step("--memory-limit", "1G")
        self.assertEqual(done.returncode, 0, done.stderr)
        before = int(re.search(r"memory: (\d+) bytes before", done.stdout)[1])
        self.assertIn("; 0 operators run again, +0.00%", done.stdout)
        plain = self.run_it("run", file, "--seed", "1", "--json")
        done, file = self.step("--memory-limit", before * 2 // 3)
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = re.search(r"(\d+) now, limit (\d+); (\d+) operators run again", done.stdout)
        self.assertLessEqual(int(figures[1]), before * 2 // 3)
        self.assertGreater(int(figures[3]), 0)
        limited = self.run_it("run", file, "--seed", "1", "--json")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        outputs = [json.loads(run.stdout)["outputs"] for run in (plain, limited)]
        self.assertEqual(*outputs)

    def test_a_step_with_too_small_a_limit_names_the_least(self):
        done, file = self.step("--memory-limit", "64")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"limit of 64 bytes is too small: the least for which a plan is found is \d+ bytes")
        self.assertFalse(file.exists())


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
