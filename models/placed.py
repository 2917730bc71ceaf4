"""Models of ranks that differ: operators on different devices, with Send and Recv between them (docs/plans.md).

A convolution along one axis, split in each of its dimensions (Jia et al., FlexFlow, 2019: samples, operators, attributes,
parameters) and in two of them; a stack of LSTM layers of which each rank has one, in chunks of time; layers as stages of a
pipeline with microbatches (Huang et al., GPipe, 2019), also with two ranks for each stage; and blocks of Inception (Szegedy
et al., 2015) with branches on ranks of their own. Each maker returns the model on one device and those of the ranks. `bug` names a
mistake in the ranks' models; MISTAKES lists them.
"""

import numpy

from parallel import Writer, part

FLOAT = 1


def drawn(random, *shape):
    return random.uniform(-0.5, 0.5, shape).astype(numpy.float32)


class Ranks:
    """The models of all ranks, and what goes from one to another. A value is a name on a rank; its shape is told where it is sent."""

    def __init__(self, count):
        self.count = count
        self.writers = [Writer(count) for _ in range(count)]
        self.channels = 0

    def __getitem__(self, rank):
        return self.writers[rank]

    def send(self, value, source, target, shape, channel=None, received=None):
        """The name on the target. A mistake is made by naming what is received otherwise than what is sent."""
        if source == target:
            return value
        self.channels += 1
        channel = channel or f"c{self.channels}"
        self.writers[source].op("Send", [value], "sent", "lemma", channel=channel, to=target)
        return self.receive(source, target, shape, received or channel)

    def receive(self, source, target, shape, channel):
        return self.writers[target].op("Recv", [], "received", "lemma", channel=channel, **{"from": source}, shape=list(shape), type=FLOAT)

    def among(self, op, ranks, values, **attributes):
        """A collective of these ranks; the values by rank."""
        return [self.writers[rank].op(op, [value], op.lower(), "lemma", ranks=list(ranks), group_size=len(ranks), **attributes)
                for rank, value in zip(ranks, values)]

    def models(self):
        return [writer.model() for writer in self.writers]


def cut(w, x, axis, begin, end):
    return w.op("Slice", [x, *(w.weight(f"at_{number}", numpy.array([number], numpy.int64)) for number in (begin, end, axis))], "cut")


# ---- A convolution along one axis ------------------------------------------------------------------------------------

class ConvolutionSizes:
    def __init__(self, samples=4, channels=4, filters=8, length=16, width=3):
        self.samples, self.channels, self.filters, self.length, self.width = samples, channels, filters, length, width


def convolution_weights(sizes):
    random = numpy.random.default_rng(1)
    return drawn(random, sizes.filters, sizes.channels, sizes.width), drawn(random, sizes.filters)


def single_convolution(sizes):
    w = Writer()
    weight, bias = convolution_weights(sizes)
    x = w.input("x", [sizes.samples, sizes.channels, sizes.length])
    pad = sizes.width // 2
    y = w.op("Conv", [x, w.weight("w", weight)], "conv", pads=[pad, pad])
    y = w.op("Add", [y, w.weight("b", bias.reshape(-1, 1))], "biased")
    w.output("y", w.op("Relu", [y]), [sizes.samples, sizes.filters, sizes.length])
    return w.model()


def convolution_part(w, x, weight, bias, pads, sums=None):
    """The operators on one rank; `sums` completes what has to be added up."""
    y = w.op("Conv", [x, w.weight("w", weight)], "conv", pads=pads)
    if sums is not None:
        y = sums(y)
    return w.op("Relu", [w.op("Add", [y, w.weight("b", bias.reshape(-1, 1))], "biased")])


