"""Models that read tables: a recommendation from embeddings, and a graph whose nodes are joined by a matrix."""

from builder import Builder
from onnx import TensorProto


def dlrm(options, rows=1000, tables=26, size=16, layers=(512, 256)):
    """DLRM (Naumov et al., 2019) with the layers of its benchmark on Criteo's data set: 13 numbers and 26 categories, each of
    1,000 rows in place of up to ten million."""
    builder = Builder("dlrm", options.seed)
    batch = options.batch
    value, features = builder.input("dense", [batch, 13]), 13
    for index, width in enumerate([*layers, 64, size]):
        value = builder.relu(builder.dense(value, features, width, f"bottom{index}", gain=1.4))
        features = width
    vectors = [value]
    for index in range(tables):
        category = builder.input(f"category{index}", [batch], TensorProto.INT64)
        vectors.append(builder.node("Gather", builder.normal(f"table{index}", (rows, size), 0.5), category))
    count = tables + 1
    stack = builder.reshape(builder.node("Concat", *vectors, axis=1), [batch, count, size])
    pairs = builder.reshape(builder.node("MatMul", stack, builder.transpose(stack, [0, 2, 1])), [batch, count * count])
    # Each pair once, and no vector with itself.
    chosen = builder.constant([count * i + j for i in range(count) for j in range(i)], int)
    value, features = builder.node("Concat", value, builder.node("Gather", pairs, chosen, axis=1), axis=1), size + count * tables // 2
    for index, width in enumerate(layers):
        value = builder.relu(builder.dense(value, features, width, f"top{index}", gain=1.4))
        features = width
    builder.output(builder.node("Sigmoid", builder.dense(value, features, 1, "click")), "probability", [batch, 1])
    return builder.finish(dlrm.__doc__)


def gcn(options, nodes=2708, features=1433, hidden=16, classes=7):
    """Two layers of a graph convolution (Kipf and Welling, 2017) at the sizes of Cora: 2,708 papers of 1,433 words, joined
    by a dense matrix, 23 K parameters."""
    builder = Builder("gcn", options.seed)
    joined = builder.input("joined", [nodes, nodes])
    value = builder.input("papers", [nodes, features])
    value = builder.relu(builder.node("MatMul", joined, builder.linear(value, features, hidden, "first")))
    value = builder.node("MatMul", joined, builder.linear(value, hidden, classes, "second"))
    builder.output(builder.node("Softmax", value, axis=1), "kinds", [nodes, classes])
    return builder.finish(gcn.__doc__)


# Of one dose: its number. Of a cell line and of drugs: how many features are known (the CANDLE project's Uno).
DOSES = ("dose1", "dose2")
FEATURES = {"cell_rnaseq": 942, "drug1_descriptors": 5270, "drug1_fingerprints": 2048, "drug2_descriptors": 5270,
            "drug2_fingerprints": 2048}


def candle_uno(options, width=1000, features=None):
    """CANDLE's Uno, which predicts how tumors respond to pairs of drugs, as Unity (Unger et al., OSDI 2022) has it: a tower of three
    layers for each kind of features, and three layers over all of them, of 1,000 as CANDLE's own; 32.6 M parameters."""
    builder, batch = Builder("candle_uno", options.seed), options.batch
    known = [builder.input(name, [batch, 1]) for name in DOSES]
    for name, count in (features or FEATURES).items():
        value = builder.input(name, [batch, count])
        for layer in range(3):
            value, count = builder.relu(builder.matmul(value, count, width, f"{name}{layer}", gain=1.4)), width
        known.append(value)
    value, count = builder.node("Concat", *known, axis=1), len(DOSES) + (len(known) - len(DOSES)) * width
    for layer in range(3):
        value, count = builder.relu(builder.matmul(value, count, width, f"dense{layer}", gain=1.4)), width
    builder.output(builder.matmul(value, width, 1, "response"), "growth", [batch, 1])
    return builder.finish(candle_uno.__doc__)
