"""Small models for tests of emitted CUDA source: name -> bytes of an ONNX file."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import tiny_models
from tiny_models import (BF16, F16, F32, I64, float_attribute, integer_attribute, integers_attribute, node, string_attribute,
                         tensor, tensor_type)


def values(count, scale=1.0):
    """Numbers without a pattern, the same in every run."""
    state, result = 12345, []
    for _ in range(count):
        state = (1103515245 * state + 12345) % (1 << 31)
        result.append(scale * (state / (1 << 30) - 1))
    return result


def weights(name, sizes, scale=1.0, data_type=F32):
    count = 1
    for size in sizes:
        count *= size
    return tensor(name, sizes, values(count, scale), data_type)


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


def wide_elementwise(data_type=F32):
    """Rows of 64 elements, of which neighbours are read and stored together: beside a row that all share, a column, neighbours
    that are read twice, and a part that begins at no multiple of 16 bytes."""
    nodes = [node("Mul", ["x", "w"], ["a"]), node("Add", ["a", "c"], ["b"]), node("Add", ["b", "x"], ["d"]),
             node("Slice", ["z", "begin", "end", "axis"], ["s"]), node("Add", ["d", "s"], ["y"])]
    return model(nodes, [("x", [96, 64]), ("c", [96, 1]), ("z", [96, 67])], [("y", [96, 64])],
                 [weights("w", [64], data_type=data_type), tensor("begin", [1], [3], I64), tensor("end", [1], [67], I64),
                  tensor("axis", [1], [1], I64)], {name: data_type for name in "xcyz"})


def softmax():
    nodes = [node("Add", ["x", "w"], ["s"]), node("Softmax", ["s"], ["y"], attributes=[integer_attribute("axis", 1)])]
    return model(nodes, [("x", [24, 70])], [("y", [24, 70])], [weights("w", [70])])


def softmax_of_large_values():
    """The largest elements of a row are so large that exp of them, without what is subtracted, is infinite; they are those that
    a lane reads after its first."""
    nodes = [node("Add", ["x", "w"], ["s"]), node("Softmax", ["s"], ["y"], attributes=[integer_attribute("axis", 1)])]
    offsets = [300.0 if 32 <= i < 64 else 0.0 for i in range(70)]
    return model(nodes, [("x", [24, 70])], [("y", [24, 70])], [tensor("w", [70], offsets, F32)])


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


def narrow_products(data_type=F32):
    """Products of one row, with so many columns that lanes share an element's terms by two, four, ..., thirty-two."""
    columns = [2, 3, 7, 13, 30]
    inputs, outputs, nodes, initializers = [], [], [], []
    for i, count in enumerate(columns):
        terms = 40 + 11 * i
        inputs.append((f"x{i}", [1, terms]))
        outputs.append((f"y{i}", [1, count]))
        initializers.append(weights(f"w{i}", [terms, count], 0.1, data_type))
        nodes += [node("MatMul", [f"x{i}", f"w{i}"], [f"a{i}"]), node("Tanh", [f"a{i}"], [f"y{i}"])]
    types = {name: data_type for name, _ in inputs + outputs}
    return model(nodes, inputs, outputs, initializers, types)


def turned_product():
    """Each column's elements lie together: threads with whole elements would read far from each other."""
    nodes = [node("Gemm", ["x", "w"], ["a"], attributes=[integer_attribute("transB", 1)]), node("Tanh", ["a"], ["y"])]
    return model(nodes, [("x", [1, 70]), ("w", [150, 70])], [("y", [1, 150])])


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


def one_convolution(sizes, filters, attributes=(), kind="Conv", result=None):
    """A model of one convolution with a bias and Relu."""
    channels = result[1]
    nodes = [node(kind, ["x", "w", "bias"], ["a"], attributes=attributes), node("Relu", ["a"], ["y"])]
    return model(nodes, [("x", sizes)], [("y", result)], [weights("w", filters, 0.3), weights("bias", [channels])])


def strided_convolution():
    return one_convolution([2, 3, 15, 12], [5, 3, 3, 5], [integers_attribute("strides", [2, 2]),
                                                          integers_attribute("pads", [1, 2, 1, 2])], result=[2, 5, 8, 6])


def dilated_convolution():
    return one_convolution([1, 3, 14, 14], [4, 3, 3, 3], [integers_attribute("dilations", [2, 3])], result=[1, 4, 10, 8])


def depthwise_convolution():
    return one_convolution([1, 8, 11, 9], [8, 1, 3, 3], [integer_attribute("group", 8),
                                                         integers_attribute("pads", [1, 1, 1, 1])], result=[1, 8, 11, 9])


