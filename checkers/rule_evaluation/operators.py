"""Operators as the ONNX standard and docs/operators.md say, on numpy arrays.

A value is a pair of an array and the name of its element type. Each operator takes the arithmetic,
its operands, its attributes and the number of its outputs, and returns its outputs; it raises
IllTyped where the standard does not allow the operands."""

import math

import numpy

from rule_evaluation import arithmetic
from rule_evaluation.language import TYPES

REAL_TYPES = ("f16", "bf16", "f32", "f64")
NUMBERS = tuple(kind for kind in TYPES if kind != "bool")
MOST_ELEMENTS = 4096


class IllTyped(Exception):
    """The operator cannot be applied to these operands."""


class TooLarge(Exception):
    """The result has more elements than are evaluated here."""


def require(condition, message):
    if not condition:
        raise IllTyped(message)


def fits(shape):
    """The shape, if it is one and not too large."""
    require(all(n >= 0 for n in shape), "a negative size")
    if math.prod(max(n, 1) for n in shape) > MOST_ELEMENTS or len(shape) > 60:
        raise TooLarge
    return tuple(shape)


def common_type(operands, kinds=REAL_TYPES):
    types = {one[1] for one in operands if one}
    require(len(types) == 1, "operands of different element types")
    require(not kinds or types <= set(kinds), "an element type that the operator does not take")
    return types.pop()


def broadcast_shape(*shapes):
    try:
        return fits(numpy.broadcast_shapes(*shapes))
    except ValueError:
        raise IllTyped("shapes that cannot be broadcast") from None


def axis_in(axis, rank):
    require(-rank <= axis < rank, "an axis out of range")
    return axis % rank


def axes_in(axes, rank):
    result = tuple(sorted(axis_in(axis, rank) for axis in axes))
    require(len(set(result)) == len(result), "an axis named twice")
    return result


# ---- Elementwise

def unary(f):
    def apply(arithmetic_, operands, _, __):
        kind = common_type(operands)
        return [(f(arithmetic_, operands[0][0]), kind)]
    return apply


def function(f):
    return unary(lambda m, x: m.function(f, x))


def folded(operation):
    """Operators of one or more operands, put together from the left."""
    def apply(m, operands, _, __):
        kind = common_type(operands, NUMBERS)
        shape = broadcast_shape(*(one[0].shape for one in operands))
        result = operands[0][0]
        for one, _ in operands[1:]:
            result = operation(m, result, one)
        return [(numpy.broadcast_to(result, shape), kind)]
    return apply


def number(m, value, kind):
    return numpy.asarray(value, m.element_type(kind))


def relu(m, x):
    return m.bounded(x, number(m, 0, None), None)


def clip(m, operands, attributes, _):
    kind = common_type(operands)
    x = operands[0][0]
    low, high = attributes.get("min", -math.inf), attributes.get("max", math.inf)
    low = None if low == -math.inf else number(m, low, kind)
    high = None if high == math.inf else number(m, high, kind)
    return [(m.bounded(x, low, high), kind)]


def hard_sigmoid_of(m, x, alpha, beta):
    return between_zero_and_one(m, m.add(m.multiply(x, number(m, alpha, None)), number(m, beta, None)))


def between_zero_and_one(m, inner):
    return m.maximum(m.minimum(inner, number(m, 1, None)), number(m, 0, None))


def hard_sigmoid(m, operands, attributes, _):
    kind = common_type(operands)
    alpha, beta = attributes.get("alpha", 0.20000000298023224), attributes.get("beta", 0.5)
    return [(hard_sigmoid_of(m, operands[0][0], alpha, beta), kind)]


def hard_sigmoid_tensor(m, operands, _, __):
    kind = common_type(operands)
    (x, _), (alpha, _), (beta, _) = operands
    require(alpha.shape == beta.shape == (), "an operand that is not a scalar")
    return [(between_zero_and_one(m, m.add(m.multiply(x, alpha), beta)), kind)]


def hard_swish(m, x):
    return m.multiply(x, hard_sigmoid_of(m, x, 1 / 6, 0.5))


def gelu(m, operands, attributes, _):
    kind = common_type(operands)
    mode = attributes.get("approximate", "none")
    return [(m.function(lambda x: arithmetic.gelu(x, mode), operands[0][0]), kind)]


def swish(m, operands, attributes, _):
    kind = common_type(operands)
    alpha = attributes.get("alpha", 1.0)
    return [(m.function(lambda x: arithmetic.swish(x, alpha), operands[0][0]), kind)]


