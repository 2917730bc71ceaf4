#!/usr/bin/env python3
"""Operators from outside, as docs/outside_operators.md describes them: examples/custom_operator from the library to its rules,
proofs, an optimized model, and a program that is run."""

import json
import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

import resume_test  # noqa: E402
import tested_programs  # noqa: E402
import tiny_models as onnx  # noqa: E402

EXAMPLE = ROOT / "examples" / "custom_operator"
LEMMA = CHECK = LIBRARY = CHANGED = SECOND = KERNELS = None
WIDTH, EPSILON = 8, 1e-5


def run(*words, code=0, **environment):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600,
                          env={**os.environ, **environment})
    assert code is None or done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def block(domain="com.example"):
    """y = Silu(h) * r with h = ResidualNorm(x, r, w), the gate in operators of ONNX."""
    rows = onnx.tensor_type(onnx.F32, ["rows", WIDTH])
    epsilon = onnx.float_attribute("epsilon", EPSILON)
    nodes = [onnx.node("ResidualNorm", ["x", "r", "w"], ["h"], domain, [epsilon]),
             onnx.node("Sigmoid", ["h"], ["s"]), onnx.node("Mul", ["h", "s"], ["g"]), onnx.node("Mul", ["g", "r"], ["y"])]
    return onnx.model(nodes, [("x", rows), ("r", rows)], [("y", rows)], [domain],
                      [onnx.tensor("w", [WIDTH], [1 + i / 4 for i in range(WIDTH)])])


def computed(x, r):
    total = [a + b for a, b in zip(x, r)]
    size = math.sqrt(sum(t * t for t in total) / WIDTH + EPSILON)
    h = [t / size * (1 + i / 4) for i, t in enumerate(total)]
    return [a / (1 + math.exp(-a)) * b for a, b in zip(h, r)]


def data_in(folder, rows=3):
    """Inputs, and the outputs that are expected."""
    draw = random.Random(1)
    x, r = ([[struct.unpack("<f", struct.pack("<f", draw.gauss(0, 1)))[0] for _ in range(WIDTH)] for _ in range(rows)]
            for _ in range(2))
    y = [computed(a, b) for a, b in zip(x, r)]
    folder.mkdir()
    for name, value in (("input_0", x), ("input_1", r), ("output_0", y)):
        (folder / f"{name}.pb").write_bytes(onnx.tensor("", [rows, WIDTH], [one for row in value for one in row]))
    return folder


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "model.onnx"
        self.model.write_bytes(block())

    def refused(self, *words, says, code=2, **environment):
        done = run(*words, code=code, **environment)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, says)


