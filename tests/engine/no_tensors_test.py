#!/usr/bin/env python3
"""The engine knows no tensors: engine/ includes itself, base/ and egraph/exact/ alone, and speaks of nothing that only
tensor programs have."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = ("engine/", "base/", "egraph/exact/")
WORDS = re.compile(r"tensor|shape|onnx|dtype|datatype|attribute|valuefacts|operatorid|operatorrecord|lemma::graph\b"
                   r"|projection|tuple|broadcast|constant_of|weight", re.IGNORECASE)


def faults_of(name, text):
    faults = []
    for number, line in enumerate(text.splitlines(), start=1):
        include = re.match(r'\s*#include "([^"]+)"', line)
        if include and not include[1].startswith(ALLOWED):
            faults.append(f"{name}:{number}: includes {include[1]}")
        word = WORDS.search(line)
        if word:
            faults.append(f"{name}:{number}: speaks of '{word[0]}'")
    return faults


def main():
    # A line that must be found, or the search itself is wrong.
    assert len(faults_of("self", '#include "ir/graph.h"\nTensorType type;\n#include "base/result.h"\n')) == 2
    files = sorted(path for path in (ROOT / "engine").rglob("*") if path.suffix in (".h", ".cpp"))
    assert len(files) > 5, "engine/ was not found"
    faults = [fault for path in files for fault in faults_of(path.relative_to(ROOT), path.read_text())]
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