def cast(m, operands, attributes, _):
    (x, kind), = operands
    wanted = attributes["to"]
    if wanted == kind:
        return [(x, kind)]
    if wanted not in REAL_TYPES:
        x = (x != 0).astype(x.dtype) if wanted == "bool" else numpy.trunc(x)
    return [(x, wanted)]


def identity(_, operands, __, ___):
    return [operands[0]]


def dropout(_, operands, __, outputs):
    common_type(operands)
    x = operands[0][0]
    return [operands[0], (numpy.ones(x.shape), "bool")][:outputs]


# ---- Movement

def constant_of_shape(m, _, attributes, __):
    kind = attributes.get("data_type", "f32")
    value = attributes.get("value", 0.0)
    require(kind in REAL_TYPES or value == int(value), "a fraction of an integer type")
    return [(numpy.full(fits(attributes["shape"]), value, m.element_type(kind)), kind)]


def eye_like(m, operands, attributes, _):
    x, kind = operands[0]
    require(x.ndim == 2, "no matrix")
    kind = attributes.get("dtype", kind)
    return [(numpy.eye(*x.shape, attributes.get("k", 0), m.element_type(kind)), kind)]


def transpose(_, operands, attributes, __):
    x, kind = operands[0]
    p = attributes.get("perm", tuple(range(x.ndim))[::-1])
    require(sorted(p) == list(range(x.ndim)), "no permutation of the axes")
    return [(x.transpose(p), kind)]


def reshape(_, operands, attributes, __):
    x, kind = operands[0]
    shape = list(attributes["shape"])
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        require(shape.count(-1) == 1 and rest > 0, "a size that is not determined")
        shape[shape.index(-1)] = x.size // rest
    require(math.prod(fits(shape)) == x.size, "another number of elements")
    return [(x.reshape(shape), kind)]


def flatten(_, operands, attributes, __):
    x, kind = operands[0]
    axis = attributes.get("axis", 1)
    require(-x.ndim <= axis <= x.ndim, "an axis out of range")
    axis = axis + x.ndim if axis < 0 else axis
    return [(x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))), kind)]


def squeeze(_, operands, attributes, __):
    x, kind = operands[0]
    axes = attributes.get("axes", tuple(i for i, n in enumerate(x.shape) if n == 1))
    axes = axes_in(axes, x.ndim)
    require(all(x.shape[axis] == 1 for axis in axes), "an axis that is not of size 1")
    return [(numpy.squeeze(x, axes), kind)]


def unsqueeze(_, operands, attributes, __):
    x, kind = operands[0]
    axes = axes_in(attributes["axes"], x.ndim + len(attributes["axes"]))
    return [(numpy.expand_dims(x, axes), kind)]


def expand(_, operands, attributes, __):
    x, kind = operands[0]
    require(all(n >= 0 for n in attributes["shape"]), "a negative size")
    return [(numpy.broadcast_to(x, broadcast_shape(x.shape, attributes["shape"])), kind)]


def concat(_, operands, attributes, __):
    kind = common_type(operands, TYPES)
    arrays = [one[0] for one in operands]
    axis = axis_in(attributes["axis"], arrays[0].ndim)
    rests = {one.shape[:axis] + (-1,) + one.shape[axis + 1:] for one in arrays}
    require(len(rests) == 1, "operands that differ beside the axis")
    result = numpy.concatenate(arrays, axis)
    fits(result.shape)
    return [(result, kind)]


