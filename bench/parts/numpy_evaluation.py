#!/usr/bin/env python3
"""Evaluates all axioms and all shipped rules with numpy (checkers/evaluate_rules), and says how long it takes.

Exit code: 0 nothing fails, 4 otherwise.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(prog="bench/proofs numpy",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=300, help="of each rule")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    code = 0
    for kind in (["--axioms"], []):
        words = [*kind, "--instances", str(options.instances), "--jobs", str(options.jobs)]
        print("checkers/evaluate_rules", *words, flush=True)
        begin = time.monotonic()
        code = max(code, subprocess.run([ROOT / "checkers" / "evaluate_rules", *words], check=False).returncode)
        print(f"{time.monotonic() - begin:.0f} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
