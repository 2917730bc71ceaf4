#!/usr/bin/env python3
"""docs/database.md and docs/rules.md say what the database has: each hand-written rule, the candidates not proved,
and the sizes of the files."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "rules"


def section(text, title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]


def hand_written():
    """Names of the rules in the files that people write."""
    files = [f for f in sorted((RULES / "substitutions").glob("*.rules")) if not f.stem.endswith("_found")]
    return [name for file in files for name in re.findall(r"^rule (\w+)", file.read_text(), re.M)]


def rules_in(file):
    return len(re.findall(r"^rule ", file.read_text(), re.M)) if file.exists() else 0


def layout():
    """The table of docs/rules.md."""
    themes = sorted({f.stem.removesuffix("_found") for f in (RULES / "substitutions").glob("*.rules")})
    lines = ["| theme | hand-written | found | certificates, kB |", "|---|---|---|---|"]
    totals = [0, 0, 0]
    for theme in themes:
        files = [RULES / "substitutions" / f"{theme}{kind}.rules" for kind in ("", "_found")]
        packs = [file.with_suffix(".certificates") for file in files]
        row = [*map(rules_in, files), sum(pack.stat().st_size for pack in packs if pack.exists())]
        totals = [a + b for a, b in zip(totals, row)]
        lines.append(f"| `{theme}` | {row[0]} | {row[1]} | {round(row[2] / 1000)} |")
    return "\n".join([*lines, f"| together | {totals[0]} | {totals[1]} | {round(totals[2] / 1000)} |"]) + "\n"


def main():
    text = (ROOT / "docs" / "database.md").read_text()
    wrong = []
    listed = section(text, "Rules that remain hand-written")
    names = re.findall(r"`([a-z0-9_]+)`", listed)
    items = re.findall(r"^- \*.*?\* \((\d+)\)(.*?)(?=^- |^\n|\Z)", listed, re.M | re.S)
    for name in hand_written():
        if names.count(name) != 1:
            wrong.append(f"the hand-written rule {name} is listed {names.count(name)} times")
    for count, item in items:
        found = [name for name in re.findall(r"`(\w+)`", item) if name in hand_written()]
        if len(found) != int(count):
            wrong.append(f"{len(found)} rules are listed where it says {count}: {found[:1]}")
    if sum(int(count) for count, _ in items) != len(hand_written()):
        wrong.append(f"the groups do not make up the {len(hand_written())} hand-written rules")
    if f" {len(hand_written())} hand-written rules" not in " ".join(listed.split()):
        wrong.append(f"it does not say that there are {len(hand_written())} hand-written rules")

    if layout() not in (ROOT / "docs" / "rules.md").read_text():
        wrong.append(f"docs/rules.md does not have this table:\n{layout()}")

    candidates = [json.loads(line) for line in (RULES / "found.candidates").read_text().splitlines()]
    unknown = sum(candidate["outcome"] == "unknown" for candidate in candidates)
    unproved = section(text, "What is not proved")
    rows = [int(count) for count in re.findall(r"^\| (\d+) \|", unproved, re.M)]
    if sum(rows) != unknown or f"{unknown} of the candidates for `rules/` are `unknown`" not in " ".join(unproved.split()):
        wrong.append(f"{unknown} candidates are unknown; the table has {sum(rows)}")
    print("\n".join(wrong) or f"{len(hand_written())} hand-written rules and {unknown} unknown candidates are listed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
