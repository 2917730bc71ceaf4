"""Models in which each run decides what is computed: branches, and loops that end by a condition."""

import math

import numpy
from onnx import TensorProto, helper

from builder import Builder

INTEGER, BOOLEAN = TensorProto.INT64, TensorProto.BOOL


class Body(Builder):
    """The graph of a branch or of a step. Its names are not those of the graph around it, whose values it sees; weights
    are those of the whole model."""

    def __init__(self, around, name):
        super().__init__(name, around.seed)
        self.initializers, self.constants = around.initializers, around.constants

    def fresh(self, stem):
        return super().fresh(f"{self.name}_{stem}")

    def graph(self):
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs)


def lstm_cell(builder, value, hidden, memory, size, name):
    """The hidden state and the memory after one step."""
    joined = builder.node("Concat", value, hidden, axis=1)
    gates = builder.linear(joined, 2 * size, 4 * size, name)
    take, give, forget, candidate = builder.node("Split", gates, outputs=4, axis=1)
    kept = builder.node("Mul", builder.node("Sigmoid", forget), memory)
    memory = builder.node("Add", kept, builder.node("Mul", builder.node("Sigmoid", take), builder.node("Tanh", candidate)))
    return builder.node("Mul", builder.node("Sigmoid", give), builder.node("Tanh", memory)), memory


def greedy_decoder(options):
    """A decoder that writes token after token until it writes the stop token, at most 64: an LSTM cell of size 256 with
    attention to 32 states of an encoder (Luong et al., 2015) and a vocabulary of 2,000, the largest logit of a step being the next
    input. The stop token becomes likelier from step to step."""
    size, states, vocabulary, most, stop = 256, 32, 2_000, 64, 1
    builder = Builder("greedy_decoder", options.seed)
    encoded = builder.input("encoded", [states, size])
    first = builder.input("first", [1], INTEGER)
    table = builder.normal("embedding", (vocabulary, size), 1.0)
    likelier = numpy.zeros((most, vocabulary), numpy.float32)
    likelier[:, stop] = numpy.linspace(-1, 5, most)
    stop_bias = builder.tensor("stop_bias", likelier)
    zeros = builder.constant(numpy.zeros((1, size)))

    body = Body(builder, "step")
    number = body.input("number", [], INTEGER)
    body.input("goes_on", [], BOOLEAN)
    token = body.input("token", [1], INTEGER)
    hidden, memory = body.input("hidden", [1, size]), body.input("memory", [1, size])
    value = body.node("Gather", table, token, axis=0)
    next_hidden, next_memory = lstm_cell(body, value, hidden, memory, size, "cell")
    scores = body.node("MatMul", next_hidden, body.transpose(encoded, [1, 0]))
    attended = body.node("MatMul", body.node("Softmax", scores, axis=-1), encoded)
    together = body.node("Tanh", body.linear(body.node("Concat", next_hidden, attended, axis=1), 2 * size, size, "attention"))
    logits = body.linear(together, size, vocabulary, "logits", gain=3.0)
    logits = body.node("Add", logits, body.node("Gather", stop_bias, number, axis=0))
    chosen = body.node("ArgMax", logits, axis=1, keepdims=0)
    is_stop = body.node("Equal", chosen, body.constant([stop], numpy.int64))
    goes_on = body.reshape(body.node("Not", is_stop), [])
    body.output(goes_on, "next_goes_on", [], BOOLEAN)
    body.output(chosen, "next_token", [1], INTEGER)
    body.output(next_hidden, "next_hidden", [1, size])
    body.output(next_memory, "next_memory", [1, size])
    body.output(body.node("Identity", body.outputs[1].name), "written", [1], INTEGER)

    _, hidden, _, tokens = builder.node("Loop", builder.constant(most, numpy.int64), builder.constant(True, bool), first, zeros, zeros,
                                        outputs=4, body=body.graph())
    builder.output(tokens, "tokens", ["steps", 1], INTEGER)
    builder.output(hidden, "state", [1, size])
    return builder.finish(greedy_decoder.__doc__)


def voice_activity(options):
    """Whether there is speech in 32 ms of sound, by a network for 16 kHz or one for 8 kHz, as the sampling rate says. Each
    has a transform of windows as a convolution, four convolutions, and an LSTM of size 128 whose state goes from call to call, as
    Silero VAD (2021) has."""
    builder = Builder("voice_activity", options.seed)
    builder.input("sound", [1, 512])
    builder.input("state", [2, 1, 128])
    rate = builder.input("rate", [], INTEGER)
    is_fast = builder.node("Equal", rate, builder.constant(16_000, numpy.int64))
    branches = {}
    for name, attribute, samples in (("fast", "then_branch", 512), ("slow", "else_branch", 256)):
        body = Body(builder, name)
        speech, state = listener(body, samples)
        body.output(speech, "speech", [1, 1])
        body.output(state, "state", [2, 1, 128])
        branches[attribute] = body.graph()
    speech, state = builder.node("If", is_fast, outputs=2, **branches)
    builder.output(speech, "speech", [1, 1])
    builder.output(state, "next_state", [2, 1, 128])
    return builder.finish(voice_activity.__doc__)


def listener(body, samples):
    """The probability of speech, and the next state."""
    window, size = samples // 2, 128
    sound = body.node("Slice", "sound", body.constant([0], numpy.int64), body.constant([samples], numpy.int64),
                      body.constant([1], numpy.int64))
    value = body.reshape(sound, [1, 1, samples])
    value = body.convolution(value, 1, 2 * (window // 2 + 1), (window,), "transform", stride=window // 4, padding=window // 4)
    real, imaginary = body.node("Split", value, outputs=2, axis=1)
    value = body.node("Sqrt", body.node("Add", body.node("Mul", real, real), body.node("Mul", imaginary, imaginary)))
    channels = window // 2 + 1
    for index, (wanted, stride) in enumerate([(128, 1), (64, 2), (64, 2), (128, 1)]):
        value = body.relu(body.convolution(value, channels, wanted, (3,), f"convolution{index}", stride=stride, padding=1))
        channels = wanted
    value = body.node("ReduceMean", value, axes=[2], keepdims=0)
    hidden, memory = (body.reshape(part, [1, size]) for part in body.node("Split", "state", outputs=2, axis=0))
    hidden, memory = lstm_cell(body, value, hidden, memory, size, "cell")
    together = body.node("Concat", body.reshape(hidden, [1, 1, size]), body.reshape(memory, [1, 1, size]), axis=0)
    speech = body.node("Sigmoid", body.linear(body.relu(hidden), size, 1, "speech"))
    return speech, together
