"""Graphs as exporters write them: constants as nodes, sizes read from shapes, modules spelled out.

The spellings are those of PyTorch's exporter: `Shape`, `Gather`, `Unsqueeze` and `Concat` before each `Reshape`, layer
normalization in nine operators, GELU by `Erf`. Weights are random and depend on the names of model and tensor alone.
"""

import math
import zlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


class Exporter:
    """Nodes of one graph. Constants are nodes, weights initializers of the model; `parent` is the graph around a body."""

    def __init__(self, name, parent=None, opset=17):
        self.name, self.parent, self.opset = name, parent, opset
        self.nodes, self.inputs, self.outputs = [], [], []
        self.initializers = parent.initializers if parent else []
        self.counts = parent.counts if parent else {}
        self.dtype = parent.dtype if parent else numpy.float32

    # Nodes --------------------------------------------------------------------------------

    def fresh(self, stem):
        self.counts[stem] = self.counts.get(stem, -1) + 1
        return f"/{self.name}/{stem}_{self.counts[stem]}_output_0"

    def node(self, op, *inputs, outputs=1, domain="", **attributes):
        """The name of what it gives; a list of names where that is several."""
        names = [self.fresh(op) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value, dtype=None):
        array = numpy.asarray(value, dtype or self.dtype)
        return self.node("Constant", value=numpy_helper.from_array(array))

    def integers(self, *values):
        return self.constant(list(values), numpy.int64)

    def scalar(self, value):
        return self.constant(value, numpy.int64)

    def array(self, stem, array):
        """A weight."""
        self.counts[stem] = self.counts.get(stem, -1) + 1
        name = f"{stem}.{self.counts[stem]}" if self.counts[stem] else stem
        self.initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def random(self, key):
        return numpy.random.default_rng(zlib.crc32(f"{self.name}/{key}/{self.counts.get(key, -1)}".encode()))

    def weight(self, stem, *shape, deviation=None, mean=0.0):
        scale = deviation if deviation is not None else 1 / math.sqrt(max(1, math.prod(shape[:-1])))
        values = mean + scale * self.random(stem).standard_normal(shape)
        return self.array(stem, values.astype(self.dtype))

    # Ends ---------------------------------------------------------------------------------

    def input(self, name, kind, *shape):
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def output(self, value, name, kind, *shape):
        """The value under this name, by an Identity, as where a module returns what another one gave."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, list(shape)))

    def graph(self):
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, [] if self.parent else self.initializers)

    def model(self, domains=()):
        sets = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(name, version) for name, version in domains)]
        model = helper.make_model(self.graph(), opset_imports=sets, producer_name="pytorch", producer_version="2.1.0")
        model.ir_version = 8
        onnx.checker.check_model(model, full_check=True)
        return model

    # Sizes --------------------------------------------------------------------------------

    def size(self, value, axis):
        """A size, read from the shape, as a scalar."""
        return self.node("Gather", self.node("Shape", value), self.scalar(axis), axis=0)

    def shape_of(self, *sizes):
        """One shape of sizes: numbers, and names of scalars."""
        parts = [self.integers(size) if isinstance(size, int) else self.node("Unsqueeze", size, self.integers(0))
                 for size in sizes]
        return self.node("Concat", *parts, axis=0)

    def reshape(self, value, *sizes):
        return self.node("Reshape", value, self.shape_of(*sizes))

    def slice(self, value, start, end, axis, step=1):
        ends = [self.integers(place) if isinstance(place, int) else self.node("Unsqueeze", place, self.integers(0))
                for place in (start, end)]
        return self.node("Slice", value, *ends, self.integers(axis), self.integers(step))

    # Modules ------------------------------------------------------------------------------

    def linear(self, value, stem, rows, columns, bias=True):
        product = self.node("MatMul", value, self.weight(f"{stem}.weight", rows, columns))
        return self.node("Add", self.weight(f"{stem}.bias", columns, deviation=0.02), product) if bias else product

    def layer_normalization(self, value, stem, width):
        mean = self.node("ReduceMean", value, axes=[-1], keepdims=1)
        centered = self.node("Sub", value, mean)
        variance = self.node("ReduceMean", self.node("Pow", centered, self.constant(2.0)), axes=[-1], keepdims=1)
        root = self.node("Sqrt", self.node("Add", variance, self.constant(1e-5)))
        scaled = self.node("Mul", self.node("Div", centered, root), self.weight(f"{stem}.weight", width, deviation=0.1, mean=1))
        return self.node("Add", scaled, self.weight(f"{stem}.bias", width, deviation=0.1))

    def gelu(self, value):
        error = self.node("Erf", self.node("Div", value, self.constant(math.sqrt(2))))
        return self.node("Mul", self.node("Mul", value, self.node("Add", error, self.constant(1.0))), self.constant(0.5))

    def tanh_gelu(self, value):
        """As GPT-2 has it."""
        inner = self.node("Mul", self.node("Pow", value, self.constant(3.0)), self.constant(0.044715))
        inner = self.node("Mul", self.node("Add", value, inner), self.constant(math.sqrt(2 / math.pi)))
        factor = self.node("Add", self.node("Tanh", inner), self.constant(1.0))
        return self.node("Mul", self.node("Mul", value, self.constant(0.5)), factor)

    def silu(self, value):
        return self.node("Mul", value, self.node("Sigmoid", value))

    def convolution(self, value, stem, given, made, kernel=3, stride=1, group=1, bias=True):
        scale = 1 / math.sqrt(given // group * kernel * kernel)
        weights = [self.weight(f"{stem}.weight", made, given // group, kernel, kernel, deviation=scale)]
        weights += [self.weight(f"{stem}.bias", made, deviation=0.02)] if bias else []
        return self.node("Conv", value, *weights, kernel_shape=[kernel, kernel], strides=[stride, stride],
                         pads=[kernel // 2] * 4, dilations=[1, 1], group=group)

    def batch_normalization(self, value, stem, channels):
        parts = [self.weight(f"{stem}.weight", channels, deviation=0.1, mean=1), self.weight(f"{stem}.bias", channels, deviation=0.1),
                 self.weight(f"{stem}.running_mean", channels, deviation=0.1),
                 self.array(f"{stem}.running_var", (1 + 0.1 * self.random(stem).random(channels)).astype(self.dtype))]
        return self.node("BatchNormalization", value, *parts, epsilon=1e-5, momentum=0.9)

    def group_normalization(self, value, stem, channels, groups):
        """By an InstanceNormalization of reshaped groups, as PyTorch's exporter has it."""
        shape = self.node("Shape", value)
        apart = self.node("Reshape", value, self.integers(0, groups, -1))
        ones, zeros = (self.array(f"{stem}.{word}", numpy.full(groups, number, self.dtype)) for word, number in (("ones", 1), ("zeros", 0)))
        flat = self.node("InstanceNormalization", apart, ones, zeros, epsilon=1e-5)
        together = self.node("Reshape", flat, shape)
        scaled = self.node("Mul", together, self.weight(f"{stem}.weight", channels, 1, 1, deviation=0.1, mean=1))
        return self.node("Add", scaled, self.weight(f"{stem}.bias", channels, 1, 1, deviation=0.1))

    def heads(self, value, heads, width):
        """[batch, length, heads * width] as [batch, heads, length, width]."""
        parts = self.reshape(value, self.size(value, 0), self.size(value, 1), heads, width)
        return self.node("Transpose", parts, perm=[0, 2, 1, 3])

    def merged(self, value, heads, width):
        turned = self.node("Transpose", value, perm=[0, 2, 1, 3])
        return self.reshape(turned, self.size(turned, 0), self.size(turned, 1), heads * width)

    def attention(self, query, key, content, width, mask=None):
        """Of heads, with a mask that is added."""
        scores = self.node("MatMul", query, self.node("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.node("Div", scores, self.constant(math.sqrt(width)))
        scores = self.node("Add", scores, mask) if mask else scores
        return self.node("MatMul", self.node("Softmax", scores, axis=-1), content)

    def self_attention(self, value, stem, heads, width, mask=None):
        total = heads * width
        parts = [self.heads(self.linear(value, f"{stem}.{part}", total, total), heads, width) for part in ("q_proj", "k_proj", "v_proj")]
        mixed = self.attention(*parts, width, mask)
        return self.linear(self.merged(mixed, heads, width), f"{stem}.out_proj", total, total)

    def body(self, name):
        """The exporter of a body."""
        return Exporter(f"{self.name}/{name}", self, self.opset)
