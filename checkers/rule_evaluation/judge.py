"""Evaluates both sides of a rule on instances, and says where they differ.

Over the reals an element of `L => R` fails where the left side is defined and the right one is not,
or is another number; `L = R` fails in either direction. A rule of class bitwise is evaluated in
floating-point types as well, where every bit counts but those of a NaN."""

import random
from dataclasses import dataclass, field

import numpy

from rule_evaluation.arithmetic import Floats, Reals
from rule_evaluation.contents import float_contents, real_contents
from rule_evaluation.expressions import evaluate, Unevaluable
from rule_evaluation.instances import Sampler, style_of
from rule_evaluation.elements import as_elements
from rule_evaluation.networks import OPERATORS
from rule_evaluation.operators import IllTyped, REAL_TYPES, TooLarge

ATTEMPTS = 150
CONTENTS_OF_ONE = 3  # contents for each choice of sizes and parameters
MISSES = 50  # choices that are not found before a rule has too few instances
TOLERANCE = 1e-9
SMOOTH = {"Exp", "Log", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "Softplus", "Gelu", "Swish",
          "Erf", "LayerNormalization", "InstanceNormalization", "RMSNormalization",
          "BatchNormalization", "Sqrt", "ReduceL2", "HardSwish", "HardSigmoid", "Pow", "Div",
          "Reciprocal", "Sin", "Cos", "GRU", "LSTM", "MultiHeadAttention",
          "RNN"}


class Overflow(Exception):
    """A number is too large for f64, so that the instance says nothing about the reals."""


@dataclass
class Failure:
    """What is wrong in one direction of one instance."""
    direction: str   # "forward", "backward" or "bits"
    kind: str        # "undefined", "value", "ill typed", "type", "bits", "sign of zero" or
                     # "tie of zeros": only where implementations of maxima differ
    text: str


@dataclass
class Outcome:
    """One instance: its variables, which inputs have undefined elements, and what failed."""
    values: dict
    shapes: list
    undefined_inputs: frozenset
    zeros: frozenset
    failures: list
    empty_window: bool = False
    floats: bool = False  # evaluated in a floating-point type as well


@dataclass
class Evaluated:
    outputs: list
    scale: float = 1.0
    empty_window: bool = False


try:
    from ml_dtypes import bfloat16
except ImportError:
    bfloat16 = numpy.float32  # rounds less often, which hides nothing else


FLOATS = {"f16": numpy.float16, "bf16": bfloat16, "f32": numpy.float32, "f64": numpy.float64}


def floats_of(kind, ties="ieee"):
    """Arithmetic in an element type."""
    return Floats(FLOATS[kind], ties)


@dataclass
class Side:
    """One side of a rule with the attributes of one instance."""
    rule: object
    roots: list
    attributes: dict = field(default_factory=dict)
    error: str = ""
    order: list = field(default_factory=list)  # numbers of the nodes, operands first

    def bind(self, values):
        self.order = self.rule.nodes_of(self.roots)
        try:
            for number in self.order:
                node = self.rule.nodes[number]
                self.attributes[number] = {
                    name: evaluate(one, values) for name, one in node.attributes.items()}
        except (Unevaluable, TypeError) as error:
            self.error = str(error)
        return self

    def evaluate(self, m, inputs):
        """The outputs over the given inputs, pairs of an array and a type."""
        if self.error:
            raise IllTyped(self.error)
        rule, results, result = self.rule, {}, Evaluated([])
        for number in self.order:
            node = rule.nodes[number]
            if node.operator is None:
                results[number] = [inputs[node.input]]
                continue
            operands = [one and results[one[0]][one[1]] for one in node.operands]
            try:
                outputs = OPERATORS[node.operator](m, operands, self.attributes[number], node.outputs)
            except IllTyped as error:
                raise IllTyped(f"{node.operator}: {error}") from None
            results[number] = outputs
            if m.is_real:
                self.measure(node, operands, outputs, result)
        result.outputs = [results[node][output] for node, output in self.roots]
        return result

    def measure(self, node, operands, outputs, result):
        """The largest magnitude, and infinities that are no numbers."""
        for array, _ in outputs:
            if not array.size or array.dtype == bool:
                continue
            largest = max(numpy.fmax.reduce(array, axis=None), -numpy.fmin.reduce(array, axis=None))
            if largest == numpy.inf:
                if node.operator == "MaxPool":
                    result.empty_window = True
                elif not any(numpy.isinf(one[0]).any() for one in operands if one):
                    raise Overflow
                largest = numpy.fmax.reduce(numpy.where(numpy.isinf(array), 0, array), axis=None)
            if largest > result.scale:
                result.scale = float(largest)


def difference(left, right, scale):
    """Failures of the values of one output over the reals."""
    (a, a_type), (b, b_type) = left, right
    if a_type != b_type or a.shape != b.shape:
        text = f"{a_type}{list(a.shape)} and {b_type}{list(b.shape)}"
        return [Failure("forward", "type", text), Failure("backward", "type", text)]
    if a.dtype == bool:
        a, b = a.astype(numpy.int8), b.astype(numpy.int8)
    result = []
    a_defined, b_defined = ~numpy.isnan(a), ~numpy.isnan(b)
    for direction, wrong in (("forward", a_defined & ~b_defined), ("backward", b_defined & ~a_defined)):
        if wrong.any():
            at = tuple(int(i) for i in numpy.argwhere(wrong)[0])
            values = f"left {a[at]:.17g}, right {b[at]:.17g}"
            result.append(Failure(direction, "undefined", f"element {list(at)}: {values}"))
    with numpy.errstate(all="ignore"):
        far = a_defined & b_defined & (a != b) & ~(numpy.abs(a - b) <= TOLERANCE * scale)
    if far.any():
        at = tuple(int(i) for i in numpy.argwhere(far)[0])
        text = f"element {list(at)}: left {a[at]:.17g}, right {b[at]:.17g}"
        result += [Failure("forward", "value", text), Failure("backward", "value", text)]
    return result


