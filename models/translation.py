"""The recurrent models that FlexFlow is measured on (Jia et al., MLSys 2019, table 3): LSTM layers (Hochreiter and Schmidhuber, 1997)
unrolled into steps of primitive operators, 40 of them, as there. `--steps` unrolls fewer.

The samples are axis 0 of all inputs. Sizes of vocabularies are not in the paper's table: that of PTB (10,000 words) and that of
FlexFlow's simulator of translation (32,000) are taken.
"""

import math

from onnx import TensorProto

from builder import Builder
from recurrent import JoinedCell, lstm_layer

PUBLISHED_STEPS = 40


def rnntc(options, hidden=1024, layers=4, vocabulary=20000, classes=2):
    """RNNTC, which classifies text (Jia et al., MLSys 2019): 4 LSTM layers of hidden size 1024 over 40 words, and a softmax layer;
    54.1 M parameters with 20,000 words."""
    builder, batch = Builder("rnntc", options.seed), options.batch
    values = embedded(builder, options, "words", vocabulary, hidden)
    for layer in range(layers):
        values, _ = lstm_layer(builder, values, hidden, hidden, batch, f"layer{layer}")
    builder.output(builder.linear(values[-1], hidden, classes, "classifier"), "logits", [batch, classes])
    return builder.finish(rnntc.__doc__)


def rnnlm(options, hidden=2048, layers=2, vocabulary=10000):
    """RNNLM, a model of language (Zaremba et al., 2014, at the sizes of Jia et al., MLSys 2019): 2 LSTM layers of hidden size 2048 over
    40 words, and a softmax layer over 10,000 words at each step; 108.1 M parameters."""
    builder, batch = Builder("rnnlm", options.seed), options.batch
    values = embedded(builder, options, "words", vocabulary, hidden)
    for layer in range(layers):
        values, _ = lstm_layer(builder, values, hidden, hidden, batch, f"layer{layer}")
    scores_of_words(builder, options, joined_steps(builder, values, hidden, batch), hidden, vocabulary)
    return builder.finish(rnnlm.__doc__)


def nmt(options, hidden=1024, layers=2, vocabulary=32000):
    """NMT, which translates (Wu et al., 2016, at the sizes of Jia et al., MLSys 2019): an encoder and a decoder of 2 LSTM layers of hidden
    size 1024 over 40 words each, attention on top of the decoder (Luong et al., 2015), and a softmax layer over 32,000 words;
    135.0 M parameters."""
    builder, batch = Builder("nmt", options.seed), options.batch
    values, states = embedded(builder, options, "source", vocabulary, hidden), []
    for layer in range(layers):
        values, state = lstm_layer(builder, values, hidden, hidden, batch, f"encoder{layer}")
        states.append(state)
    source = joined_steps(builder, values, hidden, batch)
    values = embedded(builder, options, "target", vocabulary, hidden)
    for layer, state in enumerate(states):
        values = decoded(builder, values, state, JoinedCell(builder, hidden, hidden, f"decoder{layer}"))
    target = attended(builder, joined_steps(builder, values, hidden, batch), source, hidden)
    scores_of_words(builder, options, target, hidden, vocabulary)
    return builder.finish(nmt.__doc__)


def embedded(builder, options, name, vocabulary, width):
    """A vector [batch, width] for each step, of the words [batch, steps]."""
    steps, batch = options.steps or PUBLISHED_STEPS, options.batch
    words = builder.input(name, [batch, steps], TensorProto.INT64)
    table = builder.normal(f"{name}_embedding", (options.vocabulary or vocabulary, width), 0.5)
    vectors = builder.node("Split", builder.node("Gather", table, words, axis=0), name=f"{name}_steps", outputs=steps, axis=1)
    return [builder.reshape(value, [batch, width]) for value in ([vectors] if steps == 1 else vectors)]


def decoded(builder, values, state, cell):
    """The results of all steps of a layer that begins with a state of the encoder."""
    results = []
    for value in values:
        state = cell(value, state)
        results.append(state[1])
    return results


def joined_steps(builder, values, width, batch):
    """[batch, steps, width] of a vector for each step. Few are joined at a time."""
    joined = [builder.reshape(value, [batch, 1, width]) for value in values]
    while len(joined) > 1:
        groups = [joined[at:at + 7] for at in range(0, len(joined), 7)]
        joined = [builder.node("Concat", *group, axis=1) if len(group) > 1 else group[0] for group in groups]
    return joined[0]


def attended(builder, target, source, hidden):
    """What each step of the target sees of the source: weights by a bilinear form, and a layer over both."""
    keys = builder.transpose(builder.matmul(source, hidden, hidden, "attention_keys"), [0, 2, 1])
    scores = builder.node("Mul", builder.node("MatMul", target, keys), builder.constant(1 / math.sqrt(hidden)))
    seen = builder.node("MatMul", builder.node("Softmax", scores, axis=-1), source)
    both = builder.node("Concat", seen, target, axis=2)
    return builder.node("Tanh", builder.linear(both, 2 * hidden, hidden, "attention_result"))


def scores_of_words(builder, options, value, hidden, vocabulary):
    """The output: [batch * steps, words]."""
    count, words = options.batch * (options.steps or PUBLISHED_STEPS), options.vocabulary or vocabulary
    rows = builder.reshape(value, [count, hidden])
    builder.output(builder.linear(rows, hidden, words, "scores"), "logits", [count, words])
