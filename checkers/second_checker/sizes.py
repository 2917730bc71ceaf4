"""Sizes: integer polynomials over symbols that are at least 0, and over floordiv, min and max of two
sizes. docs/certificates.md, "Cases", says how they are written."""

import functools
import re


class Refused(Exception):
    """The certificate does not prove what it claims."""


def demand(condition, message):
    if not condition:
        raise Refused(message)


class Size:
    """Equal polynomials are one object: compared with `is` or `==`, and usable as keys. So what is computed of them is
    computed once.

    `terms` has the coefficient of each monomial; a monomial is a sorted tuple of atoms; an atom is
    ("", NAME) for a symbol or (FUNCTION, TEXT) with the arguments in ARGUMENTS."""

    __slots__ = ("terms", "key")
    table = {}

    def __new__(cls, terms):
        key = tuple(sorted((m, c) for m, c in terms.items() if c != 0))
        known = cls.table.get(key)
        if known is None:
            known = object.__new__(cls)
            known.terms, known.key = dict(key), key
            cls.table[key] = known
        return known

    def is_constant(self):
        return not self.key or (len(self.key) == 1 and self.key[0][0] == ())

    def constant(self):
        return self.terms.get((), 0) if self.is_constant() else None

    def __repr__(self):
        return size_text(self)


ARGUMENTS = {}  # the arguments of an atom that is a function, so that atoms are plain, ordered tuples


def number(n):
    return Size({(): n})


def symbol(name):
    return Size({(("", name),): 1})


ZERO, ONE = number(0), number(1)


def atom(kind, a, b):
    name = f"{kind}({size_text(a)}, {size_text(b)})"
    ARGUMENTS[kind, name] = (a, b)
    return Size({((kind, name),): 1})


@functools.lru_cache(maxsize=None)
def size_text(size):
    """Terms by falling degree, then by their atoms; the constant last."""
    if not size.key:
        return "0"
    text = ""
    for monomial, c in sorted(size.key, key=lambda one: (-len(one[0]), [a[1] for a in one[0]])):
        factors = sorted(one[1] for one in monomial)
        if abs(c) != 1 or not factors:
            factors.insert(0, str(abs(c)))
        sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
        text += sign + "*".join(factors)
    return text


@functools.lru_cache(maxsize=None)
def add(a, b, factor=1):
    terms = dict(a.terms)
    for monomial, coefficient in b.terms.items():
        terms[monomial] = terms.get(monomial, 0) + factor * coefficient
    return Size(terms)


def subtract(a, b):
    return add(a, b, -1)


@functools.lru_cache(maxsize=None)
def multiply(a, b):
    terms = {}
    for m, c in a.terms.items():
        for n, d in b.terms.items():
            product = tuple(sorted(m + n))
            terms[product] = terms.get(product, 0) + c * d
    return Size(terms)


def total(shape):
    result = ONE
    for size in shape:
        result = multiply(result, size)
    return result


def leading(a):
    """The greatest monomial: by degree, then the one with the earliest atoms."""
    degree = max(len(m) for m in a.terms)
    return min(m for m in a.terms if len(m) == degree)


