"""Damage to tensors and types: shapes, element types, sizes, external data."""

from onnx import TensorProto, helper

from base_models import (BUILT, attention, convolution, floats, integers, model, node, perceptron, typed_fields,
                         value)
from cases import EITHER, REJECT, Folder, Link, Pipe, damage

HUGE = 2**62


def with_first_tensor(change, build=perceptron):
    base = build()
    change(base.graph.initializer[0])
    return base


def set_dimensions(*extents):
    def change(tensor):
        del tensor.dims[:]
        tensor.dims.extend(extents)

    return change


def with_input_shape(*extents):
    """A Relu on an input of the given shape."""
    return model([node("Relu", "x", "y")], [value("x", list(extents))], [value("y", None)])


@damage("absurd shape")
def shapes():
    for label, extents in {
        "negative": (-4, 5), "both negative": (-4, -5), "most negative": (-(2**63), 1), "huge": (HUGE, 1),
        "product overflows": (2**32, 2**32), "product overflows to its size": (2**62 + 5, 4), "zero": (0, 5),
        "huge times zero": (2**63 - 1, 0, 2), "a thousand dimensions": (1,) * 999 + (20 + 1,),
        "scalar": (), "byte size overflows": (2**62, 1, 1),
    }.items():
        yield f"initializer {label}", REJECT, with_first_tensor(set_dimensions(*extents))
    for label, expect, extents in (
        ("negative", REJECT, (-5, 2)), ("most negative", REJECT, (-(2**63),)),
        ("product overflows", REJECT, (2**40, 2**40)), ("product overflows to zero", REJECT, (2**32, 2**32)),
        ("largest", EITHER, (2**63 - 1,)), ("a terabyte", EITHER, (2**20, 2**18)), ("zero", EITHER, (0, 3)),
        ("ten thousand dimensions", EITHER, (1,) * 10_000),
    ):
        yield f"input {label}", expect, with_input_shape(*extents)
    for name, build in BUILT.items():
        if build().graph.initializer:
            yield f"negative {name}", REJECT, with_first_tensor(set_dimensions(-1, -1), build)


@damage("conflicting shapes")
def conflicts():
    inputs, outputs = [value("x", [2, 3])], [value("y", None)]
    for label, nodes, initializers in (
        ("matmul", [node("MatMul", "x w", "y")], [floats("w", (4, 5))]),
        ("add", [node("Add", "x w", "y")], [floats("w", (4, 5))]),
        ("gemm", [node("Gemm", "x w", "y", transA=1)], [floats("w", (3, 5))]),
        ("concat", [node("Concat", "x w", "y", axis=0)], [floats("w", (2, 4))]),
        ("reshape", [node("Reshape", "x w", "y")], [integers("w", [4, 4])]),
        ("reshape to -2", [node("Reshape", "x w", "y")], [integers("w", [-2, 3])]),
        ("reshape to two unknowns", [node("Reshape", "x w", "y")], [integers("w", [-1, -1])]),
        ("reshape overflows", [node("Reshape", "x w", "y")], [integers("w", [2**62, 2**62, 6])]),
        ("conv", [node("Conv", "x w", "y")], [floats("w", (2, 3, 1, 1))]),
        ("expand", [node("Expand", "x w", "y")], [integers("w", [7, 7])]),
        ("squeeze", [node("Squeeze", "x w", "y")], [integers("w", [0])]),
        ("split", [node("Split", "x w", "y z", axis=0)], [integers("w", [5, 5])]),
        ("matmul of types", [node("MatMul", "x w", "y")], [integers("w", [[1], [2], [3]])]),
    ):
        yield label, REJECT, model(nodes, inputs, outputs, initializers)
    base = perceptron()
    base.graph.output[0].CopyFrom(value("y", [9, 9]))
    yield "declared output", EITHER, base
    base = perceptron()
    base.graph.output[0].CopyFrom(value("y", [2, 3], TensorProto.INT64))
    yield "declared output type", EITHER, base
    base = perceptron()
    base.graph.value_info.append(value("a", [7]))
    yield "declared inner value", EITHER, base


