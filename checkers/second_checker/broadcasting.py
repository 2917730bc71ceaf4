"""Cases of rules whose left side broadcasts groups (docs/certificates.md, "The cases that a proof must
have", 4).

The page says which groups are aligned and in which ways their axes have a common size or 1. That these
are all ways is seen here a second time, by following each axis through the left side: two groups that
are aligned only by way of a third one, which may have size 1, need not have a common size."""

import itertools

from second_checker.evaluation import evaluate
from second_checker.operators import OPERATORS
from second_checker.sizes import demand, ONE, symbol
from second_checker.terms import make_inputs, Terms
from second_checker.values import as_integers, as_list, changed, REAL_TYPES

BROADCASTING = ("MatMul", "Expand")  # besides the elementwise operators
FOLLOWED = (*BROADCASTING, "ConstantOfShape", "Slice", "Split", "Concat")


def broadcasts(op):
    return OPERATORS[op].is_elementwise or op in BROADCASTING


def splices(parts):
    return {e[1] for e in parts if isinstance(e, tuple) and e[0] == "splice"}


def groups_below(rule, node):
    """Groups in the shapes of inputs below a node, and in lists of attributes."""
    result = set()
    for one in rule.below([(node, 0)]):
        op, known, _ = rule.nodes[one]
        for parts in [rule.inputs[known].shape] if op is None else [e for _, e in known]:
            result |= splices(parts)
    return result


def keeps_axes(rule, op, operands):
    """Whether axes stay where they are, counted from the end, and groups are not related."""
    below = [groups_below(rule, one[0]) for one in operands if one]
    return op in ("Slice", "Split") or (op == "Concat" and all(one == below[0] for one in below))


def axes_after(rule, ranks):
    """How many axes stand after each group, the same in every input."""
    result = {}
    for one in rule.inputs:
        after = 0
        for e in reversed(one.shape):
            if e[0] == "splice":
                demand(result.setdefault(e[1], after) == after, "a group stands at several places")
            after += ranks[e[1]] if e[0] == "splice" else 1
    return result


def aligned_groups(rule, ranks):
    """The class of each group, numbered by the first group of the class."""
    after = axes_after(rule, ranks)
    classes = {name: i for i, name in enumerate(rule.groups)}
    for node in rule.below(rule.left):
        op, _, operands = rule.nodes[node]
        groups = sorted(groups_below(rule, node))
        if op is None or not groups:
            continue
        demand(broadcasts(op) or keeps_axes(rule, op, operands),
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


def aligned_axes(rule, ranks):
    """The groups that have each axis (class, place from the end), sorted by name."""
    classes, axes = aligned_groups(rule, ranks), {}
    for name in sorted(ranks):
        for from_end in range(1, ranks[name] + 1):
            axes.setdefault((classes[name], from_end), []).append(name)
    return axes


def broadcast_patterns(axes, ranks):
    """All ways in which aligned axes have a common size or 1, the first axis fastest."""
    order = sorted(axes)
    for masks in itertools.product(*(range(1, 2 ** len(axes[one])) for one in reversed(order))):
        pattern = {name: (None,) * count for name, count in ranks.items()}
        for (number_of, from_end), mask in zip(order, reversed(masks)):
            for i, name in enumerate(axes[number_of, from_end]):
                size = symbol(f"axis.{number_of}.{from_end}") if mask >> i & 1 else ONE
                pattern[name] = changed(pattern[name], ranks[name] - from_end, size)
        yield pattern


class Related:
    """Which sizes of inputs the left side needs to be equal or 1, whatever they are otherwise. The
    size of an axis of a term is the common size of a set of such sizes, or not known (None)."""

    def __init__(self, rule, values):
        self.rule, self.values, self.pairs = rule, values, set()
        self.shapes = {}
        for node in rule.below(rule.left):
            op = rule.nodes[node][0]
            follows = op is None or op in FOLLOWED or OPERATORS[op].is_elementwise
            self.shapes[node] = self.shape(*rule.nodes[node]) if follows else self.unrelated(node)

    def unrelated(self, node):
        """The shape of a term without groups, whose sizes are those of no group."""
        demand(not groups_below(self.rule, node), "sizes are not followed through this operator")
        terms = Terms()
        inputs = make_inputs(terms, self.rule, self.values, REAL_TYPES[0])
        value, = terms.build(self.rule, [(node, 0)], inputs, self.values)
        return [None] * len(terms.type(value)[1])

    @staticmethod
    def single(sizes):
        return [frozenset([one]) for one in sizes]

    def join(self, shapes):
        """The shape of what is broadcast."""
        length = max((len(one) for one in shapes), default=0)
        result = []
        for from_end in range(length, 0, -1):
            sets = [one[-from_end] for one in shapes if len(one) >= from_end]
            whole = frozenset().union(*(one for one in sets if one is not None))
            self.pairs |= {frozenset(pair) for pair in itertools.combinations(whole, 2)}
            result.append(None if None in sets else whole)
        return result

    def shape(self, op, known, operands):
        if op is None:
            sizes = evaluate(("list", *self.rule.inputs[known].shape), self.values)
            return self.single(sizes)
        below = [self.shapes[one[0]] for one in operands if one]
        attributes = {name: evaluate(e, self.values) for name, e in known}
        if op == "Expand":
            return self.join([*below, self.single(as_list(attributes["shape"]))])
        if op == "ConstantOfShape":
            return self.single(as_list(attributes["shape"]))
        if op == "MatMul":
            demand(all(len(one) >= 2 for one in below), "a product of vectors")
            return [*self.join([one[:-2] for one in below]), below[0][-2], below[1][-1]]
        if op == "Slice":
            axes = attributes.get("axes")
            cut = range(len(below[0])) if axes is None else as_integers(axes)
            cut = {one % len(below[0]) for one in cut}
            return [None if i in cut else one for i, one in enumerate(below[0])]
        if op in ("Concat", "Split"):
            axis = as_integers((attributes["axis"],))[0] % len(below[0])
            return [None if i == axis else one for i, one in enumerate(self.join(below))]
        return self.join(below)


def demand_all_ways(rule, axes, values):
    """Each two groups that have an axis need a common size there, or 1. `values`: each axis of each
    group is a symbol of its own."""
    if all(len(names) < 2 for names in axes.values()):
        return
    pairs = Related(rule, values).pairs
    for (_, from_end), names in axes.items():
        for one, other in itertools.combinations(names, 2):
            demand(frozenset((values[one][-from_end], values[other][-from_end])) in pairs,
                   f"the cases do not cover the rule: {one} and {other} need not have a common size")
