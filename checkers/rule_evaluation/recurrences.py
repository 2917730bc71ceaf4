"""Operators that go over a sequence step by step, made of those that operators.py and networks.py have."""

import numpy

from rule_evaluation.operators import common_type, fits, matmul, require


class Steps:
    """Operands of ONNX's operator, in one direction, with a bias and all states given."""

    def __init__(self, operators, m, operands, gates, states):
        self.operators, self.m, self.kind = operators, m, common_type(operands)
        self.x, w, r, b, *self.states = (one[0] for one in operands)
        require([one[0].ndim for one in operands] == [3, 3, 3, 2] + states * [3], "operands with other axes")
        self.length, self.batch, features = self.x.shape
        self.size = r.shape[2]
        rows = gates * self.size
        require(w.shape == (1, rows, features) and r.shape == (1, rows, self.size), "weights of other sizes")
        require(b.shape == (1, 2 * rows), "a bias of another size")
        require(all(one.shape == (1, self.batch, self.size) for one in self.states), "states of other sizes")
        self.w, self.r, self.biases = w[0], r[0], (b[0, :rows], b[0, rows:])

    def of(self, name, *values):
        return self.operators[name](self.m, [(value, self.kind) for value in values], {}, 1)[0][0]

    def product(self, a, weights):
        return matmul(self.m, [(a, self.kind), (weights.T, self.kind)], {}, 1)[0][0]

    def gate(self, values, number):
        return values[..., number * self.size:(number + 1) * self.size]

    def gate_rows(self, weights, number):
        return weights[number * self.size:(number + 1) * self.size]

    def sums(self, value, state):
        """Both products and both biases."""
        together = self.m.add(self.product(value, self.w), self.product(state, self.r))
        return self.m.add(together, self.m.add(*self.biases))

    def run(self, step, outputs):
        results = numpy.zeros(fits((self.length, 1, self.batch, self.size)), self.m.element_type(self.kind))
        state = [one[0] for one in self.states]
        for number in range(self.length):
            state = step(self, self.x[number], *state)
            results[number, 0] = state[0]
        return [(one, self.kind) for one in (results, *(one[None] for one in state))][:outputs]


def lstm_step(steps, value, state, kept):
    """Gates in the order input, output, forget, cell."""
    m, sums = steps.m, steps.sums(value, state)
    taken, given, forgotten = (steps.of("Sigmoid", steps.gate(sums, i)) for i in range(3))
    kept = m.add(m.multiply(forgotten, kept), m.multiply(taken, steps.of("Tanh", steps.gate(sums, 3))))
    return m.multiply(given, steps.of("Tanh", kept)), kept


def gru_step(linear_before_reset):
    """Gates in the order update, reset, candidate."""
    def step(steps, value, state):
        m = steps.m
        given = m.add(steps.product(value, steps.w), steps.biases[0])

        def of_state(operand, number):
            return m.add(steps.product(operand, steps.gate_rows(steps.r, number)), steps.gate(steps.biases[1], number))

        update, reset = (steps.of("Sigmoid", m.add(steps.gate(given, i), of_state(state, i))) for i in range(2))
        remembered = (m.multiply(reset, of_state(state, 2)) if linear_before_reset else
                      of_state(m.multiply(reset, state), 2))
        candidate = steps.of("Tanh", m.add(steps.gate(given, 2), remembered))
        one = numpy.ones((), m.element_type(steps.kind))
        return [m.add(m.multiply(steps.of("Sub", one, update), candidate), m.multiply(update, state))]
    return step


def rnn_step(activation):
    def step(steps, value, state):
        return [steps.of(activation, steps.sums(value, state))]
    return step


def recurrences(operators):
    def lstm(m, operands, _, outputs):
        return Steps(operators, m, operands, 4, 2).run(lstm_step, outputs)

    def gru(m, operands, attributes, outputs):
        linear = attributes.get("linear_before_reset", 0) != 0
        return Steps(operators, m, operands, 3, 1).run(gru_step(linear), outputs)

    def rnn(m, operands, attributes, outputs):
        activation = attributes.get("activation", "Tanh")
        require(activation in ("Relu", "Sigmoid", "Tanh"), "another activation")
        return Steps(operators, m, operands, 1, 1).run(rnn_step(activation), outputs)

    return {"GRU": gru, "LSTM": lstm, "RNN": rnn}
