"""The cases that a proof of a rule must have (docs/certificates.md, section of that name)."""

import itertools

from second_checker.axes import is_proved_for_scalars
from second_checker.broadcasting import aligned_axes, broadcast_patterns, demand_all_ways
from second_checker.evaluation import evaluate, is_false, with_real_type
from second_checker.reals import has_gap, ordered_values, real_parameters
from second_checker.sizes import demand, number, Refused, Size, symbol
from second_checker.terms import make_inputs, Terms
from second_checker.values import ANY_REAL, as_integer, integers, REAL_TYPES

SYMBOLIC = ("dimensions", "dimension", "type")  # ranges of parameters whose value no case names
MOST_PERMUTED = 6
MOST_CASES = 20_000  # of a rule


class Backward:
    """The claim of `=` read from right to left."""

    def __init__(self, rule):
        self.rule, self.left, self.right = rule, rule.right, rule.left

    def __getattr__(self, name):
        return getattr(self.rule, name)


def symbols(name, count):
    return tuple(symbol(f"{name}.{i}") for i in range(count))


def parameter_values(rule, name, values):
    """All values that a parameter takes, those of groups and earlier parameters given."""
    kind, bounds = rule.parameters[name]
    if kind == "string":
        return bounds
    if kind == "real":
        return ordered_values(len(real_parameters(rule)))
    if kind == "dimension":
        return [symbol(name)]
    if kind == "type":
        return [("type", REAL_TYPES[0])]
    limits = [as_integer(evaluate(one, values)) for one in bounds]
    if kind == "integer":
        return [number(one) for one in range(*limits)]
    demand(limits[0] >= 0, f"'{name}' has a negative length")
    if kind == "dimensions":
        return [symbols(name, limits[0])]
    demand(limits[0] <= MOST_PERMUTED, "too many permutations")
    return [integers(one) for one in itertools.permutations(range(limits[0]))]


def bind_equalities(rule, values):
    """`NAME == EXPRESSION` gives a dimension its value, one condition after the other. Whatever
    numbers meet the conditions, put for the symbols, give these numbers again."""
    names = set(rule.dimension_names())
    names |= {name for name, (kind, _) in rule.parameters.items() if kind == "dimension"}
    for kind, arguments in rule.conditions:
        if kind != "==" or arguments[0][0] != "variable" or arguments[0][1] not in names:
            continue
        try:
            value = evaluate(arguments[1], values)
        except Refused:
            continue
        if isinstance(value, Size):
            values = {**values, arguments[0][1]: value}
    return values


def choices(rule, groups):
    """All values of the parameters that are not left out."""
    found = [{**groups, **{name: symbol(name) for name in rule.dimension_names()}}]
    for name in rule.parameters:
        found = [{**before, name: value} for before in found
                 for value in parameter_values(rule, name, before)]
    reals = real_parameters(rule)
    if reals:
        found = [one for one in found if not has_gap([one[name] for name in reals])]
    found = [bind_equalities(rule, one) for one in found]
    return [one for one in found if not any(is_false(c, one) for c in rule.conditions)]


def is_well_typed(rule, values, real_type=REAL_TYPES[0]):
    """Whether the left side is."""
    try:
        terms, values = Terms(), with_real_type(rule, values, real_type)
        terms.build(rule, rule.left, make_inputs(terms, rule, values, real_type), values)
    except Refused:
        return False
    return True


def cases_of(rule, most):
    """Refuses a rule of more cases as soon as that is known: groups of many axes may have millions."""
    result = []
    ranges = [range(least, most + 1) for least, most in reversed(rule.groups.values())]
    if is_proved_for_scalars(rule):
        ranges = [range(1) for _ in rule.groups]
    for lengths in itertools.product(*ranges):
        ranks = dict(zip(rule.groups, reversed(lengths)))
        found = choices(rule, {name: symbols(name, count) for name, count in ranks.items()})
        if not all(is_well_typed(rule, one) for one in found):
            axes = aligned_axes(rule, ranks)
            for one in found:
                demand_all_ways(rule, axes, one)
            ways = (one for groups in broadcast_patterns(axes, ranks) for one in choices(rule, groups))
            found = list(itertools.islice(ways, most + 1))
            demand(all(is_well_typed(rule, one) for one in found),
                   "a side is not well typed in a case that cannot be left out")
        result += found
        demand(len(result) <= most, f"the cases are not those that the rule demands: {most} instead of more")
    demand(result, "no case meets the conditions")
    return result


def named_parameters(rule):
    """Those that tell cases from each other."""
    return [name for name, (kind, _) in rule.parameters.items() if kind not in SYMBOLIC]


def case_key(rule, values):
    return tuple((name, case_text(values[name])) for name in [*rule.groups, *named_parameters(rule)])


def case_text(value):
    """As certificates write it."""
    if isinstance(value, tuple):
        return f"[{', '.join(repr(one) for one in value)}]"
    return value if isinstance(value, str) else repr(value)


def required_cases(rule, most=MOST_CASES):
    """The cases in order: (text of each value by name, values). At most so many."""
    result = {}
    for one in cases_of(rule, most):
        demand(case_key(rule, one) not in result, "two cases read alike")
        result[case_key(rule, one)] = one
    for one in cases_of(Backward(rule), most) if rule.both else ():
        result.setdefault(case_key(rule, one), one)
    return list(result.items())


def real_types_to_replay(rule, values):
    """The types of inputs without a written one. If the left side is well typed whichever real type
    it is, one replay is for all; otherwise f32, and the others where it is well typed with them. An equation
    speaks of those too with which its right side is well typed."""
    if is_well_typed(rule, values, ANY_REAL):
        return [ANY_REAL]
    sides = [rule, Backward(rule)] if rule.both else [rule]
    return [REAL_TYPES[0], *(one for one in REAL_TYPES[1:]
                             if any(is_well_typed(side, values, one) for side in sides))]
