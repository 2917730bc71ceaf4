#!/usr/bin/env python3
"""The README's first command does what the README says: it writes an optimized model."""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77


def shell_commands(text):
    """The lines of the fenced blocks marked `sh`, in order."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def has_optimize(build_folder):
    program = build_folder / "bin" / "lemma"
    said = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return re.search(r"^\s+optimize\b", said, re.MULTILINE) is not None


def fail(message):
    print(message)
    sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-folder", required=True, type=pathlib.Path)
    build_folder = parser.parse_args().build_folder

    first, second = shell_commands((ROOT / "README.md").read_text())[:2]
    words = shlex.split(first)
    if words[:2] != ["./lemma", "optimize"] or "-o" not in words:
        fail(f"the README's first command is no optimization: {first}")
    if second != "scripts/test":
        fail(f"the README's second command does not run the tests: {second}")
    if build_folder.parent != ROOT / "build":
        print("skipped: the launcher knows only builds of a preset")
        sys.exit(SKIPPED)
    if not has_optimize(build_folder):
        print("skipped: this program has no `optimize`")
        sys.exit(SKIPPED)

    written = ROOT / words[words.index("-o") + 1]
    written.unlink(missing_ok=True)
    environment = dict(os.environ, LEMMA_PRESET=build_folder.name)
    result = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    print(result.stdout, result.stderr, sep="\n")
    if result.returncode != 0:
        fail(f"exit code {result.returncode}: {first}")
    if not written.is_file():
        fail(f"no file {written.relative_to(ROOT)} after: {first}")
    check = "import onnx, sys; onnx.checker.check_model(sys.argv[1], full_check=True)"
    python = ROOT / ".venv" / "bin" / "python"
    if python.exists() and subprocess.run([python, "-c", check, written]).returncode != 0:
        fail("onnx.checker refuses the written model")


if __name__ == "__main__":
    main()
