"""Operators: their attributes, and the types of their outputs."""

import math

from second_checker.sizes import (
    add, at_least, demand, extremum, floor_quotient, multiply, number, ONE, subtract, total,
    ZERO)
from second_checker.values import (
    as_integer, as_integers, as_list, as_real, as_size, changed, FUNCTIONS, insert_axes, REAL_TYPES)

INTEGER_TYPES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
DATA_TYPES = REAL_TYPES + INTEGER_TYPES + ("bool",)


REQUIRED, OPTIONAL = "required", "optional"
ANY, NUMERIC, REAL = "any", "numeric", "real"


class Operator:
    def __init__(self, operands, attributes, infer, outputs=1):
        self.operands, self.attributes = operands, attributes
        self.infer, self.outputs = infer, outputs

    def broadcasts(self):
        """Whether operands are aligned at their ends, and nothing else happens to their shapes."""
        return self in (OPERATORS["MatMul"], OPERATORS["Expand"]) or getattr(
            self.infer, "is_elementwise", False)


class Conditions(list):
    """Differences of sizes that shape rules take to be 0 at run time; in `sizes` those of outputs
    that are not seen to be at least 0."""

    def __init__(self):
        super().__init__()
        self.sizes = set()

    def equal(self, a, b):
        if a is not b:
            self.append(subtract(a, b))


def one_type(operands, kinds=ANY):
    first = operands[0][0]
    for operand in operands:
        demand(operand is None or operand[0] == first, "operands of different element types")
    demand(kinds == ANY or first in REAL_TYPES or (kinds == NUMERIC and first in INTEGER_TYPES),
           f"operands of type {first}")
    return first


def broadcast(shapes, conditions):
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
                conditions.equal(one, other)
        result.append(next(iter(fixed or symbolic), ONE))
    return tuple(result)


def agree(a, b, conditions):
    """The common size of two axes that have to be equal."""
    if a is b:
        return a
    demand(a.is_constant() != b.is_constant(), "sizes that differ")
    conditions.equal(a, b)
    return a if a.is_constant() else b


def elementwise_rule(kinds):
    def infer(operands, _, __, conditions):
        kind = one_type(operands, kinds)
        return [(kind, broadcast([one[1] for one in operands if one], conditions))]
    infer.is_elementwise = True
    return infer


def axis_of(value, rank):
    demand(-rank <= value < rank, "an axis out of range")
    return value + rank if value < 0 else value


def axes_of(values, rank):
    result = tuple(sorted(axis_of(one, rank) for one in values))
    demand(len(set(result)) == len(result), "an axis is named twice")
    return result


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
        target[target.index(number(-1))] = floor_quotient(total(shape), others)
        attributes["shape"] = tuple(target)
    difference = subtract(total(target), total(shape))
    demand(difference is ZERO or not difference.is_constant(), "another number of elements")
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
        demand(shape[axis] is ONE or not shape[axis].is_constant(), "an axis is not of size 1")
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
    parts = attributes["split"]
    demand(len(parts) == count, "another number of parts")
    demand(all(not one.is_constant() or one.constant() >= 0 for one in parts), "a negative part")
    agree(FUNCTIONS["sum"][1](parts), shape[axis], conditions)
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
        first, past = (clamped(one, size) for one in (start, end))
        length = floor_quotient(add(subtract(past, first), number(step - 1)), number(step))
        whole = first is ZERO and past is size and step == 1
        shape = changed(shape, axis, size if whole else extremum("max", ZERO, length))
        cuts.append((first, past, axis, step))
    for i, name in enumerate(("starts", "ends", "axes", "steps")):
        attributes[name] = tuple(cut[i] for cut in cuts)
    return [(kind, shape)]


def clamped(position, size):
    """Where a slice begins or ends: counted from the end if negative, and inside the axis."""
    value = position.constant()
    if value is not None and value >= 2**31 - 1:
        return size
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
    kind = attributes["data_type"]
    demand(kind in REAL_TYPES or attributes["value"] == int(attributes["value"]), "no integer")
    return [(kind, attributes["shape"])]


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


