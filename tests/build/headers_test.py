#!/usr/bin/env python3
"""Checks that every header compiles on its own, included twice: no other include has to come first.

Usage: headers_test.py COMPILER [FOLDER...]
Without folders: all that cmake/edges.txt names, but the tests.
"""

import concurrent.futures
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ["-std=c++20", "-fsyntax-only", "-O0", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT),
           '-DLEMMA_VERSION="0"', "-x", "c++", "-"]


def folders():
    lines = (ROOT / "cmake" / "edges.txt").read_text().splitlines()
    named = [line.split()[1] for line in lines if line.startswith("folder ")]
    return [folder for folder in named if folder != "tests"]


def headers(folder):
    """Those that lie in the folder or below."""
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.h")}


def complaint(compiler, header):
    """What the compiler says about a source of nothing but the header; empty if all is well."""
    source = f'#include "{header}"\n#include "{header}"\n'
    done = subprocess.run([compiler, *OPTIONS], input=source, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr or f"exit code {done.returncode}"


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    compiler = sys.argv[1]
    names = sorted(set().union(*(headers(folder) for folder in sys.argv[2:] or folders())))
    if not names:
        print("no headers found", file=sys.stderr)
        return 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = list(pool.map(lambda header: complaint(compiler, header), names))
    failed = [(header, said) for header, said in zip(names, complaints) if said]
    for header, said in failed:
        print(f"{header} does not compile on its own:\n{said}")
    print(f"{len(names)} headers, {len(failed)} of them not self-contained")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
