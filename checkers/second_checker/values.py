"""Values of expressions, and the functions and predicates that rules may call.

Sizes and integers are Size, real numbers float or Ordered, lists tuples of Size, strings in their
quotes, data types ("type", NAME). What a function answers for symbols it must answer for all sizes;
where it cannot, it refuses."""

import itertools

from second_checker.reals import as_real, compute, extreme, less_equal, quotient
from second_checker.sizes import (
    add, certainly_different, demand, exact_quotient, extremum, floor_quotient, multiply, number,
    ONE, Size, subtract, total, ZERO)

REAL_TYPES = ("f32", "f64", "f16", "bf16")
ANY_REAL = "real"  # the real type that inputs without a written one share, whichever it is
INTEGER_TYPES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
DATA_TYPES = REAL_TYPES + INTEGER_TYPES + ("bool",)


def is_real_type(kind):
    return kind == ANY_REAL or kind in REAL_TYPES


# What a value has to be.

def as_integer(value):
    demand(isinstance(value, Size) and value.is_constant(), "an integer is wanted")
    return value.constant()


def as_list(value):
    demand(isinstance(value, tuple) and all(isinstance(one, Size) for one in value),
           "a list is wanted")
    return value


def as_reals(value):
    demand(isinstance(value, tuple) and all(isinstance(one, float) for one in value), "a list of numbers is wanted")
    return value


def as_integers(value):
    return tuple(as_integer(one) for one in as_list(value))


def is_permutation(values):
    return sorted(values) == list(range(len(values)))


def as_permutation(value):
    result = as_integers(value)
    demand(is_permutation(result), "a permutation is wanted")
    return result


def as_size(value):
    demand(isinstance(value, Size), "a size is wanted")
    return value


def as_string(value):
    demand(isinstance(value, str), "a string is wanted")
    return value


def as_type(value):
    demand(isinstance(value, tuple) and value[:1] == ("type",), "a data type is wanted")
    return value


def is_symbolic(value):
    """Whether a symbol occurs in it."""
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(one, Size) and not one.is_constant() for one in parts)


# Functions.

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


def changed(values, i, *new):
    return (*values[:i], *new, *values[i + 1:])


def swap_last_two(n):
    demand(n >= 2, "no two axes to swap")
    return (*range(n - 2), n - 1, n - 2)


def permuted(values, p):
    demand(len(values) == len(p), "list and permutation differ in length")
    return tuple(values[i] for i in p)


def index_of(values, value):
    """The first place; those before it have to be others for all sizes."""
    for i, one in enumerate(values):
        if one is value:
            return number(i)
        demand(certainly_different(one, value), "which element it is depends on sizes")
    demand(False, "not in the list")


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


def insert(values, place, value):
    at = index(place, len(values) + 1)
    return (*values[:at], value, *values[at:])


def insert_axes(values, axes):
    rank, rest = len(values) + len(axes), list(values)
    demand(len(set(axes)) == len(axes) and all(0 <= a < rank for a in axes), "wrong axes")
    return tuple(ONE if i in axes else rest.pop(0) for i in range(rank))


def remove_axes(values, axes):
    demand(len(set(axes)) == len(axes) and all(0 <= a < len(values) for a in axes), "wrong axes")
    return tuple(value for i, value in enumerate(values) if i not in axes)


def divide(a, b):
    result = exact_quotient(as_size(a), as_size(b))
    demand(result is not None, "not divisible")
    return result


def remainder(a, b):
    return subtract(as_size(a), multiply(as_size(b), floor_quotient(as_size(a), as_size(b))))


FUNCTIONS = {
    "permute": (2, lambda l, p: permuted(as_list(l), as_permutation(p))),
    "compose": (2, lambda p, q: integers(permuted(as_permutation(p), as_permutation(q)))),
    "inverse": (1, lambda p: (lambda q: integers(q.index(i) for i in range(len(q))))(
        as_permutation(p))),
    "identity": (1, lambda n: integers(range(counted(n)))),
    "swap_last_two": (1, lambda n: integers(swap_last_two(counted(n)))),
    "len": (1, lambda l: number(len(as_list(l)))),
    "concat": (2, lambda a, b: as_list(a) + as_list(b)),
    "reverse": (1, lambda l: as_list(l)[::-1]),
    "take": (2, lambda l, n: as_list(l)[:counted(n, len(l))]),
    "drop": (2, lambda l, n: as_list(l)[counted(n, len(l)):]),
    "at": (2, lambda l, i: as_list(l)[index(i, len(l))]),
    "insert": (3, lambda l, i, v: insert(as_list(l), i, as_size(v))),
    "remove": (2, lambda l, i: changed(as_list(l), index(i, len(l)))),
    "replace": (3, lambda l, i, v: changed(as_list(l), index(i, len(l)), as_size(v))),
    "repeat": (2, lambda v, n: (as_size(v),) * counted(n)),
    "range": (2, lambda a, b: integers(range(counted(a), counted(b)))),
    "index_of": (2, lambda l, v: index_of(as_list(l), as_size(v))),
    "sum": (1, lambda l: tuple(itertools.accumulate((ZERO, *as_list(l)), add))[-1]),
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
    "floormod": (2, remainder),
    "min": (2, lambda a, b: extremum("min", as_size(a), as_size(b))),
    "max": (2, lambda a, b: extremum("max", as_size(a), as_size(b))),
    "real_add": (2, compute(lambda a, b: a + b)),
    "real_multiply": (2, compute(lambda a, b: a * b)),
    "real_divide": (2, compute(quotient)),
    "real_max": (2, extreme(max)),
    "real_min": (2, extreme(min)),
}
DIVISIONS = ("divide", "floordiv", "floormod")  # by their second argument, which must not be 0


# Predicates: whether they hold for all sizes.

def contains(values, value):
    """A list without symbols answers for itself; with symbols only what is there is certain."""
    return value in values


def fixes(p, k, first):
    return p[:k] == tuple(range(k)) if first else p[len(p) - k:] == tuple(range(len(p) - k, len(p)))


def divides(a, b):
    demand(a is not ZERO, "a division by zero")
    return exact_quotient(b, a) is not None


PREDICATES = {
    "is_permutation": (1, lambda p: is_permutation(as_integers(p))),
    "is_identity": (1, lambda p: as_integers(p) == tuple(range(len(p)))),
    "swaps_last_two": (1, lambda p: len(as_list(p)) >= 2 and
                       as_integers(p) == swap_last_two(len(p))),
    "fixes_first": (2, lambda p, k: fixes(as_permutation(p), counted(k, len(p)), True)),
    "fixes_last": (2, lambda p, k: fixes(as_permutation(p), counted(k, len(p)), False)),
    "contains": (2, lambda l, v: contains(as_list(l), as_size(v))),
    "lacks": (2, lambda l, v: as_integer(v) not in as_integers(l)),
    "disjoint": (2, lambda a, b: not set(as_integers(a)) & set(as_integers(b))),
    "all_equal": (2, lambda l, v: all(one is as_size(v) for one in as_list(l))),
    "divides": (2, lambda a, b: divides(as_size(a), as_size(b))),
    "real_less_equal": (2, less_equal),
}
