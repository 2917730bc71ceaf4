"""Models of tables in the spelling of exporters: trees as scikit-learn's converter writes them, and a recommender."""

import numpy
from onnx import TensorProto

from exporter import FLOAT, INT64, Exporter


def tree_nodes(random, trees, depth, features, classes):
    """The attributes of an ensemble of whole trees, with leaves that vote."""
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                                   "missing_value_tracks_true", "hitrates")}
    votes = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    inner, count = 2**depth - 1, 2 ** (depth + 1) - 1
    for tree in range(trees):
        for number in range(count):
            is_leaf = number >= inner
            row = {"treeids": tree, "nodeids": number, "featureids": 0 if is_leaf else int(random.integers(features)),
                   "values": 0.0 if is_leaf else float(numpy.float32(random.standard_normal())), "modes": "LEAF" if is_leaf else "BRANCH_LEQ",
                   "truenodeids": 0 if is_leaf else 2 * number + 1, "falsenodeids": 0 if is_leaf else 2 * number + 2,
                   "missing_value_tracks_true": 0, "hitrates": 1.0}
            for name, value in row.items():
                nodes[name].append(value)
            for choice in range(classes if is_leaf else 0):
                for name, value in zip(votes, (tree, number, choice, float(numpy.float32(random.random() / trees)))):
                    votes[name].append(value)
    return {**{f"nodes_{name}": value for name, value in nodes.items()}, **{f"class_{name}": value for name, value in votes.items()}}


def tree_ensemble():
    """A pipeline of scikit-learn: missing values, a scaler, a forest, and probabilities as an array and a label."""
    graph, features, classes = Exporter("pipeline"), 8, 3
    value = graph.input("X", FLOAT, None, features)
    value = graph.node("Imputer", value, domain="ai.onnx.ml", imputed_value_floats=[0.0] * features, replaced_value_float=float("nan"))
    random = graph.random("forest")
    value = graph.node("Scaler", value, domain="ai.onnx.ml", offset=[float(number) for number in random.standard_normal(features)],
                       scale=[1.5] * features)
    label, scores = graph.node("TreeEnsembleClassifier", value, outputs=2, domain="ai.onnx.ml", post_transform="NONE",
                               classlabels_int64s=list(range(classes)), **tree_nodes(random, 12, 5, features, classes))
    total = graph.node("ReduceSum", scores, graph.integers(1), keepdims=1)
    graph.output(graph.node("Div", scores, total), "probabilities", FLOAT, None, classes)
    label = graph.node("Cast", graph.node("Cast", label, to=TensorProto.INT32), to=INT64)
    graph.output(graph.node("Reshape", label, graph.integers(-1)), "label", INT64, None)
    return graph.model([("ai.onnx.ml", 3)])


def dlrm():
    """A recommender: tables of categories with bags, a perceptron of numbers, products of all pairs."""
    graph, width, tables, rows = Exporter("dlrm"), 16, 4, 50
    dense = graph.input("dense", FLOAT, "batch", 13)
    sparse = graph.input("sparse", INT64, "batch", tables, 3)
    value = dense
    for number, (given, made) in enumerate(((13, 32), (32, width))):
        weights = graph.weight(f"bottom.{number}.weight", made, given, deviation=given**-0.5), graph.weight(f"bottom.{number}.bias", made)
        value = graph.node("Relu", graph.node("Gemm", value, *weights, alpha=1.0, beta=1.0, transB=1))
    vectors = [graph.node("Unsqueeze", value, graph.integers(1))]
    for table in range(tables):
        chosen = graph.node("Gather", sparse, graph.scalar(table), axis=1)
        bag = graph.node("Gather", graph.weight(f"tables.{table}.weight", rows, width, deviation=0.3), chosen, axis=0)
        vectors.append(graph.node("Unsqueeze", graph.node("ReduceSum", bag, graph.integers(1), keepdims=0), graph.integers(1)))
    stacked = graph.node("Concat", *vectors, axis=1)
    pairs = graph.node("MatMul", stacked, graph.node("Transpose", stacked, perm=[0, 2, 1]))
    places = numpy.stack(numpy.tril_indices(tables + 1, -1), -1)
    flat = graph.reshape(pairs, graph.size(pairs, 0), (tables + 1) ** 2)
    chosen = graph.node("Gather", flat, graph.constant(places @ [tables + 1, 1], numpy.int64), axis=1)
    value = graph.node("Concat", value, chosen, axis=1)
    for number, (given, made) in enumerate(((width + 10, 32), (32, 1))):
        weights = graph.weight(f"top.{number}.weight", made, given, deviation=given**-0.5), graph.weight(f"top.{number}.bias", made)
        value = graph.node("Gemm", value, *weights, alpha=1.0, beta=1.0, transB=1)
        value = graph.node("Relu" if made > 1 else "Sigmoid", value)
    graph.output(graph.node("Squeeze", value, graph.integers(1)), "click", FLOAT, "batch")
    return graph.model()
