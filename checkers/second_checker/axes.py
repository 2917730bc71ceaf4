"""Rules that are proved for scalars alone (docs/certificates.md, "The cases that a proof must have", 5)."""

from second_checker.language import names_in
from second_checker.operators import OPERATORS

MOST_AXES = 8  # of a group


def is_whole_group(shape):
    """Or none: a scalar is read at no index."""
    return not shape or (len(shape) == 1 and shape[0][0] == "splice")


def mentions_groups(rule, expressions):
    return any(name in rule.groups for one in expressions for _, name in names_in(one))


def is_elementwise(op, attributes):
    """A scalar without operands is one number wherever it is read."""
    if op == "ConstantOfShape":
        return dict(attributes)["shape"] == ("list",)
    return OPERATORS[op].is_elementwise


def groups_below(rule, root):
    """The groups on which the elements of a term depend."""
    nodes = [rule.nodes[one] for one in rule.below([root])]
    return {one[1] for op, known, _ in nodes if op is None for one in rule.inputs[known].shape}


def treats_axes_alike(rule):
    """Each element of either side is one function of the broadcast elements of the inputs, so that the claim for
    scalars is the claim for tensors of any number of axes."""
    if rule.conditions or not all(is_whole_group(one.shape) for one in rule.inputs):
        return False
    if any(mentions_groups(rule, bounds) for kind, bounds in rule.parameters.values() if kind != "string"):
        return False
    for op, attributes, _ in (rule.nodes[one] for one in rule.below([*rule.left, *rule.right])):
        if op is None:
            continue
        if not is_elementwise(op, attributes) or mentions_groups(rule, [e for _, e in attributes]):
            return False
    return all(groups_below(rule, one) == groups_below(rule, other) for one, other in zip(rule.left, rule.right))


def is_proved_for_scalars(rule):
    return (len(rule.groups) > 1 and all(limits == (0, MOST_AXES) for limits in rule.groups.values())
            and treats_axes_alike(rule))
