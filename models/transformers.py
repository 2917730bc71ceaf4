"""Transformer models: an encoder and a decoder."""

import math

import numpy
from onnx import TensorProto

from builder import Builder


def bert_base(options):
    """BERT-base (Devlin et al., 2019): 12 layers, hidden size 768, 12 heads, sequence 128, batch 1; 109.5 M
    parameters with the published vocabulary of 30522."""
    return bert(options, "bert_base", bert_base.__doc__, hidden=768, layers=12, heads=12)


def bert_large(options, hidden=1024, layers=24, heads=16, sequence=128):
    """BERT-large (Devlin et al., 2019): 24 layers, hidden size 1024, 16 heads, sequence 128; 335.1 M parameters with the
    published vocabulary of 30522."""
    return bert(options, "bert_large", bert_large.__doc__, hidden, layers, heads, sequence)


def bert(options, name, description, hidden, layers, heads, sequence=128):
    builder = Builder(name, options.seed)
    shape = [options.batch, sequence * options.scale]
    tokens = builder.input("input_ids", shape, TensorProto.INT64)
    segments = builder.input("token_type_ids", shape, TensorProto.INT64)
    value = bert_embedding(builder, tokens, segments, options.vocabulary or 30522, shape[1], hidden)
    for layer in range(layers):
        value = bert_layer(builder, value, shape, hidden, heads, f"layer{layer}")
    first = builder.node("Gather", value, builder.constant(0, numpy.int64), axis=1)
    pooled = builder.node("Tanh", builder.linear(first, hidden, hidden, "pooler_dense"))
    builder.output(value, "last_hidden_state", [*shape, hidden])
    builder.output(pooled, "pooler_output", [shape[0], hidden])
    return builder.finish(description)


def bert_embedding(builder, tokens, segments, vocabulary, sequence, hidden):
    words = builder.node("Gather", builder.normal("word_embedding", (vocabulary, hidden), 0.5), tokens, axis=0)
    kinds = builder.node("Gather", builder.normal("segment_embedding", (2, hidden), 0.5), segments, axis=0)
    # The table has the published 512 positions; this sequence reads the first ones.
    positions = builder.node("Slice", builder.normal("position_embedding", (max(512, sequence), hidden), 0.5),
                             builder.constant([0], numpy.int64), builder.constant([sequence], numpy.int64),
                             builder.constant([0], numpy.int64))
    value = builder.node("Add", builder.node("Add", words, kinds), positions)
    return builder.layer_normalization(value, hidden, "embedding_norm")


def bert_layer(builder, value, shape, hidden, heads, name):
    attention = bert_attention(builder, value, shape, hidden, heads, f"{name}_attention")
    value = builder.layer_normalization(builder.node("Add", attention, value), hidden, f"{name}_attention_norm")
    wide = gelu(builder, builder.linear(value, hidden, 4 * hidden, f"{name}_intermediate"))
    narrow = builder.linear(wide, 4 * hidden, hidden, f"{name}_output")
    return builder.layer_normalization(builder.node("Add", narrow, value), hidden, f"{name}_output_norm")


def bert_attention(builder, value, shape, hidden, heads, name):
    size = hidden // heads

    def project(role, permutation):
        entry = builder.linear(value, hidden, hidden, f"{name}_{role}")
        return builder.transpose(builder.reshape(entry, [*shape, heads, size]), permutation)

    query, key, content = project("query", [0, 2, 1, 3]), project("key", [0, 2, 3, 1]), project("value", [0, 2, 1, 3])
    scores = builder.node("Div", builder.node("MatMul", query, key), builder.constant(math.sqrt(size)))
    mixed = builder.node("MatMul", builder.node("Softmax", scores, axis=-1), content)
    joined = builder.reshape(builder.transpose(mixed, [0, 2, 1, 3]), [*shape, hidden])
    return builder.linear(joined, hidden, hidden, f"{name}_output")


def gelu(builder, value):
    """x * (1 + erf(x / sqrt 2)) / 2, from its parts."""
    inner = builder.node("Erf", builder.node("Div", value, builder.constant(math.sqrt(2))))
    product = builder.node("Mul", value, builder.node("Add", inner, builder.constant(1.0)))
    return builder.node("Mul", product, builder.constant(0.5))