def convolution_of_signals():
    return one_convolution([2, 4, 50], [6, 4, 7], [integers_attribute("pads", [3, 3])], result=[2, 6, 50])


def transposed_convolution():
    return one_convolution([1, 3, 6, 5], [3, 4, 3, 3], [integers_attribute("strides", [2, 2])], "ConvTranspose",
                           [1, 4, 13, 11])


def normalizations():
    """Of batches, instances, and by the root of the mean of squares."""
    nodes = [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["a"]),
             node("InstanceNormalization", ["a", "s", "b"], ["c"]),
             node("Mul", ["c", "c"], ["d"]), node("ReduceMean", ["d"], ["e"], attributes=[integers_attribute("axes", [1])]),
             node("Sqrt", ["e"], ["f"]), node("Add", ["f", "one"], ["g"]), node("Div", ["c", "g"], ["y"])]
    return model(nodes, [("x", [2, 4, 6, 7])], [("y", [2, 4, 6, 7])],
                 [weights("s", [4]), weights("b", [4]), weights("m", [4]), tensor("v", [4], [0.5, 1.0, 1.5, 2.0]),
                  tensor("one", [1], [1.0])])


def resnext_block():
    """Grouped convolution between two small ones, and a sum around them."""
    nodes = [node("Conv", ["x", "a"], ["1"]), node("Relu", ["1"], ["2"]),
             node("Conv", ["2", "b"], ["3"], attributes=[integer_attribute("group", 4),
                                                         integers_attribute("pads", [1, 1, 1, 1])]),
             node("Relu", ["3"], ["4"]), node("Conv", ["4", "c"], ["5"]), node("Add", ["5", "x"], ["6"]),
             node("Relu", ["6"], ["y"])]
    return model(nodes, [("x", [1, 16, 7, 7])], [("y", [1, 16, 7, 7])],
                 [weights("a", [8, 16, 1, 1], 0.3), weights("b", [8, 2, 3, 3], 0.3), weights("c", [16, 8, 1, 1], 0.3)])


def inception_block():
    """Four branches that are put together."""
    pads = integers_attribute("pads", [1, 1, 1, 1])
    nodes = [node("Conv", ["x", "a"], ["1"]), node("Conv", ["x", "b"], ["2"]), node("Relu", ["2"], ["3"]),
             node("Conv", ["3", "c"], ["4"], attributes=[pads]),
             node("AveragePool", ["x"], ["5"], attributes=[integers_attribute("kernel_shape", [3, 3]), pads]),
             node("Conv", ["5", "d"], ["6"]),
             node("MaxPool", ["x"], ["7"], attributes=[integers_attribute("kernel_shape", [3, 3]), pads]),
             node("Concat", ["1", "4", "6", "7"], ["8"], attributes=[integer_attribute("axis", 1)]),
             node("Relu", ["8"], ["y"])]
    return model(nodes, [("x", [1, 6, 8, 8])], [("y", [1, 17, 8, 8])],
                 [weights("a", [4, 6, 1, 1]), weights("b", [3, 6, 1, 1]), weights("c", [4, 3, 3, 3], 0.3),
                  weights("d", [3, 6, 1, 1])])


def transformer_block():
    """One of BERT, small: attention of two heads, two layers, normalizations."""
    swap = integers_attribute("perm", [1, 0, 2])
    nodes, initializers = [], [tensor("heads", [3], [6, 2, 4], I64), tensor("flat", [2], [6, 8], I64),
                               weights("g", [8]), weights("h", [8])]
    for name in "qkv":
        initializers.append(weights("w" + name, [8, 8], 0.4))
        nodes += [node("MatMul", ["x", "w" + name], [name + "0"]), node("Reshape", [name + "0", "heads"], [name + "1"]),
                  node("Transpose", [name + "1"], [name], attributes=[swap])]
    nodes += [node("Transpose", ["k"], ["kt"], attributes=[integers_attribute("perm", [0, 2, 1])]),
              node("MatMul", ["q", "kt"], ["s"]), node("Softmax", ["s"], ["p"]), node("MatMul", ["p", "v"], ["o"]),
              node("Transpose", ["o"], ["o1"], attributes=[swap]), node("Reshape", ["o1", "flat"], ["o2"]),
              node("Add", ["o2", "x"], ["r"]), node("LayerNormalization", ["r", "g", "h"], ["n"]),
              node("MatMul", ["n", "u"], ["m"]), node("Erf", ["m"], ["e"]), node("Mul", ["m", "e"], ["f"]),
              node("MatMul", ["f", "t"], ["z"]), node("Add", ["z", "n"], ["z1"]),
              node("LayerNormalization", ["z1", "g", "h"], ["y"])]
    initializers += [weights("u", [8, 20], 0.3), weights("t", [20, 8], 0.3)]
    return model(nodes, [("x", [6, 8])], [("y", [6, 8])], initializers)