def bit_difference(left, right):
    (a, a_type), (b, b_type) = left, right
    if a_type != b_type or a.shape != b.shape:
        return []  # seen over the reals
    same = (a == b) & (numpy.signbit(a) == numpy.signbit(b)) | (numpy.isnan(a) & numpy.isnan(b))
    if same.all():
        return []
    at = tuple(int(i) for i in numpy.argwhere(~same)[0])
    zeros = bool(((a == b) | same).all())
    kind = "sign of zero" if zeros else "bits"
    return [Failure("bits", kind, f"{a_type} element {list(at)}: left {a[at]!r}, right {b[at]!r}")]


class Judge:
    """Evaluates one rule."""

    def __init__(self, rule, seed, is_bitwise):
        self.rule, self.is_bitwise = rule, is_bitwise
        self.sampler = Sampler(rule, random.Random(f"{seed} {rule.name}"))
        digest = numpy.frombuffer(f"{seed} {rule.name}".encode(), numpy.uint8)
        self.generator = numpy.random.default_rng([int(one) for one in digest])
        operators = {node.operator for node in rule.nodes}
        self.scales = not operators & SMOOTH
        self.rejected = {}
        self.turn = 0  # counts contents, so that each input is undefined in its turn

    def run(self, count):
        """Outcomes of `count` instances, or fewer if no more are found."""
        outcomes, misses = [], 0
        with numpy.errstate(all="ignore"):
            while len(outcomes) < count and misses < MISSES:
                found = self.choice()
                if found is None:
                    misses += 1
                    continue
                for _ in range(min(CONTENTS_OF_ONE, count - len(outcomes))):
                    outcome = self.instance(*found)
                    if outcome is None:
                        misses += 1
                        break
                    outcomes.append(outcome)
        return outcomes

    def choice(self):
        """Values of the variables for which one side is well typed."""
        for attempt in range(ATTEMPTS):
            values = self.sampler.draw(style_of(self.sampler.random, attempt))
            shapes = None if values is None else self.shapes(values)
            if shapes is None:
                continue
            sides = [Side(self.rule, roots).bind(values) for roots in (self.rule.left, self.rule.right)]
            inputs = self.typed([numpy.ones(shape) for shape in shapes])
            try:
                if any([self.well_typed(side, inputs) for side in sides]):
                    return values, shapes, sides
            except TooLarge:
                self.reject("too large")
        return None

    def shapes(self, values):
        try:
            return self.sampler.shapes(values)
        except Unevaluable:
            return None

    def well_typed(self, side, inputs):
        try:
            side.evaluate(Reals(), inputs)
            return True
        except IllTyped as error:
            self.reject(str(error))
            return False
        except Overflow:
            return True

    def reject(self, why):
        self.rejected[why] = self.rejected.get(why, 0) + 1

    def typed(self, arrays):
        kinds = [one.type or self.sampler.element_type for one in self.rule.inputs]
        return [(as_elements(array, kind), kind) for array, kind in zip(arrays, kinds)]

    def instance(self, values, shapes, sides):
        self.turn += 1
        for _ in range(4):
            arrays, undefined = real_contents(
                self.generator, self.rule, shapes, self.scales, self.turn)
            try:
                failures, empty_window = self.real_failures(sides, self.typed(arrays))
            except Overflow:
                continue
            if self.is_bitwise:
                failures += self.float_failures(sides, shapes)
            return Outcome(values, shapes, undefined, self.zeros(values), failures, empty_window,
                           self.is_bitwise)
        return None

    def real_failures(self, sides, inputs):
        results, errors = [], []
        for side in sides:
            try:
                results.append(side.evaluate(Reals(), inputs))
                errors.append("")
            except IllTyped as error:
                results.append(None)
                errors.append(str(error))
        if None in results:
            missing = results.index(None)
            direction = "forward" if missing == 1 else "backward"
            return [Failure(direction, "ill typed", errors[missing])], False
        scale = max(one.scale for one in results)
        failures = []
        for left, right in zip(results[0].outputs, results[1].outputs):
            failures += difference(left, right, scale)
        return failures, any(one.empty_window for one in results)

    def float_failures(self, sides, shapes):
        kind = self.sampler.element_type
        arrays = float_contents(self.generator, shapes, floats_of(kind).dtype)
        inputs = [(array if kind in (*REAL_TYPES, "bool") else numpy.where(numpy.isnan(array), 0, array), kind)
                  for array, kind in self.typed(arrays)]
        failures = self.bit_failures(floats_of(kind), sides, inputs)
        if failures:
            return failures
        ties = ("first", "second")[self.turn % 2]
        other = self.bit_failures(floats_of(kind, ties), sides, inputs)
        return [Failure("bits", "tie of zeros", one.text) for one in other]

    def bit_failures(self, m, sides, inputs):
        try:
            left, right = (side.evaluate(m, inputs) for side in sides)
        except IllTyped:
            return []  # seen over the reals
        failures = []
        for a, b in zip(left.outputs, right.outputs):
            failures += bit_difference(a, b)
        return failures

    def zeros(self, values):
        """The variables, and axes of groups, that are 0."""
        result = set()
        for name, value in values.items():
            if name in self.rule.groups and 0 in value:
                result.add(name + "..")
            elif name in self.sampler.sizes and value == 0:
                result.add(name)
        return frozenset(result)
