"""Certificates: reading them, and checking all they say (docs/certificates.md, "The file")."""

import hashlib
import re

from second_checker.cases import (
    case_text, named_parameters, real_types_to_replay, required_cases)
from second_checker.evaluation import bound_value, guards_hold
from second_checker.language import literal_text, parse_expression, Parser, tokens_of
from second_checker.reals import check_order_only, real_parameters
from second_checker.replay import Case, replay, Step
from second_checker.rules import parse_rules, parse_term
from second_checker.sizes import demand, parse_size, Refused
from second_checker.values import as_list, is_symbolic, REAL_TYPES

FORMAT = "lemma certificate 2"
VERSION = "4"
CLASSES = ("bitwise", "reassociation", "distributive", "rounding")
NUMBER = r"(?:0|[1-9]\d*)"


# The text.

def split_items(text):
    """The parts between ", " outside brackets and quotes."""
    parts, depth, quoted, begin, i = [], 0, False, 0, 0
    while i < len(text):
        c = text[i]
        if quoted and c == "\\":
            i += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c in "([{") - (c in ")]}")
            if depth <= 0 and text.startswith(", ", i):
                parts.append(text[begin:i])
                begin = i + 2
        i += 1
    return [*parts, text[begin:]] if text else []


def values_for(items, names):
    demand(len(items) == len(names), f"{len(items)} values are given for {len(names)} names")
    for item, name in zip(items, names):
        demand(item.startswith(name + "=") and len(item) > len(name) + 1, f"'{name}' has no value")
        yield name, item[len(name) + 1:]


class Lines:
    def __init__(self, text):
        demand(text.endswith("\n"), "the last line does not end")
        demand(text.isascii() and not re.search(r" #|[^\n -~]", text),
               "comments, tabs and other bytes do not belong here")
        self.lines, self.at = text[:-1].split("\n"), 0
        demand("" not in self.lines, "an empty line")

    def starts(self, prefix):
        return self.at < len(self.lines) and self.lines[self.at].startswith(prefix)

    def take(self, prefix):
        demand(self.starts(prefix), f"line {self.at + 1}: expected '{prefix}'")
        self.at += 1
        return self.lines[self.at - 1][len(prefix):]

    def all(self, prefix):
        while self.starts(prefix):
            yield self.take(prefix)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def check_digests(title, lines, used, texts):
    pairs = [one.partition(" ")[::2] for one in lines]
    demand([name for name, _ in pairs] == sorted(used), f"the {title}s listed are not those used")
    for name, given in pairs:
        demand(name in texts, f"there is no {title} '{name}'")
        demand(digest(texts[name]) == given, f"the {title} '{name}' has changed since")


def parse_position(text):
    demand(re.fullmatch(rf"{NUMBER}(\.{NUMBER})*", text), f"'{text}' is no position")
    return tuple(int(one) for one in text.split("."))


def parse_step(line, axioms, rule):
    found = re.fullmatch(rf"step (\S+) (forward|backward) ({NUMBER}) at ([0-9.]+):(?: (.*))?", line)
    demand(found, f"'{line}' is no step")
    name, direction, output, position, values = found.groups()
    demand(name in axioms, f"there is no axiom '{name}'")
    axiom = axioms[name]
    demand(int(output) < len(axiom.left), f"axiom '{name}' has no output {output}")
    items, inputs = split_items(values or ""), []
    for _, text in values_for(items[:len(axiom.inputs)], axiom.input_names):
        inputs.append(("at", parse_position(text[1:])) if text.startswith("@") else
                      ("term", *parse_term(text, rule.input_names)))
    variables = [(variable, parse_expression(text)) for variable, text in values_for(
        items[len(axiom.inputs):], axiom.variables())]
    return Step(axiom, direction == "backward", int(output), parse_position(position), inputs,
                variables)


def parse_case(rule, line):
    """The key of the case, the shapes claimed, and the number of the chain."""
    found = re.fullmatch(r"( .*)? -> (.*) by ([1-9]\d*)", line)
    demand(found, f"'case{line}' is not readable")
    key, names = [], [*rule.groups, *named_parameters(rule)]
    for name, value in values_for(split_items((found[1] or " ")[1:]), names):
        kind = rule.parameters.get(name, ("group",))[0]
        if kind == "real":
            demand(re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", value) and
                   literal_text(float(value)) == value, f"'{value}' is no number")
        elif kind != "string":
            parse_size(value) if kind == "integer" else parse_shape(value)
        key.append((name, value))
    shapes = [parse_shape(one) for one in found[2].split(" & ")]
    return tuple(key), shapes, int(found[3])


def parse_shape(text):
    demand(text.startswith("[") and text.endswith("]"), f"'{text}' is no shape")
    return tuple(parse_size(one) for one in split_items(text[1:-1]))


# What it says.

