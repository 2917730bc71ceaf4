"""Operators that a runtime has beside those of ONNX, made of those that networks.py and operators.py have."""

import numpy

from rule_evaluation.operators import common_type, matmul, number, require


def first_of(operators, name, m, operands, attributes):
    return operators[name](m, operands, attributes, 1)[0]


PARAMETERS = {"Clip": ("min", "max"), "Elu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "LeakyRelu": ("alpha",),
              "Selu": ("alpha", "gamma"), "ThresholdedRelu": ("alpha",)}


def with_activation(operators, main):
    def apply(m, operands, attributes, _):
        value = main(operators, m, operands, attributes)
        name = attributes.get("activation", "")
        if not name:
            return [value]
        parameters = {one: attributes.get(f"activation_{one}", 0.0) for one in PARAMETERS.get(name, ())}
        return [first_of(operators, name, m, [value], parameters)]
    return apply


def sum_with_conv(operators, m, operands, attributes):
    value = first_of(operators, "Conv", m, [one for one in operands[:3] if one], attributes)
    if len(operands) < 4:
        return value
    require(operands[3][0].shape == value[0].shape, "an addend of another shape")
    return first_of(operators, "Add", m, [value, operands[3]], {})


def gemm(operators, m, operands, attributes):
    return first_of(operators, "Gemm", m, operands, attributes)


def fused_matmul(m, operands, attributes, _):
    kind = common_type(operands)
    taken = []
    for (x, _), side in zip(operands, "AB"):
        if x.ndim > 1 and attributes.get(f"transBatch{side}", 0):
            x = x.transpose((*range(1, x.ndim - 1), 0, x.ndim - 1))
        if x.ndim > 1 and attributes.get(f"trans{side}", 0):
            x = x.swapaxes(-1, -2)
        taken.append((x, kind))
    product = matmul(m, taken, {}, 1)[0][0]
    factor = attributes.get("alpha", 1.0)
    return [(product if factor == 1 else m.multiply(product, number(m, factor, None)), kind)]


def vector(operand, x):
    require(operand[0].shape == x.shape[-1:], "another size of the last axis")


def bias_gelu(operators):
    def apply(m, operands, attributes, _):
        common_type(operands)
        require(operands[0][0].ndim >= 1, "a scalar")
        vector(operands[1], operands[0][0])
        total = first_of(operators, "Add", m, operands, {})
        return operators["Gelu"](m, [total], attributes, 1)
    return apply


def skip(operators, name, bias):
    """The operand at `bias` is added as well; those between are of the normalization."""
    def apply(m, operands, attributes, outputs):
        common_type([one for one in operands if one])
        x = operands[0][0]
        require(x.ndim in (2, 3), "neither two nor three axes")
        for one in operands[2:]:
            if one:
                vector(one, x)
        total = operands[0]
        if len(operands) > bias and operands[bias]:
            total = first_of(operators, "Add", m, [total, operands[bias]], {})
        total = first_of(operators, "Add", m, [total, operands[1]], {})
        require(total[0].shape == x.shape, "what is added exceeds the input")
        rest = [one for one in operands[2:bias] if one]
        epsilon = {"epsilon": attributes.get("epsilon", 9.999999960041972e-13)}
        return [first_of(operators, name, m, [total, *rest], epsilon), total][:outputs]
    return apply


def multi_head_attention(operators):
    def apply(m, operands, attributes, _):
        kind, heads = common_type([one for one in operands[:5] if one]), attributes["num_heads"]
        values = [one[0] for one in operands[:3]]
        bias, addend, mask = [*operands[3:], None, None, None][:3]
        require(all(one.ndim == 3 for one in values), "operands with other axes")
        require(heads > 0 and all(one.shape[2] % heads == 0 for one in values), "heads that do not share the elements")
        query, key, value = values
        require(query.shape[0] == key.shape[0] == value.shape[0] and key.shape[1] == value.shape[1] and
                query.shape[2] == key.shape[2], "operands of other sizes")

        def of(name, *given, **options):
            return operators[name](m, [(one, kind) for one in given], options, 1)[0][0]

        if bias:
            rows = [one.shape[2] for one in values]
            require(bias[0].shape == (sum(rows),), "a bias of another size")
            begins = (0, rows[0], rows[0] + rows[1])
            values = [of("Add", one, bias[0][begin:begin + size]) for one, begin, size in zip(values, begins, rows)]
        apart = [one.reshape(*one.shape[:2], heads, one.shape[2] // heads).transpose(0, 2, 1, 3) for one in values]
        scores = of("MatMul", apart[0], apart[1].swapaxes(2, 3))
        scale = attributes.get("scale", 0.0) or 1 / (query.shape[2] // heads) ** 0.5
        if scale != 1:
            scores = m.multiply(scores, number(m, scale, None))
        if addend:
            shape = addend[0].shape
            require(len(shape) == 4 and shape[2:] == scores.shape[2:], "an addend of another size")
            require(all(one in (1, size) for one, size in zip(shape, scores.shape)), "an addend of another size")
            scores = of("Add", scores, addend[0])
        if mask:
            least = attributes.get("mask_filter_value", 0.0)
            require(not addend and least <= -1e30, "an addend beside the mask, or a score that would not be lost")
            require(mask[0].shape == (scores.shape[0], *scores.shape[2:]), "a mask of another size")
            counts = numpy.broadcast_to((mask[0] > 0)[:, None], scores.shape)
            filled = numpy.broadcast_to(number(m, least, None), scores.shape)
            scores = operators["Where"](m, [(counts, "bool"), (scores, kind), (filled, kind)], {}, 1)[0][0]
        result = of("MatMul", of("Softmax", scores, axis=3), apart[2])
        return [(result.transpose(0, 2, 1, 3).reshape(query.shape[0], query.shape[1], value.shape[2]), kind)]
    return apply


def fusions(operators):
    return {
        "BiasGelu": bias_gelu(operators),
        "FusedConv": with_activation(operators, sum_with_conv),
        "FusedGemm": with_activation(operators, gemm),
        "FusedMatMul": fused_matmul,
        "MultiHeadAttention": multi_head_attention(operators),
        "SkipLayerNormalization": skip(operators, "LayerNormalization", 4),
        "SkipSimplifiedLayerNormalization": skip(operators, "RMSNormalization", 3),
    }
