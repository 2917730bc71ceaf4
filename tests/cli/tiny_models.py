"""ONNX models of a few nodes and tensor files, encoded by hand: the tests need no Python package."""

import struct

F32 = 1
I64 = 7
STRING = 8
BOOL = 9
F16 = 10
BF16 = 16


def varint(value):
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def number(field, value):
    return varint(field << 3) + varint(value)


def content(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor_type(data_type, sizes):
    """A TypeProto; sizes are numbers or names."""
    dimensions = b"".join(
        content(1, number(1, size) if isinstance(size, int) else content(2, size)) for size in sizes)
    return content(1, number(1, data_type) + content(2, dimensions))


def sequence_type(data_type):
    return content(4, content(1, content(1, number(1, data_type))))


def value_info(name, type_message):
    return content(1, name) + content(2, type_message)


def integer_attribute(name, value):
    return content(1, name) + number(3, value) + number(20, 2)


def float_attribute(name, value):
    return content(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)


def integers_attribute(name, values):
    return content(1, name) + b"".join(number(8, value) for value in values) + number(20, 7)


def string_attribute(name, value):
    return content(1, name) + content(4, value) + number(20, 3)


def graph_attribute(name, nodes, outputs, inputs=()):
    """A subgraph; inputs and outputs are (name, type) pairs."""
    graph = b"".join(content(1, each) for each in nodes) + content(2, name)
    graph += b"".join(content(11, value_info(*each)) for each in inputs)
    graph += b"".join(content(12, value_info(*each)) for each in outputs)
    return content(1, name) + content(6, graph) + number(20, 5)


def node(op_type, inputs, outputs, domain="", attributes=()):
    fields = [content(1, name) for name in inputs] + [content(2, name) for name in outputs]
    fields += [content(4, op_type), *(content(5, each) for each in attributes)]
    return b"".join(fields) + (content(7, domain) if domain else b"")


def model(nodes, inputs, outputs, domains=(), initializers=()):
    """The bytes of a model file; inputs and outputs are (name, type) pairs."""
    graph = b"".join(content(1, each) for each in nodes) + content(2, "tiny")
    graph += b"".join(content(5, each) for each in initializers)
    graph += b"".join(content(11, value_info(*each)) for each in inputs)
    graph += b"".join(content(12, value_info(*each)) for each in outputs)
    operator_sets = content(8, content(1, "") + number(2, 17))
    for domain in domains:
        operator_sets += content(8, content(1, domain) + number(2, 1))
    return number(1, 8) + content(7, graph) + operator_sets


def counting_loop(steps, size=1, one=None):
    """A model whose Loop adds `one`, the tensor of this name, to its input so many times."""
    vector, flag = tensor_type(F32, [size]), tensor_type(BOOL, [])
    body = graph_attribute(
        "body", [node("Add", ["v", "one"], ["w"]), node("Identity", ["condition"], ["go_on"])],
        [("go_on", flag), ("w", vector)], [("i", tensor_type(I64, [])), ("condition", flag), ("v", vector)])
    return model([node("Identity", ["x"], ["begin"]),
                  node("Loop", ["steps", "", "begin"], ["end"], attributes=[body]),
                  node("Add", ["end", "begin"], ["y"])],
                 [("x", vector)], [("y", vector)],
                 initializers=[tensor("steps", [], [steps], I64), one or tensor("one", [size], [1] * size)])


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def external_tensor(name, sizes, location):
    """A TensorProto whose data is in a file."""
    dimensions = b"".join(number(1, size) for size in sizes)
    place = content(13, content(1, "location") + content(2, location))
    return dimensions + number(2, F32) + content(8, name) + place + number(14, 1)


def tensor(name, sizes, values, data_type=F32):
    """The bytes of a tensor file."""
    letter = {F32: "f", I64: "q", F16: "e", BF16: "f"}[data_type]
    raw = struct.pack(f"<{len(values)}{letter}", *values)
    if data_type == BF16:  # the upper halves of f32
        raw = b"".join(raw[i + 2:i + 4] for i in range(0, len(raw), 4))
    dimensions = b"".join(number(1, size) for size in sizes)
    return dimensions + number(2, data_type) + content(8, name) + content(9, raw)
