"""Real numbers of rules (docs/certificates.md, "Real parameters").

A rule with real parameters is proved for one number each in each order of them and 0. Here such a
value is no number but an `Ordered`: all that is known of it is how it compares with the others and
with 0. So whatever computes with it is refused where it is computed, and no number of the rule can be
taken for it. 0 itself is the number 0.0."""

import functools
import itertools
import math
from fractions import Fraction

from second_checker.sizes import demand, Refused, Size

STEP = 1031.125  # how the values are written: multiples of this
COMPARISONS = ("real_less_equal",)  # the predicates that compare real numbers
EXTREMA = ("real_max", "real_min")


class Ordered:
    """The value that is written k * 1031.125, for k other than 0."""

    __slots__ = ("k",)
    table = {}

    def __new__(cls, k):
        if k not in cls.table:
            cls.table[k] = object.__new__(cls)
            cls.table[k].k = k
        return cls.table[k]

    def __repr__(self):
        return repr(self.k * STEP)


def ordered_values(count):
    return [Ordered(k) if k else 0.0 for k in range(-count, count + 1)]


def rank(value):
    """Where the value stands among the ordered ones."""
    if isinstance(value, Ordered):
        return value.k
    demand(isinstance(value, float) and value == 0.0, "a real parameter beside another number")
    return 0


def has_gap(values):
    """Whether some k is used whose neighbor towards 0 is neither 0 nor used."""
    used = {rank(one) for one in values} | {0}
    return any(k - (k > 0) + (k < 0) not in used for k in used)


def as_real(value):
    if isinstance(value, Ordered):
        return value
    if isinstance(value, Size) and value.is_constant():
        return exact(value.constant())
    demand(isinstance(value, float) and not math.isnan(value), "a real number is wanted")
    return value


def exact(fraction):
    """The real number, which has to be one that is written exactly."""
    try:
        result = float(fraction)
    except OverflowError:
        raise Refused("a number too large") from None
    demand(math.isfinite(result) and Fraction(result) == fraction, "a number that is not exact")
    return result


def compute(operation):
    """An operation on numbers, without rounding: a rounded result would make two numbers one."""
    def apply(a, b):
        a, b = as_real(a), as_real(b)
        demand(not isinstance(a, Ordered) and not isinstance(b, Ordered),
               "computes with a real parameter")
        demand(math.isfinite(a) and math.isfinite(b), "a number that is not finite")
        return exact(operation(Fraction(a), Fraction(b)))
    return apply


def quotient(a, b):
    demand(b != 0, "a division by zero")
    return a / b


def extreme(choose):
    def apply(a, b):
        a, b = as_real(a), as_real(b)
        if isinstance(a, Ordered) or isinstance(b, Ordered):
            return choose((a, b), key=rank)
        return choose(a, b)
    return apply


def less_equal(a, b):
    a, b = as_real(a), as_real(b)
    if isinstance(a, Ordered) or isinstance(b, Ordered):
        return rank(a) <= rank(b)
    return a <= b


# What rules say of them, before anything is computed.

@functools.lru_cache(maxsize=None)
def mentions(expression, names):
    """Whether one of the names occurs in the expression."""
    if expression[0] in ("variable", "splice"):
        return expression[1] in names
    return any(isinstance(part, tuple) and mentions(part, names) for part in expression[1:])


def is_ordered(expression, names):
    if expression[0] == "variable":
        return expression[1] in names
    if expression[0] == "call":
        return expression[1] in EXTREMA and all(is_ordered(e, names) for e in expression[2:])
    return expression[0] == "literal" and repr(expression[1]) == "0.0"


def literals_of(expression):
    if expression[0] == "literal":
        yield expression[1]
    for part in expression[1:]:
        if isinstance(part, tuple):
            yield from literals_of(part)


def is_token(value, count):
    """A number that is written like the value of a real parameter, where there are that many."""
    return isinstance(value, float) and value != 0 and any(
        abs(value) == k * STEP for k in range(1, count + 1))


def real_parameters(rule):
    return frozenset(name for name, (kind, _) in rule.parameters.items() if kind == "real")


def check_order_only(rule, count):
    """In a proof with `count` real parameters, rules and axioms do no more with theirs than compare."""
    names = real_parameters(rule)
    written = []
    for op, attributes, _ in rule.nodes:
        for name, e in attributes if op is not None else ():
            written.append(e)
            demand(not mentions(e, names) or is_ordered(e, names),
                   f"{rule.name}: attribute {name} computes with a real parameter")
    for kind, arguments in rule.conditions:
        written += arguments
        if any(mentions(e, names) for e in arguments):
            demand(kind in COMPARISONS and all(is_ordered(e, names) for e in arguments),
                   f"{rule.name}: a condition computes with a real parameter")
    for kind, bounds in rule.parameters.values():
        for e in bounds if kind != "string" else ():
            written.append(e)
            demand(not mentions(e, names), f"{rule.name}: a range depends on a real parameter")
    for e in itertools.chain(written, *(one.shape for one in rule.inputs)):
        demand(not any(is_token(one, count) for one in literals_of(e)),
               f"{rule.name}: a number that stands for a real parameter")


def check_mixture(axiom, values):
    """An axiom that compares its real parameters has the rule's and 0 for all of them, or for none."""
    names = real_parameters(axiom)
    given = [values[name] for name in names]
    if not any(isinstance(one, Ordered) for one in given):
        return
    expressions = [e for op, attributes, _ in axiom.nodes if op is not None for _, e in attributes]
    compares = any(uses_extrema(e) for e in expressions) or any(
        mentions(e, names) for _, arguments in axiom.conditions for e in arguments)
    demand(not compares or all(isinstance(one, Ordered) or one == 0.0 for one in given),
           "the axiom compares a real parameter with another number")


def uses_extrema(e):
    return (e[0] == "call" and e[1] in EXTREMA) or any(
        isinstance(part, tuple) and uses_extrema(part) for part in e[1:])
