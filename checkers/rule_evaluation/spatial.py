"""What spreads images out or packs them: transposed convolution, blocks of pixels and of channels, copies of pixels;
sums of what comes before, and triangles of matrices."""

import itertools

import numpy

from rule_evaluation.operators import axis_in, common_type, fits, require


# ---- Transposed convolution

class Spread:
    """Where each element of a kernel puts each element of an image."""

    def __init__(self, sizes, kernel, attributes):
        rank = len(sizes)
        self.sizes, self.kernel = sizes, kernel
        self.strides = attributes.get("strides", (1,) * rank)
        self.dilations = attributes.get("dilations", (1,) * rank)
        pads = attributes.get("pads", (0,) * (2 * rank))
        more = attributes.get("output_padding", (0,) * rank)
        require(len(self.strides) == len(self.dilations) == len(more) == rank, "lists of different lengths")
        require(len(pads) == 2 * rank and all(n >= 0 for n in (*pads, *more)), "pads that do not fit")
        require(all(n > 0 for n in (*self.strides, *self.dilations)), "strides that are not positive")
        self.front = pads[:rank]
        self.counts = tuple(
            self.strides[i] * (sizes[i] - 1) + more[i] + self.dilations[i] * (kernel[i] - 1) + 1
            - pads[i] - pads[rank + i] for i in range(rank))

    def moves(self):
        """For each element of the kernel: which elements of the image it puts inside, and where."""
        for offset in itertools.product(*(range(n) for n in self.kernel)):
            read, output = [], []
            for i, k in enumerate(offset):
                places = [(one, one * self.strides[i] + k * self.dilations[i] - self.front[i])
                          for one in range(self.sizes[i])]
                inside = [(one, place) for one, place in places if 0 <= place < self.counts[i]]
                read.append([one for one, _ in inside])
                output.append([place for _, place in inside])
            yield offset, numpy.ix_(*read), numpy.ix_(*output)


def conv_transpose(m, operands, attributes, _):
    kind = common_type(operands)
    x, w = operands[0][0], operands[1][0]
    group = attributes.get("group", 1)
    require(x.ndim >= 3 and w.ndim == x.ndim, "no images, or another kernel")
    require(group >= 1 and x.shape[1] % group == 0, "channels that the groups do not divide")
    require(x.shape[1] == w.shape[0], "another number of channels")
    spread = Spread(x.shape[2:], w.shape[2:], attributes)
    channels, outputs = x.shape[1] // group, w.shape[1]
    shape = fits((x.shape[0], group * outputs, *spread.counts))
    result = numpy.zeros((x.shape[0], group, outputs, *spread.counts), m.element_type(kind))
    images = x.reshape((x.shape[0], group, channels, *x.shape[2:]))
    kernels = w.reshape((group, channels, *w.shape[1:]))
    for n, g, o, c in itertools.product(*(range(i) for i in (x.shape[0], group, outputs, channels))):
        for offset, read, output in spread.moves():
            products = m.multiply(images[n, g, c][read], kernels[(g, c, o, *offset)])
            result[n, g, o][output] = m.add(result[n, g, o][output], products)
    result = result.reshape(shape)
    if len(operands) == 3:
        bias = operands[2][0]
        require(bias.shape == (shape[1],), "a bias of another size")
        result = m.add(result, bias.reshape((-1,) + (1,) * (x.ndim - 2)) if bias.size else 0)
    return [(result, kind)]


# ---- Blocks

def depth_to_space(_, operands, attributes, __):
    x, kind = operands[0]
    block = attributes["blocksize"]
    require(x.ndim == 4 and block >= 1, "no image, or no blocks")
    n, channels, height, width = x.shape
    require(channels % (block * block) == 0, "channels that are no blocks")
    depth = channels // (block * block)
    if attributes.get("mode", "DCR") == "DCR":
        parts = x.reshape(n, block, block, depth, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, depth, block, block, height, width).transpose(0, 1, 4, 2, 5, 3)
    return [(parts.reshape(fits((n, depth, height * block, width * block))), kind)]


def space_to_depth(_, operands, attributes, __):
    x, kind = operands[0]
    block = attributes["blocksize"]
    require(x.ndim == 4 and block >= 1, "no image, or no blocks")
    n, depth, height, width = x.shape
    require(height % block == 0 and width % block == 0, "an image that is not made of blocks")
    parts = x.reshape(n, depth, height // block, block, width // block, block)
    order = (0, 3, 5, 1, 2, 4) if attributes.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    shape = fits((n, depth * block * block, height // block, width // block))
    return [(parts.transpose(order).reshape(shape), kind)]


def resize(_, operands, attributes, __):
    """Copies of pixels only: a whole number of each."""
    x, kind = operands[0]
    scales = attributes.get("scales")
    require(len(operands) == 1 and scales is not None and len(scales) == x.ndim, "no scale for each axis")
    require(attributes.get("mode", "nearest") == "nearest" and attributes.get("nearest_mode") == "floor"
            and attributes.get("coordinate_transformation_mode") == "asymmetric", "more than copies")
    require(all(scale >= 1 and scale == int(scale) for scale in scales), "parts of pixels")
    fits(tuple(n * int(scale) for n, scale in zip(x.shape, scales)))
    for axis, scale in enumerate(scales):
        x = numpy.repeat(x, int(scale), axis)
    return [(x, kind)]


# ---- Sums of what comes before, and triangles

def cum_sum(m, operands, attributes, _):
    kind = common_type(operands)
    x = operands[0][0]
    axis = axis_in(attributes["axis"], x.ndim)
    rows = numpy.moveaxis(x, axis, 0)
    rows = rows[::-1] if attributes.get("reverse", 0) else rows
    result = numpy.zeros(rows.shape, m.element_type(kind))
    total = numpy.zeros(rows.shape[1:], m.element_type(kind))
    for i, row in enumerate(rows):
        with_row = m.add(total, row)
        result[i] = total if attributes.get("exclusive", 0) else with_row
        total = with_row
    result = result[::-1] if attributes.get("reverse", 0) else result
    return [(numpy.moveaxis(result, 0, axis), kind)]


def trilu(_, operands, attributes, __):
    x, kind = operands[0]
    require(x.ndim >= 2, "no matrix")
    rows, columns = numpy.indices(x.shape[-2:])
    k = attributes.get("k", 0)
    kept = columns - rows >= k if attributes.get("upper", 1) else columns - rows <= k
    return [(numpy.where(kept, x, numpy.zeros((), x.dtype)), kind)]


SPATIAL = {
    "ConvTranspose": conv_transpose,
    "CumSum": cum_sum,
    "DepthToSpace": depth_to_space,
    "Resize": resize,
    "SpaceToDepth": space_to_depth,
    "Trilu": trilu,
}
