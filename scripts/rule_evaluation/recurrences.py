"""Operators that go over a sequence step by step, made of those that operators.py and networks.py have."""

import numpy

from rule_evaluation.operators import common_type, fits, matmul, require


def lstm(operators):
    """ONNX's, in one direction, with a bias and both states given: gates in the order input, output, forget, cell."""
    def apply(m, operands, _, outputs):
        kind = common_type(operands)
        x, w, r, b, hidden, cell = (one[0] for one in operands)
        require([one[0].ndim for one in operands] == [3, 3, 3, 2, 3, 3], "operands with other axes")
        steps, batch, features = x.shape
        size = r.shape[2]
        require(w.shape == (1, 4 * size, features) and r.shape == (1, 4 * size, size), "weights of other sizes")
        require(b.shape == (1, 8 * size), "a bias of another size")
        require(hidden.shape == cell.shape == (1, batch, size), "states of other sizes")

        def of(name, *values):
            return operators[name](m, [(value, kind) for value in values], {}, 1)[0][0]

        def product(a, weights):
            return matmul(m, [(a, kind), (weights.T, kind)], {}, 1)[0][0]

        states = numpy.zeros(fits((steps, 1, batch, size)), m.element_type(kind))
        state, kept = hidden[0], cell[0]
        bias = m.add(b[0, :4 * size], b[0, 4 * size:])
        for step in range(steps):
            gates = m.add(m.add(product(x[step], w[0]), product(state, r[0])), bias)
            taken, given, forgotten, new = (gates[:, i * size:(i + 1) * size] for i in range(4))
            kept = m.add(m.multiply(of("Sigmoid", forgotten), kept), m.multiply(of("Sigmoid", taken), of("Tanh", new)))
            state = m.multiply(of("Sigmoid", given), of("Tanh", kept))
            states[step, 0] = state
        return [(states, kind), (state[None], kind), (kept[None], kind)][:outputs]
    return apply


def recurrences(operators):
    return {"LSTM": lstm(operators)}
