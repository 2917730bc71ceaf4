"""Values of expressions, and the functions and predicates that rules may call.

Sizes and integers are Size, real numbers float, lists tuples of Size, strings in their quotes."""

import itertools
import math

from second_checker.sizes import (
    add, at_least, demand, exact_quotient, extremum, floor_quotient, multiply, number, ONE,
    Refused, Size, subtract, total, ZERO)

REAL_TYPES = ("f32", "f64", "f16", "bf16")


def as_integer(value):
    demand(isinstance(value, Size) and value.is_constant(), "an integer is wanted")
    return value.constant()


def as_integers(value):
    demand(isinstance(value, tuple), "a list is wanted")
    return tuple(as_integer(one) for one in value)


def as_permutation(value):
    result = as_integers(value)
    demand(sorted(result) == list(range(len(result))), "a permutation is wanted")
    return result


def as_list(value):
    demand(isinstance(value, tuple) and all(isinstance(one, Size) for one in value), "no list")
    return value


def as_size(value):
    demand(isinstance(value, Size), "a size is wanted")
    return value


def as_real(value):
    if isinstance(value, Size) and value.is_constant():
        return float(value.constant())
    demand(isinstance(value, float), "a real number is wanted")
    return value


def counted(value, limit=1000):
    n = as_integer(value)
    demand(0 <= n <= limit, "no number of elements")
    return n


def index(value, length):
    n = as_integer(value)
    n += length if n < 0 else 0
    demand(0 <= n < length, "outside the list")
    return n


def integers(values):
    return tuple(number(one) for one in values)


def inverse(p):
    return tuple(p.index(i) for i in range(len(p)))


def swap_last_two(n):
    demand(n >= 2, "no two axes to swap")
    return (*range(n - 2), n - 1, n - 2)


def permuted(values, p):
    demand(len(values) == len(p), "list and permutation differ in length")
    return tuple(values[i] for i in p)


def index_of(values, value):
    demand(value in values, "not in the list")
    return number(values.index(value))


def prefix_sums(values):
    return tuple(itertools.accumulate((ZERO, *values[:-1]), add)) if values else ()


def elementwise(operation):
    def apply(a, b):
        if isinstance(a, Size):
            return operation(a, as_size(b))
        a, b = as_list(a), as_list(b)
        demand(len(a) == len(b), "the lists differ in length")
        return tuple(operation(x, y) for x, y in zip(a, b))
    return apply


def insert_axes(values, axes):
    rank, rest = len(values) + len(axes), list(values)
    demand(len(set(axes)) == len(axes) and all(0 <= a < rank for a in axes), "wrong axes")
    return tuple(ONE if i in axes else rest.pop(0) for i in range(rank))


def remove_axes(values, axes):
    demand(len(set(axes)) == len(axes) and all(0 <= a < len(values) for a in axes), "wrong axes")
    return tuple(value for i, value in enumerate(values) if i not in axes)


def divide(a, b):
    quotient = exact_quotient(as_size(a), as_size(b))
    demand(quotient is not None, "not divisible")
    return quotient


def real(operation):
    def apply(a, b):
        a, b = as_real(a), as_real(b)
        result = operation(a, b)
        demand(math.isfinite(result), "not finite")
        return result
    return apply


def quotient_of_reals(a, b):
    demand(b != 0, "a division by zero")
    return a / b


def changed(values, i, *new):
    return (*values[:i], *new, *values[i + 1:])


FUNCTIONS = {
    "permute": (2, lambda l, p: permuted(as_list(l), as_permutation(p))),
    "compose": (2, lambda p, q: integers(permuted(as_permutation(p), as_permutation(q)))),
    "inverse": (1, lambda p: integers(inverse(as_permutation(p)))),
    "identity": (1, lambda n: integers(range(counted(n)))),
    "swap_last_two": (1, lambda n: integers(swap_last_two(counted(n)))),
    "len": (1, lambda l: number(len(as_list(l)))),
    "concat": (2, lambda a, b: as_list(a) + as_list(b)),
    "reverse": (1, lambda l: as_list(l)[::-1]),
    "take": (2, lambda l, n: as_list(l)[:counted(n, len(l))]),
    "drop": (2, lambda l, n: as_list(l)[counted(n, len(l)):]),
    "at": (2, lambda l, i: as_list(l)[index(i, len(l))]),
    "insert": (3, lambda l, i, v: (lambda k: l[:k] + (as_size(v),) + l[k:])(
        index(i, len(as_list(l)) + 1))),
    "remove": (2, lambda l, i: changed(as_list(l), index(i, len(l)))),
    "replace": (3, lambda l, i, v: changed(as_list(l), index(i, len(l)), as_size(v))),
    "repeat": (2, lambda v, n: (as_size(v),) * counted(n)),
    "range": (2, lambda a, b: integers(range(counted(a), counted(b)))),
    "index_of": (2, lambda l, v: index_of(as_list(l), as_size(v))),
    "sum": (1, lambda l: add(ZERO, ZERO) if not as_list(l) else list(
        itertools.accumulate(l, add))[-1]),
    "product": (1, lambda l: total(as_list(l))),
    "prefix_sums": (1, lambda l: prefix_sums(as_list(l))),
    "plus": (2, elementwise(add)),
    "minus": (2, elementwise(subtract)),
    "times": (2, elementwise(multiply)),
    "insert_axes": (2, lambda l, a: insert_axes(as_list(l), as_integers(a))),
    "remove_axes": (2, lambda l, a: remove_axes(as_list(l), as_integers(a))),
    "sort": (1, lambda l: integers(sorted(as_integers(l)))),
    "divide": (2, divide),
    "floordiv": (2, lambda a, b: floor_quotient(as_size(a), as_size(b))),
    "floormod": (2, lambda a, b: subtract(a, multiply(b, floor_quotient(as_size(a), as_size(b))))),
    "min": (2, lambda a, b: extremum("min", as_size(a), as_size(b))),
    "max": (2, lambda a, b: extremum("max", as_size(a), as_size(b))),
    "real_add": (2, real(lambda a, b: a + b)),
    "real_multiply": (2, real(lambda a, b: a * b)),
    "real_divide": (2, real(quotient_of_reals)),
    "real_max": (2, real(max)),
    "real_min": (2, real(min)),
}

