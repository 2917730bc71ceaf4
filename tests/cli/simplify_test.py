#!/usr/bin/env python3
"""What `lemma simplify` leaves out, and what it leaves as it is. Models are encoded by hand."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, I64, content, integer_attribute, node, number, tensor_type

LEMMA = None
VECTOR = tensor_type(F32, [2])


class Simplify(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-simplify-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, *parts, **more):
        file = self.folder / name
        file.write_bytes(tiny_models.model(*parts, **more))
        return file

    def figures(self, command, model, *options):
        done = subprocess.run([LEMMA, command, model, "-o", self.folder / "out.onnx", "--json", "--no-second-judge",
                               *options], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["models"][0]

    def nodes_after_simplify(self, model, *options):
        """Status, and the number of nodes of what is written."""
        figures = self.figures("simplify", model, *options)
        return figures["status"], figures["after"]["operators"]

    def test_simplify_leaves_out_what_changes_nothing(self):
        constant = tiny_models.tensor("k", [2], (1, 2))
        nodes = [
            node("Identity", ["x"], ["a"]),
            node("Cast", ["a"], ["b"], attributes=[integer_attribute("to", F32)]),
            node("Dropout", ["b"], ["c"]),
            node("Relu", ["c"], ["d"]), node("Relu", ["c"], ["e"]),  # duplicates
            node("Neg", ["e"], ["f"]), node("Neg", ["f"], ["g"]),
            node("Exp", ["k"], ["h"]),  # of a constant
            node("Add", ["d", "h"], ["i"]), node("Mul", ["i", "g"], ["j"]),
            node("Tanh", ["x"], ["unused"]),
            node("Cast", ["j"], ["y"], attributes=[integer_attribute("to", F32)])]
        model = self.write("long.onnx", nodes, [("x", VECTOR)], [("y", VECTOR)], initializers=[constant])
        self.assertEqual(self.nodes_after_simplify(model), ("optimized", 3))  # Relu, Add, Mul
        # What is clean is the same bytes.
        clean = self.folder / "clean.onnx"
        clean.write_bytes((self.folder / "out.onnx").read_bytes())
        self.assertEqual(self.nodes_after_simplify(clean), ("unchanged", 3))
        self.assertEqual((self.folder / "out.onnx").read_bytes(), clean.read_bytes())

    def test_what_is_drawn_at_random_is_no_duplicate_and_no_constant(self):
        """Two equal nodes give two values, also with a constant probability, and such with a seed stay as they are."""
        shape = tiny_models.integers_attribute("shape", [2])
        halves = tiny_models.tensor("p", [2], (0.5, 0.5))
        nodes = [node("RandomUniform", [], ["a"], attributes=[shape]), node("RandomUniform", [], ["b"], attributes=[shape]),
                 node("Bernoulli", ["p"], ["c"]), node("Bernoulli", ["p"], ["d"]),
                 node("Add", ["a", "b"], ["e"]), node("Mul", ["c", "d"], ["f"]), node("Add", ["e", "f"], ["g"]),
                 node("Add", ["g", "x"], ["y"])]
        model = self.write("random.onnx", nodes, [("x", VECTOR)], [("y", VECTOR)], initializers=[halves])
        self.assertEqual(self.figures("simplify", model)["after"]["operators"], 8)
        self.assertEqual(self.figures("optimize", model, "--no-measure")["after"]["operators"], 8)

    def test_simplify_does_not_trade(self):
        """Two products of one operand stay two; `optimize` makes them one."""
        matrix = tensor_type(F32, [2, 2])
        nodes = [node("MatMul", ["x", "a"], ["p"]), node("MatMul", ["x", "b"], ["y"]), node("Relu", ["p"], ["q"])]
        model = self.write("products.onnx", nodes, [("x", matrix)], [("q", matrix), ("y", matrix)],
                           initializers=[tiny_models.tensor(name, [2, 2], (1, 2, 3, 4)) for name in "ab"])
        self.assertEqual(self.nodes_after_simplify(model)[1], 2)  # equal weights: duplicates
        other = self.write("others.onnx", nodes, [("x", matrix)], [("q", matrix), ("y", matrix)],
                           initializers=[tiny_models.tensor("a", [2, 2], (1, 2, 3, 4)),
                                         tiny_models.tensor("b", [2, 2], (5, 6, 7, 8))])
        self.assertEqual(self.nodes_after_simplify(other), ("unchanged", 3))

    def test_simplify_writes_constant_nodes_as_initializers(self):
        def value(name):
            tensor = content(1, "value") + content(5, tiny_models.tensor("", [2], (1, 2))) + number(20, 4)
            return node("Constant", [], [name], attributes=[tensor])

        branches = [tiny_models.graph_attribute(f"{which}_branch",
                                                [value(which + "_k"), node(op, ["s", which + "_k"], [which])],
                                                [(which, VECTOR)])
                    for which, op in (("then", "Mul"), ("else", "Add"))]
        nodes = [value("k"), node("Add", ["x", "k"], ["s"]), node("If", ["c"], ["y"], attributes=branches)]
        model = self.write("constants.onnx", nodes, [("x", VECTOR), ("c", tensor_type(9, []))], [("y", VECTOR)])
        for version, written_version in ((3, 4), (7, 7)):
            model.write_bytes(number(1, version) + model.read_bytes()[2:])
            self.assertEqual(self.nodes_after_simplify(model)[0], "optimized")
            written = (self.folder / "out.onnx").read_bytes()
            self.assertNotIn(b"Constant", written)
            self.assertEqual(written[:2], number(1, written_version))

    def test_simplify_folds_normalizations_where_rounding_is_allowed(self):
        image = tensor_type(F32, [1, 2, 3, 3])
        nodes = [node("Conv", ["x", "w"], ["a"]), node("BatchNormalization", ["a", "s", "b", "m", "v"], ["c"]),
                 node("Add", ["c", "e"], ["y"])]
        weights = [tiny_models.tensor("w", [2, 2, 1, 1], (1, 2, 3, 4)), tiny_models.tensor("e", [2, 1, 1], (3, 4)),
                   *(tiny_models.tensor(name, [2], (1.5, 2.5)) for name in "sbmv")]
        model = self.write("normalized.onnx", nodes, [("x", image)], [("y", image)], initializers=weights)
        self.assertEqual(self.nodes_after_simplify(model), ("unchanged", 3))
        self.assertEqual(self.nodes_after_simplify(model, "--rounding-class", "rounding"), ("optimized", 1))

    def test_simplify_joins_a_product_and_its_addend(self):
        initializers = [tiny_models.tensor("w", [2, 2], [1, 2, 3, 4]), tiny_models.tensor("c", [2], [5, 6])]
        model = self.write("linear.onnx", [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "c"], ["y"])],
                           [("x", tensor_type(F32, [3, 2]))], [("y", tensor_type(F32, [3, 2]))],
                           initializers=initializers)
        self.assertEqual(self.nodes_after_simplify(model, "--rounding-class", "rounding"), ("optimized", 1))

    def test_a_loaded_constant_that_changes_nothing_is_left_out(self):
        rows = tensor_type(F32, ["N", 3])
        large = tensor_type(F32, ["N", 300])
        cases = (("Mul", rows, [3], 1, 2, 2), ("Mul", large, [300], 1, 2, 2), ("Div", rows, [], 1, 2, 2),
                 ("Pow", rows, [1], 1, 2, 2), ("Add", rows, [1, 3], 0, 2, 3), ("Sub", rows, [3], 0, 2, 3),
                 ("Mul", rows, [3], 2, 3, 3), ("Mul", rows, [1, 1, 3], 1, 3, 3))
        for op, type_message, sizes, value, optimized, simplified in cases:
            count = 1
            for size in sizes:
                count *= size
            nodes = [node("Tanh", ["x"], ["a"]), node(op, ["a", "k"], ["b"]), node("Sigmoid", ["b"], ["y"])]
            result = tensor_type(F32, [1, "N", 3]) if len(sizes) > 2 else type_message
            model = self.write("loaded.onnx", nodes, [("x", type_message)], [("y", result)],
                               initializers=[tiny_models.tensor("k", sizes, [value] * count)])
            figures = self.figures("optimize", model, "--no-measure")
            self.assertEqual((figures["after"]["operators"], figures["warning"]), (optimized, ""), (op, sizes))
            self.assertEqual(figures["left_out"], 3 - optimized)
            # A sum with 0 makes +0 of -0: `simplify` keeps every bit.
            self.assertEqual(self.nodes_after_simplify(model)[1], simplified, (op, sizes))

    def test_views_in_a_row_become_one(self):
        sizes = {"a": [-1, 40, 1], "b": [1], "c": [-1, 1, 1, 40]}
        chain = [node("Reshape", ["x", "a"], ["u"]), node("Unsqueeze", ["u", "b"], ["v"]),
                 node("Reshape", ["v", "c"], ["w"]), node("Relu", ["w"], ["y"])]
        model = self.write("views.onnx", chain, [("x", tensor_type(F32, ["N", 1, 40]))],
                           [("y", tensor_type(F32, ["N", 1, 1, 40]))],
                           initializers=[tiny_models.tensor(name, [len(each)], each, I64)
                                         for name, each in sizes.items()])
        self.assertEqual(self.nodes_after_simplify(model), ("optimized", 2))

    def computes_sizes(self, nodes, outputs, constants):
        """Whether what `simplify` writes does, of x with the sizes N, W and 6."""
        model = self.write("sizes.onnx", [node("Identity", ["x"], ["a"]), *nodes],
                           [("x", tensor_type(F32, ["N", "W", 6]))], outputs,
                           initializers=[tiny_models.tensor(name, [len(each)], each, I64)
                                         for name, each in constants.items()])
        self.nodes_after_simplify(model)
        written = (self.folder / "out.onnx").read_bytes()
        self.assertIn(b"Reshape", written)
        return b"Shape" in written

    def test_sizes_that_stay_where_they_are_are_copied(self):
        nodes = [node("Reshape", ["a", "k"], ["b"]), node("Relu", ["b"], ["y"])]
        outputs = [("y", tensor_type(F32, ["N", "W", 2, 3]))]
        for literal in ([0, -1, 2, 3], [0, 0, 2, 3]):
            self.assertFalse(self.computes_sizes(nodes, outputs, {"k": literal}), literal)

    def test_a_size_is_left_open_only_where_the_others_cannot_be_0(self):
        """No reader finds out what -1 is beside a size of 0."""
        constants = {"0": [0], "1": [1], "6": [6], "k": [0, -1]}
        nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "0"], ["n"]), node("Gather", ["s", "1"], ["w"]),
                 node("Concat", ["n", "1", "w", "6"], ["t"], attributes=[integer_attribute("axis", 0)]),
                 node("Reshape", ["a", "t"], ["b"]), node("Relu", ["b"], ["y"])]
        outputs = [("y", tensor_type(F32, ["N", 1, "W", 6]))]
        self.assertTrue(self.computes_sizes(nodes, outputs, constants))
        # Nobody needs the node that cannot run with N = 0.
        unused = node("Reshape", ["a", "k"], ["z"])
        self.assertTrue(self.computes_sizes([*nodes, unused], outputs, constants))
        self.assertFalse(self.computes_sizes([*nodes, unused], [*outputs, ("z", tensor_type(F32, ["N", "M"]))],
                                             constants))

    def test_a_single_view_keeps_its_spelling(self):
        model = self.write("view.onnx", [node("Unsqueeze", ["x", "b"], ["u"]), node("Relu", ["u"], ["y"])],
                           [("x", VECTOR)], [("y", tensor_type(F32, [1, 2]))],
                           initializers=[tiny_models.tensor("b", [1], [0], I64)])
        self.assertEqual(self.nodes_after_simplify(model), ("unchanged", 2))
        self.assertEqual((self.folder / "out.onnx").read_bytes(), model.read_bytes())


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
