"""Rules with one change in the right side, which an evaluator has to notice.

A mutant is the text of a rule: what is declared is kept, and the claim is written anew. Only mutants whose sides have
the same types in some instance are offered, since others say nothing about values."""

import numpy

from rule_evaluation.arithmetic import Reals
from rule_evaluation.judge import Judge, Overflow, Side
from rule_evaluation.language import rules_of
from rule_evaluation.operators import IllTyped, TooLarge

ALIKE = (("Add", "Sub", "Mul", "Div", "Max", "Min"),
         ("Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp", "Gelu", "Sqrt", "Reciprocal"),
         ("ReduceSum", "ReduceMean", "ReduceMax"))
ORDERED = ("Sub", "Div", "MatMul", "Concat")
INSERTED = ("Neg", "Relu", "Abs")
INSTANCES = 6  # in which sides of the same types are looked for


# ---- Terms: ("input", position) or ("operation", operator, attributes, operands, output, outputs)

def term_of(rule, root):
    """A term of a rule, without shared parts. A term that is absent is None."""
    if root is None:
        return None
    node = rule.nodes[root[0]]
    if node.operator is None:
        return ("input", node.input)
    operands = tuple(term_of(rule, one) for one in node.operands)
    return ("operation", node.operator, tuple(node.attributes.items()), operands, root[1], node.outputs)


def expression_text(expression):
    """An expression in the rule's language."""
    kind, *parts = expression
    if kind == "literal":
        return parts[0] if isinstance(parts[0], str) else repr(parts[0])
    if kind == "variable":
        return parts[0]
    if kind == "splice":
        return parts[0] + ".."
    inner = ", ".join(expression_text(one) for one in parts[1 if kind == "call" else 0:])
    if kind == "list":
        return f"[{inner}]"
    if kind == "call":
        return f"{parts[0]}({inner})"
    left, right = (f"({expression_text(one)})" if one[0] in "+-*" else expression_text(one) for one in parts)
    return f"{left} {kind} {right}"


def term_text(rule, term):
    if term is None:
        return "_"
    if term[0] == "input":
        return rule.inputs[term[1]].name
    _, operator, attributes, operands, output, outputs = term
    written = ", ".join(f"{name}={expression_text(value)}" for name, value in attributes)
    inner = ", ".join(term_text(rule, one) for one in operands)
    return f"{operator}{'{' + written + '}' if written else ''}({inner}){f'#{output}' if outputs > 1 else ''}"


# ---- Changes

def changed_numbers(expression):
    """The expression with one number changed by one, or two elements of a list exchanged."""
    kind, *parts = expression
    if kind == "literal" and isinstance(parts[0], (int, float)):
        yield ("literal", parts[0] + 1)
    if kind == "list":
        for i in range(len(parts) - 1):
            if parts[i] != parts[i + 1]:
                yield (kind, *parts[:i], parts[i + 1], parts[i], *parts[i + 2:])
    for i, part in enumerate(parts):
        if isinstance(part, tuple):
            for changed in changed_numbers(part):
                yield (kind, *parts[:i], changed, *parts[i + 1:])


def changed_here(rule, term):
    """Pairs of what was changed and a term with one change at its root."""
    for i in range(len(rule.inputs)):
        if term[0] == "input" and i != term[1]:
            yield "another input", ("input", i)
    for operator in INSERTED:
        yield "an operator more", ("operation", operator, (), (term,), 0, 1)
    if term[0] == "input":
        return
    _, operator, attributes, operands, output, outputs = term
    for family in ALIKE:
        for other in family if operator in family else ():
            if other != operator:
                yield "another operator", ("operation", other, attributes, operands, output, outputs)
    if operator in ORDERED and operands[0] != operands[1]:
        turned = (operands[1], operands[0], *operands[2:])
        yield "operands exchanged", ("operation", operator, attributes, turned, output, outputs)
    for operand in operands:
        if operand is not None:
            yield "an operator less", operand
    for i in range(outputs):
        if i != output:
            yield "another output", ("operation", operator, attributes, operands, i, outputs)
    for i, (name, value) in enumerate(attributes):
        for changed in changed_numbers(value):
            new = (*attributes[:i], (name, changed), *attributes[i + 1:])
            yield "another attribute", ("operation", operator, new, operands, output, outputs)


def changed_terms(rule, term):
    """Pairs of what was changed and a term with one change anywhere."""
    yield from changed_here(rule, term)
    if term[0] == "input":
        return
    _, operator, attributes, operands, output, outputs = term
    for i, operand in enumerate(operands):
        if operand is not None:
            for what, changed in changed_terms(rule, operand):
                new = (*operands[:i], changed, *operands[i + 1:])
                yield what, ("operation", operator, attributes, new, output, outputs)


# ---- Mutants

def header_of(block_text):
    """The lines of a rule that declare something."""
    lines = block_text.rstrip().split("\n")
    kept, depth = [], 0
    for line in lines:
        word = line.split()[0]
        declares = word in ("rule", "param", "group", "where", "defined", "weight") or line.split("[")[0].rstrip(
            " abdefiu0123456").endswith(":")
        if depth == 0 and not declares:
            continue
        kept.append(line)
        depth += sum(line.count(one) for one in "([{") - sum(line.count(one) for one in ")]}")
    return "\n".join(kept)


def same_types_somewhere(mutant, seed):
    """Whether both sides are well typed and have the same types in an instance."""
    judge = Judge(mutant, seed, False)
    for _ in range(INSTANCES):
        found = judge.choice()
        if found is None:
            return False
        values, shapes, _ = found
        inputs = judge.typed([numpy.ones(shape) for shape in shapes])
        try:
            left, right = (Side(mutant, roots).bind(values).evaluate(Reals(), inputs).outputs
                           for roots in (mutant.left, mutant.right))
        except (IllTyped, TooLarge, Overflow):
            continue
        if all(a.shape == b.shape and a.size for (a, _), (b, _) in zip(left, right)):
            return True
    return False


def mutant_of(rule, block_text, random_, number):
    """(what was changed, the mutant, its text), or None where a random change does not fit."""
    at = random_.randrange(len(rule.right))
    right = [term_of(rule, root) for root in rule.right]
    changes = {}
    for what, changed in changed_terms(rule, right[at]):
        changes.setdefault(what, []).append(changed)
    what = random_.choice(sorted(changes))
    right[at] = random_.choice(changes[what])
    sides = [" & ".join(term_text(rule, term) for term in side)
             for side in ([term_of(rule, root) for root in rule.left], right)]
    header = header_of(block_text).split("\n")
    header[0] = f"rule mutant_{number}"
    sign = "=" if rule.is_equation else "=>"
    text = "\n".join([*header, f"  {sides[0]} {sign} {sides[1]}"]) + "\n"
    mutant = rules_of(text, "mutants")[0]
    return (what, mutant, text) if same_types_somewhere(mutant, number) else None