def gru():
    hidden = 5
    nodes = [node("GRU", ["x", "w", "r"], ["all"], attributes=[integer_attribute("hidden_size", hidden)])]
    return model(nodes, [("x", [4, 2, 6])], [("all", [4, 1, 2, hidden])],
                 [weights("w", [1, 3 * hidden, 6], 0.4), weights("r", [1, 3 * hidden, hidden], 0.4)])


def long_sums():
    """Few results of many terms each, along several axes."""
    nodes = [node("ReduceSum", ["x", "axes"], ["a"]), node("ReduceMax", ["x"], ["b"], attributes=[integers_attribute("axes", [2])]),
             node("ReduceProd", ["b"], ["c"], attributes=[integers_attribute("axes", [1])]), node("LogSoftmax", ["x"], ["d"])]
    return model(nodes, [("x", [2, 5, 130])], [("a", [1, 5, 1]), ("c", [2, 1, 1]), ("d", [2, 5, 130])],
                 [tensor("axes", [2], [0, 2], I64)])


def selection():
    """Comparisons, guards, parts of tensors."""
    nodes = [node("Less", ["x", "w"], ["a"]), node("Where", ["a", "x", "w"], ["b"]), node("Pad", ["b", "pads"], ["c"]),
             node("Slice", ["c", "starts", "ends", "axes", "steps"], ["d"]), node("Transpose", ["d"], ["e"]),
             node("CumSum", ["e", "axis"], ["y"])]
    return model(nodes, [("x", [9, 14])], [("y", [15, 6])],
                 [weights("w", [14]), tensor("pads", [4], [1, 2, 1, 0], I64), tensor("starts", [2], [10, 1], I64),
                  tensor("ends", [2], [-100, 100], I64), tensor("axes", [2], [0, 1], I64), tensor("steps", [2], [-2, 1], I64),
                  tensor("axis", [], [0], I64)])


def product_of(half):
    """Sums of 16-bit products are rounded once, at their end."""
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "bias"], ["b"]), node("Tanh", ["b"], ["y"])]
    return model(nodes, [("x", [9, 130])], [("y", [9, 20])],
                 [weights("w", [130, 20], 0.2, half), weights("bias", [20], 1.0, half)], {"x": half, "y": half})


def normalization_of(half):
    """Phases hand 16-bit tensors on, and a result is converted."""
    nodes = [node("Add", ["x", "w"], ["a"]), node("Softmax", ["a"], ["b"], attributes=[integer_attribute("axis", 1)]),
             node("LayerNormalization", ["b", "scale", "bias"], ["y"]),
             node("Cast", ["y"], ["z"], attributes=[integer_attribute("to", F32)])]
    return model(nodes, [("x", [11, 70])], [("y", [11, 70]), ("z", [11, 70])],
                 [weights("w", [70], 1.0, half), weights("scale", [70], 1.0, half), weights("bias", [70], 1.0, half)],
                 {"x": half, "y": half})


def convolution_of(half):
    nodes = [node("Conv", ["x", "w", "bias"], ["a"], attributes=[integers_attribute("pads", [1, 1, 1, 1])]),
             node("Relu", ["a"], ["b"]),
             node("MaxPool", ["b"], ["c"], attributes=[integers_attribute("kernel_shape", [3, 3]),
                                                       integers_attribute("strides", [2, 2])]),
             node("GlobalAveragePool", ["c"], ["y"])]
    return model(nodes, [("x", [1, 4, 14, 13])], [("c", [1, 6, 6, 6]), ("y", [1, 6, 1, 1])],
                 [weights("w", [6, 4, 3, 3], 0.3, half), weights("bias", [6], 1.0, half)],
                 {"x": half, "c": half, "y": half})


def of_both(make):
    """The functions that make a model of f16 and of bf16."""
    def named(name, half):
        function = lambda: make(half)
        function.__name__ = f"{make.__name__}_{name}"
        return function
    return [named("f16", F16), named("bf16", BF16)]


def tiled_product(half=F32):
    """Of matrices whose sizes are no multiples of tiles, between other operators."""
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "bias"], ["b"]), node("Relu", ["b"], ["c"]),
             node("Add", ["c", "x"], ["y"])]
    return model(nodes, [("x", [75, 52])], [("y", [75, 52])],
                 [weights("w", [52, 52], 0.3, half), weights("bias", [52], 1.0, half)], {"x": half, "y": half})


