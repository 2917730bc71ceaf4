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
    hidden, steps = 128, 80
    builder = Builder("lstm", options.seed)
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
    return builder.finish(lstm.__doc__)
