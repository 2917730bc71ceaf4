"""Types of the results of operators whose operands are indices, and of Range."""

from second_checker.shapes import axis_of, one_type, REAL
from second_checker.sizes import demand, ZERO
from second_checker.values import INTEGER_TYPES


def indices_of(operand):
    demand(operand is not None and operand[0] in INTEGER_TYPES, "indices that are no integers")
    return operand[1]


def agree_but(one, other, axis, conditions):
    demand(len(one) == len(other), "operands of different ranks")
    for i, (a, b) in enumerate(zip(one, other)):
        if i != axis:
            conditions.equal(a, b)


def infer_gather(operands, attributes, *_):
    (kind, shape), indices = operands[0], indices_of(operands[1])
    axis = attributes["axis"] = axis_of(attributes["axis"], len(shape))
    return [(kind, (*shape[:axis], *indices, *shape[axis + 1:]))]


def infer_gather_elements(operands, attributes, _, conditions):
    (kind, shape), indices = operands[0], indices_of(operands[1])
    axis = attributes["axis"] = axis_of(attributes["axis"], len(shape))
    agree_but(indices, shape, axis, conditions)
    return [(kind, indices)]


def infer_gather_nd(operands, attributes, *_):
    (kind, shape), indices = operands[0], indices_of(operands[1])
    demand(attributes["batch_dims"] == 0, "this checker knows no axes of a batch")
    demand(indices and indices[-1].is_constant(), "indices of an unknown length")
    length = indices[-1].constant()
    demand(1 <= length <= len(shape), "indices that are too long")
    return [(kind, (*indices[:-1], *shape[length:]))]


def infer_scatter_elements(operands, attributes, _, conditions):
    (kind, shape), indices, updates = operands[0], indices_of(operands[1]), operands[2]
    axis = attributes["axis"] = axis_of(attributes["axis"], len(shape))
    agree_but(indices, shape, axis, conditions)
    demand(updates[0] == kind, "operands of different element types")
    agree_but(updates[1], indices, None, conditions)
    return [(kind, shape)]


def infer_scatter_nd(operands, _, __, conditions):
    (kind, shape), indices, updates = operands[0], indices_of(operands[1]), operands[2]
    demand(indices and indices[-1].is_constant(), "indices of an unknown length")
    length = indices[-1].constant()
    demand(1 <= length <= len(shape) and updates[0] == kind, "indices that are too long, or updates of another type")
    agree_but(updates[1], (*indices[:-1], *shape[length:]), None, conditions)
    return [(kind, shape)]


def infer_range(_, attributes, *__):
    """From 0 on in steps of 1; others are refused."""
    demand(attributes["start"] is ZERO and attributes["delta"] == 1, "a range that does not begin at 0 in steps of 1")
    return [(attributes["data_type"], (attributes["limit"],))]


def infer_negative_log_likelihood(operands, attributes, _, conditions):
    demand(len(operands) == 2 and "ignore_index" not in attributes, "weights of classes")
    kind, indices = one_type(operands[:1], REAL), indices_of(operands[1])
    shape = operands[0][1]
    demand(len(shape) >= 2, "scores of less than two axes")
    agree_but(indices, (shape[0], *shape[2:]), None, conditions)
    return [(kind, indices if attributes["reduction"] == '"none"' else ())]
