"""The cases of a rule, and replaying steps in one of them."""

import itertools

from second_checker.sizes import (
    add, at_least, demand, number, ONE, Refused, Size, subtract, symbol, ZERO)
from second_checker.values import (
    as_integer, as_list, bound_value, changed, conditions_hold, evaluate, holds, in_range,
    integers, with_real_type)
from second_checker.operators import (
    attribute_value, Conditions, OPERATORS, OPTIONAL, REAL_TYPES, REQUIRED)

REALS = (-2.5, -1.25, 0.0, 0.5, 1.75)  # the values that real parameters range over


class Terms:
    """Equal applications of operators are one node; a value is (node, output)."""

    def __init__(self):
        self.table, self.nodes = {}, []  # nodes: (operator, attributes, operands, types, conditions)

    def input(self, number_of, kind, shape):
        for size in shape:
            demand(not size.is_constant() or size.constant() >= 0, "a negative size")
        known = Conditions()
        known.sizes |= {one for one in shape if not at_least(one, ZERO)}
        self.nodes.append((None, number_of, (), [(kind, shape)], known))
        return (len(self.nodes) - 1, 0)

    def type(self, value):
        return self.nodes[value[0]][3][value[1]]

    def apply(self, op, attributes, operands, count):
        """`attributes` may be written or complete ones."""
        conditions = Conditions()
        complete = dict(attributes)
        for name, (_, default) in OPERATORS[op].attributes.items():
            if name not in complete and default not in (REQUIRED, OPTIONAL):
                complete[name] = default
        for position, operand in enumerate(operands):
            demand(operand is not None or position >= OPERATORS[op].operands[0], "none is given")
        kinds = [None if one is None else self.type(one) for one in operands]
        types = OPERATORS[op].infer(kinds, complete, count, conditions)
        demand(len(types) == count, "another number of outputs")
        for _, shape in types:
            demand(all(not one.is_constant() or one.constant() >= 0 for one in shape),
                   "a negative size")
            conditions.sizes |= {one for one in shape if not at_least(one, ZERO)}
        items = tuple(sorted((name, repr(value) if isinstance(value, float) else value)
                             for name, value in complete.items()))
        key = (op, items, operands, count)
        if key not in self.table:
            self.table[key] = len(self.nodes)
            self.nodes.append((op, complete, operands, types, conditions))
        return self.table[key]

    def build(self, rule, roots, inputs, values):
        made = {}
        for number_of in rule.below(roots):
            op, attributes, operands = rule.nodes[number_of]
            if op is None:
                made[number_of] = inputs[attributes]
                continue
            known = {name: attribute_value(OPERATORS[op].attributes[name][0], evaluate(e, values))
                     for name, e in attributes}
            below = tuple(None if one is None else self.output(made, one) for one in operands)
            made[number_of] = (self.apply(op, known, below, rule.counts[number_of]), 0)
        return [self.output(made, one) for one in roots]

    @staticmethod
    def output(made, term):
        node, output = made[term[0]]
        return (node, output + term[1])

    def conditions_below(self, roots):
        seen, stack, result = set(), [root[0] for root in roots], Conditions()
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            result += self.nodes[node][4]
            result.sizes |= self.nodes[node][4].sizes
            stack += [one[0] for one in self.nodes[node][2] if one]
        return result

    def at(self, values, position):
        demand(position[0] < len(values), "there is no such output")
        way = [values[position[0]]]
        for operand in position[1:]:
            operands = self.nodes[way[-1][0]][2]
            demand(operand < len(operands) and operands[operand], "there is no such position")
            way.append(operands[operand])
        return way

    def replaced(self, values, position, new):
        way = self.at(values, position)
        for value, operand in zip(reversed(way[:-1]), reversed(position[1:])):
            op, attributes, operands, types, _ = self.nodes[value[0]]
            operands = changed(operands, operand, new)
            new = (self.apply(op, attributes, operands, len(types)), value[1])
        return changed(tuple(values), position[0], new)


def follows(difference, accepted):
    terms = [ZERO, *accepted, *(subtract(ZERO, one) for one in accepted)]
    return any(difference is add(a, b) for a in terms for b in terms)


def input_types(rule, values, real_type):
    return [(kind or real_type, tuple(as_list(evaluate(("list", *shape), values))))
            for _, kind, shape, _ in rule.inputs]


