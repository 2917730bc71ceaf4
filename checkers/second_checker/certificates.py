"""Certificates: reading them, and checking all they say (docs/certificates.md, "A certificate")."""

import hashlib
import re

from second_checker.cases import (
    case_text, MOST_CASES, named_parameters, real_types_to_replay, required_cases)
from second_checker.evaluation import bound_value, guards_hold
from second_checker.language import parse_expression, Parser, tokens_of
from second_checker.reals import check_order_only, real_parameters
from second_checker.replay import Case, replay, Step
from second_checker.rules import parse_rules, parse_term
from second_checker.sizes import demand, Refused
from second_checker.values import as_list, is_symbolic, REAL_TYPES

FORMAT = "lemma certificate 3"
VERSION = "4"
CLASSES = ("bitwise", "reassociation", "distributive", "rounding")
NUMBER = r"(?:0|[1-9]\d*)"


# The text.

def certificates_of(pack):
    """The certificates of a file, which stand there one after the other: for each the number of its first line, the
    name of its rule ("" if it gives none), and its text. One begins where it says so, or where the one before has
    ended, so that damage to one leaves the others as they are."""
    result, ended = [], True
    for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+", pack), 1):
        if ended or line.startswith("lemma certificate "):
            result.append([number, "", []])
        if line.startswith("rule ") and not result[-1][1]:
            result[-1][1] = line[len("rule "):].rstrip("\n")
        result[-1][2].append(line)
        ended = line.rstrip("\n") == "end"
    return [(number, name, "".join(lines)) for number, name, lines in result]


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
    def __init__(self, text, first_line):
        demand(text.endswith("\n"), "the last line does not end")
        demand(text.isascii() and not re.search(r" #|[^\n -~]", text),
               "comments, tabs and other bytes do not belong here")
        self.lines, self.at, self.first_line = text[:-1].split("\n"), 0, first_line
        demand("" not in self.lines, "an empty line")

    def starts(self, prefix):
        return self.at < len(self.lines) and self.lines[self.at].startswith(prefix)

    def take(self, prefix):
        demand(self.starts(prefix), f"line {self.first_line + self.at}: expected '{prefix}'")
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
        demand(title != "operator" or covers_meaning(texts[name]), f"no digest covers the meaning of {name}")


def covers_meaning(section):
    """The section shows one example: that nothing else changed is said by the digest at its end."""
    return re.fullmatch("Digest of the meaning: `[0-9a-f]{64}`", section.rstrip("\n").split("\n")[-1]) is not None


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


def parse_case_numbers(text, count):
    """"3, 5, 6", in ascending order."""
    items = text.split(", ")
    demand(all(re.fullmatch(NUMBER, one) for one in items), f"'{text}' names no cases")
    numbers = [int(one) for one in items]
    demand(all(a < b for a, b in zip([0, *numbers], numbers)), f"'{text}': cases are out of order")
    demand(numbers[-1] <= count, f"there is no case {numbers[-1]}")
    return numbers


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


def read_cases(lines):
    """How many cases there are, and the digest of their lines."""
    text = lines.take("cases ")
    found = re.fullmatch(rf"({NUMBER}) ([0-9a-f]{{64}})", text)
    demand(found, f"'cases {text}' is not readable")
    return int(found[1]), found[2]


def read_chains(lines, axioms, rule, count):
    """The chains, and the number of the chain of each case that is not the first."""
    chains, chain_of = [], {}
    for label in lines.all("chain "):
        number, _, listed = label.partition(" of cases ")
        demand(number == str(len(chains) + 1), f"chain '{number}' is out of order")
        demand(bool(listed) == bool(chains), f"chain {number}: the cases of all chains but the first are listed")
        for one in parse_case_numbers(listed, count) if listed else ():
            demand(one not in chain_of, f"the case {one} is that of another chain")
            chain_of[one] = int(number)
        chains.append([parse_step(one, axioms, rule) for one in lines.all("  ")])
    demand(chains, "there is no chain")
    demand(len(chain_of) < count, "the first chain is not used")
    return chains, chain_of


def operators_used(rule, steps):
    result = rule.operators_below(rule.left + rule.right)
    for step in steps:
        result |= step.axiom.operators_below(step.axiom.left + step.axiom.right)
        for given in step.inputs:
            if given[0] == "term":
                result |= given[1].operators_below([given[2]])
    return result


def check_certificate(text, axioms, axiom_texts, operator_texts, classes, records=None, first_line=1):
    """Returns the rule and the numbers of cases and steps. `records`: what is wrong with the proof
    record of each axiom, or None (records.py); no dictionary if that is not to be asked."""
    try:
        return check_lines(Lines(text, first_line), axioms, axiom_texts, operator_texts, classes, records)
    except RecursionError:
        raise Refused("it is nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise Refused(f"it cannot be followed: {problem!r}") from problem


def check_lines(lines, axioms, axiom_texts, operator_texts, classes, records):
    rule = read_rule(lines)
    operator_lines, axiom_lines = list(lines.all("operator ")), list(lines.all("axiom "))
    rounding, witness = lines.take("class "), lines.take("witness")
    case_count, cases_digest = read_cases(lines)
    chains, chain_of = read_chains(lines, axioms, rule, case_count)
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
    wanted = required_cases(rule, min(case_count, MOST_CASES))
    demand(len(wanted) == case_count, f"the cases are not those that the rule demands: {case_count} instead of {len(wanted)}")
    written, count = "", 0
    for number, (key, values) in enumerate(wanted, 1):
        chain = chain_of.get(number, 1)
        try:
            shapes = check_case(rule, values, chains[chain - 1], real_count, operator_texts, rounding == "bitwise")
        except Refused as reason:
            raise Refused(f"case {number} ({values_text(key)}), chain {chain}: {reason}") from None
        written += case_line(key, shapes, chain)
        count += len(chains[chain - 1])
    demand(digest(written) == cases_digest, "the cases are not those of the digest, or their shapes, or their chains")
    return rule, case_count, count


def values_text(key):
    return ", ".join(f"{name}={value}" for name, value in key)


def case_line(key, shapes, chain):
    """As it goes into the digest of the cases."""
    shown = " & ".join(case_text(tuple(one)) for one in shapes)
    return f"case{' ' * bool(key)}{values_text(key)} -> {shown} by {chain}\n"


def check_case(rule, values, chain, real_count, sections, keeps_bits):
    """Replays the chain for each real type that the inputs may share, and returns the shapes of the outputs. Every
    case is replayed, not just the first, so that no chain rests on a type."""
    shapes = None
    for real_type in real_types_to_replay(rule, values):
        found = replay(rule, values, chain, real_type, real_count, sections, keeps_bits)
        demand(shapes in (None, found), "the output shapes depend on the type")
        shapes = found
    return shapes
