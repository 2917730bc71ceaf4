"""Models of one or a few operators that move more than they compute, for what bench/tasks fusion --time times: 16 kinds in
three sizes and two types, and some of them in a size that no cache holds."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 23
SIZES = [(512, 1024), (8, 64), (16384, 128)]
BEYOND_CACHE = (16384, 4096)
TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}


class Model:
    """A graph with inputs of one size; weights are vectors of the last one's length."""

    def __init__(self, size, kind):
        self.size, self.kind = size, kind
        self.inputs, self.weights, self.nodes = [], [], []

    def input(self, kind=None):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, kind or TYPES[self.kind], self.size))
        return name

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def weight(self):
        values = numpy.random.default_rng(len(self.weights)).uniform(0.5, 2, self.size[1])
        return self.constant(values.astype(self.kind))

    def node(self, operator, *operands, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, operands, [name], **attributes))
        return name

    def finish(self, result):
        graph = helper.make_graph(self.nodes, "memory_bound", self.inputs, [onnx.ValueInfoProto(name=result)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True, check_type=True)


def function(operator, **attributes):
    return lambda model: model.node(operator, model.input(), **attributes)


def reduction(operator, axis):
    return lambda model: model.node(operator, model.input(), model.constant(numpy.array([axis])), keepdims=0)


def normalization(operator, weights, **attributes):
    return lambda model: model.node(operator, model.input(), *(model.weight() for _ in range(weights)), **attributes)


def multiply_add(model):
    product = model.node("Mul", model.input(), model.input())
    return model.node("Relu", model.node("Add", product, model.weight()))


KINDS = {
    "Softmax": function("Softmax", axis=-1),
    "LayerNormalization": normalization("LayerNormalization", 2, axis=-1),
    "ReduceMax": reduction("ReduceMax", 1),
    "ReduceMean": reduction("ReduceMean", 1),
    "Exp": function("Exp"),
    "LogSoftmax": function("LogSoftmax", axis=-1),
    "Gelu": function("Gelu"),
    "Tanh": function("Tanh"),
    "Sigmoid": function("Sigmoid"),
    "Log": function("Log"),
    "Mul, Add, Relu": multiply_add,
    "BatchNormalization": normalization("BatchNormalization", 4),
    "RMSNormalization": normalization("RMSNormalization", 1, axis=-1),
    "ReduceSum of columns": reduction("ReduceSum", 0),
    "Transpose": function("Transpose"),
    "Where": lambda model: model.node("Where", model.input(TensorProto.BOOL), model.input(), model.input()),
}
FAR_KINDS = ["Softmax", "LayerNormalization", "ReduceMax", "Exp", "Mul, Add, Relu", "ReduceSum of columns", "Transpose"]


def model_of(name, kind, size):
    model = Model(size, kind)
    return model.finish(KINDS[name](model))


def cases():
    """(name, type of the elements, size), the largest ones last."""
    for kind in TYPES:
        for size in SIZES:
            for name in KINDS:
                yield name, kind, size
    for name in FAR_KINDS:
        yield name, "float32", BEYOND_CACHE


def feed_of(name, model, seed=0):
    """Random inputs; those of logarithms are positive."""
    generator, feed = numpy.random.default_rng(seed), {}
    for entry in model.graph.input:
        shape = [dimension.dim_value for dimension in entry.type.tensor_type.shape.dim]
        kind = helper.tensor_dtype_to_np_dtype(entry.type.tensor_type.elem_type)
        if kind == numpy.bool_:
            feed[entry.name] = generator.integers(0, 2, shape).astype(kind)
            continue
        values = generator.standard_normal(shape, dtype=numpy.float32)
        feed[entry.name] = (numpy.abs(values) + numpy.float32(0.01) if name == "Log" else values).astype(kind)
    return feed
