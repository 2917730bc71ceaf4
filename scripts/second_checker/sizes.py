"""Sizes: integer polynomials over symbols and floordiv, min, max of two of them."""


class Refused(Exception):
    """The certificate does not prove what it claims."""


def demand(condition, message):
    if not condition:
        raise Refused(message)


class Size:
    """Equal sizes are one object: compared with `is`, and usable as keys."""

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
        return " + ".join("*".join([str(c), *(a[1] if a[0] == "" else f"{a[0]}(..)" for a in m)])
                          for m, c in self.key) or "0"


def number(n):
    return Size({(): n})


def symbol(name):
    return Size({(("", name),): 1})


ZERO, ONE = number(0), number(1)
SIZES = {}  # the arguments of an atom by its text, so that atoms are plain, ordered tuples


def atom(kind, a, b):
    name = f"{a.key!r} {b.key!r}"
    SIZES[kind, name] = (a, b)
    return Size({((kind, name),): 1})


def add(a, b, factor=1):
    terms = dict(a.terms)
    for monomial, coefficient in b.terms.items():
        terms[monomial] = terms.get(monomial, 0) + factor * coefficient
    return Size(terms)


def subtract(a, b):
    return add(a, b, -1)


def multiply(a, b):
    terms = {}
    for m, c in a.terms.items():
        for n, d in b.terms.items():
            product = tuple(sorted(m + n))
            terms[product] = terms.get(product, 0) + c * d
    return Size(terms)


def leading(a):
    """The greatest monomial: by degree, then the one with the earliest atoms."""
    degree = max(len(m) for m in a.terms)
    return min(m for m in a.terms if len(m) == degree)


def exact_quotient(a, b):
    """a / b as polynomials, or None."""
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
    exact = exact_quotient(a, b)
    if exact is not None:
        return exact
    demand(b is not ZERO, "a division by zero")
    divisor = b.constant()
    if divisor is None:
        return atom("floordiv", a, b)
    if divisor < 0:
        return floor_quotient(multiply(a, number(-1)), number(-divisor))
    whole = Size({m: c // divisor for m, c in a.terms.items()})
    rest = subtract(a, multiply(whole, b))
    return whole if rest.is_constant() else add(whole, atom("floordiv", rest, b))


def lower_bound(a):
    """A number that the size is never below, as far as that is seen; symbols are at least 0."""
    bound = 0
    for monomial, coefficient in a.terms.items():
        if monomial == ():
            bound += coefficient
            continue
        product = 1
        for kind, name in monomial:
            low = 0
            if kind != "":
                x, y = (lower_bound(one) for one in SIZES[kind, name])
                if kind == "max":
                    low = max((one for one in (x, y) if one is not None), default=None)
                elif kind == "min":
                    low = None if x is None or y is None else min(x, y)
                else:
                    divisor = SIZES[kind, name][1].constant()
                    known = x is not None and divisor is not None and divisor > 0
                    low = x // divisor if known else None
            if low is None or (low < 0 and len(monomial) > 1):
                return None
            product *= low
        if coefficient < 0:
            return None
        bound += product * coefficient
    return bound


def at_least(a, b):
    low = lower_bound(subtract(a, b))
    return low is not None and low >= 0


def extremum(kind, a, b):
    if at_least(a, b):
        return a if kind == "max" else b
    if at_least(b, a):
        return b if kind == "max" else a
    return atom(kind, *sorted((a, b), key=lambda one: repr(one.key)))


def total(shape):
    result = ONE
    for size in shape:
        result = multiply(result, size)
    return result
