"""Models in which many small operators move more than they compute: those that the evaluation of FusionStitching
(Zheng et al., 2020) names, at sizes of their publications, chains of normalisations, and a layer of a graph network."""

import math

import numpy

from builder import Builder


def crnn(options):
    """CRNN (Shi, Bai and Yao, 2015): seven convolutions over an image of text, 32 x 100, then two bidirectional LSTM
    layers of hidden size 256 over 25 columns, unrolled into primitive operators, and a softmax over 37 letters."""
    builder = Builder("crnn", options.seed)
    image = builder.input("image", [1, 1, 32, 100])
    columns = crnn_columns(builder, image)
    states = columns
    width = 512  # of the last convolution, and of two states
    for layer in range(2):
        forward = lstm_layer(builder, states, width, 256, f"layer{layer}_forward")
        backward = lstm_layer(builder, states[::-1], width, 256, f"layer{layer}_backward")[::-1]
        states = [builder.node("Concat", *pair, axis=1) for pair in zip(forward, backward)]
    sequence = builder.node("Concat", *states, axis=0)
    letters = builder.node("Softmax", builder.linear(sequence, width, 37, "letters"), axis=-1)
    builder.output(letters, "letters", [len(states), 37])
    return builder.finish(crnn.__doc__)


def crnn_columns(builder, image):
    """The convolutions of the paper's table 1; a list of columns [1, 512]."""
    value = pooled(builder, convolution(builder, image, 1, 64, "conv1"), [2, 2])
    value = pooled(builder, convolution(builder, value, 64, 128, "conv2"), [2, 2])
    value = convolution(builder, value, 128, 256, "conv3")
    value = pooled(builder, convolution(builder, value, 256, 256, "conv4"), [2, 1])
    value = convolution(builder, value, 256, 512, "conv5", normalized=True)
    value = pooled(builder, convolution(builder, value, 512, 512, "conv6", normalized=True), [2, 1])
    value = builder.relu(builder.convolution(value, 512, 512, (2, 1), "conv7"))
    count = 25
    rows = builder.reshape(builder.transpose(value, [3, 0, 2, 1]), [count, 512])
    return builder.node("Split", rows, outputs=count, axis=0)


def convolution(builder, value, channels_in, channels_out, name, normalized=False):
    value = builder.convolution(value, channels_in, channels_out, 3, name, padding=1)
    if normalized:
        value = builder.batch_normalization(value, channels_out, f"{name}_norm")
    return builder.relu(value)


def pooled(builder, value, kernel):
    return builder.node("MaxPool", value, kernel_shape=kernel, strides=kernel)


def lstm_layer(builder, values, size, hidden, name):
    """States of an LSTM (Hochreiter and Schmidhuber, 1997), one for each value."""
    input_weight = builder.normal(f"{name}_input", (size, 4 * hidden), 1 / math.sqrt(size))
    hidden_weight = builder.normal(f"{name}_hidden", (hidden, 4 * hidden), 1 / math.sqrt(hidden))
    bias = builder.normal(f"{name}_bias", (4 * hidden,), 0.1)
    state = memory = builder.constant(numpy.zeros((1, hidden)))
    states = []
    for value in values:
        gates = builder.node("Add", builder.node("MatMul", value, input_weight),
                             builder.node("MatMul", state, hidden_weight))
        take, give, forget, candidate = builder.node("Split", builder.node("Add", gates, bias), outputs=4, axis=1)
        kept = builder.node("Mul", sigmoid(builder, forget), memory)
        memory = builder.node("Add", kept, builder.node("Mul", sigmoid(builder, take), tanh(builder, candidate)))
        state = builder.node("Mul", sigmoid(builder, give), tanh(builder, memory))
        states.append(state)
    return states


def sigmoid(builder, value):
    return builder.node("Sigmoid", value)


def tanh(builder, value):
    return builder.node("Tanh", value)


