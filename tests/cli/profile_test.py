#!/usr/bin/env python3
"""Tests of `lemma profile`: what ONNX Runtime makes of a model is measured node by node and kept. No result depends on
how long anything takes."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import environment

import tested_programs

LEMMA = ""
EXAMPLE = ROOT / "examples" / "two_layer.onnx"


class ProfileTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_it(self, *options, code=0, database="profile.sqlite"):
        call = [LEMMA, "profile", "--database", self.folder / database, *options]
        done = subprocess.run(list(map(str, call)), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def profile(self, *options):
        return json.loads(self.run_it(EXAMPLE, "--threads", "1", "--json", *options).stdout)

    def test_each_node_is_measured_once(self):
        report = self.profile()
        first, again = report["models"][0], self.profile()["models"][0]
        self.assertGreater(first["keys"], 0)
        self.assertEqual(first["measured_now"], first["keys"])
        self.assertEqual(again["measured_now"], 0)
        self.assertEqual(again["unknown"], 0)
        self.assertEqual(again["predicted_ms"], first["predicted_ms"])
        self.assertGreater(first["latency_ms"], 0)
        self.assertTrue(report["runtime"].startswith("ONNX Runtime "))
        # What was measured with one thread says nothing of two.
        two = json.loads(self.run_it(EXAMPLE, "--threads", "2", "--json").stdout)["models"][0]
        self.assertEqual(two["measured_now"], two["keys"])

    def test_the_database_travels_as_json(self):
        self.profile()
        file = self.folder / "profile.json"
        self.run_it("--export", file)
        self.run_it("--import", file, "--elsewhere", database="other.sqlite")
        self.assertIn("measured elsewhere", self.run_it("--list", database="other.sqlite").stdout)
        self.run_it("--export", self.folder / "again.json", database="other.sqlite")
        self.assertEqual((self.folder / "again.json").read_text(), file.read_text())
        keys = [entry["key"] for target in json.loads(file.read_text())["targets"] for entry in target["entries"]]
        self.assertIn("run", keys)
        self.assertTrue(any(key.startswith("MatMul{} f32[4, 16], constant f32[16, 24]") for key in keys), keys)

    def optimize(self, name, *options, code=0, target="onnxruntime-cpu", costs="measured"):
        call = [LEMMA, "optimize", EXAMPLE, "-o", self.folder / name, "--target", target, "--threads", "1",
                "--costs", costs, "--json", *options]
        done = subprocess.run(list(map(str, call)), capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)["models"][0] if code == 0 else done.stderr

    @tested_programs.long
    def test_a_search_measures_what_is_missing_and_remembers_it(self):
        database = self.folder / "search.sqlite"
        first = self.optimize("first.onnx", "--database", database, "--time-limit", "60")
        self.assertGreater(first["costs"]["measured_now"], 0)
        self.assertEqual(first["costs"]["message"], "")
        known = self.entries("search.sqlite")
        self.assertTrue(any(key.startswith("operator ") for key in known), known)
        # What is known is not measured again; rewritten graphs may need more.
        self.optimize("again.onnx", "--database", database, "--time-limit", "60")
        again = self.entries("search.sqlite")
        self.assertEqual({key: again.get(key) for key in known}, known)

    def entries(self, database):
        file = self.folder / "entries.json"
        self.run_it("--export", file, database=database)
        return {entry["key"]: entry["seconds"] for target in json.loads(file.read_text())["targets"]
                for entry in target["entries"]}

    @tested_programs.long
    def test_with_a_given_database_the_bytes_are_the_same(self):
        database = self.folder / "search.sqlite"
        self.optimize("first.onnx", "--database", database, "--time-limit", "60")
        runs = [self.optimize(name, "--database", database, "--no-measure") for name in ("a.onnx", "b.onnx")]
        for run in runs:
            self.assertEqual(run["costs"]["measured_now"], 0)
            self.assertGreater(len(run["costs"]["recorded"]), 0)
            self.assertIn(0, [answer[1] for answer in run["costs"]["recorded"].values()])
        self.assertEqual(runs[0]["costs"]["recorded"], runs[1]["costs"]["recorded"])
        self.assertEqual((self.folder / "a.onnx").read_bytes(), (self.folder / "b.onnx").read_bytes())

    def test_measured_costs_are_for_the_runtime_that_was_measured(self):
        self.assertIn("--costs measured is for --target onnxruntime-cpu, rtask-cpu and rtask-cuda",
                      self.optimize("x.onnx", target="cpu", code=2))
        self.assertIn("--database is for --costs measured",
                      self.optimize("x.onnx", "--database", "x", costs="analytic", code=2))

    def test_bad_input_is_one_line(self):
        garbage = self.folder / "garbage"
        garbage.write_text("garbage")
        for options in ([], ["--import", garbage], [garbage]):
            code = 3 if options == [garbage] else 2
            done = self.run_it(*options, code=code)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        done = self.run_it("--list", database="garbage", code=2)
        self.assertIn("garbage", done.stderr)


if __name__ == "__main__":
    environment.enter()
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