def longformer(options):
    """Two encoder layers with the dilated sliding windows of Longformer (Beltagy et al., 2020) in the sizes that EinNet
    took (Zheng et al., 2023): 8 heads of 64, dilation 4. A token sees 128 others to each side, every fourth, of 2,048.
    Chunks of 512 tokens meet the chunks beside them, as in the published code; 6.3 M parameters."""
    builder = Builder("longformer", options.seed)
    hidden, sequence = 512, 2048 * options.scale
    value = builder.input("tokens", [1, sequence, hidden])
    attention = SlidingWindows(builder, sequence, hidden, heads=8, reach=128, dilation=4)
    for layer in range(2):
        name = f"layer{layer}"
        mixed = attention.layer(value, f"{name}_attention")
        value = builder.layer_normalization(builder.node("Add", mixed, value), hidden, f"{name}_attention_norm")
        wide = builder.relu(builder.linear(value, hidden, 4 * hidden, f"{name}_intermediate"))
        narrow = builder.linear(wide, 4 * hidden, hidden, f"{name}_output")
        value = builder.layer_normalization(builder.node("Add", narrow, value), hidden, f"{name}_output_norm")
    builder.output(value, "encoded", [1, sequence, hidden])
    return builder.finish(longformer.__doc__)


class SlidingWindows:
    """Attention of each token to `reach` tokens on each side, every `dilation`-th. The scores of a window are a diagonal band
    of a product of two chunks; the band is moved to columns, and back, by a reshape to rows of another length."""

    def __init__(self, builder, sequence, hidden, heads, reach, dilation):
        self.builder, self.sequence, self.hidden, self.heads, self.dilation = builder, sequence, hidden, heads, dilation
        self.size = hidden // heads
        self.chunk = reach * dilation
        self.count = heads * sequence // self.chunk
        self.window = 2 * reach + 1
        places = numpy.arange(sequence)[:, None] + dilation * (numpy.arange(self.window)[None] - reach)
        outside = (places < 0) | (places >= sequence)
        self.mask = builder.tensor("outside", numpy.where(outside, -1e9, 0).astype(numpy.float32)[None])

    def layer(self, value, name):
        builder = self.builder
        query, key, content = (self.heads_of(value, f"{name}_{role}") for role in ("query", "key", "value"))
        query = builder.reshape(query, [self.count, self.chunk, self.size])
        scores = self.band(query, self.with_neighbors(key))
        scores = builder.node("Div", builder.reshape(scores, [self.heads, self.sequence, self.window]),
                              builder.constant(math.sqrt(self.size)))
        weights = builder.node("Softmax", builder.node("Add", scores, self.mask), axis=-1)
        weights = builder.reshape(weights, [self.count, self.chunk, self.window])
        mixed = builder.node("MatMul", self.diagonals(weights), self.with_neighbors(content))
        mixed = builder.transpose(builder.reshape(mixed, [self.heads, self.sequence, self.size]), [1, 0, 2])
        return builder.linear(builder.reshape(mixed, [1, self.sequence, self.hidden]), self.hidden, self.hidden, f"{name}_output")

    def heads_of(self, value, name):
        entry = self.builder.linear(value, self.hidden, self.hidden, name)
        entry = self.builder.reshape(entry, [self.sequence, self.heads, self.size])
        return self.builder.transpose(entry, [1, 0, 2])

    def pad(self, value, after, before=None):
        builder = self.builder
        pads = [*(before or [0] * len(after)), *after]
        return builder.node("Pad", value, builder.constant(pads, numpy.int64), builder.constant(0.0))

    def cut(self, value, axis, begin, end):
        return self.builder.node("Slice", value, *(self.builder.constant([number], numpy.int64) for number in (begin, end, axis)))

    def with_neighbors(self, value):
        """Each chunk with the one before and the one after it."""
        builder, chunk = self.builder, self.chunk
        padded = self.pad(value, [0, chunk, 0], [0, chunk, 0])
        parts = [builder.reshape(self.cut(padded, 1, at * chunk, at * chunk + self.sequence), [self.count, chunk, self.size])
                 for at in range(3)]
        return builder.node("Concat", *parts, axis=1)

    def band(self, query, key):
        """[chunks, tokens, window] of the products of queries and keys."""
        builder, chunk, count = self.builder, self.chunk, self.count
        product = builder.node("MatMul", query, builder.transpose(key, [0, 2, 1]))
        row = builder.reshape(product, [count, 3 * chunk * chunk])
        turned = builder.reshape(self.pad(row, [0, chunk]), [count, chunk, 3 * chunk + 1])
        columns = self.cut(turned, 2, 0, self.dilation * self.window)
        return self.cut(builder.reshape(columns, [count, chunk, self.window, self.dilation]), 3, 0, 1)

    def diagonals(self, weights):
        """The weights on the diagonals of a band, with zeros beside them: [chunks, tokens, 3 * chunk]."""
        builder, chunk, count = self.builder, self.chunk, self.count
        apart = self.pad(builder.reshape(weights, [count, chunk, self.window, 1]), [0, 0, 0, self.dilation - 1])
        columns = builder.reshape(apart, [count, chunk, self.window * self.dilation])
        wide = self.pad(columns, [0, 0, 3 * chunk + 1 - self.window * self.dilation], [0, 0, chunk])
        row = self.cut(builder.reshape(wide, [count, chunk * (4 * chunk + 1)]), 1, 0, 4 * chunk * chunk)
        return self.cut(builder.reshape(row, [count, chunk, 4 * chunk]), 2, chunk, 4 * chunk)


