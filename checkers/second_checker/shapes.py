"""Types of the results of operators that compute element by element, move or reduce.

An operand is (element type, shape) or None. A shape rule takes the operands, the attributes (which
it completes: defaults, axes counted from 0, slices inside their axis), the number of outputs and the
conditions to which it adds what it takes for granted; it returns the types of the outputs."""

from second_checker.sizes import (
    add, at_least, demand, extremum, floor_quotient, multiply, number, ONE, subtract, total, ZERO)
from second_checker.values import changed, insert_axes, INTEGER_TYPES, is_real_type

ANY, NUMERIC, REAL, BOOLEAN = "any", "numeric", "real", "boolean"
RANGES = {"bool": (0, 1), **{f"i{n}": (-2 ** (n - 1), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)},
          **{f"u{n}": (0, 2 ** n - 1) for n in (8, 16, 32, 64)}}
END = 2 ** 63 - 1  # the greatest size


# Parts of the rules.

def one_type(operands, kinds=ANY):
    given = [one for one in operands if one is not None]
    first = given[0][0]
    demand(all(one[0] == first for one in given), "operands of different element types")
    fits = {ANY: True, REAL: is_real_type(first), BOOLEAN: first == "bool",
            NUMERIC: is_real_type(first) or first in INTEGER_TYPES}[kinds]
    demand(fits, f"operands of type {first}")
    return first


def broadcast(shapes, conditions):
    """Axes aligned at their ends have one size or 1. A symbolic size beside a fixed one is taken to be
    that one (or 1)."""
    rank = max((len(one) for one in shapes), default=0)
    result = []
    for from_end in range(rank, 0, -1):
        sizes = [one[-from_end] for one in shapes if len(one) >= from_end]
        others = [one for one in sizes if one is not ONE]
        fixed = {one for one in others if one.is_constant()}
        symbolic = {one for one in others if not one.is_constant()}
        demand(len(fixed) <= 1 and len(symbolic) <= 1, "shapes that cannot be broadcast")
        for one in symbolic:
            for other in fixed:
                conditions.broadcast(one, other)
        result.append(next(iter(fixed or symbolic), ONE))
    return tuple(result)


def agree(a, b, conditions):
    """The common size of two axes that have to be equal."""
    if a is b:
        return a
    demand(a.is_constant() != b.is_constant(), "sizes that differ")
    conditions.equal(a, b)
    return a if a.is_constant() else b


def axis_of(value, rank):
    demand(-rank <= value < rank, "an axis out of range")
    return value + rank if value < 0 else value


def axes_of(values, rank):
    result = tuple(sorted(axis_of(one, rank) for one in values))
    demand(len(set(result)) == len(result), "an axis is named twice")
    return result


# Element by element.

def elementwise_rule(kinds, result=None):
    """All operands have one type of these kinds; the result has the same, or the one given."""
    def infer(operands, _, __, conditions):
        kind = one_type(operands, kinds)
        return [(result or kind, broadcast([one[1] for one in operands if one], conditions))]
    infer.is_elementwise = True
    return infer


def infer_same(operands, *_):
    """The type of the only operand, of which other elements are read."""
    return [(one_type(operands, NUMERIC), operands[0][1])]


def infer_tile(operands, attributes, *_):
    kind, shape = operands[0]
    repeats = attributes["repeats"]
    demand(len(repeats) == len(shape), "not a number for each axis")
    return [(kind, tuple(multiply(count, size) for count, size in zip(repeats, shape)))]


def infer_where(operands, _, __, conditions):
    demand(operands[0][0] == "bool", "a condition is boolean")
    return [(one_type(operands[1:]), broadcast([one[1] for one in operands], conditions))]


infer_where.is_elementwise = True


def infer_prelu(operands, _, __, conditions):
    kind = one_type(operands, REAL)
    demand(broadcast([one[1] for one in operands], conditions) == operands[0][1],
           "a slope too large")
    return [(kind, operands[0][1])]


def infer_hard_sigmoid_tensor(operands, *_):
    kind = one_type(operands, REAL)
    for _, shape in operands[1:]:
        demand(len(shape) == 0, "an operand that is not a scalar")
    return [(kind, operands[0][1])]


def infer_cast(operands, attributes, *_):
    return [(attributes["to"], operands[0][1])]


