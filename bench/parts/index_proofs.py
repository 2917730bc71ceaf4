#!/usr/bin/env python3
"""Index proofs of the rules or axioms of files, or of all files of folders.

    bench/proofs index [--build build/release] [--slowest N] [--reasons] [--axioms] [--mutants] [FILE|FOLDER...]

Prints for each file how many claims are proved, refuted by exact evaluation, and neither, with the processor time of
the proofs; then the slowest ones. With --axioms, also how many follow from the shipped axioms. With --mutants, small
changes of the rules of rules/parallel/ and tests/verifier/parallel/ as well. Without files, those rules.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def files_of(names):
    for name in names:
        path = Path(name)
        yield from sorted(entry for entry in path.iterdir() if entry.suffix in (".rules", ".axioms")) if path.is_dir() else [path]


def answers(options, file):
    command = [options.build / "tests" / "bin" / "attack_table", "--json", "--index", "--evaluation", "--reasons"]
    if options.axioms:
        command.append("--axioms")
    done = subprocess.run([*map(str, command), str(file.resolve())], capture_output=True, text=True, cwd=ROOT, check=False)
    claims = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    unread = [line for line in done.stderr.splitlines() if ", not one" in line or "not bound" in line]
    if done.returncode not in (0, 4) or not claims:
        sys.exit(f"{file}: {done.stderr}")
    for line in unread:
        print(line, file=sys.stderr)
    return claims


def show(file, claims, axioms):
    proved = sum(claim["index"] for claim in claims)
    refuted = sum(claim["refuted"] for claim in claims)
    unknown = sum(not claim["index"] and not claim["refuted"] for claim in claims)
    wrong = [claim["claim"] for claim in claims if claim["index"] and claim["refuted"]]
    seconds = sum(claim["index_seconds"] for claim in claims)
    line = f"{file}: {len(claims)} claims, {proved} proved, {refuted} refuted, {unknown} unknown, {seconds:.1f} s"
    if axioms:
        line += f"; from axioms {sum(claim['axioms'] for claim in claims)}, both {sum(claim['axioms'] and claim['index'] for claim in claims)}"
    print(line, flush=True)
    for name in wrong:
        print(f"  proved and refuted: {name}")
    return not wrong


def main():
    parser = argparse.ArgumentParser(prog="bench/proofs index",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=lambda name: Path(name).resolve(), default=ROOT / "build" / "release")
    parser.add_argument("--slowest", type=int, default=5)
    parser.add_argument("--reasons", action="store_true", help="why the others are not proved")
    parser.add_argument("--axioms", action="store_true")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("files", nargs="*", default=[str(ROOT / "rules" / "parallel"), str(ROOT / "tests" / "verifier" / "parallel")])
    options = parser.parse_args()
    claims, sound = [], True
    for file in files_of(options.files):
        of_file = answers(options, file)
        sound = show(file.name, of_file, options.axioms) and sound
        claims += of_file
    sound = show("together", claims, options.axioms) and sound
    for claim in sorted(claims, key=lambda claim: -claim["index_seconds"])[:options.slowest]:
        print(f"  {claim['claim']}: {claim['index_seconds']:.2f} s")
    if options.reasons:
        for claim in claims:
            if not claim["index"]:
                print(f"  {claim['claim']}: {claim['index_reason'].splitlines()[0]}")
    if options.mutants:
        done = subprocess.run([str(options.build / "tests" / "bin" / "verifier_parallel_test"), "--gtest_filter=*Mutants*"],
                              env={**os.environ, "LEMMA_ALL_MUTANTS": "1"}, cwd=ROOT, capture_output=True, text=True, check=False)
        print("\n".join(line for line in done.stdout.splitlines() if " mutants, " in line))
        sound = sound and done.returncode == 0
    return 0 if sound else 4


if __name__ == "__main__":
    sys.exit(main())
