"""What a term takes for granted at run time (docs/certificates.md, "Replaying a case", 2)."""

import math

from second_checker.sizes import (add, as_floor_quotient, at_least, demand, floor_quotient, number, ONE, size_text, subtract,
                                  ZERO)


class Conditions:
    """`equal`: differences of sizes that are taken to be 0. `broadcast`: differences of a symbolic
    and a fixed size that are broadcast, so that the symbolic one may be 1 as well. `bounds`: sizes
    that are taken to be at least 0, because they are sizes of an output, or one less than what divides
    or steps."""

    def __init__(self):
        self.equals, self.broadcasts, self.bounds = set(), set(), set()

    def __bool__(self):
        return bool(self.equals or self.broadcasts or self.bounds)

    def include(self, other):
        self.equals |= other.equals
        self.broadcasts |= other.broadcasts
        self.bounds |= other.bounds

    def equal(self, a, b):
        difference = subtract(a, b)
        demand(difference is ZERO or not difference.is_constant(), "sizes that differ")
        if difference is not ZERO:
            self.equals.add(difference)

    def broadcast(self, symbolic, fixed):
        self.broadcasts.add(subtract(symbolic, fixed))

    def not_negative(self, size):
        demand(not size.is_constant() or size.constant() >= 0, "a negative size")
        if not at_least(size, ZERO):
            self.bounds.add(size)

    def positive(self, size):
        demand(not size.is_constant() or size.constant() >= 1, "a divisor that is not positive")
        if not at_least(size, ONE):
            self.bounds.add(subtract(size, ONE))


def negated(sizes):
    return {subtract(ZERO, one) for one in sizes}


def in_order(sizes):
    """So that what is said of them does not change from run to run."""
    return sorted(sizes, key=size_text)


def demand_follow(wanted, accepted):
    """Nothing is taken for granted but what is accepted, or the sum of two differences of those."""
    if not wanted:
        return
    equals = {ZERO} | accepted.equals | negated(accepted.equals)
    sums = {add(a, b) for a in equals for b in equals}
    for one in in_order(wanted.equals):
        demand(one in sums, f"defined only where {one} = 0")
    for one in in_order(wanted.broadcasts):
        demand(one in sums or one in accepted.broadcasts | negated(accepted.broadcasts),
               f"defined only where {one} = 0, or the size is 1")
    for one in in_order(wanted.bounds):
        demand(follows(one, accepted.bounds), f"defined only where {one} is not negative")


def follows(size, bounds):
    """Whether the size is at least 0 where the bounds are: it is one of them and more, also after that was divided by what
    divides its coefficients; it is a sum less 1, and the sum cannot be 0 under a bound; or it is floordiv(a, b) where
    that holds of a and of b - 1, or floordiv(a, d) + c, c and d being numbers, where it holds of a + c * d."""
    if any(at_least(size, one) for one in [ZERO, *bounds, *map(divided, bounds)]):
        return True
    if any(excludes_zero(one, add(size, ONE)) for one in bounds):
        return True
    more = size.terms.get((), 0)
    if more > 0 and follows(subtract(size, number(more)), bounds):
        return True
    quotient = as_floor_quotient(subtract(size, number(more)))
    if quotient is None:
        return False
    dividend, divisor = quotient
    if divisor.is_constant():
        dividend = add(dividend, number(more * divisor.constant()))
    elif more != 0:
        return False
    return follows(dividend, bounds) and follows(subtract(divisor, ONE), bounds)


def divided(bound):
    """c * a + d is not negative, c and d being numbers: neither is a + floor(d / c), since a is an integer."""
    common = math.gcd(*(c for m, c in bound.terms.items() if m != ()))
    return floor_quotient(bound, number(common)) if common > 1 else bound


def excludes_zero(bound, total):
    """Whether the bound is negative where `total`, a sum of products of symbols, is 0: then each of its products is 0, and
    with it each product that has all symbols of one of them."""
    products = [frozenset(m) for m in total.terms]
    others = [frozenset(m) for m in bound.terms if m != ()]
    return (bool(others) and () not in total.terms and all(c > 0 for c in total.terms.values())
            and all(kind == "" for m in (*products, *others) for kind, _ in m)
            and bound.terms.get((), 0) < 0
            and all(any(product <= other for product in products) for other in others))
