#!/usr/bin/env python3
"""Bodies of If, Loop and Scan are optimized and cleaned; nothing is lost on the way."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, I64, content, node, number, tensor_type

LEMMA = None
BOOL = 9
VECTOR = tensor_type(F32, [2])


def body_attribute(name, nodes, inputs, outputs, initializers=(), documentation=""):
    graph = b"".join(content(1, each) for each in nodes) + content(2, name)
    graph += b"".join(content(5, each) for each in initializers)
    graph += content(10, documentation) if documentation else b""
    graph += b"".join(content(11, tiny_models.value_info(*each)) for each in inputs)
    graph += b"".join(content(12, tiny_models.value_info(*each)) for each in outputs)
    return content(1, name) + content(6, graph) + number(20, 5)


def choice(condition, output, then_nodes, else_nodes):
    branches = [body_attribute(f"{which}_branch", nodes, [], [(f"{output}_{which}", VECTOR)])
                for which, nodes in (("then", then_nodes), ("else", else_nodes))]
    return node("If", [condition], [output], attributes=branches)


class Bodies(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-bodies-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out.onnx"

    def write(self, *parts, **more):
        file = self.folder / "model.onnx"
        file.write_bytes(tiny_models.model(*parts, **more))
        return file

    def run_both(self, model):
        """What each command writes."""
        for command in (("optimize", "--no-measure"), ("simplify",)):
            # Far more time than is needed, so that a busy machine changes nothing.
            done = subprocess.run([LEMMA, *command, model, "-o", self.out, "--json", "--no-second-judge",
                                   "--time-limit", "200"],
                                  capture_output=True, text=True, timeout=400)
            self.assertEqual(done.returncode, 0, done.stderr)
            yield command[0], json.loads(done.stdout)["models"][0], self.out.read_bytes()

    def count(self, written, op):
        """How often a node of this operator is in the file."""
        return len(re.findall(re.escape(content(4, op)), written))

    def test_branches_whose_condition_is_an_input(self):
        turns = [node("Neg", ["x"], ["o_a"]), node("Neg", ["o_a"], ["o_b"]), node("Mul", ["o_b", "one"], ["o_c"]),
                 node("Tanh", ["o_c"], ["o_then"])]
        stays = [node("Sigmoid", ["t"], ["o_else"])]
        model = self.write([node("Exp", ["x"], ["t"]), choice("c", "o", turns, stays), node("Relu", ["o"], ["y"])],
                           [("x", VECTOR), ("c", tensor_type(BOOL, []))], [("y", VECTOR)],
                           initializers=[tiny_models.tensor("one", [2], (1, 1))])
        for command, figures, written in self.run_both(model):
            self.assertEqual((figures["status"], figures["warning"]), ("optimized", ""), command)
            for op, times in (("Neg", 0), ("Mul", 0), ("Tanh", 1), ("Sigmoid", 1), ("If", 1), ("Exp", 1)):
                self.assertEqual(self.count(written, op), times, (command, op))

    def test_branches_in_branches(self):
        inner = choice("c", "i", [node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["b"]), node("Cos", ["b"], ["i_then"])],
                       [node("Sin", ["x"], ["i_else"])])
        model = self.write([choice("c", "o", [inner, node("Tanh", ["i"], ["o_then"])], [node("Exp", ["x"], ["o_else"])]),
                            node("Relu", ["o"], ["y"])],
                           [("x", VECTOR), ("c", tensor_type(BOOL, []))], [("y", VECTOR)])
        for command, figures, written in self.run_both(model):
            self.assertEqual(figures["status"], "optimized", command)
            self.assertEqual([self.count(written, op) for op in ("Neg", "Cos", "Sin", "If")], [0, 1, 1, 2], command)

    def test_the_body_of_a_loop_and_what_is_said_of_it(self):
        step = [node("Identity", ["going"], ["goes_on"]), node("Neg", ["state"], ["a"]), node("Neg", ["a"], ["b"]),
                node("Add", ["b", "w"], ["next"])]
        body = body_attribute("body", step, [("i", tensor_type(I64, [])), ("going", tensor_type(BOOL, [])),
                                             ("state", VECTOR)],
                              [("goes_on", tensor_type(BOOL, [])), ("next", VECTOR)],
                              [tiny_models.tensor("w", [2], (1, 2))], "what the loop does")
        model = self.write([node("Loop", ["n", "", "x"], ["l"], attributes=[body]), node("Relu", ["l"], ["y"])],
                           [("x", VECTOR), ("n", tensor_type(I64, []))], [("y", VECTOR)])
        for command, figures, written in self.run_both(model):
            self.assertEqual(figures["status"], "optimized", command)
            self.assertEqual([self.count(written, op) for op in ("Neg", "Add", "Loop")], [0, 1, 1], command)
            for words in (b"what the loop does", b"state", tiny_models.floats((1, 2))):
                self.assertIn(words, written)

    def test_new_names_are_new_in_the_whole_model(self):
        """Both branches fold a constant, and would call it by the same name."""
        def folds(output):
            return [node("Exp", ["k"], [f"{output}_e"]), node("Neg", ["x"], [f"{output}_a"]),
                    node("Neg", [f"{output}_a"], [f"{output}_b"]),
                    node("Add", [f"{output}_b", f"{output}_e"], [f"o_{output}"])]
        model = self.write([choice("c", "o", folds("then"), folds("else")), node("Relu", ["o"], ["y"])],
                           [("x", VECTOR), ("c", tensor_type(BOOL, []))], [("y", VECTOR)],
                           initializers=[tiny_models.tensor("k", [2], (0, 1))])
        for command, figures, written in self.run_both(model):
            self.assertEqual(figures["status"], "optimized", command)
            self.assertEqual([self.count(written, op) for op in ("Exp", "Add")], [0, 2], command)
            names = re.findall(rb"B.([a-z_0-9]+)J\x08", written)  # of initializers of 8 bytes
            self.assertEqual((len(names), len(set(names))), (2, 2), names)

    def test_where_a_body_may_be_given_infinities_every_bit_is_kept(self):
        """x + 0 would change nothing but the sign of a zero, and is left out where all is known to be finite."""
        def model_with(first):
            nodes = [node(first, ["x"], ["t"]),
                     choice("c", "o", [node("Add", ["t", "zero"], ["a"]), node("Tanh", ["a"], ["o_then"])],
                            [node("Sigmoid", ["t"], ["o_else"])]), node("Relu", ["o"], ["y"])]
            return self.write(nodes, [("x", VECTOR), ("c", tensor_type(BOOL, []))], [("y", VECTOR)],
                              initializers=[tiny_models.tensor("zero", [2], (0, 0))])
        for first, sums in (("Tanh", 0), ("Log", 1)):
            results = {command: self.count(written, "Add") for command, _, written in self.run_both(model_with(first))}
            self.assertEqual(results, {"optimize": sums, "simplify": 1}, first)

    def test_a_body_in_which_nothing_is_better_stays_the_same_bytes(self):
        model = self.write([choice("c", "o", [node("Tanh", ["x"], ["o_then"])], [node("Sigmoid", ["x"], ["o_else"])]),
                            node("Relu", ["o"], ["y"])],
                           [("x", VECTOR), ("c", tensor_type(BOOL, []))], [("y", VECTOR)])
        for command, figures, written in self.run_both(model):
            self.assertEqual((figures["status"], written == model.read_bytes()), ("unchanged", True), command)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