def split(_, operands, attributes, outputs):
    x, kind = operands[0]
    axis = axis_in(attributes.get("axis", 0), x.ndim)
    parts = attributes.get("split")
    if parts is None:
        size = -(-x.shape[axis] // outputs)
        parts = (size,) * (outputs - 1) + (x.shape[axis] - size * (outputs - 1),)
    require(all(n >= 0 for n in parts), "a negative part")
    require(sum(parts) == x.shape[axis] and len(parts) >= outputs, "parts that do not fit")
    places = numpy.cumsum(parts)[:-1]
    return [(one, kind) for one in numpy.split(x, places, axis)]


def slice_(_, operands, attributes, __):
    x, kind = operands[0]
    starts, ends = attributes["starts"], attributes["ends"]
    axes = axes_unsorted(attributes.get("axes", tuple(range(len(starts)))), x.ndim)
    steps = attributes.get("steps", (1,) * len(starts))
    require(len(starts) == len(ends) == len(axes) == len(steps), "lists of different lengths")
    require(all(step != 0 for step in steps), "a step of 0")
    cut = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        first, past = (clamped(at, x.shape[axis], step) for at in (start, end))
        cut[axis] = places_between(first, past, step)
    return [(x[tuple(cut)], kind)]


def axes_unsorted(axes, rank):
    axes_in(axes, rank)
    return tuple(axis_in(axis, rank) for axis in axes)


def clamped(at, size, step):
    """Backwards the first position is the last element, and the last one is before the first element."""
    least, most = (0, size) if step > 0 else (-1, size - 1)
    return max(least, min(at + size if at < 0 else at, most))


def places_between(first, past, step):
    if step > 0:
        return slice(first, max(first, past), step)
    return slice(first, past if past >= 0 else None, step) if first > past else slice(0, 0)


def pad(m, operands, attributes, _):
    x, kind = operands[0]
    require(attributes.get("mode", "constant") == "constant", "padding by copies")
    pads = attributes["pads"]
    axes = axes_unsorted(attributes.get("axes", tuple(range(x.ndim))), x.ndim)
    require(len(pads) == 2 * len(axes) and all(n >= 0 for n in pads), "pads that do not fit")
    widths = [(0, 0)] * x.ndim
    for i, axis in enumerate(axes):
        widths[axis] = (pads[i], pads[len(axes) + i])
    shape = fits(tuple(n + a + b for n, (a, b) in zip(x.shape, widths)))
    result = numpy.full(shape, attributes.get("value", 0.0), m.element_type(kind))
    result[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths))] = x
    return [(result, kind)]


# ---- Products

def matmul(m, operands, _, __):
    kind = common_type(operands)
    a, b = operands[0][0], operands[1][0]
    require(a.ndim > 0 and b.ndim > 0, "a scalar has no rows")
    left = a[None, :] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    require(left.shape[-1] == right.shape[-2], "inner sizes that differ")
    batch = broadcast_shape(left.shape[:-2], right.shape[:-2])
    fits(batch + (left.shape[-2], left.shape[-1], right.shape[-1]))
    result = m.matrix_product(left, right)
    result = result[..., 0, :] if a.ndim == 1 else result
    return [(result[..., 0] if b.ndim == 1 else result, kind)]


def gemm(m, operands, attributes, _):
    kind = common_type(operands)
    a, b = operands[0][0], operands[1][0]
    require(a.ndim == b.ndim == 2, "no matrices")
    a = a.T if attributes.get("transA", 0) else a
    b = b.T if attributes.get("transB", 0) else b
    require(a.shape[1] == b.shape[0], "inner sizes that differ")
    result = scaled(m, m.matrix_product(a, b), attributes.get("alpha", 1.0))
    if len(operands) == 3:
        addend = operands[2][0]
        require(broadcast_shape(result.shape, addend.shape) == result.shape, "an addend too large")
        result = m.add(result, scaled(m, addend, attributes.get("beta", 1.0)))
    return [(result, kind)]


def scaled(m, x, factor):
    return x if factor == 1 else m.multiply(x, number(m, factor, None))


# ---- Reductions

def reduction(reduce):
    def apply(m, operands, attributes, _):
        kind = common_type(operands)
        x = operands[0][0]
        axes = axes_in(attributes.get("axes", tuple(range(x.ndim))), x.ndim)
        result = reduce(m, x, axes)
        return [(result if attributes.get("keepdims", 1) else numpy.squeeze(result, axes), kind)]
    return apply


def mean(m, x, axes):
    count = math.prod(x.shape[axis] for axis in axes)
    return m.divide(m.sum(x, axes), number(m, count, None))


def softmax(m, operands, attributes, _):
    kind = common_type(operands)
    x = operands[0][0]
    axis = (axis_in(attributes.get("axis", -1), x.ndim),)
    powers = m.function(numpy.exp, shifted(m, x, axis))
    return [(m.divide(powers, m.sum(powers, axis)), kind)]


def shifted(m, x, axis):
    return m.add(x, -m.extremum(x, axis, "max"))


def log_softmax(m, operands, attributes, _):
    kind = common_type(operands)
    x = operands[0][0]
    axis = (axis_in(attributes.get("axis", -1), x.ndim),)
    moved = shifted(m, x, axis)
    return [(m.add(moved, -m.log(m.sum(m.function(numpy.exp, moved), axis))), kind)]