@damage("memory bomb")
def bombs():
    """A few hundred bytes that ask for an exabyte when folded or run."""
    sizes = integers("w", [2**30, 2**30])
    repeats = integers("w", [2**31, 2**31])
    limit = [helper.make_tensor(name, TensorProto.INT64, [], [number])
             for name, number in (("start", 0), ("limit", 2**60), ("step", 1))]
    inputs, outputs = [value("x", [1, 1])], [value("y", None)]
    for label, nodes, initializers in (
        ("constant of shape", [node("ConstantOfShape", "w", "y")], [sizes]),
        ("used constant of shape", [node("ConstantOfShape", "w", "a"), node("Add", "a x", "y")], [sizes]),
        ("expand", [node("Expand", "x w", "y")], [sizes]),
        ("tile", [node("Tile", "x w", "y")], [repeats]),
        ("pad", [node("Pad", "x w", "y")], [integers("w", [2**30, 2**30, 2**30, 2**30])]),
        ("range", [node("Range", "start limit step", "y")], limit),
        ("constant expand", [node("Expand", "c w", "y")], [sizes, floats("c", (1, 1))]),
        ("folded chain", [node("Expand", "c w", "a"), node("MatMul", "a a", "y")], [sizes, floats("c", (1, 1))]),
    ):
        yield label, EITHER, model(nodes, inputs, outputs, initializers)
    doubling = [node("Concat", f"v{index} v{index}" if index else "x x", f"v{index + 1}", axis=0)
                for index in range(70)]
    yield "doubling concat", EITHER, model([*doubling, node("Relu", "v70", "y")], inputs, outputs)
    base = with_first_tensor(set_dimensions(2**33))
    base.graph.initializer[0].ClearField("raw_data")
    yield "empty initializer", REJECT, base


@damage("element type")
def element_types():
    for number in (0, 24, 99, -1, 2**31 - 1):
        base = perceptron()
        base.graph.initializer[0].data_type = number
        yield f"initializer {number}", EITHER if number == 24 else REJECT, base
        base = perceptron()
        base.graph.input[0].type.tensor_type.elem_type = number
        yield f"input {number}", EITHER if number == 24 else REJECT, base
        yield f"cast {number}", EITHER, model([node("Cast", "x", "y", to=number)], [value("x", [2])],
                                              [value("y", [2], TensorProto.INT32)])
    base = perceptron()
    base.graph.initializer[0].data_type = TensorProto.STRING
    yield "text in raw data", REJECT, base


def grow(tensor):
    tensor.raw_data += b"\0\0\0\0"


def shrink(tensor):
    tensor.raw_data = tensor.raw_data[:-1]


def empty(tensor):
    tensor.ClearField("raw_data")


def another_type(tensor):
    tensor.data_type = TensorProto.DOUBLE


@damage("initializer size")
def sizes():
    for name, build in BUILT.items():
        if name != "typed_fields" and build().graph.initializer:
            for change in (grow, shrink, empty, another_type):
                yield f"{change.__name__} {name}", REJECT, with_first_tensor(change, build)
    base = typed_fields()
    base.graph.initializer[0].float_data.pop()
    yield "typed too short", REJECT, base
    base = typed_fields()
    base.graph.initializer[0].float_data.append(1.0)
    yield "typed too long", REJECT, base
    base = typed_fields()
    base.graph.initializer[0].raw_data = b"\0" * 80
    yield "typed and raw", EITHER, base
    base = typed_fields()
    base.graph.initializer[0].data_type = TensorProto.INT64
    yield "values in the wrong field", REJECT, base
    tensor = floats("tensor", (3,))
    tensor.raw_data += b"\0"
    yield "constant node", REJECT, model([node("Constant", "", "c", value=tensor), node("Add", "x c", "y")],
                                         [value("x", [3])], [value("y", [3])])
    base = perceptron()
    base.graph.initializer[0].name = ""
    yield "without name", REJECT, base


WEIGHTS = floats("first", (4, 5)).raw_data


def external(location, **entries):
    """The perceptron with its first tensor (80 bytes) in another file."""
    base = perceptron()
    tensor = base.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    if location is not None:
        entries = {"location": location, **entries}
    for key, text in entries.items():
        tensor.external_data.add(key=key, value=str(text))
    return base


@damage("external data")
def external_data():
    yield "sound", EITHER, external("sound.data"), {"sound.data": WEIGHTS}
    yield "file missing", REJECT, external("nowhere.data")
    yield "folder missing", REJECT, external("no/where.data")
    yield "no location", REJECT, external(None)
    yield "empty location", REJECT, external("")
    yield "a folder", REJECT, external("a_folder.data"), {"a_folder.data": Folder()}
    yield "this folder", REJECT, external(".")
    yield "too short", REJECT, external("short.data"), {"short.data": WEIGHTS[:-1]}
    yield "empty file", REJECT, external("empty.data"), {"empty.data": b""}
    yield "named pipe", REJECT, external("pipe.data"), {"pipe.data": Pipe()}
    yield "dangling link", REJECT, external("dangling.data"), {"dangling.data": Link("nowhere.data")}
    for label, entries in {
        "offset beyond the end": {"offset": 4096, "length": 80}, "offset negative": {"offset": -8, "length": 80},
        "offset overflows": {"offset": 2**63 - 8, "length": 80}, "offset beyond 64 bits": {"offset": 2**70},
        "offset text": {"offset": "eight"}, "length too short": {"offset": 0, "length": 79},
        "length beyond the end": {"offset": 0, "length": 2**40}, "length negative": {"length": -1},
        "length text": {"length": "80 bytes"}, "end beyond the end": {"offset": 40, "length": 80},
    }.items():
        name = label.replace(" ", "_") + ".data"
        yield label, REJECT, external(name, **entries), {name: WEIGHTS}
    base = external("both.data")
    base.graph.initializer[0].raw_data = WEIGHTS
    yield "raw data as well", EITHER, base, {"both.data": WEIGHTS}
    yield "null in the name", REJECT, external("null\0.data"), {"null": WEIGHTS}
    yield "long name", REJECT, external("n" * 100_000)


