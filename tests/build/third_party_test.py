#!/usr/bin/env python3
"""THIRD_PARTY.md names every package that scripts/setup installs for users."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Tools that make the build and leave nothing in it.
BUILD_TOOLS = {"ccache", "cmake", "ninja-build", "protobuf-compiler", "python3-venv"}


def names_in(file):
    lines = (ROOT / "scripts" / file).read_text().splitlines()
    return {re.split(r"[=<>~]", line)[0] for line in lines if line and not line.startswith("#")}


def main():
    told = set(re.findall(r"`([^`]+)`", (ROOT / "THIRD_PARTY.md").read_text()))
    needed = (names_in("packages.txt") | names_in("requirements.txt")) - BUILD_TOOLS
    missing = sorted(needed - told)
    if len(needed) < 10 or missing:
        print(f"THIRD_PARTY.md does not name {', '.join(missing)} (of {len(needed)} packages)")
    return 1 if len(needed) < 10 or missing else 0


if __name__ == "__main__":
    sys.exit(main())
