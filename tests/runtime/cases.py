"""Models of one operator of ONNX Runtime each."""

import dataclasses

import numpy
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft"


@dataclasses.dataclass
class Case:
    name: str
    op: str
    inputs: dict  # name: shape; "" for an absent one
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: tuple = ("y0",)
    domain: str = DOMAIN
    set: int = 17
    tolerance: float = 1e-5
    operands: tuple = ()
    fused: bool = True  # ONNX Runtime makes the operator again of what Lemma spells it as
    integers: dict = dataclasses.field(default_factory=dict)  # name: numpy type, of the inputs that are no f32
    factors: dict = dataclasses.field(default_factory=dict)  # name: what its random numbers are multiplied by

    def model(self, weights=None):
        """With contents for some of the inputs these are constants."""
        node = helper.make_node(self.op, list(self.operands or self.inputs), list(self.outputs), domain=self.domain,
                                **self.attributes)
        inputs = [helper.make_tensor_value_info(name, self.type_of(name), shape) for name, shape in self.inputs.items()
                  if name not in (weights or {})]
        constants = [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()]
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in self.outputs if name]
        graph = helper.make_graph([node], "g", inputs, outputs, constants)
        sets = [helper.make_opsetid("", self.set), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=8)

    def free(self):
        """Inputs that are not weights in models: what is added to the first one is computed as well."""
        return [name for i, name in enumerate(self.inputs) if i == 0 or name in ("skip", "z", "k", "v", "m") or
                (self.op == "FusedMatMul" and name == "b")]

    def type_of(self, name):
        return helper.np_dtype_to_tensor_dtype(numpy.dtype(self.integers.get(name, numpy.float32)))

    def values(self, generator, shape, name=""):
        if name in self.integers:
            # Seven bits with the sign: kernels for AVX2 without VNNI saturate sums of two products at 16 bits.
            return generator.integers(0, 64, shape).astype(self.integers[name])
        return (self.factors.get(name, 1) * generator.standard_normal(shape)).astype(numpy.float32)


CONV_ACTIVATIONS = {"Relu": [], "Sigmoid": [], "Tanh": [], "LeakyRelu": [0.1], "Clip": [-0.5, 0.75],
                    "HardSigmoid": [0.3, 0.4]}
GEMM_ACTIVATIONS = {"Relu": {}, "Sigmoid": {}, "Tanh": {}, "Softplus": {}, "Softsign": {},
                    "LeakyRelu": {"activation_alpha": 0.1}, "Elu": {"activation_alpha": 0.7},
                    "HardSigmoid": {"activation_alpha": 0.3, "activation_beta": 0.4},
                    "Selu": {"activation_alpha": 1.5, "activation_gamma": 1.1},
                    "ThresholdedRelu": {"activation_alpha": 0.2}}


