#!/usr/bin/env python3
"""Asks two provers that know nothing of Lemma for the goals of certificates.

    scripts/reprove.py --lemma build/release/bin/lemma [--certificates DIR] [--limit SECONDS]

E (Debian package eprover) gets the goals as TPTP, cvc5 (package cvc5) as SMT-LIB, as written by
`lemma rules export`. Prints what neither proves, and how many each does. With --canary the axioms'
equations are taken out first: then nothing may be proved but goals whose sides are the same term.
Exit codes: 0, at least 95% are proved (with --canary: none is); 1 otherwise; 77, no prover is there.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def run(command, limit):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * limit + 5)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout


def by_eprover(folder, name, limit):
    output = run(["eprover", "--auto", "-s", "--tptp3-format", f"--cpu-limit={limit}",
                  str(folder / f"{name}.p")], limit)
    return "SZS status Theorem" in output


def by_cvc5(folder, name, limit):
    output = run(["cvc5", f"--tlimit={1000 * limit}", str(folder / f"{name}.smt2")], limit)
    return output.strip() == "unsat"


PROVERS = {"eprover": by_eprover, "cvc5": by_cvc5}


def without_equations(file):
    """Takes out the assumptions that are equations. False if the goal needs none."""
    text = file.read_text()
    lines = [one for one in text.splitlines()
             if not (one.startswith("fof(a") and " = " in one)
             and not (one.startswith("(assert (forall") and "(= " in one)]
    file.write_text("\n".join(lines) + "\n")
    return len(lines) < len(text.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--certificates")
    parser.add_argument("--limit", type=int, default=10, help="processor seconds for a goal")
    parser.add_argument("--only", help="a regular expression for the names of goals")
    parser.add_argument("--canary", action="store_true")
    arguments = parser.parse_args()
    provers = [name for name in PROVERS if shutil.which(name)]
    if not provers:
        print("neither eprover nor cvc5 is installed: nothing is shown")
        return 77
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for form in ("tptp", "smtlib"):
            command = [arguments.lemma, "rules", "export", "--format", form, "-o", place]
            if arguments.certificates:
                command += ["--certificates", arguments.certificates]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        goals = sorted(file.stem for file in folder.glob("*.p"))
        if arguments.only:
            goals = [one for one in goals if re.search(arguments.only, one)]
        if arguments.canary:
            goals = [one for one in goals if without_equations(folder / f"{one}.p")
                     and without_equations(folder / f"{one}.smt2")]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            proved = {name: dict(zip(goals, pool.map(
                lambda goal, by=PROVERS[name]: by(folder, goal, arguments.limit), goals)))
                for name in provers}
    for name in provers:
        print(f"{name}: {sum(proved[name].values())} of {len(goals)}")
    either = [goal for goal in goals if any(proved[name][goal] for name in provers)]
    for goal in goals:
        if (goal in either) == arguments.canary:
            print(("proved without axioms: " if arguments.canary else "not proved: ") + goal)
    print(f"at least one: {len(either)} of {len(goals)}")
    if not goals:
        return 1
    return int(bool(either) if arguments.canary else len(either) < 0.95 * len(goals))


if __name__ == "__main__":
    sys.exit(main())
