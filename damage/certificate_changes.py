"""The ways in which a certificate is altered. Each yields altered texts of one certificate, none of which proves its rule."""

import re

from certificate_text import CASE, CHAIN, INPUT, ROUNDING, STEP, Certificate, values_of, with_step  # it finds the next one
from second_checker.certificates import digest, split_items, worst_class


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
                yield with_step(c, i, values=", ".join([*items[:at], f"{name}={new}", *items[at + 1:]]))


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
        takes = [variable[0] for variable in axioms[name].inputs], axioms[name].variables()
        for other in axioms.values():
            if ([variable[0] for variable in other.inputs], other.variables()) == takes and \
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


def lists_of_cases(c):
    """Where chains list their cases, and these."""
    return [(i, match[1], match[2].split(", ")) for i in c.chains if (match := CHAIN.match(c.lines[i]))]


def chain_of_case(c, _):
    """Cases that are not there, that another chain has too, that a chain has twice; chains without any."""
    count = c.lines[c.cases].split()[1]
    for i, label, cases in lists_of_cases(c):
        for other in ([*cases, str(int(count) + 1)], ["0", *cases], [cases[0], *cases], ["x"], []):
            yield c.with_line(i, f"chain {label} of cases {', '.join(other)}")
        yield c.with_line(i, f"chain {label}")
        yield c.with_line(i, f"chain {int(label) + 1} of cases {', '.join(cases)}")
        yield c.with_line(i, c.lines[i].replace(", ", ",") if len(cases) > 1 else c.lines[i] + ",")
    lists = lists_of_cases(c)
    for (i, label, cases), (_, _, others) in zip(lists, lists[1:]):
        both = sorted({*map(int, cases), int(others[0])})
        yield c.with_line(i, f"chain {label} of cases {', '.join(map(str, both))}")


def chain_without_cases(c, _):
    """One more chain, that no case uses, or that takes the first chain's only case from it."""
    end = len(c.lines) - 1
    steps = [line for line in c.lines[c.chains[0] + 1:] if line.startswith("  ")][:1]
    for heading in (f"chain {len(c.chains) + 1}", f"chain {len(c.chains) + 1} of cases "):
        yield c.with_line(end, heading, *steps, "end")
    yield c.with_line(c.chains[0], c.lines[c.chains[0]] + " of cases 1")
    listed = {case for _, _, cases in lists_of_cases(c) for case in cases}
    count = int(c.lines[c.cases].split()[1])
    rest = [str(case) for case in range(1, count + 1) if str(case) not in listed]
    yield c.with_line(end, f"chain {len(c.chains) + 1} of cases {', '.join(rest)}", *steps, "end")


def case_moved(c, _):
    """A case is taken from a chain, so that the first one has it, or the other way round; the digest says what it did."""
    count = int(c.lines[c.cases].split()[1])
    listed = {case for _, _, cases in lists_of_cases(c) for case in cases}
    for i, label, cases in lists_of_cases(c):
        if len(cases) > 1:
            for case in cases:
                yield c.with_line(i, f"chain {label} of cases " + ", ".join(k for k in cases if k != case))
        for case in range(1, count + 1):
            if str(case) not in listed:
                more = sorted([*map(int, cases), case])
                yield c.with_line(i, f"chain {label} of cases {', '.join(map(str, more))}")


