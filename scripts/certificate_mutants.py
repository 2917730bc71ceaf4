#!/usr/bin/env python3
"""Altered certificates, which both checkers have to refuse.

    scripts/certificate_mutants.py --checker build/release/bin/lemma-check [--each N]

From every certificate at most N mutants of each class are made, always the same ones. None of them
proves its rule: where an altered certificate could still be a proof (a step that names the same
term by another position), that alteration is not made. Digests are made to fit again where only
what they protect is to be tested. Prints a table; the exit code is 4 if a mutant is accepted, or
if a class has no mutants.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import lemma_check
from second_checker.certificates import check_certificate, digest, split_items, worst_class
from second_checker.sizes import Refused

STEP = re.compile(r"^  step (\S+) (forward|backward) (\d+) at ([0-9.]+): (.*)$")
INPUT = re.compile(r"  (defined )?(weight )?[a-z]\w* : ")
CASE = re.compile(r"^case(.*) -> (.*) by (\d+)$")


ROUNDING = {}  # the class of each axiom


class Certificate:
    """The lines, and where what stands in them."""

    def __init__(self, text):
        self.lines = text[:-1].split("\n")
        self.rule = [i for i, line in enumerate(self.lines) if line.startswith("rule ")][0]
        self.rule_end = self.first(lambda i: i > self.rule and not self.lines[i].startswith("  "))
        self.steps = [i for i, line in enumerate(self.lines) if STEP.match(line)]
        self.cases = [i for i, line in enumerate(self.lines) if line.startswith("case")]
        self.chains = [i for i, line in enumerate(self.lines) if line.startswith("chain ")]
        self.witness = self.first(lambda i: self.lines[i].startswith("witness"))

    def first(self, holds):
        return next(i for i in range(len(self.lines)) if holds(i))

    def starting(self, prefix):
        return [i for i, line in enumerate(self.lines) if line.startswith(prefix)]

    def with_line(self, i, *new):
        return "\n".join([*self.lines[:i], *new, *self.lines[i + 1:]]) + "\n"

    def with_rule(self, lines):
        """Another rule, with the id that belongs to it."""
        rule_id = digest("\n".join(lines) + "\n")
        head = [f"id {rule_id}" if line.startswith("id ") else line
                for line in self.lines[:self.rule]]
        return "\n".join([*head, *lines, *self.lines[self.rule_end:]]) + "\n"


def with_step(certificate, i, **changes):
    name, direction, output, position, values = STEP.match(certificate.lines[i]).groups()
    parts = {"name": name, "direction": direction, "output": output, "position": position,
             "values": values, **changes}
    return certificate.with_line(
        i, "  step {name} {direction} {output} at {position}: {values}".format(**parts))


def values_of(certificate, i, axioms):
    """The items of a step, and how many of them are inputs."""
    name, _, _, _, values = STEP.match(certificate.lines[i]).groups()
    return split_items(values), axioms[name]


# ---- Classes: each yields altered texts -----------------------------------------------------------


def substitution_of_variables(c, axioms):
    for i in c.steps:
        items, axiom = values_of(c, i, axioms)
        for at in range(len(axiom.inputs), len(items)):
            name, value = items[at].split("=", 1)
            kind = axiom.parameters.get(name, ("size",))[0]
            if name in axiom.groups or kind == "dimensions":
                new = f"concat({value}, [1])"
            elif kind == "permutation":
                new = "[0, 0]"
            elif kind == "string":
                new = '"other"'
            else:
                new = f"{value} + {'1.0' if kind == 'real' else '1'}"
            yield with_step(c, i, values=", ".join([*items[:at], f"{name}={new}", *items[at + 1:]]))


def substitution_of_inputs(c, axioms):
    """A larger term, a smaller one, or none: never the same one at another position."""
    for i in c.steps:
        items, axiom = values_of(c, i, axioms)
        for at in range(len(axiom.inputs)):
            name, value = items[at].split("=", 1)
            news = [value + ".0"] if value.startswith("@") else [f"Neg({value})"]
            news += [value.rsplit(".", 1)[0]] if "." in value and value.startswith("@") else []
            for new in news:
                yield with_step(c, i, values=", ".join(
                    [*items[:at], f"{name}={new}", *items[at + 1:]]))


def substitution_incomplete(c, axioms):
    for i in c.steps:
        items, _ = values_of(c, i, axioms)
        yield with_step(c, i, values=", ".join(items[1:]))
        yield with_step(c, i, values=", ".join([*items, items[-1]]))


def direction(c, _):
    for i in c.steps:
        backward = " backward " in c.lines[i]
        yield with_step(c, i, direction="forward" if backward else "backward")


def position(c, _):
    for i in c.steps:
        old = STEP.match(c.lines[i]).group(4)
        yield with_step(c, i, position=old + ".0")
        yield with_step(c, i, position=old + ".9")
        if "." in old:
            yield with_step(c, i, position=old.rsplit(".", 1)[0])


def output(c, axioms):
    for i in c.steps:
        name, _, number, _, _ = STEP.match(c.lines[i]).groups()
        outputs = len(axioms[name].left)
        yield with_step(c, i, output=str(outputs))
        if outputs > 1:
            yield with_step(c, i, output=str((int(number) + 1) % outputs))


def axiom_name(c, axioms):
    """Another axiom that takes the same values, with its digest; and an unknown one."""
    for i in c.steps:
        name = STEP.match(c.lines[i]).group(1)
        takes = [one[0] for one in axioms[name].inputs], axioms[name].variables()
        for other in axioms.values():
            if ([one[0] for one in other.inputs], other.variables()) == takes and \
                    other.name != name:
                yield signed_again(with_step(c, i, name=other.name), axioms)
                break
        yield with_step(c, i, name=name + "_")


def signed_again(text, axioms):
    """The list of axioms, and the class, as they have to be for these steps."""
    used = sorted({m.group(1) for line in text.split("\n") if (m := STEP.match(line))})
    lines = [f"axiom {name} {digest(axioms[name].text())}" for name in used]
    result, done = [], False
    for line in text[:-1].split("\n"):
        if line.startswith("class "):
            result.append(f"class {worst_class(used, ROUNDING)}")
        elif not line.startswith("axiom "):
            result.append(line)
        elif not done:
            result, done = result + lines, True
    return "\n".join(result) + "\n"


def digests(c, _):
    for prefix in ("axiom ", "operator ", "id "):
        for i in c.starting(prefix):
            line = c.lines[i]
            yield c.with_line(i, line[:-1] + ("0" if line[-1] != "0" else "1"))
            yield c.with_line(i)
    for i in c.starting("axiom "):
        yield c.with_line(i, c.lines[i], c.lines[i])


def versions(c, _):
    yield c.with_line(0, c.lines[0][:-1] + "1")
    yield c.with_line(1, "verifier 0")
    yield c.with_line(0)
    yield c.with_line(1)


def step_dropped(c, _):
    for i in c.steps:
        yield c.with_line(i)


def step_doubled(c, _):
    for i in c.steps:
        yield c.with_line(i, c.lines[i], c.lines[i])


def steps_swapped(c, _):
    """Two steps at one position: the second needs what the first one makes there."""
    for i in c.steps:
        if i + 1 not in c.steps:
            continue
        a, b = c.lines[i], c.lines[i + 1]
        if STEP.match(a).group(4) == STEP.match(b).group(4):
            yield "\n".join([*c.lines[:i], b, a, *c.lines[i + 2:]]) + "\n"


def chain_emptied(c, _):
    for i in c.chains:
        end = next(j for j in range(i + 1, len(c.lines)) if not c.lines[j].startswith("  "))
        yield "\n".join([*c.lines[:i + 1], *c.lines[end:]]) + "\n"
        yield "\n".join([*c.lines[:i], *c.lines[end:]]) + "\n"


def chain_of_case(c, _):
    for i in c.cases:
        label = CASE.match(c.lines[i]).group(3)
        for other in ("0", str(len(c.chains) + 1), "x"):
            yield c.with_line(i, c.lines[i][:-len(label)] + other)


def case_dropped(c, _):
    for i in c.cases:
        yield c.with_line(i)


def case_doubled(c, _):
    for i in c.cases:
        yield c.with_line(i, c.lines[i], c.lines[i])


def cases_swapped(c, _):
    for i in c.cases[:-1]:
        yield "\n".join([*c.lines[:i], c.lines[i + 1], c.lines[i], *c.lines[i + 2:]]) + "\n"


def claimed_shape(c, _):
    for i in c.cases:
        start, shapes, label = CASE.match(c.lines[i]).groups()
        for new in (shapes.replace("]", " + 1]", 1) if "[]" not in shapes else "[1]",
                    shapes.replace("[", "[1, ", 1).replace(", ]", "]"),
                    shapes + " & " + shapes.split(" & ")[0]):
            if new != shapes:
                yield c.with_line(i, f"case{start} -> {new} by {label}")


def case_values(c, _):
    for i in c.cases:
        start, shapes, label = CASE.match(c.lines[i]).groups()
        items = split_items(start.strip())
        for at, item in enumerate(items):
            name, value = item.split("=", 1)
            new = "[1, " + value[1:] if value.startswith("[") and value != "[]" else \
                "[1]" if value == "[]" else value + "5"
            altered = ", ".join([*items[:at], f"{name}={new}", *items[at + 1:]])
            yield c.with_line(i, f"case {altered} -> {shapes} by {label}")


def rule_text(c, _):
    """Another claim, with the id that belongs to it: the chains do not prove it."""
    lines = c.lines[c.rule:c.rule_end]
    sign = " => " if " => " in lines[-1] else " = "
    left, right = lines[-1].strip().split(sign)
    inputs = [line.split(" :")[0].split()[-1] for line in lines if INPUT.match(line)]
    yield c.with_rule([*lines[:-1], f"  {left}{sign}Neg({right})" if "&" not in right else
                       f"  {left}{sign}{' & '.join(reversed(right.split(' & ')))}"])
    if len(inputs) > 1:
        swapped = re.sub(rf"\b({inputs[0]}|{inputs[1]})\b(?![=({{])", lambda m: inputs[
            1 - inputs.index(m.group(1))], right)
        if swapped != right:
            yield c.with_rule([*lines[:-1], f"  {left}{sign}{swapped}"])
    for old, new in (("axis=1", "axis=0"), ("Add(", "Mul("), ("Mul(", "Add("), ("Relu(", "Abs("),
                     ("Max(", "Min("), ("1.0", "2.0"), ("pads=p", "pads=times(p, p)")):
        if old in right:
            yield c.with_rule([*lines[:-1], f"  {left}{sign}{right.replace(old, new, 1)}"])


def weaker_conditions(c, _):
    """Wider ranges are left out where a condition or another range keeps the cases as they are."""
    lines = c.lines[c.rule:c.rule_end]
    limited = any(re.match(r"  where | .*integer\[", line) for line in lines)
    for i, line in enumerate(lines):
        if line.startswith("  where "):
            yield c.with_rule([*lines[:i], *lines[i + 1:]])
        found = re.fullmatch(r"  group (\w+) : (\d+)\.\.(\d+)", line)
        if found and not limited:
            name, least, most = found.group(1), int(found.group(2)), int(found.group(3))
            yield c.with_rule([*lines[:i], f"  group {name} : {least}..{most + 1}", *lines[i + 1:]])
            if least > 0:
                yield c.with_rule([*lines[:i], f"  group {name} : {least - 1}..{most}",
                                   *lines[i + 1:]])
        if re.match(r"  param \w+ : (permutation|real)", line):
            yield c.with_rule([*lines[:i], line.split(" :")[0] + " : dimension", *lines[i + 1:]])


def contradictory_conditions(c, _):
    lines = c.lines[c.rule:c.rule_end]
    sizes = re.findall(r"\b([a-z])\b", " ".join(
        re.findall(r"\[(.*)\]", " ".join(line for line in lines if " : [" in line))))
    where = [i for i, line in enumerate(lines) if line.startswith("  where ")]
    for name in sizes[:2]:
        extra = f"{name} < {name}"
        if where:
            yield c.with_rule([*lines[:where[0]], f"{lines[where[0]]}, {extra}",
                               *lines[where[0] + 1:]])
        else:
            at = next(i for i in range(1, len(lines)) if not re.match(
                r"  (defined )?(weight )?\w+ : |  group |  param ", lines[i]))
            yield c.with_rule([*lines[:at], f"  where {extra}", *lines[at:]])


def witness(c, axioms):
    items = split_items(c.lines[c.witness][8:])
    for at, item in enumerate(items):
        name, value = item.split("=", 1)
        yield c.with_line(c.witness, "witness " + ", ".join([*items[:at], *items[at + 1:]]))
        new = f"{name}=" + ("[" + ", ".join(["2"] * 70) + "]" if value.startswith("[") else
                            '"x' if value.startswith('"') else "n")
        yield c.with_line(c.witness, "witness " + ", ".join([*items[:at], new, *items[at + 1:]]))
    yield c.with_line(c.witness)
    yield c.with_line(c.witness, c.lines[c.witness] + (", " if items else " ") + "zz=1")


def stray_text(c, _):
    yield "\n".join(c.lines) + "\nend\n"
    yield "\n".join(c.lines) + "\n\n"
    yield "\n".join(c.lines[:-1]) + "\n"
    yield "\n".join(c.lines)
    yield c.with_line(c.chains[0], "", c.lines[c.chains[0]])
    yield c.with_line(c.cases[0], c.lines[c.cases[0]] + " ")
    yield c.with_line(c.steps[0], c.lines[c.steps[0]] + " # why")
    yield c.with_line(c.starting("class ")[0], "class exact")


def rounding(c, _):
    at = c.starting("class ")[0]
    for word in ("bitwise", "reassociation", "distributive", "rounding", "unsafe", "unknown"):
        if c.lines[at] != f"class {word}":
            yield c.with_line(at, f"class {word}")


def steps_of(c, axioms):
    return [axioms[STEP.match(c.lines[i]).group(1)] for i in c.steps]


def rule_relation(c, axioms):
    """An equation, of what is proved as a refinement only: a step reads one, of what may be undefined."""
    lines = c.lines[c.rule:c.rule_end]
    if " => " not in lines[-1] or any(line.startswith("  defined ") for line in lines):
        return
    if any(not axiom.both and axiom.inputs for axiom in steps_of(c, axioms)):
        at = next(i for i, line in enumerate(lines) if i == len(lines) - 1 or line.startswith("  let "))
        # An equation that is read from right to left would have to bind all variables there.
        yield c.with_rule([*lines[:at], "  search forward", *lines[at:-1], lines[-1].replace(" => ", " = ")])


def axiom_relation(c, axioms):
    """The digest of the axiom with the other relation."""
    for axiom in {axiom.name: axiom for axiom in steps_of(c, axioms)}.values():
        *head, claim = axiom.text()[:-1].split("\n")
        other = claim.replace(" => ", " = ") if " => " in claim else claim.replace(" = ", " => ", 1)
        line = c.starting(f"axiom {axiom.name} ")[0]
        yield c.with_line(line, f"axiom {axiom.name} " + digest("\n".join([*head, other]) + "\n"))


def refinement_backward(c, axioms):
    """The claim and its steps from right to left, where one of them is a refinement."""
    lines = c.lines[c.rule:c.rule_end]
    if " => " not in lines[-1] or all(axiom.both for axiom in steps_of(c, axioms)):
        return
    left, right = lines[-1].strip().split(" => ")
    mutant = Certificate(c.with_rule([*lines[:-1], f"  {right} => {left}"]))
    for chain in mutant.chains:
        end = next(j for j in range(chain + 1, len(mutant.lines))
                   if not mutant.lines[j].startswith("  "))
        turned = [line.replace(" forward ", " turned ").replace(" backward ", " forward ")
                  .replace(" turned ", " backward ") for line in mutant.lines[chain + 1:end]]
        mutant.lines[chain + 1:end] = reversed(turned)
    yield "\n".join(mutant.lines) + "\n"


def defined_dropped(c, axioms):
    """An input may be undefined, and a step is about defined ones."""
    lines = c.lines[c.rule:c.rule_end]
    declared = [i for i, line in enumerate(lines) if line.startswith("  defined ")]
    needed = any("\n  defined " in axiom.text() for axiom in steps_of(c, axioms))
    if len(declared) == 1 and needed:
        i = declared[0]
        yield c.with_rule([*lines[:i], lines[i].replace("defined ", "", 1), *lines[i + 1:]])


def real_parameters(c, _):
    """Numbers that stand for a parameter, and what computes with one."""
    lines = c.lines[c.rule:c.rule_end]
    for line in lines:
        found = re.fullmatch(r"  param (\w+) : real", line)
        if not found:
            continue
        name = found.group(1)
        for new in (f"real_min({name}, 5000.0)", f"real_add({name}, 0.0)", "1031.125"):
            altered = re.sub(rf"={name}\b(?!\()", f"={new}", lines[-1])
            if altered != lines[-1]:
                yield c.with_rule([*lines[:-1], altered])


def cases_excluded(c, _):
    """A condition that symbols do not decide, without a case that it might exclude."""
    lines = c.lines[c.rule:c.rule_end]
    groups = [m.group(1) for line in c.lines[c.cases[0]:c.cases[0] + 1]
              if (m := re.match(r"case (\w+)=\[", line))]
    for name in groups[:1]:
        extra = f"real_less_equal(0.0, real_multiply(product([{name}..]), 1.0))"
        where = [i for i, line in enumerate(lines) if line.startswith("  where ")]
        if where:
            changed = [*lines[:where[0]], f"{lines[where[0]]}, {extra}", *lines[where[0] + 1:]]
        else:
            at = next(i for i in range(1, len(lines)) if not re.match(
                r"  (defined )?(weight )?\w+ : |  group |  param ", lines[i]))
            changed = [*lines[:at], f"  where {extra}", *lines[at:]]
        mutant = Certificate(c.with_rule(changed))
        yield mutant.with_line(mutant.cases[-1])


def symbols(c, _):
    """Symbols of cases as they were named before, and as a rule could name its own."""
    for i in c.cases:
        for old, new in (("axis.", "axis"), (".0", "0"), (".1", "_1")):
            if old in c.lines[i]:
                yield c.with_line(i, c.lines[i].replace(old, new))


CLASSES = [substitution_of_variables, substitution_of_inputs, substitution_incomplete, direction,
           position, output, axiom_name, digests, versions, step_dropped, step_doubled,
           steps_swapped, chain_emptied, chain_of_case, case_dropped, case_doubled, cases_swapped,
           claimed_shape, case_values, rule_text, weaker_conditions, contradictory_conditions,
           witness, stray_text, rounding, rule_relation, axiom_relation, refinement_backward,
           defined_dropped, real_parameters, cases_excluded, symbols]
RARE = {"defined_dropped", "real_parameters"}  # what few rules have, so that a selection may miss it


def spread(mutants, count):
    """At most `count` of them, evenly from first to last."""
    mutants = list(dict.fromkeys(mutants))
    if len(mutants) <= count:
        return mutants
    return [mutants[i * (len(mutants) - 1) // max(count - 1, 1)] for i in range(count)]


def make_mutants(files, axioms, each):
    for file in files:
        text = file.read_text(encoding="utf-8")
        certificate = Certificate(text)
        for one in CLASSES:
            for i, mutant in enumerate(spread(one(certificate, axioms), each)):
                if mutant != text:
                    yield one.__name__, f"{one.__name__}.{i}.{file.stem}", mutant


def accepted_by_first(checker, axioms, mutants):
    """Names of the mutants that lemma-check accepts."""
    with tempfile.TemporaryDirectory() as folder:
        for _, name, text in mutants:
            pathlib.Path(folder, name + ".certificate").write_text(text, encoding="utf-8")
        done = subprocess.run([checker, "--no-axiom-records", "--axioms", axioms, folder], capture_output=True,
                              text=True, check=False)
        if done.returncode not in (0, 4):
            sys.exit(f"{checker} ended with {done.returncode}: {done.stderr}")
        refused = set(re.findall(r"/([^/\s]+)\.certificate: ", done.stderr))
    return [name for _, name, _ in mutants if name not in refused]


def accepted_by_second(mutants, axioms, operators):  # with the classes in ROUNDING
    texts = {name: axiom.text() for name, axiom in axioms.items()}
    for _, name, text in mutants:
        try:
            check_certificate(text, axioms, texts, operators, ROUNDING)
        except (Refused, RecursionError, ValueError):
            continue
        yield name


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--checker", required=True, help="the program lemma-check")
    parser.add_argument("--rules", type=pathlib.Path, default=root / "rules")
    parser.add_argument("--operators", default=root / "docs" / "operators.md")
    parser.add_argument("--each", type=int, default=2, help="mutants of a class and certificate")
    parser.add_argument("--limit", type=int, help="only that many certificates, evenly chosen")
    arguments = parser.parse_args()
    axioms = lemma_check.read_rules(arguments.rules / "axioms", "*.axioms")
    ROUNDING.update(lemma_check.read_classes(arguments.rules / "axioms"))
    operators = lemma_check.read_operators(arguments.operators)
    files = sorted((arguments.rules / "certificates").glob("*.certificate"))
    files = spread(files, arguments.limit or len(files))
    mutants = list(make_mutants(files, axioms, arguments.each))
    first = set(accepted_by_first(arguments.checker, arguments.rules / "axioms", mutants))
    second = set(accepted_by_second(mutants, axioms, operators))
    counts = collections.Counter(kind for kind, _, _ in mutants)
    for one in CLASSES:
        name = one.__name__
        accepted = [sum(mutant.startswith(name + ".") for mutant in found)
                    for found in (first, second)]
        print(f"{name:28} {counts[name]:6} mutants, accepted: {accepted[0]} and {accepted[1]}")
    print(f"{len(mutants)} mutants of {len(files)} certificates; lemma-check accepts {len(first)}, "
          f"lemma_check.py {len(second)}")
    for name in sorted(first | second):
        print(f"accepted: {name}", file=sys.stderr)
    missing = [one.__name__ for one in CLASSES if counts[one.__name__] == 0 and
               one.__name__ not in RARE]
    for name in missing:
        print(f"no mutants of the class {name}", file=sys.stderr)
    return 4 if first or second or missing else 0


if __name__ == "__main__":
    sys.exit(main())
