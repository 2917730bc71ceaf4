#!/usr/bin/env python3
"""Times single operators of models as task programs (docs/rtask.md), beside ONNX Runtime and OpenVINO, whose plugin for
processors runs the kernels of oneDNN. So it is seen where the kernel of a library would be better, and by how much.

The nodes of each model are timed by ONNX Runtime's profiler, without its optimizations. Those with the same operator,
attributes and sizes are one case. For each model the cases that take most become models of one node, with the node's
own weights and random inputs; they are emitted, checked and timed as by bench/tasks times.

GFLOP/s are of the program, from the operations that `lemma inspect` counts, also where the program computes fewer by
tiles of windows. Ratios are those of bench/tasks times: medians of the time over that of ONNX Runtime.

Exit code: 0 all programs are built and agree, 4 otherwise.
"""

import argparse
import collections
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import numpy
import onnx
import onnxruntime

import results
import task_times
from agreement import ELEMENT_TYPES, inputs_of

MODELS = ["squeezenet1_1", "resnext50_32x4d", "inception_v3", "nasnet_a", "vgg19", "bert-base", "decoder"]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks kernels",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files (default: models of the literature)")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "real_models", help="folder of models and peers")
    parser.add_argument("--threads", type=int, default=1, help="of all runtimes")
    parser.add_argument("--operators", type=int, default=3, help="cases of each model")
    parser.add_argument("--kinds", nargs="+", metavar="NAME", help="operators with these names only")
    parser.add_argument("--seconds", type=float, default=1, help="of timing, for each case")
    parser.add_argument("--runs", type=int, help="as many rounds, in place of --seconds")
    parser.add_argument("--no-openvino", dest="openvino", action="store_false",
                        help="OpenVINO needs a Python that has it: see bench/models times --peers")
    parser.add_argument("--json", type=Path)
    results.add_option(parser)
    return parser.parse_args()


# ---- Cases -----------------------------------------------------------------------------------------------------------

def constants_of(model):
    """Tensors by name."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            constants[node.output[0]] = node.attribute[0].t
    return constants


def profiled(model, feed, rounds=3):
    """Seconds and types of inputs of each node by its name, which has to be its own."""
    seconds, types = collections.Counter(), {}
    with tempfile.TemporaryDirectory(prefix="lemma-kernels-") as folder:
        settings = onnxruntime.SessionOptions()
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        settings.intra_op_num_threads = 1
        settings.add_session_config_entry("session.disable_prepacking", "1")  # weights are named only where they are kept
        settings.enable_profiling = True
        settings.profile_file_prefix = str(Path(folder) / "profile")
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        for _ in range(rounds):
            session.run(None, feed)
        events = json.loads(Path(session.end_profiling()).read_text())
    for event in events:
        name, is_kernel, _ = event["name"].partition("_kernel_time")
        if is_kernel and event["cat"] == "Node":
            seconds[name] += 1e-6 * event["dur"] / rounds
            types[name] = [next(iter(entry.items())) for entry in event["args"]["input_type_shape"]]
    return seconds, types


def signature(node, types, constants):
    """What tells cases apart: contents of constants of integers do, as they are sizes and places, others' do not."""
    contents = tuple(constants[name].SerializeToString() if name in constants and
                     constants[name].data_type == onnx.TensorProto.INT64 else name in constants for name in node.input)
    attributes = tuple(sorted(attribute.SerializeToString() for attribute in node.attribute))
    return node.op_type, node.domain, attributes, json.dumps(types), contents


def cases_of(path, options):
    """Of the nodes that are alike: their part of the time, number, and one of them as a model."""
    model = onnx.load(path)
    for number, node in enumerate(model.graph.node):
        node.name = f"node_{number}"
    seconds, types = profiled(model, inputs_of(path))
    constants, alike = constants_of(model), collections.defaultdict(list)
    for node in model.graph.node:
        named = [name for name in node.input if name]
        if len(types.get(node.name, [])) == len(named) and (not options.kinds or node.op_type in options.kinds):
            alike[signature(node, types[node.name], constants)].append(node)
    taken = lambda nodes: sum(seconds[node.name] for node in nodes)
    for nodes in sorted(alike.values(), key=lambda nodes: -taken(nodes))[:options.operators]:
        node = nodes[0]
        yield {"operator": node.op_type, "part": taken(nodes) / sum(seconds.values()), "nodes": len(nodes),
               "sizes": sizes_text(node, types[node.name])}, single(model, node, types[node.name], constants)


