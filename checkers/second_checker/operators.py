"""The operators that this checker knows: numbers of operands and outputs, attributes with defaults
(docs/operators.md), and the shape rule. A rule with another operator is refused."""

import math
import re

from second_checker import blocks, fusions, indexing, shapes, windows
from second_checker.reals import as_real
from second_checker.shapes import ANY, BOOLEAN, elementwise_rule, NUMERIC, REAL
from second_checker.sizes import demand, ONE, ZERO
from second_checker.values import as_integer, as_integers, as_list, as_reals, as_size, as_string, as_type, REAL_TYPES

REQUIRED, OPTIONAL = "required", "optional"
MANY = 1000


class Operator:
    """`attributes`: the kind and the default (or REQUIRED, OPTIONAL) of each. `outputs`: the most it may have,
    `least_outputs` those that it has whether or not something uses them."""

    def __init__(self, operands, infer, attributes=None, outputs=1, least_outputs=1):
        self.operands, self.attributes = operands, attributes or {}
        self.infer, self.outputs, self.least_outputs = infer, outputs, least_outputs
        self.is_elementwise = getattr(infer, "is_elementwise", False)


def attribute_value(kind, value):
    if kind == "type":
        return as_type(value)[1]
    return {"integer": as_integer, "integers": as_integers, "size": as_size, "sizes": as_list,
            "real": as_real, "reals": as_reals, "string": as_string}[kind](value)


EPSILON = ("real", 9.999999747378752e-06)
WINDOW = {"strides": ("sizes", OPTIONAL), "pads": ("sizes", OPTIONAL),
          "dilations": ("sizes", OPTIONAL)}
POOL = {**WINDOW, "kernel_shape": ("sizes", REQUIRED), "ceil_mode": ("integer", 0)}
NORMAL = {"axis": ("integer", -1), "epsilon": EPSILON, "stash_type": ("type", "f32")}
REDUCTION = {"axes": ("integers", OPTIONAL), "keepdims": ("integer", 1)}
AXIS = {"axis": ("integer", -1)}
AXES = {"axes": ("integers", OPTIONAL)}

