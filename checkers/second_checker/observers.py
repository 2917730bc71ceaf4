"""Which applications tell NaN from numbers (docs/certificates.md, "Observers"): an element of the result may be a number,
or true or false, although an element that is read for it is NaN."""

from second_checker.values import is_real_type

COMPARING = frozenset(  # whatever their attributes are
    "Adam ArgMax ArgMin DeformConv DynamicQuantizeLSTM DynamicQuantizeLinear Equal Greater GreaterOrEqual GridSample "
    "GroupNormalization Hardmax HardmaxFlattened IsInf IsNaN Less LessOrEqual LpNormalization Momentum OneHot QLinearConv "
    "QLinearMatMul ReduceLogSumExp Shrink ThresholdedRelu TopK UnsaturatedCast".split())
KEEPING = ("f16", "bf16", "f32", "f64")  # types that have NaN and take it over
CONVERTING = ("Cast", "CastLike", "QuantizeLinear")


def observes(op, attributes, operand_types, result_types):
    """Types are names of element types, None for operands that are absent."""
    if not any(one is not None and is_real_type(one) for one in operand_types):
        return False
    if op == "FusedGemm":
        return "ThresholdedRelu" in str(attributes.get("activation"))
    if op == "MaxPool":
        return len(result_types) > 1
    if op in CONVERTING:
        return result_types[0] not in KEEPING and not result_types[0].startswith(("i", "u"))
    return op in COMPARING
