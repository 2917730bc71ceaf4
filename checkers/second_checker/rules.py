"""Rules and axioms: reading them, and their canonical text (the top of rule_language/substitution.h;
docs/certificates.md, "Canonical text")."""

import collections

from second_checker.sizes import demand
from second_checker.values import DATA_TYPES, PREDICATES
from second_checker.language import (
    logical_lines, is_start, names_in, Parser, text_of, tokens_of)
from second_checker.operators import OPERATORS, REQUIRED

Input = collections.namedtuple("Input", "name kind shape weight defined")  # kind: a type or None
USUAL_DIVISORS = 8  # that a free parameter takes where the rule does not say how many
RANGES = {"dimensions": 1, "permutation": 1, "integer": 2, "dimension": 0, "real": 0, "type": 0}


class Table:
    """Terms over inputs. Nodes are (operator, attributes, operands); an input is a node (None, its
    number, ()). A term is (number of a node, output); operands come before users."""

    def __init__(self, input_names):
        self.input_names = input_names
        self.nodes, self.counts, self.numbers, self.lets = [], {}, {}, {}
        self.orders = {}  # what below() has found: nodes do not change once they are there

    def node(self, op, attributes, operands):
        written = attributes if op is None else tuple((n, text_of(e)) for n, e in attributes)
        key = (op, written, operands)
        if key not in self.numbers:
            self.numbers[key] = len(self.nodes)
            self.nodes.append((op, attributes, operands))
        return self.numbers[key]

    def term(self, p):
        name = p.take("name")
        if p.peek() in (("sign", "{"), ("sign", "(")):
            term = self.operation(p, name)
        elif name in self.input_names:
            term = (self.node(None, self.input_names.index(name), ()), 0)
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

    def attributes(self, p, op):
        found = {}
        if p.accept("{") and not p.accept("}"):
            while True:
                name = p.take("name")
                p.expect("=")
                demand(name in OPERATORS[op].attributes, f"{op} has no attribute '{name}'")
                demand(name not in found, f"'{name}' is written twice")
                found[name] = p.sum()
                if p.accept("}"):
                    break
                p.expect(",")
        for name, (_, default) in OPERATORS[op].attributes.items():
            demand(default != REQUIRED or name in found, f"{op} needs '{name}'")
        return found

    def operation(self, p, op):
        demand(op in OPERATORS, f"operator '{op}' is not known to this checker")
        attributes = self.attributes(p, op)
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
        number_of = self.node(op, tuple(sorted(attributes.items())), tuple(operands))
        listed = attributes.get("split", ("",)) if op == "Split" else ("",)
        is_list = listed[0] == "list" and all(one[0] != "splice" for one in listed[1:])
        fewest = OPERATORS[op].least_outputs
        self.counts.setdefault(number_of, len(listed) - 1 if is_list and len(listed) > 1 else fewest)
        return (number_of, 0)

    def below(self, roots):
        """Numbers of the nodes that the roots need, operands first."""
        key = tuple(root[0] for root in roots)
        if key not in self.orders:
            self.orders[key] = self.operands_first(key)
        return self.orders[key]

    def operands_first(self, roots):
        order, stack = [], [(root, False) for root in reversed(roots)]
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

    def operators_below(self, roots):
        return {self.nodes[one][0] for one in self.below(roots) if self.nodes[one][0] is not None}


