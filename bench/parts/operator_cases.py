"""Models of one operator each, in three sizes and all types that ONNX Runtime takes: what bench/tasks operators times.

Operators with inputs of one type and one size, and without attributes that have to be given, are those of the standard, as
the package onnx lists them. For the others, CASES has the inputs and attributes of each size.
"""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
NEWER = {"RMSNormalization": 23}  # operators that came later
SIZES = [(64, 1024), (8, 32, 28, 28), (1000, 96)]
TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
         "bfloat16": TensorProto.BFLOAT16, "int8": TensorProto.INT8, "int16": TensorProto.INT16,
         "int32": TensorProto.INT32, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8,
         "uint16": TensorProto.UINT16, "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64,
         "bool": TensorProto.BOOL}
NAMES = {number: name for name, number in TYPES.items()}
GENERAL = [name for name in TYPES if name not in ("bool", "bfloat16")]
REAL = ["float32", "float64", "float16"]


class Input:
    """An input of the model, or, with contents, a constant."""

    def __init__(self, shape, kind=None, contents=None):
        self.shape, self.kind, self.contents = list(shape), kind, contents


def constant(array):
    array = numpy.asarray(array)
    return Input(array.shape, contents=array)


NONE = constant([])  # an input that is left out


def whole(*values):
    return constant(numpy.array(values, numpy.int64))


def random_indices(shape, limit):
    return constant(numpy.random.default_rng(1).integers(0, limit, shape).astype(numpy.int64))


def distinct_indices(count, limit):
    return constant(numpy.random.default_rng(1).permutation(limit)[:count].astype(numpy.int64))


# ---- Cases with inputs of their own ----------------------------------------------------------------------------------
# By operator: the types of the elements, and for each size inputs and attributes.

def along_axes(make, types=GENERAL):
    """The last axis of each size, and the first one of the last."""
    return types, [make(size, axis) for size, axis in [(SIZES[0], -1), (SIZES[1], 1), (SIZES[2], 0)]]


def reduction(size, axis):
    return [Input(size), whole(axis)], {}


