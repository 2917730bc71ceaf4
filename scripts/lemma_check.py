#!/usr/bin/env python3
"""A second checker of certificates (docs/certificates.md), which shares no code with the first.

    scripts/lemma_check.py [--axioms DIR] [--operators FILE] [--rules DIR] CERTIFICATE...

It reads axioms and certificates with its own parser, computes with its own polynomials, and has its
own shape rules for the operators that it knows; an operator that it does not know is refused. Only
the standard library is used. Exit codes: 0 all certificates hold, 4 one does not, 2 bad usage.
"""

import argparse
import pathlib
import re
import sys

from second_checker.sizes import demand, Refused
from second_checker.language import parse_rules
from second_checker.certificates import check_certificate, CLASSES


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


def read_classes(axioms):
    """What each axiom does to rounding: lines "AXIOM CLASS" beside the folder of axioms."""
    file = pathlib.Path(axioms).resolve().parent / "axioms.rounding"
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else []
    pairs = [line.split("#")[0].split() for line in lines]
    demand(all(len(pair) in (0, 2) for pair in pairs), f"'{file}' is not readable")
    classes = dict(pair for pair in pairs if pair)
    demand(set(classes.values()) <= set(CLASSES), f"'{file}' names an unknown class")
    return classes


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
        classes = read_classes(arguments.axioms)
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
            rule, more_cases, more_steps = check_certificate(text, axioms, axiom_texts, operators,
                                                            classes)
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