def window(attributes, spatial):
    for name, count, default in (("strides", spatial, 1), ("dilations", spatial, 1),
                                 ("pads", 2 * spatial, 0)):
        values = attributes.setdefault(name, (number(default),) * count)
        demand(len(values) == count, f"another number of {name}")
        for one in values if name != "pads" else ():
            demand(not one.is_constant() or one.constant() > 0, f"{name} that are not positive")


def window_counts(shape, kernel, attributes):
    result = []
    for i, size in enumerate(shape[2:]):
        span = add(multiply(attributes["dilations"][i], subtract(kernel[i], ONE)), ONE)
        padded = add(add(size, attributes["pads"][i]), attributes["pads"][len(kernel) + i])
        room = subtract(padded, span)
        demand(not room.is_constant() or room.constant() >= 0, "a window larger than the input")
        result.append(add(floor_quotient(room, attributes["strides"][i]), ONE))
    return tuple(result)


def infer_conv(operands, attributes, _, conditions):
    kind = one_type(operands, REAL)
    data, weight, group = operands[0][1], operands[1][1], attributes["group"]
    demand(len(data) >= 3 and len(weight) == len(data), "no images, or another kernel")
    window(attributes, len(data) - 2)
    demand(not group.is_constant() or group.constant() >= 1, "group is not positive")
    if len(operands) == 3:
        demand(len(operands[2][1]) == 1, "a bias is a vector")
        agree(operands[2][1][0], weight[0], conditions)
    rest = subtract(weight[0], multiply(group, floor_quotient(weight[0], group)))
    demand(rest is ZERO or not rest.is_constant(), "channels that are not divided by the groups")
    conditions.equal(rest, ZERO)
    agree(data[1], multiply(weight[1], group), conditions)
    return [(kind, (data[0], weight[0], *window_counts(data, weight[2:], attributes)))]


def infer_max_pool(operands, attributes, count, _):
    kind = one_type(operands, NUMERIC)
    shape, kernel = operands[0][1], attributes["kernel_shape"]
    demand(len(shape) >= 3 and len(kernel) == len(shape) - 2, "another number of axes")
    demand(all(not one.is_constant() or one.constant() > 0 for one in kernel), "an empty window")
    demand(attributes["ceil_mode"] == 0, "this checker knows pools that round down only")
    window(attributes, len(kernel))
    shape = (*shape[:2], *window_counts(shape, kernel, attributes))
    return [(kind, shape), ("i64", shape)][:count]


def infer_average_pool(operands, attributes, *_):
    kind = one_type(operands, REAL)
    shape, kernel = operands[0][1], attributes["kernel_shape"]
    demand(len(shape) >= 3 and len(kernel) == len(shape) - 2, "another number of axes")
    demand(all(not one.is_constant() or one.constant() > 0 for one in kernel), "an empty window")
    demand(attributes["ceil_mode"] == 0, "this checker knows pools that round down only")
    window(attributes, len(kernel))
    return [(kind, (*shape[:2], *window_counts(shape, kernel, attributes)))]


def infer_global_pool(operands, *_):
    kind, shape = one_type(operands, REAL), operands[0][1]
    demand(len(shape) >= 2, "no channels")
    return [(kind, (*shape[:2], *(ONE,) * (len(shape) - 2)))]


def compared_sizes(operands, conditions):
    """Fixed sizes above 1 of one operand beside symbolic ones of another may be taken as equal."""
    shapes = [one[1] for one in operands if one]
    for i, fixed in enumerate(shapes):
        for j, symbolic in enumerate(shapes):
            for a in fixed if i != j else ():
                for b in symbolic:
                    if a.is_constant() and a is not ONE and not b.is_constant():
                        conditions.equal(b, a)


