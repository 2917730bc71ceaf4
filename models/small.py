"""Models small enough for a first example."""

from builder import Builder


def two_layer(options):
    """A two-layer perceptron as a sum of two halves that share their input: y = relu(x A) C + relu(x B) D. One
    MatMul can compute both products of the first layer, and one both of the second."""
    builder = Builder("two_layer", options.seed)
    value = builder.input("x", [4, 16])
    halves = []
    for half in ("left", "right"):
        hidden = builder.relu(builder.matmul(value, 16, 24, f"{half}_first", gain=1.4))
        halves.append(builder.matmul(hidden, 24, 8, f"{half}_second", gain=0.7))
    builder.output(builder.node("Add", *halves), "y", [4, 8])
    return builder.finish(two_layer.__doc__)
