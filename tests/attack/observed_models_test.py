#!/usr/bin/env python3
"""Models that depend on where NaN is: comparisons, selections by them, conversions, in a graph and around the branches of
If. Each cone divides by what is 0 for some inputs, and a rule would take the division away. The optimized model has to
give the same bits, those of infinities included, wherever the original gives a number, true or false."""

import argparse
import itertools
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
LEMMA = CHECKER = None
N = 6


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=ROOT)


# Terms over x, y and s that are NaN or an infinity for some inputs, and another number after a rewrite.
REFINABLE = {
    "quotient": [("Div", "a", "b")],  # of products with s, below
    "product": [("Div", "x", "y"), ("Mul", "", "y")],
    "root": [("Sqrt", "x"), ("Mul", "", "")],
    "exponential": [("Log", "x"), ("Exp", "")],
    "cancelled": [("Mul", "x", "y"), ("Div", "", "y")],
}


class Graph:
    """Nodes under construction, with names of their own."""

    def __init__(self, helper, prefix):
        self.helper, self.prefix, self.nodes, self.count = helper, prefix, [], 0

    def add(self, op, inputs, outputs=1, **attributes):
        names = [f"{self.prefix}{self.count + i}" for i in range(outputs)]
        self.count += outputs
        self.nodes.append(self.helper.make_node(op, inputs, names, **attributes))
        return names[-1]

    def term(self, kind):
        if kind == "quotient":
            a, b = self.add("Mul", ["x", "s"]), self.add("Mul", ["y", "s"])
            return self.add("Div", [a, b])
        value = ""
        for op, *operands in REFINABLE[kind]:
            value = self.add(op, [one or value for one in operands])
        return value


# What looks at a value, as (graph, value) -> name of what it gives, and the type of that.
OBSERVERS = {
    "is_nan": (lambda g, d: g.add("IsNaN", [d]), "BOOL"),
    "is_inf": (lambda g, d: g.add("IsInf", [d]), "BOOL"),
    "equal_itself": (lambda g, d: g.add("Equal", [d, d]), "BOOL"),
    "less": (lambda g, d: g.add("Less", [d, "x"]), "BOOL"),
    "at_most": (lambda g, d: g.add("LessOrEqual", ["x", d]), "BOOL"),
    "greater": (lambda g, d: g.add("Greater", [d, "x"]), "BOOL"),
    "at_least": (lambda g, d: g.add("GreaterOrEqual", [d, d]), "BOOL"),
    "to_bool": (lambda g, d: g.add("Cast", [d], to=9), "BOOL"),
    "largest": (lambda g, d: g.add("ArgMax", [d], axis=0, keepdims=0), "INT64"),
    "smallest": (lambda g, d: g.add("ArgMin", [d], axis=0, keepdims=0), "INT64"),
    "hardmax": (lambda g, d: g.add("Hardmax", [d], axis=0), "FLOAT"),
    "threshold": (lambda g, d: g.add("ThresholdedRelu", [d], alpha=0.5), "FLOAT"),
    "shrink": (lambda g, d: g.add("Shrink", [d], lambd=0.5), "FLOAT"),
    "chosen": (lambda g, d: g.add("Where", [g.add("Equal", [d, d]), d, "seven"]), "FLOAT"),
    "chosen_by_order": (lambda g, d: g.add("Where", [g.add("Less", [d, "x"]), "x", "y"]), "FLOAT"),
    "below_more": (lambda g, d: g.add("IsNaN", [g.add("Neg", [g.add("Add", [d, "x"])])]), "BOOL"),
}
IN_BRANCHES = ("is_nan", "equal_itself", "less", "at_least", "to_bool", "largest", "threshold", "chosen", "below_more")


def inputs_of(numpy):
    special = numpy.array([0, 1, -1, 2, -3, 0.5], numpy.float32)
    for x, y, s in itertools.product(range(3), range(3), (0, 1, -2)):
        yield {"x": numpy.roll(special, x), "y": numpy.roll(special, 2 * y + 1), "s": numpy.array(s, numpy.float32)}