class Models(Scratch):
    def test_it_is_run_and_read(self):
        data = data_in(self.folder / "data")
        run(LEMMA, "run", self.model, "--operators", LIBRARY, "--inputs", data, "--compare", data)
        run(LEMMA, "run", self.model, "--inputs", data, "--compare", data, LEMMA_OPERATORS=LIBRARY)
        read = json.loads(run(LEMMA, "inspect", self.model, "--operators", LIBRARY, "--json").stdout)
        self.assertEqual(read["opaque"], [])
        unread = json.loads(run(LEMMA, "inspect", self.model, "--json").stdout)
        self.assertIn("com.example.ResidualNorm", [one["name"] for one in unread["opaque"]])
        self.assertIn("ResidualNorm cannot be run", run(LEMMA, "run", self.model, "--seed", 1, code=3).stderr)

    def test_it_is_optimized_and_emitted(self):
        data, fused = data_in(self.folder / "data"), self.folder / "fused.onnx"
        words = ["optimize", self.model, "-o", fused, "--operators", LIBRARY, "--target", "cpu", "--rules", EXAMPLE / "rules",
                 "--json"]
        plain = json.loads(run(LEMMA, *words).stdout)["models"][0]
        self.assertFalse(plain["rules_used"])
        report = json.loads(run(LEMMA, *words, "--runtime", "example").stdout)["models"][0]
        self.assertEqual(report["status"], "optimized")
        self.assertIn("gated_silu_fused", json.dumps(report["rules_used"]))
        text = run(LEMMA, "inspect", fused, "--text", "--operators", LIBRARY).stdout
        self.assertRegex(text, r"GatedSilu\(.*\n")
        self.assertNotIn("Sigmoid", text)
        for model in (self.model, fused):
            run(LEMMA, "run", model, "--operators", LIBRARY, "--inputs", data, "--compare", data, "--rtol", "1e-5")
        run(LEMMA, "emit", fused, "--operators", LIBRARY, "--target", "cuda", "--shape", f"x:3,{WIDTH}",
            "--shape", f"r:3,{WIDTH}", "-o", self.folder / "cuda")
        self.assertTrue(list((self.folder / "cuda").glob("*.cu")))
        self.refused(LEMMA, *words, "--runtime", "other", says="no operator is of 'other'; there are operators of example, onnx")

    def test_another_library_is_no_resumed_run(self):
        resume_test.LEMMA = LEMMA
        runs = resume_test.Resume("resume")
        runs.setUp()
        self.addCleanup(runs.doCleanups)
        library = self.folder / "mine.so"
        shutil.copy(LIBRARY, library)
        runs.interrupted("--operators", library)
        with open(library, "ab") as file:
            file.write(b"changed")
        reasons = runs.again(runs.resume("--operators", library))
        self.assertEqual(set(reasons.values()), {"the program is another one"})

    @tested_programs.long
    def test_programs_of_it_are_run(self):
        data, program = data_in(self.folder / "data"), self.folder / "program"
        run(LEMMA, "run", self.model, "--operators", LIBRARY, "--engine", "rtask-cpu", "--inputs", data, "--compare", data,
            "--rtol", "1e-4")
        run(LEMMA, "emit", self.model, "--operators", LIBRARY, "--target", "cpu", "--shape", f"x:3,{WIDTH}", "--shape",
            f"r:3,{WIDTH}", "--inputs", data, "--threads", 2, "-o", program)
        run("g++", "-std=c++20", "-O1", "-pthread", f'-DPROGRAM_DIRECTORY="{program}"', program / "model.cpp",
            program / "selfcheck.cpp", "-o", program / "check")
        self.assertIn("passed: 5 runs", run(program / "check", program, 5).stdout)