@damage("external data outside the folder")
def outside():
    """../outside/weights.data is there and of the right size: only its place is wrong."""
    for label, location in {
        "parent": "../outside/weights.data", "parent by a detour": "detour/../../outside/weights.data",
        "parent by dots": "./.././outside/weights.data", "parents to the root": "../" * 40 + "etc/hostname",
        "absolute file": "/etc/hostname", "absolute device": "/dev/zero", "absolute with slashes": "///dev/zero",
        "process memory": "/proc/self/mem",
    }.items():
        yield label, REJECT, external(location, offset=0, length=80), {"detour": Folder()}
    yield "link", REJECT, external("link.data"), {"link.data": Link("../outside/weights.data")}
    yield "link to a device", REJECT, external("zero.data", length=80), {"zero.data": Link("/dev/zero")}
    yield "link to a folder", REJECT, external("door/weights.data"), {"door": Link("../outside")}
    yield "link to a link", REJECT, external("second.data"), {"second.data": Link("link.data"),
                                                              "link.data": Link("../outside/weights.data")}
    yield "link to itself", REJECT, external("loop.data"), {"loop.data": Link("loop.data")}


@damage("sparse tensor")
def sparse():
    base = perceptron()
    del base.graph.initializer[0]
    entry = base.graph.sparse_initializer.add()
    entry.values.CopyFrom(floats("first", (2,)))
    entry.indices.CopyFrom(integers("indices", [3, 7]))
    entry.dims.extend([4, 5])
    yield "sound", EITHER, base
    for label, indices in (("index out of range", [3, 99]), ("index negative", [-1, 3]), ("too few", [3])):
        broken = type(base).FromString(base.SerializeToString())
        broken.graph.sparse_initializer[0].indices.CopyFrom(integers("indices", indices))
        yield label, EITHER, broken


@damage("constant operand")
def operands():
    """Operands of data operators that lead out of bounds."""
    inputs, outputs = [value("x", [2, 3])], [value("y", None)]
    for label, nodes, initializers in (
        ("gather", [node("Gather", "x w", "y", axis=0)], [integers("w", [2**40])]),
        ("gather negative", [node("Gather", "x w", "y", axis=0)], [integers("w", [-9])]),
        ("constant gather", [node("Gather", "c w", "a", axis=0), node("Add", "x a", "y")],
         [integers("w", [1000]), floats("c", (2, 3))]),
        ("slice step zero", [node("Slice", "x b b b w", "y")], [integers("w", [0]), integers("b", [1])]),
        ("slice extremes", [node("Slice", "x b e a s", "y")],
         [integers("b", [-(2**63)]), integers("e", [2**63 - 1]), integers("a", [0]), integers("s", [-(2**63)])]),
        ("pad below zero", [node("Pad", "x w", "y")], [integers("w", [-9, -9, -9, -9])]),
        ("tile negative", [node("Tile", "x w", "y")], [integers("w", [-1, -1])]),
        ("unsqueeze far", [node("Unsqueeze", "x w", "y")], [integers("w", [2**40])]),
        ("reduce axis", [node("ReduceSum", "x w", "y")], [integers("w", [5])]),
        ("integer division by zero", [node("Div", "w z", "y")], [integers("w", [1]), integers("z", [0])]),
        ("integer division overflow", [node("Div", "w z", "y")], [integers("w", [-(2**63)]), integers("z", [-1])]),
        ("integer modulus by zero", [node("Mod", "w z", "y")], [integers("w", [1]), integers("z", [0])]),
        ("cumulative sum axis", [node("CumSum", "x w", "y")], [integers("w", 9)]),
        ("one-hot depth", [node("OneHot", "w d v", "y")], [integers("w", [1]), integers("d", -5),
                                                           integers("v", [0, 1])]),
    ):
        yield label, EITHER, model(nodes, inputs, outputs, initializers)
    for name, build in (("convolution", convolution), ("attention", attention)):
        base = build()
        base.graph.input[0].type.tensor_type.shape.dim.pop()
        yield f"rank too low {name}", EITHER, base
