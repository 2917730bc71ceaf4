"""Small models to train, of the kinds that are trained: written as ONNX files with random weights.

    models/training_models.py FOLDER [--type float|double] [NAME...]
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Model:
    """Builds a graph; weights are drawn from a seed that the name gives."""

    def __init__(self, name, dtype):
        self.name, self.dtype = name, np.dtype(dtype)
        self.type = TensorProto.DOUBLE if self.dtype == np.float64 else TensorProto.FLOAT
        self.nodes, self.weights, self.inputs = [], [], []
        self.random = np.random.default_rng(sum(map(ord, name)))
        self.count = 0

    def input(self, name, shape, kind=None):
        self.inputs.append(helper.make_tensor_value_info(name, kind or self.type, shape))
        return name

    def weight(self, name, *shape, scale=None):
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else shape[0]
        scale = 1 / np.sqrt(fan) if scale is None else scale
        values = (self.random.uniform(-1, 1, shape) * scale).astype(self.dtype)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def filled(self, name, value, *shape):
        self.weights.append(numpy_helper.from_array(np.full(shape, value, self.dtype), name))
        return name

    def number(self, value):
        self.count += 1
        name = f"number_{self.count}"
        self.weights.append(numpy_helper.from_array(np.array(value, self.dtype), name))
        return name

    def integers(self, values):
        self.count += 1
        name = f"integers_{self.count}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def __call__(self, op, *inputs, outputs=1, **attributes):
        names = []
        for _ in range(outputs):
            self.count += 1
            names.append(f"v{self.count}")
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def finish(self, output):
        result = helper.make_empty_tensor_value_info("scores")
        self.nodes.append(helper.make_node("Identity", [output], ["scores"]))
        graph = helper.make_graph(self.nodes, self.name, self.inputs, [result], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.checker.check_model(model)
        return model

    # ---- layers

    def dense(self, x, name, features, size):
        return self("Gemm", x, self.weight(f"{name}.weight", size, features),
                    self.weight(f"{name}.bias", size, scale=0.1), transB=1)

    def linear(self, x, name, features, size):
        product = self("MatMul", x, self.weight(f"{name}.weight", features, size, scale=1 / np.sqrt(features)))
        return self("Add", product, self.weight(f"{name}.bias", size, scale=0.1))

    def conv(self, x, name, channels, filters, kernel, stride=1, pad=0, group=1, bias=True):
        weight = self.weight(f"{name}.weight", filters, channels // group, kernel, kernel)
        more = [self.weight(f"{name}.bias", filters, scale=0.1)] if bias else []
        return self("Conv", x, weight, *more, strides=[stride, stride], pads=[pad] * 4, group=group)

    def norm(self, x, name, channels):
        """Batch normalization as it is in training is not differentiated; its inference form is."""
        return self("BatchNormalization", x, self.filled(f"{name}.weight", 1, channels),
                    self.filled(f"{name}.bias", 0, channels), self.filled(f"{name}.mean", 0.1, channels),
                    self.filled(f"{name}.variance", 0.9, channels))

    def layer_norm(self, x, name, size):
        return self("LayerNormalization", x, self.filled(f"{name}.weight", 1, size),
                    self.filled(f"{name}.bias", 0, size), axis=-1)

    def attention(self, x, name, length, size, heads, mask=None):
        def head(part, perm):
            y = self.linear(x, f"{name}.{part}", size, size)
            y = self("Reshape", y, self.integers([0, length, heads, size // heads]))
            return self("Transpose", y, perm=perm)
        query, key, value = head("query", [0, 2, 1, 3]), head("key", [0, 2, 3, 1]), head("value", [0, 2, 1, 3])
        fit = self("Div", self("MatMul", query, key), self.number(np.sqrt(size // heads)))
        if mask is not None:
            fit = self("Where", mask, fit, self.number(-1e4))
        mixed = self("MatMul", self("Softmax", fit, axis=-1), value)
        mixed = self("Transpose", mixed, perm=[0, 2, 1, 3])
        mixed = self("Reshape", mixed, self.integers([0, length, size]))
        return self.linear(mixed, f"{name}.out", size, size)

    def lstm(self, x, name, length, features, hidden, cell=None, state=None):
        """The steps of an LSTM in plain operators: all states, the last cell and the last state."""
        inner = self.weight(f"{name}.input", features, 4 * hidden, scale=0.4)
        outer = self.weight(f"{name}.state", hidden, 4 * hidden, scale=0.3)
        bias, states = self.weight(f"{name}.bias", 4 * hidden, scale=0.1), []
        for t in range(length):
            gates = self("Add", self("MatMul", self("Gather", x, self.integers(t), axis=0), inner), bias)
            if state is not None:
                gates = self("Add", gates, self("MatMul", state, outer))
            keep, forget, show, new = (self("Slice", gates, self.integers([k * hidden]), self.integers([(k + 1) * hidden]), self.integers([1]))
                                       for k in range(4))
            added = self("Mul", self("Sigmoid", keep), self("Tanh", new))
            cell = added if cell is None else self("Add", self("Mul", self("Sigmoid", forget), cell), added)
            state = self("Mul", self("Sigmoid", show), self("Tanh", cell))
            states.append(state)
        return states, cell, state

    def gelu(self, x):
        half = self("Add", self("Erf", self("Div", x, self.number(np.sqrt(2)))), self.number(1))
        return self("Mul", self("Mul", x, half), self.number(0.5))

    def block(self, x, name, length, size, heads, mask=None):
        x = self("Add", x, self.attention(self.layer_norm(x, f"{name}.norm1", size), f"{name}.attention",
                                          length, size, heads, mask))
        y = self.gelu(self.linear(self.layer_norm(x, f"{name}.norm2", size), f"{name}.up", size, 2 * size))
        return self("Add", x, self.linear(y, f"{name}.down", 2 * size, size))


def mlp(m, batch):
    x = m.input("x", [batch, 20])
    x = m("Relu", m.dense(x, "first", 20, 32))
    x = m("Tanh", m.dense(x, "second", 32, 16))
    return m.dense(x, "last", 16, 5)


def lenet(m, batch):
    x = m.input("x", [batch, 1, 28, 28])
    x = m("MaxPool", m("Relu", m.conv(x, "conv1", 1, 6, 5, pad=2)), kernel_shape=[2, 2], strides=[2, 2])
    x = m("MaxPool", m("Relu", m.conv(x, "conv2", 6, 16, 5)), kernel_shape=[2, 2], strides=[2, 2])
    x = m("Flatten", x, axis=1)
    x = m("Relu", m.dense(x, "fc1", 400, 120))
    x = m("Relu", m.dense(x, "fc2", 120, 84))
    return m.dense(x, "fc3", 84, 10)


def resnet(m, batch):
    """ResNet-18 with an eighth of the channels, on small images."""
    x = m.input("x", [batch, 3, 16, 16])
    x = m("Relu", m.norm(m.conv(x, "stem", 3, 8, 3, pad=1, bias=False), "stem.norm", 8))
    channels = 8
    for stage, filters in enumerate((8, 16, 32, 64)):
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            name = f"stage{stage}.{block}"
            y = m.norm(m.conv(x, f"{name}.conv1", channels, filters, 3, stride, 1, bias=False), f"{name}.norm1", filters)
            y = m.norm(m.conv(m("Relu", y), f"{name}.conv2", filters, filters, 3, 1, 1, bias=False), f"{name}.norm2", filters)
            if stride != 1 or channels != filters:
                x = m.norm(m.conv(x, f"{name}.skip", channels, filters, 1, stride, 0, bias=False), f"{name}.norm3", filters)
            x = m("Relu", m("Add", x, y))
            channels = filters
    x = m("Flatten", m("GlobalAveragePool", x), axis=1)
    return m.dense(x, "head", channels, 10)


def mobilenet(m, batch):
    """Inverted residuals of MobileNetV2."""
    x = m.input("x", [batch, 3, 16, 16])
    six = lambda y: m("Clip", y, m.number(0), m.number(6))
    x = six(m.norm(m.conv(x, "stem", 3, 8, 3, 2, 1, bias=False), "stem.norm", 8))
    channels = 8
    for i, (expand, filters, stride) in enumerate(((1, 8, 1), (4, 12, 2), (4, 12, 1), (4, 16, 2))):
        hidden = channels * expand
        y = six(m.norm(m.conv(x, f"b{i}.expand", channels, hidden, 1, bias=False), f"b{i}.norm1", hidden))
        y = six(m.norm(m.conv(y, f"b{i}.depth", hidden, hidden, 3, stride, 1, hidden, bias=False), f"b{i}.norm2", hidden))
        y = m.norm(m.conv(y, f"b{i}.project", hidden, filters, 1, bias=False), f"b{i}.norm3", filters)
        x = m("Add", x, y) if stride == 1 and channels == filters else y
        channels = filters
    x = m("Flatten", m("ReduceMean", x, m.integers([2, 3]), keepdims=1), axis=1)
    return m.dense(x, "head", channels, 5)


def unet(m, batch):
    x = m.input("x", [batch, 1, 16, 16])
    a = m("Relu", m.conv(x, "down1", 1, 4, 3, pad=1))
    b = m("Relu", m.conv(m("MaxPool", a, kernel_shape=[2, 2], strides=[2, 2]), "down2", 4, 8, 3, pad=1))
    up = m("ConvTranspose", b, m.weight("up.weight", 8, 4, 2, 2, scale=0.3), m.weight("up.bias", 4, scale=0.1), strides=[2, 2])
    y = m("Relu", m.conv(m("Concat", up, a, axis=1), "merge", 8, 4, 3, pad=1))
    return m.conv(y, "head", 4, 3, 1)


def autoencoder(m, batch):
    x = m.input("x", [batch, 24])
    x = m("Sigmoid", m.dense(m("Elu", m.dense(x, "in", 24, 12)), "code", 12, 4))
    return m.dense(m("LeakyRelu", m.dense(x, "out", 4, 12), alpha=0.1), "last", 12, 24)


def bert(m, batch):
    tokens = m.input("tokens", [batch, 8], TensorProto.INT64)
    x = m("Gather", m.weight("embedding", 50, 16, scale=0.5), tokens)
    x = m.layer_norm(m("Add", x, m.weight("positions", 8, 16, scale=0.5)), "norm", 16)
    for layer in range(2):
        x = m.block(x, f"layer{layer}", 8, 16, 2)
    first = m("Reshape", m("Slice", x, m.integers([0]), m.integers([1]), m.integers([1])), m.integers([0, 16]))
    return m.linear(m("Tanh", m.linear(first, "pool", 16, 16)), "head", 16, 3)


def gpt(m, batch):
    tokens = m.input("tokens", [batch, 8], TensorProto.INT64)
    x = m("Add", m("Gather", m.weight("embedding", 50, 16, scale=0.5), tokens), m.weight("positions", 8, 16, scale=0.5))
    m.weights.append(numpy_helper.from_array(np.tril(np.ones((8, 8), bool)), "mask"))
    x = m.block(x, "block", 8, 16, 2, "mask")
    scores = m("MatMul", m.layer_norm(x, "norm", 16), m.weight("unembedding", 16, 50, scale=0.25))
    return m("Transpose", scores, perm=[0, 2, 1])


def vit(m, batch):
    x = m.input("x", [batch, 3, 16, 16])
    x = m.conv(x, "patches", 3, 16, 4, 4)
    x = m("Transpose", m("Reshape", x, m.integers([0, 16, 16])), perm=[0, 2, 1])
    x = m.block(m("Add", x, m.weight("positions", 16, 16, scale=0.5)), "block", 16, 16, 2)
    x = m("ReduceMean", m.layer_norm(x, "norm", 16), m.integers([1]), keepdims=0)
    return m.linear(x, "head", 16, 5)


def dlrm(m, batch):
    dense = m.input("dense", [batch, 6])
    parts = [m("Relu", m.dense(dense, "bottom", 6, 8))]
    for i in range(3):
        ids = m.input(f"ids{i}", [batch], TensorProto.INT64)
        parts.append(m("Gather", m.weight(f"table{i}", 11, 8, scale=0.5), ids))
    stack = m("Reshape", m("Concat", *parts, axis=1), m.integers([0, 4, 8]))
    pairs = m("MatMul", stack, m("Transpose", stack, perm=[0, 2, 1]))
    x = m("Concat", parts[0], m("Reshape", pairs, m.integers([0, 16])), axis=1)
    return m.dense(m("Relu", m.dense(x, "top", 24, 12)), "head", 12, 2)


def recurrent(m, batch, op, gates):
    x = m.input("x", [6, batch, 5])
    weight = m.weight("input.weight", 1, gates * 7, 5, scale=0.4)
    state = m.weight("state.weight", 1, gates * 7, 7, scale=0.4)
    bias = m.weight("bias", 1, 2 * gates * 7, scale=0.1)
    extra = {"linear_before_reset": 1} if op == "GRU" else {}
    y = m(op, x, weight, state, bias, outputs=2, hidden_size=7, **extra)[1]
    return m.dense(m("Reshape", y, m.integers([-1, 7])), "head", 7, 4)


def lstm(m, batch):
    return recurrent(m, batch, "LSTM", 4)


def gru(m, batch):
    return recurrent(m, batch, "GRU", 3)


def gcn(m, batch):
    """Two layers of a graph convolution: features of nodes, and how strongly nodes are joined (Kipf and Welling, 2017)."""
    nodes = 4 * batch
    joined = m.input("joined", [nodes, nodes])
    x = m("Relu", m("MatMul", joined, m.linear(m.input("x", [nodes, 12]), "first", 12, 16)))
    return m("MatMul", joined, m.linear(x, "last", 16, 4))


def translation(m, batch, length=6, words=20, size=12, hidden=16):
    """A sequence read by an LSTM, and another one written by a second LSTM, which is given what it should have written before
    (Sutskever and others, "Sequence to sequence learning with neural networks", 2014)."""
    tables = [m("Gather", m.weight(f"{name}.table", words, size, scale=0.5), m.input(name, [length, batch], TensorProto.INT64))
              for name in ("source", "given")]

    _, cell, state = m.lstm(tables[0], "encoder", length, size, hidden)
    states, _, _ = m.lstm(tables[1], "decoder", length, size, hidden, cell, state)
    scores = [m("Unsqueeze", m.linear(y, "head", hidden, words) if t == 0 else
                m("Add", m("MatMul", y, "head.weight"), "head.bias"), m.integers([2])) for t, y in enumerate(states)]
    return m("Concat", *scores, axis=2)


def lstm_steps(m, batch):
    """An LSTM as its steps, each of which is split over devices like any other operators."""
    _, _, state = m.lstm(m.input("x", [6, batch, 5]), "lstm", 6, 5, 8)
    return m.linear(state, "head", 8, 4)


MODELS = {f.__name__: f for f in (mlp, lenet, resnet, mobilenet, unet, lstm, gru, bert, gpt, vit, dlrm, autoencoder, gcn, lstm_steps, translation)}
# The autoencoder compares its output with a target; the others compare scores with labels.
LOSSES = {"autoencoder": "mse"}


def make(name, dtype=np.float32, batch=4, **sizes):
    model = Model(name, dtype)
    return model.finish(MODELS[name](model, batch, **sizes))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--type", choices=("float", "double"), default="float")
    parser.add_argument("--batch", type=int, default=4)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or MODELS:
        dtype = np.float64 if arguments.type == "double" else np.float32
        onnx.save(make(name, dtype, arguments.batch), arguments.folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
