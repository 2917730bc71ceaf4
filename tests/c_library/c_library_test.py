#!/usr/bin/env python3
"""liblemma.so, called as other languages call it: by its C functions, on bytes."""

import argparse
import concurrent.futures
import ctypes
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = (ROOT / "examples" / "two_layer.onnx").read_bytes()
OK, INTERNAL_ERROR, BAD_INPUT, UNSUPPORTED, CHECK_FAILED, _, _, UNPROVED = range(8)
RIGHT = "rule right\n  x : [A..]\n  y : [A..]\n  Neg(Sub(x, y)) => Sub(y, x)\n"
WRONG = "rule wrong\n  x : [A..]\n  y : [A..]\n  Neg(Sub(x, y)) => Sub(x, y)\n"
LIBRARY = CHECKER = None


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    def take(self):
        contents = ctypes.string_at(self.data, self.size) if self.data else b""
        LIBRARY.lemma_free(ctypes.byref(self))
        return contents


def call(function, *arguments, outputs):
    """The status, the outputs and the error."""
    given = [each for argument in arguments
             for each in ((argument, ctypes.c_size_t(len(argument))) if isinstance(argument, bytes) else (argument,))]
    results = [Bytes() for _ in range(outputs + 1)]
    status = getattr(LIBRARY, function)(*given, *map(ctypes.byref, results))
    return status, *(each.take() for each in results)


def options(**values):
    return ctypes.c_char_p(json.dumps(values).encode())


def optimize(model=MODEL, **values):
    return call("lemma_optimize", model, options(time_limit=60, **values), outputs=2)


def prove(text, **values):
    return call("lemma_prove", ctypes.c_char_p(text.encode()), options(**values), outputs=2)


class Calls(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-c-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_result_is_smaller_and_equal(self):
        status, result, report, error = optimize()
        self.assertEqual((status, error), (OK, b""))
        [entry] = json.loads(report)["models"]
        self.assertEqual((entry["status"], entry["after"]["operators"]), ("optimized", 3))
        status, report, error = call("lemma_compare", MODEL, result, None, outputs=1)
        self.assertEqual((status, error), (OK, b""))
        self.assertTrue(json.loads(report)["equal"])

    def test_models_that_differ_are_told(self):
        other = MODEL.replace(b"Relu", b"Tanh", 1)
        self.assertNotEqual(other, MODEL)
        status, report, _ = call("lemma_compare", MODEL, other, options(samples=1), outputs=1)
        self.assertEqual(status, CHECK_FAILED)
        self.assertTrue(json.loads(report)["difference"])

    def test_rules_are_proved_or_refuted(self):
        status, report, certificates, error = prove(RIGHT)
        self.assertEqual((status, error), (OK, b""))
        self.assertEqual(json.loads(report)["proofs"], "certificate,index")
        (self.folder / "right.rules").write_text(RIGHT)
        (self.folder / "right.certificates").write_bytes(certificates)
        done = subprocess.run([CHECKER, "--axioms", ROOT / "rules" / "axioms", "--rules", self.folder, self.folder],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        status, report, certificates, _ = prove(RIGHT + "\n" + WRONG)
        self.assertEqual(status, CHECK_FAILED)
        self.assertEqual([json.loads(line)["verdict"] for line in report.splitlines()], ["proved", "refuted"])

    def test_rules_without_proof_have_a_status(self):
        status, result, report, _ = optimize(unproved="rule mine\n  x : [A..]\n  Add(x, x) = Sub(x, Neg(x))\n")
        self.assertEqual(status, OK)  # it is not used
        self.assertEqual(json.loads(report)["models"][0]["rules_without_proof"], [])

    @unittest.skipUnless(shutil.which("c++"), "there is no C++ compiler")
    def test_a_model_is_compiled(self):
        directory = self.folder / "compiled"
        status, report, error = call("lemma_compile", MODEL, ctypes.c_char_p(str(directory).encode()),
                                     options(name="layers", threads=1), outputs=1)
        self.assertEqual((status, error), (OK, b""))
        self.assertTrue(list(directory.glob("*layers*.so")), list(directory.iterdir()))
        self.assertTrue(json.loads(report))
        status, _, error = call("lemma_compile", MODEL, ctypes.c_char_p(str(directory).encode()), None, outputs=1)
        self.assertEqual(status, BAD_INPUT)

    def test_bad_input_is_one_line(self):
        calls = {"not a JSON object": lambda: call("lemma_optimize", MODEL, ctypes.c_char_p(b"[1]"), outputs=2),
                 'there is no "sedd"': lambda: call("lemma_compare", MODEL, MODEL, options(sedd=1), outputs=1),
                 '"threads" has the wrong type': lambda: optimize(threads="two"),
                 "no strategy is named 'greedy'": lambda: optimize(strategy="greedy"),
                 "the model is empty": lambda: optimize(b""),
                 "the model": lambda: optimize(b"garbage" * 100),
                 "rules:3": lambda: prove("rule r\n  x : [A..]\n  Nag(x) => x\n")}
        for part, make in calls.items():
            status, *outputs, error = make()
            self.assertEqual(status, BAD_INPUT, (part, error))
            self.assertEqual(set(outputs), {b""})
            self.assertIn(part, error.decode())
            self.assertNotIn(b"\n", error)
            self.assertNotIn(b"/tmp", error)

    def test_outputs_may_be_unwanted(self):
        self.assertEqual(LIBRARY.lemma_optimize(MODEL, ctypes.c_size_t(len(MODEL)), None, None, None, None), OK)

    def test_calls_may_overlap(self):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            results = [each.result() for each in [pool.submit(optimize, threads=1) for _ in range(3)]]
        self.assertEqual({(status, result) for status, result, _, _ in results}, {(OK, results[0][1])})

    def test_the_header_is_c(self):
        compiler = shutil.which("cc")
        if not compiler:
            self.skipTest("there is no C compiler")
        source = self.folder / "use.c"
        source.write_text('#include "c_library/lemma.h"\nint main(void) { return lemma_version() == 0; }\n')
        done = subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", ROOT, "-c", source, "-o",
                               self.folder / "use.o"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_only_its_functions_are_visible(self):
        if not shutil.which("nm"):
            self.skipTest("there is no nm")
        names = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", LIBRARY._name], capture_output=True, text=True,
                               check=True).stdout
        self.assertTrue(names)
        self.assertEqual([line for line in names.splitlines() if not line.startswith("lemma_")], [])


def main():
    global LIBRARY, CHECKER
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--checker", required=True)
    arguments, rest = parser.parse_known_args()
    LIBRARY, CHECKER = ctypes.CDLL(arguments.library), arguments.checker
    LIBRARY.lemma_version.restype = ctypes.c_char_p
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
