"""Small sound models that the damaged ones are made from."""

import numpy
from onnx import ModelProto, TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
OPSET = 17

# Backend tests that join where libonnx-testdata is installed: one per family of operators and types.
NODE_TESTS = ("test_add_bcast", "test_cast_FLOAT_to_DOUBLE", "test_concat_2d_axis_1", "test_constant", "test_gather_1",
              "test_if", "test_loop11", "test_maxpool_2d_same_upper", "test_reshape_negative_dim",
              "test_sequence_insert_at_back", "test_slice_neg", "test_softmax_axis_1")


def floats(name, shape, seed=0):
    values = numpy.random.default_rng(seed).standard_normal(shape).astype(numpy.float32)
    return numpy_helper.from_array(values, name)


def integers(name, values):
    return numpy_helper.from_array(numpy.array(values, dtype=numpy.int64), name)


def value(name, shape, element_type=FLOAT):
    return helper.make_tensor_value_info(name, element_type, shape)


def node(operator, inputs, outputs, **attributes):
    """`inputs` and `outputs` are names separated by spaces."""
    inputs, outputs = inputs.split(), outputs.split()
    return helper.make_node(operator, inputs, outputs, name=f"make_{outputs[0]}" if outputs else operator,
                            **attributes)


def model(nodes, inputs, outputs, initializers=(), opset=OPSET, functions=(), domains=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(initializers))
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=list(functions),
                             producer_name="lemma scripts/damaged")


def perceptron():
    nodes = [node("MatMul", "x first", "a"), node("Add", "a bias", "b"), node("Relu", "b", "c"),
             node("MatMul", "c second", "y")]
    return model(nodes, [value("x", [2, 4])], [value("y", [2, 3])],
                 [floats("first", (4, 5)), floats("bias", (5,)), floats("second", (5, 3))])


def typed_fields():
    """The perceptron with its weights in float_data instead of raw_data."""
    result = perceptron()
    for tensor in result.graph.initializer:
        values = numpy_helper.to_array(tensor).flatten().tolist()
        tensor.ClearField("raw_data")
        tensor.float_data.extend(values)
    return result


def convolution():
    nodes = [node("Conv", "image kernel", "a", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1], group=1),
             node("BatchNormalization", "a scale bias mean variance", "b", epsilon=1e-5), node("Relu", "b", "c"),
             node("MaxPool", "c", "d", kernel_shape=[2, 2], strides=[2, 2]), node("GlobalAveragePool", "d", "e"),
             node("Flatten", "e", "f", axis=1), node("Gemm", "f weight offset", "y", transB=1)]
    variance = numpy_helper.from_array(numpy.full(4, 0.9, dtype=numpy.float32), "variance")
    return model(nodes, [value("image", [1, 3, 8, 8])], [value("y", [1, 2])],
                 [floats("kernel", (4, 3, 3, 3)), floats("scale", (4,)), floats("bias", (4,)), floats("mean", (4,)),
                  variance, floats("weight", (2, 4)), floats("offset", (2,))])


def attention():
    nodes = [node("Reshape", "x shape", "a"), node("Split", "a", "q k", axis=2),
             node("Transpose", "k", "t", perm=[0, 1, 3, 2]), node("MatMul", "q t", "s"),
             node("Softmax", "s", "p", axis=-1), node("Slice", "p starts ends axes", "l"),
             node("Concat", "l p", "y", axis=2)]
    return model(nodes, [value("x", ["batch", 8, 6])], [value("y", None)],
                 [integers("shape", [-1, 2, 4, 6]), integers("starts", [0]), integers("ends", [1]),
                  integers("axes", [2])])


def branches():
    """If and Loop with subgraphs that read a value of the outer graph."""
    yes = helper.make_graph([node("Relu", "x", "yes")], "yes_graph", [], [value("yes", [2, 2])])
    no = helper.make_graph([node("Neg", "x", "no")], "no_graph", [], [value("no", [2, 2])])
    body = helper.make_graph([node("Identity", "going", "still"), node("Add", "carried x", "next")], "body",
                             [value("index", [], INT64), value("going", [], BOOL), value("carried", [2, 2])],
                             [value("still", [], BOOL), value("next", [2, 2])])
    nodes = [node("If", "flag", "a", then_branch=yes, else_branch=no), node("Loop", "count flag a", "y", body=body)]
    return model(nodes, [value("flag", [], BOOL), value("x", [2, 2])], [value("y", [2, 2])],
                 [numpy_helper.from_array(numpy.int64(3), "count")])


def function(name, inputs, outputs, nodes, domain="local"):
    return helper.make_function(domain, name, inputs.split(), outputs.split(), nodes,
                                [helper.make_opsetid("", OPSET), helper.make_opsetid("local", 1)])


def local_functions():
    inner = function("Square", "x", "y", [node("Mul", "x x", "y")])
    outer = function("Twice", "x", "y", [node("Square", "x", "a", domain="local"),
                                         node("Square", "a", "y", domain="local")])
    nodes = [node("Twice", "x", "a", domain="local"), node("Sqrt", "a", "y")]
    return model(nodes, [value("x", [3])], [value("y", [3])], functions=[inner, outer], domains=["local"])


def quantized():
    zero = numpy_helper.from_array(numpy.uint8(128), "zero")
    step = numpy_helper.from_array(numpy.float32(0.05), "step")
    nodes = [node("QuantizeLinear", "x step zero", "a"), node("DequantizeLinear", "a step zero", "b"),
             node("Clip", "b low high", "y")]
    bounds = [numpy_helper.from_array(numpy.float32(bound), name) for name, bound in (("low", -1), ("high", 1))]
    return model(nodes, [value("x", ["n", 4])], [value("y", ["n", 4])], [step, zero, *bounds])


BUILT = {function.__name__: function for function in
         (perceptron, typed_fields, convolution, attention, branches, local_functions, quantized)}


def node_tests(data):
    """The backend tests of NODE_TESTS below the folder `data`, as far as they are there."""
    models = {}
    for name in NODE_TESTS:
        path = data / "node" / name / "model.onnx"
        if path.is_file():
            models[name] = ModelProto.FromString(path.read_bytes())
    return models
