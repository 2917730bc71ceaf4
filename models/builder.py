"""A small layer over onnx.helper for writing model graphs by hand.

Values are named by strings. Every random tensor has its own generator, seeded by the model's and
the tensor's name, so that a change to one layer leaves the bytes of all others alone.
"""

import math
import zlib

import numpy
import onnx
from onnx import TensorProto, helper

OPSET = 17
IR_VERSION = 8  # the IR version that came with opset 17


# Weights with fewer elements are drawn and kept in the model even where the others are hollow.
LEAST_HOLLOW = 4096


class Builder:
    # Large weights have a shape and a place in a file of their own, which write_hollow makes, and are not drawn.
    hollow = False

    def __init__(self, name, seed=0):
        self.name = name
        self.seed = seed
        self.nodes = []
        self.initializers = []
        self.inputs = []
        self.outputs = []
        self.counts = {}
        self.names = set()
        self.constants = {}

    # Names and graph ends -----------------------------------------------------------------

    def fresh(self, stem):
        """`stem`, `stem_1`, `stem_2`, ... in order of asking."""
        count = self.counts.get(stem, 0)
        self.counts[stem] = count + 1
        name = stem if count == 0 else f"{stem}_{count}"
        assert name not in self.names, f"{name} is named twice"
        self.names.add(name)
        return name

    def input(self, name, shape, element_type=TensorProto.FLOAT):
        name = self.fresh(name)
        self.inputs.append(helper.make_tensor_value_info(name, element_type, shape))
        return name

    def output(self, value, name, shape, element_type=TensorProto.FLOAT):
        """Renames the value that one node of the graph made, and declares it an output."""
        name = self.fresh(name)
        for node in self.nodes:
            node.input[:] = [name if entry == value else entry for entry in node.input]
            node.output[:] = [name if entry == value else entry for entry in node.output]
        self.outputs.append(helper.make_tensor_value_info(name, element_type, shape))

    # Tensors ------------------------------------------------------------------------------

    def generator(self, name):
        return numpy.random.Generator(numpy.random.PCG64([self.seed, zlib.crc32(f"{self.name}/{name}".encode())]))

    def tensor(self, stem, array):
        """An initializer holding `array`."""
        name = self.fresh(stem)
        array = numpy.asarray(array, order="C")
        element_type = helper.np_dtype_to_tensor_dtype(array.dtype)
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        self.initializers.append(helper.make_tensor(name, element_type, array.shape, data, raw=True))
        return name

    def constant(self, value, dtype=numpy.float32):
        """A shared scalar or small integer list, one initializer per distinct value."""
        array = numpy.asarray(value, dtype=dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            self.constants[key] = self.tensor("constant", array)
        return self.constants[key]

    def hollow_tensor(self, stem, shape):
        """An initializer whose elements are elsewhere (write_hollow)."""
        name = self.fresh(stem)
        self.initializers.append(TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape,
                                             data_location=TensorProto.EXTERNAL))
        return name

    def is_hollow(self, shape):
        return self.hollow and math.prod(shape) >= LEAST_HOLLOW

    def normal(self, stem, shape, deviation, mean=0.0):
        if self.is_hollow(shape):
            return self.hollow_tensor(stem, shape)
        values = self.generator(f"{stem}#{self.counts.get(stem, 0)}").standard_normal(shape, dtype=numpy.float32)
        values *= numpy.float32(deviation)
        if mean:
            values += numpy.float32(mean)
        return self.tensor(stem, values)

    def uniform(self, stem, shape, low, high):
        if self.is_hollow(shape):
            return self.hollow_tensor(stem, shape)
        values = self.generator(f"{stem}#{self.counts.get(stem, 0)}").random(shape, dtype=numpy.float32)
        return self.tensor(stem, values * numpy.float32(high - low) + numpy.float32(low))

    # Nodes --------------------------------------------------------------------------------

    def node(self, operator, *inputs, name=None, outputs=1, **attributes):
        """Adds a node; returns its output's name, or a list of names when it has several."""
        name = self.fresh(name or operator.lower())
        results = [self.fresh(f"{name}_output") for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), results, name=name, **attributes))
        return results[0] if outputs == 1 else results

    def matmul(self, value, rows, columns, name, gain=1.0):
        weight = self.normal(f"{name}_weight", (rows, columns), gain / math.sqrt(rows))
        return self.node("MatMul", value, weight, name=name)

    def linear(self, value, rows, columns, name, gain=1.0):
        """MatMul and a bias."""
        product = self.matmul(value, rows, columns, name, gain)
        bias = self.normal(f"{name}_bias", (columns,), 0.02)
        return self.node("Add", product, bias, name=f"{name}_add")

    def dense(self, value, rows, columns, name, gain=1.0):
        """The fully connected layer of vision models: Gemm with the weight stored transposed."""
        weight = self.normal(f"{name}_weight", (columns, rows), gain / math.sqrt(rows))
        bias = self.normal(f"{name}_bias", (columns,), 0.02)
        return self.node("Gemm", value, weight, bias, name=name, transB=1)

    def convolution(self, value, channels_in, channels_out, kernel, name, *, stride=1, padding=0, dilation=1, groups=1,
                    bias=True, gain=math.sqrt(2.0)):
        """Conv over two axes, or over as many as the kernel names; the default gain keeps the second moment through a
        following Relu."""
        kernel = pair(kernel)
        strides, pads, dilations = (pair(entry, len(kernel)) for entry in (stride, padding, dilation))
        fan_in = channels_in // groups * math.prod(kernel)
        weight = self.normal(f"{name}_weight", (channels_out, channels_in // groups, *kernel), gain / math.sqrt(fan_in))
        operands = [value, weight]
        if bias:
            operands.append(self.normal(f"{name}_bias", (channels_out,), 0.02))
        return self.node("Conv", *operands, name=name, kernel_shape=list(kernel), strides=list(strides),
                         pads=[*pads, *pads], dilations=list(dilations), group=groups)

    def batch_normalization(self, value, channels, name, *, epsilon=1e-5, scale=1.0):
        """Inference-time BatchNormalization with running statistics near mean 0, variance 1."""
        operands = [
            value,
            self.uniform(f"{name}_scale", (channels,), 0.9 * scale, 1.1 * scale),
            self.normal(f"{name}_bias", (channels,), 0.05),
            self.normal(f"{name}_mean", (channels,), 0.1),
            self.uniform(f"{name}_variance", (channels,), 0.8, 1.25),
        ]
        return self.node("BatchNormalization", *operands, name=name, epsilon=epsilon)

    def layer_normalization(self, value, size, name, epsilon=1e-12):
        scale = self.normal(f"{name}_scale", (size,), 0.05, mean=1.0)
        bias = self.normal(f"{name}_bias", (size,), 0.02)
        return self.node("LayerNormalization", value, scale, bias, name=name, axis=-1, epsilon=epsilon)

    def relu(self, value):
        return self.node("Relu", value)

    def pool(self, operator, value, kernel, stride=1, padding=0, **attributes):
        height, width = pair(kernel)
        vertical, horizontal = pair(padding)
        return self.node(operator, value, kernel_shape=[height, width], strides=list(pair(stride)),
                         pads=[vertical, horizontal, vertical, horizontal], **attributes)

    def reshape(self, value, shape):
        return self.node("Reshape", value, self.constant(shape, numpy.int64))

    def transpose(self, value, permutation):
        return self.node("Transpose", value, perm=permutation)

    def finish(self, description):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                                  producer_name="lemma scripts/models")
        model.doc_string = " ".join(description.split())
        return model


def write_hollow(model, path):
    """The elements of hollow weights, in a file beside the model at `path`: zeros, but for the first, which is another number for each
    weight, so that none are taken for the same. The file has holes, and takes no room where the file system knows them."""
    data, offset = path.with_name(path.name + ".data"), 0
    with open(data, "wb") as written:
        for number, tensor in enumerate(tensor for tensor in model.graph.initializer if tensor.data_location == TensorProto.EXTERNAL):
            length = 4 * math.prod(tensor.dims)
            for key, value in (("location", data.name), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
            written.seek(offset)
            written.write(numpy.float32(1 + number).astype("<f4").tobytes())
            offset += (length + 4095) // 4096 * 4096  # as the format asks for
        written.truncate(offset)


def pair(value, count=2):
    """One number for each axis."""
    return value if isinstance(value, tuple) else (value,) * count