class Case:
    """Both sides of a rule over symbols, and the terms that steps make."""

    def __init__(self, rule, values, real_type):
        self.rule, self.terms = rule, Terms()
        self.values = values = with_real_type(rule, values, real_type)
        self.inputs = [self.terms.input(i, kind, shape)
                       for i, (kind, shape) in enumerate(input_types(rule, values, real_type))]
        self.left = self.terms.build(rule, rule.left, self.inputs, values)
        self.right = self.terms.build(rule, rule.right, self.inputs, values)
        for a, b in zip(self.left, self.right):
            demand(self.terms.type(a) == self.terms.type(b), "the sides have different types")
        self.accepted = self.terms.conditions_below(self.left)
        beyond = self.terms.conditions_below(self.right)
        self.demand_follow(beyond, self.accepted)
        if rule.both:
            self.demand_follow(self.accepted, beyond)
        self.state = tuple(self.left)

    @staticmethod
    def demand_follow(wanted, accepted):
        for one in wanted:
            demand(follows(one, accepted), f"defined only where {one} = 0")
        demand(wanted.sizes <= accepted.sizes, "defined only where a size is not negative")

    def apply(self, step):
        axiom, before = step.axiom, len(self.terms.nodes)
        found = self.terms.at(self.state, step.position)[-1]
        inputs = [self.terms.at(self.state, one)[-1] if isinstance(one, tuple) and one[0] != "term"
                  else self.terms.build(self.rule, [one[1]], self.inputs, self.values)[0]
                  for one in step.inputs]
        values = {name: bound_value(axiom, name, e, self.values) for name, e in step.variables}
        values = with_real_type(axiom, values, self.terms.type(found)[0])
        self.check_guards(axiom, inputs, values)
        left = self.terms.build(axiom, axiom.left, inputs, values)
        right = self.terms.build(axiom, axiom.right, inputs, values)
        for a, b in zip(left, right):
            demand(self.terms.type(a) == self.terms.type(b), "the axiom's sides have two types")
        source, target = (right, left) if step.backward else (left, right)
        demand(found == source[step.output], "the axiom's side is not what stands there")
        demand(target[step.output] != found, "the step changes nothing")
        self.state = self.terms.replaced(self.state, step.position, target[step.output])
        for node in self.terms.nodes[before:]:
            self.demand_follow(node[4], self.accepted)

    def check_guards(self, axiom, inputs, values):
        shared = None
        for value, (name, written, _, _) in zip(inputs, axiom.inputs):
            kind = self.terms.type(value)[0]
            if written is None:
                shared = shared or kind
            demand(kind == written if written else kind in REAL_TYPES and kind == shared,
                   f"'{name}' is of type {kind}")
        demand(shared is None or with_real_type(axiom, values, shared) == values,
               "a number is not of the type of the inputs")
        alone = {e[1] for _, _, shape, _ in axiom.inputs for e in shape if e[0] == "variable"}
        for name in axiom.dimension_names():
            demand(name in alone or at_least(values[name], ZERO), f"'{name}' may be negative")
        shapes = [shape for _, shape in input_types(axiom, values, "f32")]
        for value, shape in zip(inputs, shapes):
            demand(self.terms.type(value)[1] == shape, "an input has another shape")
        demand(conditions_hold(axiom, values), "the conditions of the axiom do not hold")


class Backward:
    """The claim of `=` read from right to left."""

    def __init__(self, rule):
        self.rule, self.left, self.right = rule, rule.right, rule.left

    def __getattr__(self, name):
        return getattr(self.rule, name)


def symbols(name, count):
    return tuple(symbol(f"{name}.{i}") for i in range(count))


def parameter_values(rule, name, values):
    kind, bounds = rule.parameters[name]
    if kind == "string":
        return bounds
    if kind == "real":
        return REALS
    if kind == "dimension":
        return [symbol(name)]
    if kind == "type":
        return [("type", REAL_TYPES[0])]
    limits = [as_integer(evaluate(one, values)) for one in bounds]
    if kind == "dimensions":
        return [symbols(name, limits[0])]
    if kind == "integer":
        return [number(one) for one in range(*limits)]
    demand(limits[0] <= 6, "too many permutations")
    return [integers(one) for one in itertools.permutations(range(limits[0]))]


def is_open(expression, values):
    try:
        value = evaluate(expression, values)
    except Refused:
        return False
    sizes = value if isinstance(value, tuple) else (value,)
    return any(isinstance(one, Size) and not one.is_constant() for one in sizes)


def is_excluded(rule, values):
    """Whether a condition, or the range of a group, is false whatever the sizes are."""
    if not all(least <= len(values[name]) <= most for name, (least, most) in rule.groups.items()):
        return True
    if not all(in_range(rule, name, values) for name in rule.parameters):
        return True
    return any(not holds(one, values) and not any(is_open(e, values) for e in one[1])
               for one in rule.conditions)


def bind_equalities(rule, values):
    """`NAME == EXPRESSION` gives a dimension variable its value, one condition after the other."""
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
    start = {**groups, **{name: symbol(name) for name in rule.dimension_names()}}
    found = [start]
    for name in rule.parameters:
        found = [{**before, name: value} for before in found
                 for value in parameter_values(rule, name, before)]
    found = [bind_equalities(rule, one) for one in found]
    return [one for one in found if not is_excluded(rule, one)]