class ObservedModels(unittest.TestCase):
    def setUp(self):
        try:
            import numpy
            import onnx
            import onnxruntime
        except ImportError:
            self.skipTest("ONNX Runtime is not installed")
        onnxruntime.set_default_logger_severity(4)
        self.numpy, self.onnx, self.helper, self.runtime = numpy, onnx, onnx.helper, onnxruntime
        folder = tempfile.TemporaryDirectory(prefix="lemma-observed-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def value(self, name, kind, shape):
        return self.helper.make_tensor_value_info(name, getattr(self.onnx.TensorProto, kind), shape)

    def model(self, nodes, outputs, opset=17):
        helper = self.helper
        seven = helper.make_tensor("seven", self.onnx.TensorProto.FLOAT, [], [7.0])
        graph = helper.make_graph(
            nodes, "observed", [self.value("x", "FLOAT", [N]), self.value("y", "FLOAT", [N]), self.value("s", "FLOAT", [])],
            [self.value(name, kind, None) for name, kind in outputs], [seven])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        return self.onnx.shape_inference.infer_shapes(model)

    def optimized(self, model, explains=False):
        original, result = self.folder / "original.onnx", self.folder / "result.onnx"
        self.onnx.save(model, original)
        options = ["--explain", self.folder / "result.explanation"] if explains else []
        done = run(LEMMA, "optimize", original, "-o", result, "--no-measure", "--no-second-judge", "--time-limit", 20,
                   *options)  # the results are compared below
        self.assertEqual(done.returncode, 0, done.stderr)
        return original, result

    def compare(self, name, model):
        numpy = self.numpy
        sessions = []
        for one in self.optimized(model):
            options = self.runtime.SessionOptions()
            options.graph_optimization_level = self.runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
            sessions.append(self.runtime.InferenceSession(str(one), options, providers=["CPUExecutionProvider"]))
        for feeds in inputs_of(numpy):
            before, after = (one.run(None, feeds) for one in sessions)
            for output, a, b in zip(sessions[0].get_outputs(), before, after):
                numbers = ~numpy.isnan(a) if a.dtype.kind == "f" else numpy.ones(a.shape, bool)
                numpy.testing.assert_array_equal(b[numbers], a[numbers], f"{name}, {output.name}: {feeds}")

    def test_observers_in_the_graph(self):
        """16 observers of 5 terms each."""
        for name, (observe, kind) in OBSERVERS.items():
            graph = Graph(self.helper, "v")
            outputs = [(observe(graph, graph.term(term)), kind) for term in REFINABLE]
            with self.subTest(name):
                self.compare(name, self.model(graph.nodes, outputs))

    def branching(self, nested):
        """An If whose branches give the terms, and what looks at them around it."""
        helper, outer = self.helper, Graph(self.helper, "o")
        then, other = Graph(helper, "t"), Graph(helper, "e")
        names = [then.term(term) for term in REFINABLE]
        shown = [self.value(name, "FLOAT", None) for name in names]
        branch = helper.make_graph(then.nodes, "then", [], shown)
        same = [other.add("Identity", ["x"]) for _ in names]
        rest = helper.make_graph(other.nodes, "else", [], [self.value(one, "FLOAT", None) for one in same])
        condition = outer.add("Greater", ["s", "minus"])
        outer.nodes.insert(0, helper.make_node("Constant", [], ["minus"], value_float=-10.0))
        if nested:  # the If in a branch of another one
            inner = helper.make_node("If", [condition], [f"i{k}" for k in range(len(names))], then_branch=branch,
                                     else_branch=rest)
            branch = helper.make_graph([inner], "around", [], [self.value(f"i{k}", "FLOAT", None) for k in range(len(names))])
            again = Graph(helper, "f")
            same = [again.add("Identity", ["y"]) for _ in names]
            rest = helper.make_graph(again.nodes, "beside", [], [self.value(one, "FLOAT", None) for one in same])
        given = [f"d{k}" for k in range(len(names))]
        outer.nodes.append(helper.make_node("If", [condition], given, then_branch=branch, else_branch=rest))
        return outer, given

    def test_observers_around_branches(self):
        """9 observers of 5 results of a branch each, and of a branch in a branch."""
        for name, nested in itertools.product(IN_BRANCHES, (False, True)):
            observe, kind = OBSERVERS[name]
            outer, given = self.branching(nested)
            outputs = [(observe(outer, d), kind) for d in given]
            with self.subTest(name, nested=nested):
                self.compare(name, self.model(outer.nodes, outputs))

    def test_branches_that_nothing_observes_are_still_optimized(self):
        """And the file says why: the explanation has a part for the branch."""
        outer, given = self.branching(False)
        model = self.model(outer.nodes, [(d, "FLOAT") for d in given])
        _, result = self.optimized(model, explains=True)
        node = next(one for one in self.onnx.load(result).graph.node if one.op_type == "If")
        branch = next(one.g for one in node.attribute if one.name == "then_branch")
        self.assertLess(len(branch.node), 11)
        explanation = self.folder / "result.explanation"
        self.assertIn('\nbody "If ', explanation.read_text())
        packs = ROOT / "rules" / "substitutions"
        done = run(CHECKER, packs, explanation)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("not checked: that nothing around it tells NaN", done.stdout)
        done = run(CHECKER, "--accept-unchecked", packs, explanation)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_conversions_to_narrow_types(self):
        """Cast and QuantizeLinear to types that have no NaN, or another one, keep the division."""
        helper, types = self.helper, self.onnx.TensorProto
        for kind in ("FLOAT4E2M1", "FLOAT8E4M3FN", "FLOAT8E5M2", "BOOL"):
            graph = Graph(helper, "v")
            value = graph.add("Cast", [graph.term("product")], to=getattr(types, kind))
            model = self.model(graph.nodes, [(value, kind)], opset=23)
            model.ir_version = 11
            with self.subTest(kind):
                _, result = self.optimized(model)
                self.assertIn("Div", [one.op_type for one in self.onnx.load(result).graph.node])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--checker", required=True)
    arguments, rest = parser.parse_known_args()
    LEMMA, CHECKER = arguments.lemma, arguments.checker
    import environment
    environment.enter_or_skip()
    unittest.main(argv=[sys.argv[0], *rest])