OPERATORS = {
    "AveragePool": Operator((1, 1), windows.infer_average_pool,
                            {**POOL, "count_include_pad": ("integer", 0)}),
    "BatchNormalization": Operator((5, 5), windows.infer_channel_normalization,
                                   {"epsilon": EPSILON}),
    "Cast": Operator((1, 1), shapes.infer_cast, {"to": ("type", REQUIRED)}),
    "Clip": Operator((1, 1), elementwise_rule(NUMERIC),
                     {"max": ("real", math.inf), "min": ("real", -math.inf)}),
    "Concat": Operator((1, MANY), shapes.infer_concat, {"axis": ("integer", REQUIRED)}),
    "ConstantOfShape": Operator((0, 0), shapes.infer_constant,
                                {"data_type": ("type", "f32"), "value": ("real", 0.0),
                                 "shape": ("sizes", REQUIRED)}),
    "Conv": Operator((2, 3), windows.infer_conv, {**WINDOW, "group": ("size", ONE)}),
    "ConvTranspose": Operator((2, 3), windows.infer_conv_transpose,
                              {**WINDOW, "group": ("size", ONE), "output_padding": ("sizes", OPTIONAL)}),
    "DepthToSpace": Operator((1, 1), windows.infer_depth_to_space,
                             {"blocksize": ("size", REQUIRED), "mode": ("string", '"DCR"')}),
    "Dropout": Operator((1, 1), shapes.infer_dropout, outputs=2),
    "Expand": Operator((1, 1), shapes.infer_expand, {"shape": ("sizes", REQUIRED)}),
    "EyeLike": Operator((1, 1), shapes.infer_eye,
                        {"dtype": ("type", OPTIONAL), "k": ("integer", 0)}),
    "Flatten": Operator((1, 1), shapes.infer_flatten, {"axis": ("integer", 1)}),
    "Gelu": Operator((1, 1), elementwise_rule(REAL), {"approximate": ("string", '"none"')}),
    "Gemm": Operator((2, 3), shapes.infer_gemm,
                     {"alpha": ("real", 1.0), "beta": ("real", 1.0),
                      "transA": ("integer", 0), "transB": ("integer", 0)}),
    "HardSigmoid": Operator((1, 1), elementwise_rule(REAL),
                            {"alpha": ("real", 0.20000000298023224), "beta": ("real", 0.5)}),
    "HardSigmoidTensor": Operator((3, 3), shapes.infer_hard_sigmoid_tensor),
    "Identity": Operator((1, 1), elementwise_rule(ANY)),
    "InstanceNormalization": Operator((3, 3), windows.infer_channel_normalization,
                                      {"epsilon": EPSILON}),
    "LayerNormalization": Operator((2, 3), windows.infer_layer_normalization, NORMAL, 3),
    "LeakyRelu": Operator((1, 1), elementwise_rule(REAL),
                          {"alpha": ("real", 0.009999999776482582)}),
    "MatMul": Operator((2, 2), shapes.infer_matmul),
    "MaxPool": Operator((1, 1), windows.infer_max_pool,
                        {**POOL, "storage_order": ("integer", 0)}, 2),
    "PRelu": Operator((2, 2), shapes.infer_prelu),
    "Pad": Operator((1, 1), shapes.infer_pad,
                    {"pads": ("sizes", REQUIRED), "mode": ("string", '"constant"'),
                     "value": ("real", 0.0), "axes": ("integers", OPTIONAL)}),
    "RMSNormalization": Operator((2, 2), windows.infer_layer_normalization, NORMAL),
    "Reshape": Operator((1, 1), shapes.infer_reshape, {"shape": ("sizes", REQUIRED)}),
    "Resize": Operator((1, 1), windows.infer_resize,
                       {"mode": ("string", '"nearest"'), "nearest_mode": ("string", '"round_prefer_floor"'),
                        "coordinate_transformation_mode": ("string", '"half_pixel"'), "cubic_coeff_a": ("real", -0.75),
                        "antialias": ("integer", 0), "exclude_outside": ("integer", 0),
                        "extrapolation_value": ("real", 0.0), "keep_aspect_ratio_policy": ("string", '"stretch"'),
                        "scales": ("reals", OPTIONAL), "sizes": ("sizes", OPTIONAL), "roi": ("reals", OPTIONAL),
                        "axes": ("integers", OPTIONAL)}),
    "Slice": Operator((1, 1), shapes.infer_slice,
                      {"starts": ("sizes", REQUIRED), "ends": ("sizes", REQUIRED),
                       "axes": ("integers", OPTIONAL), "steps": ("integers", OPTIONAL)}),
    "Split": Operator((1, 1), shapes.infer_split,
                      {"axis": ("integer", 0), "split": ("sizes", OPTIONAL)}, MANY),
    "Squeeze": Operator((1, 1), shapes.infer_squeeze, AXES),
    "Swish": Operator((1, 1), elementwise_rule(REAL), {"alpha": ("real", 1.0)}),
    "ThresholdedRelu": Operator((1, 1), elementwise_rule(REAL), {"alpha": ("real", 1.0)}),
    "Transpose": Operator((1, 1), shapes.infer_transpose, {"perm": ("integers", OPTIONAL)}),
    "Unsqueeze": Operator((1, 1), shapes.infer_unsqueeze, {"axes": ("integers", REQUIRED)}),
    "Where": Operator((3, 3), shapes.infer_where),
}


