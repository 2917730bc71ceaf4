"""Models of recurrences that are written out step by step."""

import dataclasses

import numpy
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """A graph under construction: nodes by operator, values by name."""

    def __init__(self, seed=0):
        self.generator = numpy.random.default_rng(seed)
        self.nodes, self.inputs, self.constants, self.outputs, self.count = [], [], [], [], 0

    def name(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"

    def node(self, op, *operands, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(operands), names, **attributes))
        return names[0] if outputs == 1 else names

    def input(self, name, *shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def constant(self, value):
        self.constants.append(numpy_helper.from_array(numpy.asarray(value), self.name("c")))
        return self.constants[-1].name

    def weight(self, *shape):
        return self.constant(self.generator.standard_normal(shape).astype(numpy.float32) / 2)

    def axes(self, *axes):
        return self.constant(numpy.array(axes, numpy.int64))

    def output(self, value, name):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))

    def model(self):
        graph = helper.make_graph(self.nodes, "unrolled", self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@dataclasses.dataclass
class Unrolled:
    """Layers of LSTM. `source`: how the elements of the sequence are given; `results`: what is made of the states;
    `spelling`: how a step is written."""
    name: str
    layers: int = 1
    steps: int = 5
    batch: int = 2
    features: int = 3
    hidden: int = 4
    source: str = "split"
    results: str = "all"
    zeros: bool = False  # the state before is a constant
    spelling: str = "plain"
    operator: str = "LSTM"  # that it becomes

    def sequence(self, builder):
        if self.source == "inputs":
            return [builder.input(f"x{t}", self.batch, self.features) for t in range(self.steps)]
        axis = {"split": 0, "batches first": 1}[self.source]
        sizes = [self.batch, self.features]
        sizes.insert(axis, self.steps)
        parts = builder.node("Split", builder.input("x", *sizes), outputs=self.steps, axis=axis)
        parts = [parts] if self.steps == 1 else parts
        return [builder.node("Squeeze", part, builder.axes(axis)) for part in parts]

    def state(self, builder, name):
        if self.zeros:
            return builder.constant(numpy.zeros((self.batch, self.hidden), numpy.float32))
        return builder.input(name, self.batch, self.hidden)

    def layer(self, builder, number, sequence):
        width = self.features if number == 0 else self.hidden
        weights = self.weights(builder, width)
        state, cell = self.state(builder, f"h{number}"), self.state(builder, f"c{number}")
        states = []
        for value in sequence:
            state, cell = self.step(builder, weights, value, state, cell)
            states.append(state)
        return states, cell

    def weights(self, builder, width):
        sizes = [(width, 4 * self.hidden), (self.hidden, 4 * self.hidden), (4 * self.hidden,), (4 * self.hidden,)]
        if self.spelling == "linear":
            sizes[:2] = [tuple(reversed(one)) for one in sizes[:2]]
        if self.spelling != "gates apart":
            return [builder.weight(*one) for one in sizes]
        return [[builder.weight(*one[:-1], self.hidden) for one in sizes] for _ in range(4)]

    def sums(self, builder, weights, value, state):
        """Of products and biases, for one gate or all of them."""
        def gemm(operand, weight, bias):
            return builder.node("Gemm", operand, weight, bias, **({"transB": 1} if self.spelling == "linear" else {}))

        if self.spelling in ("linear", "gemms"):
            return builder.node("Add", gemm(value, weights[0], weights[2]), gemm(state, weights[1], weights[3]))
        products = [builder.node("MatMul", value, weights[0]), builder.node("MatMul", state, weights[1])]
        if self.spelling == "first biased":
            return builder.node("Add", builder.node("Add", products[0], weights[2]), products[1])
        if self.spelling == "second biased":
            return builder.node("Add", products[0], builder.node("Add", products[1], weights[2]))
        if self.spelling == "both biased":
            return builder.node("Add", *(builder.node("Add", product, weight)
                                         for product, weight in zip(products, weights[2:], strict=True)))
        if self.spelling == "state first":
            products.reverse()
        together = builder.node("Add", *products)
        return builder.node("Add", *((weights[2], together) if self.spelling == "bias first" else
                                     (together, weights[2])))

    def gates(self, builder, weights, value, state):
        """For what is taken, given, forgotten, and the candidate."""
        if self.spelling == "gates apart":
            return [self.sums(builder, one, value, state) for one in weights]
        parts = builder.node("Split", self.sums(builder, weights, value, state), outputs=4, axis=1)
        return [parts[i] for i in (0, 3, 1, 2)] if self.spelling in ("linear", "forget second") else parts

    def step(self, builder, weights, value, state, cell):
        def product(*operands):
            return builder.node("Mul", *(reversed(operands) if self.spelling == "exchanged" else operands))

        take, give, forget, candidate = self.gates(builder, weights, value, state)
        terms = [product(builder.node("Sigmoid", forget), cell),
                 product(builder.node("Sigmoid", take), builder.node("Tanh", candidate))]
        if self.spelling in ("exchanged", "added first"):
            terms.reverse()
        cell = builder.node("Add", *terms)
        return product(builder.node("Sigmoid", give), builder.node("Tanh", cell)), cell

    def model(self):
        builder = Builder()
        states = self.sequence(builder)
        for number in range(self.layers):
            states, cell = self.layer(builder, number, states)
        if self.results == "all":
            rows = [builder.node("Unsqueeze", state, builder.axes(0)) for state in states]
            builder.output(builder.node("Concat", *rows, axis=0), "states")
        else:
            builder.output(states[-1], "state")
            if cell is not None:
                builder.output(cell, "cell")
        return builder.model()


LINEAR = ("linear", "decomposed", "linear apart")  # transposed weights
APART = ("gates apart", "linear apart", "gemms apart", "exchanged apart")  # weights of their own for each gate


@dataclasses.dataclass
class UnrolledGRU(Unrolled):
    """Layers of gated recurrent units. `linear`: what the weights make of the state is reset, not the state."""
    operator: str = "GRU"
    linear: bool = True

    def weights(self, builder, width):
        rows = self.hidden if self.spelling in APART else 3 * self.hidden
        sizes = [(width, rows), (self.hidden, rows), (rows,), (rows,)]
        if self.spelling in LINEAR:
            sizes[:2] = [tuple(reversed(one)) for one in sizes[:2]]
        many = [[builder.weight(*one) for one in sizes] for _ in range(3 if self.spelling in APART else 1)]
        return many if self.spelling in APART else many[0]

    def product(self, builder, operand, weight, bias):
        if self.spelling in (*LINEAR, "gemms", "gemms apart"):
            return builder.node("Gemm", operand, weight, bias, **({"transB": 1} if self.spelling in LINEAR else {}))
        return builder.node("Add", builder.node("MatMul", operand, weight), bias)

    def candidate(self, builder, given, kept, reset):
        """For the candidate of what is given and kept for it."""
        order = [kept, reset] if self.spelling in ("decomposed", "exchanged apart") else [reset, kept]
        return builder.node("Tanh", builder.node("Add", given, builder.node("Mul", *order)))

    def of_gates_apart(self, builder, weights, value, state):
        def gate(weight):
            if self.linear:
                return builder.node("Add", self.product(builder, value, weight[0], weight[2]),
                                    self.product(builder, state, weight[1], weight[3]))
            return self.sum_for_gate(builder, weight, value, state)

        update, reset = (builder.node("Sigmoid", gate(one)) for one in weights[:2])
        last = weights[2]
        if self.linear:
            return update, self.candidate(builder, self.product(builder, value, last[0], last[2]),
                                          self.product(builder, state, last[1], last[3]), reset)
        order = (state, reset) if self.spelling == "exchanged apart" else (reset, state)
        return update, builder.node("Tanh", self.sum_for_gate(builder, last, value, builder.node("Mul", *order)))

    def sum_for_gate(self, builder, weight, value, state):
        products = [builder.node("MatMul", one, by) for one, by in zip((value, state), weight[:2], strict=True)]
        return builder.node("Add", builder.node("Add", *products), weight[2])

    def of_gates_together(self, builder, weights, value, state):
        parts = [builder.node("Split", self.product(builder, one, weight, bias), outputs=3, axis=1)
                 for one, weight, bias in zip((value, state), weights[:2], weights[2:], strict=True)]
        gates = [builder.node("Sigmoid", builder.node("Add", parts[0][i], parts[1][i])) for i in range(2)]
        if self.spelling in (*LINEAR, "reset first"):
            gates.reverse()
        return gates[0], self.candidate(builder, parts[0][2], parts[1][2], gates[1])

    def step(self, builder, weights, value, state, cell):
        of_gates = self.of_gates_apart if self.spelling in APART else self.of_gates_together
        update, candidate = of_gates(builder, weights, value, state)
        if self.spelling in ("blended", "kept first"):
            one = numpy_helper.from_array(numpy.ones(1, numpy.float32))
            rest = builder.node("Sub", builder.node("ConstantOfShape", builder.axes(), value=one), update)
            terms = [builder.node("Mul", rest, candidate), builder.node("Mul", update, state)]
            return builder.node("Add", *(reversed(terms) if self.spelling == "kept first" else terms)), cell
        change = [update, builder.node("Sub", state, candidate)]
        if self.spelling in ("decomposed", "gate second"):
            change.reverse()
        terms = [candidate, builder.node("Mul", *change)]
        if self.spelling in ("decomposed", "candidate second"):
            terms.reverse()
        return builder.node("Add", *terms), cell

    def state(self, builder, name):
        return super().state(builder, name) if name.startswith("h") else None


@dataclasses.dataclass
class UnrolledRNN(Unrolled):
    """Layers of an activation of products."""
    operator: str = "RNN"
    activation: str = "Tanh"

    def weights(self, builder, width):
        sizes = [(width, self.hidden), (self.hidden, self.hidden), (self.hidden,), (self.hidden,)]
        if self.spelling == "linear":
            sizes[:2] = [tuple(reversed(one)) for one in sizes[:2]]
        return [builder.weight(*one) for one in sizes]

    def step(self, builder, weights, value, state, cell):
        return builder.node(self.activation, self.sums(builder, weights, value, state)), cell

    def state(self, builder, name):
        return super().state(builder, name) if name.startswith("h") else None


def models_of_gru():
    yield UnrolledGRU("gru")
    yield UnrolledGRU("gru_two_layers", layers=2, features=4)
    yield UnrolledGRU("gru_last_state", results="last", zeros=True, batch=4)
    yield UnrolledGRU("gru_of_sizes_1", steps=2, batch=1, features=1, hidden=1)
    for spelling in ("linear", "decomposed", "gemms", "reset first", "gates apart", "linear apart", "gemms apart",
                     "exchanged apart", "blended", "kept first", "gate second", "candidate second"):
        yield UnrolledGRU(f"gru_{spelling.replace(' ', '_')}", layers=2, steps=3, spelling=spelling)
    for spelling in ("gates apart", "exchanged apart"):
        yield UnrolledGRU(f"gru_of_reset_state_{spelling.replace(' ', '_')}", layers=2, steps=3, linear=False,
                          spelling=spelling)


def models_of_rnn():
    for activation in ("Tanh", "Relu", "Sigmoid"):
        yield UnrolledRNN(f"rnn_{activation}", activation=activation)
        yield UnrolledRNN(f"rnn_{activation}_state_first", layers=2, features=4, activation=activation,
                          spelling="state first")
    yield UnrolledRNN("rnn_two_layers", layers=2, features=4)
    yield UnrolledRNN("rnn_last_state", results="last", zeros=True, batch=4)
    yield UnrolledRNN("rnn_of_sizes_1", steps=3, batch=1, features=1, hidden=1)
    for spelling in ("linear", "gemms", "first biased", "second biased", "both biased", "bias first"):
        yield UnrolledRNN(f"rnn_{spelling.replace(' ', '_')}", layers=2, steps=3, spelling=spelling)


class Changing(UnrolledRNN):
    """Each step has weights of its own."""

    def step(self, builder, weights, value, state, cell):
        return super().step(builder, self.weights(builder, self.features), value, state, cell)


class Exchanging(UnrolledGRU):
    """The gates are for each other's part."""

    def candidate(self, builder, given, kept, reset):
        return super().candidate(builder, kept, given, reset)


def models_of_no_recurrence():
    yield UnrolledRNN("single_step", steps=1)
    yield Changing("weights_that_change")
    yield Exchanging("gates_exchanged")


def all_models():
    yield from models_of_gru()
    yield from models_of_rnn()
    yield Unrolled("one_layer")
    yield Unrolled("two_layers", layers=2)
    yield Unrolled("last_state", results="last")
    yield Unrolled("two_layers_last_state", layers=2, results="last")
    yield Unrolled("separate_inputs", source="inputs")
    yield Unrolled("batches_first", source="batches first", batch=4)
    yield Unrolled("zeros", batch=4, zeros=True)
    yield Unrolled("one_of_each", steps=3, batch=1, features=1, hidden=1)
    yield Unrolled("as_wide_as_the_state", layers=2, features=4)
    for spelling in ("linear", "gemms", "gates apart", "first biased", "second biased", "both biased", "state first",
                     "bias first", "forget second", "exchanged", "added first"):
        yield Unrolled(f"spelled_{spelling.replace(' ', '_')}", layers=2, steps=3, spelling=spelling)
    yield Unrolled("state_first_and_as_wide", features=4, spelling="state first")
