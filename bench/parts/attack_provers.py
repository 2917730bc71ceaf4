#!/usr/bin/env python3
"""What the two provers say of the true rules and of the false claims of tests/attack/, without exact evaluation: a line
for each claim and the figures of each file. Takes some minutes."""

import argparse
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = ("*.rules", "true_axioms/*.axioms", "false/*.axioms")


def main():
    parser = argparse.ArgumentParser(prog="bench/proofs attack",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="of claims (default: those of tests/attack/)")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--json", action="store_true", help="lines of JSON")
    options = parser.parse_args()
    files = [file.resolve() for file in options.files]
    program = options.build.resolve() / "tests" / "bin" / "attack_table"
    os.chdir(ROOT)
    files = files or [file for words in CLAIMS for file in sorted(Path("tests", "attack").glob(words))]
    os.execv(program, [str(program), *(["--json"] if options.json else []), *map(str, files)])


if __name__ == "__main__":
    main()