def windows(channels, filters, size, kernel, weights="weights", **attributes):
    """`weights`: None for those that are an input."""
    return ([Input((1, channels, size, size)), Input((filters, channels // attributes.get("group", 1), kernel, kernel), "float32", weights)],
            attributes)


def resized(mode, *scales, **attributes):
    size = (1, 16, 56, 56)
    return [Input(size), NONE, constant(numpy.array([1, 1, *scales], numpy.float32))], {"mode": mode, **attributes}


def channels_of(size, count, **attributes):
    """The elements, and `count` numbers for each channel, which are positive."""
    values = constant(numpy.random.default_rng(1).uniform(0.5, 2, size[1]).astype(numpy.float32))
    return [Input(size), *[values] * count], attributes


def scattered(size, count, axis):
    updates = list(size)
    updates[axis] = count
    return [Input(size), random_indices(updates, size[axis]), Input(updates)], {"axis": axis}


def slices(size, count):
    return [Input(size), Input((count, 1), contents=distinct_indices(count, size[0]).contents.reshape(count, 1)),
            Input((count, *size[1:]))], {}


def quantized(array_type, scale, zero):
    return [constant(numpy.float32(scale)), constant(array_type(zero))]


def rounded_product(rows, inner, columns):
    return [Input((rows, inner), "uint8"), *quantized(numpy.uint8, 0.1, 3), Input((inner, columns), "int8", "weights"),
            *quantized(numpy.int8, 0.02, 0), *quantized(numpy.uint8, 4, 100)], {}


def rounded_windows(channels, filters, size, **attributes):
    return [Input((1, channels, size, size), "uint8"), *quantized(numpy.uint8, 0.1, 3),
            Input((filters, channels // attributes.get("group", 1), 3, 3), "int8", "weights"),
            *quantized(numpy.int8, 0.02, 0), *quantized(numpy.uint8, 4, 100)], {"pads": [1, 1, 1, 1], **attributes}


def quantized_product(rows, inner, columns):
    zero = [constant(numpy.uint8(3)), constant(numpy.int8(0))]
    return [Input((rows, inner), "uint8"), Input((inner, columns), "int8", "weights"), *zero], {}


def quantized_windows(channels, filters, size, **attributes):
    return [Input((1, channels, size, size), "uint8"), Input((filters, channels, 3, 3), "int8", "weights"),
            constant(numpy.uint8(3))], {"pads": [1, 1, 1, 1], **attributes}


CASES = {
    **{name: along_axes(reduction) for name in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd",
                                                "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")},
    **{name: along_axes(lambda size, axis: ([Input(size)], {"axis": axis}), types)
       for name, types in (("ArgMax", GENERAL), ("ArgMin", GENERAL), ("Softmax", REAL), ("LogSoftmax", REAL), ("Hardmax", REAL))},
    "CumSum": along_axes(lambda size, axis: ([Input(size), constant(numpy.int64(axis))], {"reverse": int(axis == 1)})),
    "TopK": along_axes(lambda size, axis: ([Input(size), whole(size[axis] // 8)], {"axis": axis})),
    "ScatterElements": (GENERAL, [scattered(SIZES[0], 200, 1), scattered(SIZES[1], 8, 1), scattered(SIZES[2], 300, 0)]),
    "ScatterND": (GENERAL, [slices((2000, 8), 500), slices(SIZES[2], 300), slices(SIZES[0], 32)]),
    "Gather": along_axes(lambda size, axis: ([Input(size), random_indices((50,), size[axis])], {"axis": axis})),
    "GatherElements": along_axes(lambda size, axis: ([Input(size), random_indices(size, size[axis])], {"axis": axis})),
    "Concat": along_axes(lambda size, axis: ([Input(size), Input(size)], {"axis": axis})),
    "Transpose": (GENERAL, [([Input(SIZES[0])], {}), ([Input(SIZES[1])], {"perm": [0, 2, 3, 1]}), ([Input(SIZES[2])], {})]),
    "Where": (GENERAL, [([Input(size, "bool"), Input(size), Input(size)], {}) for size in SIZES]),
    "Pad": (GENERAL, [([Input(size), whole(*[2] * (2 * len(size)))], {}) for size in SIZES]),
    "MatMul": (["float32", "float64", "int32", "int64"], [([Input((64, 256)), Input((256, 128))], {}),
                                                         ([Input((8, 128, 64)), Input((8, 64, 128))], {}),
                                                         ([Input((1, 1024)), Input((1024, 512))], {})]),
    "Gemm": (["float32", "float64"], [([Input((64, 256)), Input((128, 256))], {"transB": 1}),
                                      ([Input((256, 64)), Input((256, 128))], {"transA": 1}),
                                      ([Input((100, 300)), Input((300, 70))], {})]),
    "Conv": (["float32"], [windows(32, 32, 28, 3, pads=[1, 1, 1, 1]), windows(16, 32, 56, 3, strides=[2, 2]),
                           windows(64, 64, 28, 3, pads=[1, 1, 1, 1], group=64)]),
    "ConvTranspose": (["float32"], [windows(32, 32, 14, 4, pads=[1, 1, 1, 1], strides=[2, 2]),
                                    windows(16, 16, 28, 3, strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
                                    windows(32, 32, 28, 3, pads=[1, 1, 1, 1])]),
    "MaxPool": (["float32", "float64", "int8", "uint8"], [([Input((1, 32, 56, 56))], {"kernel_shape": [3, 3], **more})
                                                          for more in ({}, {"strides": [2, 2]}, {"pads": [1, 1, 1, 1]})]),
    "AveragePool": (["float32"], [([Input((1, 32, 56, 56))], {"kernel_shape": [3, 3], **more})
                                  for more in ({}, {"strides": [2, 2]}, {"pads": [1, 1, 1, 1]})]),
    "MatMulInteger": (["int32"], [quantized_product(*sizes) for sizes in ((64, 256, 256), (1, 1024, 1024), (100, 77, 200))]),
    "ConvInteger": (["int32"], [quantized_windows(32, 32, 28), quantized_windows(16, 64, 14),
                                quantized_windows(32, 32, 28, strides=[2, 2])]),
    "QuantizeLinear": (["float32"], [([Input(size), constant(numpy.float32(0.1)), constant(numpy.uint8(100))], {})
                                     for size in SIZES]),
    "DequantizeLinear": (["uint8", "int8"], [([Input(size), constant(numpy.float32(0.1))], {}) for size in SIZES]),
    **{name: (["float32", "float64"], [([Input(size), Input(size[-1:])], {}) for size in SIZES])
       for name in ("LayerNormalization", "RMSNormalization")},
    "Conv (weights as input)": (["float32"], [windows(32, 32, 28, 3, None, pads=[1, 1, 1, 1]), windows(64, 128, 28, 1, None),
                                              windows(16, 32, 56, 3, None, strides=[2, 2])]),
    "ConvTranspose (weights as input)": (["float32"], [windows(32, 32, 14, 4, None, pads=[1, 1, 1, 1], strides=[2, 2]),
                                                       windows(32, 32, 28, 3, None, pads=[1, 1, 1, 1])]),
    "MatMul (weights)": (["float32"], [([Input((rows, inner)), Input((inner, columns), "float32", "weights")], {})
                                       for rows, inner, columns in ((64, 256, 128), (1, 1024, 512), (128, 768, 768))]),
    "QLinearMatMul": (["uint8"], [rounded_product(*sizes) for sizes in ((64, 256, 256), (1, 1024, 1024), (100, 77, 200))]),
    "QLinearConv": (["uint8"], [rounded_windows(32, 32, 28), rounded_windows(64, 64, 28, group=64),
                                rounded_windows(32, 32, 28, strides=[2, 2])]),
    "DynamicQuantizeLinear": (["float32"], [([Input(size)], {}) for size in SIZES]),
    "PRelu": (GENERAL, [([Input(SIZES[0]), Input(SIZES[0][1:])], {}), ([Input(SIZES[1]), Input((32, 1, 1))], {})]),
    "Mod": (GENERAL, [([Input(size), Input(size)], {"fmod": 1}) for size in SIZES]),
    "Pow": (["float32", "float64", "int32", "int64"],
            [([Input(SIZES[0]), constant(numpy.float32(2))], {}), ([Input(SIZES[1]), constant(numpy.float32(0.5))], {}),
             ([Input(SIZES[0]), Input(SIZES[0])], {})]),
    "Resize": (["float32", "uint8"], [resized("linear", 2, 2), resized("nearest", 2, 2), resized("cubic", 1.5, 1.5)]),
    "OneHot": (["float32", "int64"], [([random_indices((rows,), depth), constant(numpy.int64(depth)),
                                        Input((2,))], {"axis": axis})
                                      for rows, depth, axis in ((1000, 100, -1), (1000, 100, 0))]),
    "GatherND": (GENERAL, [([Input((2000, 8)), Input((500, 1), contents=random_indices((500, 1), 2000).contents)], {}),
                           ([Input(SIZES[0]), Input((5000, 2), contents=random_indices((5000, 2), 64).contents)], {})]),
    "Tile": (GENERAL, [([Input((64, 256)), whole(2, 3)], {}), ([Input((8, 32, 28, 1)), whole(1, 1, 1, 28)], {})]),
    "Slice": (GENERAL, [([Input(SIZES[0]), whole(0, 1), whole(64, 1024), whole(0, 1), whole(1, 2)], {}),
                        ([Input(SIZES[1]), whole(27), whole(-29), whole(2), whole(-1)], {}),
                        ([Input(SIZES[2]), whole(10), whole(90), whole(1)], {})]),
    "Trilu": (GENERAL, [([Input((8, 128, 128))], {}), ([Input((300, 300))], {"upper": 0})]),
    "GridSample": (["float32"], [([Input((1, 16, 56, 56)), Input((1, 56, 56, 2))], {"mode": mode}) for mode in ("linear", "nearest")]),
    "LRN": (["float32"], [([Input(SIZES[1])], {"size": 5})]),
    "GroupNormalization": (["float32"], [channels_of(SIZES[1], 2, num_groups=8), channels_of((2, 64, 1000), 2, num_groups=4)]),
    "InstanceNormalization": (["float32"], [channels_of(SIZES[1], 2), channels_of((2, 64, 1000), 2)]),
    "BatchNormalization": (["float32"], [channels_of(SIZES[1], 4), channels_of((2, 64, 1000), 4)]),
    "Cast": (["float32", "float16", "bfloat16", "int8", "int32", "int64", "float64"],
             [([Input(SIZES[0])], {"to": to}) for to in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8)]),
    "BitShift": (["uint8", "uint32", "uint64"], [([Input(size), Input(size)], {"direction": "LEFT"}) for size in SIZES]),
    "Expand": (GENERAL, [([Input((64, 1)), whole(64, 1024)], {}), ([Input((1, 32, 1, 28)), whole(8, 32, 28, 28)], {})]),
    "DepthToSpace": (["float32", "uint8"], [([Input((1, 64, 56, 56))], {"blocksize": 2})]),
    "SpaceToDepth": (["float32"], [([Input((1, 16, 112, 112))], {"blocksize": 2})]),
}


# ---- Cases of the standard -------------------------------------------------------------------------------------------

def types_of(schema, name):
    allowed = next((constraint.allowed_type_strs for constraint in schema.type_constraints
                    if constraint.type_param_str == name), [name])
    numpy_names = {"float": "float32", "double": "float64"}
    inner = [text[len("tensor("):-1] for text in allowed if text.startswith("tensor(")]
    return [kind for kind in (numpy_names.get(text, text) for text in inner) if kind in TYPES]


def plain_cases():
    """Operators whose inputs, one or two, have one type and one size."""
    names = {schema.name for schema in onnx.defs.get_all_schemas_with_history()
             if schema.domain == "" and schema.since_version <= OPSET}
    for schema in (onnx.defs.get_schema(name, OPSET) for name in sorted(names)):
        if schema.deprecated or schema.name in CASES or len(schema.outputs) != 1:
            continue
        required = [parameter for parameter in schema.inputs if parameter.option == onnx.defs.OpSchema.FormalParameterOption.Single]
        variadic = any(parameter.option == onnx.defs.OpSchema.FormalParameterOption.Variadic for parameter in schema.inputs)
        given = schema.inputs[:1] * 2 if variadic else required
        if not 1 <= len(given) <= 2 or len({parameter.type_str for parameter in given}) != 1 or any(
                attribute.required for attribute in schema.attributes.values()):
            continue
        yield schema.name, types_of(schema, given[0].type_str), [([Input(size) for _ in given], {}) for size in SIZES]


def all_cases():
    """(operator, types, list of inputs and attributes), an operator after the other."""
    listed = [(name, types, cases) for name, (types, cases) in CASES.items()]
    yield from sorted([*listed, *plain_cases()])


# Procedures, and loops that are long, by a size that grows: inputs and attributes.
GROWTH = {
    "TopK": lambda n: ([Input((8, n)), whole(n // 8)], {"axis": -1}),
    "CumSum": lambda n: ([Input((8, n)), constant(numpy.int64(1))], {}),
    "ScatterElements": lambda n: scattered((8, n), n // 4, 1),
    "ScatterND": lambda n: slices((n, 8), n // 4),
    "GatherElements": lambda n: ([Input((8, n)), random_indices((8, n), n)], {"axis": -1}),
    "ReduceSum": lambda n: ([Input((8, n)), whole(1)], {}),
    "ArgMax": lambda n: ([Input((8, n))], {"axis": -1}),
    "Softmax": lambda n: ([Input((8, n))], {"axis": -1}),
    "Resize": lambda n: ([Input((1, 8, n // 32, 32)), NONE, constant(numpy.array([1, 1, 2, 2], numpy.float32))],
                         {"mode": "linear"}),
    "ConvTranspose": lambda n: ([Input((1, 8, n // 32, 32)), Input((8, 8, 3, 3), "float32", "weights")],
                                {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "DFT": lambda n: ([Input((1, n // 32, 1))], {}),
    "LSTM": lambda n: ([Input((n // 128, 1, 32)), Input((1, 128, 32), "float32", "weights"),
                        Input((1, 128, 32), "float32", "weights")], {"hidden_size": 32}),
}


def model_of(name, kind, inputs, attributes):
    """None if the standard does not have it. The first word of a name is the operator."""
    name = name.split()[0]
    words, values, weights = [], [], []
    for number, given in enumerate(inputs):
        word = f"x{number}" if given is not NONE else ""
        words.append(word)
        if given is NONE:
            continue
        if isinstance(given.contents, str):
            array = numpy.random.default_rng(2).integers(-100, 100, given.shape).astype(given.kind)
            weights.append(numpy_helper.from_array(array, word))
        elif given.contents is not None:
            weights.append(numpy_helper.from_array(given.contents, word))
        else:
            values.append(helper.make_tensor_value_info(word, TYPES[given.kind or kind], given.shape))
    outputs = {"TopK": ["y", "z"], "DynamicQuantizeLinear": ["y", "scale", "zero"]}.get(name, ["y"])
    node = helper.make_node(name, words, outputs, **attributes)
    graph = helper.make_graph([node], "operator", values, [onnx.ValueInfoProto(name=output) for output in outputs], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", NEWER.get(name, OPSET))], ir_version=10)
    try:
        return onnx.shape_inference.infer_shapes(model, strict_mode=True, check_type=True)
    except Exception:  # noqa: BLE001 - whatever the checker raises
        return None


def text_of(inputs, attributes):
    sizes = ", ".join("x".join(map(str, given.shape)) for given in inputs if given.shape)
    return "; ".join([sizes, *(f"{name} {value}" for name, value in attributes.items())])
