"""The language of rules (the top of rule_language/substitution.h): tokens, expressions and how they are written.

Expressions are tuples: (literal, value), (variable, name), (splice, name), (type, name), (sum, a, b),
(difference, a, b), (product, a, b), (list, ...), (call, name, ...)."""

import re

from second_checker.sizes import demand
from second_checker.values import DATA_TYPES, FUNCTIONS

TOKEN = re.compile(
    r'\s+|(?P<real>inf(?![A-Za-z_0-9])|\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+))'
    r'|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<integer>\d+)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<sign>=>|==|!=|<=|\.\.|[()\[\]{},:#&=<+*-])')


def tokens_of(line):
    result, position = [], 0
    while position < len(line):
        if line[position] == "#" and (position == 0 or line[position - 1] in " \t"):
            break
        found = TOKEN.match(line, position)
        demand(found, f"unexpected character '{line[position]}'")
        position = found.end()
        if found.lastgroup:
            result.append((found.lastgroup, found.group()))
    return result


def is_start(tokens):
    return len(tokens) > 1 and tokens[0][1] in ("rule", "axiom") and tokens[1][0] == "name"


def logical_lines(text):
    """Lines of tokens; what goes on in the next line is one."""
    lines = []
    for line in text.split("\n"):
        tokens = tokens_of(line)
        if not tokens and "#" in line:
            continue
        open_brackets = 0
        if lines:
            words = [word for kind, word in lines[-1] if kind == "sign"]
            open_brackets = sum(w in "([{" for w in words) - sum(w in ")]}" for w in words)
        goes_on = tokens and tokens[0] in (("sign", "=>"), ("sign", "="), ("sign", "&"))
        if lines and lines[-1] and tokens and not is_start(tokens) and (open_brackets > 0 or goes_on):
            lines[-1] += tokens
        else:
            lines.append(tokens)
    return lines


class Parser:
    def __init__(self, tokens):
        self.tokens, self.position = tokens, 0

    def peek(self, ahead=0):
        at = self.position + ahead
        return self.tokens[at] if at < len(self.tokens) else ("end", "")

    def take(self, kind=None):
        token = self.peek()
        demand(kind is None or token[0] == kind, f"expected a {kind}, found '{token[1]}'")
        self.position += 1
        return token[1]

    def accept(self, sign):
        if self.peek() != ("sign", sign):
            return False
        self.position += 1
        return True

    def expect(self, sign):
        demand(self.accept(sign), f"expected '{sign}', found '{self.peek()[1]}'")

    def end(self):
        demand(self.peek()[0] == "end", f"unexpected '{self.peek()[1]}'")

    def expressions(self, closing):
        result = []
        if self.accept(closing):
            return result
        while True:
            result.append(self.sum())
            if self.accept(closing):
                return result
            self.expect(",")

    def sum(self):
        result = self.product()
        while self.peek() in (("sign", "+"), ("sign", "-")):
            kind = "sum" if self.take() == "+" else "difference"
            result = (kind, result, self.product())
        return result

    def product(self):
        result = self.factor()
        while self.accept("*"):
            result = ("product", result, self.factor())
        return result

    def factor(self):
        if self.accept("("):
            result = self.sum()
            self.expect(")")
            return result
        if self.accept("["):
            return ("list", *self.expressions("]"))
        negative = self.accept("-")
        kind, word = self.peek()
        if kind in ("integer", "real"):
            self.take()
            value = int(word) if kind == "integer" else float(word)
            return ("literal", -value if negative else value)
        if negative:
            return ("difference", ("literal", 0), self.factor())
        if kind == "string":
            return ("literal", self.take())
        name = self.take("name")
        if self.accept(".."):
            return ("splice", name)
        if self.accept("("):
            arguments = self.expressions(")")
            demand(name in FUNCTIONS, f"there is no function '{name}'")
            demand(FUNCTIONS[name][0] == len(arguments), f"'{name}' takes other arguments")
            return ("call", name, *arguments)
        return ("type", name) if name in DATA_TYPES else ("variable", name)


def binding_power(e):
    return {"sum": 1, "difference": 1, "product": 2}.get(e[0], 3)


def literal_text(value):
    if isinstance(value, float):
        text = repr(value)
        return text if re.search(r"[.enai]", text) else text + ".0"
    return str(value)


def text_of(e):
    def operand(part, least):
        return text_of(part) if binding_power(part) >= least else f"({text_of(part)})"

    kind = e[0]
    if kind == "literal":
        return literal_text(e[1])
    if kind in ("variable", "type"):
        return e[1]
    if kind == "splice":
        return e[1] + ".."
    if kind == "sum":
        return f"{operand(e[1], 1)} + {operand(e[2], 2)}"
    if kind == "difference":
        return f"{operand(e[1], 1)} - {operand(e[2], 2)}"
    if kind == "product":
        return f"{operand(e[1], 2)}*{operand(e[2], 3)}"
    parts = ", ".join(text_of(part) for part in e[1 if kind == "list" else 2:])
    return f"[{parts}]" if kind == "list" else f"{e[1]}({parts})"


def names_in(e):
    if e[0] in ("variable", "splice"):
        yield e
    for part in e[1:]:
        if isinstance(part, tuple):
            yield from names_in(part)


def parse_expression(text):
    """An expression in canonical form."""
    parser = Parser(tokens_of(text))
    result = parser.sum()
    parser.end()
    demand(text_of(result) == text, f"'{text}' is not in canonical form")
    return result
