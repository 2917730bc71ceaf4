"""Types of the results of operators on channels in blocks of 16 (see shapes.py)."""

from second_checker.shapes import agree, one_type, REAL
from second_checker.sizes import add, demand, floor_quotient, multiply, number, subtract
from second_checker.windows import infer_average_pool, infer_conv, infer_global_pool, infer_max_pool

BLOCK = number(16)


def blocked(image):
    blocks = floor_quotient(add(image[1], number(15)), BLOCK)
    return (image[0], blocks, image[2], image[3], BLOCK)


def infer_block(operands, *_):
    kind, shape = one_type(operands, REAL), operands[0][1]
    demand(len(shape) == 4, "no image")
    return [(kind, blocked(shape))]


def image_of(shape, channels, conditions):
    demand(len(shape) == 5, "no blocks of an image")
    agree(shape[4], BLOCK, conditions)
    conditions.not_negative(channels)
    conditions.not_negative(subtract(multiply(BLOCK, shape[1]), channels))
    return (shape[0], channels, shape[2], shape[3])


def infer_unblock(operands, attributes, _, conditions):
    kind = one_type(operands, REAL)
    return [(kind, image_of(operands[0][1], attributes["channels"], conditions))]


def infer_blocked_conv(operands, attributes, count, conditions):
    kind, weight = one_type(operands, REAL), operands[1][1]
    demand(len(weight) == 4, "no kernel over two axes")
    image = image_of(operands[0][1], multiply(weight[1], attributes["group"]), conditions)
    (_, shape), = infer_conv([(kind, image), *operands[1:]], attributes, count, conditions)
    return [(kind, blocked(shape))]


def pool_rule(infer):
    def rule(operands, attributes, count, conditions):
        kind, shape = one_type(operands, REAL), operands[0][1]
        demand(len(shape) == 5, "no blocks of an image")
        image = image_of(shape, multiply(BLOCK, shape[1]), conditions)
        (_, result), = infer([(kind, image)], attributes, count, conditions)
        return [(kind, blocked(result))]
    return rule


infer_blocked_max_pool = pool_rule(infer_max_pool)
infer_blocked_average_pool = pool_rule(infer_average_pool)
infer_blocked_global_pool = pool_rule(infer_global_pool)
