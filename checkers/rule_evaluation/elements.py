"""Integers, and indices that are elements.

Integers are floating-point numbers here, as the elements of the other operators are, and NaN is
undefined: where an index is undefined or outside of its tensor, so is the result."""

import numpy

from rule_evaluation.operators import axis_in, broadcast_shape, common_type, fits, require

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def as_elements(array, kind):
    """Numbers as elements of a type: NaN stays where it may stand for an undefined element."""
    if kind == "bool":
        return numpy.nan_to_num(array.astype(numpy.float64)) != 0
    if kind not in INTEGERS:
        return array
    whole = numpy.trunc(numpy.where(numpy.isinf(array), 3, array))
    return numpy.abs(whole) if kind.startswith("u") else whole


def remainder(m, operands, attributes, _):
    kind = common_type(operands, INTEGERS)
    a, b = (one[0] for one in operands)
    broadcast_shape(a.shape, b.shape)
    divisor = numpy.where(b == 0, numpy.nan, b)
    return [((numpy.fmod if attributes.get("fmod", 0) else numpy.mod)(a, divisor), kind)]


def counting(m, _, attributes, __):
    kind = attributes.get("data_type", "i64")
    require(kind in INTEGERS, "a type that is not one of integers")
    values = range(attributes.get("start", 0), attributes["limit"], attributes.get("delta", 1))
    fits((len(values),))
    return [(numpy.array(values, numpy.float64), kind)]


# ---- Indices

def places(indices, size):
    """The indices as integers, and where they are none or outside of the tensor."""
    outside = ~((indices >= -size) & (indices < size))
    safe = numpy.where(outside, 0, indices).astype(numpy.int64)
    return numpy.where(safe < 0, safe + size, safe), outside


def undefined_where(mask, array):
    return numpy.where(mask, array.dtype.type(numpy.nan), array)


def gather(_, operands, attributes, __):
    (x, kind), (indices, type_of_indices) = operands
    require(type_of_indices in ("i32", "i64") and x.ndim > 0, "no indices")
    axis = axis_in(attributes.get("axis", 0), x.ndim)
    at, outside = places(indices, x.shape[axis])
    shape = fits(x.shape[:axis] + indices.shape + x.shape[axis + 1:])
    if x.shape[axis] == 0:
        return [(numpy.full(shape, numpy.nan), kind)]
    mask = outside.reshape((1,) * axis + outside.shape + (1,) * (x.ndim - axis - 1))
    return [(undefined_where(mask, numpy.take(x, at, axis)), kind)]


def within(shape, indices, axis):
    return all(i == axis or n <= shape[i] for i, n in enumerate(indices.shape))


def gather_elements(_, operands, attributes, __):
    (x, kind), (indices, type_of_indices) = operands
    require(type_of_indices in ("i32", "i64") and x.ndim == indices.ndim > 0, "no indices")
    axis = axis_in(attributes.get("axis", 0), x.ndim)
    require(within(x.shape, indices, axis), "more indices than elements")
    at, outside = places(indices, x.shape[axis])
    if x.shape[axis] == 0:
        return [(numpy.full(indices.shape, numpy.nan), kind)]
    grid = list(numpy.indices(indices.shape))
    grid[axis] = at
    return [(undefined_where(outside, x[tuple(grid)]), kind)]


def scatter_elements(m, operands, attributes, _):
    (x, kind), (indices, type_of_indices), (updates, type_of_updates) = operands
    require(type_of_indices in ("i32", "i64") and x.ndim == indices.ndim > 0, "no indices")
    require(type_of_updates == kind and updates.shape == indices.shape, "updates that do not fit")
    axis = axis_in(attributes.get("axis", 0), x.ndim)
    require(within(x.shape, indices, axis), "more updates than elements")
    reduction = attributes.get("reduction", "none")
    require(reduction in ("none", "add"), "a reduction that is not evaluated here")
    result, lost = numpy.array(x, m.element_type(kind)), numpy.zeros(x.shape, bool)
    for at in numpy.ndindex(*indices.shape):
        line = at[:axis] + (slice(None),) + at[axis + 1:]
        index = indices[at]
        if numpy.isnan(index):
            lost[line] = True  # it may be any
        elif -x.shape[axis] <= index < x.shape[axis]:
            place = at[:axis] + (int(index) % x.shape[axis],) + at[axis + 1:]
            result[place] = m.add(result[place], updates[at]) if reduction == "add" else updates[at]
    return [(undefined_where(lost, result), kind)]


def one_hot(m, operands, attributes, _):
    (indices, _), (values, kind) = operands
    depth = attributes["depth"]
    require(values.shape == (2,), "values that are not two")
    axis = axis_in(attributes.get("axis", -1), indices.ndim + 1)
    fits(indices.shape[:axis] + (depth,) + indices.shape[axis:])
    turned = numpy.where(indices < 0, indices + depth, indices)
    here = numpy.expand_dims(turned, axis)
    steps = numpy.arange(depth).reshape((-1,) + (1,) * (indices.ndim - axis))
    hit = here == steps
    result = numpy.where(hit, values[1], values[0])
    return [(numpy.where(numpy.isnan(here) & numpy.ones_like(hit), numpy.nan, result), kind)]


def einsum(m, operands, attributes, _):
    kind = common_type(operands)
    require(m.is_real, "an order of sums that is not fixed")
    equation = attributes["equation"]
    sizes = {}
    for term, (x, _) in zip(equation.split("->")[0].split(","), operands):
        require(len(term) == x.ndim, "terms that do not fit")
        for letter, size in zip(term, x.shape):
            require(sizes.setdefault(letter, size) == size, "sizes that differ")
    fits(tuple(sizes.values()))
    return [(numpy.einsum(equation, *(one[0] for one in operands)), kind)]


ELEMENTS = {
    "Mod": remainder,
    "Range": counting,
    "Gather": gather,
    "GatherElements": gather_elements,
    "ScatterElements": scatter_elements,
    "OneHot": one_hot,
    "Einsum": einsum,
}
