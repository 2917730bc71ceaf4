#!/usr/bin/env python3
"""Checks that the sources keep to cmake/edges.txt.

Reports every include of a folder that the including folder may not use, every third-party header
outside the .cpp files of the folders it belongs to, every header without `#pragma once`, every
source that its folder's CMakeLists.txt does not list, and every entry of the table that no include needs. The table of folders in docs/architecture.md, where there
is one, has to name the same folders in the same order, with what each may use.

Usage: check_edges.py [ROOT]
"""

import argparse
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
HEADER_SUFFIXES = {".h", ".hpp", ".cuh"}
SOURCE_SUFFIXES = HEADER_SUFFIXES | {".cpp", ".cu"}


class Edges:
    """The table: which folder may use which, and who owns third-party headers."""

    def __init__(self, text):
        self.folders = {}
        self.headers = {}
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            left, colon, right = line.partition(":")
            words = left.split()
            if not colon or len(words) != 2 or words[0] not in ("folder", "header"):
                raise ValueError(f"edges.txt:{number}: cannot read '{line}'")
            table = self.folders if words[0] == "folder" else self.headers
            table[words[1]] = set(right.split())
        named = set().union(*self.folders.values(), *self.headers.values()) - {"*"}
        unknown = sorted(named - set(self.folders))
        if unknown:
            raise ValueError(f"edges.txt: no such folder: {', '.join(unknown)}")
        order = list(self.folders)
        for folder, allowed in self.folders.items():
            for used in sorted(allowed - {"*"}):
                if order.index(used) >= order.index(folder):
                    raise ValueError(f"edges.txt: {folder} uses {used}, which comes no earlier")

    def folder_of(self, path):
        """The innermost declared folder that holds the path, or None."""
        parts = path.split("/")[:-1]
        while parts:
            folder = "/".join(parts)
            if folder in self.folders:
                return folder
            parts.pop()
        return None

    def may_use(self, folder, used):
        allowed = self.folders[folder]
        return used == folder or "*" in allowed or used in allowed

    def owners_of_header(self, header):
        for prefix, owners in self.headers.items():
            if header.startswith(prefix) and self.folder_of(header) is None:
                return owners
        return None


def check_source(edges, path, text):
    """The complaints about one file; its path is relative to the root."""
    folder = edges.folder_of(path)
    is_header = pathlib.PurePosixPath(path).suffix in HEADER_SUFFIXES
    if is_header and "#pragma once" not in text:
        yield f"{path}: header without #pragma once"
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        included = match.group(1)
        used = edges.folder_of(included)
        if used is not None and not edges.may_use(folder, used):
            yield f"{path}:{number}: {folder} may not use {used}: {included}"
        owners = edges.owners_of_header(included)
        if owners is None:
            continue
        if is_header:
            yield f"{path}:{number}: third-party header belongs in a .cpp file: {included}"
        top_folder = folder if folder in owners else path.split("/")[0]
        if top_folder not in owners:
            yield f"{path}:{number}: {folder} may not use third-party header {included}"


def used_folders(edges, text):
    """The declared folders whose headers a source includes."""
    matches = map(INCLUDE.match, text.splitlines())
    return {edges.folder_of(match.group(1)) for match in matches if match}


def check_needed(edges, used):
    """Complains about entries of the table that no include needs. `used`: the folders that each folder includes."""
    for folder, allowed in edges.folders.items():
        for needless in sorted(allowed - {"*"} - used.get(folder, set())) if folder in used else []:
            yield f"cmake/edges.txt: {folder} may use {needless}, but includes nothing of it"


def check_listed(root, path):
    """Complains about a source that the nearest CMakeLists.txt does not name."""
    for folder in (root / path).parents:
        lists = folder / "CMakeLists.txt"
        if not lists.exists():
            continue
        name = (root / path).relative_to(folder).as_posix()
        words = re.split(r"[\s()]+", lists.read_text())
        if name not in words:
            yield f"{path}: not listed in {lists.relative_to(root)}"
        return


ROW = re.compile(r"^\| `([a-z_/]+)/` \|.*\|([^|]*)\|$", re.MULTILINE)


def check_document(edges, document):
    """Complains where the table `| folder | what it does | may use |` differs from edges.txt."""
    rows = ROW.findall(document.read_text())
    documented = {folder: set(re.findall(r"`([a-z_/]+)`", used)) if used.strip() != "all" else {"*"}
                  for folder, used in rows}
    # The folders of tests and benchmarks, and those without sources yet, are no part of the table.
    root = document.parents[1]
    expected = {folder: used for folder, used in edges.folders.items()
                if folder not in ("tests", "bench") and (root / folder / "CMakeLists.txt").exists()}
    if list(documented) != list(expected):
        yield f"{document.relative_to(root)}: its folders are {', '.join(documented)}; expected {', '.join(expected)}"
        return
    for folder, used in expected.items():
        if documented[folder] != used:
            yield (f"{document.relative_to(root)}: {folder} may use {', '.join(sorted(used)) or 'nothing'}, not "
                   f"{', '.join(sorted(documented[folder])) or 'nothing'}")


def check_tree(root):
    edges = Edges((root / "cmake" / "edges.txt").read_text())
    paths = []
    for top in sorted({folder.split("/")[0] for folder in edges.folders}):
        paths += [path for path in sorted((root / top).rglob("*"))
                  if path.suffix in SOURCE_SUFFIXES and path.is_file()]
    document = root / "docs" / "architecture.md"
    complaints = list(check_document(edges, document)) if document.exists() else []
    used = {}
    for path in paths:
        relative = path.relative_to(root).as_posix()
        # Trees that stand for outside projects, or that are meant to be refused.
        if re.match(r"tests/(build|install)/\w+/", relative):
            continue
        text = path.read_text(errors="replace")
        complaints += check_source(edges, relative, text)
        used.setdefault(edges.folder_of(relative), set()).update(used_folders(edges, text))
        if path.suffix == ".cpp":
            complaints += check_listed(root, relative)
    complaints += check_needed(edges, used)
    return len(paths), complaints


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
    if count == 0:
        print(f"no sources below {root}", file=sys.stderr)
        return 2
    print(f"{count} files, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