def infer_dropout(operands, _, count, __):
    kind = one_type(operands, REAL)
    return [(kind, operands[0][1]), ("bool", operands[0][1])][:count]


# Moving elements.

def infer_transpose(operands, attributes, *_):
    (kind, shape), = operands
    p = attributes.setdefault("perm", tuple(reversed(range(len(shape)))))
    demand(sorted(p) == list(range(len(shape))), "no permutation of the axes")
    return [(kind, tuple(shape[i] for i in p))]


def infer_reshape(operands, attributes, _, conditions):
    (kind, shape), = operands
    target = list(attributes["shape"])
    if number(-1) in target:
        demand(target.count(number(-1)) == 1, "two sizes are left open")
        others = total(one for one in target if one is not number(-1))
        conditions.positive(others)
        target[target.index(number(-1))] = floor_quotient(total(shape), others)
        attributes["shape"] = tuple(target)
    conditions.equal(total(target), total(shape))
    return [(kind, tuple(target))]


def infer_flatten(operands, attributes, *_):
    (kind, shape), = operands
    axis = attributes["axis"]
    demand(-len(shape) <= axis <= len(shape), "an axis out of range")
    axis = attributes["axis"] = axis + len(shape) if axis < 0 else axis
    return [(kind, (total(shape[:axis]), total(shape[axis:])))]


def infer_squeeze(operands, attributes, _, conditions):
    (kind, shape), = operands
    if "axes" not in attributes:
        demand(all(one.is_constant() for one in shape), "which sizes are 1 is not known")
        attributes["axes"] = tuple(i for i, one in enumerate(shape) if one is ONE)
    axes = attributes["axes"] = axes_of(attributes["axes"], len(shape))
    for axis in axes:
        conditions.equal(shape[axis], ONE)
    return [(kind, tuple(one for i, one in enumerate(shape) if i not in axes))]


def infer_unsqueeze(operands, attributes, *_):
    (kind, shape), = operands
    axes = attributes["axes"]
    axes = attributes["axes"] = axes_of(axes, len(shape) + len(axes))
    return [(kind, insert_axes(shape, axes))]


def infer_expand(operands, attributes, _, conditions):
    (kind, shape), = operands
    attributes["shape"] = broadcast([shape, attributes["shape"]], conditions)
    return [(kind, attributes["shape"])]


def infer_concat(operands, attributes, _, conditions):
    demand(all(operands), "an operand is missing")
    kind = one_type(operands)
    axis = attributes["axis"] = axis_of(attributes["axis"], len(operands[0][1]))
    result = list(operands[0][1])
    for _, shape in operands[1:]:
        demand(len(shape) == len(result), "operands of different ranks")
        for i, size in enumerate(shape):
            result[i] = add(result[i], size) if i == axis else agree(result[i], size, conditions)
    return [(kind, tuple(result))]


def infer_split(operands, attributes, count, conditions):
    (kind, shape), = operands
    axis = attributes["axis"] = axis_of(attributes["axis"], len(shape))
    if "split" not in attributes:
        part = floor_quotient(add(shape[axis], number(count - 1)), number(count))
        last = subtract(shape[axis], multiply(part, number(count - 1)))
        attributes["split"] = (part,) * (count - 1) + (last,)
    parts, whole = attributes["split"], ZERO
    demand(len(parts) == count, "another number of parts")
    for one in parts:
        conditions.not_negative(one)
        whole = add(whole, one)
    agree(whole, shape[axis], conditions)
    return [(kind, changed(shape, axis, one)) for one in parts]


def infer_slice(operands, attributes, *_):
    (kind, shape), = operands
    starts, ends = attributes["starts"], attributes["ends"]
    axes = attributes.get("axes", tuple(range(len(starts))))
    steps = attributes.get("steps", (1,) * len(starts))
    demand(len(starts) == len(ends) == len(axes) == len(steps) <= len(shape), "lists that differ")
    demand(all(one > 0 for one in steps), "this checker knows slices with positive steps only")
    axes = tuple(axis_of(one, len(shape)) for one in axes)
    demand(len(set(axes)) == len(axes), "an axis is named twice")
    cuts = []
    for axis, start, end, step in sorted(zip(axes, starts, ends, steps), key=lambda one: one[0]):
        size = shape[axis]
        first, past, length = cut(size, start, end, step)
        # Positions are kept as they are where clamping those that are clamped would change them once more.
        settled = cut(size, first, past, step) == (first, past, length)
        shape = changed(shape, axis, length)
        cuts.append((first, past, axis, step) if settled else (start, end, axis, step))
    for i, name in enumerate(("starts", "ends", "axes", "steps")):
        attributes[name] = tuple(cut[i] for cut in cuts)
    return [(kind, shape)]