def decoder(options):
    """A small Llama-style decoder (Touvron et al., 2023) of the dimensions of the 15 M parameter TinyStories model
    of llama2.c: 6 layers, width 288, 6 heads, SwiGLU of 768, sequence 256, vocabulary 32000, tied embeddings.
    RMSNorm, rotary embedding and SwiGLU are made of primitive operators."""
    return Decoder(Builder("decoder", options.seed), options.vocabulary or 32000).model()


def decoder_infinite(options):
    """The decoder with a causal mask of minus infinity."""
    return Decoder(Builder("decoder", options.seed), options.vocabulary or 32000, blocked=-math.inf).model()


def decoder_dynamic(options):
    """The decoder for any length of up to 256 tokens: Where keeps the scores that the causal mask allows and puts -1e9
    in the place of others, and a Where guarded by IsNaN replaces attention over nothing by zeros."""
    return DynamicDecoder(Builder("decoder_dynamic", options.seed), options.vocabulary or 32000).model()


def decoder_dynamic_infinite(options):
    """The decoder of any length, with minus infinity in the place of -1e9."""
    return DynamicDecoder(Builder("decoder_dynamic", options.seed), options.vocabulary or 32000,
                          blocked=-math.inf).model()


class Decoder:
    def __init__(self, builder, vocabulary, blocked=-1e9):
        self.builder = builder
        self.blocked = blocked
        self.vocabulary = vocabulary
        self.hidden, self.heads, self.wide, self.sequence, self.layers = 288, 6, 768, 256, 6
        self.size = self.hidden // self.heads
        self.length = self.any_length = self.sequence
        self.prepare()

    def prepare(self):
        """The tensors that all layers share."""
        self.cosine, self.sine = self.rotation_tables()
        blocked = numpy.triu(numpy.full((self.sequence, self.sequence), self.blocked, dtype=numpy.float32), k=1)
        self.mask = self.builder.tensor("causal_mask", blocked[None, None])

    def rotation_tables(self):
        """Cosines and sines [sequence, head size]; computed in double precision, then rounded."""
        frequency = 10000.0 ** (-numpy.arange(0, self.size, 2) / self.size)
        angle = numpy.outer(numpy.arange(self.sequence), frequency)
        angle = numpy.concatenate([angle, angle], axis=1)
        return (self.builder.tensor("rotary_cosine", numpy.cos(angle).astype(numpy.float32)),
                self.builder.tensor("rotary_sine", numpy.sin(angle).astype(numpy.float32)))

    def model(self):
        builder = self.builder
        tokens = builder.input("tokens", [1, self.length], TensorProto.INT64)
        self.take_length(tokens)
        embedding = builder.normal("embedding", (self.vocabulary, self.hidden), 1.0)
        value = builder.node("Gather", embedding, tokens, axis=0)
        for layer in range(self.layers):
            name = f"layer{layer}"
            value = builder.node("Add", value, self.attention(self.rms_norm(value, f"{name}_attention_norm"), name))
            value = builder.node("Add", value, self.swiglu(self.rms_norm(value, f"{name}_feed_norm"), name))
        value = self.rms_norm(value, "final_norm")
        # The embedding is read a second time, transposed: logits of order one need the scale.
        value = builder.node("Mul", value, builder.constant(1 / math.sqrt(self.hidden)))
        logits = builder.node("MatMul", value, builder.transpose(embedding, [1, 0]))
        builder.output(logits, "logits", [1, self.length, self.vocabulary])
        return builder.finish(decoder.__doc__)

    def take_length(self, tokens):
        """What depends on the number of tokens; nothing where it is fixed."""

    def attention_weights(self, scores):
        """Softmax over the scores that the mask allows."""
        builder = self.builder
        return builder.node("Softmax", builder.node("Add", scores, self.mask), axis=-1)

    def rms_norm(self, value, name):
        builder = self.builder
        square = builder.node("Pow", value, builder.constant(2.0))
        mean = builder.node("ReduceMean", square, axes=[-1], keepdims=1)
        root = builder.node("Sqrt", builder.node("Add", mean, builder.constant(1e-5)))
        scale = builder.normal(f"{name}_scale", (self.hidden,), 0.05, mean=1.0)
        return builder.node("Mul", builder.node("Div", value, root), scale)

    def rotate(self, value):
        """Rotary position embedding (Su et al., 2021): x cos + (-x_right, x_left) sin."""
        builder = self.builder
        left, right = builder.node("Split", value, outputs=2, axis=-1)
        turned = builder.node("Concat", builder.node("Neg", right), left, axis=-1)
        return builder.node("Add", builder.node("Mul", value, self.cosine), builder.node("Mul", turned, self.sine))

    def attention(self, value, name):
        builder = self.builder

        def project(role):
            entry = builder.matmul(value, self.hidden, self.hidden, f"{name}_{role}")
            entry = builder.reshape(entry, [1, self.any_length, self.heads, self.size])
            return builder.transpose(entry, [0, 2, 1, 3])

        query, key, content = self.rotate(project("query")), self.rotate(project("key")), project("value")
        scores = builder.node("MatMul", query, builder.transpose(key, [0, 1, 3, 2]))
        scores = builder.node("Mul", scores, builder.constant(1 / math.sqrt(self.size)))
        mixed = builder.transpose(builder.node("MatMul", self.attention_weights(scores), content), [0, 2, 1, 3])
        joined = builder.reshape(mixed, [1, self.any_length, self.hidden])
        return builder.matmul(joined, self.hidden, self.hidden, f"{name}_output", gain=0.5)

    def swiglu(self, value, name):
        builder = self.builder
        gate = builder.matmul(value, self.hidden, self.wide, f"{name}_gate")
        gate = builder.node("Mul", gate, builder.node("Sigmoid", gate))
        up = builder.matmul(value, self.hidden, self.wide, f"{name}_up")
        return builder.matmul(builder.node("Mul", gate, up), self.wide, self.hidden, f"{name}_down")