def infer_layer_normalization(operands, attributes, count, conditions):
    kind, shape = one_type(operands, REAL), operands[0][1]
    demand(attributes["stash_type"] in REAL_TYPES, "statistics are real")
    attributes["axis"] = axis_of(attributes["axis"], len(shape))
    demand(broadcast([one[1] for one in operands if one], Conditions()) == shape,
           "a scale or shift too large")
    compared_sizes(operands, conditions)
    axis = attributes["axis"]
    statistics = (*shape[:axis], *(ONE,) * (len(shape) - axis))
    return [(kind, shape), *[(attributes["stash_type"], statistics)] * 2][:count]


def infer_instance_normalization(operands, _, __, conditions):
    kind, shape = one_type(operands, REAL), operands[0][1]
    demand(len(shape) >= 2, "no channels")
    for operand in operands[1:]:
        demand(len(operand[1]) == 1 and operand[1][0] is shape[1], "another number of channels")
    compared_sizes(operands, conditions)
    return [(kind, shape)]


def infer_eye(operands, attributes, *_):
    demand(len(operands[0][1]) == 2, "no matrix")
    return [(attributes.get("dtype", operands[0][0]), operands[0][1])]


def infer_batch_normalization(operands, _, __, conditions):
    kind = one_type(operands, REAL)
    shape = operands[0][1]
    demand(len(shape) >= 2, "no channels")
    for operand in operands[1:]:
        demand(len(operand[1]) == 1 and operand[1][0] is shape[1], "another number of channels")
    return [(kind, shape)]


def infer_dropout(operands, _, count, __):
    kind = one_type(operands, REAL)
    return [(kind, operands[0][1]), ("bool", operands[0][1])][:count]


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


WINDOW = {"strides": ("sizes", OPTIONAL), "pads": ("sizes", OPTIONAL),
          "dilations": ("sizes", OPTIONAL)}
OPERATORS = {
    "BatchNormalization": Operator((5, 5), {"epsilon": ("real", 9.999999747378752e-06)},
                                   infer_batch_normalization),
    "Cast": Operator((1, 1), {"to": ("type", REQUIRED)},
                     lambda operands, attributes, *_: [(attributes["to"], operands[0][1])]),
    "Clip": Operator((1, 1), {"max": ("real", math.inf), "min": ("real", -math.inf)},
                     elementwise_rule(NUMERIC)),
    "Concat": Operator((1, 1000), {"axis": ("integer", REQUIRED)}, infer_concat),
    "ConstantOfShape": Operator((0, 0), {"data_type": ("type", "f32"), "value": ("real", 0.0),
                                         "shape": ("sizes", REQUIRED)}, infer_constant),
    "Conv": Operator((2, 3), {**WINDOW, "group": ("size", ONE)}, infer_conv),
    "Dropout": Operator((1, 1), {}, infer_dropout, 2),
    "Expand": Operator((1, 1), {"shape": ("sizes", REQUIRED)}, infer_expand),
    "Flatten": Operator((1, 1), {"axis": ("integer", 1)}, infer_flatten),
    "Gemm": Operator((2, 3), {"alpha": ("real", 1.0), "beta": ("real", 1.0),
                              "transA": ("integer", 0), "transB": ("integer", 0)}, infer_gemm),
    "MatMul": Operator((2, 2), {}, infer_matmul),
    "MaxPool": Operator((1, 1), {**WINDOW, "kernel_shape": ("sizes", REQUIRED),
                                 "ceil_mode": ("integer", 0), "storage_order": ("integer", 0)},
                        infer_max_pool, 2),
    "Pad": Operator((1, 1), {"pads": ("sizes", REQUIRED), "mode": ("string", '"constant"'),
                             "value": ("real", 0.0), "axes": ("integers", OPTIONAL)}, infer_pad),
    "Reshape": Operator((1, 1), {"shape": ("sizes", REQUIRED)}, infer_reshape),
    "Slice": Operator((1, 1), {"starts": ("sizes", REQUIRED), "ends": ("sizes", REQUIRED),
                               "axes": ("integers", OPTIONAL), "steps": ("integers", OPTIONAL)},
                      infer_slice),
    "Split": Operator((1, 1), {"axis": ("integer", 0), "split": ("sizes", OPTIONAL)},
                      infer_split, 1000),
    "Squeeze": Operator((1, 1), {"axes": ("integers", OPTIONAL)}, infer_squeeze),
    "Transpose": Operator((1, 1), {"perm": ("integers", OPTIONAL)}, infer_transpose),
    "Unsqueeze": Operator((1, 1), {"axes": ("integers", REQUIRED)}, infer_unsqueeze),
}
_NORMAL = {"axis": ("integer", -1), "epsilon": ("real", 9.999999747378752e-06),
           "stash_type": ("type", "f32")}
