#!/usr/bin/env python3
"""docs/database.md lists what the database has: each rule stated by hand, and the candidates not proved."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "rules"


def section(text, title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]


def stated():
    """Names of the rules in the files that people write."""
    files = [f for f in sorted((RULES / "substitutions").glob("*.rules")) if not f.stem.startswith("found")]
    return [name for file in files for name in re.findall(r"^rule (\w+)", file.read_text(), re.M)]


def main():
    text = (ROOT / "docs" / "database.md").read_text()
    wrong = []
    listed = section(text, "Rules that stay stated by hand")
    names = re.findall(r"`([a-z0-9_]+)`", listed)
    items = re.findall(r"^- \*.*?\* \((\d+)\)(.*?)(?=^- |^\n|\Z)", listed, re.M | re.S)
    for name in stated():
        if names.count(name) != 1:
            wrong.append(f"{name}, stated by hand, is listed {names.count(name)} times")
    for count, item in items:
        found = [name for name in re.findall(r"`(\w+)`", item) if name in stated()]
        if len(found) != int(count):
            wrong.append(f"{len(found)} rules are listed where it says {count}: {found[:1]}")
    if sum(int(count) for count, _ in items) != len(stated()):
        wrong.append(f"the groups do not make up the {len(stated())} rules stated by hand")
    if f" {len(stated())} rules that are stated by hand" not in " ".join(listed.split()):
        wrong.append(f"it does not say that {len(stated())} rules are stated by hand")

    candidates = [json.loads(line) for line in (RULES / "found.candidates").read_text().splitlines()]
    unknown = sum(candidate["outcome"] == "unknown" for candidate in candidates)
    unproved = section(text, "What is not proved")
    rows = [int(count) for count in re.findall(r"^\| (\d+) \|", unproved, re.M)]
    if sum(rows) != unknown or f" {unknown} are `unknown`" not in " ".join(unproved.split()):
        wrong.append(f"{unknown} candidates are unknown; the table has {sum(rows)}")
    print("\n".join(wrong) or f"{len(stated())} stated rules and {unknown} unknown candidates are listed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
