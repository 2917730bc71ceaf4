"""Recurrent models, unrolled into primitive operators."""

import math

import numpy

from builder import Builder


def nasrnn(options):
    """The recurrent cell found by Zoph and Le (2017), unrolled as in the evaluations of TASO (SOSP 2019) and
    TENSAT (MLSys 2021): hidden size 512, five steps, weights of their own in each step."""
    hidden, steps = 512, 5
    builder = Builder("nasrnn", options.seed)
    inputs = [builder.input(f"x{step}", [1, hidden]) for step in range(steps)]
    state = builder.normal("initial_state", (1, hidden), 0.5)
    for step, value in enumerate(inputs):
        state = nas_cell(builder, value, state, hidden, f"step{step}")
    builder.output(state, "state", [1, hidden])
    return builder.finish(nasrnn.__doc__)


def nas_cell(builder, value, state, hidden, name):
    def gate(index):
        return builder.node("Add", builder.matmul(value, hidden, hidden, f"{name}_input{index}"),
                            builder.matmul(state, hidden, hidden, f"{name}_hidden{index}"))

    def relu(entry):
        return builder.node("Relu", entry)

    def sigmoid(entry):
        return builder.node("Sigmoid", entry)

    def tanh(entry):
        return builder.node("Tanh", entry)

    gates = [gate(index) for index in range(8)]
    first = builder.node("Add", relu(gates[0]), sigmoid(gates[3]))
    second = builder.node("Add", sigmoid(gates[1]), tanh(gates[2]))
    third = builder.node("Mul", sigmoid(gates[4]), tanh(gates[5]))
    fourth = builder.node("Mul", sigmoid(gates[6]), relu(gates[7]))
    left = builder.node("Add", sigmoid(second), tanh(third))
    right = builder.node("Mul", tanh(first), tanh(fourth))
    return tanh(builder.node("Mul", tanh(left), tanh(right)))


def lstm(options):
    """One LSTM layer (Hochreiter and Schmidhuber, 1997) of hidden size 128 unrolled over 80 steps into MatMul, Add,
    Split, Sigmoid, Tanh and Mul; batch 1, input size 128."""
    return unrolled_lstm(options, "lstm", 128, lstm.__doc__)


def lstm_512(options):
    """One LSTM layer of hidden size 512 unrolled over 80 steps, as Wolong (2018) measures it; batch 1, input size 512."""
    return unrolled_lstm(options, "lstm_512", 512, lstm_512.__doc__)


def unrolled_lstm(options, name, hidden, description, steps=80):
    builder = Builder(name, options.seed)
    sequence = builder.input("sequence", [steps, hidden])
    input_weight = builder.normal("input_weight", (hidden, 4 * hidden), 1 / math.sqrt(hidden))
    hidden_weight = builder.normal("hidden_weight", (hidden, 4 * hidden), 1 / math.sqrt(hidden))
    bias = builder.normal("bias", (4 * hidden,), 0.1)
    state = memory = builder.constant(numpy.zeros((1, hidden)))
    values = builder.node("Split", sequence, name="steps", outputs=steps, axis=0)
    states = []
    for value in values:
        gates = builder.node("Add", builder.node("MatMul", value, input_weight),
                             builder.node("MatMul", state, hidden_weight))
        gates = builder.node("Add", gates, bias)
        take, give, forget, candidate = builder.node("Split", gates, outputs=4, axis=1)
        kept = builder.node("Mul", builder.node("Sigmoid", forget), memory)
        added = builder.node("Mul", builder.node("Sigmoid", take), builder.node("Tanh", candidate))
        memory = builder.node("Add", kept, added)
        state = builder.node("Mul", builder.node("Sigmoid", give), builder.node("Tanh", memory))
        states.append(state)
    builder.output(builder.node("Concat", *states, axis=0), "states", [steps, hidden])
    return builder.finish(description)


def lstm_10_layers(options):
    """The multi-layer LSTM that Rammer (Ma et al., OSDI 2020) measures, at the sizes of its artifact: 10 layers of
    hidden size 256 over 100 steps, a product of its own for each gate."""
    hidden, steps, layers, batch = 256, 100, 10, options.batch
    builder = Builder("lstm_10_layers", options.seed)
    sequence = builder.input("sequence", [steps, batch, hidden])
    cells = [GateCell(builder, hidden, hidden, f"layer{layer}") for layer in range(layers)]
    states = [zero_state(builder, batch, hidden) for _ in cells]
    for value in steps_of(builder, sequence, steps, [batch, hidden], 0):
        for layer, cell in enumerate(cells):
            states[layer] = cell(value, states[layer])
            value = states[layer][1]
    builder.output(value, "state", [batch, hidden])
    return builder.finish(lstm_10_layers.__doc__)


