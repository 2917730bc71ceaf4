#!/usr/bin/env python3
"""Altered certificates, which both checkers have to refuse.

    damage/certificate_mutants.py --checker build/release/bin/lemma-check [--each N]

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

from certificate_changes import CLASSES, RARE
from certificate_text import OPERATORS, ROUNDING, Certificate

import lemma_check  # found beside second_checker
from second_checker.certificates import certificates_of, check_certificate
from second_checker.sizes import Refused


def spread(mutants, count):
    """At most `count` of them, evenly from first to last."""
    mutants = list(dict.fromkeys(mutants))
    if len(mutants) <= count:
        return mutants
    return [mutants[i * (len(mutants) - 1) // max(count - 1, 1)] for i in range(count)]


def make_mutants(certificates, axioms, limit):
    for rule, text in certificates:
        certificate = Certificate(text)
        for kind in CLASSES:
            for i, mutant in enumerate(spread(kind(certificate, axioms), limit)):
                if mutant != text:
                    yield kind.__name__, f"{kind.__name__}.{i}.{rule}", mutant


def accepted_by_first(checker, axioms, mutants):
    """Names of the mutants that lemma-check accepts."""
    with tempfile.TemporaryDirectory() as folder:
        for _, name, text in mutants:
            pathlib.Path(folder, name + ".certificates").write_text(text, encoding="utf-8")
        done = subprocess.run([checker, "--no-axiom-records", "--axioms", axioms, folder],
                              capture_output=True, text=True, check=False)
        if done.returncode not in (0, 4):
            sys.exit(f"{checker} ended with {done.returncode}: {done.stderr}")
        refused = set(re.findall(r"/([^/\s]+)\.certificates:\d+: ", done.stderr))
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
    axioms = lemma_check.read_axioms(arguments.rules / "axioms")
    ROUNDING.update(lemma_check.read_classes(arguments.rules / "axioms"))
    operators = lemma_check.read_operators(arguments.operators)
    OPERATORS.update(operators)
    certificates = [(rule, text) for pack in sorted((arguments.rules / "substitutions").glob("*.certificates"))
                    for _, rule, text in certificates_of(pack.read_text(encoding="utf-8"))]
    certificates = spread(certificates, arguments.limit or len(certificates))
    mutants = list(make_mutants(certificates, axioms, arguments.each))
    first = set(accepted_by_first(arguments.checker, arguments.rules / "axioms", mutants))
    second = set(accepted_by_second(mutants, axioms, operators))
    counts = collections.Counter(kind for kind, _, _ in mutants)
    for kind in CLASSES:
        name = kind.__name__
        accepted = [sum(mutant.startswith(name + ".") for mutant in accepted_names)
                    for accepted_names in (first, second)]
        print(f"{name:28} {counts[name]:6} mutants, accepted: {accepted[0]} and {accepted[1]}")
    print(f"{len(mutants)} mutants of {len(certificates)} certificates; lemma-check accepts {len(first)}, "
          f"lemma_check.py {len(second)}")
    for name in sorted(first | second):
        print(f"accepted: {name}", file=sys.stderr)
    missing = [kind.__name__ for kind in CLASSES if counts[kind.__name__] == 0 and kind.__name__ not in RARE]
    for name in missing:
        print(f"no mutants of the class {name}", file=sys.stderr)
    return 4 if first or second or missing else 0


if __name__ == "__main__":
    sys.exit(main())
