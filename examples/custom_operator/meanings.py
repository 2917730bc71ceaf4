"""The operators of this example once more, for the checkers that share no code with Lemma (docs/outside_operators.md)."""


def shape_rules():
    """For checkers/lemma_check.py."""
    from second_checker.operators import Operator
    from second_checker.shapes import agree, elementwise_rule, one_type, REAL
    from second_checker.sizes import demand

    def infer_residual_norm(operands, _, __, conditions):
        kind, shape = one_type(operands, REAL), operands[0][1]
        demand(len(shape) >= 1 and len(operands[1][1]) == len(shape), "addends with other axes")
        demand(len(operands[2][1]) == 1, "no vector")
        for one, other in zip((*operands[1][1], operands[2][1][0]), (*shape, shape[-1])):
            agree(one, other, conditions)
        return [(kind, shape)]

    return {"GatedSilu": Operator((2, 2), elementwise_rule(REAL)),
            "ResidualNorm": Operator((3, 3), infer_residual_norm, {"epsilon": ("real", 9.999999747378752e-06)})}


def meanings():
    """For checkers/evaluate_rules: on numpy arrays."""
    import numpy

    from rule_evaluation.operators import broadcast_shape, common_type, number, require

    def gated_silu(m, operands, _, __):
        kind = common_type(operands)
        x, y = (one[0] for one in operands)
        broadcast_shape(x.shape, y.shape)
        one = number(m, 1, kind)
        sigmoid = m.divide(one, m.add(one, m.function(numpy.exp, -x)))
        return [(m.multiply(m.multiply(x, sigmoid), y), kind)]

    def residual_norm(m, operands, attributes, _):
        kind = common_type(operands)
        x, y, w = (one[0] for one in operands)
        require(x.ndim >= 1 and x.shape == y.shape and w.shape == x.shape[-1:], "operands of other shapes")
        total = m.add(x, y)
        mean = m.divide(m.sum(m.multiply(total, total), (-1,)), number(m, x.shape[-1], kind))
        size = m.function(numpy.sqrt, m.add(mean, number(m, attributes.get("epsilon", 9.999999747378752e-06), kind)))
        return [(m.multiply(m.divide(total, size), w), kind)]

    return {"GatedSilu": gated_silu, "ResidualNorm": residual_norm}