class Kernels(Scratch):
    """Source in place of loops that follow from definitions."""

    def one(self, name):
        vector = onnx.tensor_type(onnx.F32, [5])
        model = self.folder / f"{name}.onnx"
        model.write_bytes(onnx.model([onnx.node(name, ["x"], ["y"])], [("x", vector)], [("y", vector)]))
        return model

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.cache = {"LEMMA_CACHE": folder.name}

    def test_a_program_has_one(self):
        data, program = data_in(self.folder / "data"), self.folder / "program"
        shapes = ["--shape", f"x:3,{WIDTH}", "--shape", f"r:3,{WIDTH}"]
        told = json.loads(run(LEMMA, "inspect", self.model, "--operators", LIBRARY, *shapes, "--json").stdout)["own_kernels"]
        self.assertEqual(told, [{"target": "rtask-cpu", "operator": "ResidualNorm", "origin": str(pathlib.Path(LIBRARY).resolve()), "count": 1}])
        words = [LEMMA, "emit", self.model, "--operators", LIBRARY, "--target", "cpu", *shapes, "--inputs", data]
        said = run(*words, "-o", program, **self.cache).stdout
        line = "ResidualNorm by a kernel of its own from example_operators.so"
        self.assertIn(line, said)
        self.assertIn(line, re.sub(r"\\", "", (program / "README.md").read_text()))
        self.assertIn("squares[k] += result[j + k]", (program / "kernels_0.cpp").read_text())
        without = json.loads(run(*words, "--without", "own-kernels", "--plan", "--json", **self.cache).stdout)
        self.assertNotIn("own_kernels", without)

    def test_a_wrong_one_is_refused(self):
        model, program = self.one("Relu"), self.folder / "program"
        says = r"wrong_kernels\.so: kernel of Relu for rtask-cpu is wrong: of Relu\(f32\[.*element \[.*\] is 0, and .* by the interpreter"
        self.refused(LEMMA, "emit", model, "--operators", KERNELS, "-o", program, says=says, **self.cache)
        self.assertFalse(program.exists())
        self.refused(LEMMA, "run", model, "--operators", KERNELS, "--engine", "rtask-cpu", "--seed", 1, says=says, **self.cache)
        run(LEMMA, "emit", model, "--operators", KERNELS, "--without", "own-kernels", "-o", program, **self.cache)

    @tested_programs.long
    def test_a_right_one_is_taken(self):
        data = self.folder / "data"
        data.mkdir()
        (data / "input_0.pb").write_bytes(onnx.tensor("", [5], [1.5, -2, 0, 3, -4]))
        (data / "output_0.pb").write_bytes(onnx.tensor("", [5], [-1.5, 2, 0, -3, 4]))
        run(LEMMA, "run", self.one("Neg"), "--operators", KERNELS, "--engine", "rtask-cpu", "--inputs", data, "--compare", data, **self.cache)

    def test_a_model_with_a_wrong_one_is_not_written(self):
        out = self.folder / "out.onnx"
        done = run(LEMMA, "optimize", self.one("Relu"), "-o", out, "--operators", KERNELS, "--target", "rtask-cpu", code=None,
                   **self.cache)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("kernel of Relu for rtask-cpu is wrong", done.stdout + done.stderr)
        self.assertFalse((self.folder / "out.rtask").exists())