def aligned_product(half=F32):
    """Elements are copied 16 bytes at a time, in both directions."""
    swap = [node("MatMul", ["x", "w"], ["a"]), node("Transpose", ["x"], ["t"]), node("MatMul", ["a", "t"], ["y"])]
    return model(swap, [("x", [40, 48])], [("y", [40, 40])], [weights("w", [48, 48], 0.3, half)], {"x": half, "y": half})


def batched_product(half=F32):
    """Scores and values of three heads, whose keys lie the other way round."""
    swap = [node("Transpose", ["k"], ["kt"], attributes=[integers_attribute("perm", [0, 2, 1])]),
            node("MatMul", ["q", "kt"], ["s"]), node("MatMul", ["s", "v"], ["y"])]
    return model(swap, [("q", [3, 19, 24]), ("k", [3, 21, 24]), ("v", [3, 21, 26])], [("y", [3, 19, 26])], (),
                 {name: half for name in "qkvy"})


def tiled_attention(half=F32):
    """softmax(q k') v of two heads, in one operator whose phases have tiles."""
    swap = [node("Transpose", ["k"], ["kt"], attributes=[integers_attribute("perm", [0, 2, 1])]),
            node("MatMul", ["q", "kt"], ["s"]), node("Softmax", ["s"], ["p"]), node("MatMul", ["p", "v"], ["y"])]
    return model(swap, [("q", [2, 37, 24]), ("k", [2, 42, 24]), ("v", [2, 42, 32])], [("y", [2, 37, 32])], (),
                 {name: half for name in "qkvy"})


def tiled_convolution(half=F32):
    """With padding, steps and a residual."""
    nodes = [node("Conv", ["x", "w", "bias"], ["a"], attributes=[integers_attribute("pads", [1, 1, 1, 1]),
                                                                 integers_attribute("strides", [2, 1])]),
             node("Add", ["a", "r"], ["b"]), node("Relu", ["b"], ["y"])]
    return model(nodes, [("x", [2, 5, 13, 11]), ("r", [2, 18, 7, 11])], [("y", [2, 18, 7, 11])],
                 [weights("w", [18, 5, 3, 3], 0.3, half), weights("bias", [18], 1.0, half)], {"x": half, "r": half, "y": half})


def tiled_groups(half=F32):
    """A grouped convolution, then a dilated one."""
    nodes = [node("Conv", ["x", "w"], ["a"], attributes=[integer_attribute("group", 2)]),
             node("Conv", ["a", "v"], ["y"], attributes=[integers_attribute("dilations", [2, 3])])]
    return model(nodes, [("x", [1, 8, 14, 15])], [("y", [1, 9, 8, 7])],
                 [weights("w", [20, 4, 3, 3], 0.3, half), weights("v", [9, 20, 3, 3], 0.1, half)], {"x": half, "y": half})


def tiled_products_of_axes():
    """Rows and columns of several axes each, which are numbered in one scope."""
    nodes = [node("Einsum", ["x", "w"], ["a"], attributes=[string_attribute("equation", "abk,kcd->abcd")]),
             node("Add", ["a", "bias"], ["b"]), node("Relu", ["b"], ["y"])]
    return model(nodes, [("x", [6, 7, 24])], [("y", [6, 7, 4, 9])],
                 [weights("w", [24, 4, 9], 0.3), weights("bias", [6, 1, 4, 1])])


def guarded_convolution():
    """Weights that are no constants may be infinite, so that the padding is no tensor but a guard at each read."""
    nodes = [node("Conv", ["x", "w"], ["y"], attributes=[integers_attribute("pads", [1, 1, 1, 1])])]
    return model(nodes, [("x", [1, 5, 9, 11]), ("w", [18, 5, 3, 3])], [("y", [1, 18, 9, 11])])


def many_tensors():
    """More addresses than a kernel has parameters."""
    names = [str(i) for i in range(250)]
    nodes = [node("Tanh", ["x" + name], ["y" + name]) for name in names]
    return model(nodes, [("x" + name, [3]) for name in names], [("y" + name, [3]) for name in names])


def open_sizes():
    """Two layers for any number of rows."""
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["b"]), node("Softmax", ["b"], ["c"]),
             node("MatMul", ["c", "v"], ["y"])]
    return model(nodes, [("x", ["N", 40])], [("y", ["N", 33])], [weights("w", [40, 96]), weights("v", [96, 33])])