def dien(options):
    """DIEN (Zhou et al., 2019): a GRU over a history of 20 items, attention of the candidate item over its states, a
    GRU whose update gate the attention scales (AUGRU), and a perceptron of 200 and 80 units with Dice activations.
    Embeddings of 18 for goods and for categories, batch 128."""
    batch, steps, width = 128, 20, 36
    builder = Builder("dien", options.seed)
    candidate = builder.input("candidate", [batch, width])
    history = builder.input("history", [steps, batch, width])
    items = [builder.reshape(item, [batch, width])
             for item in builder.node("Split", history, outputs=steps, axis=0)]
    first, second = GatedCell(builder, width, "interest"), GatedCell(builder, width, "evolution")
    state = builder.constant(numpy.zeros((batch, width)))
    states = []
    for item in items:
        state = first.step(item, state)
        states.append(state)
    weights = attention(builder, candidate, states, batch, width)
    state = builder.constant(numpy.zeros((batch, width)))
    for interest, weight in zip(states, weights):
        state = second.step(interest, state, weight)
    value = builder.node("Concat", state, candidate, builder.node("Mul", state, candidate), axis=1)
    value = dice(builder, builder.linear(value, 3 * width, 200, "dense1"), 200, "dice1")
    value = dice(builder, builder.linear(value, 200, 80, "dense2"), 80, "dice2")
    value = builder.node("Softmax", builder.linear(value, 80, 2, "dense3"), axis=-1)
    builder.output(value, "click", [batch, 2])
    return builder.finish(dien.__doc__)


class GatedCell:
    """A gated recurrent unit (Cho et al., 2014)."""

    def __init__(self, builder, width, name):
        self.builder, self.width, self.name = builder, width, name
        self.weights = {role: (builder.normal(f"{name}_{role}_input", (width, width), 1 / math.sqrt(width)),
                               builder.normal(f"{name}_{role}_state", (width, width), 1 / math.sqrt(width)),
                               builder.normal(f"{name}_{role}_bias", (width,), 0.1))
                        for role in ("update", "reset", "new")}

    def product(self, role, item, state):
        of_input, of_state, bias = self.weights[role]
        builder = self.builder
        both = builder.node("Add", builder.node("MatMul", item, of_input), builder.node("MatMul", state, of_state))
        return builder.node("Add", both, bias)

    def step(self, item, state, scale=None):
        builder = self.builder
        update = sigmoid(builder, self.product("update", item, state))
        reset = sigmoid(builder, self.product("reset", item, state))
        if scale:
            update = builder.node("Mul", update, scale)
        new = tanh(builder, self.product("new", item, builder.node("Mul", reset, state)))
        kept = builder.node("Mul", builder.node("Sub", builder.constant(1.0), update), state)
        return builder.node("Add", kept, builder.node("Mul", update, new))


def attention(builder, candidate, states, batch, width):
    """A weight [batch, 1] for each state: a softmax over the states of their products with the candidate."""
    query = builder.matmul(candidate, width, width, "attention")
    scores = [builder.node("ReduceSum", builder.node("Mul", query, state), builder.constant([1], numpy.int64))
              for state in states]
    shares = builder.node("Softmax", builder.node("Concat", *scores, axis=1), axis=-1)
    return builder.node("Split", shares, outputs=len(states), axis=1)


def dice(builder, value, size, name):
    """PReLU whose step follows the mean and the variance of the data (Zhou et al., 2018)."""
    mean = builder.node("ReduceMean", value, axes=[0])
    centred = builder.node("Sub", value, mean)
    variance = builder.node("ReduceMean", builder.node("Mul", centred, centred), axes=[0])
    deviation = builder.node("Sqrt", builder.node("Add", variance, builder.constant(1e-8)))
    share = sigmoid(builder, builder.node("Div", centred, deviation))
    slope = builder.normal(f"{name}_slope", (size,), 0.1)
    rest = builder.node("Mul", builder.node("Mul", builder.node("Sub", builder.constant(1.0), share), slope), value)
    return builder.node("Add", builder.node("Mul", share, value), rest)


def speech(options):
    """A recogniser of speech: features normalised over time, a convolution that halves it, four encoder layers of
    a Transformer (Dong, Xu and Xu, 2018) of width 256 with 4 heads over 100 frames, and log-probabilities of 29
    letters."""
    frames, features, width, heads = 200, 80, 256, 4
    builder = Builder("speech", options.seed)
    value = builder.input("features", [frames, features])
    mean = builder.node("ReduceMean", value, axes=[0])
    centred = builder.node("Sub", value, mean)
    variance = builder.node("ReduceMean", builder.node("Mul", centred, centred), axes=[0])
    value = builder.node("Div", centred, builder.node("Sqrt", builder.node("Add", variance, builder.constant(1e-5))))
    value = builder.reshape(builder.transpose(value, [1, 0]), [1, features, 1, frames])
    value = builder.convolution(value, features, width, (1, 3), "subsampling", stride=(1, 2), padding=(0, 1))
    length = frames // 2
    value = builder.transpose(builder.reshape(builder.relu(value), [width, length]), [1, 0])
    for layer in range(4):
        value = speech_layer(builder, value, length, width, heads, f"layer{layer}")
    letters = builder.node("LogSoftmax", builder.linear(value, width, 29, "letters"), axis=-1)
    builder.output(letters, "letters", [length, 29])
    return builder.finish(speech.__doc__)


