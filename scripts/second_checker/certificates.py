"""Certificates: reading them, and checking all they say."""

import hashlib
import re

from second_checker.sizes import add, demand, multiply, number, Refused, subtract, symbol, ZERO
from second_checker.values import bound_value, conditions_hold, FUNCTIONS
from second_checker.operators import REAL_TYPES
from second_checker.partial import holds_from_left_only
from second_checker.language import literal_text, parse_rules, Parser, text_of, tokens_of
from second_checker.cases import Case, input_types, is_well_typed, required_cases

FORMAT = "lemma certificate 1"
VERSION = "3"
CLASSES = ("bitwise", "reassociation", "distributive", "unsafe")


class Step:
    def __init__(self, axiom, backward, output, position, inputs, variables):
        self.axiom, self.backward, self.output = axiom, backward, output
        self.position, self.inputs, self.variables = position, inputs, variables


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


def parse_position(text):
    demand(re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*))*", text), f"'{text}' is no position")
    return tuple(int(one) for one in text.split("."))


def parse_expression(text):
    parser = Parser(tokens_of(text))
    result = parser.sum()
    parser.end()
    demand(text_of(result) == text, f"'{text}' is not in canonical form")
    return result


def values_for(items, names):
    demand(len(items) == len(names), f"{len(items)} values are given for {len(names)} names")
    for item, name in zip(items, names):
        demand(item.startswith(name + "=") and len(item) > len(name) + 1, f"'{name}' has no value")
        yield name, item[len(name) + 1:]


def parse_step(line, axioms, rule):
    found = re.fullmatch(
        r"  step (\S+) (forward|backward) (0|[1-9]\d*) at ([0-9.]+): (.*)", line)
    demand(found, f"'{line}' is no step")
    name, direction, output, position, values = found.groups()
    demand(name in axioms, f"there is no axiom '{name}'")
    axiom = axioms[name]
    demand(int(output) < len(axiom.left), f"axiom '{name}' has no output {output}")
    input_names, items = [one[0] for one in axiom.inputs], split_items(values)
    count = len(input_names)
    inputs = []
    for _, text in values_for(items[:count], input_names):
        if text.startswith("@"):
            inputs.append(parse_position(text[1:]))
        else:
            parser = Parser(tokens_of(text))
            inputs.append(("term", rule.term(parser)))
            parser.end()
    variables = [(variable, parse_expression(text))
                 for variable, text in values_for(items[count:], axiom.variables())]
    return Step(axiom, direction == "backward", int(output), parse_position(position), inputs,
                variables)


class Lines:
    def __init__(self, text):
        demand(text.endswith("\n"), "the last line does not end")
        demand(" #" not in text and "\t" not in text, "comments and tabs do not belong here")
        self.lines, self.at = text[:-1].split("\n"), 0

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


def check_digests(title, pairs, used, texts):
    demand([name for name, _ in pairs] == sorted(used), f"the {title}s listed are not those used")
    for name, given in pairs:
        demand(name in texts, f"there is no {title} '{name}'")
        demand(digest(texts[name]) == given, f"the {title} '{name}' has changed since")


def check_witness(rule, text):
    demand(not text or text.startswith(" "), "the witness is not readable")
    values = {}
    for name, value in values_for(split_items(text[1:]), rule.variables()):
        parser = Parser(tokens_of(value))
        values[name] = bound_value(rule, name, parser.sum(), {})
        parser.end()
    for name in rule.dimension_names():
        demand(values[name].is_constant() and values[name].constant() >= 0, f"'{name}' is no size")
    demand(conditions_hold(rule, values), "the witness does not meet the conditions")
    for _, shape in input_types(rule, values, "f32"):
        demand(all(one.is_constant() for one in shape), "the witness has no numbers")
    Case(rule, values, "f32")


def parse_dimension(text):
    """A size as certificates write it: symbols may have dots, and a minus stands first."""
    tokens = re.findall(r"[A-Za-z_][A-Za-z_0-9.]*|\d+|[()+*,-]|\S", text.strip())
    position = 0

    def accept(word):
        nonlocal position
        if position < len(tokens) and tokens[position] == word:
            position += 1
            return True
        return False

    def factor():
        nonlocal position
        demand(position < len(tokens), f"'{text}' is no size")
        word = tokens[position]
        position += 1
        if word.isdigit():
            return number(int(word))
        demand(re.match(r"[A-Za-z_]", word), f"'{text}' is no size")
        if word in ("floordiv", "min", "max") and accept("("):
            a = sum_of()
            demand(accept(","), f"'{text}' is no size")
            b = sum_of()
            demand(accept(")"), f"'{text}' is no size")
            return FUNCTIONS[word][1](a, b)
        return symbol(word)

    def product():
        result = factor()
        while accept("*"):
            result = multiply(result, factor())
        return result

    def sum_of():
        result = subtract(ZERO, product()) if accept("-") else product()
        while position < len(tokens) and tokens[position] in "+-":
            result = add(result, product()) if accept("+") else (
                subtract(result, product()) if accept("-") else result)
        return result

    result = sum_of()
    demand(position == len(tokens), f"'{text}' is no size")
    return result