def recurrence(half=F32, rows=1, length=44):
    """Six steps that read the same matrix."""
    nodes = []
    for step in range(6):
        nodes += [node("MatMul", [f"h{step}", "r"], [f"p{step}"]), node("Add", [f"p{step}", "bias"], [f"s{step}"]),
                  node("Tanh", [f"s{step}"], [f"h{step + 1}"])]
    return model(nodes, [("h0", [rows, length])], [("h6", [rows, length])],
                 [weights("r", [length, length], 0.3, half), weights("bias", [length], 1.0, half)], {"h0": half, "h6": half})


def recurrence_of_odd_rows(half):
    """Rows of 16-bit elements that are no whole words."""
    return recurrence(half, length=39)


def open_recurrence():
    """For any number of rows."""
    return recurrence(rows="N")


def repeated_bias():
    """A product, and weights that every step of a softmax reads behind it."""
    nodes = [node("MatMul", ["x", "v"], ["a"]), node("Add", ["a", "w"], ["s"]),
             node("Softmax", ["s"], ["p"], attributes=[integer_attribute("axis", 1)]), node("Add", ["p", "w"], ["q"]),
             node("Softmax", ["q"], ["y"], attributes=[integer_attribute("axis", 1)])]
    return model(nodes, [("x", [9, 40])], [("y", [9, 64])], [weights("v", [40, 64], 0.3), weights("w", [64])])


def scaled_products():
    """Factors, a matrix and a bias that are added, transposed operands, a vector."""
    nodes = [node("Gemm", ["x", "w", "c"], ["a"], attributes=[float_attribute("alpha", 0.5), float_attribute("beta", -2.0),
                                                             integer_attribute("transA", 1), integer_attribute("transB", 1)]),
             node("Gemm", ["a", "v", "bias"], ["b"], attributes=[float_attribute("alpha", 0.25)]), node("Relu", ["b"], ["d"]),
             node("MatMul", ["d", "u"], ["y"])]
    return model(nodes, [("x", [7, 6]), ("c", [6, 9])], [("y", [6])],
                 [weights("w", [9, 7]), weights("v", [9, 10]), weights("bias", [10]), weights("u", [10], -0.3)])


def branches():
    """Convolutions side by side, whose results are read in several places; a pool; an input that nothing reads."""
    pads = lambda size: integers_attribute("pads", [size] * 4)
    nodes = [node("Conv", ["x", "w1", "b1"], ["a"]), node("Conv", ["x", "w3", "b1"], ["b"], attributes=[pads(1)]),
             node("Tanh", ["a"], ["c"]), node("Add", ["b", "c"], ["s"]), node("Relu", ["s"], ["t"]),
             node("MaxPool", ["t"], ["m"], attributes=[integers_attribute("kernel_shape", [3, 3]), pads(1)]),
             node("Conv", ["m", "w1x", "b1"], ["d"]), node("Mul", ["d", "a"], ["y"])]
    return model(nodes, [("x", [1, 4, 6, 5]), ("unused", [3])], [("y", [1, 4, 6, 5]), ("t", [1, 4, 6, 5])],
                 [weights("w1", [4, 4, 1, 1], 0.4), weights("w3", [4, 4, 3, 3], 0.2), weights("w1x", [4, 4, 1, 1], 0.3),
                  weights("b1", [4])])


OF_HALVES = [function for make in (product_of, normalization_of, convolution_of) for function in of_both(make)]
NARROW = (narrow_products, *of_both(narrow_products), turned_product)
TILED = (tiled_product, aligned_product, batched_product, tiled_attention, tiled_convolution, tiled_groups)
TILED_HALVES = [function for make in TILED for function in of_both(make)]
TESTED = (elementwise, softmax, layer_normalization, products, vector_product, convolution, attention, lstm, indices, many_tensors,
          wide_elementwise, *of_both(wide_elementwise)[:1], *OF_HALVES)
SAMPLES = {function.__name__: function for function in (
    *TESTED, *TILED, *TILED_HALVES, *NARROW, softmax_of_large_values, tiled_products_of_axes, guarded_convolution, strided_convolution, dilated_convolution, depthwise_convolution, convolution_of_signals, transposed_convolution,
    normalizations, resnext_block, inception_block, transformer_block, gru, long_sums, selection)}
RECURRENT = {function.__name__: function for function in (recurrence, *of_both(recurrence), *of_both(recurrence_of_odd_rows))}
MODELS = {**SAMPLES, **RECURRENT, "repeated_bias": repeated_bias,
          "open_sizes": open_sizes, "open_recurrence": open_recurrence}  # the last two for --shape
CALL_MODELS = {**MODELS, "scaled_products": scaled_products, "branches": branches}  # for --library-calls
