"""Reads rules and axioms (their form is described at the top of `rule_language/substitution.h`).

This reader shares no code with the C++ one or with the second checker. Expressions are tuples:
("literal", value), ("variable", name), ("splice", group), ("list", ...), ("call", name, ...) and
("+", a, b), ("-", a, b), ("*", a, b)."""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""(?P<blank>\s+)
      | (?P<number>inf(?!\w)|\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+(?!\.\d))
      | (?P<name>[A-Za-z_]\w*)
      | (?P<string>"[^"]*")
      | (?P<sign>=>|==|!=|<=|\.\.|[-+*=<&#:,(){}\[\]])""", re.VERBOSE)

TYPES = ("f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool")
COMPARISONS = ("==", "!=", "<=", "<")


class Malformed(Exception):
    """The text is not a rule."""


@dataclass
class Input:
    name: str
    shape: list
    type: str = ""
    defined: bool = False
    weight: bool = False


@dataclass
class Node:
    """An input (`operator` is None and `input` its position) or an operation on terms, which are
    pairs of a node's number and an output, or None for an operand that is absent."""
    operator: str = None
    input: int = 0
    attributes: dict = field(default_factory=dict)
    operands: list = field(default_factory=list)
    outputs: int = 1


@dataclass
class Rule:
    name: str
    is_axiom: bool
    file: str = ""
    inputs: list = field(default_factory=list)
    groups: dict = field(default_factory=dict)       # name: (least, most)
    parameters: dict = field(default_factory=dict)   # name: (range, bounds)
    conditions: list = field(default_factory=list)   # (comparison or predicate, arguments)
    nodes: list = field(default_factory=list)        # operands before their users
    left: list = field(default_factory=list)
    right: list = field(default_factory=list)
    is_equation: bool = False
    search_forward: bool = False

    def sizes(self):
        """Names of the dimension variables: what declared shapes use and nothing else declares."""
        names = {}
        for one in self.inputs:
            for item in one.shape:
                names.update((name, None) for kind, name in names_of(item) if kind == "variable")
        return [name for name in names if name not in self.groups and name not in self.parameters]

    def nodes_of(self, roots):
        """Numbers of the nodes that the terms in `roots` are made of, operands first."""
        wanted = set()
        stack = [term[0] for term in roots]
        while stack:
            number = stack.pop()
            if number not in wanted:
                wanted.add(number)
                stack += [term[0] for term in self.nodes[number].operands if term]
        return sorted(wanted)


def names_of(expression):
    if expression[0] in ("variable", "splice"):
        yield expression[0], expression[1]
    for part in expression[1:]:
        if isinstance(part, tuple):
            yield from names_of(part)


def tokens_of(line):
    result, at = [], 0
    while at < len(line):
        if line[at] == "#" and (at == 0 or line[at - 1].isspace()):
            break
        found = TOKEN.match(line, at)
        if not found:
            raise Malformed(f"unexpected '{line[at]}'")
        at = found.end()
        if found.lastgroup != "blank":
            result.append((found.lastgroup, found.group()))
    return result


def begins_rule(tokens):
    return len(tokens) == 2 and tokens[0][1] in ("rule", "axiom") and tokens[1][0] == "name"


def blocks_of(text):
    """Lists of logical lines, one list a rule."""
    block, depth = [], 0
    for line in text.splitlines():
        tokens = tokens_of(line)
        if not tokens:
            if block and not line.strip() and depth == 0:
                yield block
                block = []
            continue
        if begins_rule(tokens):
            if block:
                yield block
            block, depth = [tokens], 0
            continue
        if not block:
            raise Malformed(f"'{line.strip()}' stands outside a rule")
        goes_on = depth > 0 or tokens[0] in (("sign", "=>"), ("sign", "="), ("sign", "&"))
        if goes_on:
            block[-1] = block[-1] + tokens
        else:
            block.append(tokens)
        depth += sum((word in "([{") - (word in ")]}") for kind, word in tokens if kind == "sign")
    if block:
        yield block


class Reader:
    """Recursive descent over the tokens of one logical line."""

    def __init__(self, tokens):
        self.tokens, self.at = tokens + [("end", "")] * 2, 0

    def next_is(self, word, ahead=0):
        kind, text = self.tokens[self.at + ahead]
        return kind != "string" and text == word

    def accept(self, word):
        found = self.next_is(word)
        self.at += found
        return found

    def expect(self, word):
        if not self.accept(word):
            raise Malformed(f"expected '{word}' before '{self.tokens[self.at][1]}'")

    def word(self, kind="name"):
        found, text = self.tokens[self.at]
        if found != kind:
            raise Malformed(f"expected a {kind} before '{text}'")
        self.at += 1
        return text

    def until(self, closing, item):
        result = []
        if self.accept(closing):
            return result
        while True:
            result.append(item())
            if self.accept(closing):
                return result
            self.expect(",")

    def expression(self):
        result = self.factor_chain()
        while self.next_is("+") or self.next_is("-"):
            sign = self.word("sign")
            result = (sign, result, self.factor_chain())
        return result

    def factor_chain(self):
        result = self.factor()
        while self.accept("*"):
            result = ("*", result, self.factor())
        return result

    def factor(self):
        if self.accept("("):
            result = self.expression()
            self.expect(")")
            return result
        if self.accept("["):
            return ("list", *self.until("]", self.expression))
        if self.accept("-"):
            inner = self.factor()
            return ("literal", -inner[1]) if inner[0] == "literal" else ("-", ("literal", 0), inner)
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return ("literal", int(text) if text.isdigit() else float(text))
        if kind == "string":
            return ("literal", text[1:-1])
        if kind != "name":
            raise Malformed(f"no expression begins with '{text}'")
        if self.accept(".."):
            return ("splice", text)
        if self.accept("("):
            return ("call", text, *self.until(")", self.expression))
        return ("literal", text) if text in TYPES else ("variable", text)


class RuleReader:
    def __init__(self, block, file):
        self.rule = Rule(block[0][1][1], block[0][0][1] == "axiom", file)
        self.lets, self.numbers = {}, {}
        self.freed = []
        for line in block[1:]:
            self.reader = Reader(line)
            self.line()
            self.reader.expect("")
        if not self.rule.left:
            raise Malformed(f"{self.rule.name} claims nothing")
        for name in self.freed:
            if name not in self.rule.sizes() and name not in self.rule.groups:
                self.rule.parameters.setdefault(name, ("dimension", []))

    def line(self):
        r = self.reader
        second = r.tokens[1]
        names_follow = second[0] == "name"
        if r.next_is("group") and names_follow:
            self.group()
        elif r.next_is("param") and names_follow:
            self.parameter()
        elif r.next_is("free") and second[0] in ("name", "number"):
            self.free()
        elif r.next_is("let") and names_follow:
            r.at = 1
            name = r.word()
            r.expect("=")
            self.lets[name] = self.term()
        elif r.next_is("search") and names_follow:
            r.at = 1
            r.expect("forward")
            self.rule.search_forward = True
        elif r.next_is("role") and names_follow:
            r.at = 1
            r.word()  # for searches only
            while r.accept(","):
                r.word()
        elif r.next_is("where"):
            r.at = 1
            self.rule.conditions.append(self.condition())
            while r.accept(","):
                self.rule.conditions.append(self.condition())
        elif ("sign", ":") in r.tokens[1:4]:
            self.input()
        else:
            self.rule.left = self.outputs()
            self.rule.is_equation = r.accept("=")
            if not self.rule.is_equation:
                r.expect("=>")
            self.rule.right = self.outputs()

    def group(self):
        r = self.reader
        r.at = 1
        name = r.word()
        r.expect(":")
        least = int(r.word("number"))
        r.expect("..")
        self.rule.groups[name] = (least, int(r.word("number")))

    def parameter(self):
        r = self.reader
        r.at = 1
        name = r.word()
        r.expect(":")
        kind, bounds = r.word(), []
        if r.accept("["):
            bounds = r.until(")" if kind == "integer" else "]", r.expression)
        self.rule.parameters[name] = (kind, bounds)

    def free(self):
        """Where a search takes values from, which are all right; what nothing else declares is a parameter."""
        r = self.reader
        r.at = 1
        self.freed += [name for _, name in names_of(r.expression())]
        r.expect(":")
        r.at = len(r.tokens) - 2

    def input(self):
        r = self.reader
        marks = set()
        while not r.next_is(":", 1):
            marks.add(r.word())
        one = Input(r.word(), [], "", "defined" in marks, "weight" in marks)
        if marks - {"defined", "weight"}:
            raise Malformed(f"'{one.name}' is marked by an unknown word")
        r.expect(":")
        if r.tokens[r.at][0] == "name":
            one.type = r.word()
        r.expect("[")
        one.shape = r.until("]", r.expression)
        for item in one.shape:
            for kind, name in names_of(item):
                if kind == "splice":
                    self.rule.groups.setdefault(name, (0, 3))
        self.rule.inputs.append(one)

    def condition(self):
        r = self.reader
        left = r.expression()
        for sign in COMPARISONS:
            if r.accept(sign):
                return (sign, [left, r.expression()])
        if left[0] != "call":
            raise Malformed(f"{self.rule.name}: no condition")
        return (left[1], list(left[2:]))

    def outputs(self):
        result = [self.term()]
        while self.reader.accept("&"):
            result.append(self.term())
        return result

    def term(self):
        r = self.reader
        name = r.word()
        if r.next_is("(") or r.next_is("{"):
            term = (self.operation(name), 0)
        elif name in self.lets:
            term = self.lets[name]
        else:
            names = [one.name for one in self.rule.inputs]
            if name not in names:
                raise Malformed(f"{self.rule.name}: '{name}' is unknown")
            term = (self.add(Node(input=names.index(name))), 0)
        if r.accept("#"):
            output = int(r.word("number"))
            node = self.rule.nodes[term[0]]
            node.outputs = max(node.outputs, output + 1)
            term = (term[0], output)
        return term

    def operation(self, operator):
        r = self.reader
        attributes = {}
        if r.accept("{"):
            def attribute():
                name = r.word()
                r.expect("=")
                attributes[name] = r.expression()
            r.until("}", attribute)
        r.expect("(")
        operands = r.until(")", lambda: None if r.accept("_") else self.term())
        return self.add(Node(operator, 0, attributes, operands))

    def add(self, node):
        key = (node.operator, node.input, tuple(sorted(node.attributes.items())),
               tuple(node.operands))
        if key not in self.numbers:
            self.numbers[key] = len(self.rule.nodes)
            self.rule.nodes.append(node)
        return self.numbers[key]


def rules_of(text, file):
    return [RuleReader(block, file).rule for block in blocks_of(text)]


def rules_in(path):
    """All rules of a file, named by it."""
    try:
        return rules_of(path.read_text(encoding="utf-8"), path.name)
    except Malformed as error:
        raise Malformed(f"{path}: {error}") from None
