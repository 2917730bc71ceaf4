#!/usr/bin/env python3
"""Damaged models through `lemma optimize`: one clear line each, no crash, nothing written."""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LEAST_REJECTED = 0.5  # so that a corpus of harmless files would not pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True, help="the program to test")
    parser.add_argument("--count", type=int, default=300)
    arguments = parser.parse_args()
    lemma, count = arguments.lemma, arguments.count
    sanitized = subprocess.run([lemma, "--version"], env={"ASAN_OPTIONS": "help=1"}, capture_output=True, text=True)
    unlimited = ["--memory-limit", "0"] if "AddressSanitizer" in sanitized.stdout + sanitized.stderr else []
    done = subprocess.run([sys.executable, ROOT / "damage" / "run", "--lemma", lemma, "--count", str(count),
                           "--time-limit", "60", "--json", *unlimited], capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"damage/run failed: {done.stderr}")
    report = json.loads(done.stdout)
    for name, tests in report["tests"].items():
        for test in tests if name != "passed" else ():
            print(f"{name}: {test['name']}: {test['reason']}")
    print(f"{report['passed']} of {report['files']} files behave, {report['to_reject']} of them to be rejected")
    behaves = done.returncode == 0 and report["passed"] == report["files"] == count
    sys.exit(0 if behaves and report["to_reject"] >= LEAST_REJECTED * count else 1)


if __name__ == "__main__":
    main()
