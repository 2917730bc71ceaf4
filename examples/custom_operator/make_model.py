#!/usr/bin/env python3
"""Makes a model with an operator of the runtime `example`, and what it computes on one input, by numpy:

    make_model.py FOLDER    writes model.onnx, input_0.pb, input_1.pb and output_0.pb

It is the feed-forward block of a transformer. The normalization is the runtime's own operator; the gate is written in operators
of ONNX, which `lemma optimize --runtime example` joins to GatedSilu."""

import pathlib
import sys

import numpy
import onnx
from onnx import helper, numpy_helper, TensorProto

TOKENS, WIDTH, INNER, EPSILON = 4, 32, 96, 1e-5


def weights():
    random = numpy.random.default_rng(7)

    def matrix(*shape):
        return random.normal(0, shape[0] ** -0.5, shape).astype(numpy.float32)

    return {"scale": 1 + matrix(WIDTH) / 4, "gate": matrix(WIDTH, INNER), "up": matrix(WIDTH, INNER),
            "down": matrix(INNER, WIDTH)}


def model_of(values):
    nodes = [helper.make_node("ResidualNorm", ["x", "residual", "scale"], ["h"], domain="com.example", epsilon=EPSILON),
             helper.make_node("MatMul", ["h", "gate"], ["g"]), helper.make_node("MatMul", ["h", "up"], ["u"]),
             helper.make_node("Sigmoid", ["g"], ["s"]), helper.make_node("Mul", ["g", "s"], ["silu"]),
             helper.make_node("Mul", ["silu", "u"], ["gated"]), helper.make_node("MatMul", ["gated", "down"], ["d"]),
             helper.make_node("Add", ["d", "x"], ["y"])]
    of_tokens = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["tokens", WIDTH]) for name in ("x", "residual", "y")]
    graph = helper.make_graph(nodes, "feed_forward", of_tokens[:2], of_tokens[2:],
                              [numpy_helper.from_array(value, name) for name, value in values.items()])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20),
                                                                  helper.make_opsetid("com.example", 1)])


def computed(values, x, residual):
    total = x + residual
    h = total / numpy.sqrt((total * total).mean(-1, keepdims=True) + EPSILON) * values["scale"]
    g = h @ values["gate"]
    return (g / (1 + numpy.exp(-g)) * (h @ values["up"])) @ values["down"] + x


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    values = weights()
    onnx.save(model_of(values), folder / "model.onnx")
    random = numpy.random.default_rng(8)
    x, residual = (random.normal(0, 1, (TOKENS, WIDTH)).astype(numpy.float32) for _ in range(2))
    for name, value in (("input_0", x), ("input_1", residual), ("output_0", computed(values, x, residual))):
        (folder / f"{name}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())


if __name__ == "__main__":
    main()
