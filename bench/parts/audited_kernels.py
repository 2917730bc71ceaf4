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
    words: tuple = ()  # of the command that emits it
    turns: int = 1  # of the loops inside of a step
    fixed: float = 0  # microseconds of a launch, and of blocks that wait for each other, where these count


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


def attention_model(kind, rows, columns, terms=64, heads=16):
    builder = Builder(kind)
    q = builder.tensor("q", [1, heads, rows, terms], builder.inputs)
    k, v = (builder.tensor(name, [1, heads, columns, terms], builder.inputs) for name in "kv")
    scale = numpy.float16(0.125) if kind == "f16" else numpy.float32(0.125)
    builder.weights.append(helper.make_tensor("scale", builder.type, [], scale.tobytes(), raw=True))
    builder.node("Transpose", [k], "turned", perm=[0, 1, 3, 2])
    builder.node("MatMul", [q, "turned"], "products")
    builder.node("Mul", ["products", "scale"], "scores")
    builder.node("Softmax", ["scores"], "shares", axis=-1)
    builder.node("MatMul", ["shares", v], "y")
    builder.tensor("y", [1, heads, rows, terms], builder.outputs)
    return builder.model()


def attention(kind="f16", good=20, words=()):
    # 128 rows of one head for each of 128 blocks, and 64 keys in a step.
    # In f32 a step has loops over 64 terms and over 64 columns, four at a time.
    name = "tf32" if words else kind
    turns = 64 // 4 if kind == "f32" and not words else 1
    return Kernel(f"attention-{name}, 16x1024x64", attention_model(kind, 1024, 1024), good, steps=1024 // 64, most=2, words=words,
                  turns=turns)


def decoder_step(heads, columns, terms, good, shares):
    """A row of queries for each head, against a cache, in f16: keys and values are read once. Loops read as many bytes beside
    them, of queries and shares, which are in the near cache: their shares are twice as large."""
    launch_and_wait = 5
    return Kernel(f"row-{columns}, {heads} heads of {terms} f16", attention_model("f16", 1, columns, terms, heads), good,
                  2 * heads * columns * terms * 2, shares=shares, most=2, fixed=launch_and_wait)


def all_kernels():
    return [sum_of_all(), softmax(), layer_norm(), rms_norm(), vector_product("f16", 14), vector_product("f32", 23), elementwise(),
            attention(), attention("f32", 107), attention("f32", 40, ("--tf32",)), decoder_step(16, 1024, 64, 8, (0.01, 1, 0.5)),
            decoder_step(32, 8192, 128, 50, (1, 0.02, 1, 0.02))]
