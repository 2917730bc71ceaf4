#!/usr/bin/env python3
"""lemma emit --target cuda: attention in one pass (attention.cuh) and reductions of few elements in two phases. The source is
compiled for this processor (host_cuda/), and its outputs are compared with the interpreter's in three orders of its blocks, with
ThreadSanitizer where it is there."""

import re
import sys
import unittest

import cuda_case
import ptx_program
from cuda_models import BF16, F16, F32, I64, model, node, tensor, weights
import tested_programs
from tiny_models import integer_attribute, integers_attribute

WORDS = ("--device", "h100", "--units", 2, "--block-threads", 64, "--no-resources")
LEAST = -30000.0


def attention(data_type, rows, columns, terms, values, mask=None, is_turned=False, heads=2, factor=0.25, hidden=0):
    """softmax(scale q k' + mask) v, by heads; keys as they are, or with their axes exchanged. The first `hidden` columns are
    infinitely far below the others."""
    nodes = [] if is_turned else [node("Transpose", ["k"], ["t"], attributes=[integers_attribute("perm", [0, 2, 1])])]
    nodes += [node("MatMul", ["q", "k" if is_turned else "t"], ["products"]), node("Mul", ["products", "scale"], ["scaled"])]
    scale, extra, inputs = tensor("scale", [], [factor], data_type), [], []
    scores = "scaled"
    if mask == "added":
        nodes.append(node("Add", ["scaled", "m"], ["masked"]))
        inputs, scores = [("m", [rows, columns])], "masked"
    elif mask == "causal":
        triangle = [0.0 if column <= row else LEAST for row in range(rows) for column in range(columns)]
        nodes.append(node("Add", ["scaled", "m"], ["masked"]))
        extra, scores = [tensor("m", [rows, columns], triangle, data_type)], "masked"
    elif hidden:
        nodes.append(node("Add", ["scaled", "m"], ["masked"]))
        row = [-float("inf") if column < hidden else 0.0 for column in range(columns)]
        extra, scores = [tensor("m", [1, columns], row, data_type)], "masked"
    nodes += [node("Softmax", [scores], ["p"], attributes=[integer_attribute("axis", -1)]), node("MatMul", ["p", "v"], ["y"])]
    keys = [heads, terms, columns] if is_turned else [heads, columns, terms]
    inputs = [("q", [heads, rows, terms]), ("k", keys), ("v", [heads, columns, values]), *inputs]
    return model(nodes, inputs, [("y", [heads, rows, values])], [scale, *extra],
                 {name: data_type for name in ("q", "k", "v", "m", "y")})


def sums(operator, sizes, axes, data_type=F32):
    is_sum = operator == "ReduceSum"
    nodes = [node(operator, ["x", "axes"] if is_sum else ["x"], ["y"],
                  attributes=[integer_attribute("keepdims", 0)] + ([] if is_sum else [integers_attribute("axes", list(axes))]))]
    left = [size for axis, size in enumerate(sizes) if axis not in axes]
    return model(nodes, [("x", sizes)], [("y", left)], [tensor("axes", [len(axes)], list(axes), I64)] if is_sum else [],
                 {"x": data_type, "y": data_type})


def skinny_product():
    return model([node("MatMul", ["x", "w"], ["y"])], [("x", [1, 8192])], [("y", [1, 6])], [weights("w", [8192, 6], 0.1)])


ATTENTIONS = {
    "plain": lambda: attention(F16, 50, 72, 32, 16),
    "bf16": lambda: attention(BF16, 33, 130, 16, 48),
    "added": lambda: attention(F16, 40, 64, 16, 32, mask="added"),
    "causal": lambda: attention(F16, 128, 160, 32, 32, mask="causal"),
    "peaked": lambda: attention(F16, 40, 136, 32, 16, factor=4.0),
    "turned": lambda: attention(F16, 20, 72, 32, 32, is_turned=True),
    "f32": lambda: attention(F32, 92, 200, 32, 32),
    "f32_causal": lambda: attention(F32, 60, 330, 16, 64, mask="causal"),
    "f32_turned": lambda: attention(F32, 64, 520, 16, 128, is_turned=True),
    "tf32": lambda: attention(F32, 50, 72, 32, 16),
    "tf32_turned": lambda: attention(F32, 33, 136, 32, 48, is_turned=True),
}
# A row for each head, with 256 columns and more: parts of the columns, and what puts them together.
ROWS = {
    "row": lambda: attention(F16, 1, 256, 32, 32),
    "row_f32": lambda: attention(F32, 1, 512, 16, 24, mask="added"),
    "row_peaked": lambda: attention(F32, 1, 256, 32, 16, factor=8.0),
    "row_hidden": lambda: attention(F32, 1, 256, 16, 16, hidden=192),
    "row_turned": lambda: attention(BF16, 2, 320, 16, 16, is_turned=True),
}
REDUCTIONS = {
    "all": lambda: sums("ReduceSum", [96, 128], (0, 1)), "mean": lambda: sums("ReduceMean", [2, 9000], (1,)),
    "columns": lambda: sums("ReduceSum", [8192, 6], (0,)), "greatest": lambda: sums("ReduceMax", [8209], (0,)),
    "f16": lambda: sums("ReduceSum", [3, 8192], (1,), F16), "product": skinny_product,
}


