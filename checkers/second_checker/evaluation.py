"""Evaluating expressions and conditions, on numbers as on symbols."""

import math

from second_checker.reals import as_real, Ordered
from second_checker.sizes import (
    add, at_least, certainly_different, demand, multiply, number, ONE, Refused, Size, subtract, ZERO)
from second_checker.values import (
    as_integer, as_integers, as_list, as_size, as_string, as_type, DIVISIONS, FUNCTIONS,
    is_real_type, is_symbolic, PREDICATES)

ARITHMETIC = {"sum": add, "difference": subtract, "product": multiply}


def evaluate(e, values, conditions=None):
    """The value of the expression. It has one only where no divisor is 0: such divisors become
    `conditions` (terms.Conditions), if there are some to note them in."""
    kind = e[0]
    if kind == "literal":
        return number(e[1]) if isinstance(e[1], int) else e[1]
    if kind == "type":
        return e
    if kind == "variable":
        demand(e[1] in values, f"'{e[1]}' has no value")
        return values[e[1]]
    if kind == "list":
        if len(e) > 1 and all(part[0] == "literal" and isinstance(part[1], float) for part in e[1:]):
            return tuple(part[1] for part in e[1:])
        result = []
        for part in e[1:]:
            if part[0] == "splice":
                demand(part[1] in values, f"'{part[1]}' has no value")
                result += as_list(values[part[1]])
            else:
                result.append(as_size(evaluate(part, values, conditions)))
        return tuple(result)
    demand(kind != "splice", "a group stands outside a list")
    if kind == "call":
        arguments = [evaluate(part, values, conditions) for part in e[2:]]
        if e[1] in DIVISIONS and conditions is not None:
            conditions.positive(as_size(arguments[1]))
        return FUNCTIONS[e[1]][1](*arguments)
    a, b = evaluate(e[1], values, conditions), evaluate(e[2], values, conditions)
    return ARITHMETIC[kind](as_size(a), as_size(b))


# Conditions.

def is_different(a, b):
    """Whether two values differ for all sizes."""
    if isinstance(a, Size) and isinstance(b, Size):
        return certainly_different(a, b)
    demand(type(a) is type(b) and not isinstance(a, Ordered), "values that cannot be compared")
    if isinstance(a, tuple) and a[:1] != ("type",) and b[:1] != ("type",):
        return len(a) != len(b) or any(is_different(x, y) for x, y in zip(a, b))
    return a != b


def is_same(a, b):
    demand(not isinstance(a, Ordered) and not isinstance(b, Ordered),
           "a condition computes with a real parameter")
    if isinstance(a, float) or isinstance(b, float):
        return as_real(a) == as_real(b)
    return a == b


def decide(kind, a):
    """Whether a condition holds for all sizes, given the values of its arguments."""
    if kind in PREDICATES:
        return PREDICATES[kind][1](*a)
    if kind == "==":
        return is_same(*a)
    if kind == "!=":
        return is_different(*a)
    return at_least(as_size(a[1]), add(as_size(a[0]), ONE if kind == "<" else ZERO))


def holds(condition, values, conditions=None):
    """Whether it is seen to hold for all sizes."""
    kind, arguments = condition
    try:
        return decide(kind, [evaluate(one, values, conditions) for one in arguments])
    except Refused:
        return False


def is_false(condition, values):
    """Whether it is false, which is known only if its arguments have values without symbols."""
    kind, arguments = condition
    try:
        a = [evaluate(one, values) for one in arguments]
        return not any(is_symbolic(one) for one in a) and not decide(kind, a)
    except Refused:
        return False


# Values of variables.

def bound_value(rule, name, expression, values, conditions=None):
    """The value of a variable of `rule`, brought to the kind that it has."""
    value = evaluate(expression, values, conditions)
    if name in rule.groups:
        return as_list(value)
    kind = rule.parameters.get(name, ("dimension",))[0]
    if kind in ("permutation", "integer"):
        (as_integers if kind == "permutation" else as_integer)(value)
        return value
    return {"real": as_real, "string": as_string, "type": as_type, "dimensions": as_list,
            "dimension": as_size}[kind](value)


def in_range(rule, name, values):
    """Whether the value of a parameter lies in its range for all sizes."""
    kind, bounds = rule.parameters[name]
    value = values[name]
    if kind == "string":
        return value in bounds
    if kind == "real":
        return isinstance(value, Ordered) or math.isfinite(value)
    if kind == "type":
        return is_real_type(value[1])
    if kind == "dimension":
        return at_least(value, ZERO)
    limits = [as_size(evaluate(one, values)) for one in bounds]
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
    return {**values, **types}


def guards_hold(rule, values, conditions=None):
    """Groups, parameters and conditions: whether all are met for all sizes."""
    return (all(least <= len(values[name]) <= most for name, (least, most) in rule.groups.items())
            and all(in_range(rule, name, values) for name in rule.parameters)
            and all(holds(one, values, conditions) for one in rule.conditions))
