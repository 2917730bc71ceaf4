#!/usr/bin/env python3
"""lemma plan make --rewritten: what rules make of a model is planned in its place where its plan takes less; the plan is proved for the
model that is written, and the explanation says why that equals the given one."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "cli")]
import environment

environment.enter_or_skip()

import onnx
import tested_programs
from onnx import TensorProto, helper

LEMMA = CHECK = None


class Rewritten(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_it(self, *words, code=0):
        done = subprocess.run([str(word) for word in words], cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def make(self, model, *words, code=0):
        return self.run_it(LEMMA, "plan", "make", model, "--cluster", "h100-host", "--rewritten", "r.onnx", "-o", "plan.json", *words, code=code)

    def test_what_rules_make_is_planned_where_that_takes_less(self):
        model = ROOT / "examples" / "two_layer.onnx"
        said = self.make(model, "--explain", "r.explanation").stdout
        least, own = re.search(r"graphs: ([\d.]+) us beside ([\d.]+) us of the model's own; by \w+", said).groups()
        self.assertLess(float(least), float(own))
        self.assertLess(len(onnx.load(self.folder / "r.onnx").graph.node), len(onnx.load(model).graph.node))
        self.assertIn("proved", self.run_it(LEMMA, "plan", "verify", "r.onnx", "plan.json").stdout)
        self.assertIn("0 fail", self.run_it(CHECK, ROOT / "rules" / "substitutions", "r.explanation").stdout)
        self.run_it(LEMMA, "compare", model, "r.onnx")

    def test_a_model_that_nothing_improves_stays(self):
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 8]) for name in "xy")
        graph = helper.make_graph([helper.make_node("Tanh", ["x"], ["y"])], "one", [x], [y])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), self.folder / "one.onnx")
        self.assertRegex(self.make("one.onnx").stdout, r"of \d+ graphs, none has a plan that takes less: r.onnx is the model")
        self.assertEqual((self.folder / "r.onnx").read_bytes(), (self.folder / "one.onnx").read_bytes())

    def test_mistakes_are_answered_in_a_line(self):
        model = ROOT / "examples" / "two_layer.onnx"
        for words, said in ((("--own-operators",), "--rewritten is for plans that are searched for on a mesh"),
                            (("--explain", "plan.json"), "plan.json")):
            self.assertRegex(self.make(model, *words, code=2).stderr, rf"^lemma: .*{said}.*\n$")
        done = self.run_it(LEMMA, "plan", "make", model, "--cluster", "h100-host", "--explain", "e", "-o", "plan.json", code=2)
        self.assertEqual(done.stderr, "lemma: --explain is for --rewritten\n")
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    LEMMA, CHECK, rest = tested_programs.given(__doc__, "lemma", "lemma-check")
    unittest.main(argv=[sys.argv[0], *rest])
