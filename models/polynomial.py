"""Models without division, exp or comparison, made from others: the same graph with polynomials in place of other
functions. Over a prime field, such a model has one right result, bit by bit."""

import numpy
from onnx import helper, numpy_helper

# Functions of single elements: squares take their place, and products that of functions of two elements.
ACTIVATIONS = {"Relu", "Tanh", "Sigmoid", "Exp", "Erf", "Sqrt", "Clip", "LeakyRelu", "HardSwish", "HardSigmoid", "Gelu",
               "Abs", "Reciprocal", "Softmax", "LogSoftmax", "Elu", "Selu", "Celu", "Softplus", "Softsign", "Mish", "Log",
               "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Atan", "ThresholdedRelu"}
COMPARISONS = {"Max", "Min", "Pow"}
POOLS = {"MaxPool": "AveragePool", "GlobalMaxPool": "GlobalAveragePool", "ReduceMax": "ReduceSum", "ReduceMin": "ReduceSum",
         "ReduceL1": "ReduceSumSquare", "ReduceL2": "ReduceSumSquare", "ReduceLogSumExp": "ReduceSum"}
NORMALIZATIONS = {"LayerNormalization", "BatchNormalization", "InstanceNormalization"}
NOT_OF_AVERAGES = {"storage_order", "dilations"}
LARGEST_WEIGHT = 1000


class Polynomial:
    def __init__(self, model):
        self.model, self.nodes, self.added = model, [], []
        self.random = numpy.random.Generator(numpy.random.PCG64(0))

    def make(self):
        for node in self.model.graph.node:
            self.replace(node)
        del self.model.graph.node[:]
        self.model.graph.node.extend(self.nodes)
        for initializer in self.model.graph.initializer:
            if initializer.data_type == 1:
                self.replace_weights(initializer)
        self.model.graph.initializer.extend(self.added)
        return self.model

    def replace_weights(self, initializer):
        """Small integers: they are residues as they stand."""
        sizes = tuple(initializer.dims)
        values = self.random.integers(1, LARGEST_WEIGHT, sizes).astype(numpy.float32)
        initializer.CopyFrom(numpy_helper.from_array(values, initializer.name))

    def replace(self, node):
        if node.op_type in ACTIVATIONS:
            self.nodes.append(helper.make_node("Mul", [node.input[0]] * 2, node.output))
        elif node.op_type in COMPARISONS:
            self.nodes.append(helper.make_node("Mul", [node.input[0], node.input[-1]], node.output))
        elif node.op_type in POOLS:
            attributes = [attribute for attribute in node.attribute if attribute.name not in NOT_OF_AVERAGES]
            self.nodes.append(helper.make_node(POOLS[node.op_type], node.input, node.output[:1]))
            self.nodes[-1].attribute.extend(attributes)
        elif node.op_type in NORMALIZATIONS:
            self.replace_normalization(node)
        else:
            self.nodes.append(node)

    def replace_normalization(self, node):
        """Scale and bias alone, of channels or of the last axis."""
        factors = list(node.input[1:3])
        if node.op_type != "LayerNormalization":
            factors = [self.by_channels(name, node) for name in factors]
        kinds, value = ["Mul", "Add"][:len(factors)], node.input[0]
        for kind, factor in zip(kinds, factors):
            result = node.output[0] if kind == kinds[-1] else f"{node.output[0]}_scaled"
            self.nodes.append(helper.make_node(kind, [value, factor], [result]))
            value = result

    def by_channels(self, name, node):
        result, axes = f"{node.output[0]}_{name}", f"{node.output[0]}_{name}_axes"
        self.added.append(numpy_helper.from_array(numpy.array([1, 2], numpy.int64), axes))
        self.nodes.append(helper.make_node("Unsqueeze", [name, axes], [result]))
        return result


def polynomial(model):
    """The same graph with other functions and weights; the model is changed in place."""
    return Polynomial(model).make()
