#!/usr/bin/env python3
"""A second checker of certificates (docs/certificates.md), which shares no code with the first.

    scripts/lemma_check.py [--axioms DIR] [--operators FILE] [--rules DIR] CERTIFICATE...

It reads axioms and certificates with its own parser, computes with its own polynomials, and has its
own shape rules for the operators that it knows; an operator that it does not know is refused. Only
the standard library is used. Exit codes: 0 all certificates hold, 4 one does not, 2 bad usage.
"""

import argparse
import hashlib
import itertools
import math
import pathlib
import re
import sys

FORMAT = "lemma certificate 1"
VERSION = "1"
CLASSES = ("unknown", "bitwise", "reassociation", "distributive", "unsafe")
REALS = (-2.5, -1.25, 0.0, 0.5, 1.75)  # the values that real parameters range over
REAL_TYPES = ("f32", "f64", "f16", "bf16")
INTEGER_TYPES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
DATA_TYPES = REAL_TYPES + INTEGER_TYPES + ("bool",)


class Refused(Exception):
    """The certificate does not prove what it claims."""


def demand(condition, message):
    if not condition:
        raise Refused(message)


# ---- Sizes: integer polynomials over symbols and floordiv, min, max of two polynomials -----------


class Size:
    """Equal sizes are one object: compared with `is`, and usable as keys."""

    __slots__ = ("terms", "key")
    table = {}

    def __new__(cls, terms):
        key = tuple(sorted((m, c) for m, c in terms.items() if c != 0))
        known = cls.table.get(key)
        if known is None:
            known = object.__new__(cls)
            known.terms, known.key = dict(key), key
            cls.table[key] = known
        return known

    def is_constant(self):
        return not self.key or (len(self.key) == 1 and self.key[0][0] == ())

    def constant(self):
        return self.terms.get((), 0) if self.is_constant() else None

    def __repr__(self):
        return " + ".join("*".join([str(c), *(a[1] if a[0] == "" else f"{a[0]}(..)" for a in m)])
                          for m, c in self.key) or "0"


def number(n):
    return Size({(): n})


def symbol(name):
    return Size({(("", name),): 1})


ZERO, ONE = number(0), number(1)
SIZES = {}  # the arguments of an atom by its text, so that atoms are plain, ordered tuples


def atom(kind, a, b):
    name = f"{a.key!r} {b.key!r}"
    SIZES[kind, name] = (a, b)
    return Size({((kind, name),): 1})


def add(a, b, factor=1):
    terms = dict(a.terms)
    for monomial, coefficient in b.terms.items():
        terms[monomial] = terms.get(monomial, 0) + factor * coefficient
    return Size(terms)


def subtract(a, b):
    return add(a, b, -1)


def multiply(a, b):
    terms = {}
    for m, c in a.terms.items():
        for n, d in b.terms.items():
            product = tuple(sorted(m + n))
            terms[product] = terms.get(product, 0) + c * d
    return Size(terms)


def leading(a):
    """The greatest monomial: by degree, then the one with the earliest atoms."""
    degree = max(len(m) for m in a.terms)
    return min(m for m in a.terms if len(m) == degree)