class Rule(Table):
    def __init__(self, lines):
        super().__init__([])
        header = lines[0]
        demand(len(header) == 2, "the name of a rule stands alone")
        self.is_axiom, self.name = header[0][1] == "axiom", header[1][1]
        self.inputs = []
        self.groups = {}  # name: (least, most), in order
        self.parameters = {}  # name: (range, bounds), in order
        self.free = []  # (expression, text of what gives its values): for searches only
        self.sizes_of_divisors = []
        self.conditions = []  # (comparison or predicate, arguments)
        self.search_forward = False
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
            self.groups[name] = (least, most)
        elif first[1] == "param" and second[0] == "name":
            p.take()
            self.parameter(p)
        elif first[1] == "free" and second[0] in ("name", "integer"):
            p.take()
            self.free_parameter(p)
        elif first[1] == "let" and second[0] == "name":
            p.take()
            name = p.take("name")
            p.expect("=")
            demand(name not in self.lets and name not in self.input_names, f"'{name}' is taken")
            self.lets[name] = self.term(p)
        elif first[1] == "where":
            p.take()
            while True:
                self.conditions.append(self.condition(p))
                if not p.accept(","):
                    break
        elif (first[1], second[1]) == ("search", "forward"):
            p.take()
            p.take()
            demand(not self.search_forward, "'search forward' is written twice")
            self.search_forward = True
        elif first[1] == "role" and second[0] == "name":
            p.take()
            p.take("name")  # for searches only, and not in the canonical text
            while p.accept(","):
                p.take("name")
        elif (first[1] in ("weight", "defined") and second[0] == "name") or second == ("sign", ":"):
            self.input(p)
        else:
            self.left = self.outputs(p)
            self.both = p.accept("=")
            if not self.both:
                p.expect("=>")
            self.right = self.outputs(p)
            demand(len(self.left) == len(self.right), "the sides have different outputs")

    def input(self, p):
        words = []
        for word in ("defined", "weight"):
            if p.peek() == ("name", word) and p.peek(1) != ("sign", ":"):
                words.append(p.take())
        name = p.take("name")
        p.expect(":")
        kind = None
        if p.peek()[0] == "name":
            kind = p.take()
            demand(kind in DATA_TYPES, f"'{kind}' is no type")
        p.expect("[")
        shape = tuple(p.expressions("]"))
        for size in shape:
            for what, variable in names_in(size):
                if what == "splice":
                    self.groups.setdefault(variable, (0, 3))
        demand(name not in self.input_names, f"two inputs are named '{name}'")
        self.inputs.append(Input(name, kind, shape, "weight" in words, "defined" in words))
        self.input_names.append(name)

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
        demand(kind == "string" or RANGES.get(kind) == len(bounds), f"'{kind}' is no range")
        demand(name not in self.parameters, f"'{name}' is taken")
        self.parameters[name] = (kind, bounds)

    def free_parameter(self, p):
        """Where a search takes values from. No claim depends on it."""
        expression = p.sum()
        names = [name for _, name in names_in(expression)]
        demand(len(names) == 1, f"'{text_of(expression)}' cannot be free")
        p.expect(":")
        word = p.peek()[1]
        if word in ("target", "any"):
            values = p.take()
        elif word in ("divisors", "at"):
            values = ""
            if word == "at":
                demand([p.take(), p.take()] == ["at", "most"], "'at' is followed by 'most'")
                most = int(p.take("integer"))
                demand(most >= 1, "a free parameter takes one value at least")
                values = "" if most == USUAL_DIVISORS else f"at most {most} "
            demand([p.take(), p.take()] == ["divisors", "of"], "expected 'divisors of'")
            size = p.sum()
            self.sizes_of_divisors.append(size)
            values += "divisors of " + text_of(size)
        else:
            numbers = [int(p.take("integer"))]
            while p.accept(","):
                numbers.append(int(p.take("integer")))
            demand(min(numbers) >= 1, "a free parameter takes values from 1 on")
            values = ", ".join(map(str, numbers))
        self.free.append((expression, values))

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

    # What it says.

    def dimension_names(self):
        names = {name for one in self.inputs for size in one.shape
                 for what, name in names_in(size) if what == "variable"}
        return sorted(names - set(self.parameters) - set(self.groups))

    def variables(self):
        return [*self.groups, *self.parameters, *self.dimension_names()]

    def check(self):
        """Each name is one thing, and is declared. Free parameters that nothing else declares are dimensions."""
        for expression, _ in self.free:
            for _, name in names_in(expression):
                if name not in self.variables():
                    self.parameters[name] = ("dimension", [])
        names = self.variables()
        demand(len(set(names)) == len(names), "a name stands for two variables")
        used = [e for op, attributes, _ in self.nodes if op is not None for _, e in attributes]
        used += [e for _, arguments in self.conditions for e in arguments]
        used += [expression for expression, _ in self.free] + self.sizes_of_divisors
        used += [e for kind, bounds in self.parameters.values() if kind != "string" for e in bounds]
        used += [e for one in self.inputs for e in one.shape]
        for expression in used:
            for what, name in names_in(expression):
                demand(name in (self.groups if what == "splice" else names), f"'{name}' is unknown")

    def text(self):
        """The canonical text."""
        lines = [f"{'axiom' if self.is_axiom else 'rule'} {self.name}"]
        for one in self.inputs:
            words = ("defined " if one.defined else "") + ("weight " if one.weight else "")
            sizes = ", ".join(text_of(size) for size in one.shape)
            lines.append(f"  {words}{one.name} : {one.kind or ''}[{sizes}]")
        lines += [f"  group {name} : {least}..{most}"
                  for name, (least, most) in self.groups.items() if (least, most) != (0, 3)]
        for name, (kind, bounds) in self.parameters.items():
            inside = ", ".join(one if kind == "string" else text_of(one) for one in bounds)
            closing = ")" if kind == "integer" else "]"
            lines.append(f"  param {name} : {kind}" + (f"[{inside}{closing}" if bounds else ""))
        lines += [f"  free {text_of(expression)} : {values}" for expression, values in self.free]
        written = []
        for kind, arguments in self.conditions:
            words = [text_of(one) for one in arguments]
            written.append(f"{kind}({', '.join(words)})" if kind in PREDICATES
                           else f"{words[0]} {kind} {words[1]}")
        if written:
            lines.append("  where " + ", ".join(written))
        if self.search_forward:
            lines.append("  search forward")
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
                return self.inputs[attributes].name
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
            while f"t{last}" in self.input_names:
                last += 1
            names[node] = f"t{last}"
            lines.append(f"  let t{last} = {body}")
        sign = "=" if self.both else "=>"
        sides = [" & ".join(write(one) for one in side) for side in (self.left, self.right)]
        return [*lines, f"  {sides[0]} {sign} {sides[1]}"]


def parse_term(text, input_names):
    """A term by itself, as (table, term)."""
    table, parser = Table(input_names), Parser(tokens_of(text))
    term = table.term(parser)
    parser.end()
    return table, term


def rule_blocks(text):
    """The lines of each rule."""
    blocks, block = [], []
    for line in [*logical_lines(text), []]:
        if block and (not line or is_start(line)):
            blocks.append(block)
            block = []
        if line:
            demand(block or is_start(line), "expected 'rule' or 'axiom'")
            block.append(line)
    return blocks


def parse_rules(text):
    return [Rule(block) for block in rule_blocks(text)]
