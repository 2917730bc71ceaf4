"""Types of the results of operators that a runtime has beside those of ONNX (see shapes.py)."""

from second_checker.reals import as_real
from second_checker.shapes import agree, broadcast, infer_gemm, infer_matmul, one_type, REAL
from second_checker.sizes import add, demand, floor_quotient, multiply, number, ONE
from second_checker.windows import infer_conv

PARAMETERS = {"Clip": ("min", "max"), "Elu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "LeakyRelu": ("alpha",),
              "Selu": ("alpha", "gamma"), "ThresholdedRelu": ("alpha",)}
OF_CONV = ("", "Clip", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Tanh")
OF_GEMM = ("", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Tanh",
           "ThresholdedRelu")


def activation(attributes, known):
    """What the activation has no use for is 0."""
    name = attributes["activation"].strip('"')
    demand(name in known, f"the activation {name}")
    for parameter in [one for one in attributes if one.startswith("activation_")]:
        if parameter.removeprefix("activation_") not in PARAMETERS.get(name, ()):
            attributes[parameter] = as_real(0.0)


def infer_fused_conv(operands, attributes, count, conditions):
    activation(attributes, OF_CONV)
    kind = one_type(operands, REAL)
    convolved = [one for one in operands[:3] if one is not None]
    (_, shape), = infer_conv(convolved, attributes, count, conditions)
    if len(operands) == 4:
        addend = operands[3][1]
        demand(len(addend) == len(shape), "an addend with other axes")
        for one, other in zip(addend, shape):
            agree(one, other, conditions)
    return [(kind, shape)]


def infer_fused_gemm(operands, attributes, count, conditions):
    activation(attributes, OF_GEMM)
    one_type(operands, REAL)
    return infer_gemm(operands, attributes, count, conditions)


def exchanged(shape, attributes, side):
    if len(shape) < 2:
        return shape
    if attributes[f"transBatch{side}"]:
        shape = (*shape[1:-1], shape[0], shape[-1])
    return (*shape[:-2], shape[-1], shape[-2]) if attributes[f"trans{side}"] else shape


def infer_fused_matmul(operands, attributes, count, conditions):
    kind = one_type(operands, REAL)
    taken = [(kind, exchanged(one[1], attributes, side)) for one, side in zip(operands, "AB")]
    return infer_matmul(taken, attributes, count, conditions)


def vectors_fit(operands, size, conditions):
    for one in operands:
        if one is not None:
            demand(len(one[1]) == 1, "no vector")
            agree(one[1][0], size, conditions)


def infer_bias_gelu(operands, attributes, _, conditions):
    kind, shape = one_type(operands, REAL), operands[0][1]
    demand(attributes["approximate"].strip('"') in ("none", "tanh"), "another approximation")
    demand(len(shape) >= 1, "a scalar has no last axis")
    vectors_fit(operands[1:], shape[-1], conditions)
    return [(kind, shape)]


def recurrence_rule(count, states):
    """With so many gates in the weights; the state consists of so many tensors."""
    def infer(operands, _, __, conditions):
        kind = one_type(operands, REAL)
        demand([len(one[1]) for one in operands] == [3, 3, 3, 2] + states * [3], "operands with other axes")
        (steps, batch, features), size = operands[0][1], operands[2][1][2]
        gates = multiply(number(count), size)
        state = (ONE, batch, size)
        wanted = [(steps, batch, features), (ONE, gates, features), (ONE, gates, size),
                  (ONE, multiply(number(2 * count), size))] + states * [state]
        for one, shape in zip(operands, wanted):
            for given, demanded in zip(one[1], shape):
                agree(given, demanded, conditions)
        return [(kind, (steps, ONE, batch, size))] + states * [(kind, state)]
    return infer


def infer_rnn(operands, attributes, count, conditions):
    demand(attributes["activation"].strip('"') in ("Relu", "Sigmoid", "Tanh"), "another activation")
    return recurrence_rule(1, 1)(operands, attributes, count, conditions)


def infer_multi_head_attention(operands, attributes, _, conditions):
    kind, heads = one_type(operands[:5], REAL), attributes["num_heads"]
    query, key, value = (one[1] for one in operands[:3])
    bias, addend, mask = [*operands[3:], None, None, None][:3]
    demand(len(query) == len(key) == len(value) == 3, "operands with other axes")
    conditions.positive(heads)
    for shape in (query, value):
        conditions.equal(shape[2], multiply(heads, floor_quotient(shape[2], heads)))
    for shape in (key, value):
        agree(shape[0], query[0], conditions)
    agree(key[1], value[1], conditions)
    agree(key[2], query[2], conditions)
    vectors_fit([bias], add(add(query[2], key[2]), value[2]), conditions)
    if addend is not None:
        demand(len(addend[1]) == 4, "an addend with other axes")
        scores = (query[0], heads, query[1], key[1])
        for one, other in zip(addend[1][2:], scores[2:]):
            agree(one, other, conditions)
        demand(broadcast([addend[1], scores], conditions) == scores, "an addend that exceeds the scores")
    if mask is not None:
        demand(addend is None and mask[0] == "i32" and len(mask[1]) == 3, "another mask")
        demand(attributes["mask_filter_value"] <= -1e30, "a score that would not be lost beside the value")
        for one, other in zip(mask[1], (query[0], query[1], key[1])):
            agree(one, other, conditions)
    demand(attributes["scale"] != 0 or floor_quotient(query[2], heads).is_constant(), "a scale that is not known")
    return [(kind, (query[0], query[1], value[2]))]


def infer_skip(operands, _, count, conditions):
    kind, shape = one_type(operands, REAL), operands[0][1]
    demand(len(shape) in (2, 3), "neither two nor three axes")
    demand(broadcast([shape, operands[1][1]], conditions) == shape, "what is added exceeds the input")
    vectors_fit(operands[2:], shape[-1], conditions)
    return [(kind, shape)] * count
