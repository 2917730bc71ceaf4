#!/usr/bin/env python3
"""The evaluator of checkers/evaluate_rules: its operators agree with ONNX Runtime, its reader with the
rules' form, and it finds what is wrong with false rules."""

import importlib.util
import math
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "checkers"), str(ROOT / "scripts")]

MISSING = [name for name in ("numpy", "onnx", "onnxruntime") if importlib.util.find_spec(name) is None]
if MISSING and (ROOT / ".venv" / "bin" / "python").exists():
    from environment import enter
    enter()
if MISSING:
    print(f"skipped: {', '.join(MISSING)} not installed")
    sys.exit(77)

import numpy  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import helper, TensorProto  # noqa: E402

from rule_evaluation.arithmetic import Floats, Reals  # noqa: E402
from rule_evaluation.fusions import fusions  # noqa: E402
from rule_evaluation.language import rules_in, rules_of  # noqa: E402
from rule_evaluation.networks import OPERATORS  # noqa: E402
from rule_evaluation.work import evaluate_rule  # noqa: E402

# Operator, shapes of the operands, attributes here, and names of attributes that are operands in ONNX.
ONE = [(2, 3, 4)]
SAMPLES = [
    *[(name, ONE, {}, ()) for name in (
        "Abs", "Cos", "Dropout", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "Identity", "Log",
        "Neg", "Reciprocal", "Relu", "Sigmoid", "Sin", "Softplus", "Sqrt", "Tanh")],
    *[(name, [(2, 3, 4), (3, 1)], {}, ()) for name in (
        "Add", "Div", "Mul", "Pow", "Sub", "Max", "Min", "Sum")],
    ("Max", [(2, 3), (3,), ()], {}, ()),
    ("AveragePool", [(2, 3, 5, 6)], {"kernel_shape": (3, 2), "pads": (1, 1, 2, 0), "strides": (2, 1)}, ()),
    ("AveragePool", [(2, 3, 5)],
     {"kernel_shape": (3,), "pads": (1, 1), "strides": (2,), "count_include_pad": 1}, ()),
    ("BatchNormalization", [(2, 3, 4), (3,), (3,), (3,), (3,)], {"epsilon": 0.25}, ()),
    ("Clip", ONE, {"min": -0.5, "max": 1.25}, ("min", "max")),
    ("Concat", [(2, 3), (2, 1), (2, 2)], {"axis": -1}, ()),
    ("Conv", [(2, 4, 7), (6, 2, 3)], {"group": 2, "strides": (2,), "pads": (2, 1)}, ()),
    ("Conv", [(2, 3, 6, 7), (4, 3, 2, 3), (4,)],
     {"dilations": (2, 1), "strides": (1, 2), "pads": (0, 1, 2, 2)}, ()),
    ("ConvTranspose", [(2, 4, 5), (4, 3, 2)], {"group": 2, "strides": (3,), "pads": (1, 2)}, ()),
    ("ConvTranspose", [(2, 3, 4, 5), (3, 2, 3, 2)],
     {"strides": (2, 1), "dilations": (1, 3), "pads": (1, 0, 0, 2), "output_padding": (1, 0)}, ()),
    *[("CumSum", ONE, {"axis": axis, "exclusive": exclusive, "reverse": reverse}, ("axis",))
      for axis, exclusive, reverse in ((0, 0, 0), (1, 1, 0), (-1, 0, 1), (2, 1, 1))],
    *[("DepthToSpace", [(2, 12, 2, 3)], {"blocksize": 2, "mode": mode}, ()) for mode in ("CRD", "DCR")],
    ("EyeLike", [(3, 5)], {"k": 1}, ()),
    ("Expand", [(3, 1)], {"shape": (2, 3, 4)}, ("shape",)),
    ("Flatten", [(2, 3, 4, 2)], {"axis": 2}, ()),
    ("Gemm", [(4, 2), (3, 4), (3,)], {"transA": 1, "transB": 1, "alpha": 0.5, "beta": -2.0}, ()),
    ("GlobalAveragePool", [(2, 3, 4, 5)], {}, ()),
    ("GlobalMaxPool", [(2, 3, 4, 5)], {}, ()),
    ("InstanceNormalization", [(2, 3, 4, 5), (3,), (3,)], {"epsilon": 0.5}, ()),
    ("LayerNormalization", [(2, 3, 4), (3, 4), (3, 4)], {"axis": 1, "epsilon": 0.5}, ()),
    ("LogSoftmax", ONE, {"axis": 1}, ()),
    ("MatMul", [(2, 1, 3, 4), (5, 4, 2)], {}, ()),
    ("MatMul", [(4,), (5, 4, 2)], {}, ()),
    ("MatMul", [(2, 3, 4), (4,)], {}, ()),
    ("MaxPool", [(2, 3, 5, 6)],
     {"kernel_shape": (2, 3), "pads": (1, 0, 1, 2), "strides": (2, 1), "dilations": (1, 2)}, ()),
    ("Pad", [(2, 3)], {"pads": (1, 0, 2, 3), "value": 1.5}, ("pads", "value")),
    *[(name, ONE, {"axes": (0, 2), "keepdims": keep}, ("axes",)) for keep in (0, 1) for name in (
        "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "ReduceSumSquare")],
    ("Reshape", ONE, {"shape": (4, -1)}, ("shape",)),
    ("Resize", [(1, 2, 3, 2)], {"scales": (1.0, 1.0, 2.0, 3.0), "mode": "nearest", "nearest_mode": "floor",
                                "coordinate_transformation_mode": "asymmetric"}, ("scales",)),
    ("Slice", ONE, {"starts": (1, -3), "ends": (9, -1), "axes": (1, 2), "steps": (1, 2)},
     ("starts", "ends", "axes", "steps")),
    ("Softmax", ONE, {"axis": 1}, ()),
    ("SpaceToDepth", [(2, 3, 4, 6)], {"blocksize": 2}, ()),
    ("Split", [(2, 5)], {"axis": 1, "split": (2, 3)}, ("split",)),
    ("Squeeze", [(1, 3, 1)], {"axes": (0, 2)}, ("axes",)),
    ("Transpose", ONE, {"perm": (2, 0, 1)}, ()),
    *[("Trilu", [(2, 4, 3)], {"upper": upper, "k": k}, ("k",)) for upper in (0, 1) for k in (-1, 0, 2)],
    ("Unsqueeze", [(3, 2)], {"axes": (0, 3)}, ("axes",)),
    ("LSTM", [(3, 2, 4), (1, 20, 4), (1, 20, 5), (1, 40), (1, 2, 5), (1, 2, 5)], {"hidden_size": 5}, ()),
    *[("GRU", [(3, 2, 4), (1, 15, 4), (1, 15, 5), (1, 30), (1, 2, 5)],
       {"hidden_size": 5, "linear_before_reset": linear}, ()) for linear in (0, 1)],
    *[("RNN", [(3, 2, 4), (1, 5, 4), (1, 5, 5), (1, 10), (1, 2, 5)], {"hidden_size": 5, "activation": activation}, ())
      for activation in ("Relu", "Sigmoid", "Tanh")],
    ("BiasGelu", [(2, 3, 4), (4,)], {}, ()),
    ("FusedConv", [(2, 4, 7), (6, 2, 3), (6,)], {"group": 2, "pads": (2, 1), "activation": "Relu"}, ()),
    ("FusedConv", [(1, 3, 6, 7), (4, 3, 2, 3), (4,), (1, 4, 5, 5)], {"activation": "Tanh"}, ()),
    ("FusedGemm", [(4, 2), (3, 4), (3,)],
     {"transA": 1, "transB": 1, "activation": "HardSigmoid", "activation_alpha": 0.25, "activation_beta": 0.5}, ()),
    ("FusedMatMul", [(4, 2, 3), (5, 2, 4)], {"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1}, ()),
    ("FusedMatMul", [(2, 3, 4), (2, 5, 4)], {"alpha": 0.5, "transB": 1}, ()),
    ("MultiHeadAttention", [(2, 3, 4), (2, 5, 4), (2, 5, 4)], {"num_heads": 2}, ()),
    ("MultiHeadAttention", [(2, 3, 4), (2, 3, 4), (2, 3, 4), (12,)], {"num_heads": 2, "scale": 0.75}, ()),
    ("BlockChannels", [(2, 20, 3, 4)], {}, ()),
    ("BlockedAveragePool", [(2, 2, 5, 4, 16)],
     {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 0, 1, 1), "count_include_pad": 1}, ()),
    ("BlockedConv", [(1, 2, 4, 5, 16), (20, 24, 3, 2), (20,)], {"strides": (1, 2), "pads": (1, 0, 0, 1)}, ()),
    ("BlockedConv", [(1, 2, 4, 5, 16), (32, 1, 2, 2)], {"group": 32, "dilations": (2, 1)}, ()),
    ("BlockedConv", [(1, 2, 4, 5, 16), (32, 16, 2, 1), (32,)], {"group": 2}, ()),
    ("BlockedGlobalAveragePool", [(2, 2, 3, 4, 16)], {}, ()),
    ("BlockedMaxPool", [(2, 2, 5, 4, 16)], {"kernel_shape": (2, 3), "pads": (1, 1, 0, 1), "dilations": (2, 1)}, ()),
    ("UnblockChannels", [(2, 2, 3, 4, 16)], {"channels": 20}, ()),
    ("SkipLayerNormalization", [(2, 3, 4), (2, 3, 4), (4,), (4,), (4,)], {"epsilon": 0.5}, ()),
    ("SkipSimplifiedLayerNormalization", [(2, 3, 4), (2, 3, 4), (4,), (4,)], {"epsilon": 0.5}, ()),
]
NOT_IN_RUNTIME = {"Cast", "ConstantOfShape", "HardSigmoidTensor", "RMSNormalization", "Swish"}
FLOATS = numpy.array([[0.5, -1.25, 2.0, 2.0], [-3.0, 0.75, 2.5, -3.0], [1.0, 1.0, -0.5, 4.0]], numpy.float32)
OTHERS = numpy.array([[0.5, 1.25, -2.0, 2.0]], numpy.float32)
INTEGERS = numpy.array([[7, -7, 5, 0], [-8, 3, 1, 9]], numpy.int64)
TRUTHS = numpy.array([[True, False, True, False], [False, False, True, True], [True, True, False, True]])
# Operator, operands of their own types, attributes here, names of attributes that are operands in ONNX and where the
# first of them stands, types of the results.
TYPED_SAMPLES = [
    *[(name, (FLOATS, OTHERS), {}, (), 0, "b") for name in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")],
    *[(name, (INTEGERS, INTEGERS[::-1].copy()), {}, (), 0, "b") for name in (
        "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")],
    *[(name, (TRUTHS, TRUTHS[1:2]), {}, (), 0, "b") for name in ("And", "Or", "Xor", "Equal")],
    ("Not", (TRUTHS,), {}, (), 0, "b"),
    ("Where", (TRUTHS, FLOATS, OTHERS), {}, (), 0, "f"),
    ("Where", (TRUTHS[:2], INTEGERS, INTEGERS[::-1].copy()), {}, (), 0, "i"),
    *[(name, (FLOATS,), {"axis": axis, "keepdims": keep, "select_last_index": last}, (), 0, "i")
      for name in ("ArgMax", "ArgMin") for axis in (0, -1) for keep in (0, 1) for last in (0, 1)],
    *[("TopK", (FLOATS,), {"axis": axis, "k": 2, "largest": largest}, ("k",), 1, "fi")
      for axis in (0, 1) for largest in (0, 1)],
    *[("Hardmax", (FLOATS,), {"axis": axis}, (), 0, "f") for axis in (0, 1)],
    ("Shrink", (FLOATS,), {"bias": 0.25, "lambd": 0.75}, (), 0, "f"),
    ("ThresholdedRelu", (FLOATS,), {"alpha": 0.75}, (), 0, "f"),
    *[(name, (numpy.array([1, numpy.nan, numpy.inf, -numpy.inf], numpy.float32),), {}, (), 0, "b") for name in (
        "IsInf", "IsNaN")],
    *[("Mod", (INTEGERS, numpy.array([3, -3, 2, 5], numpy.int64)), {"fmod": fmod}, (), 0, "i") for fmod in (0, 1)],
    *[("Range", (), {"start": start, "limit": limit, "delta": delta}, ("start", "limit", "delta"), 0, "i")
      for start, limit, delta in ((0, 5, 1), (7, -2, -3), (3, 3, 1))],
    *[("Gather", (FLOATS, numpy.array([[2, -1], [0, 1]], numpy.int64)), {"axis": axis}, (), 0, "f") for axis in (0, -1)],
    ("GatherElements", (FLOATS, numpy.array([[3, -4], [0, 1]], numpy.int64)), {"axis": 1}, (), 0, "f"),
    *[("ScatterElements", (FLOATS, numpy.array([[3, 0], [-2, 1]], numpy.int64), FLOATS[1:, 1:3].copy()),
       {"axis": 1, "reduction": reduction}, (), 0, "f") for reduction in ("none", "add")],
    *[("OneHot", (numpy.array([[0, 2], [-1, 5]], numpy.int64), numpy.array([-1.5, 2.5], numpy.float32)),
       {"axis": axis, "depth": 3}, ("depth",), 1, "f") for axis in (0, -1)],
    ("Einsum", (FLOATS, FLOATS.T.copy()), {"equation": "ij,jk->ki"}, (), 0, "f"),
]
KINDS = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "b": TensorProto.BOOL}
OUTPUTS = {"Split": 2, "LSTM": 3, "GRU": 2, "RNN": 2}
OF_THE_RUNTIME = set(fusions(OPERATORS))
LAYOUT = {"BlockChannels": "ReorderInput", "UnblockChannels": "ReorderOutput",
          **{f"Blocked{name}": name for name in ("AveragePool", "Conv", "GlobalAveragePool", "MaxPool")}}


def blocked_filters(weight, group):
    """As the runtime stores them: outputs in blocks, and the inputs as well unless each group has one."""
    if weight.shape[1] == 1 and group > 1:
        return weight.reshape(-1, 16, *weight.shape[1:]).transpose(0, 2, 3, 4, 1).reshape(weight.shape)
    whole = numpy.pad(weight, ((0, -weight.shape[0] % 16), (0, -weight.shape[1] % 16), (0, 0), (0, 0)))
    outputs, inputs, height, width = whole.shape
    parts = whole.reshape(outputs // 16, 16, inputs // 16, 16, height, width)
    return parts.transpose(0, 2, 4, 5, 3, 1).reshape(whole.shape)


def layout_outputs(operator, arrays, attributes):
    """The runtime's own operators, whose blocked tensors have the shape [n, 16*q, h, w]."""
    x, kept = arrays[0], dict(attributes)
    if operator != "BlockChannels":
        x = x.reshape(x.shape[0], x.shape[1] * 16, *x.shape[2:4])
    feeds = {"x": x}
    if len(arrays) > 1:
        feeds["w"] = numpy.ascontiguousarray(blocked_filters(arrays[1], kept.get("group", 1)))
        kept["kernel_shape"] = arrays[1].shape[2:]
    if len(arrays) > 2:
        feeds["b"] = numpy.pad(arrays[2], (0, -arrays[2].size % 16))
    kept = {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}
    node = helper.make_node(LAYOUT[operator], list(feeds), ["y"], domain="com.microsoft.nchwc", **kept)
    y = run_model([node], feeds, ["y"], [])[0]
    return [y if operator == "UnblockChannels" else y.reshape(y.shape[0], y.shape[1] // 16, *y.shape[2:], 16)]


def channels_of_a_block():
    """16 in the records; ONNX Runtime has as many as a vector of the processor holds."""
    node = helper.make_node("ReorderInput", ["x"], ["y"], domain="com.microsoft.nchwc")
    return run_model([node], {"x": numpy.zeros((1, 4, 1, 1), numpy.float32)}, ["y"], [])[0].size


def runtime_outputs(operator, arrays, attributes, as_operands):
    if operator in LAYOUT:
        return layout_outputs(operator, arrays, attributes)
    names = [f"x{i}" for i in range(len(arrays))]
    feeds, constants = dict(zip(names, arrays)), []
    for name in as_operands:
        real = name in ("min", "max", "value", "scales")
        kind = TensorProto.FLOAT if real else TensorProto.INT64
        value = attributes[name]
        dims = [len(value)] if isinstance(value, tuple) else []
        constants.append(helper.make_tensor(name, kind, dims, value if dims else [value]))
    kept = {name: list(value) if isinstance(value, tuple) else value
            for name, value in attributes.items() if name not in as_operands}
    order = list(as_operands)
    if operator == "Slice":
        order = ["starts", "ends", "axes", "steps"]
    if operator == "Resize":
        names = [*names, ""]  # without a region of interest
    if operator in ("GRU", "LSTM", "RNN"):
        names = names[:4] + [""] + names[4:]  # without lengths of the sequences
    if operator == "RNN":
        kept["activations"] = [kept.pop("activation")]
    outputs = [f"y{i}" for i in range(OUTPUTS.get(operator, 1))]
    domain = "com.microsoft" if operator in OF_THE_RUNTIME else ""
    node = helper.make_node(operator, names + order, outputs, domain=domain, **kept)
    return run_model([node], feeds, outputs, constants)


def typed_outputs(operator, arrays, attributes, as_operands, first, kinds):
    names = [f"x{i}" for i in range(len(arrays))]
    scalar = operator in ("Range", "OneHot")  # TopK has a list of one
    constants = [helper.make_tensor(name, TensorProto.INT64, [] if scalar else [1], [attributes[name]])
                 for name in as_operands]
    kept = {name: value for name, value in attributes.items() if name not in as_operands}
    outputs = [f"y{i}" for i in range(len(kinds))]
    node = helper.make_node(operator, [*names[:first], *as_operands, *names[first:]], outputs, **kept)
    return run_model([node], dict(zip(names, arrays)), outputs, constants, kinds)


def run_model(nodes, feeds, outputs, constants, kinds=None):
    graph = helper.make_graph(
        nodes, "one", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                        for n, a in feeds.items()],
        [helper.make_tensor_value_info(n, KINDS[kind], None) for n, kind in zip(outputs, kinds or "f" * len(outputs))],
        constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1),
                                                   helper.make_opsetid("com.microsoft.nchwc", 1)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, feeds)


class Operators(unittest.TestCase):
    def test_every_operator_is_sampled(self):
        sampled = {one[0] for one in SAMPLES}
        sampled.update(one[0] for one in TYPED_SAMPLES)
        self.assertEqual(set(OPERATORS) - sampled, NOT_IN_RUNTIME)

    def test_operators_agree_with_the_runtime(self):
        generator = numpy.random.default_rng(3)
        blocks_agree = channels_of_a_block() == 16
        for operator, shapes, attributes, as_operands in SAMPLES:
            if operator in LAYOUT and not blocks_agree:
                with self.subTest(operator=operator):
                    self.skipTest(f"ONNX Runtime has blocks of {channels_of_a_block()} channels on this processor, not of 16")
                continue
            positive = operator in ("Log", "Sqrt", "Pow", "Div", "Reciprocal", "BatchNormalization")
            arrays = [generator.uniform(0.5 if positive else -3, 3, shape) for shape in shapes]
            singles = [array.astype(numpy.float32) for array in arrays]
            expected = runtime_outputs(operator, singles, attributes, as_operands)
            for m, inputs in ((Reals(), arrays), (Floats(numpy.float32), singles)):
                got = OPERATORS[operator](m, [(one, "f32") for one in inputs], attributes, len(expected))
                for a, b in zip(got, expected):
                    with self.subTest(operator=operator, attributes=attributes, real=m.is_real):
                        self.assertEqual(a[0].shape, b.shape)
                        numpy.testing.assert_allclose(a[0], b, rtol=2e-5, atol=2e-5)

    def test_operators_of_other_types_agree_with_the_runtime(self):
        names = {"float32": "f32", "int64": "i64", "bool": "bool"}
        for operator, arrays, attributes, as_operands, first, kinds in TYPED_SAMPLES:
            expected = typed_outputs(operator, arrays, attributes, as_operands, first, kinds)
            # Integers and truths are floating-point numbers in the evaluator.
            operands = [(one if one.dtype == numpy.float32 else one.astype(float), names[one.dtype.name]) for one in arrays]
            for m in (Reals(), Floats(numpy.float32)):
                if operator == "Einsum" and not m.is_real:
                    continue  # the order of its sums is not fixed
                got = OPERATORS[operator](m, operands, attributes, len(expected))
                for (array, kind), b in zip(got, expected):
                    with self.subTest(operator=operator, attributes=attributes, real=m.is_real):
                        self.assertEqual(kind, names[b.dtype.name])
                        self.assertEqual(array.shape, b.shape)
                        numpy.testing.assert_allclose(array.astype(float), b.astype(float), rtol=2e-6)

    def undefined(self, operator, operands, attributes=None, outputs=1):
        with numpy.errstate(all="ignore"):
            pairs = [(numpy.asarray(one, float), "f32") for one in operands]
            return numpy.isnan(OPERATORS[operator](Reals(), pairs, attributes or {}, outputs)[0][0]).tolist()

    def test_what_is_undefined(self):
        nan = math.nan
        self.assertEqual(self.undefined("Div", [[1, 0, 1], [0, 0, 2]]), [True, True, False])
        self.assertEqual(self.undefined("Log", [[-1, 0, 1]]), [True, True, False])
        self.assertEqual(self.undefined("Sqrt", [[-1, 0, 1]]), [True, False, False])
        self.assertEqual(self.undefined("Reciprocal", [[0, 2]]), [True, False])
        self.assertEqual(self.undefined("Pow", [[0, nan, 2], [-1, 0, nan]]), [True, True, True])
        self.assertEqual(self.undefined("Mul", [[0, nan], [nan, 0]]), [True, True])
        self.assertEqual(self.undefined("Max", [[0, nan], [nan, 0]]), [True, True])
        self.assertEqual(self.undefined("Clip", [[nan]], {"min": 0.0, "max": 0.0}), [True])
        self.assertEqual(self.undefined("ReduceMax", [numpy.zeros((2, 0))], {"axes": (1,)}), [[True], [True]])
        self.assertEqual(self.undefined("ReduceMean", [numpy.zeros((0,))], {}), [True])
        self.assertEqual(self.undefined("ReduceSum", [numpy.zeros((0,))], {}), [False])
        self.assertEqual(self.undefined("MatMul", [numpy.zeros((1, 0)), numpy.zeros((0, 1))]), [[False]])
        self.assertEqual(self.undefined("EyeLike", [[[nan]]]), [[False]])

    def test_padding_is_not_read(self):
        seen = self.undefined("Conv", [[[[1.0]]], [[[math.nan, 1.0, math.nan]]]], {"pads": (1, 1)})
        self.assertEqual(seen, [[[False]]])
        self.assertEqual(self.undefined("MaxPool", [[[[1.0]]]], {"kernel_shape": (1,), "pads": (1, 0)}),
                         [[[False, False]]])
        self.assertEqual(self.undefined("AveragePool", [[[[1.0]]]], {"kernel_shape": (1,), "pads": (1, 0)}),
                         [[[True, False]]])


def outcome(text, bitwise=False, instances=200):
    (rule,) = rules_of(text, "test")
    found = evaluate_rule(rule, 1, instances, bitwise)
    return found["summary"], found["relation"]


TRUE = {
    "add_commutes": "rule r\n  x : [A..]\n  y : [B..]\n  Add(x, y) = Add(y, x)\n",
    "defined_input": "rule r\n  defined x : [A..]\n  param t : type\n"
                     "  ConstantOfShape{data_type=t, shape=[A..], value=0.0}() = Sub(x, x)\n",
    "positive_size": "rule r\n  x : [n + 1]\n  s : []\n"
                     "  ReduceMax{axes=[0]}(Add(x, s)) = Add(ReduceMax{axes=[0]}(x), s)\n",
    "refinement": "rule r\n  x : [n]\n  Div(x, x) => Exp(Sub(x, x))\n",
    "real_parameters": "rule r\n  x : [n]\n  param a : real\n  param b : real\n  where real_less_equal(a, b)\n"
                       "  Clip{min=a, max=b}(x) = Clip{min=a}(Clip{max=b}(x))\n",
    "border": "rule r\n  x : [n]\n  param s : dimension\n  param p : dimension\n  where s + p <= n\n"
              "  Slice{starts=[s], ends=[s + p], axes=[0]}(Neg(x))"
              " = Neg(Slice{starts=[s], ends=[s + p], axes=[0]}(x))\n",
}
FALSE = {
    "undefined_is_dropped": "rule r\n  x : [n]\n  Sub(x, x) = Mul(Sub(x, x), Reciprocal(x))\n",
    "zero_from_nothing": "rule r\n  x : [A..]\n  param t : type\n"
                         "  ConstantOfShape{data_type=t, shape=[A..], value=0.0}() => Sub(x, x)\n",
    "empty_softmax": "rule r\n  x : [m, n]\n  param t : type\n  ReduceSum{axes=[1]}(Softmax{axis=1}(x))"
                     " => ConstantOfShape{data_type=t, shape=[m, 1], value=1.0}()\n",
    "empty_sum_reads": "rule r\n  x : [n]\n  s : []\n"
                       "  ReduceSum{axes=[0]}(Mul(x, s)) = Mul(ReduceSum{axes=[0]}(x), s)\n",
    "root_of_negative": "rule r\n  x : [n]\n  Abs(x) => Mul(Sqrt(x), Sqrt(x))\n",
    "real_border": "rule r\n  x : [n]\n  param a : real\n"
                   "  Clip{min=a}(x) = Clip{min=real_min(a, 3.0)}(x)\n",
    "condition_too_weak": "rule r\n  x : [n]\n  y : [m]\n  param s : dimension\n  where s <= n + 1\n"
                          "  Slice{starts=[0], ends=[s], axes=[0]}(Concat{axis=0}(x, y))"
                          " => Slice{starts=[0], ends=[s], axes=[0]}(x)\n",
    "permutations": "rule r\n  x : [A..]\n  group A : 0..4\n  param p : permutation[len(A)]\n"
                    "  param q : permutation[len(A)]\n  Transpose{perm=p}(Transpose{perm=q}(x))"
                    " = Transpose{perm=q}(Transpose{perm=p}(x))\n",
    "highest_rank": "rule r\n  x : [A..]\n  group A : 0..4\n  param p : permutation[len(A)]\n"
                    "  Transpose{perm=compose(p, compose(p, compose(p, compose(p, compose(p, p)))))}(x) = x\n",
    "broadcast": "rule r\n  x : [m, n]\n  y : [p, q]\n  Add(x, y) => Add(x, Slice{starts=[0], ends=[1], axes=[0]}(y))\n",
    "ill_typed_right": "rule r\n  x : [m, n]\n  Neg(x) => Neg(Reshape{shape=[n, m]}(x))\n",
    "padding_of_maximum": "rule r\n  x : [n, c, y, z]\n  MaxPool{kernel_shape=[3, 3], pads=[1, 1, 1, 1]}(x)"
                          " = MaxPool{kernel_shape=[3, 3]}(Pad{pads=[0, 0, 1, 1, 0, 0, 1, 1]}(x))\n",
    "element_type": "rule r\n  x : [n]\n  Mul(x, x) = Cast{to=f32}(Mul(x, x))\n",
}
NOT_BITWISE = {
    "infinite_difference": "rule r\n  x : [n]\n  Relu(x) = Add(Relu(x), Sub(Relu(x), Relu(x)))\n",
    "difference": "rule r\n  x : [n]\n  y : [n]\n  Sub(x, y) = Sub(Sub(x, y), Sub(Mul(x, y), Mul(x, y)))\n",
    "sum": "rule r\n  x : [n]\n  y : [n]\n  z : [n]\n  Add(Add(x, y), z) = Add(x, Add(y, z))\n",
    "infinity": "rule r\n  x : [n]\n  Mul(x, x) = Abs(Mul(Mul(x, x), Exp(Sub(x, x))))\n",
}


class Rules(unittest.TestCase):
    def test_true_rules_hold(self):
        for name, text in TRUE.items():
            with self.subTest(name=name):
                summary, _ = outcome(text)
                self.assertEqual(summary["failures"], [])
                self.assertEqual(summary["instances"], 200)

    def test_false_rules_fail(self):
        for name, text in FALSE.items():
            with self.subTest(name=name):
                self.assertNotEqual(outcome(text)[0]["failures"], [])

    def test_free_parameters_take_any_value(self):
        examples = rules_in(ROOT / "examples" / "parallel.rules")
        wrong = rules_in(ROOT / "tests" / "verifier" / "false" / "free_parameters.rules")
        for rules, expected in ((examples, True), (wrong, False)):
            for rule in rules:
                with self.subTest(name=rule.name):
                    summary = evaluate_rule(rule, 1, 60, False)["summary"]
                    self.assertGreaterEqual(summary["instances"], 60)
                    self.assertEqual(not summary["failures"], expected, summary["failures"])

    def test_what_is_not_bitwise(self):
        for name, text in NOT_BITWISE.items():
            with self.subTest(name=name):
                kinds = {one["kind"] for one in outcome(text, bitwise=True)[0]["failures"]}
                self.assertIn("bits", kinds)

    def test_ties_of_zeros_are_named_apart(self):
        summary, _ = outcome("rule r\n  x : [n]\n  y : [n]\n  Max(x, y) = Max(y, x)\n", bitwise=True)
        self.assertEqual(summary["failures"], [])
        self.assertGreater(summary["ties"], 0)

    def test_instances_are_varied(self):
        summary, _ = outcome(TRUE["add_commutes"], instances=600)
        for name in ("size_0", "size_1", "above_256", "undefined"):
            self.assertGreater(summary[name], 5, name)

    def test_relations(self):
        _, relation = outcome(FALSE["empty_sum_reads"])
        self.assertEqual(relation["holds_as"], "<=")
        self.assertEqual(relation["forward"]["needs_defined"], ["s"])
        self.assertEqual(relation["forward"]["needs_positive"], ["n"])

    def test_deterministic(self):
        self.assertEqual(outcome(FALSE["permutations"]), outcome(FALSE["permutations"]))


if __name__ == "__main__":
    unittest.main()
