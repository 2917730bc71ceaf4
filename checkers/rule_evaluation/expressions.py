"""Values of expressions where every variable has one: integers, floats, strings, and tuples of
integers for lists, groups and permutations."""

import math
import operator
from fractions import Fraction
from itertools import accumulate


class Unevaluable(Exception):
    """The expression has no value, such as a list's element outside the list."""


def need(condition, message):
    if not condition:
        raise Unevaluable(message)


def is_permutation(values):
    return sorted(values) == list(range(len(values)))


def position(i, length):
    i = i + length if i < 0 else i
    need(0 <= i < length, "a position outside the list")
    return i


def permute(values, p):
    need(is_permutation(p) and len(values) == len(p), "no permutation of the list")
    return tuple(values[i] for i in p)


def swap_last_two(n):
    need(n >= 2, "no two axes to swap")
    return (*range(n - 2), n - 1, n - 2)


def both_ways(operation):
    def apply(a, b):
        if not isinstance(a, tuple):
            need(not isinstance(b, tuple), "a list and a number")
            return operation(a, b)
        need(isinstance(b, tuple) and len(a) == len(b), "lists of different lengths")
        return tuple(operation(x, y) for x, y in zip(a, b))
    return apply


def insert_axes(values, axes):
    rank, rest = len(values) + len(axes), list(values)
    need(len(set(axes)) == len(axes) and all(0 <= a < rank for a in axes), "axes that do not fit")
    return tuple(1 if i in axes else rest.pop(0) for i in range(rank))


def remove_axes(values, axes):
    need(len(set(axes)) == len(axes) and all(0 <= a < len(values) for a in axes), "no such axes")
    return tuple(v for i, v in enumerate(values) if i not in axes)


def taken(values, n):
    need(0 <= n <= len(values), "more elements than there are")
    return values[:n]


def dropped(values, n):
    need(0 <= n <= len(values), "more elements than there are")
    return values[n:]


def part(values, i, j):
    need(0 <= i <= j <= len(values), "a range outside the list")
    return values[i:j]


def index_of(values, v):
    need(v in values, "not in the list")
    return values.index(v)


def inserted(values, i, v):
    i = position(i, len(values) + 1)
    return values[:i] + (v,) + values[i:]


def replaced(values, i, *new):
    i = position(i, len(values))
    return values[:i] + new + values[i + 1:]


def divide(a, b):
    need(b != 0 and a % b == 0, "not divisible")
    return a // b


def floor_divide(a, b):
    need(b > 0, "a divisor that is not positive")
    return a // b


def repeat(v, n):
    need(n >= 0, "a negative number of elements")
    return (v,) * n


def finite(x):
    need(math.isfinite(x), "not finite")
    return x


def exact(operation, a, b):
    """The real number, which has to be one that f64 has: a rounded one would make two numbers one."""
    a, b = finite(float(a)), finite(float(b))
    result = operation(Fraction(a), Fraction(b))
    try:
        rounded = float(result)
    except OverflowError:
        raise Unevaluable("a number that is too large") from None
    need(Fraction(rounded) == result, "a number that is not exact")
    return rounded


def real_divide(a, b):
    need(b != 0, "a division by zero")
    return exact(lambda x, y: x / y, a, b)


def inverse(p):
    need(is_permutation(p), "no permutation")
    return tuple(p.index(i) for i in range(len(p)))


FUNCTIONS = {
    "permute": permute,
    "compose": permute,
    "inverse": inverse,
    "identity": lambda n: tuple(range(n)),
    "swap_last_two": swap_last_two,
    "len": len,
    "concat": lambda a, b: a + b,
    "reverse": lambda a: a[::-1],
    "take": taken,
    "drop": dropped,
    "slice": part,
    "at": lambda a, i: a[position(i, len(a))],
    "insert": inserted,
    "remove": lambda a, i: replaced(a, i),
    "replace": replaced,
    "repeat": repeat,
    "range": lambda a, b: tuple(range(a, b)),
    "index_of": index_of,
    "sum": sum,
    "product": math.prod,
    "prefix_sums": lambda a: tuple(accumulate((0, *a[:-1]))) if a else (),
    "plus": both_ways(lambda a, b: a + b),
    "minus": both_ways(lambda a, b: a - b),
    "times": both_ways(lambda a, b: a * b),
    "insert_axes": insert_axes,
    "remove_axes": remove_axes,
    "sort": lambda a: tuple(sorted(a)),
    "divide": divide,
    "floordiv": floor_divide,
    "floormod": lambda a, b: a - b * floor_divide(a, b),
    "min": min,
    "max": max,
    "real_add": lambda a, b: exact(lambda x, y: x + y, a, b),
    "real_multiply": lambda a, b: exact(lambda x, y: x * y, a, b),
    "real_divide": real_divide,
    "real_max": lambda a, b: float(max(a, b)),
    "real_min": lambda a, b: float(min(a, b)),
}

PREDICATES = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
    "is_permutation": is_permutation,
    "is_identity": lambda p: p == tuple(range(len(p))),
    "swaps_last_two": lambda p: p == swap_last_two(len(p)),
    "fixes_first": lambda p, k: p[:k] == tuple(range(k)),
    "fixes_last": lambda p, k: p[len(p) - k:] == tuple(range(len(p) - k, len(p))),
    "contains": lambda a, v: v in a,
    "lacks": lambda a, v: v not in a,
    "disjoint": lambda a, b: not set(a) & set(b),
    "all_equal": lambda a, v: all(x == v for x in a),
    "divides": lambda a, b: b % a == 0 if a else b == 0,
    "real_less": lambda a, b: a < b,
    "real_less_equal": lambda a, b: a <= b,
}


ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def evaluate(expression, values):
    kind = expression[0]
    if kind == "literal":
        return expression[1]
    if kind in ("variable", "splice"):
        need(expression[1] in values, f"'{expression[1]}' has no value")
        return values[expression[1]]
    if kind == "list":
        result = []
        for item in expression[1:]:
            value = evaluate(item, values)
            result += value if item[0] == "splice" else (value,)
        return tuple(result)
    if kind == "call":
        return FUNCTIONS[expression[1]](*(evaluate(one, values) for one in expression[2:]))
    a, b = evaluate(expression[1], values), evaluate(expression[2], values)
    need(not isinstance(a, (tuple, str)) and not isinstance(b, (tuple, str)), "no numbers")
    if isinstance(a, float) or isinstance(b, float):
        return exact(ARITHMETIC[kind], a, b)
    return ARITHMETIC[kind](a, b)


def holds(condition, values):
    """Whether a condition is true. What has no value is not true."""
    name, arguments = condition
    try:
        return bool(PREDICATES[name](*(evaluate(one, values) for one in arguments)))
    except (Unevaluable, TypeError):
        return False