def seq2seq(options):
    """The encoder and decoder that Rammer (Ma et al., OSDI 2020) measures, at the sizes of its artifact: 8 LSTM layers
    over 100 steps, then 4 layers over 30 steps, hidden size 128. As there, the decoder begins with the encoder's
    memory cell, and each of its steps reads the result of the one before."""
    hidden, batch = 128, options.batch
    encoder_steps, encoder_layers, decoder_steps, decoder_layers = 100, 8, 30, 4
    builder = Builder("seq2seq", options.seed)
    sequence = builder.input("sequence", [encoder_steps, batch, hidden])
    values = steps_of(builder, sequence, encoder_steps, [batch, hidden], 0)
    for layer in range(encoder_layers):
        values, state = lstm_layer(builder, values, hidden, hidden, batch, f"encoder{layer}")
    cells = [JoinedCell(builder, hidden, hidden, f"decoder{layer}") for layer in range(decoder_layers)]
    states = [zero_state(builder, batch, hidden) for _ in cells]
    value = state[0]
    for _ in range(decoder_steps):
        for layer, cell in enumerate(cells):
            states[layer] = cell(value, states[layer])
            value = states[layer][1]
    builder.output(value, "state", [batch, hidden])
    return builder.finish(seq2seq.__doc__)


def deepspeech2(options):
    """DeepSpeech2 (Amodei et al., 2016) as Rammer (Ma et al., OSDI 2020) measures it, at the sizes of its artifact: 300
    frames of 171 frequencies, two convolutions with 32 channels, 7 LSTM layers of hidden size 256 over 75 steps, 29
    letters. Axes of images are in the order of ONNX."""
    hidden, layers, letters, batch = 256, 7, 29, options.batch
    steps, features = 75, 86 * 32
    builder = Builder("deepspeech2", options.seed)
    value = builder.input("spectrogram", [batch, 1, 300, 171])
    for index, (kernel, stride, padding) in enumerate([((41, 11), (2, 2), (20, 5)), ((21, 11), (2, 1), (10, 5))]):
        channels = 1 if index == 0 else 32
        height, width = padding
        weight = builder.normal(f"conv{index}_weight", (32, channels, *kernel),
                                math.sqrt(2 / (channels * kernel[0] * kernel[1])))
        value = builder.node("Conv", value, weight, name=f"conv{index}", kernel_shape=list(kernel),
                             strides=list(stride), pads=[height, width, height, width])
        value = builder.node("Clip", value, builder.constant(0), builder.constant(6))
        value = builder.batch_normalization(value, 32, f"conv{index}_norm")
    value = builder.reshape(builder.transpose(value, [0, 2, 3, 1]), [batch, steps, features])
    values = steps_of(builder, value, steps, [batch, features], 1)
    for layer in range(layers):
        values, _ = lstm_layer(builder, values, features if layer == 0 else hidden, hidden, batch, f"layer{layer}")
    value = builder.node("Concat", *values, axis=0)
    value = builder.batch_normalization(value, hidden, "norm")
    builder.output(builder.linear(value, hidden, letters, "letters"), "logits", [steps * batch, letters])
    return builder.finish(deepspeech2.__doc__)


def zero_state(builder, batch, hidden):
    """The memory and the result before the first step."""
    zero = builder.constant(numpy.zeros((batch, hidden)))
    return zero, zero


def steps_of(builder, sequence, steps, shape, axis):
    """The parts of a sequence along an axis, without that axis."""
    values = builder.node("Split", sequence, name="steps", outputs=steps, axis=axis)
    return [builder.reshape(value, shape) for value in values]


def lstm_layer(builder, values, width, hidden, batch, name):
    """The results of all steps, and the last state."""
    cell, state, results = JoinedCell(builder, width, hidden, name), zero_state(builder, batch, hidden), []
    for value in values:
        state = cell(value, state)
        results.append(state[1])
    return results, state


def next_state(builder, memory, take, candidate, forget, give):
    """The end of an LSTM cell, from its gates: the new memory and the new result."""
    kept = builder.node("Mul", memory, builder.node("Sigmoid", builder.node("Add", forget, builder.constant(1))))
    added = builder.node("Mul", builder.node("Sigmoid", take), builder.node("Tanh", candidate))
    memory = builder.node("Add", kept, added)
    return memory, builder.node("Mul", builder.node("Tanh", memory), builder.node("Sigmoid", give))


class GateCell:
    """An LSTM cell with a product of the input and one of the state for each gate."""

    def __init__(self, builder, width, hidden, name):
        self.builder = builder
        self.gates = [(builder.normal(f"{name}_input{gate}", (width, hidden), 1 / math.sqrt(width)),
                       builder.normal(f"{name}_hidden{gate}", (hidden, hidden), 1 / math.sqrt(hidden)),
                       builder.normal(f"{name}_bias{gate}", (hidden,), 0.1)) for gate in range(4)]

    def __call__(self, value, state):
        builder = self.builder
        memory, result = state
        gates = []
        for of_input, of_state, bias in self.gates:
            products = builder.node("Add", builder.node("MatMul", value, of_input),
                                    builder.node("MatMul", result, of_state))
            gates.append(builder.node("Add", products, bias))
        return next_state(builder, memory, *gates)


class JoinedCell:
    """An LSTM cell with one product of input and state side by side, of which the gates are parts."""

    def __init__(self, builder, width, hidden, name):
        self.builder = builder
        self.weight = builder.normal(f"{name}_weight", (width + hidden, 4 * hidden), 1 / math.sqrt(width + hidden))
        self.bias = builder.normal(f"{name}_bias", (4 * hidden,), 0.1)

    def __call__(self, value, state):
        builder = self.builder
        memory, result = state
        joined = builder.node("Concat", value, result, axis=1)
        gates = builder.node("Add", builder.node("MatMul", joined, self.weight), self.bias)
        return next_state(builder, memory, *builder.node("Split", gates, outputs=4, axis=1))
