#!/usr/bin/env python3
"""`lemma optimize` as a caller sees its search: strategies, limits, rules by name, explanations."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, node, tensor_type

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "two_layer.onnx"
LEMMA = CHECKER = None


class Search(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-search-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *options, model=EXAMPLE):
        call = [LEMMA, "optimize", model, "-o", self.folder / "out.onnx", *options]
        return subprocess.run(list(map(str, call)), capture_output=True, text=True, timeout=120)

    def figures(self, *options, **more):
        done = self.run_it("--json", *options, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["models"][0]

    def refused(self, words, *options):
        done = self.run_it(*options)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertFalse((self.folder / "out.onnx").exists())

    @tested_programs.long
    def test_every_strategy_improves_the_example(self):
        costs = {}
        for strategy in ("saturation", "backtracking", "combined", "auto"):
            figures = self.figures("--strategy", strategy)
            self.assertEqual(figures["status"], "optimized", strategy)
            self.assertLess(figures["cost_after"], figures["cost_before"])
            self.assertGreater(figures["samples_compared"], 0)
            self.assertGreater(figures["rules_considered"], 0)
            self.assertGreater(figures["graphs" if strategy == "backtracking" else "egraph_nodes"], 0)
            costs[strategy] = figures["cost_after"]
            self.assertEqual(figures["strategy"], "saturation" if strategy == "auto" else strategy)
        self.assertLessEqual(costs["saturation"], costs["backtracking"])

    def test_operators_of_the_runtime_are_written_only_if_wanted(self):
        image, kernel = tensor_type(F32, [1, 4, 8, 8]), tensor_type(F32, [4, 4, 3, 3])
        model = self.folder / "model.onnx"
        model.write_bytes(tiny_models.model([node("Conv", ["x", "w"], ["y"]), node("Relu", ["y"], ["z"])],
                                            [("x", image), ("w", kernel)], [("z", tensor_type(F32, [1, 4, 6, 6]))]))
        written = self.folder / "out.onnx"
        self.figures(model=model)
        self.assertNotIn(b"com.microsoft", written.read_bytes())
        figures = self.figures("--runtime-operators", model=model)
        self.assertEqual(figures["status"], "optimized")
        self.assertIn(figures["second_judge"], ("agrees", "not available"))
        self.assertIn(b"FusedConv", written.read_bytes())
        self.assertIn(b"com.microsoft", written.read_bytes())

    def test_rules_of_another_folder_are_used_if_they_are_proved(self):
        rules = self.folder / "rules"
        shutil.copytree(ROOT / "rules", rules)
        self.assertEqual(self.figures("--rules", rules)["rules_used"], self.figures()["rules_used"])
        (self.folder / "out.onnx").unlink()
        self.refused("no such folder", "--rules", self.folder / "no such folder")
        changed = rules / "substitutions" / "elementwise.rules"
        text = changed.read_text()
        changed.write_text(text.replace("Min(Neg(x), Neg(y))", "Min(Neg(y), Neg(x))", 1))
        self.assertNotEqual(changed.read_text(), text)
        done = self.run_it("--rules", rules)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("min_of_negs", done.stdout + done.stderr)
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_the_table_says_which_strategy_was_taken(self):
        self.assertIn("saturation", self.run_it("--verbose").stdout)
        self.assertIn("combined", self.run_it("--verbose", "--strategy", "combined").stdout)

    def test_unknown_strategies_and_limits_are_refused(self):
        self.refused("--strategy", "--strategy", "luck")
        self.refused("--memory", "--memory", "much")
        self.refused("--alpha", "--alpha", "0.5")
        self.refused("--budget", "--budget", "0")
        self.refused("--only-rules", "--only-rules", "(")
        self.refused("cpu, cuda", "--device", "tpu")

    def test_a_memory_limit_holds(self):
        for text, limit in (("100M", 100 * 2**20), ("1G", 2**30), ("200000K", 200000 * 2**10)):
            figures = self.figures("--memory", text)
            self.assertEqual(figures["status"], "optimized", text)
            self.assertLess(figures["peak_memory_bytes"], 1.1 * limit)

    def test_without_time_the_model_stays_as_it_was(self):
        start = time.monotonic()
        figures = self.figures("--time-limit", "0.000001")
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(figures["status"], "unchanged")
        self.assertIn("time limit", figures["message"])
        self.assertTrue((self.folder / "out.onnx").is_file())

    def test_the_graph_after_each_step_is_written(self):
        trace = self.folder / "trace"
        trace.mkdir()
        (trace / "01-notes.txt").write_text("of another hand")
        for _ in range(2):  # the second trace replaces the first
            self.figures("--trace", trace)
            files = sorted(path.name for path in trace.iterdir())
            self.assertEqual(files[:2], ["01-notes.txt", "01-read.txt"])
            self.assertTrue(files[-1].endswith("-written.txt"), files)
            first, last = ((trace / name).read_text() for name in (files[1], files[-1]))
            self.assertIn("read: 7 operators", first)
            self.assertIn("written: 3 operators", last)
            self.assertEqual(last.count("MatMul("), 2)

    def test_rules_are_chosen_by_name(self):
        used = self.figures()["rules_used"]
        self.assertGreater(len(used), 1)
        figures = self.figures("--only-rules", "|".join(f"^{rule}$" for rule in used))
        self.assertEqual(figures["status"], "optimized")
        self.assertLessEqual(figures["rules_considered"], len(used))
        self.assertLessEqual(set(figures["rules_used"]), set(used))
        done = self.run_it("--only-rules", "^no such rule$")
        self.assertEqual(done.returncode, 0)
        self.assertIn("unchanged", done.stdout)
        self.assertIn("no such rule", done.stderr)

    @tested_programs.long
    def test_every_strategy_is_explained(self):
        for strategy in ("saturation", "backtracking", "combined"):
            file = self.folder / f"{strategy}.explanation"
            self.figures("--strategy", strategy, "--explain", file)
            self.assert_holds(file)

    def assert_holds(self, file):
        certificates = ROOT / "rules" / "substitutions"
        done = subprocess.run([CHECKER, certificates, file], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("holds", done.stdout)

    @tested_programs.long
    def test_no_explanation_of_another_model_stays(self):
        file = self.folder / "it.explanation"
        self.figures("--explain", file)
        before = file.read_text()
        vector = tensor_type(F32, [2])
        unchanged = self.folder / "unchanged.onnx"
        unchanged.write_bytes(
            tiny_models.model([node("Relu", ["x"], ["y"])], [("x", vector)], [("y", vector)]))
        self.assertEqual(self.figures("--explain", file, model=unchanged)["status"], "unchanged")
        self.assertNotEqual(file.read_text(), before)
        self.assert_holds(file)
        shutil.copy(EXAMPLE, self.folder / "again.onnx")
        figures = self.figures("--explain", file, "--time-limit", "0.000001", model=self.folder / "again.onnx")
        self.assertIn("kept as it was", figures["message"])
        self.assertFalse(file.exists())


if __name__ == "__main__":
    LEMMA, CHECKER, rest = tested_programs.given(__doc__, "lemma", "checker")
    unittest.main(argv=[sys.argv[0], *rest])