class DynamicDecoder(Decoder):
    """The length is an input's; tables of the longest length are cut to it."""

    def prepare(self):
        self.length, self.any_length = "length", 0  # Reshape copies a dimension of 0
        self.tables = self.rotation_tables()
        self.allowed = self.builder.tensor("causal_mask", numpy.tril(numpy.ones((self.sequence, self.sequence), bool)))

    def take_length(self, tokens):
        builder = self.builder
        length = builder.node("Slice", builder.node("Shape", tokens), *self.bounds(1, 2, 0))
        self.cosine, self.sine = (self.cut(table, length, 0) for table in self.tables)
        self.mask = self.cut(self.cut(self.allowed, length, 0), length, 1)

    def bounds(self, *numbers):
        return [self.builder.constant([number], numpy.int64) for number in numbers]

    def cut(self, table, length, axis):
        start, axes = self.bounds(0, axis)
        return self.builder.node("Slice", table, start, length, axes)

    def attention_weights(self, scores):
        builder = self.builder
        kept = builder.node("Where", self.mask, scores, builder.constant(self.blocked))
        weights = builder.node("Softmax", kept, axis=-1)
        return builder.node("Where", builder.node("IsNaN", weights), builder.constant(0.0), weights)


def gpt(options):
    """Four blocks of GPT-2 (Radford et al., 2019) as exporters write them before LayerNormalization and Gelu were
    operators: hidden size 256, 8 heads, sequence 128, batch 1; one product for queries, keys and values, a causal mask by
    Where, normalization from its parts, Gelu through Tanh and Pow; 7.3 M parameters."""
    builder = Builder("gpt", options.seed)
    hidden, sequence, vocabulary = 256, 128 * options.scale, options.vocabulary or 8000
    tokens = builder.input("input_ids", [1, sequence], TensorProto.INT64)
    embedding = builder.normal("word_embedding", (vocabulary, hidden), 0.5)
    value = builder.node("Add", builder.node("Gather", embedding, tokens, axis=0),
                         builder.normal("position_embedding", (1, sequence, hidden), 0.2))
    allowed = builder.tensor("causal_mask", numpy.tril(numpy.ones((1, 1, sequence, sequence), bool)))
    for layer in range(4):
        value = gpt_block(builder, value, allowed, sequence, hidden, 8, f"block{layer}")
    value = plain_layer_normalization(builder, value, hidden, "final_norm")
    builder.output(builder.matmul(value, hidden, vocabulary, "head"), "logits", [1, sequence, vocabulary])
    return builder.finish(gpt.__doc__)