def parse_shape(text):
    demand(text.startswith("[") and text.endswith("]"), f"'{text}' is no shape")
    return tuple(parse_dimension(one) for one in split_items(text[1:-1]))


def parse_case(rule, line):
    """The key of the case, the shapes claimed, and the number of the chain."""
    found = re.fullmatch(r"( .*)? -> (.*) by ([1-9]\d*)", line)
    demand(found, f"'case{line}' is not readable")
    key = []
    shown = [name for name, (kind, _) in rule.parameters.items()
             if kind not in ("dimensions", "dimension", "type")]
    names = [*rule.groups, *shown]
    for name, value in values_for(split_items((found.group(1) or " ")[1:]), names):
        kind = rule.parameters.get(name, ("group",))[0]
        if kind == "real":
            demand(literal_text(float(value)) == value, f"'{value}' is no number")
            key.append((name, repr(float(value))))
        elif kind == "string":
            key.append((name, value))
        else:
            key.append((name, parse_dimension(value) if kind == "integer" else parse_shape(value)))
    shapes = [parse_shape(one) for one in found.group(2).split(" & ")]
    return tuple(key), shapes, int(found.group(3))


def replay(rule, values, chain, real_type):
    case = Case(rule, values, real_type)
    for i, step in enumerate(chain):
        try:
            case.apply(step)
        except Refused as reason:
            raise Refused(f"step {i + 1} ({step.axiom.name}): {reason}") from None
    demand(list(case.state) == case.right, "the last step does not arrive at the right side")
    return [case.terms.type(one)[1] for one in case.left]


def worst_class(names, classes):
    """Of the axioms used; one without a class counts as the worst."""
    return CLASSES[max((CLASSES.index(classes.get(one, CLASSES[-1])) for one in names), default=0)]


def check_certificate(text, axioms, axiom_texts, operator_texts, classes):
    """Returns the rule and the numbers of cases and steps."""
    lines = Lines(text)
    demand(lines.lines[0] == FORMAT, f"the first line is not '{FORMAT}': another format")
    lines.take("")
    demand(lines.take("verifier ") == VERSION, "made by another version of the verifier")
    given_id = lines.take("id ")
    block = [lines.take("")]
    block += ["  " + one for one in lines.all("  ")]
    rules = parse_rules("\n".join(block) + "\n")
    demand(len(rules) == 1 and not rules[0].is_axiom, "one rule is wanted")
    rule, = rules
    demand(rule.text() == "\n".join(block) + "\n", "the rule is not in canonical form")
    demand(digest(rule.text()) == given_id, "the id is not that of the rule")
    operator_lines = [one.partition(" ")[::2] for one in lines.all("operator ")]
    axiom_lines = [one.partition(" ")[::2] for one in lines.all("axiom ")]
    rounding = lines.take("class ")
    witness = lines.take("witness")
    used_axioms, chains = set(), []
    operators = {node[0] for node in rule.nodes if node[0]}
    for label in lines.all("chain "):
        demand(label == str(len(chains) + 1), f"chain '{label}' is out of order")
        chains.append([parse_step("  " + one, axioms, rule) for one in lines.all("  ")])
        used_axioms |= {step.axiom.name for step in chains[-1]}
    operators |= {node[0] for node in rule.nodes if node[0]}
    for name in used_axioms:
        operators |= {node[0] for node in axioms[name].nodes if node[0]}
    check_digests("axiom", axiom_lines, used_axioms, axiom_texts)
    demand(rounding == worst_class(used_axioms, classes),
           f"its class is {worst_class(used_axioms, classes)}, by its axioms, not {rounding}")
    check_digests("operator", operator_lines, operators, operator_texts)
    for chain in chains:
        for step in chain:
            demand(not (rule.both or step.backward)
                   or not holds_from_left_only(step.axiom, operator_texts),
                   f"{step.axiom.name}: its left side may be undefined where its right side is not")
    try:
        check_witness(rule, witness)
    except Refused as reason:
        raise Refused(f"witness: {reason}") from None
    given = [parse_case(rule, one) for one in lines.all("case")]
    demand(lines.take("end") == "" and lines.at == len(lines.lines), "there is text after the end")
    wanted = required_cases(rule)
    demand([key for key, _, _ in given] == [key for key, _ in wanted],
           "the cases are not those that the rule demands")
    demand({number_of for _, _, number_of in given} == set(range(1, len(chains) + 1)),
           "a chain is missing or not used")
    steps = 0
    for i, ((_, shapes, chain), (key, values)) in enumerate(zip(given, wanted)):
        where = ", ".join(f"{name}={value}" for name, value in key)
        try:
            found = replay(rule, values, chains[chain - 1], "f32")
            demand(found == shapes, "the output shapes are not those claimed")
            for other in REAL_TYPES[1:] if i == 0 else ():
                if is_well_typed(rule, values, other):
                    replay(rule, values, chains[chain - 1], other)
        except Refused as reason:
            raise Refused(f"case {where}, chain {chain}: {reason}") from None
        steps += len(chains[chain - 1])
    return rule, len(given), steps
