"""Operators on channels in blocks of 16, the last one filled up with zeros: [n, c, y, z] as [n, ceil(c/16), y, z, 16]."""

import numpy

from rule_evaluation.operators import common_type, fits, require

BLOCK = 16


def block(m, operands, _, __):
    kind, x = common_type(operands), operands[0][0]
    require(x.ndim == 4, "no image")
    n, channels, height, width = x.shape
    blocks = -(-channels // BLOCK)
    fits((n, blocks, height, width, BLOCK))
    rest = numpy.zeros((n, blocks * BLOCK - channels, height, width), m.element_type(kind))
    whole = numpy.concatenate([x, rest], axis=1)
    return [(whole.reshape(n, blocks, BLOCK, height, width).transpose(0, 1, 3, 4, 2), kind)]


def image_of(x, channels):
    require(x.ndim == 5 and x.shape[4] == BLOCK, "no blocks of an image")
    n, blocks, height, width, _ = x.shape
    require(0 <= channels <= blocks * BLOCK, "blocks without so many channels")
    return x.transpose(0, 1, 4, 2, 3).reshape(n, blocks * BLOCK, height, width)[:, :channels]


def unblock(_, operands, attributes, __):
    return [(image_of(operands[0][0], attributes["channels"]), common_type(operands))]


def in_blocks(operators, name):
    def apply(m, operands, attributes, _):
        kind, x = common_type(operands), operands[0][0]
        require(x.ndim == 5, "no blocks of an image")
        channels = x.shape[1] * BLOCK
        if len(operands) > 1:
            require(operands[1][0].ndim == 4, "no kernel over two axes")
            channels = operands[1][0].shape[1] * attributes.get("group", 1)
        image = (image_of(x, channels), kind)
        return block(m, operators[name](m, [image, *operands[1:]], attributes, 1), {}, 1)
    return apply


def blocks(operators):
    return {
        "BlockChannels": block,
        "BlockedAveragePool": in_blocks(operators, "AveragePool"),
        "BlockedConv": in_blocks(operators, "Conv"),
        "BlockedGlobalAveragePool": in_blocks(operators, "GlobalAveragePool"),
        "BlockedMaxPool": in_blocks(operators, "MaxPool"),
        "UnblockChannels": unblock,
    }
