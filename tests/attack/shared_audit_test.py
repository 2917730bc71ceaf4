#!/usr/bin/env python3
"""What once fooled the proofs, as it was found (../shared/audit, or $LEMMA_SHARED/audit): each is refused, for the reason
that its description gives, or written right. Without that folder the test is skipped; tests/attack/false/audit.axioms
and the other families say the same in the words of this project."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
FOLDER = pathlib.Path(os.environ.get("LEMMA_SHARED", ROOT.parent / "shared")) / "audit"
LEMMA = CHECKER = None


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=ROOT)


class Audit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-audit-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_certificates_are_refused_by_both_checkers(self):
        for name in ("zero_is_one", "eq_zero_over_zero"):
            file = FOLDER / f"{name}.certificate"
            first = run(CHECKER, "--axioms", ROOT / "rules" / "axioms", file)
            second = run(sys.executable, ROOT / "checkers" / "lemma_check.py", file)
            for done in (first, second):
                self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                self.assertIn(name, done.stderr)

    def test_the_claims_of_the_certificates_are_not_proved(self):
        for name in ("zero_is_one", "eq_zero_over_zero"):
            lines = (FOLDER / f"{name}.certificate").read_text().split("\n")
            start = next(i for i, line in enumerate(lines) if line.startswith("rule "))
            end = next(i for i in range(start + 1, len(lines)) if not lines[i].startswith("  "))
            file = self.folder / f"{name}.rules"
            file.write_text("\n".join(lines[start:end]) + "\n")
            self.assertIn(" 0 proved, ", run(LEMMA, "rules", "verify", file).stdout)

    def test_the_explanation_is_refused(self):
        done = run(CHECKER, ROOT / "rules" / "substitutions", FOLDER / "forged_double_is_x.explanation")
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("forged_double_is_x.explanation: ", done.stderr)

    def test_false_rules_are_not_proved(self):
        done = run(LEMMA, "rules", "verify", FOLDER / "false.rules")
        self.assertEqual(done.returncode, 4)
        names = [line.split()[1] for line in (FOLDER / "false.rules").read_text().split("\n")
                 if line.startswith("rule ")]
        self.assertGreaterEqual(len(names), 5)
        verdicts = {line.split()[0]: line for line in done.stdout.split("\n") if line.split()[:1] and
                    line.split()[0] in names}
        for name in names:
            # What is proved is another claim, with a condition that was found.
            self.assertTrue(" proved " not in verdicts[name] or " under " in verdicts[name], verdicts[name])

    def test_false_axioms_have_no_index_proof(self):
        (self.folder / "axioms").mkdir()
        (self.folder / "substitutions").mkdir()
        shutil.copy(FOLDER / "false.axioms", self.folder / "axioms")
        done = run(LEMMA, "rules", "verify", "--axioms", "--rules", self.folder)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        names = [line.split()[1] for line in (FOLDER / "false.axioms").read_text().split("\n")
                 if line.startswith("axiom ")]
        self.assertGreaterEqual(len(names), 6)
        self.assertIn(f"0 of {len(names)} ", done.stdout + done.stderr)

    def written(self, name, *options):
        result, original = self.folder / "result.onnx", FOLDER / f"{name}.onnx"
        done = run(LEMMA, "optimize", original, "-o", result, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return original, result

    def test_models_compute_what_they_did(self):
        try:
            import numpy
            import onnxruntime
            onnxruntime.set_default_logger_severity(4)
        except ImportError:
            self.skipTest("ONNX Runtime is not installed")
        cases = {
            "collapse2": ([], lambda shape: [numpy.full(shape, 200), numpy.full(shape, 1), numpy.full(shape, -3)]),
            "safe_div": ([], lambda shape: [numpy.zeros(shape), numpy.full(shape, 2), numpy.full(shape, -0.5)]),
            "empty_softmax": ([], lambda shape: [numpy.full(shape, 0.25), numpy.full(shape, -1)]),
            "relu_neg": (["--fp-class", "bitwise"], lambda shape: [numpy.full(shape, numpy.inf),
                                                                   numpy.full(shape, -numpy.inf), numpy.zeros(shape)]),
        }
        for name, (options, contents) in cases.items():
            models = self.written(name, *options)
            sessions = [onnxruntime.InferenceSession(str(one), providers=["CPUExecutionProvider"]) for one in models]
            inputs, compared = sessions[0].get_inputs(), 0
            for size in (0, 1, 3):
                for shift in range(len(contents([1]))):
                    feeds = {}
                    for i, entry in enumerate(inputs):
                        shape = [size if not isinstance(one, int) else one for one in entry.shape]
                        values = contents(shape)
                        feeds[entry.name] = values[(i + shift) % len(values)].astype(numpy.float32)
                    try:
                        before = sessions[0].run(None, feeds)
                    except Exception:  # the model itself is not for such sizes
                        continue
                    compared += 1
                    after = sessions[1].run(None, feeds)
                    for a, b in zip(before, after):
                        defined = numpy.isfinite(a) if not options else numpy.ones(a.shape, bool)
                        numpy.testing.assert_allclose(b[defined], a[defined], rtol=1e-5, atol=1e-6, err_msg=name)
            self.assertGreater(compared, 1, name)


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
    environment.enter()
    unittest.main(argv=[sys.argv[0], *rest])
