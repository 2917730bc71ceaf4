#!/usr/bin/env python3
"""Runs scripts/tools_test where the Python environment of scripts/setup is there; else skips (77)."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "bin" / "python"


def main():
    if not PYTHON.exists():
        print("skipped: there is no .venv; scripts/setup makes it")
        return 77
    os.execv(PYTHON, [str(PYTHON), str(ROOT / "scripts" / "tools_test")])


if __name__ == "__main__":
    sys.exit(main())