def sizes_text(node, types):
    """Sizes of the inputs with more than one axis, and the attributes that are not as they mostly are."""
    sizes = ", ".join("x".join(map(str, shape)) for _, shape in types if len(shape) > 1)
    said = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    usual = lambda value: isinstance(value, list) and len(set(value)) == 1 and value[0] in (0, 1)
    words = [f"{name} {value[0] if isinstance(value, list) and len(set(value)) == 1 else value}"
             for name, value in said.items() if name in ("group", "strides", "kernel_shape", "count_include_pad")
             and not usual(value) and not (name == "group" and value == 1)]
    return "; ".join([sizes, *words])


def single(model, node, types, constants):
    """A model of one node, whose inputs that are no constants are inputs of the model."""
    named = [name for name in node.input if name]
    inputs = {name: onnx.helper.make_tensor_value_info(
        name, onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(ELEMENT_TYPES[kind])), shape)
        for name, (kind, shape) in zip(named, types, strict=True) if name not in constants}
    weights = []
    for name in dict.fromkeys(named):
        if name in constants:
            weights.append(onnx.TensorProto())
            weights[-1].CopyFrom(constants[name])
            weights[-1].name = name
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "single", list(inputs.values()), outputs, weights)
    result = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    return onnx.shape_inference.infer_shapes(result, strict_mode=True)


# ---- Measuring -------------------------------------------------------------------------------------------------------

def operations_of(options, model):
    done = subprocess.run([environment.lemma_program(options.lemma), "inspect", str(model), "--json"], capture_output=True,
                          text=True, check=True)
    return sum(entry["flops"] for entry in json.loads(done.stdout)["operators"])


def measure(options, case, model):
    with tempfile.TemporaryDirectory(prefix="lemma-kernels-") as folder:
        path = Path(folder) / "single.onnx"
        onnx.save(model, path)
        row = {**case, **task_times.measure(options, path, Path(folder) / "program")}
        row["gflops"] = 1e-6 * operations_of(options, path) / row["ms"]["program"]
    return row


def line(row):
    beside = "".join(f" {row['ms'][name]:9.3f} {row['ratio'][name]:6.2f}" if name in row["ms"] else f" {'-':>9} {'-':>6}"
                     for name in ("onnxruntime", "openvino"))
    return (f"{row['of']:16} {row['part']:5.1%} {row['nodes']:5} {row['ms']['program']:9.3f} {row['gflops']:8.1f}"
            f" {row['ratio']['program']:6.2f}{beside} {row['worst_difference']:8.2g}  {row['operator']} {row['sizes']}")


def main():
    options = arguments()
    options.policy = "best"
    if options.openvino:
        peers = options.work / "peers" / "lib"
        sys.path[1:1] = [str(path) for path in peers.glob("python*/site-packages")]
    rows, failed = [], []
    print(f"{'model':16} {'part':>5} {'nodes':>5} {'program':>9} {'GFLOP/s':>8} {'ratio':>6} {'ORT':>9} {'ratio':>6} "
          f"{'OpenVINO':>9} {'ratio':>6} {'worst':>8}  operator, milliseconds")
    for path in options.models or [options.work / "literature" / f"{name}.onnx" for name in MODELS]:
        for case, model in cases_of(path, options):
            case["of"] = path.stem
            try:
                row = measure(options, case, model)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                failed.append(f"{path.stem} {case['operator']}")
                print(f"{path.stem:16} {case['operator']} {case['sizes']}: {error}", flush=True)
                continue
            if not row["worst_difference"] <= 1:
                failed.append(f"{path.stem} {case['operator']}")
            rows.append(row)
            print(line(row), flush=True)
            if options.json:
                options.json.write_text(json.dumps({"threads": options.threads, "cases": rows}, indent=1) + "\n")
    results.update(options.result, [[row["of"], f"{row['operator']} {row['sizes']}", row["nodes"], round(100 * row["part"], 1),
                                     round(row["ms"]["program"], 3), round(row["gflops"], 1), round(row["ratio"]["program"], 2),
                                     round(row["ratio"]["openvino"], 2) if options.openvino else None] for row in rows])
    for name in ("program", *(["openvino"] if options.openvino else [])):
        ratios = [row["ratio"][name] for row in rows]
        if ratios:
            print(f"geometric mean of the ratios of {name}: {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")
    if failed:
        print(f"not built, or other results: {', '.join(failed)}")
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
