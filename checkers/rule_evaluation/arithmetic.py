"""Arithmetic on elements: over the reals, and in a floating-point type.

`Reals` computes in f64 and writes an undefined element as NaN (docs/semantics.md, "Values"). What IEEE
arithmetic answers with an infinity, such as 1/0 or log(0), is undefined here.
`Floats` computes in the given type as IEEE says, with sums in the order of the indices, so that the
bits of a result depend on its elements alone and not on how numpy sums."""

import math

import numpy

erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


class Reals:
    is_real = True

    def element_type(self, _):
        return numpy.float64

    def function(self, f, x):
        return f(x)

    def add(self, a, b):
        return a + b

    def multiply(self, a, b):
        return a * b

    def divide(self, a, b):
        b = numpy.where(b == 0, numpy.nan, b)
        return a / b

    def log(self, x):
        return numpy.log(numpy.where(x <= 0, numpy.nan, x))

    def power(self, a, b):
        result = numpy.power(a, b)
        known = ~(numpy.isnan(a) | numpy.isnan(b)) & ~((a == 0) & (b < 0))
        return numpy.where(known, result, numpy.nan)

    def maximum(self, a, b):
        return numpy.maximum(a, b)

    def minimum(self, a, b):
        return numpy.minimum(a, b)

    def bounded(self, x, low, high):
        x = x if low is None else numpy.maximum(x, low)
        return x if high is None else numpy.minimum(x, high)

    def sum(self, x, axes):
        return numpy.sum(x, axis=axes, keepdims=True)

    def extremum(self, x, axes, which):
        """Of no elements it is undefined."""
        if any(x.shape[axis] == 0 for axis in axes):
            shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
            return numpy.full(shape, numpy.nan)
        return (numpy.max if which == "max" else numpy.min)(x, axis=axes, keepdims=True)

    def matrix_product(self, a, b):
        return numpy.matmul(a, b)

    def channel_ranges(self, count):
        """The channels that a convolution adds up at once."""
        return [slice(0, count)]

    def channel_product(self, images, kernels):
        """Of images [n, group, channel, ...] and kernels [group, output, channel]."""
        return numpy.einsum("ngc...,goc->ngo...", images, kernels)


class Floats:
    """Which of -0 and 0 a maximum gives differs between implementations: `ties` is "ieee" for what
    IEEE 754-2019 says (0 is above -0), "first" or "second" for the operand that is kept."""

    is_real = False

    def __init__(self, dtype, ties="ieee"):
        self.dtype = numpy.dtype(dtype)
        self.ties = ties

    def element_type(self, _):
        return self.dtype

    def function(self, f, x):
        """Computed in f64 and rounded, so that the result does not depend on an element's place."""
        return f(x.astype(numpy.float64)).astype(self.dtype)

    def add(self, a, b):
        return a + b

    def multiply(self, a, b):
        return a * b

    def divide(self, a, b):
        return a / b

    def log(self, x):
        return self.function(numpy.log, x)

    def power(self, a, b):
        wide = numpy.power(a.astype(numpy.float64), b.astype(numpy.float64))
        return wide.astype(self.dtype)

    def maximum(self, a, b):
        """The larger operand; NaN goes through."""
        if self.ties == "ieee":
            equal = numpy.where(a == 0, a + b, a)
        else:
            equal = a if self.ties == "first" else b
        nan = numpy.isnan(a) | numpy.isnan(b)
        picked = numpy.where(nan, self.dtype.type(numpy.nan), numpy.where(a > b, a, b))
        return numpy.where(a == b, equal, picked)

    def minimum(self, a, b):
        return -self.maximum(-a, -b)

    def bounded(self, x, low, high):
        """What Relu and Clip do: where x equals a bound they keep x."""
        kept = self if self.ties == "ieee" else Floats(self.dtype, "first")
        x = x if low is None else kept.maximum(x, low)
        return x if high is None else kept.minimum(x, high)

    def folded(self, x, axes, operation, neutral):
        """The elements along `axes` put together one after the other, in row-major order."""
        kept = [i for i in range(x.ndim) if i not in axes]
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        count = math.prod(x.shape[i] for i in axes)
        rows = x.transpose(list(axes) + kept).reshape((count,) + tuple(x.shape[i] for i in kept))
        result = None
        for row in rows:
            result = row if result is None else operation(result, row)
        if result is None:
            result = numpy.full(rows.shape[1:], neutral, self.dtype)
        return result.reshape(shape)

    def sum(self, x, axes):
        return self.folded(x, tuple(axes), self.add, 0)

    def extremum(self, x, axes, which):
        neutral = -math.inf if which == "max" else math.inf
        operation = self.maximum if which == "max" else self.minimum
        return self.folded(x, tuple(axes), operation, neutral)

    def matrix_product(self, a, b):
        rows, columns = a[..., :, :, None], b[..., None, :, :]
        products = self.multiply(rows, columns)
        return self.folded(products, (products.ndim - 2,), self.add, 0)[..., 0, :]

    def channel_ranges(self, count):
        return [slice(i, i + 1) for i in range(count)]

    def channel_product(self, images, kernels):
        kernels = kernels[..., 0].reshape((1, *kernels.shape[:2]) + (1,) * (images.ndim - 3))
        return self.multiply(images, kernels)


def stable_sigmoid(x):
    small = numpy.exp(-numpy.abs(x))
    return numpy.where(x >= 0, 1 / (1 + small), small / (1 + small))


def stable_softplus(x):
    return numpy.maximum(x, 0) + numpy.log1p(numpy.exp(-numpy.abs(x)))


def swish(x, alpha):
    return x * stable_sigmoid(alpha * x)


def gelu(x, approximate):
    if approximate == "tanh":
        return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    return 0.5 * x * (1 + erf(x * 0.7071067811865475)) if x.size else x
