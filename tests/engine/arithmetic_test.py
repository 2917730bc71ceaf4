#!/usr/bin/env python3
"""Runs the example of a language over the engine: arithmetic_test.py PROGRAM"""

import subprocess
import sys

CASES = {
    "(* 0 (+ 1 x))": "0",
    "(+ 0 (* 1 foo))": "foo",
    "(+ (+ 2 x) 3)": "(+ 5 x)",
    "(+ (* (+ 2 3) 4) 5)": "25",
    "(* x y)": "(* x y)",
    "(* 1 (+ 0 (* 1 (+ x 0))))": "x",
}
WRONG = {
    "(+ 1": "a bracket is not closed",
    "(+ 1 ?x)": "the variable ?x in a term",
    ")": "a bracket is closed that was not opened",
    "": "a term is missing",
}


def main():
    program = sys.argv[1]
    for term, simplest in CASES.items():
        done = subprocess.run([program, term], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, simplest + "\n"), (term, done)
    for term, message in WRONG.items():
        done = subprocess.run([program, term], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", message + "\n"), (term, done)


if __name__ == "__main__":
    main()