def check_witness(rule, text, sections):
    """A concrete instance, so that the conditions do not contradict each other."""
    demand(not text or text.startswith(" "), "it is not readable")
    values = {}
    for name, value in values_for(split_items(text[1:]), rule.variables()):
        parser = Parser(tokens_of(value))
        values[name] = bound_value(rule, name, parser.sum(), {})
        parser.end()
        demand(case_text(values[name]) == value or rule.parameters.get(name, ("",))[0] in (
            "real", "type"), f"'{value}' is not in canonical form")
        demand(not is_symbolic(values[name]), f"'{name}' is no number")
    sizes = [values[name] for name in rule.dimension_names()]
    sizes += [one for name in rule.groups for one in as_list(values[name])]
    demand(all(one.constant() >= 0 for one in sizes), "a negative size")
    demand(guards_hold(rule, values), "it does not meet the conditions")
    Case(rule, values, REAL_TYPES[0], 0, sections)


def worst_class(names, classes):
    """Of the axioms used; one without a class counts as the worst."""
    return CLASSES[max((CLASSES.index(classes.get(one, CLASSES[-1])) for one in names), default=0)]


def read_rule(lines):
    demand(lines.lines[0] == FORMAT, f"the first line is not '{FORMAT}': another format")
    lines.take("")
    demand(lines.take("verifier ") == VERSION, "made by another version of the verifier")
    given_id = lines.take("id ")
    block = "\n".join([lines.take(""), *("  " + one for one in lines.all("  "))]) + "\n"
    rules = parse_rules(block)
    demand(len(rules) == 1 and not rules[0].is_axiom, "one rule is wanted")
    demand(rules[0].text() == block, "the rule is not in canonical form")
    demand(digest(block) == given_id, "the id is not that of the rule")
    return rules[0]


def read_chains(lines, axioms, rule):
    chains = []
    for label in lines.all("chain "):
        demand(label == str(len(chains) + 1), f"chain '{label}' is out of order")
        chains.append([parse_step(one, axioms, rule) for one in lines.all("  ")])
    demand(chains, "there is no chain")
    return chains


def operators_used(rule, steps):
    result = rule.operators_below(rule.left + rule.right)
    for step in steps:
        result |= step.axiom.operators_below(step.axiom.left + step.axiom.right)
        for given in step.inputs:
            if given[0] == "term":
                result |= given[1].operators_below([given[2]])
    return result


def check_certificate(text, axioms, axiom_texts, operator_texts, classes, records=None):
    """Returns the rule and the numbers of cases and steps. `records`: what is wrong with the proof
    record of each axiom, or None (records.py); no dictionary if that is not to be asked."""
    try:
        return check_text(text, axioms, axiom_texts, operator_texts, classes, records)
    except RecursionError:
        raise Refused("it is nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise Refused(f"it cannot be followed: {problem!r}") from problem


def check_text(text, axioms, axiom_texts, operator_texts, classes, records):
    lines = Lines(text)
    rule = read_rule(lines)
    operator_lines, axiom_lines = list(lines.all("operator ")), list(lines.all("axiom "))
    rounding, witness = lines.take("class "), lines.take("witness")
    chains = read_chains(lines, axioms, rule)
    given = [parse_case(rule, one) for one in lines.all("case")]
    demand(lines.take("end") == "" and lines.at == len(lines.lines), "there is text after the end")
    steps = [step for chain in chains for step in chain]
    used = {step.axiom.name: step.axiom for step in steps}
    check_digests("axiom", axiom_lines, used, axiom_texts)
    check_digests("operator", operator_lines, operators_used(rule, steps), operator_texts)
    for name in sorted(used) if records is not None else ():
        reason = records.get(name, "has no proof record")
        demand(reason is None, f"the axiom '{name}' {reason}")
    demand(rounding == worst_class(used, classes),
           f"its class is {worst_class(used, classes)}, by its axioms, not {rounding}")
    real_count = len(real_parameters(rule))
    for one in [rule, *used.values()] if real_count else ():
        check_order_only(one, real_count)
    try:
        check_witness(rule, witness, operator_texts)
    except Refused as reason:
        raise Refused(f"witness: {reason}") from None
    wanted = required_cases(rule)
    demand([key for key, _, _ in given] == [key for key, _ in wanted],
           "the cases are not those that the rule demands")
    demand({number_of for _, _, number_of in given} == set(range(1, len(chains) + 1)),
           "a chain is missing or not used")
    count = 0
    for (key, shapes, chain), (_, values) in zip(given, wanted):
        try:
            check_case(rule, values, shapes, chains[chain - 1], real_count, operator_texts)
        except Refused as reason:
            where = ", ".join(f"{name}={value}" for name, value in key)
            raise Refused(f"case {where}, chain {chain}: {reason}") from None
        count += len(chains[chain - 1])
    return rule, len(given), count


def check_case(rule, values, shapes, chain, real_count, sections):
    """Replays the chain for each real type that the inputs may share. Every case is, not just the
    first, so that no chain rests on a type."""
    for real_type in real_types_to_replay(rule, values):
        found = replay(rule, values, chain, real_type, real_count, sections)
        demand(found == shapes, "the output shapes are not those claimed")