def speech_layer(builder, value, length, width, heads, name):
    size = width // heads
    inner = builder.layer_normalization(value, width, f"{name}_attention_norm", 1e-5)

    def project(role, permutation):
        entry = builder.linear(inner, width, width, f"{name}_{role}")
        return builder.transpose(builder.reshape(entry, [length, heads, size]), permutation)

    scores = builder.node("MatMul", project("query", [1, 0, 2]), project("key", [1, 2, 0]))
    scores = builder.node("Softmax", builder.node("Div", scores, builder.constant(math.sqrt(size))), axis=-1)
    mixed = builder.node("MatMul", scores, project("value", [1, 0, 2]))
    joined = builder.reshape(builder.transpose(mixed, [1, 0, 2]), [length, width])
    value = builder.node("Add", value, builder.linear(joined, width, width, f"{name}_joined"))
    inner = builder.layer_normalization(value, width, f"{name}_norm", 1e-5)
    inner = builder.linear(inner, width, 4 * width, f"{name}_wide")
    inner = builder.node("Mul", inner, sigmoid(builder, inner))
    return builder.node("Add", value, builder.linear(inner, 4 * width, width, f"{name}_narrow"))


def normalization_chain(options):
    """Softmax and layer normalisation in turn, four times, over 512 rows of 1,024 elements."""
    rows, columns = 512, 1024
    builder = Builder("normalization_chain", options.seed)
    value = builder.input("x", [rows, columns])
    for number in range(4):
        value = builder.node("Softmax", value, axis=-1)
        value = builder.layer_normalization(value, columns, f"norm{number}", 1e-5)
    builder.output(value, "y", [rows, columns])
    return builder.finish(normalization_chain.__doc__)


def layer_normalization_parts(options):
    """A layer normalisation in primitive operators, which is the example of FusionStitching (Zheng et al., 2020), over
    512 rows of 1,024 elements."""
    rows, columns = 512, 1024
    builder = Builder("layer_normalization_parts", options.seed)
    value = builder.input("x", [rows, columns])
    centred = builder.node("Sub", value, builder.node("ReduceMean", value, axes=[-1]))
    variance = builder.node("ReduceMean", builder.node("Mul", centred, centred), axes=[-1])
    deviation = builder.node("Sqrt", builder.node("Add", variance, builder.constant(1e-5)))
    scaled = builder.node("Mul", builder.node("Div", centred, deviation),
                          builder.normal("scale", (columns,), 0.05, mean=1.0))
    builder.output(builder.node("Add", scaled, builder.normal("bias", (columns,), 0.02)), "y", [rows, columns])
    return builder.finish(layer_normalization_parts.__doc__)


def softmaxes(name, count, seed):
    """So many softmaxes over 1,000 numbers, one after the other."""
    builder = Builder(name, seed)
    value = builder.input("x", [1000])
    for _ in range(count):
        value = builder.node("Softmax", value, axis=-1)
    builder.output(value, "y", [1000])
    return builder


def softmax_chain(options):
    """50 softmaxes over 1,000 numbers, one after the other."""
    return softmaxes("softmax_chain", 50, options.seed).finish(softmax_chain.__doc__)


def softmax_chain_2000(options):
    """2,000 softmaxes over 1,000 numbers, one after the other."""
    return softmaxes("softmax_chain_2000", 2000, options.seed).finish(softmax_chain_2000.__doc__)


def gnn(options):
    """A layer of a graph network: 200 edges between 50 nodes bring the 16 features of a node to others, where they are
    added up; then a product with a matrix of 16x32, and a Relu."""
    nodes, edges, width, wide = 50, 200, 16, 32
    builder = Builder("gnn", options.seed)
    value = builder.input("x", [nodes, width])
    ends = builder.generator("edges").integers(0, nodes, (2, edges))
    messages = builder.node("Gather", value, builder.tensor("sources", ends[0]), axis=0)
    targets = builder.tensor("targets", numpy.repeat(ends[1][:, None], width, axis=1))
    none = builder.tensor("zeros", numpy.zeros((nodes, width), numpy.float32))
    sums = builder.node("ScatterElements", none, targets, messages, axis=0, reduction="add")
    builder.output(builder.relu(builder.matmul(sums, width, wide, "dense")), "y", [nodes, wide])
    return builder.finish(gnn.__doc__)
