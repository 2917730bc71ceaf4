"""Comparisons, and selections by them. A comparison with NaN is false; among elements NaN is selected first, and TopK orders
it above all numbers (docs/semantics.md, "Selections of NaN")."""

import numpy

from rule_evaluation.operators import axis_in, broadcast_shape, common_type, fits, number, require

COMPARED = ("f16", "bf16", "f32", "f64", "i32", "i64")


def comparison(compare, kinds=COMPARED):
    def apply(_, operands, __, ___):
        common_type(operands, kinds)
        shape = broadcast_shape(*(one[0].shape for one in operands))
        return [(numpy.broadcast_to(compare(operands[0][0], operands[1][0]), shape), "bool")]
    return apply


def test(f):
    def apply(_, operands, __, ___):
        common_type(operands)
        return [(f(operands[0][0]), "bool")]
    return apply


def logical(f):
    def apply(_, operands, __, ___):
        common_type(operands, ("bool",))
        shape = broadcast_shape(*(one[0].shape for one in operands))
        return [(numpy.broadcast_to(f(*(one[0].astype(bool) for one in operands)), shape), "bool")]
    return apply


def where(_, operands, __, ___):
    common_type(operands[:1], ("bool",))
    kind = common_type(operands[1:], None)
    broadcast_shape(*(one[0].shape for one in operands))
    return [(numpy.where(operands[0][0].astype(bool), operands[1][0], operands[2][0]), kind)]


def thresholded_relu(m, operands, attributes, _):
    kind = common_type(operands)
    x = operands[0][0]
    return [(numpy.where(x > number(m, attributes.get("alpha", 1.0), kind), x, number(m, 0, kind)), kind)]


def shrink(m, operands, attributes, _):
    kind = common_type(operands)
    x = operands[0][0]
    bias, limit = (number(m, attributes.get(name, usual), kind) for name, usual in (("bias", 0.0), ("lambd", 0.5)))
    return [(numpy.where(x < -limit, m.add(x, bias), numpy.where(x > limit, m.add(x, -bias), number(m, 0, kind))), kind)]


def extreme_position(find):
    """numpy gives the first NaN if there is one; the last one is the first from behind."""
    def apply(_, operands, attributes, __):
        common_type(operands, COMPARED)
        x = operands[0][0]
        axis = axis_in(attributes.get("axis", 0), x.ndim)
        require(x.shape[axis] > 0, "an axis without elements")
        last = attributes.get("select_last_index", 0)
        found = find(numpy.flip(x, axis) if last else x, axis=axis)
        found = x.shape[axis] - 1 - found if last else found
        found = numpy.asarray(found, numpy.int64)
        return [(numpy.expand_dims(found, axis) if attributes.get("keepdims", 1) else found, "i64")]
    return apply


def hardmax(m, operands, attributes, _):
    kind = common_type(operands)
    x = operands[0][0]
    axis = axis_in(attributes.get("axis", -1), x.ndim)
    require(x.shape[axis] > 0, "an axis without elements")
    found = numpy.expand_dims(numpy.argmax(x, axis=axis), axis)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    positions = numpy.arange(x.shape[axis]).reshape(shape)
    return [((positions == found).astype(m.element_type(kind)), kind)]


def top_k(_, operands, attributes, __):
    kind = common_type(operands, COMPARED)
    x = operands[0][0]
    axis, count = axis_in(attributes.get("axis", -1), x.ndim), attributes["k"]
    require(0 <= count <= x.shape[axis], "more elements than there are")
    nan = numpy.isnan(x)
    values = numpy.where(nan, 0, x)
    # The last key counts most, and sorting keeps the order of equal elements: NaN stands above all numbers.
    keys = (-values, ~nan) if attributes.get("largest", 1) else (values, nan)
    order = numpy.take(numpy.lexsort(keys, axis=axis), range(count), axis=axis)
    fits(order.shape)
    return [(numpy.take_along_axis(x, order, axis), kind), (order.astype(numpy.int64), "i64")]


SELECTIONS = {
    "And": logical(numpy.logical_and),
    "ArgMax": extreme_position(numpy.argmax),
    "ArgMin": extreme_position(numpy.argmin),
    "Equal": comparison(numpy.equal, (*COMPARED, "bool")),
    "Greater": comparison(numpy.greater),
    "GreaterOrEqual": comparison(numpy.greater_equal),
    "Hardmax": hardmax,
    "IsInf": test(numpy.isinf),
    "IsNaN": test(numpy.isnan),
    "Less": comparison(numpy.less),
    "LessOrEqual": comparison(numpy.less_equal),
    "Not": logical(numpy.logical_not),
    "Or": logical(numpy.logical_or),
    "Shrink": shrink,
    "ThresholdedRelu": thresholded_relu,
    "TopK": top_k,
    "Where": where,
    "Xor": logical(numpy.logical_xor),
}
