#!/usr/bin/env python3
"""Sequences, optional values and loops of which is known while a model is read what they hold, or how often they run: they
go, and the results are those of ONNX Runtime for the original, on several inputs. What is not known stays. Skipped (77)
without the Python environment of scripts/setup --tests.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment  # noqa: E402

environment.enter_or_skip()

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnx.parser  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import numpy_helper  # noqa: E402

LEMMA = None
INPUTS = 3  # on which results are compared
CONTAINERS = {"Loop", "SplitToSequence", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceInsert",
              "SequenceErase", "SequenceLength", "ConcatFromSequence", "Optional", "OptionalGetElement",
              "OptionalHasElement"}


def model(body, given="float[4] x", result="float[4] y", operator_set=17):
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {operator_set}]>\n g ({given}) => ({result}) '
                                   f"{{ {body} }}")


def integer(name, value):
    return f"{name} = Constant <value = int64 {{{value}}}> () "


def integers(name, *values):
    return f"{name} = Constant <value = int64[{len(values)}] {{{', '.join(map(str, values))}}}> () "


def boolean(name, value):
    return f"{name} = Constant <value = bool {{{int(value)}}}> () "


MATRIX = "float[4,6] x"
SEQUENCES = {
    "split_and_at": model(integer("k", 2) + "s = SplitToSequence <axis = 1> (x, k) " + integer("i", 1) +
                          "y = SequenceAt (s, i)", MATRIX, "float[4,2] y"),
    "rest_is_smaller": model(integer("k", 4) + "s = SplitToSequence <axis = -1> (x, k) " + integer("i", -1) +
                             "a = SequenceAt (s, i) y = Relu (a)", MATRIX, "float[4,2] y"),
    "given_sizes": model(integers("k", 1, 3, 2) + "s = SplitToSequence <axis = 1> (x, k) " + integer("i", 1) +
                         integer("j", 0) + "a = SequenceAt (s, i) b = SequenceAt (s, j) y = Mul (a, b)", MATRIX,
                         "float[4,3] y"),
    "axis_goes": model("s = SplitToSequence <axis = 0, keepdims = 0> (x) " + integer("i", 0) + integer("j", -1) +
                       "a = SequenceAt (s, i) b = SequenceAt (s, j) y = Sub (a, b)", MATRIX, "float[6] y"),
    "axis_stays": model("s = SplitToSequence <axis = 0> (x) " + integer("i", 3) + "y = SequenceAt (s, i)", MATRIX,
                        "float[1,6] y"),
    "of_set_11": model(integer("k", 3) + "s = SplitToSequence <axis = 1> (x, k) n = SequenceLength (s) "
                       "m = Cast <to = 1> (n) y = Add (x, m)", MATRIX, "float[4,6] y", 11),
    "construct_and_at": model("a = Neg (x) s = SequenceConstruct (x, a) " + integer("i", 1) + "y = SequenceAt (s, i)"),
    "concat": model("a = Neg (x) s = SequenceConstruct (x, a, x) y = ConcatFromSequence <axis = 0> (s)",
                    result="float[12] y"),
    "stack": model("a = Neg (x) s = SequenceConstruct (x, a) y = ConcatFromSequence <axis = -1, new_axis = 1> (s)",
                   result="float[4,2] y"),
    "stack_of_set_11": model("a = Neg (x) s = SequenceConstruct (x, a) "
                             "y = ConcatFromSequence <axis = 0, new_axis = 1> (s)", result="float[2,4] y",
                             operator_set=11),
    "grown": model("a = Neg (x) b = Exp (x) e = SequenceEmpty <dtype = 1> () s = SequenceInsert (e, x) "
                   "t = SequenceInsert (s, a) " + integer("i", 0) + "u = SequenceInsert (t, b, i) "
                   "y = ConcatFromSequence <axis = 0> (u)", result="float[12] y"),
    "shrunk": model("a = Neg (x) b = Exp (x) s = SequenceConstruct (x, a, b) " + integer("i", -2) +
                    "t = SequenceErase (s, i) u = SequenceErase (t) n = SequenceLength (u) m = Cast <to = 1> (n) "
                    + integer("j", 0) + "c = SequenceAt (u, j) y = Mul (c, m)"),
    "computed_position": model("s = SplitToSequence <axis = 0> (x) n = SequenceLength (s) " + integer("k", 1) +
                               "i = Sub (n, k) y = SequenceAt (s, i)", MATRIX, "float[1,6] y"),
    "of_bools": model("a = Not (x) s = SequenceConstruct (x, a) " + integer("i", 1) + "y = SequenceAt (s, i)",
                      "bool[4] x", "bool[4] y"),
    "one_part": model(integers("k", 4) + "s = SplitToSequence <axis = 0> (x, k) " + integer("i", 0) +
                      "a = SequenceAt (s, i) y = Abs (a)"),
}

OPTIONALS = {
    "contents": model("a = Neg (x) o = Optional (a) y = OptionalGetElement (o)"),
    "is_full": model("o = Optional (x) h = OptionalHasElement (o) y = If (h) <then_branch = t () => (float[4] p) "
                     "{ p = OptionalGetElement (o) }, else_branch = f () => (float[4] q) { q = Neg (x) }>"),
    "of_a_sequence": model("a = Neg (x) s = SequenceConstruct (x, a) o = Optional (s) t = OptionalGetElement (o) "
                           + integer("i", 1) + "y = SequenceAt (t, i)"),
    "handed_on": model("o = Optional (x) p = Identity (o) a = OptionalGetElement (p) y = Exp (a)", operator_set=16),
    "tensor_in_its_place": model("a = Abs (x) b = OptionalGetElement (a) h = OptionalHasElement (b) "
                                 "m = Cast <to = 1> (h) y = Add (b, m)", operator_set=18),
    "absent": model("h = OptionalHasElement () m = Cast <to = 1> (h) y = Add (x, m)", operator_set=18),
}


def loop(body, states="x", outputs="y", trips="n", condition="q", own="float[4] s", results="float[4] t"):
    return (f"{outputs} = Loop ({trips}, {condition}, {states}) <body = b (int64 i, bool g, {own}) => (bool h, {results}) "
            f"{{ {body} }}> ")


GOES_ON = "h = Identity (g) "
ALWAYS = boolean("q", True)
LOOPS = {
    "trip_count": model(integer("n", 4) + ALWAYS + loop(GOES_ON + "t = Cos (s)")),
    "one_in_a_vector": model(integers("n", 3) + ALWAYS + loop(GOES_ON + "t = Cos (s)")),
    "no_condition": model(integer("n", 3) + loop(boolean("h", True) + "t = Sin (s)", condition="")),
    "uses_its_step": model(integer("n", 3) + ALWAYS + loop(GOES_ON + "f = Cast <to = 1> (i) a = Add (s, f) t = Sin (a)")),
    "collects": model(integer("n", 3) + ALWAYS + loop(GOES_ON + "t = Sin (s) c = Abs (t) d = Neg (s)",
                      outputs="r, y, z", results="float[4] t, float[4] c, float[4] d"),
                      result="float[4] r, float[3,4] y, float[3,4] z"),
    "collects_in_set_11": model(integer("n", 2) + ALWAYS + loop(GOES_ON + "t = Sin (s) c = Abs (t)", outputs="r, y",
                                results="float[4] t, float[4] c"), result="float[2,4] y", operator_set=11),
    "two_states_change_places": model(integer("n", 3) + ALWAYS + "w = Neg (x) " + loop(
        GOES_ON + "t = Sin (v) u = Identity (s)", states="x, w", outputs="y, z", own="float[4] s, float[4] v",
        results="float[4] t, float[4] u"), result="float[4] y, float[4] z"),
    "captures": model(integer("n", 3) + ALWAYS + "w = Exp (x) " + loop(GOES_ON + "t = Div (s, w)")),
    "ends_by_its_condition": model(integer("n", 100) + ALWAYS + integer("k", 2) + loop("h = Less (i, k) t = Sin (s)")),
    "only_a_condition": model(ALWAYS + integer("k", 4) + loop("h = Less (i, k) t = Sin (s)", trips="")),
    "grows": model(integer("n", 3) + ALWAYS + loop(GOES_ON + "t = Concat <axis = 0> (s, x)", own='float["k"] s',
                   results='float["m"] t'), result="float[16] y"),
    "no_step": model(integer("n", 0) + ALWAYS + loop(GOES_ON + "t = Sin (s)", outputs="r") + "y = Exp (r)"),
    "never": model(integer("n", 5) + boolean("q", False) + loop(GOES_ON + "t = Sin (s)", outputs="r") + "y = Exp (r)"),
    "in_a_loop": model(integer("n", 2) + ALWAYS + loop(
        GOES_ON + "t = Loop (n, q, s) <body = c (int64 j, bool e, float[4] u) => (bool l, float[4] v) "
        "{ l = Identity (e) v = Sin (u) }>")),
    "fills_a_sequence": model(integer("n", 3) + ALWAYS + "e = SequenceEmpty <dtype = 1> () " + loop(
        GOES_ON + "f = Cast <to = 1> (i) a = Add (x, f) t = SequenceInsert (s, a)", states="e", outputs="r",
        own="seq(float[4]) s", results="seq(float[4]) t") + "y = ConcatFromSequence <axis = 0, new_axis = 1> (r)",
        result="float[3,4] y"),
    "reads_a_sequence": model(integer("n", 4) + ALWAYS + "w = SplitToSequence <axis = 0> (x) "
                        "e = ReduceSum <keepdims = 1> (x) " + loop(
                            GOES_ON + "a = SequenceAt (w, i) t = Sub (a, s)", states="e", own='float["k","l"] s',
                            results='float["p","m"] t'), MATRIX, "float[1,6] y"),
}

# Name: (model, the operator that stays).
LEFT = {
    "position_of_an_input": (model("a = Neg (x) s = SequenceConstruct (x, a) y = SequenceAt (s, i)",
                                   "float[4] x, int64 i"), "SequenceAt"),
    "position_out_of_range": (model("a = Neg (x) s = SequenceConstruct (x, a) " + integer("i", 2) +
                                    "y = SequenceAt (s, i)"), "SequenceAt"),
    "position_below_range": (model("a = Neg (x) s = SequenceConstruct (x, a) " + integer("i", -3) +
                                   "y = SequenceAt (s, i)"), "SequenceAt"),
    "elements_of_two_types": (model("a = Cast <to = 11> (x) s = SequenceConstruct (x, a) " + integer("i", 0) +
                                    "y = SequenceAt (s, i)"), "SequenceAt"),
    "element_of_none": (model("e = SequenceEmpty <dtype = 1> () " + integer("i", 0) + "a = SequenceAt (e, i) "
                              "y = Add (a, x)"), "SequenceAt"),
    "sequence_is_an_output": (model("s = SplitToSequence <axis = 0> (x) a = Relu (x) y = Relu (a)", "float[4] x",
                                    "float[4] y, seq(float[1]) s"), "SplitToSequence"),
    "parts_of_another_size": (model(integers("k", 2, 3) + "s = SplitToSequence <axis = 0> (x, k) " + integer("i", 0) +
                                    "y = SequenceAt (s, i)", result="float[2] y"), "SequenceAt"),
    "unknown_size": (model("s = SplitToSequence <axis = 0> (x) " + integer("i", -1) + "y = SequenceAt (s, i)",
                           'float["n"] x', "float[1] y"), "SequenceAt"),
    "unknown_sequence": (model(integer("i", 0) + "y = SequenceAt (s, i)", "seq(float[4]) s"), "SequenceAt"),
    "contents_of_none": (model("o = Optional <type = float[4]> () a = OptionalGetElement (o) y = Add (a, x)"),
                         "OptionalGetElement"),
    "unknown_optional": (model("h = OptionalHasElement (o) m = Cast <to = 1> (h) y = Add (x, m)",
                               "optional(float[4]) o, float[4] x"), "OptionalHasElement"),
    "trip_count_of_an_input": (model(ALWAYS + loop(GOES_ON + "t = Sin (s)"), "float[4] x, int64 n"), "Loop"),
    "condition_of_an_input": (model(integer("n", 3) + loop(GOES_ON + "t = Sin (s)"), "float[4] x, bool q"), "Loop"),
    "condition_of_the_values": (model(integer("n", 3) + ALWAYS + integer("e", 0) + "z = Cast <to = 1> (e) " + loop(
        "t = Sin (s) k = ReduceMax <keepdims = 0> (t) h = Less (z, k)")), "Loop"),
    "never_ends": (model(ALWAYS + loop(GOES_ON + "t = Sin (s)", trips="")), "Loop"),
    "ends_late": (model(integer("n", 9000) + ALWAYS + integer("k", 4000) + loop("h = Less (i, k) t = Sin (s)")), "Loop"),
    "too_many_steps": (model(integer("n", 3000) + ALWAYS + loop(GOES_ON + "t = Sin (s)")), "Loop"),
    "nothing_collected": (model(integer("n", 0) + ALWAYS + loop(
        GOES_ON + "t = Sin (s) c = Abs (t)", outputs="r, y", results="float[4] t, float[4] c"),
        result='float["n",4] y'), "Loop"),
    "not_understood": (model(integer("n", 3) + ALWAYS + loop(GOES_ON + "r = RandomNormalLike (s) t = Add (r, s)")),
                       "Loop"),
}
RANDOM_OR_UNDEFINED = {"position_out_of_range", "elements_of_two_types", "position_below_range", "element_of_none", "parts_of_another_size",
                       "contents_of_none", "never_ends", "not_understood"}


def operators(graph):
    names = set()
    for node in graph.node:
        names.add(node.op_type)
        for attribute in node.attribute:
            names |= operators(attribute.g)
    return names


def tensor(generator, kind, sizes):
    if kind == onnx.TensorProto.BOOL:
        return numpy.array(generator.random(sizes) < 0.5)
    if kind == onnx.TensorProto.INT64:
        return generator.integers(0, 2, sizes)
    return generator.standard_normal(sizes).astype(numpy.float32)


def drawn(message, seed):
    """By name of the input. Sizes without a number are 3."""
    generator = numpy.random.default_rng(seed)

    def value(kind):
        if kind.HasField("tensor_type"):
            sizes = [size.dim_value or 3 for size in kind.tensor_type.shape.dim]
            return tensor(generator, kind.tensor_type.elem_type, sizes)
        if kind.HasField("sequence_type"):
            return [value(kind.sequence_type.elem_type) for _ in range(2)]
        return value(kind.optional_type.elem_type)

    return {given.name: value(given.type) for given in message.graph.input}


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class KnownValues(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-known-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def written(self, name, message, words):
        source, target = self.folder / f"{name}.onnx", self.folder / f"{name}-{words[0]}.onnx"
        onnx.save(message, source)
        done = subprocess.run([LEMMA, *words, source, "-o", target], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, f"{name}, {words[0]}: {done.stderr}")
        return source, target

    def compare(self, source, target, message):
        before, after = session(source), session(target)
        for seed in range(INPUTS):
            given = drawn(message, seed)
            wanted, results = before.run(None, given), after.run(None, given)
            self.assertEqual(len(wanted), len(results))
            for expected, result in zip(wanted, results):
                numpy.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6,
                                              err_msg=f"{target.name}, seed {seed}")
                self.assertEqual(numpy.shape(result), numpy.shape(expected))

    def check(self, cases):
        """Every case by one command, in turn; the results are compared here, not by the commands."""
        commands = (["simplify", "--no-second-judge"], ["optimize", "--no-measure", "--no-second-judge"])
        for i, (name, message) in enumerate(cases.items()):
            words = commands[i % 2]
            with self.subTest(case=name, command=words[0]):
                source, target = self.written(name, message, words)
                self.assertFalse(operators(onnx.load(target).graph) & CONTAINERS)
                self.compare(source, target, message)

    def test_sequences(self):
        self.check(SEQUENCES)

    def test_optionals(self):
        self.check(OPTIONALS)

    def test_loops(self):
        self.check(LOOPS)

    def test_a_long_loop(self):
        """It is written out where that is faster, and stays where the model is to be simple; the rest is simplified."""
        message = model(integer("n", 300) + ALWAYS + "a = Neg (x) b = Neg (a) " +
                        loop(GOES_ON + "t = Cos (s)", states="b"))
        source, target = self.written("long", message, ["optimize", "--no-measure", "--no-second-judge"])
        self.assertNotIn("Loop", operators(onnx.load(target).graph))
        self.compare(source, target, message)
        source, target = self.written("long", message, ["simplify", "--no-second-judge"])
        self.assertEqual([node.op_type for node in onnx.load(target).graph.node], ["Loop"])
        self.compare(source, target, message)

    def test_steps_share_the_constants_of_the_body(self):
        message = model(integer("n", 8) + ALWAYS + loop(GOES_ON + "w = Constant <value = float[1] {0.5}> () "
                                                        "a = Mul (s, w) b = Mul (a, k) t = Sin (b)"))
        body = message.graph.node[-1].attribute[0].g
        generator = numpy.random.default_rng(1)
        weight = [generator.standard_normal(5000).astype(numpy.float32) for _ in range(2)]
        body.node[1].attribute[0].t.CopyFrom(numpy_helper.from_array(weight[0]))
        body.initializer.append(numpy_helper.from_array(weight[1], "k"))
        for value in (message.graph.input[0], message.graph.output[0], body.input[2], body.output[1]):
            value.type.tensor_type.shape.dim[0].dim_value = 5000
        source, target = self.written("weights", message, ["simplify", "--no-second-judge"])
        self.assertNotIn("Loop", operators(onnx.load(target).graph))
        self.assertLess(target.stat().st_size, source.stat().st_size + 4096)
        self.compare(source, target, message)

    def test_left(self):
        for name, (message, operator) in LEFT.items():
            with self.subTest(case=name):
                source, target = self.written(name, message, ["simplify", "--no-second-judge"])
                self.assertIn(operator, operators(onnx.load(target).graph))
                if name not in RANDOM_OR_UNDEFINED:
                    self.compare(source, target, message)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    arguments, rest = parser.parse_known_args()
    LEMMA = arguments.lemma
    unittest.main(argv=[sys.argv[0], *rest])
