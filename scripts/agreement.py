"""Evaluates models under ONNX Runtime and measures how far two sets of outputs are apart."""

import itertools
import math

import numpy
import onnxruntime

ELEMENT_TYPES = {
    "float": numpy.float32, "double": numpy.float64, "float16": numpy.float16,
    "int8": numpy.int8, "int16": numpy.int16, "int32": numpy.int32, "int64": numpy.int64,
    "uint8": numpy.uint8, "uint16": numpy.uint16, "uint32": numpy.uint32, "uint64": numpy.uint64,
    "bool": numpy.bool_, "string": numpy.object_,
}
# Extents tried for dynamic dimensions other than the first, and ranges tried for integers: many models accept only
# some (multiples of 32 for a detector, a minimum of samples for audio, indices below a bound). The first choice that
# runs is used: all extents alike if possible, else any combination within a number of attempts.
EXTENTS = (4, 8, 32, 64, 128, 1, 16, 224, 512, 1280)
INTEGER_RANGES = ((0, 2), (1, 2), (1, 5), (0, 1))
ATTEMPTS = 500


def session(path, optimized=False, threads=0):
    """A CPU session; without graph optimizations it is a plain reference. 0 threads: as many as there are cores."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class RandomInputs:
    """Makes inputs for a session, and finds out which extents and integers it accepts."""

    def __init__(self, inputs, shapes, seed):
        self.inputs = inputs
        self.shapes = shapes
        self.seed = seed
        for entry in inputs:
            if element_type(entry) is None:
                raise ValueError(f"no random values of type {entry.type} for input {entry.name}")
        self.extents = {symbol: EXTENTS[0] for symbol in self.free_symbols()}
        self.integers = INTEGER_RANGES[0]

    def settle(self, run):
        """Keeps the first choice with which `run(inputs)` succeeds; returns its error if none does."""
        first_error = None
        for self.extents, self.integers in itertools.islice(self.choices(), ATTEMPTS):
            try:
                run(self.sample(0))
                return None
            except Exception as error:  # ONNX Runtime has no common base class for its errors
                first_error = first_error or error
        return first_error

    def choices(self):
        symbols = self.free_symbols()
        ranges = INTEGER_RANGES if self.has_integers() else INTEGER_RANGES[:1]
        alike = [(extent,) * len(symbols) for extent in (EXTENTS if symbols else EXTENTS[:1])]
        mixed = itertools.product(EXTENTS, repeat=len(symbols)) if len(symbols) > 1 else ()
        for extents in itertools.chain(alike, mixed):
            for integers in ranges:
                yield dict(zip(symbols, extents)), integers

    def free_symbols(self):
        """The dynamic dimensions to choose: a name stands for all that bear it; first dimensions are 1."""
        symbols = [symbol for entry in self.inputs if entry.name not in self.shapes
                   for symbol in dimension_symbols(entry) if not isinstance(symbol, int)]
        first = {dimension_symbols(entry)[0] for entry in self.inputs if entry.shape}
        return [symbol for symbol in dict.fromkeys(symbols) if symbol not in first]

    def has_integers(self):
        return any(numpy.issubdtype(element_type(entry), numpy.integer) for entry in self.inputs)

    def sample(self, index):
        generator = numpy.random.default_rng([self.seed, index])
        return {entry.name: self.values(generator, element_type(entry), self.shape(entry)) for entry in self.inputs}

    def shape(self, entry):
        if entry.name in self.shapes:
            return self.shapes[entry.name]
        return [symbol if isinstance(symbol, int) else self.extents.get(symbol, 1)
                for symbol in dimension_symbols(entry)]

    def values(self, generator, kind, shape):
        if numpy.issubdtype(kind, numpy.floating):
            return generator.standard_normal(shape).astype(kind)
        if kind is numpy.bool_:
            return generator.integers(0, 2, shape).astype(kind)
        if kind is numpy.object_:
            return numpy.array([f"text {value}" for value in generator.integers(0, 9, shape).flat],
                               dtype=kind).reshape(shape)
        return generator.integers(*self.integers, shape).astype(kind)


def dimension_symbols(entry):
    """Per dimension its extent, its name, or, where it has neither, its place."""
    return [(entry.name, position) if extent is None else extent for position, extent in enumerate(entry.shape)]


def element_type(entry):
    """The numpy type of a tensor input; None for sequences, optionals, maps and exotic elements."""
    if not entry.type.startswith("tensor("):
        return None
    return ELEMENT_TYPES.get(entry.type[len("tensor("):-1])


class Distance:
    """The largest errors seen. `scale` is the smallest s for which |a - b| <= s * (atol + rtol * |b|) everywhere."""

    def __init__(self, rtol, atol):
        self.rtol = rtol
        self.atol = atol
        self.absolute = 0.0
        self.relative = 0.0
        self.scale = 0.0
        self.reason = ""

    @property
    def passed(self):
        return not self.reason and self.scale <= 1.0

    def fail(self, reason):
        self.reason = self.reason or reason
        self.absolute = self.relative = self.scale = math.inf

    def merge(self, other):
        self.absolute = max(self.absolute, other.absolute)
        self.relative = max(self.relative, other.relative)
        self.scale = max(self.scale, other.scale)
        self.reason = self.reason or other.reason

    def add(self, expected, actual):
        """Compares two values of ONNX Runtime: arrays, lists, maps, or None."""
        if isinstance(expected, (list, tuple)):
            self.add_many(expected, actual, list, range(len(expected)))
        elif isinstance(expected, dict):
            self.add_many(expected, actual, dict, expected)
        elif expected is None or actual is None:
            if expected is not actual:
                self.fail("one of two optional values is empty")
        else:
            self.add_arrays(numpy.asarray(expected), numpy.asarray(actual))

    def add_many(self, expected, actual, kind, keys):
        if not isinstance(actual, kind) or len(actual) != len(expected):
            return self.fail("sequences or maps differ in length or kind")
        for key in keys:
            if kind is dict and key not in actual:
                return self.fail(f"no entry for key {key!r}")
            self.add(expected[key], actual[key])

    def add_arrays(self, expected, actual):
        if expected.dtype != actual.dtype:
            return self.fail(f"type {actual.dtype} instead of {expected.dtype}")
        if expected.shape != actual.shape:
            return self.fail(f"shape {list(actual.shape)} instead of {list(expected.shape)}")
        if expected.dtype.kind == "f":
            return self.add_floats(expected.astype(numpy.float64), actual.astype(numpy.float64))
        different = int(numpy.count_nonzero(expected != actual))
        if different:
            self.fail(f"{different} of {expected.size} elements of type {expected.dtype} differ")

    def add_floats(self, expected, actual):
        same = (expected == actual) | (numpy.isnan(expected) & numpy.isnan(actual))
        if same.all():
            return
        expected, actual = expected[~same], actual[~same]
        if not (numpy.isfinite(expected).all() and numpy.isfinite(actual).all()):
            return self.fail("NaN or infinity in only one of the two outputs")
        error = numpy.abs(expected - actual)
        size = numpy.abs(expected)
        allowed = self.atol + self.rtol * size
        with numpy.errstate(divide="ignore"):
            self.scale = max(self.scale, float((error / allowed).max()))
        self.absolute = max(self.absolute, float(error.max()))
        if (size > 0).any():
            self.relative = max(self.relative, float((error[size > 0] / size[size > 0]).max()))

    def to_dictionary(self):
        return {
            "passed": self.passed,
            "max_absolute_error": plain(self.absolute),
            "max_relative_error": plain(self.relative),
            "scale": plain(self.scale),
            "minimum_rtol": plain(self.scale * self.rtol),
            "minimum_atol": plain(self.scale * self.atol),
            "reason": self.reason,
        }


def plain(value):
    """JSON has no infinity: it becomes the text "inf"."""
    return value if math.isfinite(value) else "inf"


def inputs_of(model):
    """Random inputs that ONNX Runtime accepts for a model; raises its error if there are none."""
    loaded = session(model)
    inputs = RandomInputs(loaded.get_inputs(), {}, seed=0)
    if error := inputs.settle(lambda feed: loaded.run(None, feed)):
        raise error
    return inputs.sample(0)