SKIP = {"epsilon": ("real", 9.999999960041972e-13)}
ACTIVATION = {"activation": ("string", '""'), "activation_alpha": ("real", 0.0), "activation_beta": ("real", 0.0)}
OPERATORS.update({
    "BlockChannels": Operator((1, 1), blocks.infer_block),
    "BlockedAveragePool": Operator((1, 1), blocks.infer_blocked_average_pool, OPERATORS["AveragePool"].attributes),
    "BlockedConv": Operator((2, 3), blocks.infer_blocked_conv, OPERATORS["Conv"].attributes),
    "BlockedGlobalAveragePool": Operator((1, 1), blocks.infer_blocked_global_pool),
    "BlockedMaxPool": Operator((1, 1), blocks.infer_blocked_max_pool, POOL),
    "UnblockChannels": Operator((1, 1), blocks.infer_unblock, {"channels": ("size", REQUIRED)}),
    "BiasGelu": Operator((2, 2), fusions.infer_bias_gelu, {"approximate": ("string", '"none"')}),
    "FusedConv": Operator((2, 4), fusions.infer_fused_conv,
                          {**OPERATORS["Conv"].attributes, **ACTIVATION, "activation_max": ("real", 0.0),
                           "activation_min": ("real", 0.0)}),
    "FusedGemm": Operator((2, 3), fusions.infer_fused_gemm,
                          {**OPERATORS["Gemm"].attributes, **ACTIVATION, "activation_gamma": ("real", 0.0)}),
    "FusedMatMul": Operator((2, 2), fusions.infer_fused_matmul,
                            {"alpha": ("real", 1.0), "transA": ("integer", 0), "transB": ("integer", 0),
                             "transBatchA": ("integer", 0), "transBatchB": ("integer", 0)}),
    "GRU": Operator((5, 5), fusions.recurrence_rule(3, 1), {"linear_before_reset": ("integer", 0)}, 2, 2),
    "LSTM": Operator((6, 6), fusions.recurrence_rule(4, 2), None, 3, 3),
    "RNN": Operator((5, 5), fusions.infer_rnn, {"activation": ("string", '"Tanh"')}, 2, 2),
    "MultiHeadAttention": Operator((3, 6), fusions.infer_multi_head_attention,
                                   {"num_heads": ("size", REQUIRED), "scale": ("real", 0.0), "mask_filter_value": ("real", 0.0)}),
    "SkipLayerNormalization": Operator((3, 5), fusions.infer_skip, SKIP, 2),
    "SkipSimplifiedLayerNormalization": Operator((3, 4), fusions.infer_skip, SKIP, 2),
})


def add_operators(names, operands, infer, attributes=None):
    for name in names.split():
        OPERATORS[name] = Operator(operands, infer, attributes)


add_operators("Abs Neg Relu Sign", (1, 1), elementwise_rule(NUMERIC))
add_operators("Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSwish Log Mish Reciprocal "
              "Round Sigmoid Sin Sinh Softplus Softsign Sqrt Tan Tanh", (1, 1), elementwise_rule(REAL))
add_operators("Add Div Mul Pow Sub", (2, 2), elementwise_rule(NUMERIC))
add_operators("Max Mean Min Sum", (1, MANY), elementwise_rule(NUMERIC))
add_operators("Not", (1, 1), elementwise_rule(BOOLEAN))
add_operators("And Or Xor", (2, 2), elementwise_rule(BOOLEAN))
add_operators("Equal", (2, 2), elementwise_rule(ANY, "bool"))
add_operators("Greater GreaterOrEqual Less LessOrEqual", (2, 2), elementwise_rule(NUMERIC, "bool"))
add_operators("GlobalAveragePool GlobalMaxPool", (1, 1), windows.infer_global_pool)
add_operators("ReduceL1 ReduceL2 ReduceLogSum ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare",
              (1, 1), shapes.infer_reduction, REDUCTION)
add_operators("CumSum", (1, 1), shapes.infer_same,
              {"axis": ("integer", REQUIRED), "exclusive": ("integer", 0), "reverse": ("integer", 0)})
