#!/usr/bin/env python3
"""Checks that what operators mean is said in operators/ alone.

Reports every string in the sources that is the name of an operator, or a call of one, outside operators/, procedures/, the tests
and the benchmarks, unless cmake/operator_names.txt lists the file with a reason; and every file listed there that
names none.

Usage: check_operator_names.py [ROOT]
"""

import argparse
import pathlib
import re
import sys

RECORD = re.compile(r'(?:record<|OperatorRecord\{\s*\.name = )"(\w+)"')
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
CALL = re.compile(r'"([A-Za-z]\w*)(?:"|\(|\{)')
SUFFIXES = {".h", ".hpp", ".cuh", ".cpp", ".cu"}
FOLDER = re.compile(r"^folder (\w+)", re.MULTILINE)
SPEAKS_OF_OPERATORS = {"operators", "procedures", "tests", "bench"}


def operator_names(root):
    names = set()
    for path in sorted((root / "operators").glob("*.cpp")):
        names.update(RECORD.findall(path.read_text()))
    return names


def allowed_files(text):
    """Path to reason; each line is `path: reason`."""
    allowed = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        path, colon, reason = line.partition(":")
        if not colon or not reason.strip():
            raise ValueError(f"operator_names.txt:{number}: '{line}' gives no reason")
        allowed[path.strip()] = reason.strip()
    return allowed


def names_in(text, names):
    """(line number, name) of each operator named in a string; comments and includes left out."""
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        if code.lstrip().startswith("#"):
            continue
        for string in STRING.findall(code):
            match = CALL.match(string)
            if match and match.group(1) in names:
                yield number, match.group(1)


def check_tree(root):
    names = operator_names(root)
    if not names:
        raise ValueError(f"no operator records below {root}")
    allowed = allowed_files((root / "cmake" / "operator_names.txt").read_text())
    complaints, naming, count = [], set(), 0
    folders = set(FOLDER.findall((root / "cmake" / "edges.txt").read_text())) - SPEAKS_OF_OPERATORS
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        relative = path.relative_to(root).as_posix()
        count += 1
        for number, name in names_in(path.read_text(errors="replace"), names):
            naming.add(relative)
            if relative not in allowed:
                complaints.append(f"{relative}:{number}: names the operator {name}")
    complaints += [f"cmake/operator_names.txt: {path} names no operator"
                   for path in sorted(set(allowed) - naming)]
    return count, complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    try:
        count, complaints = check_tree(root)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    for complaint in complaints:
        print(complaint)
    print(f"{count} files, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
