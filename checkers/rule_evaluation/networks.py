"""Convolution, pools and normalizations, and the table of all operators."""

import itertools
import math

import numpy

from rule_evaluation.arithmetic import erf, stable_sigmoid, stable_softplus
from rule_evaluation.blocks import blocks
from rule_evaluation.elements import ELEMENTS
from rule_evaluation.fusions import fusions
from rule_evaluation.operators import (
    axis_in, broadcast_shape, cast, clip, common_type, concat, constant_of_shape, dropout, expand,
    eye_like, fits, flatten, folded, function, gelu, gemm, hard_sigmoid,
    hard_sigmoid_tensor, hard_swish, identity,
    log_softmax, matmul, mean, number, pad, reduction, relu, require, reshape, slice_, softmax,
    split, squeeze, swish, transpose, unary, unsqueeze)
from rule_evaluation.recurrences import recurrences
from rule_evaluation.selections import SELECTIONS
from rule_evaluation.spatial import SPATIAL


# ---- Windows

class Windows:
    """The windows of a kernel over the spatial axes of an input."""

    def __init__(self, sizes, kernel, attributes):
        rank = len(sizes)
        self.sizes, self.kernel = sizes, kernel
        self.strides = attributes.get("strides", (1,) * rank)
        self.dilations = attributes.get("dilations", (1,) * rank)
        pads = attributes.get("pads", (0,) * (2 * rank))
        require(len(kernel) == rank, "a kernel of another rank")
        require(len(self.strides) == len(self.dilations) == rank, "lists of different lengths")
        require(len(pads) == 2 * rank and all(n >= 0 for n in pads), "pads that do not fit")
        require(all(n > 0 for n in (*self.strides, *self.dilations)), "strides that are not positive")
        require(attributes.get("ceil_mode", 0) == 0, "windows that are rounded up")
        self.front = pads[:rank]
        self.counts = tuple(self.count(i, pads[i] + pads[rank + i]) for i in range(rank))

    def count(self, i, padding):
        room = self.sizes[i] + padding - (self.dilations[i] * (self.kernel[i] - 1) + 1)
        require(room >= 0, "a window larger than the padded input")
        return room // self.strides[i] + 1

    def offsets(self):
        """For each element of the kernel: where windows see an element of the input, and which."""
        for offset in itertools.product(*(range(n) for n in self.kernel)):
            output, read = [], []
            for i, k in enumerate(offset):
                shift = k * self.dilations[i] - self.front[i]
                stride = self.strides[i]
                first = max(0, -(shift // stride))
                past = min(self.counts[i], (self.sizes[i] - 1 - shift) // stride + 1)
                if first >= past:
                    break
                output.append(slice(first, past))
                begin = first * stride + shift
                read.append(slice(begin, begin + (past - first - 1) * stride + 1, stride))
            else:
                yield offset, tuple(output), tuple(read)


def conv(m, operands, attributes, _):
    kind = common_type(operands)
    x, w = operands[0][0], operands[1][0]
    group = attributes.get("group", 1)
    require(x.ndim >= 3 and w.ndim == x.ndim, "no images, or another kernel")
    require(group >= 1 and w.shape[0] % group == 0, "channels that the groups do not divide")
    require(x.shape[1] == w.shape[1] * group, "another number of channels")
    windows = Windows(x.shape[2:], w.shape[2:], attributes)
    shape = fits((x.shape[0], w.shape[0], *windows.counts))
    outputs = w.shape[0] // group
    result = numpy.zeros((x.shape[0], group, outputs, *windows.counts), m.element_type(kind))
    images = x.reshape((x.shape[0], group, w.shape[1], *x.shape[2:]))
    kernels = w.reshape((group, outputs, *w.shape[1:]))
    for channels in m.channel_ranges(w.shape[1]):
        for offset, output, read in windows.offsets():
            part = images[(slice(None), slice(None), channels, *read)]
            factor = kernels[(slice(None), slice(None), channels, *offset)]
            place = (slice(None), slice(None), slice(None), *output)
            result[place] = m.add(result[place], m.channel_product(part, factor))
    result = result.reshape(shape)
    if len(operands) == 3:
        bias = operands[2][0]
        require(bias.shape == (w.shape[0],), "a bias of another size")
        result = m.add(result, bias.reshape((-1,) + (1,) * (x.ndim - 2)) if bias.size else 0)
    return [(result, kind)]


def pool_windows(operands, attributes):
    x = operands[0][0]
    require(x.ndim >= 3, "no images")
    require(all(n > 0 for n in attributes["kernel_shape"]), "an empty window")
    windows = Windows(x.shape[2:], attributes["kernel_shape"], attributes)
    fits(x.shape[:2] + windows.counts)
    return x, windows


def max_pool(m, operands, attributes, outputs):
    """A window without elements has the neutral element of the maximum."""
    kind = common_type(operands)
    require(outputs == 1, "positions of maxima")
    x, windows = pool_windows(operands, attributes)
    result = numpy.full(x.shape[:2] + windows.counts, -math.inf, m.element_type(kind))
    for _, output, read in windows.offsets():
        place = (slice(None), slice(None), *output)
        result[place] = m.maximum(result[place], x[(slice(None), slice(None), *read)])
    return [(result, kind)]


def average_pool(m, operands, attributes, _):
    kind = common_type(operands)
    x, windows = pool_windows(operands, attributes)
    total = numpy.zeros(x.shape[:2] + windows.counts, m.element_type(kind))
    seen = numpy.zeros(windows.counts)
    for _, output, read in windows.offsets():
        place = (slice(None), slice(None), *output)
        total[place] = m.add(total[place], x[(slice(None), slice(None), *read)])
        seen[output] += 1
    if attributes.get("count_include_pad", 0):
        seen[...] = math.prod(windows.kernel)
    return [(m.divide(total, seen.astype(total.dtype)), kind)]


def global_pool(reduce):
    def apply(m, operands, _, __):
        kind = common_type(operands)
        x = operands[0][0]
        require(x.ndim >= 2, "no channels")
        axes = tuple(range(2, x.ndim))
        return [(reduce(m, x, axes) if axes else x, kind)]
    return apply


# ---- Normalizations

def root(m, x, epsilon):
    return m.function(numpy.sqrt, m.add(x, number(m, epsilon, None)))


def centred(m, x, axes):
    difference = m.add(x, -mean(m, x, axes))
    return difference, mean(m, m.multiply(difference, difference), axes)


def channel_shape(x, vector):
    require(x.ndim >= 2 and vector.shape == (x.shape[1],), "another number of channels")
    return vector.reshape((x.shape[1],) + (1,) * (x.ndim - 2))


def epsilon_of(attributes):
    return attributes.get("epsilon", 9.999999747378752e-06)


def batch_normalization(m, operands, attributes, _):
    kind = common_type(operands)
    x = operands[0][0]
    scale, shift, middle, variance = (channel_shape(x, one[0]) for one in operands[1:])
    normal = m.divide(m.add(x, -middle), root(m, variance, epsilon_of(attributes)))
    return [(m.add(m.multiply(normal, scale), shift), kind)]


def instance_normalization(m, operands, attributes, _):
    kind = common_type(operands)
    x = operands[0][0]
    scale, shift = (channel_shape(x, one[0]) for one in operands[1:])
    difference, variance = centred(m, x, tuple(range(2, x.ndim)))
    factor = m.divide(number(m, 1, kind), root(m, variance, epsilon_of(attributes)))
    return [(m.add(m.multiply(m.multiply(difference, factor), scale), shift), kind)]


def trailing_axes(operands, attributes):
    x = operands[0][0]
    axis = axis_in(attributes.get("axis", -1), x.ndim)
    shape = broadcast_shape(*(one[0].shape for one in operands))
    require(shape == x.shape, "a scale or shift too large")
    return x, tuple(range(axis, x.ndim))


def layer_normalization(m, operands, attributes, outputs):
    kind = common_type(operands)
    require(outputs == 1, "statistics")
    x, axes = trailing_axes(operands, attributes)
    difference, variance = centred(m, x, axes)
    factor = m.divide(number(m, 1, kind), root(m, variance, epsilon_of(attributes)))
    result = m.multiply(m.multiply(difference, factor), operands[1][0])
    return [(m.add(result, operands[2][0]) if len(operands) == 3 else result, kind)]


def rms_normalization(m, operands, attributes, _):
    kind = common_type(operands)
    x, axes = trailing_axes(operands, attributes)
    square = mean(m, m.multiply(x, x), axes)
    normal = m.divide(x, root(m, square, epsilon_of(attributes)))
    return [(m.multiply(normal, operands[1][0]), kind)]


OPERATORS = {
    "Abs": unary(lambda m, x: numpy.abs(x)),
    "Add": folded(lambda m, a, b: m.add(a, b)),
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Cast": cast,
    "Clip": clip,
    "Concat": concat,
    "ConstantOfShape": constant_of_shape,
    "Conv": conv,
    "Cos": function(numpy.cos),
    "Div": folded(lambda m, a, b: m.divide(a, b)),
    "Dropout": dropout,
    "Erf": function(lambda x: erf(x) if x.size else x),
    "Exp": function(numpy.exp),
    "Expand": expand,
    "EyeLike": eye_like,
    "Flatten": flatten,
    "Gelu": gelu,
    "Gemm": gemm,
    "GlobalAveragePool": global_pool(mean),
    "GlobalMaxPool": global_pool(lambda m, x, axes: m.extremum(x, axes, "max")),
    "HardSigmoid": hard_sigmoid,
    "HardSigmoidTensor": hard_sigmoid_tensor,
    "HardSwish": unary(hard_swish),
    "Identity": identity,
    "InstanceNormalization": instance_normalization,
    "LayerNormalization": layer_normalization,
    "Log": unary(lambda m, x: m.log(x)),
    "LogSoftmax": log_softmax,
    "MatMul": matmul,
    "Max": folded(lambda m, a, b: m.maximum(a, b)),
    "MaxPool": max_pool,
    "Min": folded(lambda m, a, b: m.minimum(a, b)),
    "Mul": folded(lambda m, a, b: m.multiply(a, b)),
    "Neg": unary(lambda m, x: -x),
    "Pad": pad,
    "Pow": folded(lambda m, a, b: m.power(a, b)),
    "RMSNormalization": rms_normalization,
    "Reciprocal": unary(lambda m, x: m.divide(number(m, 1, None), x)),
    "ReduceL1": reduction(lambda m, x, axes: m.sum(numpy.abs(x), axes)),
    "ReduceL2": reduction(lambda m, x, axes: m.function(numpy.sqrt, m.sum(m.multiply(x, x), axes))),
    "ReduceMax": reduction(lambda m, x, axes: m.extremum(x, axes, "max")),
    "ReduceMean": reduction(mean),
    "ReduceMin": reduction(lambda m, x, axes: m.extremum(x, axes, "min")),
    "ReduceSum": reduction(lambda m, x, axes: m.sum(x, axes)),
    "ReduceSumSquare": reduction(lambda m, x, axes: m.sum(m.multiply(x, x), axes)),
    "Relu": unary(relu),
    "Reshape": reshape,
    "Sigmoid": function(stable_sigmoid),
    "Sin": function(numpy.sin),
    "Slice": slice_,
    "Softmax": softmax,
    "Softplus": function(stable_softplus),
    "Split": split,
    "Sqrt": function(numpy.sqrt),
    "Squeeze": squeeze,
    "Sub": folded(lambda m, a, b: m.add(a, -b)),
    "Sum": folded(lambda m, a, b: m.add(a, b)),
    "Swish": swish,
    "Tanh": function(numpy.tanh),
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
OPERATORS.update(SELECTIONS)
OPERATORS.update(SPATIAL)
OPERATORS.update(ELEMENTS)
OPERATORS.update(fusions(OPERATORS))
OPERATORS.update(blocks(OPERATORS))
OPERATORS.update(recurrences(OPERATORS))