def convolution(sizes, cuts, bug=None):
    """`cuts`: into how many parts samples, filters, channels and the length are cut; there are as many ranks as parts. All
    inputs are on rank 0, and all results return to it."""
    counts = [cuts.get(name, 1) for name in ("samples", "filters", "channels", "length")]
    ranks = Ranks(int(numpy.prod(counts)))
    weight, bias = convolution_weights(sizes)
    pad = sizes.width // 2
    n, f, c, t = (size // count for size, count in zip((sizes.samples, sizes.filters, sizes.channels, sizes.length), counts))
    whole = ranks[0].input("x", [sizes.samples, sizes.channels, sizes.length])
    places = [numpy.unravel_index(rank, counts) for rank in range(ranks.count)]
    halo = pad - 1 if bug == "small_halo" else pad
    results = []
    inputs = []
    for rank, (i, j, k, l) in enumerate(places):
        begin, end = max(l * t - halo, 0), min((l + 1) * t + halo, sizes.length)
        own = whole
        for axis, (first, last, size) in enumerate([(i * n, (i + 1) * n, sizes.samples), (k * c, (k + 1) * c, sizes.channels),
                                                    (begin, end, sizes.length)]):
            if last - first < size:
                own = cut(ranks[0], own, axis, first, last)
        inputs.append(ranks.send(own, 0, rank, [n, c, end - begin]))
    partial = []
    for rank, (i, j, k, l) in enumerate(places):
        w = ranks[rank]
        pads = [pad if l == 0 else pad - halo, pad if l == counts[3] - 1 else pad - halo]
        owner = (j + 1) % counts[1] if bug == "other_filters" else j
        weights = part(part(weight, 0, owner, counts[1]), 1, 0 if bug == "other_channels" else k, counts[2])
        partial.append(w.op("Conv", [inputs[rank], w.weight("w", weights)], "conv", pads=pads))
    if counts[2] > 1 and bug != "no_sum":
        groups = {}
        for rank, (i, j, k, l) in enumerate(places):
            groups.setdefault((i, j, l), []).append(rank)
        for group in groups.values():
            for rank, value in zip(group, ranks.among("AllReduce", group, [partial[rank] for rank in group])):
                partial[rank] = value
    grid = {}
    for rank, (i, j, k, l) in enumerate(places):
        if k > 0:
            continue
        w = ranks[rank]
        y = w.op("Add", [partial[rank], w.weight("b", part(bias, 0, j, counts[1]).reshape(-1, 1))], "biased")
        y = w.op("Relu", [y])
        grid[i, j, l] = ranks.send(y, rank, 0, [n, f, t])
    first = ranks[0]

    def joined(values, axis):
        if bug == "order" and len(values) > 1:
            values = values[1:] + values[:1]
        return values[0] if len(values) == 1 else first.op("Concat", values, "joined", axis=axis)

    rows = [joined([joined([grid[i, j, l] for l in range(counts[3])], 2) for j in range(counts[1])], 1) for i in range(counts[0])]
    first.output("y", joined(rows, 0), [sizes.samples, sizes.filters, sizes.length])
    return single_convolution(sizes), ranks.models()


# ---- Layers of LSTM in a wavefront -----------------------------------------------------------------------------------

class RecurrentSizes:
    def __init__(self, layers=4, chunks=4, steps=2, batch=2, hidden=8):
        self.layers, self.chunks, self.steps, self.batch, self.hidden = layers, chunks, steps, batch, hidden


def lstm_weights(sizes):
    random = numpy.random.default_rng(2)
    h = sizes.hidden
    return [(drawn(random, 1, 4 * h, h), drawn(random, 1, 4 * h, h), drawn(random, 1, 8 * h)) for _ in range(sizes.layers)]


def lstm_chunk(w, sizes, weights, layer, x, state):
    """Values of a layer for a chunk of time, and the state after it."""
    names = [w.weight(f"{name}.{layer}", array) for name, array in zip("wrb", weights[layer])]
    y, h, c = w.op("LSTM", [x, *names, "", *state], "lstm", outputs=3, hidden_size=sizes.hidden)
    return w.op("Squeeze", [y, w.weight("direction", numpy.array([1], numpy.int64))], "values"), (h, c)


def lstm(sizes, bug=None):
    weights = lstm_weights(sizes)
    chunk, state_shape = [sizes.steps, sizes.batch, sizes.hidden], [1, sizes.batch, sizes.hidden]
    total = [sizes.steps * sizes.chunks, sizes.batch, sizes.hidden]

    def first_state(w):
        return [w.weight("start", numpy.zeros(state_shape, numpy.float32))] * 2

    w = Writer()
    x = w.input("x", total)
    values = w.op("Split", [x], "chunk", outputs=sizes.chunks, axis=0, num_outputs=sizes.chunks)
    for layer in range(sizes.layers):
        state, given = first_state(w), []
        for value in values:
            value, state = lstm_chunk(w, sizes, weights, layer, value, state)
            given.append(value)
        values = given
    w.output("y", w.op("Concat", values, "joined", axis=0), total)
    single = w.model()

    ranks = Ranks(sizes.layers)
    x = ranks[0].input("x", total)
    chunks = ranks[0].op("Split", [x], "chunk", outputs=sizes.chunks, axis=0, num_outputs=sizes.chunks)
    states = [first_state(ranks[layer]) for layer in range(sizes.layers)]
    results = []
    for number, value in enumerate(chunks):
        for layer in range(sizes.layers):
            owner = layer
            if layer > 0:
                # The channels of two chunks are confused by the second layer.
                other = {0: 1, 1: 0}.get(number, number) if bug == "other_channel" and layer == 1 else number
                value = ranks.send(value, layer - 1, layer, chunk, f"layer {layer} chunk {number}", f"layer {layer} chunk {other}")
            state = first_state(ranks[owner]) if bug == "lost_state" and number == 2 and layer == 2 else states[layer]
            value, states[layer] = lstm_chunk(ranks[owner], sizes, weights, layer, value, state)
        results.append(value)
    if bug == "order":
        results[0], results[1] = results[1], results[0]
    ranks[-1].output("y", ranks[-1].op("Concat", results, "joined", axis=0), total)
    return single, ranks.models()


# ---- Stages of a pipeline --------------------------------------------------------------------------------------------

class PipelineSizes:
    def __init__(self, stages=4, microbatches=4, batch=8, hidden=16, group=1):
        self.stages, self.microbatches, self.batch, self.hidden, self.group = stages, microbatches, batch, hidden, group


def pipeline_weights(sizes):
    random = numpy.random.default_rng(3)
    c = sizes.hidden
    return [(drawn(random, c, 2 * c), drawn(random, 2 * c), drawn(random, 2 * c, c)) for _ in range(sizes.stages)]


def pipeline(sizes, bug=None):
    """Layers x + w2 relu(w1 x + b) as stages; with a group of ranks for each, the wide layer is on these."""
    weights = pipeline_weights(sizes)
    b, c, m = sizes.batch, sizes.hidden, sizes.microbatches

    def layer(w, stage, x, place=0, parts=1):
        w1, bias, w2 = weights[stage]
        up = w.op("MatMul", [x, w.weight(f"w1.{stage}", part(w1, 1, place, parts))], "up")
        up = w.op("Relu", [w.op("Add", [up, w.weight(f"b.{stage}", part(bias, 0, place, parts))], "biased")])
        return w.op("MatMul", [up, w.weight(f"w2.{stage}", part(w2, 0, place, parts))], "down")

    w = Writer()
    x = w.input("x", [b, c])
    for stage in range(sizes.stages):
        x = w.op("Add", [x, layer(w, stage, x)], "residual")
    w.output("y", x, [b, c])
    single = w.model()

    ranks = Ranks(sizes.stages * sizes.group)
    first_group = list(range(sizes.group))
    given = {rank: ranks[rank].input("x", [b, c]) for rank in first_group}
    results = []
    for number in range(m):
        values = [cut(ranks[rank], given[rank], 0, number * b // m, (number + 1) * b // m) for rank in first_group]
        for stage in range(sizes.stages):
            group = [stage * sizes.group + place for place in range(sizes.group)]
            if stage > 0:
                sent = values
                values = []
                for place, rank in enumerate(group):
                    source = rank - sizes.group
                    value = sent[place]
                    if bug == "stale" and stage == 1 and number == 1:
                        value = stale[place]
                    values.append(ranks.send(value, source, rank, [b // m, c]))
                stale = sent if stage == 1 else stale
            skipped = bug == "skipped" and stage == 2 and number == 3
            if not skipped:
                parts = [layer(ranks[rank], stage, value, place, sizes.group) for place, (rank, value) in enumerate(zip(group, values))]
                if sizes.group > 1 and not (bug == "no_sum" and stage == 1):
                    parts = ranks.among("AllReduce", group, parts)
                values = [ranks[rank].op("Add", [value, added], "residual") for rank, value, added in zip(group, values, parts)]
        results.append(values[0])
    if bug == "order":
        results.reverse()
    last = ranks[(sizes.stages - 1) * sizes.group]
    last.output("y", last.op("Concat", results, "joined", axis=0), [b, c])
    return single, ranks.models()


# ---- Branches --------------------------------------------------------------------------------------------------------

class InceptionSizes:
    def __init__(self, blocks=2, batch=1, channels=8, size=8, width=4):
        self.blocks, self.batch, self.channels, self.size, self.width = blocks, batch, channels, size, width


BRANCHES = 4


def inception_branch(w, weights, block, branch, x):
    def convolved(x, name, size):
        pad = size // 2
        names = [w.weight(f"{name}.{block}.{branch}.{kind}", array) for kind, array in zip("wb", weights[block][name, branch])]
        return w.op("Relu", [w.op("Conv", [x, *names], f"conv{size}", pads=[pad] * 4)])

    if branch == 3:
        x = w.op("MaxPool", [x], "pool", kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1])
    x = convolved(x, "narrow", 1)
    return convolved(x, "wide", 2 * branch + 1) if branch in (1, 2) else x


def inception(sizes, bug=None):
    random = numpy.random.default_rng(4)
    weights = []
    channels = sizes.channels
    for _ in range(sizes.blocks):
        block = {}
        for branch in range(BRANCHES):
            block["narrow", branch] = drawn(random, sizes.width, channels, 1, 1), drawn(random, sizes.width)
            if branch in (1, 2):
                k = 2 * branch + 1
                block["wide", branch] = drawn(random, sizes.width, sizes.width, k, k), drawn(random, sizes.width)
        weights.append(block)
        channels = BRANCHES * sizes.width
    shape = [sizes.batch, channels, sizes.size, sizes.size]
    branch_shape = [sizes.batch, sizes.width, sizes.size, sizes.size]

    w = Writer()
    x = w.input("x", [sizes.batch, sizes.channels, sizes.size, sizes.size])
    for block in range(sizes.blocks):
        x = w.op("Concat", [inception_branch(w, weights, block, branch, x) for branch in range(BRANCHES)], "block", axis=1)
    w.output("y", x, shape)
    single = w.model()

    ranks = Ranks(BRANCHES)
    x = ranks[0].input("x", [sizes.batch, sizes.channels, sizes.size, sizes.size])
    x_shape = [sizes.batch, sizes.channels, sizes.size, sizes.size]
    for block in range(sizes.blocks):
        branches = []
        for branch in range(BRANCHES):
            own = ranks.send(x, 0, branch, x_shape)
            branches.append(ranks.send(inception_branch(ranks[branch], weights, block, branch, own), branch, 0, branch_shape))
        if bug == "dropped" and block == 1:
            branches[2] = branches[1]
        if bug == "order":
            branches[1], branches[2] = branches[2], branches[1]
        x = ranks[0].op("Concat", branches, "block", axis=1)
        x_shape = shape
    ranks[0].output("y", x, shape)
    return single, ranks.models()


KINDS = {
    "samples": lambda bug=None: convolution(ConvolutionSizes(), {"samples": 2}, bug),
    "filters": lambda bug=None: convolution(ConvolutionSizes(), {"filters": 2}, bug),
    "channels": lambda bug=None: convolution(ConvolutionSizes(), {"channels": 2}, bug),
    "length": lambda bug=None: convolution(ConvolutionSizes(), {"length": 4}, bug),
    "samples and filters": lambda bug=None: convolution(ConvolutionSizes(), {"samples": 2, "filters": 2}, bug),
    "channels and length": lambda bug=None: convolution(ConvolutionSizes(), {"channels": 2, "length": 2}, bug),
    "lstm": lambda bug=None: lstm(RecurrentSizes(), bug),
    "pipeline": lambda bug=None: pipeline(PipelineSizes(), bug),
    "pipeline of groups": lambda bug=None: pipeline(PipelineSizes(stages=2, group=2), bug),
    "inception": lambda bug=None: inception(InceptionSizes(), bug),
}

MISTAKES = [
    ("samples", "order"), ("filters", "other_filters"), ("channels", "no_sum"), ("channels", "other_channels"), ("length", "small_halo"),
    ("length", "order"), ("samples and filters", "other_filters"), ("channels and length", "no_sum"),
    ("lstm", "other_channel"), ("lstm", "lost_state"), ("lstm", "order"),
    ("pipeline", "stale"), ("pipeline", "skipped"), ("pipeline", "order"), ("pipeline of groups", "no_sum"),
    ("inception", "dropped"), ("inception", "order"),
]