def is_well_typed(rule, values, real_type="f32"):
    """Whether the left side is."""
    try:
        terms = Terms()
        values = with_real_type(rule, values, real_type)
        inputs = [terms.input(i, kind, shape)
                  for i, (kind, shape) in enumerate(input_types(rule, values, real_type))]
        terms.build(rule, rule.left, inputs, values)
    except Refused:
        return False
    return True


def groups_below(rule, node):
    """Groups in the shapes of inputs below a node, and in lists of attributes."""
    result = set()
    for one in rule.below([(node, 0)]):
        kind, known, _ = rule.nodes[one]
        lists = [rule.inputs[known][2]] if kind is None else [e[1:] for _, e in known]
        result |= {
            e[1] for parts in lists for e in parts if isinstance(e, tuple) and e[0] == "splice"}
    return result


def keeps_axes(rule, op, operands):
    """Whether axes stay where they are, counted from the end, and groups are not related."""
    below = [groups_below(rule, one[0]) for one in operands]
    return op == "Slice" or (op == "Concat" and all(one == below[0] for one in below))


def axes_after(rule, ranks):
    """How many axes stand after each group, the same in every input."""
    result = {}
    for _, _, shape, _ in rule.inputs:
        after = 0
        for e in reversed(shape):
            if e[0] == "splice":
                demand(result.setdefault(e[1], after) == after, "a group stands at several places")
            after += ranks[e[1]] if e[0] == "splice" else 1
    return result


def aligned_groups(rule, ranks):
    """Classes of groups that are aligned at their ends, as the left side broadcasts them: numbered
    by the first group of each."""
    after = axes_after(rule, ranks)
    classes = {name: i for i, name in enumerate(rule.groups)}
    for node in rule.below(rule.left):
        op, _, operands = rule.nodes[node]
        groups = sorted(groups_below(rule, node))
        if op is None or not groups:
            continue
        demand(OPERATORS[op].broadcasts() or keeps_axes(rule, op, operands),
               f"the left side is well typed for some sizes only, beyond broadcasting: {op}")
        for one, other in itertools.combinations(groups, 2):
            ends = [(after[name], after[name] + ranks[name]) for name in (one, other)
                    if name in after]
            if len(ends) == 2 and ends[0][0] != ends[1][0]:
                demand(ends[0][0] >= ends[1][1] or ends[1][0] >= ends[0][1], "groups that overlap")
                continue
            joined = {classes[one], classes[other]}
            classes = {name: min(joined) if k in joined else k for name, k in classes.items()}
    return classes


def broadcast_patterns(rule, ranks):
    """All ways in which aligned axes have a common size or 1, the first axis fastest."""
    classes = aligned_groups(rule, ranks)
    axes = {}
    for name in sorted(ranks):
        for from_end in range(1, ranks[name] + 1):
            axes.setdefault((classes[name], from_end), []).append(name)
    order = sorted(axes)
    for masks in itertools.product(*(range(1, 2 ** len(axes[one])) for one in reversed(order))):
        pattern = {name: (None,) * rank for name, rank in ranks.items()}
        for (number_of, from_end), mask in zip(order, reversed(masks)):
            for i, name in enumerate(axes[number_of, from_end]):
                size = symbol(f"axis{number_of}.{from_end}") if mask >> i & 1 else ONE
                pattern[name] = changed(pattern[name], ranks[name] - from_end, size)
        yield pattern


def cases_of(rule):
    result = []
    ranges = [range(least, most + 1) for least, most in reversed(rule.groups.values())]
    for lengths in itertools.product(*ranges):
        ranks = dict(zip(rule.groups, reversed(lengths)))
        found = choices(rule, {name: symbols(name, rank) for name, rank in ranks.items()})
        if not all(is_well_typed(rule, one) for one in found):
            found = [one for groups in broadcast_patterns(rule, ranks)
                     for one in choices(rule, groups)]
            demand(all(is_well_typed(rule, one) for one in found), "the cases do not cover the rule")
        result += found
    demand(result, "no case meets the conditions")
    return result


def case_key(rule, values):
    """What tells a case from others: groups, and parameters that are no symbols."""
    shown = [name for name, (kind, _) in rule.parameters.items()
             if kind not in ("dimensions", "dimension", "type")]
    return tuple((name, repr(values[name]) if isinstance(values[name], float) else values[name])
                 for name in [*rule.groups, *shown])


def required_cases(rule):
    result = {case_key(rule, one): one for one in cases_of(rule)}
    for one in cases_of(Backward(rule)) if rule.both else ():
        result.setdefault(case_key(rule, one), one)
    return list(result.items())
