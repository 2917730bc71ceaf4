"""Small models for tests of emitted CUDA source: name -> bytes of an ONNX file."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import tiny_models
from tiny_models import F32, I64, integer_attribute, integers_attribute, node, tensor, tensor_type


def values(count, scale=1.0):
    """Numbers without a pattern, the same in every run."""
    state, result = 12345, []
    for _ in range(count):
        state = (1103515245 * state + 12345) % (1 << 31)
        result.append(scale * (state / (1 << 30) - 1))
    return result


def weights(name, sizes, scale=1.0):
    count = 1
    for size in sizes:
        count *= size
    return tensor(name, sizes, values(count, scale))


def model(nodes, inputs, outputs, initializers=(), types=None):
    types = types or {}
    named = lambda pairs: [(name, tensor_type(types.get(name, F32), sizes)) for name, sizes in pairs]
    return tiny_models.model(nodes, named(inputs), named(outputs), initializers=initializers)


def elementwise():
    """A chain that becomes one loop, with every kind of function."""
    nodes = [node("Mul", ["x", "w"], ["a"]), node("Sigmoid", ["a"], ["b"]), node("Tanh", ["x"], ["c"]),
             node("Exp", ["c"], ["d"]), node("Sub", ["b", "d"], ["e"]), node("Erf", ["e"], ["f"]),
             node("Abs", ["f"], ["g"]), node("Sqrt", ["g"], ["y"])]
    return model(nodes, [("x", [37, 19])], [("y", [37, 19])], [weights("w", [19])])


def softmax():
    nodes = [node("Add", ["x", "w"], ["s"]), node("Softmax", ["s"], ["y"], attributes=[integer_attribute("axis", 1)])]
    return model(nodes, [("x", [24, 70])], [("y", [24, 70])], [weights("w", [70])])


def layer_normalization():
    nodes = [node("LayerNormalization", ["x", "scale", "bias"], ["n"]), node("Relu", ["n"], ["y"])]
    return model(nodes, [("x", [11, 48])], [("y", [11, 48])], [weights("scale", [48]), weights("bias", [48])])


def products():
    """Two layers: the second reads all that the first makes."""
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "bias"], ["b"]), node("Relu", ["b"], ["c"]),
             node("MatMul", ["c", "v"], ["y"])]
    return model(nodes, [("x", [9, 40])], [("y", [9, 33])],
                 [weights("w", [40, 96]), weights("bias", [96]), weights("v", [96, 33], 0.2)])


def vector_product():
    """So few elements that the lanes of a warp share their terms."""
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Tanh", ["a"], ["y"])]
    return model(nodes, [("x", [1, 300])], [("y", [1, 5])], [weights("w", [300, 5], 0.1)])


def convolution():
    nodes = [node("Conv", ["x", "w", "bias"], ["a"], attributes=[integers_attribute("pads", [1, 1, 1, 1])]),
             node("Relu", ["a"], ["b"]),
             node("MaxPool", ["b"], ["c"], attributes=[integers_attribute("kernel_shape", [3, 3]),
                                                       integers_attribute("strides", [2, 2])]),
             node("Conv", ["c", "v"], ["d"], attributes=[integer_attribute("group", 2)]),
             node("GlobalAveragePool", ["d"], ["y"])]
    return model(nodes, [("x", [1, 4, 14, 13])], [("y", [1, 8, 1, 1])],
                 [weights("w", [6, 4, 3, 3], 0.3), weights("bias", [6]), weights("v", [8, 3, 3, 3], 0.3)])


def attention():
    """softmax(q k') v, by heads."""
    nodes = [node("MatMul", ["q", "k"], ["s"]), node("Softmax", ["s"], ["p"]), node("MatMul", ["p", "v"], ["y"])]
    return model(nodes, [("q", [2, 10, 8]), ("k", [2, 8, 12]), ("v", [2, 12, 8])], [("y", [2, 10, 8])])


def lstm():
    """Eight steps."""
    hidden = 8
    nodes = [node("LSTM", ["x", "w", "r", "b"], ["all", "last"], attributes=[integer_attribute("hidden_size", hidden)])]
    return model(nodes, [("x", [8, 2, 6])], [("all", [8, 1, 2, hidden]), ("last", [1, 2, hidden])],
                 [weights("w", [1, 4 * hidden, 6], 0.4), weights("r", [1, 4 * hidden, hidden], 0.4),
                  weights("b", [1, 8 * hidden], 0.2)])


def indices():
    """Integers: positions of maxima, rows by index, guards."""
    nodes = [node("ArgMax", ["x"], ["a"], attributes=[integer_attribute("axis", 1), integer_attribute("keepdims", 0)]),
             node("Gather", ["table", "a"], ["g"]), node("Transpose", ["g"], ["t"]),
             node("Concat", ["t", "t"], ["y"], attributes=[integer_attribute("axis", 0)])]
    return model(nodes, [("x", [7, 40])], [("a", [7]), ("y", [6, 7])], [weights("table", [40, 3])], {"a": I64})


SAMPLES = {function.__name__: function for function in (
    elementwise, softmax, layer_normalization, products, vector_product, convolution, attention, lstm, indices)}
