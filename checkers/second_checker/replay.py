"""Replaying the steps of a chain in one case (docs/certificates.md, "Replaying a case")."""

from second_checker.conditions import Conditions, demand_follow, follows
from second_checker.evaluation import bound_value, evaluate, guards_hold, with_real_type
from second_checker.observers import observes
from second_checker.reals import check_mixture
from second_checker.sizes import at_least, demand, Refused, ZERO
from second_checker.terms import make_inputs, Terms
from second_checker.values import is_real_type


class Step:
    """`inputs`: a position, or (table, term). `variables`: pairs of name and expression."""

    def __init__(self, axiom, backward, output, position, inputs, variables):
        self.axiom, self.backward, self.output = axiom, backward, output
        self.position, self.inputs, self.variables = position, inputs, variables


class Case:
    """Both sides of a rule, and the terms that steps make."""

    def __init__(self, rule, values, real_type, real_count=0, sections=None):
        self.rule, self.terms = rule, Terms(real_count, sections)
        self.values = values = with_real_type(rule, values, real_type)
        self.inputs = make_inputs(self.terms, rule, values, real_type)
        self.left, self.accepted = self.side(rule.left)
        self.right, beyond = self.side(rule.right)
        for a, b in zip(self.left, self.right):
            demand(self.terms.type(a) == self.terms.type(b), "the sides have different types")
        demand_follow(beyond, self.accepted)
        if rule.both:
            demand_follow(self.accepted, beyond)
        self.state = tuple(self.left)
        self.side_count = len(self.terms.nodes)

    def observes(self, node):
        operands = [one and self.terms.type(one)[0] for one in node.operands]
        return observes(node.op, node.attributes, operands, [kind for kind, _ in node.types])

    def check_observers(self):
        """That the sides compare real numbers only where these are always defined."""
        for node in self.terms.nodes[:self.side_count]:
            for one in node.operands:
                if one and is_real_type(self.terms.type(one)[0]) and not self.terms.is_always_defined(one):
                    demand(not self.observes(node), f"{node.op} observes an operand that may be undefined")

    def side(self, roots):
        """A side of the rule, and what it takes for granted. The claim is about tensors of the
        declared shapes, so that these have values."""
        conditions = Conditions()
        for one in self.rule.inputs:
            evaluate(("list", *one.shape), self.values, conditions)
        terms = self.terms.build(self.rule, roots, self.inputs, self.values, conditions)
        conditions.include(self.terms.conditions_below(terms))
        return terms, conditions

    def apply(self, step):
        axiom, before = step.axiom, len(self.terms.nodes)
        way = self.terms.way_to(self.state, step.position)
        conditions = Conditions()
        inputs = [self.input_of(one, conditions) for one in step.inputs]
        values = self.values_of(step, way[-1], conditions)
        self.check_guards(axiom, inputs, values, conditions)
        left = self.terms.build(axiom, axiom.left, inputs, values, conditions)
        right = self.terms.build(axiom, axiom.right, inputs, values, conditions)
        for a, b in zip(left, right):
            demand(self.terms.type(a) == self.terms.type(b), "the axiom's sides have two types")
        self.check_definedness(step, way, inputs, left)
        source, target = (right, left) if step.backward else (left, right)
        demand(way[-1] == source[step.output], "the axiom's side is not what stands there")
        demand(target[step.output] != source[step.output], "the step changes nothing")
        self.state = self.terms.replaced(self.state, step.position, target[step.output])
        for node in self.terms.nodes[before:]:
            conditions.include(node.conditions)
        conditions.include(self.terms.conditions_below([*left, *right]))
        demand_follow(conditions, self.accepted)

    def input_of(self, given, conditions):
        if given[0] == "at":
            return self.terms.way_to(self.state, given[1])[-1]
        _, table, term = given
        return self.terms.build(table, [term], self.inputs, self.values, conditions)[0]

    def values_of(self, step, found, conditions):
        """The axiom's variables; `found` is what stands at the position."""
        values = {name: bound_value(step.axiom, name, e, self.values, conditions)
                  for name, e in step.variables}
        values = with_real_type(step.axiom, values, self.terms.type(found)[0])
        check_mixture(step.axiom, values)
        return values

    def check_guards(self, axiom, inputs, values, conditions):
        """Element types, shapes, ranges and conditions of the axiom."""
        shared = None
        for value, one in zip(inputs, axiom.inputs):
            kind = self.terms.type(value)[0]
            if one.kind is None:
                demand(is_real_type(kind) and shared in (None, kind), f"'{one.name}' is of type {kind}")
                shared = kind
            demand(one.kind in (None, kind), f"'{one.name}' is of type {kind}")
        demand(shared is None or with_real_type(axiom, values, shared) == values,
               "a number is not of the type of the inputs")
        parts = {e for one in axiom.inputs for e in one.shape}
        for name in axiom.dimension_names():
            demand(("variable", name) in parts or at_least(values[name], ZERO),
                   f"'{name}' may be negative")
        for name in axiom.groups:
            demand(("splice", name) in parts or all(follows(one, self.accepted.bounds) for one in values[name]),
                   f"'{name}' may have a negative size")
        for value, one in zip(inputs, axiom.inputs):
            shape = evaluate(("list", *one.shape), values, conditions)
            demand(self.terms.type(value)[1] == shape, f"'{one.name}' has another shape")
        demand(guards_hold(axiom, values, conditions), "the conditions of the axiom do not hold")

    def check_definedness(self, step, way, inputs, left):
        """Equations are used anywhere. A refinement is used as such, or its left side is always
        defined."""
        for value, one in zip(inputs, step.axiom.inputs):
            demand(not one.defined or self.terms.is_always_defined(value),
                   f"'{one.name}' is not seen to be always defined")
        if step.axiom.both:
            return
        observed = any(self.observes(self.terms.nodes[one[0]]) for one in way[:-1])
        as_refinement = not self.rule.both and not step.backward and not observed
        how = "backward" if step.backward else "in an equation" if self.rule.both else "below an operator that observes NaN"
        demand(as_refinement or all(self.terms.is_always_defined(one) for one in left),
               f"a refinement is used {how}, and its left side may be undefined here")


def replay(rule, values, chain, real_type, real_count, sections, keeps_bits):
    """Demands that the chain proves the case; returns the shapes of the outputs."""
    case = Case(rule, values, real_type, real_count, sections)
    if not keeps_bits:
        case.check_observers()
    for i, step in enumerate(chain):
        try:
            case.apply(step)
        except Refused as reason:
            raise Refused(f"step {i + 1} ({step.axiom.name}): {reason}") from None
    demand(list(case.state) == case.right, "the last step does not arrive at the right side")
    return [case.terms.type(one)[1] for one in case.left]
