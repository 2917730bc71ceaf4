#!/usr/bin/env python3
"""lemma plan verify: models of ranks that are right are proved, and wrong ones are found at the place of the mistake."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models"), str(ROOT / "tests" / "cli")]
import environment

environment.enter_or_skip()

import onnx
import parallel
import tested_programs

LEMMA = None

# The operator at which each mistake shows.
CULPRITS = {
    ("tensor", "no_sum_attention"): "Add", ("tensor", "no_sum_wide"): "Add", ("tensor", "sum_twice_attention"): "AllReduce",
    ("tensor", "bias_before_sum"): "Add", ("tensor", "residual_before_sum"): "Add", ("tensor", "shifted_wo"): "MatMul 'projected",
    ("tensor", "shifted_w2"): "MatMul 'narrow", ("tensor", "first_b1"): "Add", ("tensor", "first_bq"): "Add 'q",
    ("tensor", "scale"): "Mul", ("tensor", "softmax_axis"): "Softmax", ("tensor", "sum_before_gelu"): "AllReduce",
    ("sequence", "no_sum_wide"): "Slice", ("sequence", "first_part"): "Slice", ("sequence", "norm_axis"): "LayerNormalization",
    ("sequence", "shifted_wk"): "MatMul", ("expert", "no_sum"): "output 'y'", ("expert", "shifted_experts"): "MatMul 'down",
    ("expert", "local_softmax"): "Softmax", ("expert", "gate_of_first"): "MatMul 'logits", ("zero", "scaled_twice"): "Mul",
    ("zero", "own_gradient"): "Split", ("zero", "rotated_gradient"): "Permute", ("zero", "rotated_step"): "Permute",
    ("zero", "gathered_twice"): "AllReduce", ("all_to_all", "not_returned"): "Permute",
}


class Verify(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, single, ranks):
        files = []
        for number, model in enumerate([single, *ranks]):
            files.append(self.folder / f"model{number}.onnx")
            onnx.save(model, files[-1])
        return files

    def verify(self, *arguments):
        return subprocess.run([LEMMA, "plan", "verify", *map(str, arguments)], capture_output=True, text=True)

    def test_right_programs_are_proved(self):
        for kind, make in parallel.KINDS.items():
            for ranks in (2, 4):
                with self.subTest(kind=kind, ranks=ranks):
                    done = self.verify(*self.write(*make(parallel.Sizes(batch=4), ranks)))
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertTrue(done.stdout.startswith("proved: "), done.stdout)

    def test_mistakes_are_found_where_they_are(self):
        self.assertEqual(set(CULPRITS), set(parallel.MISTAKES))
        for kind, mistake in parallel.MISTAKES:
            with self.subTest(kind=kind, mistake=mistake):
                done = self.verify(*self.write(*parallel.KINDS[kind](parallel.Sizes(batch=4), 2, mistake)))
                self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                self.assertTrue(done.stdout.startswith("refuted: "), done.stdout)
                self.assertIn("none of them: " + CULPRITS[kind, mistake], done.stdout)

    def test_a_stack_of_equal_layers_needs_the_claims_of_few(self):
        sizes = parallel.LlamaSizes(layers=20)
        files = self.write(parallel.llama(sizes, 1), [parallel.llama(sizes, 8)])
        done = self.verify(*files, "--mesh", "tensor=8")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"by [1-4]\d claims")

    def test_what_cannot_be_computed_is_unknown(self):
        sizes = parallel.LlamaSizes(layers=3)
        files = self.write(parallel.llama(sizes, 1), [parallel.llama(sizes, 8, "sum_twice", 1)])
        done = self.verify(*files, "--mesh", "tensor=8")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith("unknown: "), done.stdout)
        self.assertIn("none of them: AllReduce", done.stdout)

    def test_two_axes_of_devices(self):
        sizes = parallel.Sizes(batch=4)
        local = parallel.Sizes(batch=2)
        ranks = [parallel.tensor_parallel_rank(local, rank % 4, 4) for rank in range(8)]
        files = self.write(parallel.single_block(sizes), ranks)
        done = self.verify(*files, "--mesh", "data=2,tensor=4", "--values")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("data: axis 0 in parts, tensor: partial sum", done.stdout)

    def test_claims_are_rules_that_are_proved_again(self):
        claims = self.folder / "claims.rules"
        done = self.verify(*self.write(*parallel.tensor_parallel(parallel.Sizes(), 2)), "--claims", claims)
        self.assertEqual(done.returncode, 0, done.stderr)
        again = subprocess.run([LEMMA, "rules", "obligations", str(claims)], capture_output=True, text=True)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        count = claims.read_text().count("\nrule ")
        self.assertGreater(count, 15)
        self.assertIn(f"{count} of {count} claims hold", again.stdout)

    def test_errors_are_one_line(self):
        single, ranks = parallel.tensor_parallel(parallel.Sizes(), 2)
        files = self.write(single, ranks)
        other = parallel.expert_rank(parallel.Sizes(), 0, 2)
        onnx.save(other, self.folder / "other.onnx")
        for arguments, message in [
            ([files[0], files[1], files[2], "--mesh", "tensor=4"], "2 models are given for a mesh of 4 devices"),
            ([*files, "--mesh", "tensor"], "no NAME=SIZE"),
            ([*files, "--place", "x"], "not of the form"),
            ([*files, "--place", "x:0"], "has the shape"),
            ([files[0], files[1], self.folder / "other.onnx"], "ranks 0 and 1 run different programs"),
            ([files[0], self.folder / "other.onnx", self.folder / "other.onnx"], "shape"),
            ([files[0], self.folder / "none.onnx"], "none.onnx"),
        ]:
            with self.subTest(message=message):
                done = self.verify(*arguments)
                self.assertIn(done.returncode, (2, 3))
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
