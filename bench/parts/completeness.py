#!/usr/bin/env python3
"""Asks of identities that were written down by hand, and of TASO's rules, whether the generator finds them.

For each identity of bench/identities/*.rules: is it proved as it stands? Does it follow from the candidates that
`lemma rules generate` writes for the operator set named above it, from all found rules in rules/, from these and that
set's candidates together, and from all of rules/? "Both" starts saturation with both sides in the e-graph, "left" with the left side alone, as a search does.
An identity that does not follow from what was generated gets a reason:

  not in the set       an operator does not occur in the set, or there is no such set
  too many operators   a side has more than the set enumerates
  hidden by sizes      no inputs of the set have the shapes that it declares
  refinement           the right side is defined where the left one is not; equal values are enumerated only
  lost                 the set could have it, but it does not follow from what was found
  one spelling only    it follows, but not from the left side alone

Exit code: 0 all identities follow that --least asks for (a share; default 0.9), 4 otherwise.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import results

sys.path[:0] = [str(results.ROOT / "scripts"), str(results.ROOT / "checkers")]

from rule_evaluation.language import rules_of

IDENTITIES = results.ROOT / "bench" / "identities"
SETS = results.ROOT / "rules" / "operator_sets"
SHARED = Path(os.environ.get("LEMMA_SHARED", results.ROOT.parent / "shared"))
TASO = SHARED / "peers" / "taso" / "graph_subst.pb"
STARTS = ("both", "left")
BASES = ("candidates", "found", "generated", "rules")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/generator completeness",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", type=Path, default=results.ROOT / "build" / "release" / "bin" / "lemma")
    parser.add_argument("--sets", nargs="*", help="only identities of these sets")
    parser.add_argument("--lists", nargs="*", help="only these lists: literature, laws, taso")
    parser.add_argument("--bases", nargs="*", choices=BASES, default=BASES)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.9, help="share that has to follow from what was generated")
    results.add_option(parser)
    return parser.parse_args()


# ---- Identities ------------------------------------------------------------------------------------------------------

class Identity:
    """A rule, its text, the list it is from and the operator set in which it ought to be found."""

    def __init__(self, text, name_of_list, operator_set):
        self.text, self.list, self.set = text, name_of_list, operator_set
        self.rule = rules_of(text, name_of_list)[0]
        self.name = self.rule.name
        self.proved, self.follows = False, {}

    def operators(self):
        return {node.operator for node in self.rule.nodes if node.operator}

    def size(self):
        """The number of operators of the larger side."""
        return max(sum(1 for number in self.rule.nodes_of(roots) if self.rule.nodes[number].operator)
                   for roots in (self.rule.left, self.rule.right))


def written_down(file):
    """The identities of a file; each is preceded by a line `# set NAME`."""
    found = re.findall(r"^# set (\w+)\n(rule .*?)(?:\n\n|\Z)", file.read_text(), re.MULTILINE | re.DOTALL)
    return [Identity(text.rstrip("\n") + "\n", file.stem, operator_set) for operator_set, text in found]


def of_taso(lemma):
    """TASO's rules, or none where its file is not at hand."""
    if not TASO.exists():
        print(f"TASO's rules are left out: {TASO} is missing (or LEMMA_SHARED)", file=sys.stderr)
        return []
    done = subprocess.run([lemma, "rules", "import", TASO], capture_output=True, text=True, check=True)
    blocks = re.findall(r"^(rule .*?)(?:\n\n|\Z)", done.stdout, re.MULTILINE | re.DOTALL)
    return [Identity(text.rstrip("\n") + "\n", "taso", "taso") for text in blocks]


def all_identities(options):
    found = [one for file in sorted(IDENTITIES.glob("*.rules")) for one in written_down(file)] + of_taso(options.lemma)
    return [one for one in found if (not options.sets or one.set in options.sets)
            and (not options.lists or one.list in options.lists)]


def write(identities, file):
    file.write_text("\n".join(one.text for one in identities))
    return file


# ---- Questions to lemma ----------------------------------------------------------------------------------------------

def decide(options, identities, folder):
    """Sets `proved`."""
    file, verdicts = write(identities, folder / "identities.rules"), folder / "verdicts"
    subprocess.run([options.lemma, "rules", "verify", file, "--verdicts", verdicts, "--threads", str(options.threads)],
                   capture_output=True, check=False)
    for one, line in zip(identities, map(json.loads, verdicts.read_text().splitlines()), strict=True):
        one.proved = line["verdict"] == "proved" and not line.get("added")


def derive(options, identities, name, basis, folder):
    """Sets `follows` for a basis, from both starts."""
    file = write(identities, folder / "identities.rules")
    for start in STARTS:
        done = subprocess.run([options.lemma, "rules", "minimize", file, "--basis", basis, "--start", start, "--json",
                               "--threads", str(options.threads)], capture_output=True, text=True, check=True)
        for one, answer in zip(identities, json.loads(done.stdout)["rules"], strict=True):
            one.follows[name, start] = answer["derivable"]


def found_rules(folder):
    """All found rules of rules/ as one file."""
    file = folder / "found.rules"
    file.write_text("\n".join(one.read_text() for one in sorted(
        (results.ROOT / "rules" / "substitutions").glob("*_found.rules"))))
    return file


def candidates_of(options, operator_set, folder):
    file = folder / f"{operator_set}.rules"
    subprocess.run([options.lemma, "rules", "generate", "--set", SETS / f"{operator_set}.set", "-o", file, "--json"],
                   capture_output=True, check=True)
    return file


