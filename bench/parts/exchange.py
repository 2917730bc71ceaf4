"""Exports the shipped rules, the axioms and TASO's own rules to formats of other systems, and imports the files again.

A row for each collection and format: how many rules there are, how many are exported, how many rules the file has (TASO's
format has one for each instance) and how many are imported from it. That these are the same rules is tested by
tests/verifier/exchange. Exit code 4 if a file is not imported as a whole.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import results

SHARED = Path(os.environ.get("LEMMA_SHARED", results.ROOT.parent / "shared"))
TASO = SHARED / "peers" / "taso" / "graph_subst.pb"


def arguments():
    parser = argparse.ArgumentParser(prog="bench/proofs exchange", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", type=Path, default=results.ROOT / "build" / "release" / "bin" / "lemma")
    results.add_option(parser)
    return parser.parse_args()


def run(*command):
    """Standard output. A command that fails ends the measurement."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=results.ROOT, check=False)
    if done.returncode:
        sys.exit(f"bench/proofs exchange: {' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def row(lemma, folder, name, rules, form):
    """The figures, and whether all of the file came back. `rules` is None for the shipped ones."""
    out, again = folder / f"{name}.{form}".replace(" ", "_"), folder / "again.rules"
    printed = run(lemma, "rules", "export", *([rules] if rules else []), "--format", form, "-o", out)
    written, left_out = int(printed.split()[0]), int(re.search(r"; (\d+) of \d+ left out", printed)[1])
    total = int(re.search(r"of (\d+) left out", printed)[1])
    imported = int(run(lemma, "rules", "import", out, "--format", form, "-o", again).split()[0])
    print(f"{name}, {form}, {total}, {total - left_out}, {written}, {imported}", flush=True)
    return [name, form, total, total - left_out, written, imported], imported == written


def collections(lemma, folder):
    """Name and file of each; None for the shipped rules."""
    yield "shipped rules", None
    by_hand = folder / "by_hand.rules"
    files = sorted((results.ROOT / "rules" / "substitutions").glob("*.rules"))
    by_hand.write_text("\n".join(file.read_text() for file in files if not file.stem.endswith("_found")))
    yield "shipped rules by hand", by_hand
    axioms = folder / "all.rules"
    axioms.write_text("\n".join(file.read_text() for file in sorted((results.ROOT / "rules" / "axioms").glob("*.axioms"))))
    yield "axioms", axioms
    if not TASO.exists():
        print(f"bench/proofs exchange: {TASO} is absent; TASO's rules are left out", file=sys.stderr)
        return
    taso = folder / "taso.rules"
    run(lemma, "rules", "import", TASO, "-o", taso)
    yield "TASO's rules", taso


def main():
    options = arguments()
    rows, complete = [], True
    print("collection, format, rules, exported, rules of the file, imported from it")
    with tempfile.TemporaryDirectory(prefix="lemma-exchange-") as name:
        for collection, rules in collections(options.lemma, Path(name)):
            for form in ("taso", "egg", "egglog"):
                figures, whole = row(options.lemma, Path(name), collection, rules, form)
                rows.append(figures)
                complete = complete and whole
    results.update(options.result, rows)
    return 0 if complete else 4


if __name__ == "__main__":
    sys.exit(main())
