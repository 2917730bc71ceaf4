"""Runs a script under the Python of the repository's .venv, which scripts/setup --tests makes.

A script calls `enter()` before it imports onnx, onnxruntime or numpy.
"""

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
REQUIRED = ("numpy", "onnx", "onnxruntime")

# What scripts compare must not depend on timing. Those that time models name their target themselves.
os.environ.setdefault("LEMMA_TARGET", "cpu")


def enter():
    """Replaces this process by the same script under .venv, unless it runs there already."""
    inside = Path(sys.prefix).resolve() == (ROOT / ".venv").resolve()
    if PYTHON.exists() and not inside:
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    missing = [name for name in REQUIRED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{sys.argv[0]}: {', '.join(missing)} not installed; run scripts/setup --tests first", file=sys.stderr)
        sys.exit(2)


SKIPPED = 77  # ctest's code


def enter_or_skip():
    """For tests: `enter()`, or an end with ctest's code of a skipped test where there is no .venv."""
    if not PYTHON.exists():
        print("skipped: scripts/setup --tests has not made the Python environment")
        sys.exit(SKIPPED)
    enter()


def lemma_program(given=None):
    """The `lemma` to test: the one given, else a built one, else the launcher."""
    if given:
        return str(Path(given).resolve())
    built = [ROOT / "build" / preset / "bin" / "lemma" for preset in ("release", "dev")]
    for candidate in [*built, ROOT / "lemma"]:
        if candidate.is_file():
            return str(candidate)
    print(f"{sys.argv[0]}: no lemma program found; build it or name it with --lemma", file=sys.stderr)
    sys.exit(2)
