#!/usr/bin/env python3
"""How `lemma optimize` checks what it writes: read back, compared, judged by ONNX Runtime where it is there."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, node, tensor_type

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "two_layer.onnx"
LEMMA = FORGE = None


def has_onnx_runtime():
    for python in (ROOT / ".venv/bin/python3", "python3"):
        try:
            if subprocess.run([python, "-c", "import numpy, onnxruntime"], capture_output=True).returncode == 0:
                return True
        except OSError:
            continue
    return False


class Optimizing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-self-check-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *options, model=EXAMPLE, environment=None):
        call = [LEMMA, "optimize", model, "-o", self.folder / "out" / "out.onnx", *options]
        return subprocess.run(list(map(str, call)), capture_output=True, text=True, timeout=120,
                              env={**os.environ, **(environment or {})})

    def figures(self, *options, **more):
        done = self.run_it("--json", *options, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["models"][0]

    def written(self, nodes, inputs, outputs):
        path = self.folder / "model.onnx"
        path.write_bytes(tiny_models.model(nodes, inputs, outputs))
        return path


class SelfCheck(Optimizing):
    def test_the_check_is_part_of_the_report(self):
        figures = self.figures()
        self.assertEqual(figures["status"], "optimized")
        self.assertGreater(figures["samples_compared"], 0)
        self.assertGreater(figures["adversarial_compared"], 0)
        self.assertGreater(figures["check_seconds"], 0)
        self.assertEqual(figures["warning"], "")
        table = self.run_it("--verbose").stdout
        self.assertIn("check s", table)
        self.assertIn("second judge", table)

    def test_nothing_is_left_beside_the_result(self):
        self.figures()
        self.assertEqual([path.name for path in (self.folder / "out").iterdir()], ["out.onnx"])
        self.figures("--external-data")
        others = sorted(path.name for path in (self.folder / "out").iterdir() if path.name != "out.onnx")
        self.assertLessEqual(len(others), 1)
        for name in others:
            self.assertRegex(name, r"^weights-[0-9a-f]{32}\.data$")

    def test_onnx_runtime_judges_where_it_is_installed(self):
        figures = self.figures()
        if not has_onnx_runtime():
            self.assertEqual(figures["second_judge"], "not available")
            self.skipTest("ONNX Runtime is not installed")
        self.assertEqual(figures["second_judge"], "agrees", figures["second_judge_message"])
        self.assertGreater(figures["second_judge_sets"], 1)

    def test_the_second_judge_can_be_left_out(self):
        self.assertEqual(self.figures("--no-second-judge")["second_judge"], "off")

    def test_without_onnx_runtime_the_result_is_written_all_the_same(self):
        # A Python that finds no package of that name; a checkout's own one is not asked.
        package = self.folder / "packages" / "onnxruntime"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise ImportError('not here')\n")
        figures = self.figures(environment={"PYTHONPATH": str(package.parent)})
        self.assertEqual(figures["status"], "optimized")
        self.assertEqual(figures["second_judge"], "not available")
        self.assertTrue(figures["second_judge_message"])

    def test_a_tolerance_that_nothing_meets_falls_back(self):
        """With a tolerance of 0 whatever rounds is refused; what is written is bitwise or the original."""
        done = self.run_it("--json", "--rtol", "0", "--atol", "0", "--no-second-judge")
        figures = json.loads(done.stdout)["models"][0]
        if figures["warning"]:
            self.assertIn("warning", done.stderr)
            self.assertIn("was refused", done.stderr)
        self.assertIn((figures["status"], done.returncode), (("optimized", 0), ("mismatch", 4)))
        self.assertTrue((self.folder / "out" / "out.onnx").exists())

    def test_the_old_name_of_a_class_is_told(self):
        done = self.run_it("--fp-class", "unsafe")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'rounding'", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_every_class_can_be_asked_for(self):
        costs = [self.figures("--fp-class", word, "--no-second-judge")["cost_after"]
                 for word in ("bitwise", "reassociation", "distributive", "rounding")]
        self.assertGreaterEqual(costs[0], costs[-1])


class AuditedModels(Optimizing):
    """Models that were once made wrong; what is written agrees with them everywhere."""

    def outputs_agree(self, model, *options):
        figures = self.figures(*options, model=model)
        self.assertIn(figures["second_judge"], ("agrees", "not available", "not asked"))
        self.assertIn(figures["status"], ("optimized", "unchanged"), figures)
        return figures

    def test_a_quotient_through_a_third(self):
        vector = tensor_type(F32, [64, 64])
        model = self.written(
            [node("Div", ["x1", "x2"], ["a"]), node("Div", ["x3", "x1"], ["b"]), node("Mul", ["a", "b"], ["ab"]),
             node("Div", ["x3", "x2"], ["c"]), node("Neg", ["w"], ["nw"]), node("Neg", ["x1"], ["nx"]),
             node("Add", ["nw", "nx"], ["e"])],
            [(name, vector) for name in ("x1", "x2", "x3", "w")],
            [(name, vector) for name in ("a", "b", "ab", "c", "e")])
        self.outputs_agree(model)

    def test_a_softmax_over_nothing(self):
        model = self.written(
            [node("Softmax", ["x2"], ["s"]), node("ReduceL1", ["s"], ["r"]), node("Mul", ["x1", "r"], ["m"]),
             node("Neg", ["m"], ["n1"]), node("Neg", ["v"], ["n2"]), node("Add", ["n1", "n2"], ["y"])],
            [("x1", tensor_type(F32, [4, 8])), ("x2", tensor_type(F32, [4, "N"])), ("v", tensor_type(F32, [4, 8]))],
            [("y", tensor_type(F32, [4, 8]))])
        self.outputs_agree(model)

    def test_relu_of_what_is_negated_keeps_its_bits(self):
        vector = tensor_type(F32, [256])
        model = self.written(
            [node("Relu", ["x"], ["p"]), node("Neg", ["x"], ["nx"]), node("Relu", ["nx"], ["q"])],
            [("x", vector)], [("p", vector), ("q", vector)])
        self.outputs_agree(model, "--fp-class", "bitwise")


# Rules that are wrong, with records as if they were proved, and models on which the search uses them.
FORGED = {
    "relu_is_nothing": ("x : [A..]", "Relu(x) => x", [node("Relu", ["x"], ["y"])]),
    "abs_is_relu": ("x : [A..]", "Abs(Neg(x)) => Relu(x)", [node("Neg", ["x"], ["a"]), node("Abs", ["a"], ["y"])]),
    "quotient_by_itself": ("x : [A..]\n  y : [A..]", "Mul(Div(x, y), y) => Add(x, y)",
                           [node("Div", ["x", "w"], ["a"]), node("Mul", ["a", "w"], ["y"])]),
    "tanh_of_large_numbers": ("x : [A..]", "Tanh(Tanh(x)) => Sigmoid(x)",
                              [node("Tanh", ["x"], ["a"]), node("Tanh", ["a"], ["y"])]),
    "no_negative_zero": ("x : [A..]", "Neg(Neg(Relu(x))) => x",
                         [node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["b"]), node("Neg", ["b"], ["y"])]),
    "root_of_square": ("x : [A..]", "Sqrt(Mul(x, x)) => x", [node("Mul", ["x", "x"], ["a"]), node("Sqrt", ["a"], ["y"])]),
    "exponential_of_negative_numbers": ("x : [A..]", "Exp(Neg(Abs(x))) => Exp(x)",
                                        [node("Abs", ["x"], ["a"]), node("Neg", ["a"], ["b"]),
                                         node("Exp", ["b"], ["y"])]),
    "swapped_difference": ("x : [A..]\n  y : [A..]", "Neg(Sub(x, y)) => Sub(x, y)",
                           [node("Sub", ["x", "w"], ["a"]), node("Neg", ["a"], ["y"])]),
}


class WrongRules(Optimizing):
    """The last lines of defence: a rule whose record was forged is applied, and the result is refused."""

    def test_results_of_wrong_rules_are_not_written(self):
        vector = tensor_type(F32, [64])
        for name, (inputs, claim, nodes) in FORGED.items():
            with self.subTest(name):
                rules = self.folder / name
                (rules / "substitutions").mkdir(parents=True)
                (rules / "axioms").mkdir()
                (rules / "axioms" / "none.axioms").write_text("")
                (rules / "axioms.rounding").write_text("")
                (rules / "substitutions" / "wrong.rules").write_text(f"rule {name}\n  {inputs}\n  {claim}\n")
                forged = subprocess.run([FORGE, rules], capture_output=True, text=True)
                self.assertEqual(forged.returncode, 0, forged.stderr)
                model = self.written(nodes, [("x", vector), ("w", vector)], [("y", vector)])
                for judge in ([], ["--no-second-judge"]):
                    done = self.run_it("--rules", rules, "--json", *judge, model=model)
                    self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                    self.assertIn("was refused", done.stderr)
                    figures = json.loads(done.stdout)["models"][0]
                    self.assertEqual(figures["status"], "mismatch")
                    self.assertEqual(figures["rules_used"], {})
                    self.assertEqual((self.folder / "out" / "out.onnx").exists(), True)


if __name__ == "__main__":
    LEMMA, FORGE, rest = tested_programs.given(__doc__, "lemma", "forge")
    unittest.main(argv=[sys.argv[0], *rest])