OPERATORS.update({
    "AveragePool": Operator((1, 1), {**WINDOW, "kernel_shape": ("sizes", REQUIRED),
                                     "ceil_mode": ("integer", 0),
                                     "count_include_pad": ("integer", 0)}, infer_average_pool),
    "EyeLike": Operator((1, 1), {"dtype": ("type", OPTIONAL), "k": ("integer", 0)}, infer_eye),
    "Gelu": Operator((1, 1), {"approximate": ("string", '"none"')}, elementwise_rule(REAL)),
    "HardSigmoid": Operator((1, 1), {"alpha": ("real", 0.20000000298023224), "beta": ("real", 0.5)},
                            elementwise_rule(REAL)),
    "InstanceNormalization": Operator((3, 3), {"epsilon": ("real", 9.999999747378752e-06)},
                                      infer_instance_normalization),
    "LayerNormalization": Operator((2, 3), _NORMAL, infer_layer_normalization, 3),
    "Pow": Operator((2, 2), {}, elementwise_rule(NUMERIC)),
    "RMSNormalization": Operator((2, 2), _NORMAL, infer_layer_normalization),
    "Sum": Operator((1, 1000), {}, elementwise_rule(NUMERIC)),
    "Swish": Operator((1, 1), {"alpha": ("real", 1.0)}, elementwise_rule(REAL)),
})
for _name in ("GlobalAveragePool", "GlobalMaxPool"):
    OPERATORS[_name] = Operator((1, 1), {}, infer_global_pool)
for _name in ("Abs", "Neg", "Relu"):
    OPERATORS[_name] = Operator((1, 1), {}, elementwise_rule(NUMERIC))
for _name in ("Cos", "Erf", "Exp", "HardSwish", "Log", "Reciprocal", "Sigmoid", "Sin", "Softplus",
              "Sqrt", "Tanh"):
    OPERATORS[_name] = Operator((1, 1), {}, elementwise_rule(REAL))
for _name in ("Add", "Div", "Mul", "Sub"):
    OPERATORS[_name] = Operator((2, 2), {}, elementwise_rule(NUMERIC))
for _name in ("Max", "Min"):
    OPERATORS[_name] = Operator((1, 1000), {}, elementwise_rule(NUMERIC))
for _name in ("ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
              "ReduceSum", "ReduceSumSquare"):
    OPERATORS[_name] = Operator((1, 1), {"axes": ("integers", OPTIONAL), "keepdims": ("integer", 1)},
                                infer_reduction)
for _name in ("Softmax", "LogSoftmax"):
    OPERATORS[_name] = Operator((1, 1), {"axis": ("integer", -1)}, infer_along_axis)
OPERATORS["Identity"] = Operator((1, 1), {}, elementwise_rule(ANY))


def attribute_value(kind, value):
    if kind == "type":
        demand(isinstance(value, tuple) and value[0] == "type", "a data type is wanted")
        return value[1]
    if kind == "string":
        demand(isinstance(value, str), "a string is wanted")
        return value
    return {"integer": as_integer, "integers": as_integers, "size": as_size, "sizes": as_list,
            "real": as_real}[kind](value)
