"""Models with ONNX's sharding specifications: two layers, split over devices in the usual ways, and specifications that are wrong."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, WIDTH, HIDDEN = 8, 6, 16
WHOLE = ()


def layers(seed=0, last="Relu"):
    """y = last(Relu(x w1 + b1) w2 + b2)."""
    random = numpy.random.default_rng(seed)
    weights = {"w1": (WIDTH, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN, WIDTH), "b2": (WIDTH,)}
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["m1"]), helper.make_node("Add", ["m1", "b1"], ["a1"]),
             helper.make_node("Relu", ["a1"], ["r1"]), helper.make_node("MatMul", ["r1", "w2"], ["m2"]),
             helper.make_node("Add", ["m2", "b2"], ["a2"]), helper.make_node(last, ["a2"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, WIDTH]) for name in "xy")
    graph = helper.make_graph(nodes, "layers", [x], [y], [
        numpy_helper.from_array(random.uniform(-1, 1, shape).astype(numpy.float32), name) for name, shape in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=11)


def specification(tensor, cuts, devices):
    """Parts along axes, as ((0, 2),), on devices; a list in place of a device is a group that has the same part."""
    proto = onnx.ShardingSpecProto(tensor_name=tensor)
    for axis, parts in cuts:
        proto.sharded_dim.append(onnx.ShardedDimProto(axis=axis, simple_sharding=[onnx.SimpleShardedDimProto(num_shards=parts)]))
    for device in devices:
        if isinstance(device, list):
            key = -1 - len(proto.index_to_device_group_map)
            proto.index_to_device_group_map.append(onnx.IntIntListEntryProto(key=key, value=device))
            device = key
        proto.device.append(device)
    return proto


def on_all(cuts, devices=2):
    """Where the parts of a tensor are, if there are as many as devices, or one."""
    return cuts, list(range(devices)) if cuts else [list(range(devices))]


def with_specifications(model, nodes, devices=2, configuration="devices", stages=None):
    """The model with specifications: by first output of a node and by tensor, cuts and devices."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    if configuration not in [known.name for known in result.configuration]:
        result.configuration.append(onnx.DeviceConfigurationProto(name=configuration, num_devices=devices))
    for node in result.graph.node:
        if node.output[0] not in nodes:
            continue
        proto = onnx.NodeDeviceConfigurationProto(configuration_id=configuration)
        for tensor, (cuts, places) in nodes[node.output[0]].items():
            proto.sharding_spec.append(specification(tensor, cuts, places))
        if stages:
            proto.pipeline_stage = stages[node.output[0]]
        node.device_configurations.append(proto)
    return result


ROWS_CUT, COLUMNS_CUT, FIRST_CUT = (((0, 2),), ((1, 2),), ((0, 2),))

# Each device has half of the samples.
DATA = {"m1": {"x": on_all(ROWS_CUT), "w1": on_all(WHOLE), "m1": on_all(ROWS_CUT)}}
# Each device has half of the hidden numbers. What is added up in front of the last bias is no part of the model.
TENSOR = {
    "m1": {"x": on_all(WHOLE), "w1": on_all(COLUMNS_CUT), "m1": on_all(COLUMNS_CUT)},
    "a1": {"m1": on_all(COLUMNS_CUT), "b1": on_all(FIRST_CUT), "a1": on_all(COLUMNS_CUT)},
    "m2": {"r1": on_all(COLUMNS_CUT), "w2": on_all(ROWS_CUT), "m2": on_all(WHOLE)},
}
# The second layer is computed for half of the samples, which are sent where they are needed.
CHANGED = TENSOR | {"m2": {"r1": on_all(ROWS_CUT), "w2": on_all(WHOLE), "m2": on_all(ROWS_CUT)}}
# Samples on two rows of devices, hidden numbers on two columns: device 2i + j.
GRID = {
    "m1": {"x": (((0, 2),), [[0, 1], [2, 3]]), "w1": (((1, 2),), [[0, 2], [1, 3]]), "m1": (((0, 2), (1, 2)), [0, 1, 2, 3])},
    "a1": {"b1": (((0, 2),), [[0, 2], [1, 3]])},
    "m2": {"w2": (((0, 2),), [[0, 2], [1, 3]]), "m2": (((0, 2),), [[0, 1], [2, 3]])},
}
# The parts in another order than the devices.
BACKWARDS = {"m1": {"x": (ROWS_CUT, [1, 0]), "m1": (ROWS_CUT, [1, 0])}}
# Each operator on a device.
STAGES = {output: {tensor: ((), [place]) for tensor in tensors} for output, place, tensors in (
    ("m1", 0, ("x", "w1", "m1")), ("a1", 0, ("m1", "b1", "a1")), ("r1", 0, ("a1", "r1")), ("m2", 1, ("r1", "w2", "m2")),
    ("a2", 1, ("m2", "b2", "a2")), ("y", 1, ("a2", "y")))}

RIGHT = {"data": (DATA, 2), "tensor": (TENSOR, 2), "changed": (CHANGED, 2), "grid": (GRID, 4), "backwards": (BACKWARDS, 2),
         "stages": (STAGES, 2)}

# Specifications that do not fit, and what is said of them.
MISFITS = {
    "axis": ({"m1": {"x": (((2, 2),), [0, 1])}}, "MatMul 'm1', the specification of 'x': axis 2 is none of"),
    "negative axis": ({"m1": {"x": (((-3, 2),), [0, 1])}}, "axis -3 is none of"),
    "device": ({"m1": {"x": (ROWS_CUT, [0, 2])}}, "MatMul 'm1', the specification of 'x': device 2 is none of the 2"),
    "parts": ({"a1": {"b1": (((0, 3),), [0, 1, 1])}}, "cannot be cut into 3 equal parts"),
    "fewer devices": ({"m1": {"x": (ROWS_CUT, [0])}}, "2 parts are on a list of 1"),
    "twice": ({"m1": {"x": (ROWS_CUT, [1, 1])}}, "device 1 is there twice"),
    "tensor": ({"m1": {"b1": (FIRST_CUT, [0, 1])}}, "MatMul 'm1', the specification of 'b1': this is none of its tensors"),
    "no parts": ({"m1": {"x": (((0, 0),), [0, 1])}}, "no number of shards"),
    "cut twice": ({"m1": {"x": (((0, 2), (-2, 2)), [0, 1, 2, 3])}}, "is cut twice"),
    "summed": ({"m1": {"x": (COLUMNS_CUT, [0, 1]), "w1": ((), [[0, 1]])}}, "MatMul 'm1', with operands as the specifications say"),
    "some devices": ({"m1": {"x": (ROWS_CUT, [0, 1]), "w1": ((), [0])}}, "on 1 of 2 devices"),
}
