#!/usr/bin/env python3
"""The ONNX backend tests through `lemma run`: nothing wrong, nothing crashed, and as much passed as before.

What is unsupported is counted, never hidden: a test that turns from passed to unsupported fails here too.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77

# For the data of libonnx-testdata 1.12. Raise a figure when more passes.
LEAST_PASSED = {"node": 925}
# Of releases of the onnx package, where scripts/conformance --onnx has fetched them.
LEAST_OF_RELEASE = {"1.22.0": 1756}
# Of these, tests whose results are drawn at random: the values are not compared, only types, shapes and what every draw has.
BY_STRUCTURE = {
    "test_bernoulli", "test_bernoulli_double", "test_bernoulli_double_expanded", "test_bernoulli_expanded", "test_bernoulli_seed",
    "test_bernoulli_seed_expanded", "test_training_dropout", "test_training_dropout_default", "test_training_dropout_default_mask",
    "test_training_dropout_mask"}
# Tests of libonnx-testdata 1.12 whose data does not belong to their models, with the reason; those of 1.22 pass.
WRONG_DATA = {"test_adam_multiple": "its results were made with an epsilon of 0.01, which the model does not give"}


def has_data():
    usual = pathlib.Path("/usr/share/libonnx-testdata/data/node")
    if usual.is_dir():
        return True
    try:
        listing = subprocess.run(["dpkg", "-L", "libonnx-testdata"], capture_output=True, text=True)
    except FileNotFoundError:
        return False
    return "/node\n" in listing.stdout


def check(lemma, suite, least, *words):
    command = [sys.executable, ROOT / "scripts" / "conformance", "--lemma", lemma, "--suite", suite, "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout:
        print(f"{suite}: scripts/conformance failed: {done.stderr}")
        return False
    report = json.loads(done.stdout)
    counts = {name: report[name] for name in ("passed", "wrong", "crashed", "unsupported")}
    drawn = set(report["by_structure"])
    print(f"{suite}: {counts}, at least {least} must pass; {len(drawn)} by structure only")
    if drawn - BY_STRUCTURE:
        print(f"  by structure only, and not known for it: {', '.join(sorted(drawn - BY_STRUCTURE))}")
        return False
    known = {} if "--onnx" in words else WRONG_DATA
    wrong = [test for test in report["tests"]["wrong"] if test["name"] not in known]
    for name, tests in (("wrong", wrong), ("crashed", report["tests"]["crashed"])):
        for test in tests:
            print(f"  {name}: {test['name']}: {test['reason']}")
    return not wrong and counts["crashed"] == 0 and counts["passed"] >= least


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True, help="the program to test")
    lemma = parser.parse_args().lemma
    if not has_data():
        print("skipped: libonnx-testdata is not installed")
        sys.exit(SKIPPED)
    results = [check(lemma, suite, least) for suite, least in LEAST_PASSED.items()]
    for version, least in LEAST_OF_RELEASE.items():
        if (ROOT / "build" / "testdata" / f"onnx-{version}").is_dir():
            results.append(check(lemma, "node", least, "--onnx", version))
        else:
            print(f"onnx {version}: not fetched, so not run")
    # What is made of the models gives the same results; a few of them, for time.
    if (ROOT / ".venv").is_dir():
        results.append(check(lemma, "node", 15, "--optimize", "--part", "7/40"))
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
