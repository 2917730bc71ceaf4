#!/usr/bin/env python3
"""lemma plan collective: schedules that are known, searched for, checked and refused, with exit codes and errors of one line."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import tested_programs

LEMMA = None


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def run_lemma(self, *words, code=0):
        done = subprocess.run([LEMMA, "plan", "collective", *map(str, words)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def figures(self, *words, code=0):
        return json.loads(self.run_lemma(*words, "--json", code=code).stdout)

    def error(self, *words):
        lines = self.run_lemma(*words, code=2).stderr.splitlines()
        self.assertEqual(len(lines), 1, lines)
        return lines[0]


class Known(Case):
    def test_algorithms_of_a_cluster(self):
        found = self.figures("h100-host", "--collective", "all-reduce", "--bytes", "8M")
        rows = {row["method"]: row for row in found["schedules"]}
        self.assertEqual(len(rows), 6)
        self.assertEqual((rows["ring"]["steps"], rows["ring"]["most_bytes_of_a_node"]), (14, 2 * 7 / 8 * 8 * 2**20))
        self.assertEqual(rows["halving and doubling"]["steps"], 6)
        self.assertIn("ring", self.run_lemma("h100-host").stdout)

    def test_what_links_do_not_allow_is_left_out(self):
        found = self.figures("ring:5")
        self.assertEqual([row["method"] for row in found["schedules"]], ["ring"])
        self.assertEqual({row["method"] for row in found["left_out"]}, {"naive", "parameter server", "tree", "recursive doubling"})

    def test_an_order_makes_a_ring(self):
        found = self.figures("dgx-1", "--algorithm", "ring", "--order", "0,1,3,2,6,7,5,4")
        self.assertEqual(found["schedules"][0]["steps"], 7)
        self.assertEqual(found["bounds"] | {"cut": 0}, {"steps": 2, "rounds_over": 7, "rounds_under": 6, "cut": 0})


class Searched(Case):
    def test_found_written_and_checked(self):
        file = self.folder / "gather.json"
        self.assertIn("found", self.run_lemma("dgx-1", "--find", "2,3,2", "-o", file).stdout)
        self.assertIsNone(self.figures("dgx-1", "--schedule", file)["fault"])
        broken = json.loads(file.read_text())
        broken["steps"][1]["sends"].pop()
        file.write_text(json.dumps(broken))
        self.assertRegex(self.figures("dgx-1", "--schedule", file, code=4)["fault"], r"the end: node \d does not have chunk")

    def test_impossible(self):
        found = self.figures("dgx-1", "--find", "2,4,3", code=4)
        self.assertEqual(found["asked"][0]["answer"], "impossible")

    def test_frontier(self):
        found = self.figures("hypercube:3", "--frontier", 4, "--chunks", 3)
        last = found["asked"][-1]
        self.assertEqual((last["steps"], last["rounds"], last["chunks"], last["answer"]), (3, 7, 3, "found"))
        self.assertTrue(found["complete"])

    def test_greedy(self):
        file = self.folder / "timed.json"
        words = ("mesh:5x5", "--greedy", "--latency", "0.5e-6", "--bandwidth", str(50 * 2**30), "--bytes", 2**30 // 25 * 25)
        found = self.figures(*words, "-o", file)["timed"]
        self.assertAlmostEqual(found["seconds"], 9606e-6, delta=1e-8)
        self.assertEqual(found["seconds"], found["bound_seconds"])
        self.assertEqual(len(json.loads(file.read_text())["sends"]), 25 * 24)


class Refused(Case):
    def test_errors(self):
        self.assertIn("one whole number from 1 on", self.error("ring:x"))
        self.assertIn("there are ring:", self.error("grid:3"))
        self.assertIn("dgx-1", self.error("no-cluster"))
        self.assertIn("not several", self.error("ring:4", "--greedy", "--find", "1,1,1"))
        self.assertIn("steps, rounds and chunks", self.error("ring:4", "--find", "1,1"))
        self.assertIn("--order: each node from 0 to 3", self.error("ring:4", "--order", "0,1,1,2"))
        self.assertIn("--root: is 4", self.error("ring:4", "--root", 4))
        self.assertIn("--group: is 3", self.error("ring:4", "--group", 3))
        self.assertIn("'butterfly' is none", self.error("full:4", "--algorithm", "butterfly"))
        self.assertIn("there are all-reduce", self.error("ring:4", "--collective", "all-to-all"))
        self.assertIn("no link from", self.error("ring:5", "--algorithm", "naive"))
        file = self.folder / "wrong.json"
        file.write_text("{}")
        self.assertIn("wrong.json: is no schedule", self.error("ring:4", "--schedule", file))


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