def exact_quotient(a, b):
    """The polynomial q with a = q * b, or None. It is a / b wherever b is not 0."""
    quotient, rest = ZERO, a
    if b is ZERO:
        return None
    lead = leading(b)
    while rest is not ZERO:
        top = leading(rest)
        atoms = list(top)
        for one in lead:
            if one not in atoms:
                return None
            atoms.remove(one)
        if rest.terms[top] % b.terms[lead] != 0:
            return None
        part = Size({tuple(atoms): rest.terms[top] // b.terms[lead]})
        quotient, rest = add(quotient, part), subtract(rest, multiply(part, b))
    return quotient


def floor_quotient(a, b):
    """floor(a / b) wherever b is not 0; whoever calls it must see to that."""
    exact = exact_quotient(a, b)
    if exact is not None:
        return exact
    demand(b is not ZERO, "a division by zero")
    divisor = b.constant()
    if divisor is None:
        return atom("floordiv", a, b)
    if divisor < 0:
        return floor_quotient(multiply(a, number(-1)), number(-divisor))
    # A negative coefficient keeps what the divisor does not divide of it; the constant is never negative inside.
    whole = Size({m: c // divisor if m == () or c >= 0 else -(-c // divisor) for m, c in a.terms.items()})
    rest = subtract(a, multiply(whole, b))
    return whole if rest.is_constant() else add(whole, atom("floordiv", rest, b))


def as_floor_quotient(a):
    """The two sizes of which it is the floordiv, or None."""
    if len(a.key) == 1 and a.key[0][1] == 1 and len(a.key[0][0]) == 1:
        one, = a.key[0][0]
        return ARGUMENTS[one] if one[0] == "floordiv" else None
    return None


def lower_bound(a):
    """A number that the size is never below, as far as that is seen; symbols are at least 0."""
    bound = 0
    for monomial, coefficient in a.terms.items():
        if monomial == ():
            bound += coefficient
            continue
        if coefficient < 0:
            return None
        product = 1
        for one in monomial:
            low = atom_lower_bound(one)
            if low is None or (low < 0 and len(monomial) > 1):
                return None
            product *= low
        bound += product * coefficient
    return bound


def atom_lower_bound(one):
    if one[0] == "":
        return 0
    a, b = ARGUMENTS[one]
    low, other = lower_bound(a), lower_bound(b)
    if one[0] == "max":
        return max((x for x in (low, other) if x is not None), default=None)
    if one[0] == "min":
        return None if low is None or other is None else min(low, other)
    divisor = b.constant()
    return low // divisor if low is not None and divisor is not None and divisor > 0 else None


def without_quotients(a):
    """A size that is never greater: d * floordiv(b, d) is at least b - (d - 1), for a number d above 0."""
    result = a
    for monomial, coefficient in a.terms.items():
        if len(monomial) != 1 or monomial[0][0] != "floordiv" or coefficient <= 0:
            continue
        dividend, divisor = ARGUMENTS[monomial[0]]
        d = divisor.constant()
        if d is None or d <= 0 or coefficient % d != 0:
            continue
        least = multiply(number(coefficient // d), subtract(dividend, number(d - 1)))
        result = add(subtract(result, Size({monomial: coefficient})), least)
    return result


@functools.lru_cache(maxsize=None)
def at_least(a, b):
    """Whether a >= b is seen for all values of the symbols."""
    difference = subtract(a, b)
    lows = (lower_bound(one) for one in (difference, without_quotients(difference)))
    return any(low is not None and low >= 0 for low in lows)


def certainly_different(a, b):
    """"Two sizes are certainly different if the difference has a positive lower bound or a negative
    upper one"."""
    return at_least(a, add(b, ONE)) or at_least(b, add(a, ONE))


def extremum(kind, a, b):
    if at_least(a, b):
        return a if kind == "max" else b
    if at_least(b, a):
        return b if kind == "max" else a
    return atom(kind, *sorted((a, b), key=size_text))


def parse_size(text):
    """A size as certificates write it. Symbols may have dots. Another way to write the same size is
    refused."""
    tokens = re.findall(r"[A-Za-z_][A-Za-z_0-9.]*|\d+|[()+*,-]|\S", text)
    position = 0

    def accept(word):
        nonlocal position
        if position < len(tokens) and tokens[position] == word:
            position += 1
            return True
        return False

    def factor():
        nonlocal position
        demand(position < len(tokens), f"'{text}' is no size")
        word = tokens[position]
        position += 1
        if word.isdigit():
            return number(int(word))
        demand(re.match(r"[A-Za-z_]", word), f"'{text}' is no size")
        if word in ("floordiv", "min", "max") and accept("("):
            a = sum_of()
            demand(accept(","), f"'{text}' is no size")
            b = sum_of()
            demand(accept(")"), f"'{text}' is no size")
            return floor_quotient(a, b) if word == "floordiv" else extremum(word, a, b)
        return symbol(word)

    def product():
        result = factor()
        while accept("*"):
            result = multiply(result, factor())
        return result

    def sum_of():
        result = subtract(ZERO, product()) if accept("-") else product()
        while position < len(tokens) and tokens[position] in "+-":
            sign = 1 if tokens[position] == "+" else -1
            accept(tokens[position])
            result = add(result, product(), sign)
        return result

    result = sum_of()
    demand(position == len(tokens), f"'{text}' is no size")
    demand(size_text(result) == text, f"'{text}' is not in canonical form")
    return result