def cut(size, start, end, step):
    """First position, the one behind the last, and how many there are."""
    first, past = (clamped(one, size) for one in (start, end))
    if first is ZERO and past is size and step == 1:
        return first, past, size
    length = floor_quotient(add(subtract(past, first), number(step - 1)), number(step))
    return first, past, extremum("max", ZERO, length)


def clamped(position, size):
    """Where a slice begins or ends: counted from the end if negative, and inside the axis."""
    value = position.constant()
    if value is not None and value >= END:
        return size
    if value is not None and value < -END or position is subtract(ZERO, size):
        return ZERO
    if value is not None and value < 0:
        position = add(position, size)
    elif value is None and position is not size and not at_least(position, ZERO):
        demand(at_least(number(-1), position), "a slice from where is not known")
        position = add(position, size)
    return size if position is size else extremum("max", ZERO, extremum("min", position, size))


def infer_pad(operands, attributes, *_):
    (kind, shape), = operands
    demand(attributes["mode"] == '"constant"', "this checker knows padding with a value only")
    pads, rank = attributes["pads"], len(shape)
    axes = attributes.pop("axes", tuple(range(rank)))
    demand(len(pads) == 2 * len(axes), "another number of pads")
    axes = [axis_of(one, rank) for one in axes]
    demand(len(set(axes)) == len(axes), "an axis is named twice")
    full = [ZERO] * (2 * rank)
    for i, axis in enumerate(axes):
        full[axis], full[rank + axis] = pads[i], pads[len(axes) + i]
    attributes["pads"] = tuple(full)
    return [(kind, tuple(add(add(full[i], size), full[rank + i]) for i, size in enumerate(shape)))]


def infer_constant(_, attributes, *__):
    kind, value = attributes["data_type"], attributes["value"]
    if not is_real_type(kind):
        demand(isinstance(value, float) and value.is_integer() and
               RANGES[kind][0] <= value <= RANGES[kind][1], f"no number of type {kind}")
    return [(kind, attributes["shape"])]


def infer_eye(operands, attributes, *_):
    demand(len(operands[0][1]) == 2, "no matrix")
    return [(attributes.get("dtype", operands[0][0]), operands[0][1])]


# Along axes.

def infer_reduction(operands, attributes, *_):
    kind = one_type(operands, NUMERIC)
    shape = operands[0][1]
    axes = attributes["axes"] = axes_of(attributes.get("axes", range(len(shape))), len(shape))
    if attributes["keepdims"]:
        return [(kind, tuple(ONE if i in axes else one for i, one in enumerate(shape)))]
    return [(kind, tuple(one for i, one in enumerate(shape) if i not in axes))]


def infer_along_axis(operands, attributes, *_):
    attributes["axis"] = axis_of(attributes["axis"], len(operands[0][1]))
    return [(one_type(operands, REAL), operands[0][1])]


def infer_matmul(operands, _, __, conditions):
    kind = one_type(operands, NUMERIC)
    left, right = (one[1] for one in operands)
    demand(left and right, "a scalar has no rows")
    vectors = len(left) == 1, len(right) == 1
    left = (ONE, *left) if vectors[0] else left
    right = (*right, ONE) if vectors[1] else right
    demand(left[-1] is right[-2], "inner sizes that differ")
    shape = broadcast([left[:-2], right[:-2]], conditions)
    shape += () if vectors[0] else (left[-2],)
    return [(kind, shape + (() if vectors[1] else (right[-1],)))]


def infer_gemm(operands, attributes, _, conditions):
    kind = one_type(operands, NUMERIC)
    left, right = operands[0][1], operands[1][1]
    demand(len(left) == len(right) == 2, "no matrices")
    left = left[::-1] if attributes["transA"] else left
    right = right[::-1] if attributes["transB"] else right
    demand(left[1] is right[0], "inner sizes that differ")
    shape = (left[0], right[1])
    if len(operands) == 3:
        demand(broadcast([shape, operands[2][1]], conditions) == shape, "an addend too large")
    return [(kind, shape)]