PREDICATES = {
    "is_permutation": (1, lambda p: as_permutation(p) is not None),
    "is_identity": (1, lambda p: as_integers(p) == tuple(range(len(p)))),
    "swaps_last_two": (1, lambda p: as_integers(p) == swap_last_two(len(p))),
    "fixes_first": (2, lambda p, k: as_permutation(p)[:counted(k, len(p))] ==
                    tuple(range(as_integer(k)))),
    "fixes_last": (2, lambda p, k: as_permutation(p)[len(p) - counted(k, len(p)):] ==
                   tuple(range(len(p) - as_integer(k), len(p)))),
    "contains": (2, lambda l, v: as_size(v) in as_list(l)),
    "lacks": (2, lambda l, v: as_integer(v) not in as_integers(l)),
    "disjoint": (2, lambda a, b: not set(as_integers(a)) & set(as_integers(b))),
    "all_equal": (2, lambda l, v: all(one is as_size(v) for one in as_list(l))),
    "divides": (2, lambda a, b: exact_quotient(as_size(b), as_size(a)) is not None),
    "real_less_equal": (2, lambda a, b: as_real(a) <= as_real(b)),
}


def evaluate(e, values):
    kind = e[0]
    if kind == "literal":
        return number(e[1]) if isinstance(e[1], int) else e[1]
    if kind == "type":
        return e
    if kind == "variable":
        demand(e[1] in values, f"'{e[1]}' has no value")
        return values[e[1]]
    if kind == "list":
        result = []
        for part in e[1:]:
            if part[0] == "splice":
                demand(part[1] in values, f"'{part[1]}' has no value")
                result += as_list(values[part[1]])
            else:
                result.append(as_size(evaluate(part, values)))
        return tuple(result)
    if kind == "call":
        return FUNCTIONS[e[1]][1](*(evaluate(part, values) for part in e[2:]))
    demand(kind != "splice", "a group stands outside a list")
    a, b = evaluate(e[1], values), evaluate(e[2], values)
    if isinstance(a, Size) and isinstance(b, Size):
        return {"sum": add, "difference": subtract, "product": multiply}[kind](a, b)
    a, b = as_real(a), as_real(b)
    return a + b if kind == "sum" else a - b if kind == "difference" else a * b


def certainly_different(a, b):
    if isinstance(a, Size) and isinstance(b, Size):
        return at_least(a, add(b, ONE)) or at_least(b, add(a, ONE))
    if isinstance(a, tuple) and isinstance(b, tuple) and a[:1] != ("type",):
        return len(a) != len(b) or any(certainly_different(x, y) for x, y in zip(a, b))
    if isinstance(a, (float, Size)) and isinstance(b, (float, Size)):
        return as_real(a) != as_real(b)
    return type(a) is type(b) and a != b


def holds(condition, values):
    kind, arguments = condition
    try:
        a = [evaluate(one, values) for one in arguments]
        if kind in PREDICATES:
            return PREDICATES[kind][1](*a)
        if kind == "==":
            mixed = isinstance(a[0], float) or isinstance(a[1], float)
            return as_real(a[0]) == as_real(a[1]) if mixed else a[0] == a[1]
        if kind == "!=":
            return certainly_different(a[0], a[1])
        return at_least(as_size(a[1]), add(as_size(a[0]), ONE if kind == "<" else ZERO))
    except Refused:
        return False


def bound_value(rule, name, expression, values):
    """The value of a variable of `rule`, brought to the kind that it has."""
    value = evaluate(expression, values)
    if name in rule.groups:
        return as_list(value)
    kind = rule.parameters.get(name, ("dimension",))[0]
    if kind == "real":
        return as_real(value)
    if kind in ("permutation", "integer"):
        (as_integers if kind == "permutation" else as_integer)(value)
        return value
    if kind == "string":
        demand(isinstance(value, str), "a string is wanted")
        return value
    if kind == "type":
        demand(isinstance(value, tuple) and value[0] == "type", "a data type is wanted")
        return value
    return as_list(value) if kind == "dimensions" else as_size(value)


def in_range(rule, name, values):
    kind, bounds = rule.parameters[name]
    value = values[name]
    if kind == "string":
        return value in bounds
    if kind == "real":
        return math.isfinite(value)
    if kind == "type":
        return value[1] in REAL_TYPES
    limits = [as_size(evaluate(one, values)) for one in bounds]
    if kind == "dimension":
        return at_least(value, ZERO)
    if kind == "integer":
        return at_least(value, limits[0]) and at_least(limits[1], add(value, ONE))
    if number(len(value)) is not limits[0]:
        return False
    if kind == "dimensions":
        return all(at_least(one, ZERO) for one in value)
    return sorted(as_integers(value)) == list(range(len(value)))


def with_real_type(rule, values, shared):
    """Parameters of the range `type` stand for the real type that inputs share."""
    types = {name: ("type", shared) for name, (kind, _) in rule.parameters.items() if kind == "type"}
    return {**values, **types} if shared else values


def conditions_hold(rule, values):
    return (all(least <= len(values[name]) <= most for name, (least, most) in rule.groups.items())
            and all(in_range(rule, name, values) for name in rule.parameters)
            and all(holds(one, values) for one in rule.conditions))
