"""The text of a certificate by its parts: rule, cases, chains of steps, witness."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "checkers"))
from second_checker.cases import required_cases  # noqa: E402: after the path
from second_checker.certificates import case_line, digest, split_items  # noqa: E402
from second_checker.replay import Case  # noqa: E402
from second_checker.rules import parse_rules  # noqa: E402
from second_checker.values import REAL_TYPES  # noqa: E402

STEP = re.compile(r"^  step (\S+) (forward|backward) (\d+) at ([0-9.]+): (.*)$")
INPUT = re.compile(r"  (defined )?(weight )?[a-z]\w* : ")
CASE = re.compile(r"^case(.*) -> (.*) by (\d+)$")
CHAIN = re.compile(r"^chain (\d+) of cases (.*)$")

ROUNDING = {}  # the class of each axiom
OPERATORS = {}  # the section of each operator


class Certificate:
    """The lines, and where what stands in them."""

    def __init__(self, text):
        self.lines = text[:-1].split("\n")
        self.cases = self.first(lambda i: self.lines[i].startswith("cases "))
        self.rule = [i for i, line in enumerate(self.lines) if line.startswith("rule ")][0]
        self.rule_end = self.first(lambda i: i > self.rule and not self.lines[i].startswith("  "))
        self.steps = [i for i, line in enumerate(self.lines) if STEP.match(line)]
        self.chains = [i for i, line in enumerate(self.lines) if line.startswith("chain ")]
        self.witness = self.first(lambda i: self.lines[i].startswith("witness"))

    def first(self, holds):
        return next(i for i in range(len(self.lines)) if holds(i))

    def starting(self, prefix):
        return [i for i, line in enumerate(self.lines) if line.startswith(prefix)]

    def case_lines(self):
        """The lines that have the digest, as the second checker writes them."""
        rule, = parse_rules("\n".join(self.lines[self.rule:self.rule_end]) + "\n")
        chains = {case: number for line in self.lines if (match := CHAIN.match(line))
                  for number in [int(match[1])] for case in map(int, match[2].split(", "))}
        result = []
        for number, (key, values) in enumerate(required_cases(rule), 1):
            case = Case(rule, values, REAL_TYPES[0], 0, OPERATORS)
            shapes = [case.terms.type(term)[1] for term in case.left]
            result.append(case_line(key, shapes, chains.get(number, 1))[:-1])
        return result

    def with_cases(self, lines):
        """The number and the digest of other cases."""
        written = digest("".join(line + "\n" for line in lines))
        return self.with_line(self.cases, f"cases {len(lines)} {written}")

    def with_line(self, i, *new):
        return "\n".join([*self.lines[:i], *new, *self.lines[i + 1:]]) + "\n"

    def with_rule(self, lines):
        """Another rule, with the id that belongs to it."""
        rule_id = digest("\n".join(lines) + "\n")
        head = [f"id {rule_id}" if line.startswith("id ") else line for line in self.lines[:self.rule]]
        return "\n".join([*head, *lines, *self.lines[self.rule_end:]]) + "\n"


def with_step(certificate, i, **changes):
    name, direction, output, position, values = STEP.match(certificate.lines[i]).groups()
    parts = {"name": name, "direction": direction, "output": output, "position": position, "values": values, **changes}
    return certificate.with_line(
        i, "  step {name} {direction} {output} at {position}: {values}".format(**parts))


def values_of(certificate, i, axioms):
    """The items of a step, and how many of them are inputs."""
    name, _, _, _, values = STEP.match(certificate.lines[i]).groups()
    return split_items(values), axioms[name]