add_operators("Trilu", (1, 1), shapes.infer_same, {"k": ("integer", 0), "upper": ("integer", 1)})
add_operators("Tile", (1, 1), shapes.infer_tile, {"repeats": ("sizes", REQUIRED)})
add_operators("SpaceToDepth", (1, 1), windows.infer_space_to_depth,
              {"blocksize": ("size", REQUIRED), "mode": ("string", '"DCR"')})
add_operators("LogSoftmax Softmax", (1, 1), shapes.infer_along_axis, AXIS)
add_operators("Celu Elu", (1, 1), elementwise_rule(REAL), {"alpha": ("real", 1.0)})
add_operators("HardSwish Mish", (1, 1), elementwise_rule(REAL))
add_operators("Selu", (1, 1), elementwise_rule(REAL), {"alpha": ("real", 1.6732631921768188), "gamma": ("real", 1.0507010221481323)})
add_operators("ScatterElements", (3, 3), indexing.infer_scatter_elements,
              {"axis": ("integer", 0), "reduction": ("string", '"none"')})
add_operators("ScatterND", (3, 3), indexing.infer_scatter_nd, {"reduction": ("string", '"none"')})
add_operators("Range", (0, 0), indexing.infer_range,
              {"data_type": ("type", "i64"), "delta": ("integer", 1), "limit": ("size", REQUIRED), "start": ("size", ZERO)})
add_operators("NegativeLogLikelihoodLoss", (2, 3), indexing.infer_negative_log_likelihood,
              {"ignore_index": ("integer", OPTIONAL), "reduction": ("string", '"mean"')})


# Gradients (docs/gradients.md): `ConvGradient1` is that of Conv in its operand 1. Its operands are those of Conv, then
# the gradients of the outputs; its attributes those of Conv and four of its own.

# Only their gradients are known: of themselves it would have to be seen where they read outside.
GATHERS = {
    "Gather": Operator((2, 2), indexing.infer_gather, {"axis": ("integer", 0)}),
    "GatherElements": Operator((2, 2), indexing.infer_gather_elements, {"axis": ("integer", 0)}),
    "GatherND": Operator((2, 2), indexing.infer_gather_nd, {"batch_dims": ("integer", 0)}),
}


def gradient_rule(known, operand):
    def infer(operands, attributes, _, conditions):
        count = attributes["gradients"]
        demand(1 <= count <= len(operands), "there are not as many gradients")
        forward, gradients = operands[:-count], operands[-count:]
        demand(operand < len(forward) and forward[operand] is not None, "there is no such operand")
        demand(forward[operand][0] in REAL_TYPES, "an operand that is not of real numbers")
        results = known.infer(list(forward), attributes, attributes["gradient_outputs"], conditions)
        for gradient, (kind, shape) in zip(gradients, results):
            if gradient is None:
                continue
            demand(gradient[0] == kind and len(gradient[1]) == len(shape), "a gradient of another type")
            for one, other in zip(gradient[1], shape):
                conditions.equal(one, other)
        return [forward[operand]]
    return infer


class Operators(dict):
    """With the gradients of all, which are made when they are asked for."""

    def __contains__(self, name):
        return super().__contains__(name) or self.gradient(name) is not None

    def __missing__(self, name):
        self[name] = self.gradient(name)
        return self[name]

    def gradient(self, name):
        parts = re.fullmatch(r"(\w+)Gradient(0|[1-9][0-9]*)", name)
        # A gradient of a gradient has attributes with numbers, which no rule has.
        if parts is None or "Gradient" in parts[1]:
            return None
        known, operand = self.get(parts[1]) or GATHERS.get(parts[1]), int(parts[2])
        if known is None:
            return None
        return Operator((known.operands[0], MANY), gradient_rule(known, operand),
                        {**known.attributes, "gradient_of": ("string", f'"{parts[1]}"'),
                         "gradient_operand": ("integer", operand), "gradient_outputs": ("integer", 1),
                         "gradients": ("integer", 1)})


OPERATORS = Operators(OPERATORS)