def ask(options, identities, folder):
    decide(options, identities, folder)
    found = found_rules(folder)
    for operator_set in sorted({one.set for one in identities}):
        own = [one for one in identities if one.set == operator_set]
        if not (SETS / f"{operator_set}.set").exists():
            continue
        candidates = candidates_of(options, operator_set, folder)
        if "candidates" in options.bases:
            derive(options, own, "candidates", candidates, folder)
        if "generated" in options.bases:
            together = folder / "together.rules"
            together.write_text(found.read_text() + "\n" + re.sub(r"(?m)^rule ", "rule candidate_", candidates.read_text()))
            derive(options, own, "generated", together, folder)
    for name, basis in (("found", found), ("rules", results.ROOT / "rules")):
        if name in options.bases:
            derive(options, identities, name, basis, folder)


# ---- Reasons ---------------------------------------------------------------------------------------------------------

class OperatorSet:
    """What a set enumerates: shapes of its inputs, its operators and their number in a term."""

    def __init__(self, name):
        file = SETS / f"{name}.set"
        text = file.read_text() if file.exists() else ""
        self.shapes = {tuple(map(int, re.findall(r"\d+", shape))) for shape in
                       re.findall(r"^(?:input|weight) [^:]*: *\[([^\]]*)\]", text, re.MULTILINE)}
        self.operators = set(re.findall(r"\b([A-Z]\w*)(?=[({])", text))
        limit = re.search(r"^limit operators (\d+)", text, re.MULTILINE)
        self.most = int(limit[1]) if limit else 2


def fits(rule, shapes, sizes, at=0):
    """Whether inputs from the given one on have shapes of the set, for some values of the sizes."""
    if at == len(rule.inputs):
        return True
    items = rule.inputs[at].shape
    for shape in shapes:
        known = dict(sizes)
        if len(shape) == len(items) and all(solve(item, size, known) for item, size in zip(items, shape)) \
                and fits(rule, shapes, known, at + 1):
            return True
    return False


def solve(item, size, known):
    """Whether an item of a declared shape may have a size; adds what follows to `known`."""
    if item[0] == "literal":
        return item[1] == size
    if item[0] == "variable":
        return known.setdefault(item[1], size) == size
    if item[0] == "*" and item[1][0] == "literal":
        return size % item[1][1] == 0 and solve(item[2], size // item[1][1], known)
    if item[0] == "+" and item[1] == item[2]:
        return size % 2 == 0 and solve(item[1], size // 2, known)
    if item[0] == "+" and item[2][0] == "literal":
        return size > item[2][1] and solve(item[1], size - item[2][1], known)
    if item[0] == "+":  # sets divide an axis into halves only
        return size % 2 == 0 and solve(item[1], size // 2, known) and solve(item[2], size // 2, known)
    return item[0] != "splice"


def reason(one):
    """Why an identity does not follow from what was generated."""
    known = OperatorSet(one.set)
    missing = one.operators() - known.operators
    if missing:
        return "not in the set", ", ".join(sorted(missing)) if known.operators else f"there is no set {one.set}"
    if one.size() > known.most:
        return "too many operators", f"{one.size()} of at most {known.most}"
    if not fits(one.rule, known.shapes, {}):
        return "hidden by sizes", "no inputs of the set have these shapes"
    if one.follows.get(("generated", "both")):
        return "one spelling only", "it follows from both sides"
    if not one.rule.is_equation:
        return "refinement", "its sides differ in where they are defined"
    return "lost", "the candidates have it, the found rules do not" if one.follows.get(("candidates", "both")) else "no candidate"


# ---- Table -----------------------------------------------------------------------------------------------------------

def share_of(identities, key):
    return sum(1 for one in identities if one.follows.get(key))


def rows_of(identities):
    keys = [(basis, start) for basis in BASES for start in STARTS]
    rows = []
    for name in sorted({one.list for one in identities}):
        part = [one for one in identities if one.list == name]
        groups = sorted({one.set for one in part})
        for group in groups if len(groups) > 1 else []:
            own = [one for one in part if one.set == group]
            rows.append([name, group, len(own), sum(one.proved for one in own), *(share_of(own, key) for key in keys)])
        rows.append([name, "all", len(part), sum(one.proved for one in part), *(share_of(part, key) for key in keys)])
    return rows


def main():
    options = arguments()
    identities = all_identities(options)
    with tempfile.TemporaryDirectory(prefix="lemma-completeness-") as name:
        ask(options, identities, Path(name))
    reasons = Counter()
    for one in identities:
        if not one.follows.get(("generated", "left")):
            kind, text = reason(one)
            reasons[one.list, kind] += 1
            print(f"{one.list} {one.name} ({one.set}): {kind}: {text}{'' if one.proved else '; not proved as it stands'}")
    rows = rows_of(identities)
    print("list, set, identities, proved, " + ", ".join(f"{basis} {start}" for basis in BASES for start in STARTS))
    for row in rows:
        print(*row, sep=", ")
    for (name, kind), count in sorted(reasons.items()):
        print(f"{name}: {count} {kind}")
    results.update(options.result, rows)
    by_hand = [one for one in identities if one.list != "taso"] or identities
    return 0 if share_of(by_hand, ("generated", "both")) >= options.least * len(by_hand) else 4


if __name__ == "__main__":
    sys.exit(main())
