"""The kernels of `bench/cuda audit`: models of one kernel each, and what a good one takes on an H100, in microseconds."""

import dataclasses

import numpy
from onnx import TensorProto, helper

from cuda_measurements import Builder


@dataclasses.dataclass
class Kernel:
    name: str
    model: object
    good: float  # microseconds: bytes at 90% of the bandwidth, or what libraries are known to reach
    read_bytes: int = 0  # 0: no estimate
    written_bytes: int = 0
    shares: tuple = ()  # of the bytes that are read, by hot loop; 1 for others
    steps: int = 0  # of the largest loop in the longest block, where instructions decide and not bytes
    most: float = 1.5  # times of a good kernel that an estimate may be


def of_one_operator(operator, sizes, kind, outputs, **attributes):
    builder = Builder(kind)
    inputs = [builder.tensor(f"x{i}", size, builder.inputs) for i, size in enumerate(sizes)]
    builder.node(operator, inputs, "y", **attributes)
    builder.tensor("y", outputs, builder.outputs)
    return builder


def random_weight(builder, name, sizes):
    values = (numpy.arange(numpy.prod(sizes)) % 61 / 61 - 0.5).reshape(sizes)
    kind = numpy.float16 if builder.type == TensorProto.FLOAT16 else numpy.float32
    builder.weights.append(helper.make_tensor(name, builder.type, sizes, values.astype(kind).tobytes(), raw=True))
    return name


def sum_of_all():
    return Kernel("sum, 4096x4096 f32", of_one_operator("ReduceSum", [[4096, 4096]], "f32", [], keepdims=0).model(), 25,
                  4096 * 4096 * 4, 4, (1, 0))


def softmax():
    return Kernel("softmax, 4096x4096 f32", of_one_operator("Softmax", [[4096, 4096]], "f32", [4096, 4096], axis=-1).model(), 48,
                  4096 * 4096 * 4, 4096 * 4096 * 4)


def layer_norm():
    builder = Builder("f16")
    x = builder.tensor("x", [8192, 4096], builder.inputs)
    weights = [random_weight(builder, name, [4096]) for name in ("w", "b")]
    builder.node("LayerNormalization", [x, *weights], "y", axis=-1)
    builder.tensor("y", [8192, 4096], builder.outputs)
    return Kernel("normalization, 8192x4096 f16", builder.model(), 47.5, 8192 * 4096 * 2, 8192 * 4096 * 2)


def rms_norm():
    from cuda_measurements import model_of
    model, _ = model_of("rms_norm", [8192, 4096], "f16")
    return Kernel("rms, 8192x4096 f16", model, 47.5, 8192 * 4096 * 2, 8192 * 4096 * 2)


def vector_product(kind, good):
    builder = Builder(kind)
    x = builder.tensor("x", [1, 4096], builder.inputs)
    builder.node("MatMul", [x, random_weight(builder, "w", [4096, 4096])], "y")
    builder.tensor("y", [1, 4096], builder.outputs)
    return Kernel(f"vector-{kind}, 4096x4096", builder.model(), good, 4096 * 4096 * builder.size, 4096 * builder.size)


def elementwise():
    builder = Builder("f32")
    inputs = [builder.tensor(name, [16384, 4096], builder.inputs) for name in ("x", "z")]
    builder.node("Add", inputs, "sum")
    builder.node("Relu", ["sum"], "y")
    builder.tensor("y", [16384, 4096], builder.outputs)
    return Kernel("elementwise, 3 of 268 MB", builder.model(), 265, 2 * 16384 * 4096 * 4, 16384 * 4096 * 4)


def attention():
    builder = Builder("f16")
    sizes = [1, 16, 1024, 64]
    q, k, v = (builder.tensor(name, sizes, builder.inputs) for name in "qkv")
    builder.weights.append(helper.make_tensor("scale", builder.type, [], numpy.float16(0.125).tobytes(), raw=True))
    builder.node("Transpose", [k], "turned", perm=[0, 1, 3, 2])
    builder.node("MatMul", [q, "turned"], "products")
    builder.node("Mul", ["products", "scale"], "scores")
    builder.node("Softmax", ["scores"], "shares", axis=-1)
    builder.node("MatMul", ["shares", v], "y")
    builder.tensor("y", sizes, builder.outputs)
    # 128 rows of one head for each of 128 blocks, and 64 keys in a step.
    return Kernel("attention, 16x1024x64 f16", builder.model(), 20, steps=1024 // 64, most=2)


def all_kernels():
    return [sum_of_all(), softmax(), layer_norm(), rms_norm(), vector_product("f16", 14), vector_product("f32", 23), elementwise(),
            attention()]