def case_dropped(c, _):
    lines = c.case_lines()
    for at in {0, len(lines) // 2, len(lines) - 1}:
        yield c.with_cases(lines[:at] + lines[at + 1:])


def case_doubled(c, _):
    lines = c.case_lines()
    for at in {0, len(lines) // 2, len(lines) - 1}:
        yield c.with_cases(lines[:at] + [lines[at]] + lines[at:])


def cases_swapped(c, _):
    lines = c.case_lines()
    for at in {0, len(lines) // 2, max(len(lines) - 2, 0)} if len(lines) > 1 else ():
        other = lines[at:at + 2][::-1]
        yield c.with_cases(lines[:at] + other + lines[at + 2:])


def number_of_cases(c, _):
    _, count, written = c.lines[c.cases].split()
    for other in (int(count) + 1, int(count) - 1, 0, 10 ** 18):
        yield c.with_line(c.cases, f"cases {other} {written}")
    for other in (written[:-1], written[:-1] + ("0" if written[-1] != "0" else "1"), written.upper()):
        if other != written:
            yield c.with_line(c.cases, f"cases {count} {other}")
    yield c.with_line(c.cases)
    yield c.with_line(c.cases, c.lines[c.cases], c.lines[c.cases])


def altered_cases(c, change):
    """The digest of lines of which one is changed: of the first, the middle and the last case."""
    lines = c.case_lines()
    for at in sorted({0, len(lines) // 2, len(lines) - 1}):
        for new in change(lines[at]):
            if new != lines[at]:
                yield c.with_cases([*lines[:at], new, *lines[at + 1:]])


def claimed_shape(c, _):
    def change(line):
        start, shapes, label = CASE.match(line).groups()
        for new in (shapes.replace("]", " + 1]", 1) if "[]" not in shapes else "[1]",
                    shapes.replace("[", "[1, ", 1).replace(", ]", "]"),
                    shapes + " & " + shapes.split(" & ")[0]):
            yield f"case{start} -> {new} by {label}"
    yield from altered_cases(c, change)


def case_values(c, _):
    def change(line):
        start, shapes, label = CASE.match(line).groups()
        items = split_items(start.strip())
        for at, item in enumerate(items):
            name, value = item.split("=", 1)
            new = "[1, " + value[1:] if value.startswith("[") and value != "[]" else \
                "[1]" if value == "[]" else value + "5"
            altered = ", ".join([*items[:at], f"{name}={new}", *items[at + 1:]])
            yield f"case {altered} -> {shapes} by {label}"
        yield f"case{start} -> {shapes} by {int(label) + 1}"
    yield from altered_cases(c, change)


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
    """Wider ranges are left out where a condition or another range keeps the cases as they are, and so are conditions
    that sizes differ: the rules that have them are true without, and are not applied there to no purpose."""
    lines = c.lines[c.rule:c.rule_end]
    limited = any(re.match(r"  where | .*integer\[", line) for line in lines)
    for i, line in enumerate(lines):
        if line.startswith("  where "):
            kept = [condition for condition in line[len("  where "):].split(", ") if "!=" in condition]
            kept_lines = ["  where " + ", ".join(kept)] if kept else []
            if kept_lines != [line]:
                yield c.with_rule([*lines[:i], *kept_lines, *lines[i + 1:]])
        match = re.fullmatch(r"  group (\w+) : (\d+)\.\.(\d+)", line)
        if match and not limited:
            name, least, most = match.group(1), int(match.group(2)), int(match.group(3))
            yield c.with_rule([*lines[:i], f"  group {name} : {least}..{most + 1}", *lines[i + 1:]])
            if least > 0:
                yield c.with_rule([*lines[:i], f"  group {name} : {least - 1}..{most}", *lines[i + 1:]])
        if re.match(r"  param \w+ : (permutation|real)", line):
            yield c.with_rule([*lines[:i], line.split(" :")[0] + " : dimension", *lines[i + 1:]])


def contradictory_conditions(c, _):
    lines = c.lines[c.rule:c.rule_end]
    brackets = re.findall(r"\[(.*)\]", " ".join(line for line in lines if " : [" in line))
    sizes = re.findall(r"\b([a-z])\b", " ".join(brackets))
    where = [i for i, line in enumerate(lines) if line.startswith("  where ")]
    for name in sizes[:2]:
        extra = f"{name} < {name}"
        if where:
            yield c.with_rule([*lines[:where[0]], f"{lines[where[0]]}, {extra}", *lines[where[0] + 1:]])
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
    yield c.with_line(c.cases, c.lines[c.cases] + " ")
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
        match = re.fullmatch(r"  param (\w+) : real", line)
        if not match:
            continue
        name = match.group(1)
        for new in (f"real_min({name}, 5000.0)", f"real_add({name}, 0.0)", "1031.125"):
            altered = re.sub(rf"={name}\b(?!\()", f"={new}", lines[-1])
            if altered != lines[-1]:
                yield c.with_rule([*lines[:-1], altered])


def cases_excluded(c, _):
    """A condition that symbols do not decide, without a case that it might exclude."""
    lines = c.lines[c.rule:c.rule_end]
    cases = c.case_lines()
    groups = [m.group(1) for line in cases[:1] if (m := re.match(r"case (\w+)=\[", line))]
    for name in groups[:1]:
        extra = f"real_less_equal(0.0, real_multiply(product([{name}..]), 1.0))"
        where = [i for i, line in enumerate(lines) if line.startswith("  where ")]
        if where:
            changed = [*lines[:where[0]], f"{lines[where[0]]}, {extra}", *lines[where[0] + 1:]]
        else:
            at = next(i for i in range(1, len(lines)) if not re.match(
                r"  (defined )?(weight )?\w+ : |  group |  param ", lines[i]))
            changed = [*lines[:at], f"  where {extra}", *lines[at:]]
        yield Certificate(c.with_rule(changed)).with_cases(cases[:-1])


def symbols(c, _):
    """Symbols of cases as they were named before, and as a rule could name its own."""
    yield from altered_cases(c, lambda line: [
        line.replace(old, new) for old, new in (("axis.", "axis"), (".0", "0"), (".1", "_1"))])


CLASSES = [substitution_of_variables, substitution_of_inputs, substitution_incomplete, direction,
           position, output, axiom_name, digests, versions, step_dropped, step_doubled,
           steps_swapped, chain_emptied, chain_of_case,
           chain_without_cases, case_moved, number_of_cases, case_dropped, case_doubled, cases_swapped,
           claimed_shape, case_values, rule_text, weaker_conditions, contradictory_conditions,
           witness, stray_text, rounding, rule_relation, axiom_relation, refinement_backward,
           defined_dropped, real_parameters, cases_excluded, symbols]
RARE = {"defined_dropped", "real_parameters"}  # what few rules have, so that a selection may miss it
