#!/usr/bin/env python3
"""A second checker of certificates (docs/certificates.md), which shares no code with the first.

    checkers/lemma_check.py [--axioms DIR] [--operators FILE] [--rules DIR] [--no-axiom-records]
                           [--jobs N] [--meanings FILE.py] FILE...

It was written from docs/certificates.md, docs/semantics.md, docs/operators.md and the description of
the language of rules alone. It reads axioms and certificates with its own parser, computes with its
own polynomials, and has its own shape rules for the operators that it knows; what it does not know is
refused, unless --meanings gives a shape rule of it (docs/outside_operators.md). Only the standard library is used. Exit codes: 0 all certificates hold, 4 one does not, 2 bad
usage or unreadable axioms.
"""

import argparse
import multiprocessing
import os
import pathlib
import re
import sys

import outside_operators
from second_checker.certificates import certificates_of, check_certificate, CLASSES
from second_checker.operators import OPERATORS
from second_checker.records import axioms_with_records
from second_checker.rules import parse_rules, Rule, rule_blocks
from second_checker.sizes import demand, Refused

UNKNOWN = "is not known to this checker"


def read_text(file):
    """Bytes as they are: line feeds are not translated."""
    try:
        return pathlib.Path(file).read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"'{file}' is not UTF-8") from None


def named(rules, folder):
    result = {}
    for rule in rules:
        demand(rule.name not in result, f"two rules are named '{rule.name}'")
        result[rule.name] = rule
    demand(result, f"nothing to read in '{folder}'")
    return result


def read_rules(folder, pattern):
    return named((rule for file in sorted(pathlib.Path(folder).glob(pattern))
                  for rule in parse_rules(read_text(file))), folder)


def read_axioms(folder):
    """All that have operators known here; the others cannot be used by a certificate."""
    axioms = []
    for file in sorted(pathlib.Path(folder).glob("*.axioms")):
        for block in rule_blocks(read_text(file)):
            try:
                axioms.append(Rule(block))
            except Refused as reason:
                demand(UNKNOWN in str(reason), f"{file}: {block[0][1][1]}: {reason}")
    demand(all(one.is_axiom for one in axioms), "a rule stands among the axioms")
    return named(axioms, folder)


def read_operators(file):
    """The part of docs/operators.md about each operator."""
    parts = re.split(r"(?m)^(?=## )", read_text(file))
    return {part.split("\n", 1)[0][3:]: part.rstrip("\n") + "\n" for part in parts[1:]}


def read_all_operators(file, axioms):
    """With those of operators.md beside the folder of axioms: what axioms there are about that docs/operators.md lacks."""
    own = pathlib.Path(axioms).resolve().parent / "operators.md"
    return {**(read_operators(own) if own.exists() else {}), **read_operators(file)}


def read_classes(axioms):
    """What each axiom does to rounding: lines "AXIOM CLASS" beside the folder of axioms."""
    file = pathlib.Path(axioms).resolve().parent / "axioms.rounding"
    lines = read_text(file).split("\n") if file.exists() else []
    pairs = [line.split("#")[0].split() for line in lines]
    demand(all(len(pair) in (0, 2) for pair in pairs), f"'{file}' is not readable")
    pairs = [pair for pair in pairs if pair]
    demand(len({name for name, _ in pairs}) == len(pairs), f"'{file}' names an axiom twice")
    classes = dict(pairs)
    demand(set(classes.values()) <= set(CLASSES), f"'{file}' names an unknown class")
    return classes


def packs_of(names):
    for name in names:
        path = pathlib.Path(name)
        yield from sorted(path.glob("*.certificates")) if path.is_dir() else [path]


def read_certificates(packs):
    """(where it stands, its first line, its text) for each. A file without any is as good as damaged."""
    for pack in packs:
        for line, name, text in certificates_of(read_text(pack)) or [(1, "", "")]:
            yield f"{pack}:{line}: {name or 'a certificate without a name'}", line, text


LIBRARY = ()  # what certificates are checked against: read before processes are made


def check_one(certificate):
    """(name and text of the rule, cases, steps), or the reason why it does not hold."""
    try:
        _, line, text = certificate
        rule, cases, steps = check_certificate(text, *LIBRARY, first_line=line)
        return rule.name, rule.text(), cases, steps
    except Refused as reason:
        return str(reason)


def check_all(certificates, jobs):
    """The answers in the order of the certificates, however many processes there are."""
    if jobs == 1 or len(certificates) < 2 * jobs:
        return [check_one(one) for one in certificates]
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        return pool.map(check_one, certificates, chunksize=4)


def main():
    global LIBRARY
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("certificates", nargs="+", help="files of any number of certificates, or folders of *.certificates")
    parser.add_argument("--axioms", default=root / "rules" / "axioms")
    parser.add_argument("--operators", default=root / "docs" / "operators.md")
    parser.add_argument("--meanings", action="append", default=[], metavar="FILE.py",
                        help="shape rules of operators from outside (may be repeated)")
    parser.add_argument("--rules", help="also demand a certificate for each rule of *.rules there")
    parser.add_argument("--no-axiom-records", action="store_true",
                        help="do not ask for records of index proofs beside the folder of axioms")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1),
                        help="processes (default: one a core, 4 at most)")
    arguments = parser.parse_args()
    try:
        outside_operators.add_meanings(arguments.meanings, "shape_rules", OPERATORS)
        axioms = read_axioms(arguments.axioms)
        files = list(packs_of(arguments.certificates))
        demand(files, "no certificates")
        demand(arguments.jobs >= 1, "at least one process is wanted")
        missing = [file for file in files if not file.is_file()]
        demand(not missing, f"there is no file '{missing[0] if missing else ''}'")
        texts = {name: axiom.text() for name, axiom in axioms.items()}
        LIBRARY = (axioms, texts, read_all_operators(arguments.operators, arguments.axioms),
                   read_classes(arguments.axioms),
                   None if arguments.no_axiom_records else
                   axioms_with_records(arguments.axioms, texts))
        certificates = list(read_certificates(files))
        wanted = read_rules(arguments.rules, "*.rules") if arguments.rules else {}
    except (OSError, Refused, outside_operators.Refused) as problem:
        print(f"lemma_check.py: {problem}", file=sys.stderr)
        return 2
    proved, cases, steps, failed = {}, 0, 0, 0
    for (place, _, _), answer in zip(certificates, check_all(certificates, arguments.jobs)):
        if isinstance(answer, str):
            print(f"lemma_check.py: {place}: {answer}", file=sys.stderr)
            failed += 1
            continue
        proved[answer[0]], cases, steps = answer[1], cases + answer[2], steps + answer[3]
    for name, rule in wanted.items():
        if proved.get(name) != rule.text():
            print(f"lemma_check.py: {name}: no certificate that holds", file=sys.stderr)
            failed += 1
    print(f"{len(proved)} certificates hold: {cases} cases, {steps} steps; {failed} fail")
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
