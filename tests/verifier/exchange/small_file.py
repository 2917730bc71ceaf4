#!/usr/bin/env python3
"""Writes small.pb, rules of our own in TASO's format; `small_file.py FILE` makes the file anew."""

import pathlib
import sys

CONV, RELU, SIGMOID, CONCAT, SPLIT, TRANSPOSE, ADD, MATMUL, SCALE = 3, 8, 9, 12, 13, 15, 16, 18, 19


def varint(value):
    value &= (1 << 64) - 1
    result = b""
    while value >= 128:
        result += bytes([value & 127 | 128])
        value >>= 7
    return result + bytes([value])


def message(field, payload):
    return varint(field << 3 | 2) + varint(len(payload)) + payload


def numbers(*values):
    return b"".join(varint(i << 3) + varint(value) for i, value in enumerate(values, 1))


def op(kind, *inputs, **parameters):
    """Inputs are (operator, output), or a negative number for an input of the rule."""
    keys = {"inputs": 1, "outputs": 2, "height": 4, "width": 5, "down": 6, "right": 7,
            "padding": 8, "activation": 9, "rank": 10, "axis": 11, "order": 12, "shuffle": 13}
    pairs = [(one, 0) if isinstance(one, int) else one for one in inputs]
    return (varint(1 << 3) + varint(kind) + b"".join(message(2, numbers(*one)) for one in pairs)
            + b"".join(message(3, numbers(keys[k], v)) for k, v in parameters.items()))


def rule(source, target, *outputs):
    """Outputs are (source operator, target operator, source output, target output)."""
    return message(1, b"".join(message(1, one) for one in source)
                   + b"".join(message(2, one) for one in target)
                   + b"".join(message(3, numbers(*one)) for one in outputs))


def conv(x, w, **more):
    return op(CONV, x, w, **{"down": 1, "right": 1, "padding": 0, "activation": 0, **more})


def concat(axis, rank, *inputs):
    return op(CONCAT, *inputs, inputs=len(inputs), axis=axis, rank=rank)


def collection():
    return b"".join([
        # 0: sigmoid over a concat of three. 1: two transpositions are none of the last relu.
        rule([concat(1, 3, -1, -2, -3), op(SIGMOID, (0, 0))],
             [op(SIGMOID, -1), op(SIGMOID, -2), op(SIGMOID, -3),
              concat(1, 3, (0, 0), (1, 0), (2, 0))], (1, 3, 0, 0)),
        rule([op(TRANSPOSE, -1, rank=3, order=1 * 9 + 2 * 3 + 0, shuffle=1),
              op(TRANSPOSE, (0, 0), rank=3, order=2 * 9 + 0 * 3 + 1, shuffle=1), op(RELU, (1, 0))],
             [op(RELU, -1)], (2, 0, 0, 0)),
        # 2: a number goes through a matmul.
        rule([op(SCALE, -1, -2), op(MATMUL, (0, 0), -3, activation=0)],
             [op(MATMUL, -1, -3, activation=0), op(SCALE, (0, 0), -2)], (1, 1, 0, 0)),
        # 3: kernels of any odd size; true. 4: only without groups.
        rule([conv(-1, -2), conv(-1, -3), op(ADD, (0, 0), (1, 0))],
             [op(ADD, -2, -3), conv(-1, (0, 0))], (2, 1, 0, 0)),
        rule([conv(-1, -3, activation=2), conv(-1, -4, activation=2)],
             [concat(0, 4, -3, -4), conv(-1, (0, 0), activation=2),
              op(SPLIT, (1, 0), outputs=2, axis=1)], (0, 2, 0, 0), (1, 2, 0, 1)),
        # 5: strides without padding, kernels named; only for equal groups.
        rule([conv(-1, -3, padding=1, down=2, right=3, height=2, width=3),
              conv(-2, -3, padding=1, down=2, right=3, height=2, width=3),
              concat(0, 4, (0, 0), (1, 0))],
             [concat(0, 4, -1, -2), conv((0, 0), -3, padding=1, down=2, right=3, height=2, width=3)],
             (2, 1, 0, 0)),
        # 6: false for all sizes above 1, and not to be mended.
        rule([op(RELU, -1), op(ADD, (0, 0), -2)], [op(ADD, -1, -2), op(RELU, (0, 0))],
             (1, 1, 0, 0)),
        # 7: the right side wants matrices, and equal rows.
        rule([op(RELU, -1), op(RELU, -2)],
             [concat(1, 2, -1, -2), op(RELU, (0, 0)), op(SPLIT, (1, 0), outputs=2, axis=1)],
             (0, 2, 0, 0), (1, 2, 0, 1)),
        # 8, 9, 10: cannot be imported.
        rule([op(77, -1)], [op(RELU, -1)], (0, 0, 0, 0)),
        rule([conv(-1, -2, height=2, width=2)], [conv(-1, -2, height=2, width=2)], (0, 0, 0, 0)),
        rule([op(RELU, -1)], [op(SPLIT, -1, outputs=2, axis=0)], (0, 0, 0, 1)),
    ])


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_bytes(collection())
