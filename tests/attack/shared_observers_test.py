#!/usr/bin/env python3
"""Models and an explanation that once got past what observes undefined elements, as they were found (../shared/audit3, or
$LEMMA_SHARED/audit3). Without that folder the test is skipped; observed_models_test.py and forged_facts_test.cpp say the
same in the words of this project."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
FOLDER = pathlib.Path(os.environ.get("LEMMA_SHARED", ROOT.parent / "shared")) / "audit3"
LEMMA = CHECKER = None


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=ROOT)


class Observers(unittest.TestCase):
    def optimized(self, name):
        folder = tempfile.TemporaryDirectory(prefix="lemma-observers-")
        self.addCleanup(folder.cleanup)
        result = pathlib.Path(folder.name) / f"{name}.onnx"
        done = run(LEMMA, "optimize", FOLDER / f"{name}.onnx", "-o", result, "--no-measure")
        self.assertEqual(done.returncode, 0, done.stderr)
        return FOLDER / f"{name}.onnx", result

    def test_the_forged_fact_is_refused(self):
        done = run(CHECKER, ROOT / "rules" / "substitutions", FOLDER / "forged_given_zero.explanation")
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("nobody promises that 'input x' is defined finite [0, 0]", done.stderr)

    def test_a_conversion_keeps_the_division(self):
        import onnx
        _, result = self.optimized("observed_f4")
        self.assertIn("Div", [node.op_type for node in onnx.load(result).graph.node])

    def test_what_is_seen_of_a_division_by_zero_stays(self):
        import numpy
        import onnxruntime
        onnxruntime.set_default_logger_severity(4)
        generator = numpy.random.default_rng(1)
        for name in ("if_isnan_outside", "equal_itself"):
            models = self.optimized(name)
            sessions = [onnxruntime.InferenceSession(str(one), providers=["CPUExecutionProvider"]) for one in models]
            for s in (0, 1, -2):
                feeds = {"s": numpy.array(s, numpy.float32), **{one: generator.normal(size=(64, 64)).astype(numpy.float32) for one in "xy"}}
                before, after = (one.run(None, feeds)[0] for one in sessions)
                numpy.testing.assert_allclose(after, before, rtol=1e-5, err_msg=name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--checker", required=True)
    arguments, rest = parser.parse_known_args()
    LEMMA, CHECKER = arguments.lemma, arguments.checker
    if not FOLDER.is_dir():
        print(f"{FOLDER} is not there")
        sys.exit(77)
    import environment
    environment.enter_or_skip()
    unittest.main(argv=[sys.argv[0], *rest])