class Rules(Scratch):
    def setUp(self):
        super().setUp()
        self.rules = pathlib.Path(shutil.copytree(EXAMPLE / "rules", self.folder / "rules"))

    def test_they_are_proved(self):
        said = run(LEMMA, "rules", "verify", "--rules", self.rules, "--operators", LIBRARY, "--axioms", "--write").stdout
        self.assertIn("2 of 2 axioms have an index proof", said)
        self.assertIn("2 rules: 2 proved, 2 of them twice", said)
        for written in sorted(path for path in self.rules.rglob("*") if path.is_file()):
            kept = EXAMPLE / "rules" / written.relative_to(self.rules)
            self.assertEqual(written.read_text(), kept.read_text(), f"{kept}: prove the rules of the example anew")
        listed = run(LEMMA, "rules", "list", "--rules", self.rules, "--operators", LIBRARY).stdout
        self.assertIn("rule gated_silu_fused", listed)

    def test_a_wrong_one_is_refuted(self):
        wrong = self.folder / "wrong.rules"
        wrong.write_text("rule wrong\n  x : [A..]\n  y : [A..]\n  Mul(Mul(y, Sigmoid(y)), x) => GatedSilu(x, y)\n")
        said = run(LEMMA, "rules", "verify", wrong, "--rules", self.rules, "--operators", LIBRARY, code=4).stdout
        self.assertIn("Refuted", said.replace("refuted", "Refuted"))

    def test_they_are_of_this_definition(self):
        self.refused(LEMMA, "rules", "list", "--rules", self.rules, says="'?GatedSilu'?")
        shutil.copy(CHANGED, self.folder / "changed.so")
        for kind in ("axioms", "substitutions"):  # what the changed library does not have
            for file in (self.rules / kind).iterdir():
                parts = re.split(r"(?m)^(?=rule |axiom |lemma certificate )", file.read_text())
                file.write_text("".join(part for part in parts if "ResidualNorm" not in part))
        for name in ("axioms.proofs", "substitutions.proofs"):
            lines = (self.rules / name).read_text().splitlines(keepends=True)
            (self.rules / name).write_text("".join(line for line in lines if not line.startswith("residual")))
        run(LEMMA, "rules", "list", "--rules", self.rules, "--operators", LIBRARY)
        self.refused(LEMMA, "rules", "list", "--rules", self.rules, "--operators", self.folder / "changed.so",
                     says="gated_silu.*changed")

    def test_both_checkers_replay_them(self):
        said = run(CHECK, "--operators", LIBRARY, "--rules", self.rules / "substitutions", self.rules / "substitutions").stdout
        self.assertRegex(said, "^2 certificates hold: .*; 0 fail\n$")
        self.refused(CHECK, self.rules / "substitutions", says="GatedSilu")
        checker = [sys.executable, ROOT / "checkers" / "lemma_check.py", "--axioms", self.rules / "axioms", "--jobs", "1",
                   "--rules", self.rules / "substitutions", self.rules / "substitutions"]
        said = run(*checker, "--meanings", EXAMPLE / "meanings.py").stdout
        self.assertRegex(said, "^2 certificates hold: .*; 0 fail\n$")
        self.refused(*checker, says="nothing to read in .*axioms")
        bad = self.folder / "bad.py"
        bad.write_text("def shape_rules():\n    return {'Relu': None}\n")
        self.refused(*checker, "--meanings", bad, says="the meaning of Relu is known already")

    def test_numpy_evaluates_them(self):
        done = run(ROOT / "checkers" / "evaluate_rules", "--rules", self.rules, "--instances", "40", "--meanings",
                   EXAMPLE / "meanings.py", code=None)
        if done.returncode == 77:
            self.skipTest("numpy is not installed")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Libraries(Scratch):
    def test_the_order_makes_no_difference(self):
        twice = self.folder / "twice.onnx"
        vector = onnx.tensor_type(onnx.F32, [3])
        twice.write_bytes(onnx.model([onnx.node("Twice", ["x"], ["y"], "org.second"), onnx.node("Relu", ["y"], ["z"])],
                                     [("x", vector)], [("z", vector)], ["org.second"]))
        said = set()
        for words, variable in ((["--operators", LIBRARY, "--operators", SECOND], ""),
                                (["--operators", SECOND, f"--operators={LIBRARY}"], ""),
                                ([], f"{SECOND}:{LIBRARY}"), (["--operators", SECOND], f"{LIBRARY}:{SECOND}")):
            for model in (self.model, twice):
                run(LEMMA, "run", model, "--seed", 1, *words, LEMMA_OPERATORS=variable)
            said.add(run(LEMMA, "inspect", twice, "--text", *words, LEMMA_OPERATORS=variable).stdout)
        self.assertEqual(len(said), 1)
        self.assertIn("AaTwice(", said.pop())

    def test_what_is_refused(self):
        bytes_of = pathlib.Path(LIBRARY).read_bytes()
        older = self.folder / "older.so"
        older.write_bytes(re.sub(rb"(operator library for )\d", rb"\g<1>9", bytes_of))
        text = self.folder / "text.so"
        text.write_text("nothing")
        for word, says in (("no.so", "no.so: there is no such file"), (text, "text.so: this is no shared library"),
                           (older, "older.so: it was built for Lemma 9.*, and this is .*; build it again"),
                           (sys.executable, "this is no library of operators: it has no LEMMA_OPERATOR_LIBRARY")):
            self.refused(LEMMA, "inspect", self.model, "--operators", word, says=says)
            self.refused(CHECK, "--operators", word, EXAMPLE / "rules" / "substitutions", says=says)
            self.refused(LEMMA, "inspect", self.model, says=says, LEMMA_OPERATORS=str(word))
        self.refused(LEMMA, "inspect", self.model, "--operators", LIBRARY, "--operators", CHANGED,
                     says="operator 'GatedSilu': there is an operator of this name from .*operators.so")


if __name__ == "__main__":
    LEMMA, CHECK, LIBRARY, CHANGED, SECOND, KERNELS, rest = tested_programs.given(
        __doc__, "lemma", "check", "example", "changed", "second", "kernels")
    unittest.main(argv=[sys.argv[0], *rest])
