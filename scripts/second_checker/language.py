"""Rules and axioms: reading them, and their canonical text.

Expressions are tuples: (literal, value), (variable, name), (splice, name), (sum, a, b),
(difference, a, b), (product, a, b), (list, ...), (call, name, ...)."""

import re

from second_checker.sizes import demand
from second_checker.values import FUNCTIONS, PREDICATES
from second_checker.operators import DATA_TYPES, OPERATORS, REQUIRED

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
        wanted = {"dimensions": 1, "permutation": 1, "integer": 2, "dimension": 0, "real": 0, "type": 0,
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
