"""Large models: thousands of nodes as an exporter writes them, and gigabytes of weights."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Pieces:
    """Nodes and initializers of a graph, named by number."""

    def __init__(self, seed=0):
        self.nodes, self.initializers = [], []
        self.generator = numpy.random.Generator(numpy.random.PCG64(seed))

    def node(self, op, *inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def constant(self, array):
        return self.node_of_tensor(numpy_helper.from_array(numpy.asarray(array)))

    def node_of_tensor(self, tensor):
        name = f"Constant_{len(self.nodes)}"
        self.nodes.append(helper.make_node("Constant", [], [name], name=name, value=tensor))
        return name

    def weight(self, *shape):
        name = f"w{len(self.initializers)}"
        scale = 0.5 / numpy.sqrt(shape[0])
        self.initializers.append(numpy_helper.from_array(
            (scale * self.generator.standard_normal(shape)).astype(numpy.float32), name))
        return name


def exported_block(pieces, value, hidden, heads):
    """Attention as an exporter writes it for a batch of any size: shapes are computed at every Reshape. 94 nodes."""
    def size(of, axis):
        shape = pieces.node("Shape", of)
        gathered = pieces.node("Gather", shape, pieces.constant(numpy.int64(axis)), axis=0)
        return pieces.node("Unsqueeze", gathered, pieces.constant(numpy.array([0])))

    def reshaped(of, *tail):
        parts = [size(value, 0), size(value, 1), *(pieces.constant(numpy.array([entry])) for entry in tail)]
        return pieces.node("Reshape", of, pieces.node("Concat", *parts, axis=0))

    def linear(of, rows, columns):
        return pieces.node("Add", pieces.node("MatMul", of, pieces.weight(rows, columns)), pieces.weight(columns))

    query, key, content = (pieces.node("Transpose", reshaped(linear(value, hidden, hidden), heads, hidden // heads),
                                       perm=perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores = pieces.node("Div", pieces.node("MatMul", query, key), pieces.constant(numpy.float32((hidden // heads) ** 0.5)))
    mixed = pieces.node("Transpose", pieces.node("MatMul", pieces.node("Softmax", scores, axis=-1), content),
                        perm=[0, 2, 1, 3])
    value = pieces.node("Add", value, linear(reshaped(mixed, hidden), hidden, hidden))
    wide = linear(value, hidden, 2 * hidden)
    erf = pieces.node("Erf", pieces.node("Div", wide, pieces.constant(numpy.float32(2 ** 0.5))))
    gelu = pieces.node("Mul", pieces.node("Mul", wide, pieces.node("Add", erf, pieces.constant(numpy.float32(1)))),
                       pieces.constant(numpy.float32(0.5)))
    return pieces.node("Add", value, linear(gelu, 2 * hidden, hidden))


def exported(nodes, hidden=32, heads=4):
    """A model of about so many nodes, Constant nodes among them, with an open batch and sequence."""
    pieces, value = Pieces(), "x"
    while len(pieces.nodes) < nodes:
        value = exported_block(pieces, value, hidden, heads)
    pieces.nodes.append(helper.make_node("Identity", [value], ["y"]))
    shape = ["batch", "sequence", hidden]
    graph = helper.make_graph(pieces.nodes, "exported",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], pieces.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_heavy(file, size, width=4096):
    """A chain of products with weights of about `size` bytes beside the file, written one after the other."""
    count, data = max(1, round(size / (4 * width * width))), file.with_suffix(".weights")
    generator = numpy.random.Generator(numpy.random.PCG64(0))
    nodes, initializers, value, offset = [], [], "x", 0
    with open(data, "wb") as written:
        for layer in range(count):
            weight = (0.5 / width ** 0.5 * generator.standard_normal((width, width), numpy.float32)).tobytes()
            written.write(weight)
            tensor = TensorProto(name=f"w{layer}", data_type=TensorProto.FLOAT, dims=[width, width],
                                 data_location=TensorProto.EXTERNAL)
            for key, entry in (("location", data.name), ("offset", offset), ("length", len(weight))):
                tensor.external_data.add(key=key, value=str(entry))
            initializers.append(tensor)
            offset += len(weight)
            # Something to simplify in every layer.
            nodes += [helper.make_node("Identity", [value], [f"i{layer}"]),
                      helper.make_node("MatMul", [f"i{layer}", f"w{layer}"], [f"p{layer}"]),
                      helper.make_node("Relu", [f"p{layer}"], [f"r{layer}"]),
                      helper.make_node("Relu", [f"r{layer}"], [f"v{layer}"])]
            value = f"v{layer}"
    nodes.append(helper.make_node("Identity", [value], ["y"]))
    graph = helper.make_graph(nodes, "heavy", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, width])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, width])], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(file))