def fused_conv():
    x, w, b, z = {"x": (2, 4, 7, 6)}, {"w": (6, 2, 3, 3)}, {"b": (6,)}, {"z": (2, 6, 4, 3)}
    window = {"group": 2, "strides": [2, 2], "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    for activation, parameters in CONV_ACTIVATIONS.items():
        attributes = {**window, "activation": activation}
        if parameters:
            attributes["activation_params"] = parameters
        yield Case(f"conv_{activation}", "FusedConv", {**x, **w, **b}, attributes)
        yield Case(f"conv_without_bias_{activation}", "FusedConv", {**x, **w}, attributes)
        yield Case(f"conv_with_addend_{activation}", "FusedConv", {**x, **w, **b, **z}, attributes, fused=False)
    yield Case("conv_with_addend", "FusedConv", {**x, **w, **b, **z}, window, fused=False)
    yield Case("conv_with_addend_without_bias", "FusedConv", {**x, **w, **z}, window, operands=("x", "w", "", "z"),
               fused=False)
    yield Case("conv_padded_by_itself", "FusedConv", {**x, **w, **b},
               {"group": 2, "auto_pad": "SAME_UPPER", "strides": [2, 1], "activation": "Relu"})
    yield Case("conv_over_one_axis", "FusedConv", {"x": (2, 4, 9), "w": (3, 4, 3), "b": (3,)}, {"activation": "Relu"})


def fused_gemm():
    for activation, parameters in GEMM_ACTIVATIONS.items():
        yield Case(f"gemm_{activation}", "FusedGemm", {"a": (3, 4), "b": (4, 5), "c": (5,)},
                   {"activation": activation, "alpha": 0.5, "beta": 1.5, **parameters})
    yield Case("gemm_transposed", "FusedGemm", {"a": (4, 3), "b": (5, 4), "c": (3, 1)},
               {"activation": "Relu", "transA": 1, "transB": 1})
    yield Case("gemm_without_addend", "FusedGemm", {"a": (3, 4), "b": (4, 5)}, {"activation": "Tanh"})


def fused_matmul():
    yield Case("matmul_scaled", "FusedMatMul", {"a": (2, 3, 4), "b": (4, 5)}, {"alpha": 0.125})
    yield Case("matmul_left", "FusedMatMul", {"a": (2, 4, 3), "b": (2, 4, 5)}, {"transA": 1, "alpha": -2.0})
    yield Case("matmul_right", "FusedMatMul", {"a": (3, 2, 3, 4), "b": (2, 5, 4)}, {"transB": 1})
    yield Case("matmul_both", "FusedMatMul", {"a": (4, 3), "b": (5, 4)}, {"transA": 1, "transB": 1, "alpha": 3.0})
    yield Case("matmul_batch_left", "FusedMatMul", {"a": (3, 2, 4), "b": (2, 4, 5)}, {"transBatchA": 1})
    yield Case("matmul_batch_right", "FusedMatMul", {"a": (2, 6, 3, 4), "b": (4, 2, 6, 5)}, {"transBatchB": 1})
    yield Case("matmul_batch_both", "FusedMatMul", {"a": (3, 2, 6, 4), "b": (4, 2, 6, 5)},
               {"transBatchA": 1, "transBatchB": 1, "alpha": 0.5})
    yield Case("matmul_batch_left_exchanged", "FusedMatMul", {"a": (4, 2, 3), "b": (2, 4, 5)},
               {"transBatchA": 1, "transA": 1})
    yield Case("matmul_batch_right_exchanged", "FusedMatMul", {"a": (2, 3, 4), "b": (5, 2, 4)},
               {"transBatchB": 1, "transB": 1})
    yield Case("matmul_of_vector", "FusedMatMul", {"a": (4,), "b": (2, 5, 4)}, {"transB": 1, "alpha": 0.5})


def gelu():
    x, b = {"x": (2, 3, 8)}, {"b": (8,)}
    yield Case("gelu", "Gelu", x)
    yield Case("bias_gelu", "BiasGelu", {**x, **b})
    yield Case("fast_gelu", "FastGelu", x, tolerance=1e-4, fused=False)
    yield Case("fast_gelu_with_bias", "FastGelu", {**x, **b}, tolerance=1e-4, fused=False)
    yield Case("quick_gelu", "QuickGelu", x)
    yield Case("quick_gelu_with_slope", "QuickGelu", x, {"alpha": 0.5})


def normalizations():
    x, skip, g, b, s = {"x": (2, 3, 8)}, {"skip": (2, 3, 8)}, {"g": (8,)}, {"b": (8,)}, {"s": (8,)}
    yield Case("simplified", "SimplifiedLayerNormalization", {**x, **g}, {"axis": -1, "epsilon": 0.01}, domain="")
    yield Case("simplified_over_two_axes", "SimplifiedLayerNormalization", {**x, "g": (3, 8)}, {"axis": 1}, domain="",
               fused=False)
    yield Case("early_layer", "LayerNormalization", {**x, **g, **b}, {"epsilon": 0.01}, domain="", set=11)
    layer, rms = "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"
    both = ("y0", "", "", "y1")
    yield Case("skip", layer, {**x, **skip, **g, **b, **s}, {"epsilon": 0.01})
    yield Case("skip_without_shift", layer, {**x, **skip, **g})
    yield Case("skip_without_bias", layer, {**x, **skip, **g, **b})
    yield Case("skip_bias_alone", layer, {**x, **skip, **g, **s}, operands=("x", "skip", "g", "", "s"))
    yield Case("skip_and_sum", layer, {**x, **skip, **g, **b, **s}, {"epsilon": 0.01}, both, fused=False)
    yield Case("skip_and_sum_without_bias", layer, {**x, **skip, **g, **b}, {}, both, fused=False)
    yield Case("skip_of_matrix", layer, {"x": (3, 8), "skip": (3, 8), **g, **b}, fused=False)
    yield Case("skip_broadcast", layer, {**x, "skip": (1, 3, 8), **g, **b}, fused=False)
    yield Case("skip_of_lower_rank", layer, {**x, "skip": (3, 8), **g, **b}, fused=False)
    yield Case("skip_simplified", rms, {**x, **skip, **g}, {"epsilon": 0.01}, fused=False)
    yield Case("skip_simplified_and_sum", rms, {**x, **skip, **g, **s}, {"epsilon": 0.01}, both, fused=False)


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STANDARD_ACTIVATIONS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


def recurrence(name, op, sizes=(5, 3, 4, 6), outputs=None, absent="", **attributes):
    """A case of sizes (steps, batch, inputs, hidden) without the operands that `absent` names."""
    steps, batch, inputs, hidden = sizes
    parts = 2 if attributes.get("direction") == "bidirectional" else 1
    shapes = {"x": (steps, batch, inputs), "w": (parts, GATES[op] * hidden, inputs),
              "r": (parts, GATES[op] * hidden, hidden), "b": (parts, 2 * GATES[op] * hidden),
              "h": (parts, batch, hidden), "c": (parts, batch, hidden)}
    if op != "LSTM":
        del shapes["c"]
    operands = [one if one in shapes and one not in absent else "" for one in ("x", "w", "r", "b", "", "h", "c")]
    while not operands[-1]:
        operands.pop()
    outputs = outputs or tuple(f"y{i}" for i in range(3 if op == "LSTM" else 2))
    return Case(name, op, {one: shape for one, shape in shapes.items() if one not in absent},
                {"hidden_size": hidden, **attributes}, outputs, domain="", operands=tuple(operands))


def recurrent_layers():
    """As ONNX has them beyond one direction with all operands."""
    for op, kind in STANDARD_ACTIVATIONS.items():
        for direction in ("reverse", "bidirectional"):
            parts = 2 if direction == "bidirectional" else 1
            yield recurrence(f"{op.lower()}_{direction}", op, direction=direction)
            yield recurrence(f"{op.lower()}_{direction}_with_activations", op, absent="b", direction=direction,
                             activations=parts * kind)
            yield recurrence(f"{op.lower()}_{direction}_of_one_step", op, (1, 1, 2, 1), direction=direction)
            yield recurrence(f"{op.lower()}_{direction}_last_state", op, outputs=("", "y0"), absent="h",
                             direction=direction)
        yield recurrence(f"{op.lower()}_without_bias", op, absent="b")
        yield recurrence(f"{op.lower()}_without_state", op, absent="hc")
        yield recurrence(f"{op.lower()}_of_the_sequence_alone", op, absent="bhc")
    yield recurrence("lstm_without_cell", "LSTM", absent="c")
    yield recurrence("lstm_with_cell_alone", "LSTM", absent="bh")


def recurrences():
    """Operators of ONNX itself along a sequence; ONNX Runtime spells them as nothing else."""
    def lstm(name, steps, batch, inputs, hidden, outputs=("y0", "y1", "y2")):
        return recurrence(name, "LSTM", (steps, batch, inputs, hidden), outputs)

    for op, kind in STANDARD_ACTIVATIONS.items():
        yield recurrence(f"{op.lower()}_with_activations", op, activations=kind)
    for op in ("GRU", "RNN"):
        yield recurrence(op.lower(), op)
        yield recurrence(f"{op.lower()}_of_one_step", op, (1, 2, 3, 4))
        yield recurrence(f"{op.lower()}_of_sizes_1", op, (1, 1, 1, 1))
        yield recurrence(f"{op.lower()}_last_state", op, (3, 2, 4, 4), ("", "y0"))
    for linear in (0, 1):
        yield recurrence(f"gru_linear_before_reset_{linear}", "GRU", linear_before_reset=linear)
    yield recurrence("gru_linear_before_reset_bidirectional", "GRU", absent="h", linear_before_reset=1,
                     direction="bidirectional")
    for activation in ("Relu", "Sigmoid"):
        yield recurrence(f"rnn_{activation}", "RNN", activations=[activation])
        yield recurrence(f"rnn_{activation}_bidirectional", "RNN", direction="bidirectional",
                         activations=[activation] * 2)
    yield from recurrent_layers()
    yield lstm("lstm", 5, 3, 4, 6)
    yield lstm("lstm_of_one_step", 1, 2, 3, 4)
    yield lstm("lstm_of_sizes_1", 1, 1, 1, 1)
    yield lstm("lstm_of_one_unit", 4, 2, 3, 1)
    yield lstm("lstm_of_batch_1", 7, 1, 5, 2)
    yield lstm("lstm_all_states", 3, 2, 4, 4, ("y0",))
    yield lstm("lstm_last_state", 3, 2, 4, 4, ("", "y0"))
    yield lstm("lstm_last_cell", 3, 2, 4, 4, ("", "", "y0"))


def quantized_recurrences():
    def lstm(name, kind, sizes, absent="", by_column=False, outputs=("y0", "y1", "y2"), **attributes):
        steps, batch, inputs, hidden = sizes
        parts = 2 if attributes.get("direction") == "bidirectional" else 1
        scales = (parts, 4 * hidden) if by_column else (parts,)
        shapes = {"x": (steps, batch, inputs), "w": (parts, inputs, 4 * hidden), "r": (parts, hidden, 4 * hidden),
                  "b": (parts, 8 * hidden), "h": (parts, batch, hidden), "c": (parts, batch, hidden), "sw": scales,
                  "zw": (parts,), "sr": scales, "zr": (parts,)}
        operands = [word if word in shapes and word not in absent else ""
                    for word in ("x", "w", "r", "b", "", "h", "c", "", "sw", "zw", "sr", "zr")]
        return Case(f"quantized_lstm_{name}", "DynamicQuantizeLSTM",
                    {word: shape for word, shape in shapes.items() if word not in absent},
                    {"hidden_size": hidden, **attributes}, outputs, operands=tuple(operands), fused=False,
                    integers={word: kind for word in ("w", "r", "zw", "zr")}, factors={"sw": 0.01, "sr": 0.01})

    for kind in (numpy.int8, numpy.uint8):
        yield lstm(f"of_{numpy.dtype(kind).name}", kind, (3, 1, 5, 6))
    for direction in ("reverse", "bidirectional"):
        yield lstm(direction, numpy.int8, (3, 2, 4, 5), direction=direction)
    yield lstm("without_states", numpy.int8, (4, 1, 3, 2), absent="hc")
    yield lstm("without_bias", numpy.int8, (1, 1, 1, 1), absent="b")
    yield lstm("with_scales_of_columns", numpy.int8, (2, 3, 4, 3), by_column=True)
    yield lstm("last_state", numpy.uint8, (2, 1, 4, 3), outputs=("", "y0"))


def attention():
    def heads(name, batch=2, queries=3, keys=5, count=2, size=4, other=4, addend=None, bias=False, **attributes):
        shapes = {"q": (batch, queries, count * size), "k": (batch, keys, count * size),
                  "v": (batch, keys, count * other)}
        operands = ["q", "k", "v"]
        if bias:
            shapes["bias"] = (count * (2 * size + other),)
            operands.append("bias")
        if addend:
            shapes["m"] = (*addend, queries, keys)
            operands += ["" for _ in range(5 - len(operands))] + ["m"]
        return Case(name, "MultiHeadAttention", shapes, {"num_heads": count, **attributes}, fused=False,
                    operands=tuple(operands))

    yield heads("heads")
    yield heads("heads_scaled", scale=0.75)
    yield heads("heads_not_scaled", scale=1.0)
    yield heads("heads_with_bias", keys=3, bias=True)
    yield heads("heads_with_wide_values", other=6)
    yield heads("one_head", count=1)
    yield heads("heads_of_one_element", size=1, other=1)
    yield heads("heads_with_one_key", keys=1, queries=1, batch=1)
    yield heads("heads_with_addend", addend=(2, 2))
    yield heads("heads_with_addend_for_all_batches", addend=(1, 2), scale=0.5)
    yield heads("heads_with_addend_for_all_heads", addend=(2, 1), keys=3, bias=True)
    yield heads("heads_with_addend_for_all", addend=(1, 1))


def all_cases():
    return [*attention(), *fused_conv(), *fused_gemm(), *fused_matmul(), *gelu(), *normalizations()]