def gpt_block(builder, value, allowed, sequence, hidden, heads, name):
    normal = plain_layer_normalization(builder, value, hidden, f"{name}_norm1")
    value = builder.node("Add", value, gpt_attention(builder, normal, allowed, sequence, hidden, heads, name))
    normal = plain_layer_normalization(builder, value, hidden, f"{name}_norm2")
    wide = tanh_gelu(builder, plain_linear(builder, normal, hidden, 4 * hidden, f"{name}_wide"))
    return builder.node("Add", value, plain_linear(builder, wide, 4 * hidden, hidden, f"{name}_narrow"))


def gpt_attention(builder, value, allowed, sequence, hidden, heads, name):
    size = hidden // heads
    parts = builder.node("Split", plain_linear(builder, value, hidden, 3 * hidden, f"{name}_attention"), outputs=3, axis=2)

    def of_heads(part, permutation):
        return builder.transpose(builder.reshape(part, [1, sequence, heads, size]), permutation)

    query, key, content = (of_heads(part, order) for part, order in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
    scores = builder.node("Div", builder.node("MatMul", query, key), builder.constant(math.sqrt(size)))
    kept = builder.node("Where", allowed, scores, builder.constant(numpy.finfo(numpy.float32).min))
    mixed = builder.node("MatMul", builder.node("Softmax", kept, axis=-1), content)
    joined = builder.reshape(builder.transpose(mixed, [0, 2, 1, 3]), [1, sequence, hidden])
    return plain_linear(builder, joined, hidden, hidden, f"{name}_projection")


def plain_linear(builder, value, rows, columns, name):
    """A product and a bias, as GPT-2's Conv1D has them: Gemm over rows."""
    sequence = builder.reshape(value, [-1, rows])
    product = builder.node("Gemm", sequence, builder.normal(f"{name}_weight", (rows, columns), rows ** -0.5),
                           builder.normal(f"{name}_bias", (columns,), 0.02))
    return builder.reshape(product, [1, -1, columns])


def plain_layer_normalization(builder, value, size, name, epsilon=1e-5):
    centered = builder.node("Sub", value, builder.node("ReduceMean", value, axes=[-1], keepdims=1))
    variance = builder.node("ReduceMean", builder.node("Pow", centered, builder.constant(2.0)), axes=[-1], keepdims=1)
    root = builder.node("Sqrt", builder.node("Add", variance, builder.constant(epsilon)))
    scaled = builder.node("Mul", builder.node("Div", centered, root), builder.normal(f"{name}_scale", (size,), 0.05, mean=1.0))
    return builder.node("Add", scaled, builder.normal(f"{name}_bias", (size,), 0.02))


def tanh_gelu(builder, value):
    """x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, from its parts."""
    half = builder.node("Mul", value, builder.constant(0.5))
    cubic = builder.node("Mul", builder.node("Pow", value, builder.constant(3.0)), builder.constant(0.044715))
    inner = builder.node("Mul", builder.node("Add", value, cubic), builder.constant(math.sqrt(2 / math.pi)))
    return builder.node("Mul", half, builder.node("Add", builder.node("Tanh", inner), builder.constant(1.0)))
