"""Types of the results of convolutions, pools and normalizations (see shapes.py)."""

from second_checker.sizes import add, demand, floor_quotient, multiply, number, ONE, subtract
from second_checker.shapes import agree, axis_of, broadcast, NUMERIC, one_type, REAL
from second_checker.values import is_real_type


def window(attributes, spatial, conditions):
    for name, count, default in (("strides", spatial, 1), ("dilations", spatial, 1),
                                 ("pads", 2 * spatial, 0)):
        values = attributes.setdefault(name, (number(default),) * count)
        demand(len(values) == count, f"another number of {name}")
        for one in values:
            (conditions.not_negative if name == "pads" else conditions.positive)(one)


def window_counts(shape, kernel, attributes, conditions):
    """How many windows there are along each axis; they have to be as large as the input at most."""
    result = []
    for i, size in enumerate(shape[2:]):
        span = add(multiply(attributes["dilations"][i], subtract(kernel[i], ONE)), ONE)
        padded = add(add(size, attributes["pads"][i]), attributes["pads"][len(kernel) + i])
        room = subtract(padded, span)
        conditions.not_negative(room)
        result.append(add(floor_quotient(room, attributes["strides"][i]), ONE))
    return tuple(result)


def infer_conv(operands, attributes, _, conditions):
    kind = one_type(operands, REAL)
    data, weight, group = operands[0][1], operands[1][1], attributes["group"]
    demand(len(data) >= 3 and len(weight) == len(data), "no images, or another kernel")
    window(attributes, len(data) - 2, conditions)
    conditions.positive(group)
    if len(operands) == 3:
        demand(len(operands[2][1]) == 1, "a bias is a vector")
        agree(operands[2][1][0], weight[0], conditions)
    conditions.equal(weight[0], multiply(group, floor_quotient(weight[0], group)))
    agree(data[1], multiply(weight[1], group), conditions)
    counts = window_counts(data, weight[2:], attributes, conditions)
    return [(kind, (data[0], weight[0], *counts))]


def infer_conv_transpose(operands, attributes, _, conditions):
    kind = one_type(operands, REAL)
    data, weight, group = operands[0][1], operands[1][1], attributes["group"]
    demand(len(data) >= 3 and len(weight) == len(data), "no images, or another kernel")
    spatial = len(data) - 2
    window(attributes, spatial, conditions)
    more = attributes.setdefault("output_padding", (number(0),) * spatial)
    demand(len(more) == spatial, "another number of output_padding")
    conditions.positive(group)
    channels = multiply(weight[1], group)
    if len(operands) == 3:
        demand(len(operands[2][1]) == 1, "a bias is a vector")
        agree(operands[2][1][0], channels, conditions)
    conditions.equal(weight[0], multiply(group, floor_quotient(weight[0], group)))
    agree(data[1], weight[0], conditions)
    sizes = []
    for i, size in enumerate(data[2:]):
        span = add(multiply(attributes["dilations"][i], subtract(weight[2 + i], ONE)), ONE)
        whole = add(add(multiply(attributes["strides"][i], subtract(size, ONE)), span), more[i])
        sizes.append(subtract(subtract(whole, attributes["pads"][i]), attributes["pads"][spatial + i]))
    return [(kind, (data[0], channels, *sizes))]


def infer_depth_to_space(operands, attributes, _, conditions):
    kind, shape = operands[0]
    block = attributes["blocksize"]
    demand(len(shape) == 4, "no image")
    conditions.positive(block)
    parts = multiply(block, block)
    depth = floor_quotient(shape[1], parts)
    conditions.equal(shape[1], multiply(parts, depth))
    return [(kind, (shape[0], depth, multiply(block, shape[2]), multiply(block, shape[3])))]


def infer_space_to_depth(operands, attributes, _, conditions):
    kind, shape = operands[0]
    block = attributes["blocksize"]
    demand(len(shape) == 4, "no image")
    conditions.positive(block)
    rows, columns = (floor_quotient(size, block) for size in shape[2:])
    conditions.equal(shape[2], multiply(block, rows))
    conditions.equal(shape[3], multiply(block, columns))
    return [(kind, (shape[0], multiply(multiply(block, block), shape[1]), rows, columns))]


def infer_resize(operands, attributes, *_):
    kind, shape = one_type(operands, NUMERIC), operands[0][1]
    scales = attributes.get("scales", ())
    demand(len(scales) == len(shape) and not any(name in attributes for name in ("sizes", "roi", "axes")),
           "this checker knows scales of all axes only")
    demand(all(one.is_integer() and one >= 1 for one in scales), "this checker knows whole scales only")
    return [(kind, tuple(multiply(number(int(one)), size) for one, size in zip(scales, shape)))]


def pooled(operands, attributes, kinds, conditions):
    kind = one_type(operands, kinds)
    shape, kernel = operands[0][1], attributes["kernel_shape"]
    demand(len(shape) >= 3 and len(kernel) == len(shape) - 2, "another number of axes")
    for one in kernel:
        conditions.positive(one)
    demand(attributes["ceil_mode"] == 0, "this checker knows pools that round down only")
    window(attributes, len(kernel), conditions)
    return kind, (*shape[:2], *window_counts(shape, kernel, attributes, conditions))


def infer_max_pool(operands, attributes, count, conditions):
    kind, shape = pooled(operands, attributes, NUMERIC, conditions)
    return [(kind, shape), ("i64", shape)][:count]


def infer_average_pool(operands, attributes, _, conditions):
    return [pooled(operands, attributes, REAL, conditions)]


def infer_global_pool(operands, *_):
    kind, shape = one_type(operands, REAL), operands[0][1]
    demand(len(shape) >= 2, "no channels")
    return [(kind, (*shape[:2], *(ONE,) * (len(shape) - 2)))]


def infer_layer_normalization(operands, attributes, count, conditions):
    kind, shape = one_type(operands, REAL), operands[0][1]
    demand(is_real_type(attributes["stash_type"]), "statistics are real")
    axis = attributes["axis"] = axis_of(attributes["axis"], len(shape))
    for operand in operands[1:]:
        demand(operand is None or broadcast([shape, operand[1]], conditions) == shape,
               "a scale or shift too large")
    statistics = (*shape[:axis], *(ONE,) * (len(shape) - axis))
    return [(kind, shape), *[(attributes["stash_type"], statistics)] * 2][:count]


def infer_channel_normalization(operands, *_):
    kind, shape = one_type(operands, REAL), operands[0][1]
    demand(len(shape) >= 2, "no channels")
    for operand in operands[1:]:
        demand(len(operand[1]) == 1 and operand[1][0] is shape[1], "another number of channels")
    return [(kind, shape)]