class CudaAttention(cuda_case.ProgramCase):
    models = {**ATTENTIONS, **REDUCTIONS, **ROWS}
    attentions, reductions, rows = ("causal", "f32", "tf32"), ("all", "columns", "product"), ("row", "row_hidden")

    def disagreement_of_attention(self, name):
        words = (*WORDS, "--tf32") if name.startswith("tf32") else WORDS
        directory = self.write_program(name, f"attention_{name}", *words)
        text = (directory / "kernels.cuh").read_text()
        self.assertEqual(len(re.findall(r"^__device__ __noinline__ void kernel_\d", text, re.M)), 1, name)
        self.assertTrue(("attend_in_lanes<" if name.startswith("f32") else "attend<") in text, name)
        return self.disagreement(directory)

    def disagreement_of_row(self, name):
        """A kernel for parts, a task for each, and one that puts them together."""
        words = [16 if word == 2 else word for word in WORDS]
        directory = self.write_program(name, f"row_{name}", *words)
        self.assertTrue("(parts)" in (directory / "kernels.cuh").read_text(), name)
        return self.disagreement(directory)

    def disagreement_of_reduction(self, name):
        directory = self.write_program(name, f"reduction_{name}", *WORDS)
        text = (directory / "kernels.cuh").read_text()
        self.assertGreaterEqual(len(re.findall(r"^__device__ __noinline__ void (?:kernel|phase)_\d", text, re.M)), 2, name)
        return self.disagreement(directory)

    def test_attention_is_one_kernel_and_agrees_with_the_interpreter(self):
        self.assertEqual([failure for failure in self.for_each(self.disagreement_of_attention, self.attentions) if failure], [])

    @tested_programs.long
    def test_rows_of_few_queries_are_computed_in_parts_of_their_columns(self):
        self.assertEqual([failure for failure in self.for_each(self.disagreement_of_row, self.rows) if failure], [])

    @tested_programs.long
    def test_reductions_of_few_elements_have_two_phases(self):
        self.assertEqual([failure for failure in self.for_each(self.disagreement_of_reduction, self.reductions) if failure], [])


class AllAttention(CudaAttention):
    """All forms, and changes of the source: minutes."""

    attentions, reductions, rows = tuple(ATTENTIONS), tuple(REDUCTIONS), tuple(ROWS)

    def test_changes_are_found(self):
        directory = self.write_program("peaked", "changed", *WORDS)
        self.assertIsNone(self.disagreement(directory))
        file = directory / "attention.cuh"
        text = file.read_text()
        for before, after in (("totals[block][k] *= kept;", ";"), ("sum[half] *= kept;", ";"),
                              ("larger < scores[block][k] ? scores[block][k] : larger", "larger"),
                              ("bring(step + 1);", "bring(step);"), ("low[2], low[3]", "low[0], low[1]")):
            self.assertIn(before, text)
            file.write_text(text.replace(before, after))
            self.assertIsNotNone(self.disagreement(directory), before)
        file.write_text(text)


class PtxAttention(CudaAttention):
    """The same as nvcc's PTX, which is run on this processor (ptx_program.py)."""

    attentions, reductions, rows = ("causal", "bf16", "f32_causal", "tf32_turned"), ("all", "f16", "product"), ("row",)

    @classmethod
    def setUpClass(cls):
        if ptx_program.compiler() is None:
            raise unittest.SkipTest("there is no nvcc")
        super().setUpClass()
        cls.host = ptx_program.Host(cls.folder, "sm_90")


if __name__ == "__main__":
    sys.exit(cuda_case.main(__doc__))
