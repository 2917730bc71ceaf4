"""Terms of one case: their types, and what they take for granted."""

import math

from second_checker.conditions import Conditions
from second_checker.definitions import OVER_NOTHING, REDUCING_ALL, TOTAL, verdict
from second_checker.evaluation import evaluate
from second_checker.operators import attribute_value, OPERATORS, OPTIONAL, REQUIRED
from second_checker.reals import is_token
from second_checker.sizes import at_least, demand, ONE
from second_checker.values import changed


BOUNDS_NOTHING = (("Clip", "min", -math.inf), ("Clip", "max", math.inf))


class Node:
    def __init__(self, op, attributes, operands, types, conditions):
        self.op, self.attributes, self.operands = op, attributes, operands
        self.types, self.conditions = types, conditions
        self.always_defined = None  # not known yet


def holds_reals(value):
    return isinstance(value, float) or (isinstance(value, tuple) and any(isinstance(one, float) for one in value))


def keyed(attributes):
    """Attributes as a key; two zeros are two numbers."""
    return tuple(sorted((name, repr(value) if holds_reals(value) else value)
                        for name, value in attributes.items()))


class Terms:
    """Equal applications of operators are one node; a value is (node, output). `real_count`: how many
    real parameters the rule has. `sections`: the definitions of operators."""

    def __init__(self, real_count=0, sections=None):
        self.nodes, self.complete, self.written = [], {}, {}
        self.real_count, self.sections = real_count, sections or {}

    def add(self, node):
        self.nodes.append(node)
        return len(self.nodes) - 1

    def input(self, number_of, kind, shape, defined):
        conditions = Conditions()
        for size in shape:
            conditions.not_negative(size)
        node = Node(None, number_of, (), [(kind, shape)], conditions)
        node.always_defined = defined
        return (self.add(node), 0)

    def type(self, value):
        return self.nodes[value[0]].types[value[1]]

    def apply(self, op, attributes, operands, count):
        """The node; `attributes` may be those written or all."""
        key = (op, keyed(attributes), operands, count)
        node = self.written.get(key)
        if node is None:
            node = self.written[key] = self.infer(op, attributes, operands, count)
        return node

    def infer(self, op, attributes, operands, count):
        known, conditions, complete = OPERATORS[op], Conditions(), dict(attributes)
        for name, (_, default) in known.attributes.items():
            if name not in complete and default not in (REQUIRED, OPTIONAL):
                complete[name] = default
        for position, operand in enumerate(operands):
            demand(operand is not None or position >= known.operands[0], "an operand is missing")
        types = known.infer([None if one is None else self.type(one) for one in operands],
                            complete, count, conditions)
        demand(len(types) == count, "another number of outputs")
        for _, shape in types:
            for size in shape:
                conditions.not_negative(size)
        for name, value in complete.items():
            demand(not is_token(value, self.real_count),
                   f"attribute {name} has a number that stands for a real parameter")
        key = (op, keyed(complete), operands, count)
        if key not in self.complete:
            self.complete[key] = self.add(Node(op, complete, operands, types, conditions))
        return self.complete[key]

    def build(self, table, roots, inputs, values, conditions=None):
        """The terms. What evaluating their attributes takes for granted is added to `conditions`: it
        belongs to how they are written, and not to the nodes."""
        made = {}
        for number_of in table.below(roots):
            op, attributes, operands = table.nodes[number_of]
            if op is None:
                made[number_of] = inputs[attributes]
                continue
            known = {}
            for name, e in attributes:
                known[name] = attribute_value(OPERATORS[op].attributes[name][0],
                                              evaluate(e, values, conditions))
            below = tuple(None if one is None else self.output(made, one) for one in operands)
            made[number_of] = (self.apply(op, known, below, table.counts[number_of]), 0)
        return [self.output(made, one) for one in roots]

    @staticmethod
    def output(made, term):
        node, output = made[term[0]]
        return (node, output + term[1])

    def conditions_below(self, roots):
        seen, stack, result = set(), [root[0] for root in roots], Conditions()
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                result.include(self.nodes[node].conditions)
                stack += [one[0] for one in self.nodes[node].operands if one]
        return result

    # Positions.

    def way_to(self, values, position):
        """The values on the way from an output to the position."""
        demand(position[0] < len(values), "there is no such output")
        way = [values[position[0]]]
        for operand in position[1:]:
            operands = self.nodes[way[-1][0]].operands
            demand(operand < len(operands) and operands[operand], "there is no such position")
            way.append(operands[operand])
        return way

    def replaced(self, values, position, new):
        way = self.way_to(values, position)
        for value, operand in zip(reversed(way[:-1]), reversed(position[1:])):
            node = self.nodes[value[0]]
            operands = changed(node.operands, operand, new)
            new = (self.apply(node.op, node.attributes, operands, len(node.types)), value[1])
        return changed(tuple(values), position[0], new)

    # Definedness.

    def is_always_defined(self, value):
        node = self.nodes[value[0]]
        if node.always_defined is None:
            node.always_defined = self.is_total(node) and all(
                self.is_always_defined(one) for one in node.operands if one)
        return node.always_defined

    def is_total(self, node):
        if node.conditions.equals or node.conditions.broadcasts or node.op not in self.sections:
            return False
        if any(isinstance(value, float) and not math.isfinite(value)
               and (node.op, name, value) not in BOUNDS_NOTHING
               for name, value in node.attributes.items()):
            return False
        if node.op == "Cast" and node.attributes["to"] != self.type(node.operands[0])[0]:
            return False
        if node.op == "Pad" and node.attributes["mode"] != '"constant"':
            return False
        found = verdict(node.op, self.sections[node.op])
        if found == OVER_NOTHING:
            shape = self.type(node.operands[0])[1]
            axes = node.attributes.get("axes")
            if axes is None:
                axes = range(2 if node.op in REDUCING_ALL else 0, len(shape))
            return all(at_least(shape[axis], ONE) for axis in axes)
        return found == TOTAL


def make_inputs(terms, rule, values, real_type):
    """The inputs of the rule as values of `terms`."""
    shapes = [evaluate(("list", *one.shape), values) for one in rule.inputs]
    return [terms.input(i, one.kind or real_type, shape, one.defined)
            for i, (one, shape) in enumerate(zip(rule.inputs, shapes))]
