"""The table by file, and what failed."""


def read_classes(directory):
    """The class of each rule, from its certificate, and of each axiom, from axioms.rounding."""
    classes = {}
    for path in sorted((directory / "substitutions").glob("*.certificates")):
        rule = None
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("rule "):
                rule = line.split()[1]
            elif line.startswith("class "):
                classes[rule] = line.split()[1]
    table = directory / "axioms.rounding"
    if table.exists():
        for line in table.read_text(encoding="utf-8").splitlines():
            words = line.split("#")[0].split()
            if len(words) == 2:
                classes[words[0]] = words[1]
    return classes


COLUMNS = (("rules", lambda rows: len(rows)),
           ("instances", lambda rows: total(rows, "instances")),
           ("size 0", lambda rows: total(rows, "size_0")),
           ("size 1", lambda rows: total(rows, "size_1")),
           ("above 256", lambda rows: total(rows, "above_256")),
           ("undefined elements", lambda rows: total(rows, "undefined")),
           ("in floating point", lambda rows: total(rows, "floats")),
           ("rules that fail", lambda rows: sum(1 for row in rows if is_wrong(row))))


def total(rows, name):
    return sum(row[name] for row in rows)


def is_wrong(row):
    return bool(row["failures"]) or row["instances"] < row["wanted"]


def print_table(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = [cell.ljust(width) if i == 0 else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


def print_failures(row):
    for one in row["failures"]:
        undefined = f"; undefined elements in {', '.join(one['undefined'])}" if one["undefined"] else ""
        print(f"{row['file']}: {row['name']} ({row['relation']}) fails {one['direction']}, "
              f"{one['kind']}: {one['difference']}\n    where {one['instance']}{undefined}")
    if row["instances"] < row["wanted"]:
        why = "; ".join(row.get("rejected", []))
        print(f"{row['file']}: {row['name']} has {row['instances']} instances only ({why})")


def print_report(rows, options):
    files = sorted({row["file"] for row in rows})
    lines = [["file"] + [name for name, _ in COLUMNS]]
    for name in files:
        part = [row for row in rows if row["file"] == name]
        lines.append([name] + [str(value(part)) for _, value in COLUMNS])
    lines.append(["all"] + [str(value(rows)) for _, value in COLUMNS])
    print_table(lines)
    print(f"seed {options.seed}")
    wrong = [row for row in rows if is_wrong(row)]
    for row in wrong:
        print_failures(row)
    ties = [row["name"] for row in rows if row["ties"]]
    if ties:
        print(f"{len(ties)} bitwise rules depend on whether a maximum of -0 and 0 is -0 or 0, which no "
              "standard settles: " + ", ".join(ties))
    return 4 if wrong else 0
