"""Contents of tensors: numbers of several kinds, and elements that are undefined."""

import numpy

KINDS = ("integers", "integers", "halves", "normals", "sparse", "positive", "negative")
SPECIAL = (numpy.inf, -numpy.inf, numpy.nan, 0.0, -0.0, 1e-40, -1e-40, 1e-30, 65504.0, -3e38)


def numbers(generator, kind, shape):
    if kind == "normals":
        return generator.normal(0, 1.5, shape)
    if kind == "halves":
        return generator.integers(-6, 7, shape) / 2.0
    values = generator.integers(-3, 4, shape).astype(float)
    if kind == "sparse":
        values *= generator.integers(0, 2, shape)
        return numpy.where(values == 0, generator.choice((0.0, -0.0), shape), values)
    if kind == "positive":
        return numpy.abs(values) + generator.choice((0.25, 1.0), shape)
    if kind == "negative":
        return -numpy.abs(values) - 0.5
    return values


def real_contents(generator, rule, shapes, scales, turn):
    """Contents of the inputs over the reals, and the positions of inputs with undefined elements.

    Every third time nothing is undefined, else mostly one input, taken in turn and often as a whole,
    since then every read of it is seen."""
    kind = generator.choice(KINDS)
    arrays = []
    for shape in shapes:
        chosen = kind if generator.random() < 0.7 else generator.choice(KINDS)
        arrays.append(numbers(generator, chosen, shape))
    if scales and generator.random() < 0.15:
        arrays = [array * 10.0 ** generator.choice((-12, 9)) for array in arrays]
    free = [i for i, one in enumerate(rule.inputs) if not one.defined and arrays[i].size]
    if not free or turn % 3 == 0:
        return arrays, frozenset()
    chosen = [free[(turn - turn // 3) % len(free)]]
    if generator.random() < 0.15:
        chosen = [i for i in free if generator.random() < 0.5]
    for i in chosen:
        whole = arrays[i].ndim == 0 or generator.random() < 0.6
        mask = whole | (generator.random(arrays[i].shape) < 0.3)
        arrays[i] = numpy.where(mask, numpy.nan, arrays[i])
    return arrays, frozenset(i for i in chosen if numpy.isnan(arrays[i]).any())


def float_contents(generator, shapes, dtype):
    """Contents in a floating-point type, with infinities, NaN, zeros of both signs, denormals."""
    arrays = []
    for shape in shapes:
        array = numpy.where(generator.random(shape) < 0.5, generator.normal(0, 2, shape),
                            generator.integers(-3, 4, shape))
        special = generator.random(shape) < generator.choice((0.0, 0.1, 0.4, 1.0))
        array = numpy.where(special, generator.choice(SPECIAL, shape), array)
        arrays.append(array.astype(dtype))
    return arrays
