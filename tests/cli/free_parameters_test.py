#!/usr/bin/env python3
"""Rules with free parameters from a file of rules to an optimized model: both proofs, both checkers, the values of the
target, and the explanation of the result."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, node, tensor_type

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import few_axioms  # noqa: E402

SECOND = ROOT / "checkers" / "lemma_check.py"
LEMMA = CHECKER = None
BOTH_PROOFS = ("matmul_of_rows_in_parts", "matmul_of_columns_in_parts", "matmul_as_sum_of_parts")


def run(*call, code=0):
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True, timeout=600)
    assert done.returncode == code, f"{call}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


class FreeParameters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="lemma-free-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.rules = few_axioms.write(cls.folder / "rules", ("device_axes", "matmul", "movement"))
        (cls.rules / "substitutions").mkdir()
        text = (ROOT / "examples" / "parallel.rules").read_text()
        chosen = [block for block in re.split(r"\n(?=rule )", text) if block.split()[1] in BOTH_PROOFS]
        (cls.rules / "substitutions" / "parallel.rules").write_text("\n".join(chosen))
        cls.verified = run(LEMMA, "rules", "verify", "--rules", cls.rules, "--write").stdout
        device = json.loads((ROOT / "targets" / "devices" / "cpu.json").read_text())["operators"]
        device["slow_forms"] = [{"operator": "MatMul", "rank": 2, "factor": 16}]
        cls.device = device
        matrix = tensor_type(F32, [256, 256])
        cls.model = cls.folder / "model.onnx"
        cls.model.write_bytes(tiny_models.model(
            [node("MatMul", ["x", "w"], ["y"]), node("Relu", ["y"], ["z"])],
            [("x", matrix), ("w", matrix)], [("z", matrix)]))

    def optimize(self, *options, target_values=None):
        device = dict(self.device)
        if target_values:
            device["target_values"] = target_values
        file = self.folder / "device.json"
        file.write_text(json.dumps(device))
        explanation = self.folder / "it.explanation"
        done = run(LEMMA, "optimize", self.model, "-o", self.folder / "out.onnx", "--rules", self.rules, "--device",
                   file, "--no-measure", "--json", "--explain", explanation, *options)
        figures = json.loads(done.stdout)["models"][0]
        text = explanation.read_text()
        # There are no steps to check where nothing was changed.
        run(CHECKER, "--axioms", self.rules / "axioms", self.rules / "substitutions", explanation)
        return figures, text

    def test_both_checkers_accept_the_certificates(self):
        self.assertIn("3 rules: 3 proved", self.verified)
        folder = self.rules / "substitutions"
        for checker in ([CHECKER], [sys.executable, SECOND]):
            done = run(*checker, "--axioms", self.rules / "axioms", "--rules", folder, folder)
            self.assertIn("3", done.stdout)

    def test_both_checkers_refuse_other_values(self):
        pack = self.rules / "substitutions" / "parallel.certificates"
        text = pack.read_text()
        self.assertIn("  free k : divisors of k*m\n", text)
        for line in ("", "  free k : 2\n", "  free k : 0\n", "  free k : at most 8 divisors of k*m\n",
                     "  free q : 2\n"):
            changed = self.folder / "changed.certificates"
            changed.write_text(text.replace("  free k : divisors of k*m\n", line))
            for checker in ([CHECKER], [sys.executable, SECOND]):
                run(*checker, "--axioms", self.rules / "axioms", changed, code=4)

    def test_divisors_are_found_in_the_model(self):
        figures, explanation = self.optimize("--only-rules", "rows")
        self.assertEqual(figures["status"], "optimized")
        self.assertLess(figures["cost_after"], figures["cost_before"])
        self.assertEqual(set(figures["rules_used"]), {"matmul_of_rows_in_parts"})
        self.assertRegex(explanation, r"\nstep matmul_of_rows_in_parts forward: .*, k=\d+")

    def test_the_target_gives_values(self):
        for options, values in ((["--target-values", "4"], None), ([], [4]), (["--target-values", "4"], [8])):
            figures, explanation = self.optimize("--only-rules", "columns", *options, target_values=values)
            self.assertEqual(figures["status"], "optimized")
            self.assertRegex(explanation, r"\nstep matmul_of_columns_in_parts forward: .*, k=4,")

    def test_without_values_or_with_others_nothing_is_done(self):
        for options in ([], ["--target-values", "3,5,7"]):
            figures, _ = self.optimize("--only-rules", "columns", *options)
            self.assertEqual(figures["status"], "unchanged")

    def test_values_are_positive(self):
        call = [LEMMA, "optimize", self.model, "-o", self.folder / "none.onnx", "--target-values", "0,2"]
        self.assertIn("--target-values", run(*call, code=2).stderr)
        file = self.folder / "wrong.json"
        file.write_text(json.dumps({**self.device, "target_values": [2, -1]}))
        call = [LEMMA, "optimize", self.model, "-o", self.folder / "none.onnx", "--device", file]
        self.assertIn("'target_values' has -1, which is no whole number from 1 on", run(*call, code=2).stderr)

    def test_a_false_rule_is_not_written(self):
        folder = self.folder / "wrong"
        shutil.copytree(self.rules, folder)
        (folder / "substitutions" / "parallel.rules").write_text(
            "rule one_copy\n  x : [n]\n  free k : 1\n"
            "  Relu(x) => ReduceSum{axes=[0], keepdims=0}(Expand{shape=[k, n]}(Relu(x)))\n")
        done = run(LEMMA, "rules", "verify", "--rules", folder, code=4)
        self.assertIn("one_copy", done.stdout)
        self.assertIn("k = ", done.stdout)


if __name__ == "__main__":
    LEMMA, CHECKER, words = tested_programs.given(__doc__, "lemma", "checker")
    unittest.main(argv=[sys.argv[0], *words])