def exact_quotient(a, b):
    """a / b as polynomials, or None."""
    quotient, rest = ZERO, a
    if b is ZERO:
        return None
    lead = leading(b)
    while rest is not ZERO:
        top = leading(rest)
        atoms = list(top)
        for one in lead:
            if one not in atoms:
                return None
            atoms.remove(one)
        if rest.terms[top] % b.terms[lead] != 0:
            return None
        part = Size({tuple(atoms): rest.terms[top] // b.terms[lead]})
        quotient, rest = add(quotient, part), subtract(rest, multiply(part, b))
    return quotient


def floor_quotient(a, b):
    exact = exact_quotient(a, b)
    if exact is not None:
        return exact
    demand(b is not ZERO, "a division by zero")
    divisor = b.constant()
    if divisor is None:
        return atom("floordiv", a, b)
    if divisor < 0:
        return floor_quotient(multiply(a, number(-1)), number(-divisor))
    whole = Size({m: c // divisor for m, c in a.terms.items()})
    rest = subtract(a, multiply(whole, b))
    return whole if rest.is_constant() else add(whole, atom("floordiv", rest, b))


def lower_bound(a):
    """A number that the size is never below, as far as that is seen; symbols are at least 0."""
    bound = 0
    for monomial, coefficient in a.terms.items():
        if monomial == ():
            bound += coefficient
            continue
        product = 1
        for kind, name in monomial:
            low = 0
            if kind != "":
                x, y = (lower_bound(one) for one in SIZES[kind, name])
                if kind == "max":
                    low = max((one for one in (x, y) if one is not None), default=None)
                elif kind == "min":
                    low = None if x is None or y is None else min(x, y)
                else:
                    divisor = SIZES[kind, name][1].constant()
                    known = x is not None and divisor is not None and divisor > 0
                    low = x // divisor if known else None
            if low is None or (low < 0 and len(monomial) > 1):
                return None
            product *= low
        if coefficient < 0:
            return None
        bound += product * coefficient
    return bound


def at_least(a, b):
    low = lower_bound(subtract(a, b))
    return low is not None and low >= 0


def extremum(kind, a, b):
    if at_least(a, b):
        return a if kind == "max" else b
    if at_least(b, a):
        return b if kind == "max" else a
    return atom(kind, *sorted((a, b), key=lambda one: repr(one.key)))


def total(shape):
    result = ONE
    for size in shape:
        result = multiply(result, size)
    return result


# ---- Words of the textual form --------------------------------------------------------------------

TOKEN = re.compile(
    r'\s+|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<real>\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+))'
    r'|(?P<integer>\d+)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<sign>=>|==|!=|<=|\.\.|[()\[\]{},:#&=<+*-])')


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


# ---- Rules and axioms -----------------------------------------------------------------------------
# Expressions are tuples: (literal, value), (variable, name), (splice, name), (sum, a, b),
# (difference, a, b), (product, a, b), (list, ...), (call, name, ...).


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


class Rule:
    """Nodes are (operator, attributes, operands); an input is a node (None, its number, ()).
    A term is (number of a node, output); operands come before users."""

    def __init__(self, lines):
        header = lines[0]
        demand(len(header) == 2, "the name of a rule stands alone")
        self.is_axiom, self.name = header[0][1] == "axiom", header[1][1]
        self.inputs = []  # (name, type or None, shape expressions, weight)
        self.groups = {}  # name: (least, most), in order
        self.parameters = {}  # name: (range, bounds), in order
        self.conditions = []  # (kind, arguments) or (predicate name, arguments)
        self.nodes, self.counts, self.lets = [], {}, {}
        self.left = self.right = None
        for line in lines[1:]:
            demand(self.left is None, "the rule has ended with its equation")
            parser = Parser(line)
            self.line(parser)
            parser.end()
        demand(self.left is not None, "the rule has no equation")
        self.check()

    # Reading.

    def line(self, p):
        first, second = p.peek(), p.peek(1)
        if first[1] == "group" and second[0] == "name":
            p.take()
            name = p.take("name")
            p.expect(":")
            least = int(p.take("integer"))
            p.expect("..")
            most = int(p.take("integer"))
            demand(least <= most <= 64, "a range of axes is empty")
            demand(name not in self.parameters, f"'{name}' is a parameter")
            self.groups[name] = (least, most)
        elif first[1] == "param" and second[0] == "name":
            p.take()
            self.parameter(p)
        elif first[1] == "let" and second[0] == "name":
            p.take()
            name = p.take("name")
            p.expect("=")
            self.lets[name] = self.term(p)
        elif first[1] == "where":
            p.take()
            while True:
                self.conditions.append(self.condition(p))
                if not p.accept(","):
                    break
        elif (first[1] == "weight" and second[0] == "name") or second == ("sign", ":"):
            self.input(p)
        else:
            self.left = self.outputs(p)
            self.both = p.accept("=")
            if not self.both:
                p.expect("=>")
            self.right = self.outputs(p)
            demand(len(self.left) == len(self.right), "the sides have different outputs")

    def input(self, p):
        weight = p.peek() == ("name", "weight") and p.peek(1) != ("sign", ":")
        if weight:
            p.take()
        name = p.take("name")
        p.expect(":")
        kind = None
        if p.peek()[0] == "name":
            kind = p.take()
            demand(kind in DATA_TYPES, f"'{kind}' is no type")
        p.expect("[")
        shape = p.expressions("]")
        for size in shape:
            for what, variable in names_in(size):
                if what == "splice":
                    self.groups.setdefault(variable, (0, 3))
        demand(name not in [one[0] for one in self.inputs], f"two inputs are named '{name}'")
        self.inputs.append((name, kind, shape, weight))

    def parameter(self, p):
        name = p.take("name")
        p.expect(":")
        kind = p.take("name")
        bounds = []
        if kind == "string":
            p.expect("[")
            while True:
                bounds.append(p.take("string"))
                if not p.accept(","):
                    break
            p.expect("]")
        elif kind in ("dimensions", "permutation"):
            p.expect("[")
            bounds = p.expressions("]")
        elif kind == "integer":
            p.expect("[")
            bounds = p.expressions(")")
        wanted = {"dimensions": 1, "permutation": 1, "integer": 2, "dimension": 0, "real": 0,
                  "string": len(bounds)}
        demand(wanted.get(kind) == len(bounds), f"'{kind}' is no range")
        demand(name not in self.parameters and name not in self.groups, f"'{name}' is taken")
        self.parameters[name] = (kind, bounds)

    def condition(self, p):
        if p.peek()[1] in PREDICATES and p.peek(1) == ("sign", "("):
            name = p.take()
            p.take()
            arguments = p.expressions(")")
            demand(len(arguments) == PREDICATES[name][0], f"'{name}' takes other arguments")
            return (name, arguments)
        left = p.sum()
        sign = p.take("sign")
        demand(sign in ("==", "!=", "<=", "<"), f"'{sign}' is no comparison")
        return (sign, [left, p.sum()])

    def outputs(self, p):
        result = [self.term(p)]
        while p.accept("&"):
            result.append(self.term(p))
        return result

    def node(self, *node):
        if node not in self.nodes:
            self.nodes.append(node)
        return self.nodes.index(node)

    def term(self, p):
        name = p.take("name")
        if p.peek() in (("sign", "{"), ("sign", "(")):
            term = self.operation(p, name)
        elif name in [one[0] for one in self.inputs]:
            return (self.node(None, [one[0] for one in self.inputs].index(name), ()), 0)
        else:
            demand(name in self.lets, f"'{name}' is neither an input nor a let name")
            term = self.lets[name]
        if p.accept("#"):
            demand(term[1] == 0, "an output of an output")
            output = int(p.take("integer"))
            op = self.nodes[term[0]][0]
            demand(op is not None, "an input has one output")
            if op == "Split":
                demand(output < self.counts[term[0]], f"Split has no output {output}")
            else:
                demand(output < OPERATORS[op].outputs, f"{op} has no output {output}")
                self.counts[term[0]] = max(self.counts[term[0]], output + 1)
            term = (term[0], output)
        return term

    def operation(self, p, op):
        demand(op in OPERATORS, f"operator '{op}' is not known to this checker")
        attributes = {}
        if p.accept("{") and not p.accept("}"):
            while True:
                name = p.take("name")
                p.expect("=")
                demand(name in OPERATORS[op].attributes, f"{op} has no attribute '{name}'")
                demand(name not in attributes, f"'{name}' is written twice")
                attributes[name] = p.sum()
                if p.accept("}"):
                    break
                p.expect(",")
        p.expect("(")
        operands = []
        if not p.accept(")"):
            while True:
                if p.peek() == ("name", "_"):
                    p.take()
                    operands.append(None)
                else:
                    operands.append(self.term(p))
                if p.accept(")"):
                    break
                p.expect(",")
        while operands and operands[-1] is None:
            operands.pop()
        least, most = OPERATORS[op].operands
        demand(least <= len(operands) <= most, f"{op} cannot have {len(operands)} operands")
        for name, (_, default) in OPERATORS[op].attributes.items():
            demand(default != REQUIRED or name in attributes, f"{op} needs '{name}'")
        number_of = self.node(op, tuple(sorted(attributes.items())), tuple(operands))
        listed = attributes.get("split", ("",)) if op == "Split" else ("",)
        is_list = listed[0] == "list" and all(one[0] != "splice" for one in listed[1:])
        self.counts.setdefault(number_of, len(listed) - 1 if is_list and len(listed) > 1 else 1)
        return (number_of, 0)

    # What it says.

    def dimension_names(self):
        names = set()
        for _, _, shape, _ in self.inputs:
            for size in shape:
                names |= {name for what, name in names_in(size) if what == "variable"}
        return sorted(names - set(self.groups) - set(self.parameters))

    def variables(self):
        return [*self.groups, *self.parameters, *self.dimension_names()]

    def check(self):
        known = set(self.variables())
        used = [e for _, attributes, _ in self.nodes if isinstance(attributes, tuple)
                for _, e in attributes]
        used += [e for _, arguments in self.conditions for e in arguments]
        used += [e for kind, bounds in self.parameters.values() if kind != "string" for e in bounds]
        for expression in used:
            for what, name in names_in(expression):
                demand(name in (self.groups if what == "splice" else known), f"'{name}' is unknown")

    def below(self, roots):
        """Numbers of the nodes that the roots need, operands first."""
        order, stack = [], [(root[0], False) for root in reversed(roots)]
        seen = set()
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack += [(one[0], False) for one in reversed(self.nodes[node][2]) if one]
        return order

    def text(self):
        """The canonical text."""
        lines = [f"{'axiom' if self.is_axiom else 'rule'} {self.name}"]
        for name, kind, shape, weight in self.inputs:
            sizes = ", ".join(text_of(one) for one in shape)
            lines.append(f"  {'weight ' if weight else ''}{name} : {kind or ''}[{sizes}]")
        lines += [f"  group {name} : {least}..{most}"
                  for name, (least, most) in self.groups.items() if (least, most) != (0, 3)]
        for name, (kind, bounds) in self.parameters.items():
            inside = ", ".join(one if kind == "string" else text_of(one) for one in bounds)
            closing = ")" if kind == "integer" else "]"
            lines.append(f"  param {name} : {kind}" + (f"[{inside}{closing}" if bounds else ""))
        written = []
        for kind, arguments in self.conditions:
            words = [text_of(one) for one in arguments]
            written.append(f"{kind}({', '.join(words)})" if kind in PREDICATES
                           else f"{words[0]} {kind} {words[1]}")
        if written:
            lines.append("  where " + ", ".join(written))
        return "\n".join(lines + self.equation_text()) + "\n"

    def equation_text(self):
        order = self.below(self.left + self.right)
        uses = dict.fromkeys(order, 0)
        for node in order:
            for operand in self.nodes[node][2]:
                if operand:
                    uses[operand[0]] += 1
        for term in self.left + self.right:
            uses[term[0]] += 1
        names, lines, last = {}, [], 0

        def write(term):
            if term is None:
                return "_"
            op, attributes, operands = self.nodes[term[0]]
            if op is None:
                return self.inputs[attributes][0]
            base = names.get(term[0])
            if base is None:
                inside = ", ".join(f"{name}={text_of(e)}" for name, e in attributes)
                base = op + (f"{{{inside}}}" if inside else "")
                base += "(" + ", ".join(write(one) for one in operands) + ")"
            return f"{base}#{term[1]}" if self.counts[term[0]] > 1 else base

        for node in order:
            if self.nodes[node][0] is None or uses[node] < 2:
                continue
            body = write((node, 0)).removesuffix("#0")
            last += 1
            while f"t{last}" in [one[0] for one in self.inputs]:
                last += 1
            names[node] = f"t{last}"
            lines.append(f"  let t{last} = {body}")
        sign = "=" if self.both else "=>"
        sides = [" & ".join(write(one) for one in side) for side in (self.left, self.right)]
        return [*lines, f"  {sides[0]} {sign} {sides[1]}"]


def parse_rules(text):
    rules, block = [], []
    for line in [*logical_lines(text), []]:
        if block and (not line or is_start(line)):
            rules.append(Rule(block))
            block = []
        if line:
            demand(block or is_start(line), "expected 'rule' or 'axiom'")
            block.append(line)
    return rules


# ---- Values of expressions ------------------------------------------------------------------------
# Sizes and integers are Size, real numbers float, lists tuples of Size, strings in their quotes.


def as_integer(value):
    demand(isinstance(value, Size) and value.is_constant(), "an integer is wanted")
    return value.constant()


def as_integers(value):
    demand(isinstance(value, tuple), "a list is wanted")
    return tuple(as_integer(one) for one in value)


def as_permutation(value):
    result = as_integers(value)
    demand(sorted(result) == list(range(len(result))), "a permutation is wanted")
    return result


def as_list(value):
    demand(isinstance(value, tuple) and all(isinstance(one, Size) for one in value), "no list")
    return value


def as_size(value):
    demand(isinstance(value, Size), "a size is wanted")
    return value


def as_real(value):
    if isinstance(value, Size) and value.is_constant():
        return float(value.constant())
    demand(isinstance(value, float), "a real number is wanted")
    return value


def counted(value, limit=1000):
    n = as_integer(value)
    demand(0 <= n <= limit, "no number of elements")
    return n


def index(value, length):
    n = as_integer(value)
    n += length if n < 0 else 0
    demand(0 <= n < length, "outside the list")
    return n


def integers(values):
    return tuple(number(one) for one in values)


def inverse(p):
    return tuple(p.index(i) for i in range(len(p)))


def swap_last_two(n):
    demand(n >= 2, "no two axes to swap")
    return (*range(n - 2), n - 1, n - 2)


def permuted(values, p):
    demand(len(values) == len(p), "list and permutation differ in length")
    return tuple(values[i] for i in p)


def index_of(values, value):
    demand(value in values, "not in the list")
    return number(values.index(value))


def prefix_sums(values):
    return tuple(itertools.accumulate((ZERO, *values[:-1]), add)) if values else ()


def elementwise(operation):
    def apply(a, b):
        if isinstance(a, Size):
            return operation(a, as_size(b))
        a, b = as_list(a), as_list(b)
        demand(len(a) == len(b), "the lists differ in length")
        return tuple(operation(x, y) for x, y in zip(a, b))
    return apply


def insert_axes(values, axes):
    rank, rest = len(values) + len(axes), list(values)
    demand(len(set(axes)) == len(axes) and all(0 <= a < rank for a in axes), "wrong axes")
    return tuple(ONE if i in axes else rest.pop(0) for i in range(rank))


def remove_axes(values, axes):
    demand(len(set(axes)) == len(axes) and all(0 <= a < len(values) for a in axes), "wrong axes")
    return tuple(value for i, value in enumerate(values) if i not in axes)


def divide(a, b):
    quotient = exact_quotient(as_size(a), as_size(b))
    demand(quotient is not None, "not divisible")
    return quotient


def real(operation):
    def apply(a, b):
        a, b = as_real(a), as_real(b)
        demand(operation is not REAL_DIVIDE or b != 0, "a division by zero")
        result = operation(a, b)
        demand(math.isfinite(result), "not finite")
        return result
    return apply


def REAL_DIVIDE(a, b):  # noqa: N802 - compared by identity above
    return a / b


def changed(values, i, *new):
    return (*values[:i], *new, *values[i + 1:])


FUNCTIONS = {
    "permute": (2, lambda l, p: permuted(as_list(l), as_permutation(p))),
    "compose": (2, lambda p, q: integers(permuted(as_permutation(p), as_permutation(q)))),
    "inverse": (1, lambda p: integers(inverse(as_permutation(p)))),
    "identity": (1, lambda n: integers(range(counted(n)))),
    "swap_last_two": (1, lambda n: integers(swap_last_two(counted(n)))),
    "len": (1, lambda l: number(len(as_list(l)))),
    "concat": (2, lambda a, b: as_list(a) + as_list(b)),
    "reverse": (1, lambda l: as_list(l)[::-1]),
    "take": (2, lambda l, n: as_list(l)[:counted(n, len(l))]),
    "drop": (2, lambda l, n: as_list(l)[counted(n, len(l)):]),
    "at": (2, lambda l, i: as_list(l)[index(i, len(l))]),
    "insert": (3, lambda l, i, v: (lambda k: l[:k] + (as_size(v),) + l[k:])(
        index(i, len(as_list(l)) + 1))),
    "remove": (2, lambda l, i: changed(as_list(l), index(i, len(l)))),
    "replace": (3, lambda l, i, v: changed(as_list(l), index(i, len(l)), as_size(v))),
    "repeat": (2, lambda v, n: (as_size(v),) * counted(n)),
    "range": (2, lambda a, b: integers(range(counted(a), counted(b)))),
    "index_of": (2, lambda l, v: index_of(as_list(l), as_size(v))),
    "sum": (1, lambda l: add(ZERO, ZERO) if not as_list(l) else list(
        itertools.accumulate(l, add))[-1]),
    "product": (1, lambda l: total(as_list(l))),
    "prefix_sums": (1, lambda l: prefix_sums(as_list(l))),
    "plus": (2, elementwise(add)),
    "minus": (2, elementwise(subtract)),
    "times": (2, elementwise(multiply)),
    "insert_axes": (2, lambda l, a: insert_axes(as_list(l), as_integers(a))),
    "remove_axes": (2, lambda l, a: remove_axes(as_list(l), as_integers(a))),
    "sort": (1, lambda l: integers(sorted(as_integers(l)))),
    "divide": (2, divide),
    "floordiv": (2, lambda a, b: floor_quotient(as_size(a), as_size(b))),
    "floormod": (2, lambda a, b: subtract(a, multiply(b, floor_quotient(as_size(a), as_size(b))))),
    "min": (2, lambda a, b: extremum("min", as_size(a), as_size(b))),
    "max": (2, lambda a, b: extremum("max", as_size(a), as_size(b))),
    "real_add": (2, real(lambda a, b: a + b)),
    "real_multiply": (2, real(lambda a, b: a * b)),
    "real_divide": (2, real(REAL_DIVIDE)),
    "real_max": (2, real(max)),
    "real_min": (2, real(min)),
}

PREDICATES = {
    "is_permutation": (1, lambda p: as_permutation(p) is not None),
    "is_identity": (1, lambda p: as_integers(p) == tuple(range(len(p)))),
    "swaps_last_two": (1, lambda p: as_integers(p) == swap_last_two(len(p))),
    "fixes_first": (2, lambda p, k: as_permutation(p)[:counted(k, len(p))] ==
                    tuple(range(as_integer(k)))),
    "fixes_last": (2, lambda p, k: as_permutation(p)[len(p) - counted(k, len(p)):] ==
                   tuple(range(len(p) - as_integer(k), len(p)))),
    "contains": (2, lambda l, v: as_size(v) in as_list(l)),
    "lacks": (2, lambda l, v: as_integer(v) not in as_integers(l)),
    "disjoint": (2, lambda a, b: not set(as_integers(a)) & set(as_integers(b))),
    "all_equal": (2, lambda l, v: all(one is as_size(v) for one in as_list(l))),
    "divides": (2, lambda a, b: exact_quotient(as_size(b), as_size(a)) is not None),
    "real_less_equal": (2, lambda a, b: as_real(a) <= as_real(b)),
}


def evaluate(e, values):
    kind = e[0]
    if kind == "literal":
        return number(e[1]) if isinstance(e[1], int) else e[1]
    if kind == "type":
        return e
    if kind == "variable":
        demand(e[1] in values, f"'{e[1]}' has no value")
        return values[e[1]]
    if kind == "list":
        result = []
        for part in e[1:]:
            if part[0] == "splice":
                demand(part[1] in values, f"'{part[1]}' has no value")
                result += as_list(values[part[1]])
            else:
                result.append(as_size(evaluate(part, values)))
        return tuple(result)
    if kind == "call":
        return FUNCTIONS[e[1]][1](*(evaluate(part, values) for part in e[2:]))
    demand(kind != "splice", "a group stands outside a list")
    a, b = evaluate(e[1], values), evaluate(e[2], values)
    if isinstance(a, Size) and isinstance(b, Size):
        return {"sum": add, "difference": subtract, "product": multiply}[kind](a, b)
    a, b = as_real(a), as_real(b)
    return a + b if kind == "sum" else a - b if kind == "difference" else a * b


def certainly_different(a, b):
    if isinstance(a, Size) and isinstance(b, Size):
        return at_least(a, add(b, ONE)) or at_least(b, add(a, ONE))
    if isinstance(a, tuple) and isinstance(b, tuple) and a[:1] != ("type",):
        return len(a) != len(b) or any(certainly_different(x, y) for x, y in zip(a, b))
    if isinstance(a, (float, Size)) and isinstance(b, (float, Size)):
        return as_real(a) != as_real(b)
    return type(a) is type(b) and a != b


def holds(condition, values):
    kind, arguments = condition
    try:
        a = [evaluate(one, values) for one in arguments]
        if kind in PREDICATES:
            return PREDICATES[kind][1](*a)
        if kind == "==":
            mixed = isinstance(a[0], float) or isinstance(a[1], float)
            return as_real(a[0]) == as_real(a[1]) if mixed else a[0] == a[1]
        if kind == "!=":
            return certainly_different(a[0], a[1])
        return at_least(as_size(a[1]), add(as_size(a[0]), ONE if kind == "<" else ZERO))
    except Refused:
        return False


def bound_value(rule, name, expression, values):
    """The value of a variable of `rule`, brought to the kind that it has."""
    value = evaluate(expression, values)
    if name in rule.groups:
        return as_list(value)
    kind = rule.parameters.get(name, ("dimension",))[0]
    if kind == "real":
        return as_real(value)
    if kind in ("permutation", "integer"):
        (as_integers if kind == "permutation" else as_integer)(value)
        return value
    if kind == "string":
        demand(isinstance(value, str), "a string is wanted")
        return value
    return as_list(value) if kind == "dimensions" else as_size(value)


def in_range(rule, name, values):
    kind, bounds = rule.parameters[name]
    value = values[name]
    if kind == "string":
        return value in bounds
    if kind == "real":
        return math.isfinite(value)
    limits = [as_size(evaluate(one, values)) for one in bounds]
    if kind == "dimension":
        return at_least(value, ZERO)
    if kind == "integer":
        return at_least(value, limits[0]) and at_least(limits[1], add(value, ONE))
    if number(len(value)) is not limits[0]:
        return False
    if kind == "dimensions":
        return all(at_least(one, ZERO) for one in value)
    return sorted(as_integers(value)) == list(range(len(value)))


def conditions_hold(rule, values):
    return (all(least <= len(values[name]) <= most for name, (least, most) in rule.groups.items())
            and all(in_range(rule, name, values) for name in rule.parameters)
            and all(holds(one, values) for one in rule.conditions))


# ---- Operators: attributes and shapes -------------------------------------------------------------

REQUIRED, OPTIONAL = "required", "optional"
ANY, NUMERIC, REAL = "any", "numeric", "real"


class Operator:
    def __init__(self, operands, attributes, infer, outputs=1):
        self.operands, self.attributes = operands, attributes
        self.infer, self.outputs = infer, outputs


class Conditions(list):
    """Differences of sizes that shape rules take to be 0 at run time."""

    def equal(self, a, b):
        if a is not b:
            self.append(subtract(a, b))


def one_type(operands, kinds=ANY):
    first = operands[0][0]
    for operand in operands:
        demand(operand is None or operand[0] == first, "operands of different element types")
    demand(kinds == ANY or first in REAL_TYPES or (kinds == NUMERIC and first in INTEGER_TYPES),
           f"operands of type {first}")
    return first


def broadcast(shapes, conditions):
    rank = max((len(one) for one in shapes), default=0)
    result = []
    for from_end in range(rank, 0, -1):
        sizes = [one[-from_end] for one in shapes if len(one) >= from_end]
        others = [one for one in sizes if one is not ONE]
        fixed = {one for one in others if one.is_constant()}
        symbolic = {one for one in others if not one.is_constant()}
        demand(len(fixed) <= 1 and len(symbolic) <= 1, "shapes that cannot be broadcast")
        for one in symbolic:
            for other in fixed:
                conditions.equal(one, other)
        result.append(next(iter(fixed or symbolic), ONE))
    return tuple(result)


def agree(a, b, conditions):
    """The common size of two axes that have to be equal."""
    if a is b:
        return a
    demand(a.is_constant() != b.is_constant(), "sizes that differ")
    conditions.equal(a, b)
    return a if a.is_constant() else b


def elementwise_rule(kinds):
    def infer(operands, _, __, conditions):
        kind = one_type(operands, kinds)
        return [(kind, broadcast([one[1] for one in operands if one], conditions))]
    return infer


def axis_of(value, rank):
    demand(-rank <= value < rank, "an axis out of range")
    return value + rank if value < 0 else value


def axes_of(values, rank):
    result = tuple(sorted(axis_of(one, rank) for one in values))
    demand(len(set(result)) == len(result), "an axis is named twice")
    return result


def infer_transpose(operands, attributes, *_):
    (kind, shape), = operands
    p = attributes.setdefault("perm", tuple(reversed(range(len(shape)))))
    demand(sorted(p) == list(range(len(shape))), "no permutation of the axes")
    return [(kind, tuple(shape[i] for i in p))]


def infer_reshape(operands, attributes, _, conditions):
    (kind, shape), = operands
    target = list(attributes["shape"])
    if number(-1) in target:
        demand(target.count(number(-1)) == 1, "two sizes are left open")
        others = total(one for one in target if one is not number(-1))
        target[target.index(number(-1))] = floor_quotient(total(shape), others)
        attributes["shape"] = tuple(target)
    difference = subtract(total(target), total(shape))
    demand(difference is ZERO or not difference.is_constant(), "another number of elements")
    conditions.equal(total(target), total(shape))
    return [(kind, tuple(target))]


def infer_flatten(operands, attributes, *_):
    (kind, shape), = operands
    axis = attributes["axis"]
    demand(-len(shape) <= axis <= len(shape), "an axis out of range")
    axis = attributes["axis"] = axis + len(shape) if axis < 0 else axis
    return [(kind, (total(shape[:axis]), total(shape[axis:])))]


def infer_squeeze(operands, attributes, _, conditions):
    (kind, shape), = operands
    if "axes" not in attributes:
        demand(all(one.is_constant() for one in shape), "which sizes are 1 is not known")
        attributes["axes"] = tuple(i for i, one in enumerate(shape) if one is ONE)
    axes = attributes["axes"] = axes_of(attributes["axes"], len(shape))
    for axis in axes:
        demand(shape[axis] is ONE or not shape[axis].is_constant(), "an axis is not of size 1")
        conditions.equal(shape[axis], ONE)
    return [(kind, tuple(one for i, one in enumerate(shape) if i not in axes))]


def infer_unsqueeze(operands, attributes, *_):
    (kind, shape), = operands
    axes = attributes["axes"]
    axes = attributes["axes"] = axes_of(axes, len(shape) + len(axes))
    return [(kind, insert_axes(shape, axes))]


def infer_expand(operands, attributes, _, conditions):
    (kind, shape), = operands
    attributes["shape"] = broadcast([shape, attributes["shape"]], conditions)
    return [(kind, attributes["shape"])]


def infer_concat(operands, attributes, _, conditions):
    demand(all(operands), "an operand is missing")
    kind = one_type(operands)
    axis = attributes["axis"] = axis_of(attributes["axis"], len(operands[0][1]))
    result = list(operands[0][1])
    for _, shape in operands[1:]:
        demand(len(shape) == len(result), "operands of different ranks")
        for i, size in enumerate(shape):
            result[i] = add(result[i], size) if i == axis else agree(result[i], size, conditions)
    return [(kind, tuple(result))]


def infer_split(operands, attributes, count, conditions):
    (kind, shape), = operands
    axis = attributes["axis"] = axis_of(attributes["axis"], len(shape))
    if "split" not in attributes:
        part = floor_quotient(add(shape[axis], number(count - 1)), number(count))
        last = subtract(shape[axis], multiply(part, number(count - 1)))
        attributes["split"] = (part,) * (count - 1) + (last,)
    parts = attributes["split"]
    demand(len(parts) == count, "another number of parts")
    demand(all(not one.is_constant() or one.constant() >= 0 for one in parts), "a negative part")
    agree(FUNCTIONS["sum"][1](parts), shape[axis], conditions)
    return [(kind, changed(shape, axis, one)) for one in parts]


def infer_slice(operands, attributes, *_):
    (kind, shape), = operands
    starts, ends = attributes["starts"], attributes["ends"]
    axes = attributes.get("axes", tuple(range(len(starts))))
    steps = attributes.get("steps", (1,) * len(starts))
    demand(len(starts) == len(ends) == len(axes) == len(steps) <= len(shape), "lists that differ")
    demand(all(one > 0 for one in steps), "this checker knows slices with positive steps only")
    axes = tuple(axis_of(one, len(shape)) for one in axes)
    demand(len(set(axes)) == len(axes), "an axis is named twice")
    cuts = []
    for axis, start, end, step in sorted(zip(axes, starts, ends, steps), key=lambda one: one[0]):
        size = shape[axis]
        first, past = (clamped(one, size) for one in (start, end))
        length = floor_quotient(add(subtract(past, first), number(step - 1)), number(step))
        whole = first is ZERO and past is size and step == 1
        shape = changed(shape, axis, size if whole else extremum("max", ZERO, length))
        cuts.append((first, past, axis, step))
    for i, name in enumerate(("starts", "ends", "axes", "steps")):
        attributes[name] = tuple(cut[i] for cut in cuts)
    return [(kind, shape)]


def clamped(position, size):
    """Where a slice begins or ends: counted from the end if negative, and inside the axis."""
    value = position.constant()
    if value is not None and value >= 2**31 - 1:
        return size
    if value is not None and value < 0:
        position = add(position, size)
    elif value is None and position is not size and not at_least(position, ZERO):
        demand(at_least(number(-1), position), "a slice from where is not known")
        position = add(position, size)
    return size if position is size else extremum("max", ZERO, extremum("min", position, size))


def infer_pad(operands, attributes, *_):
    (kind, shape), = operands
    demand(attributes["mode"] == '"constant"', "this checker knows padding with a value only")
    pads, rank = attributes["pads"], len(shape)
    axes = attributes.pop("axes", tuple(range(rank)))
    demand(len(pads) == 2 * len(axes), "another number of pads")
    axes = [axis_of(one, rank) for one in axes]
    demand(len(set(axes)) == len(axes), "an axis is named twice")
    full = [ZERO] * (2 * rank)
    for i, axis in enumerate(axes):
        full[axis], full[rank + axis] = pads[i], pads[len(axes) + i]
    attributes["pads"] = tuple(full)
    return [(kind, tuple(add(add(full[i], size), full[rank + i]) for i, size in enumerate(shape)))]


def infer_constant(_, attributes, *__):
    kind = attributes["data_type"]
    demand(kind in REAL_TYPES or attributes["value"] == int(attributes["value"]), "no integer")
    return [(kind, attributes["shape"])]


def infer_matmul(operands, _, __, conditions):
    kind = one_type(operands, NUMERIC)
    left, right = (one[1] for one in operands)
    demand(left and right, "a scalar has no rows")
    vectors = len(left) == 1, len(right) == 1
    left = (ONE, *left) if vectors[0] else left
    right = (*right, ONE) if vectors[1] else right
    demand(left[-1] is right[-2], "inner sizes that differ")
    shape = broadcast([left[:-2], right[:-2]], conditions)
    shape += () if vectors[0] else (left[-2],)
    return [(kind, shape + (() if vectors[1] else (right[-1],)))]


def infer_gemm(operands, attributes, _, conditions):
    kind = one_type(operands, NUMERIC)
    left, right = operands[0][1], operands[1][1]
    demand(len(left) == len(right) == 2, "no matrices")
    left = left[::-1] if attributes["transA"] else left
    right = right[::-1] if attributes["transB"] else right
    demand(left[1] is right[0], "inner sizes that differ")
    shape = (left[0], right[1])
    if len(operands) == 3:
        demand(broadcast([shape, operands[2][1]], conditions) == shape, "an addend too large")
    return [(kind, shape)]


def window(attributes, spatial):
    for name, count, default in (("strides", spatial, 1), ("dilations", spatial, 1),
                                 ("pads", 2 * spatial, 0)):
        values = attributes.setdefault(name, (number(default),) * count)
        demand(len(values) == count, f"another number of {name}")
        for one in values if name != "pads" else ():
            demand(not one.is_constant() or one.constant() > 0, f"{name} that are not positive")


def window_counts(shape, kernel, attributes):
    result = []
    for i, size in enumerate(shape[2:]):
        span = add(multiply(attributes["dilations"][i], subtract(kernel[i], ONE)), ONE)
        padded = add(add(size, attributes["pads"][i]), attributes["pads"][len(kernel) + i])
        room = subtract(padded, span)
        demand(not room.is_constant() or room.constant() >= 0, "a window larger than the input")
        result.append(add(floor_quotient(room, attributes["strides"][i]), ONE))
    return tuple(result)


def infer_conv(operands, attributes, _, conditions):
    kind = one_type(operands, REAL)
    data, weight, group = operands[0][1], operands[1][1], attributes["group"]
    demand(len(data) >= 3 and len(weight) == len(data), "no images, or another kernel")
    window(attributes, len(data) - 2)
    demand(not group.is_constant() or group.constant() >= 1, "group is not positive")
    if len(operands) == 3:
        demand(len(operands[2][1]) == 1, "a bias is a vector")
        agree(operands[2][1][0], weight[0], conditions)
    rest = subtract(weight[0], multiply(group, floor_quotient(weight[0], group)))
    demand(rest is ZERO or not rest.is_constant(), "channels that are not divided by the groups")
    conditions.equal(rest, ZERO)
    agree(data[1], multiply(weight[1], group), conditions)
    return [(kind, (data[0], weight[0], *window_counts(data, weight[2:], attributes)))]


def infer_max_pool(operands, attributes, count, _):
    kind = one_type(operands, NUMERIC)
    shape, kernel = operands[0][1], attributes["kernel_shape"]
    demand(len(shape) >= 3 and len(kernel) == len(shape) - 2, "another number of axes")
    demand(all(not one.is_constant() or one.constant() > 0 for one in kernel), "an empty window")
    demand(attributes["ceil_mode"] == 0, "this checker knows pools that round down only")
    window(attributes, len(kernel))
    shape = (*shape[:2], *window_counts(shape, kernel, attributes))
    return [(kind, shape), ("i64", shape)][:count]


def infer_batch_normalization(operands, _, __, conditions):
    kind = one_type(operands, REAL)
    shape = operands[0][1]
    demand(len(shape) >= 2, "no channels")
    for operand in operands[1:]:
        demand(len(operand[1]) == 1 and operand[1][0] is shape[1], "another number of channels")
    return [(kind, shape)]


def infer_dropout(operands, _, count, __):
    kind = one_type(operands, REAL)
    return [(kind, operands[0][1]), ("bool", operands[0][1])][:count]


def infer_reduction(operands, attributes, *_):
    kind = one_type(operands, NUMERIC)
    shape = operands[0][1]
    axes = attributes["axes"] = axes_of(attributes.get("axes", range(len(shape))), len(shape))
    if attributes["keepdims"]:
        return [(kind, tuple(ONE if i in axes else one for i, one in enumerate(shape)))]
    return [(kind, tuple(one for i, one in enumerate(shape) if i not in axes))]


def infer_along_axis(operands, attributes, *_):
    attributes["axis"] = axis_of(attributes["axis"], len(operands[0][1]))
    return [(one_type(operands, REAL), operands[0][1])]


WINDOW = {"strides": ("sizes", OPTIONAL), "pads": ("sizes", OPTIONAL),
          "dilations": ("sizes", OPTIONAL)}
OPERATORS = {
    "BatchNormalization": Operator((5, 5), {"epsilon": ("real", 9.999999747378752e-06)},
                                   infer_batch_normalization),
    "Cast": Operator((1, 1), {"to": ("type", REQUIRED)},
                     lambda operands, attributes, *_: [(attributes["to"], operands[0][1])]),
    "Clip": Operator((1, 1), {"max": ("real", math.inf), "min": ("real", -math.inf)},
                     elementwise_rule(NUMERIC)),
    "Concat": Operator((1, 1000), {"axis": ("integer", REQUIRED)}, infer_concat),
    "ConstantOfShape": Operator((0, 0), {"data_type": ("type", "f32"), "value": ("real", 0.0),
                                         "shape": ("sizes", REQUIRED)}, infer_constant),
    "Conv": Operator((2, 3), {**WINDOW, "group": ("size", ONE)}, infer_conv),
    "Dropout": Operator((1, 1), {}, infer_dropout, 2),
    "Expand": Operator((1, 1), {"shape": ("sizes", REQUIRED)}, infer_expand),
    "Flatten": Operator((1, 1), {"axis": ("integer", 1)}, infer_flatten),
    "Gemm": Operator((2, 3), {"alpha": ("real", 1.0), "beta": ("real", 1.0),
                              "transA": ("integer", 0), "transB": ("integer", 0)}, infer_gemm),
    "MatMul": Operator((2, 2), {}, infer_matmul),
    "MaxPool": Operator((1, 1), {**WINDOW, "kernel_shape": ("sizes", REQUIRED),
                                 "ceil_mode": ("integer", 0), "storage_order": ("integer", 0)},
                        infer_max_pool, 2),
    "Pad": Operator((1, 1), {"pads": ("sizes", REQUIRED), "mode": ("string", '"constant"'),
                             "value": ("real", 0.0), "axes": ("integers", OPTIONAL)}, infer_pad),
    "Reshape": Operator((1, 1), {"shape": ("sizes", REQUIRED)}, infer_reshape),
    "Slice": Operator((1, 1), {"starts": ("sizes", REQUIRED), "ends": ("sizes", REQUIRED),
                               "axes": ("integers", OPTIONAL), "steps": ("integers", OPTIONAL)},
                      infer_slice),
    "Split": Operator((1, 1), {"axis": ("integer", 0), "split": ("sizes", OPTIONAL)},
                      infer_split, 1000),
    "Squeeze": Operator((1, 1), {"axes": ("integers", OPTIONAL)}, infer_squeeze),
    "Transpose": Operator((1, 1), {"perm": ("integers", OPTIONAL)}, infer_transpose),
    "Unsqueeze": Operator((1, 1), {"axes": ("integers", REQUIRED)}, infer_unsqueeze),
}
for _name in ("Abs", "Neg", "Relu"):
    OPERATORS[_name] = Operator((1, 1), {}, elementwise_rule(NUMERIC))
for _name in ("Cos", "Erf", "Exp", "Log", "Reciprocal", "Sigmoid", "Sin", "Sqrt", "Tanh"):
    OPERATORS[_name] = Operator((1, 1), {}, elementwise_rule(REAL))
for _name in ("Add", "Div", "Mul", "Sub"):
    OPERATORS[_name] = Operator((2, 2), {}, elementwise_rule(NUMERIC))
for _name in ("Max", "Min"):
    OPERATORS[_name] = Operator((1, 1000), {}, elementwise_rule(NUMERIC))
for _name in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"):
    OPERATORS[_name] = Operator((1, 1), {"axes": ("integers", OPTIONAL), "keepdims": ("integer", 1)},
                                infer_reduction)
for _name in ("Softmax", "LogSoftmax"):
    OPERATORS[_name] = Operator((1, 1), {"axis": ("integer", -1)}, infer_along_axis)
OPERATORS["Identity"] = Operator((1, 1), {}, elementwise_rule(ANY))
ELEMENTWISE_BROADCAST = ("Add", "Div", "Mul", "Sub", "Max", "Min")


def attribute_value(kind, value):
    if kind == "type":
        demand(isinstance(value, tuple) and value[0] == "type", "a data type is wanted")
        return value[1]
    if kind == "string":
        demand(isinstance(value, str), "a string is wanted")
        return value
    return {"integer": as_integer, "integers": as_integers, "size": as_size, "sizes": as_list,
            "real": as_real}[kind](value)


# ---- Terms of one case ----------------------------------------------------------------------------


class Terms:
    """Equal applications of operators are one node; a value is (node, output)."""

    def __init__(self):
        self.table, self.nodes = {}, []  # nodes: (operator, attributes, operands, types, conditions)

    def input(self, number_of, kind, shape):
        for size in shape:
            demand(not size.is_constant() or size.constant() >= 0, "a negative size")
        self.nodes.append((None, number_of, (), [(kind, shape)], ()))
        return (len(self.nodes) - 1, 0)

    def type(self, value):
        return self.nodes[value[0]][3][value[1]]

    def apply(self, op, attributes, operands, count):
        """`attributes` may be written or complete ones."""
        conditions = Conditions()
        complete = dict(attributes)
        for name, (_, default) in OPERATORS[op].attributes.items():
            if name not in complete and default not in (REQUIRED, OPTIONAL):
                complete[name] = default
        for position, operand in enumerate(operands):
            demand(operand is not None or position >= OPERATORS[op].operands[0], "none is given")
        kinds = [None if one is None else self.type(one) for one in operands]
        types = OPERATORS[op].infer(kinds, complete, count, conditions)
        demand(len(types) == count, "another number of outputs")
        for _, shape in types:
            demand(all(not one.is_constant() or one.constant() >= 0 for one in shape),
                   "a negative size")
        items = tuple(sorted((name, repr(value) if isinstance(value, float) else value)
                             for name, value in complete.items()))
        key = (op, items, operands, count)
        if key not in self.table:
            self.table[key] = len(self.nodes)
            self.nodes.append((op, complete, operands, types, tuple(conditions)))
        return self.table[key]

    def build(self, rule, roots, inputs, values):
        made = {}
        for number_of in rule.below(roots):
            op, attributes, operands = rule.nodes[number_of]
            if op is None:
                made[number_of] = inputs[attributes]
                continue
            known = {name: attribute_value(OPERATORS[op].attributes[name][0], evaluate(e, values))
                     for name, e in attributes}
            below = tuple(None if one is None else self.output(made, one) for one in operands)
            made[number_of] = (self.apply(op, known, below, rule.counts[number_of]), 0)
        return [self.output(made, one) for one in roots]

    @staticmethod
    def output(made, term):
        node, output = made[term[0]]
        return (node, output + term[1])

    def conditions_below(self, roots):
        seen, stack, result = set(), [root[0] for root in roots], []
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            result += self.nodes[node][4]
            stack += [one[0] for one in self.nodes[node][2] if one]
        return result

    def at(self, values, position):
        demand(position[0] < len(values), "there is no such output")
        way = [values[position[0]]]
        for operand in position[1:]:
            operands = self.nodes[way[-1][0]][2]
            demand(operand < len(operands) and operands[operand], "there is no such position")
            way.append(operands[operand])
        return way

    def replaced(self, values, position, new):
        way = self.at(values, position)
        for value, operand in zip(reversed(way[:-1]), reversed(position[1:])):
            op, attributes, operands, types, _ = self.nodes[value[0]]
            operands = changed(operands, operand, new)
            new = (self.apply(op, attributes, operands, len(types)), value[1])
        return changed(tuple(values), position[0], new)


def follows(difference, accepted):
    terms = [ZERO, *accepted, *(subtract(ZERO, one) for one in accepted)]
    return any(difference is add(a, b) for a in terms for b in terms)


def input_types(rule, values, real_type):
    return [(kind or real_type, tuple(as_list(evaluate(("list", *shape), values))))
            for _, kind, shape, _ in rule.inputs]


class Case:
    """Both sides of a rule over symbols, and the terms that steps make."""

    def __init__(self, rule, values, real_type):
        self.rule, self.values, self.terms = rule, values, Terms()
        self.inputs = [self.terms.input(i, kind, shape)
                       for i, (kind, shape) in enumerate(input_types(rule, values, real_type))]
        self.left = self.terms.build(rule, rule.left, self.inputs, values)
        self.right = self.terms.build(rule, rule.right, self.inputs, values)
        for a, b in zip(self.left, self.right):
            demand(self.terms.type(a) == self.terms.type(b), "the sides have different types")
        self.accepted = self.terms.conditions_below(self.left)
        beyond = self.terms.conditions_below(self.right)
        self.demand_follow(beyond, self.accepted)
        if rule.both:
            self.demand_follow(self.accepted, beyond)
        self.state = tuple(self.left)

    @staticmethod
    def demand_follow(wanted, accepted):
        for one in wanted:
            demand(follows(one, accepted), f"defined only where {one} = 0")

    def apply(self, step):
        axiom, before = step.axiom, len(self.terms.nodes)
        found = self.terms.at(self.state, step.position)[-1]
        inputs = [self.terms.at(self.state, one)[-1] if isinstance(one, tuple) and one[0] != "term"
                  else self.terms.build(self.rule, [one[1]], self.inputs, self.values)[0]
                  for one in step.inputs]
        values = {name: bound_value(axiom, name, e, self.values) for name, e in step.variables}
        self.check_guards(axiom, inputs, values)
        left = self.terms.build(axiom, axiom.left, inputs, values)
        right = self.terms.build(axiom, axiom.right, inputs, values)
        for a, b in zip(left, right):
            demand(self.terms.type(a) == self.terms.type(b), "the axiom's sides have two types")
        source, target = (right, left) if step.backward else (left, right)
        demand(found == source[step.output], "the axiom's side is not what stands there")
        demand(target[step.output] != found, "the step changes nothing")
        self.state = self.terms.replaced(self.state, step.position, target[step.output])
        for node in self.terms.nodes[before:]:
            self.demand_follow(node[4], self.accepted)

    def check_guards(self, axiom, inputs, values):
        shared = None
        for value, (name, written, _, _) in zip(inputs, axiom.inputs):
            kind = self.terms.type(value)[0]
            if written is None:
                shared = shared or kind
            demand(kind == written if written else kind in REAL_TYPES and kind == shared,
                   f"'{name}' is of type {kind}")
        alone = {e[1] for _, _, shape, _ in axiom.inputs for e in shape if e[0] == "variable"}
        for name in axiom.dimension_names():
            demand(name in alone or at_least(values[name], ZERO), f"'{name}' may be negative")
        shapes = [shape for _, shape in input_types(axiom, values, "f32")]
        for value, shape in zip(inputs, shapes):
            demand(self.terms.type(value)[1] == shape, "an input has another shape")
        demand(conditions_hold(axiom, values), "the conditions of the axiom do not hold")


# ---- The cases that a proof must have -------------------------------------------------------------


class Backward:
    """The claim of `=` read from right to left."""

    def __init__(self, rule):
        self.rule, self.left, self.right = rule, rule.right, rule.left

    def __getattr__(self, name):
        return getattr(self.rule, name)


def symbols(name, count):
    return tuple(symbol(f"{name}.{i}") for i in range(count))


def parameter_values(rule, name, values):
    kind, bounds = rule.parameters[name]
    if kind == "string":
        return bounds
    if kind == "real":
        return REALS
    if kind == "dimension":
        return [symbol(name)]
    limits = [as_integer(evaluate(one, values)) for one in bounds]
    if kind == "dimensions":
        return [symbols(name, limits[0])]
    if kind == "integer":
        return [number(one) for one in range(*limits)]
    demand(limits[0] <= 6, "too many permutations")
    return [integers(one) for one in itertools.permutations(range(limits[0]))]


def is_open(expression, values):
    try:
        value = evaluate(expression, values)
    except Refused:
        return False
    sizes = value if isinstance(value, tuple) else (value,)
    return any(isinstance(one, Size) and not one.is_constant() for one in sizes)


def is_excluded(rule, values):
    """Whether a condition, or the range of a group, is false whatever the sizes are."""
    if not all(least <= len(values[name]) <= most for name, (least, most) in rule.groups.items()):
        return True
    if not all(in_range(rule, name, values) for name in rule.parameters):
        return True
    return any(not holds(one, values) and not any(is_open(e, values) for e in one[1])
               for one in rule.conditions)


def choices(rule, groups):
    start = {**groups, **{name: symbol(name) for name in rule.dimension_names()}}
    found = [start]
    for name in rule.parameters:
        found = [{**before, name: value} for before in found
                 for value in parameter_values(rule, name, before)]
    return [one for one in found if not is_excluded(rule, one)]


def is_well_typed(rule, values):
    try:
        terms = Terms()
        inputs = [terms.input(i, kind, shape)
                  for i, (kind, shape) in enumerate(input_types(rule, values, "f32"))]
        terms.build(rule, rule.left, inputs, values)
    except Refused:
        return False
    return True


def aligned_groups(rule):
    """Classes of groups that are aligned at their ends, as the left side broadcasts them: numbered
    by the first group of each."""
    classes = {name: i for i, name in enumerate(rule.groups)}
    for node in rule.below(rule.left):
        op, attributes, _ = rule.nodes[node]
        if op is None:
            continue
        fits = op in ("MatMul", "Expand") or OPERATORS[op].infer.__qualname__.startswith(
            "elementwise_rule")
        demand(fits, f"the left side is well typed for some sizes only, beyond broadcasting: {op}")
        below = set()
        for one in rule.below([(node, 0)]):
            kind, known, _ = rule.nodes[one]
            lists = [rule.inputs[known][2]] if kind is None else [e[1:] for _, e in known]
            below |= {e[1] for parts in lists for e in parts
                      if isinstance(e, tuple) and e[0] == "splice"}
        joined = {classes[group] for group in below}
        classes = {name: min(joined) if one in joined else one for name, one in classes.items()}
    after = {}
    for _, _, shape, _ in rule.inputs:
        for i, e in enumerate(shape):
            if e[0] == "splice":
                place = after.setdefault(classes[e[1]], len(shape) - 1 - i)
                demand(i == 0 and place == len(shape) - 1 - i, "groups that are not aligned")
    return classes


def broadcast_patterns(rule, ranks):
    classes = aligned_groups(rule)
    found = [{name: (None,) * rank for name, rank in ranks.items()}]
    for one in sorted(set(classes.values())):
        for from_end in range(1, max(ranks.values(), default=0) + 1):
            names = [name for name in sorted(ranks)
                     if classes[name] == one and ranks[name] >= from_end]
            size = symbol(f"axis{one}.{from_end}")
            following = []
            for before in found if names else ():
                for mask in range(1, 2 ** len(names)):
                    pattern = dict(before)
                    for i, name in enumerate(names):
                        pattern[name] = changed(pattern[name], ranks[name] - from_end,
                                                size if mask >> i & 1 else ONE)
                    following.append(pattern)
            found = following if names else found
    return found


def cases_of(rule):
    result = []
    ranges = [range(least, most + 1) for least, most in reversed(rule.groups.values())]
    for lengths in itertools.product(*ranges):
        ranks = dict(zip(rule.groups, reversed(lengths)))
        found = choices(rule, {name: symbols(name, rank) for name, rank in ranks.items()})
        if not all(is_well_typed(rule, one) for one in found):
            found = [one for groups in broadcast_patterns(rule, ranks)
                     for one in choices(rule, groups)]
            demand(all(is_well_typed(rule, one) for one in found), "the cases do not cover the rule")
        result += found
    demand(result, "no case meets the conditions")
    return result


def case_key(rule, values):
    """What tells a case from others: groups, and parameters that are no symbols."""
    shown = [name for name, (kind, _) in rule.parameters.items()
             if kind not in ("dimensions", "dimension")]
    return tuple((name, repr(values[name]) if isinstance(values[name], float) else values[name])
                 for name in [*rule.groups, *shown])


def required_cases(rule):
    result = {case_key(rule, one): one for one in cases_of(rule)}
    for one in cases_of(Backward(rule)) if rule.both else ():
        result.setdefault(case_key(rule, one), one)
    return list(result.items())


# ---- Certificates ---------------------------------------------------------------------------------


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
             if kind not in ("dimensions", "dimension")]
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


def check_certificate(text, axioms, axiom_texts, operator_texts):
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
    demand(lines.take("class ") in CLASSES, "no class of rounding")
    witness = lines.take("witness")
    used_axioms, chains = set(), []
    operators = {node[0] for node in rule.nodes if node[0]}
    for label in lines.all("chain "):
        demand(label == str(len(chains) + 1), f"chain '{label}' is out of order")
        chains.append([parse_step("  " + one, axioms, rule) for one in lines.all("  ")])
        demand(chains[-1], f"chain {label} has no steps")
        used_axioms |= {step.axiom.name for step in chains[-1]}
    operators |= {node[0] for node in rule.nodes if node[0]}
    for name in used_axioms:
        operators |= {node[0] for node in axioms[name].nodes if node[0]}
    check_digests("axiom", axiom_lines, used_axioms, axiom_texts)
    check_digests("operator", operator_lines, operators, operator_texts)
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
                try:
                    Case(rule, values, other)
                except Refused:
                    break
                replay(rule, values, chains[chain - 1], other)
        except Refused as reason:
            raise Refused(f"case {where}, chain {chain}: {reason}") from None
        steps += len(chains[chain - 1])
    return rule, len(given), steps


# ---- Files ----------------------------------------------------------------------------------------


def read_rules(folder, pattern):
    result = {}
    for file in sorted(pathlib.Path(folder).glob(pattern)):
        for rule in parse_rules(file.read_text(encoding="utf-8")):
            demand(rule.name not in result, f"two rules are named '{rule.name}'")
            result[rule.name] = rule
    demand(result, f"nothing to read in '{folder}'")
    return result


def read_operators(file):
    """The part of docs/operators.md about each operator."""
    parts = re.split(r"(?m)^(?=## )", pathlib.Path(file).read_text(encoding="utf-8"))
    return {part.split("\n", 1)[0][3:]: part.rstrip("\n") + "\n" for part in parts[1:]}


def certificate_files(names):
    for name in names:
        path = pathlib.Path(name)
        yield from sorted(path.glob("*.certificate")) if path.is_dir() else [path]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("certificates", nargs="+", help="files, or folders of *.certificate")
    parser.add_argument("--axioms", default=root / "rules" / "axioms")
    parser.add_argument("--operators", default=root / "docs" / "operators.md")
    parser.add_argument("--rules", help="also demand a certificate for each rule of *.rules there")
    arguments = parser.parse_args()
    try:
        axioms = read_rules(arguments.axioms, "*.axioms")
        operators = read_operators(arguments.operators)
        files = list(certificate_files(arguments.certificates))
        demand(files, "no certificates")
        texts = {file: file.read_text(encoding="utf-8") for file in files}
        demand(all(one.is_axiom for one in axioms.values()), "a rule stands among the axioms")
    except (OSError, Refused) as problem:
        print(f"lemma_check.py: {problem}", file=sys.stderr)
        return 2
    axiom_texts = {name: axiom.text() for name, axiom in axioms.items()}
    proved, cases, steps, failed = {}, 0, 0, 0
    for file, text in texts.items():
        try:
            rule, more_cases, more_steps = check_certificate(text, axioms, axiom_texts, operators)
        except (Refused, RecursionError, ValueError) as reason:
            print(f"lemma_check.py: {file}: {reason}", file=sys.stderr)
            failed += 1
            continue
        proved[rule.name], cases, steps = rule.text(), cases + more_cases, steps + more_steps
    for name, rule in read_rules(arguments.rules, "*.rules").items() if arguments.rules else ():
        if proved.get(name) != rule.text():
            print(f"lemma_check.py: {name}: no certificate that holds", file=sys.stderr)
            failed += 1
    print(f"{len(proved)} certificates hold: {cases} cases, {steps} steps; {failed} fail")
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
