#!/usr/bin/env python3
"""lemma compile: libraries that run with nothing of Lemma, what they show to a linker, and what is said of wrong calls."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import tested_programs
import tiny_models
from tiny_models import BOOL, F32, I64, node, tensor_type

LEMMA = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
TWO_LAYER = ROOT / "examples" / "two_layer.onnx"

PROGRAM = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from {name} import InputError, Program
assert "lemma" not in sys.modules
with Program() as program:
    {body}
"""


class Compile(unittest.TestCase):
    def setUp(self):
        if not shutil.which("c++"):
            self.skipTest("there is no compiler")
        folder = tempfile.TemporaryDirectory(prefix="lemma-compile-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *words, **environment):
        return subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=600,
                              env=dict(os.environ, LEMMA_CACHE=str(self.folder / "cache"), **environment))

    def compiled(self, model, name, *words):
        done = self.run_it("compile", model, "-o", self.folder / name, "--threads", 1, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / name

    def write(self, name, *parts, **more):
        file = self.folder / name
        file.write_bytes(tiny_models.model(*parts, **more))
        return file

    def symbolic(self):
        return self.write("symbolic.onnx", [node("Tanh", ["x"], ["t"]), node("Add", ["t", "w"], ["y"])],
                          [("x", tensor_type(F32, ["N", 3]))], [("y", tensor_type(F32, ["N", 3]))],
                          initializers=[tiny_models.tensor("w", [3], [1, 2, 3])])

    def in_python(self, directory, name, body):
        python = ROOT / ".venv" / "bin" / "python"
        if not python.exists() or subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode != 0:
            self.skipTest("there is no numpy")
        # Isolated: neither the folder of the script nor variables lead to Lemma.
        done = subprocess.run([python, "-I", "-c", PROGRAM.format(name=name, body=body), directory], capture_output=True,
                              text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @tested_programs.long
    def test_the_directory_runs_by_itself(self):
        directory = self.compiled(TWO_LAYER, "program")
        self.assertEqual({file.name for file in directory.iterdir()},
                         {".lemma-files", "README.md", "libtwo_layer.so", "two_layer.h", "two_layer.py", "two_layer.weights"})
        inputs, outputs = self.folder / "inputs", self.folder / "outputs"
        inputs.mkdir()
        x = [0.25 * (i % 7) - 0.5 for i in range(64)]
        (inputs / "input_0.pb").write_bytes(tiny_models.tensor("x", [4, 16], x))
        done = self.run_it("run", TWO_LAYER, "--inputs", inputs, "--outputs", outputs, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = json.loads(done.stdout)["outputs"][0]
        text = self.in_python(directory, "two_layer", f"""x = np.array({x}, np.float32).reshape(4, 16)
    [y] = program.run(None, {{"x": x}})
    place = np.zeros_like(y)
    assert program.run(["y"], {{"x": x}}, outputs={{"y": place}})[0] is place and (place == y).all()
    print(y.dtype, y.shape, y.min(), y.mean(), y.max())""")
        kind, *_, least, mean, most = text.split()
        self.assertEqual(kind, "float32")
        for got, wanted in ((least, expected["min"]), (mean, expected["mean"]), (most, expected["max"])):
            self.assertAlmostEqual(float(got), wanted, places=4)

    @tested_programs.long
    def test_wrong_arrays_are_refused(self):
        directory = self.compiled(TWO_LAYER, "program")
        for feeds, outputs, part in (
                ("{}", "None", "input 'x' is missing"),
                ("{'x': x, 'z': x}", "None", "there is no input 'z'; there are: x"),
                ("{'x': x.astype(np.float64)}", "None", "input 'x' is float64[4, 16], and has to be float32[4, 16]"),
                ("{'x': x[:2]}", "None", "input 'x' is float32[2, 16], and has to be float32[4, 16]"),
                ("{'x': [1]}", "None", "input 'x' is no array: list"),
                ("{'x': x}", "{'z': x}", "there is no output 'z'"),
                ("{'x': x}", "{'y': np.zeros((8, 4), np.float32).T}", "is not contiguous"),
                ("{'x': x}", "{'y': np.zeros((4, 9), np.float32)}", "has to be float32[4, 8]"),
                ("{'x': x}", "{'y': x.reshape(-1)[:32].reshape(4, 8)}", "shares memory with an input")):
            with self.subTest(part):
                said = self.in_python(directory, "two_layer", f"""x = np.zeros((4, 16), np.float32)
    try:
        program.run(None, {feeds}, outputs={outputs})
        print("it ran")
    except InputError as error:
        print(error)""")
                self.assertIn(part, said)
                self.assertEqual(said.count("\n"), 1)

    @tested_programs.long
    def test_several_sizes(self):
        directory = self.compiled(self.symbolic(), "program", "--shape", "x:2/5,3")
        text = self.in_python(directory, "symbolic", """for size in (5, 2, 5):
        x = np.full((size, 3), 0.5, np.float32)
        [y] = program.run(None, {"x": x})
        assert np.allclose(y, np.tanh(x) + np.array([1, 2, 3])), y
    try:
        program.run(None, {"x": x[:4]})
    except InputError as error:
        print(error)""")
        self.assertEqual(text.strip(), "input 'x' is float32[4, 3], and has to be float32[2, 3] or float32[5, 3]")

    def rows_model(self, grows=False):
        """Adds 1 to a vector n times; a row for each step."""
        vector, flag, count = tensor_type(F32, [2]), tensor_type(BOOL, []), tensor_type(I64, [])
        step = [node("Concat", ["v", "v"], ["w"], attributes=[tiny_models.integer_attribute("axis", 0)]) if grows
                else node("Add", ["v", "k"], ["w"]), node("Identity", ["w"], ["row"]), node("Identity", ["go"], ["on"])]
        body = tiny_models.graph_attribute("body", step, [("on", flag), ("w", vector), ("row", vector)],
                                           [("i", count), ("go", flag), ("v", vector)])
        return self.write("rows.onnx", [node("Loop", ["n", "", "x"], ["last", "rows"], attributes=[body])],
                          [("n", count), ("x", vector)], [("last", vector), ("rows", tensor_type(F32, ["K", 2]))],
                          initializers=[tiny_models.tensor("k", [2], [1, 1])])

    @tested_programs.long
    def test_a_loop_is_part_of_the_library(self):
        directory = self.compiled(self.rows_model(), "program", "--most-steps", 5)
        text = self.in_python(directory, "rows", """x = np.array([1, 2], np.float32)
    for n in (3, 0, 5, -4, 1):
        last, rows = program.run(None, {"n": np.array(n), "x": x})
        steps = max(n, 0)
        assert rows.shape == (steps, 2) and (last == x + steps).all(), (n, rows)
        assert (rows == x + np.arange(1, steps + 1)[:, None]).all(), rows
    for n in (6, 2**63 - 1):
        try:
            program.run(None, {"n": np.array(n), "x": x})
        except Exception as error:
            print(error)
    place = np.full((5, 2), -1, np.float32)
    [rows] = program.run(["rows"], {"n": np.array(2), "x": x}, outputs={"rows": place})
    assert np.shares_memory(rows, place) and len(rows) == 2 and (place[2:] == -1).all()""")
        self.assertEqual(text, 2 * "Loop 'last' takes more than 5 steps, and its outputs have no room for more\n")

    def test_a_loop_whose_state_grows_is_refused(self):
        done = self.run_it("compile", self.rows_model(grows=True), "-o", self.folder / "program")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("Loop 'last': state 0 is f32[2] before a step and f32[4] behind it", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertFalse((self.folder / "program").exists())

    def visible(self, library):
        lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        return {line.split()[-1] for line in lines.splitlines()}

    def test_a_library_shows_its_interface_alone(self):
        if not shutil.which("nm"):
            self.skipTest("there is no nm")
        directory = self.compiled(TWO_LAYER, "program", "--name", "mlp")
        visible = self.visible(directory / "libmlp.so")
        self.assertEqual(visible, {f"mlp_{name}" for name in (
            "create", "destroy", "input_bytes", "input_count", "input_name", "input_type", "message", "output_bytes",
            "output_count", "output_name", "output_type", "record", "run", "share", "step_count")})

    @tested_programs.long
    def test_a_model_may_have_the_name_of_a_module(self):
        model = self.folder / "numpy.onnx"
        shutil.copyfile(TWO_LAYER, model)
        directory = self.compiled(model, "program")
        self.assertTrue((directory / "numpy_model.py").exists())
        self.in_python(directory, "numpy_model", 'program.run(None, {"x": np.zeros((4, 16), np.float32)})')

    def test_only_what_lemma_wrote_is_replaced(self):
        directory = self.compiled(TWO_LAYER, "program")
        (directory / "kept").write_text("")
        done = self.run_it("compile", TWO_LAYER, "-o", directory)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is there already", done.stderr)
        self.compiled(TWO_LAYER, "program", "--replace", "--name", "other")
        self.assertEqual({file.name for file in directory.iterdir()},
                         {".lemma-files", "README.md", "kept", "libother.so", "other.h", "other.py", "other.weights"})
        foreign = self.folder / "foreign"
        foreign.mkdir()
        (foreign / "file").write_text("")
        done = self.run_it("compile", TWO_LAYER, "-o", foreign, "--replace")
        self.assertEqual(done.returncode, 2)
        self.assertEqual([file.name for file in foreign.iterdir()], ["file"])

    def test_the_cache_says_where_the_library_is(self):
        answers = []
        for _ in range(2):
            done = self.run_it("compile", TWO_LAYER, "--cached", "--threads", 1, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            answers.append(json.loads(done.stdout))
        [part] = answers[0]["parts"]
        self.assertEqual(part["runs_in"], "program")
        self.assertEqual(answers[1]["parts"], answers[0]["parts"])
        self.assertTrue(part["library"].startswith(str(self.folder / "cache")))
        self.assertEqual(answers[0]["inputs"], [{"name": "x", "type": "f32", "sizes": [4, 16]}])
        for file in (part["library"], part["weights"]):
            self.assertTrue(pathlib.Path(file).is_file())
        self.assertTrue(all(name.startswith("task_program_") for name in self.visible(part["library"])))

    @tested_programs.long
    def test_long_sums_of_integers_are_exact(self):
        u8, i8, i32 = 2, 3, 6  # in ONNX
        model = self.write("integers.onnx", [node("MatMulInteger", ["x", "w"], ["y"])],
                           [("x", tensor_type(u8, [16, 130])), ("w", tensor_type(i8, [130, 48]))],
                           [("y", tensor_type(i32, [16, 48]))])
        directory = self.compiled(model, "integers")
        self.in_python(directory, "integers", """
    random = np.random.default_rng(0)
    x = random.integers(0, 256, (16, 130)).astype(np.uint8)
    w = random.integers(-128, 128, (130, 48)).astype(np.int8)
    [y] = program.run(None, {"x": x, "w": w})
    assert (y == x.astype(np.int64) @ w.astype(np.int64)).all()
""".strip())

    def test_what_was_compiled_is_neither_read_nor_planned_again(self):
        model = self.symbolic()
        words = ("compile", model, "--cached", "--threads", 1, "--json", "--shape", "x:2,3")

        def planned():
            done = self.run_it(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            answer = json.loads(done.stdout)
            return answer, answer["planning_seconds"] > 0

        first, is_planned = planned()
        self.assertTrue(is_planned)
        again, is_planned = planned()
        self.assertFalse(is_planned)
        self.assertEqual([again[key] for key in ("parts", "inputs", "outputs")],
                         [first[key] for key in ("parts", "inputs", "outputs")])
        # Contents decide: neither the name of the file nor its times.
        shutil.copy(model, self.folder / "other.onnx")
        words = ("compile", self.folder / "other.onnx", *words[2:])
        self.assertFalse(planned()[1])
        for changed in ("library", "weights"):
            pathlib.Path(first["parts"][0][changed]).write_bytes(b"damaged")
            answer, is_planned = planned()
            self.assertTrue(is_planned)
            self.assertNotEqual(pathlib.Path(answer["parts"][0][changed]).read_bytes(), b"damaged")
            self.assertFalse(planned()[1])
        [record] = (self.folder / "cache" / "compiled_models").iterdir()
        record.write_bytes(record.read_bytes()[:-9])
        self.assertTrue(planned()[1])
        # So do the options.
        for threads, sizes, more in ((2, "2,3", ()), (1, "5,3", ()), (1, "2,3", ("--parts",))):
            words = ("compile", model, "--cached", "--threads", threads, "--json", "--shape", f"x:{sizes}", *more)
            self.assertTrue(planned()[1], words)
        self.write("symbolic.onnx", [node("Exp", ["x"], ["y"])], [("x", tensor_type(F32, ["N", 3]))],
                   [("y", tensor_type(F32, ["N", 3]))])
        self.assertTrue(planned()[1])

    def model_with_parts(self, rows):
        return self.write("parts.onnx", [node("Tanh", ["x"], ["t"]), node("NonZero", ["t"], ["n"]),
                                         node("Exp", ["t"], ["e"]), node("Shape", ["n"], ["s"])],
                          [("x", tensor_type(F32, [rows, 400]))],
                          [("e", tensor_type(F32, [rows, 400])), ("s", tensor_type(I64, [2])), ("n", tensor_type(I64, [2, "K"]))])

    def test_programs_that_have_too_little_to_do_are_left_to_the_runtime(self):
        done = self.run_it("compile", self.model_with_parts(2), "--cached", "--parts", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual([part["runs_in"] for part in answer["parts"]], ["onnxruntime"])
        self.assertTrue(answer["left_to_runtime"])
        self.assertIn("NonZero", answer["runtime_operators"])
        self.assertNotIn("Tanh", answer["runtime_operators"])

    def test_parts_that_no_program_computes(self):
        model = self.model_with_parts(3000)
        done = self.run_it("compile", model, "--cached", "--parts", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual([part["runs_in"] for part in answer["parts"]], ["program", "onnxruntime"])
        self.assertFalse(answer["left_to_runtime"])
        self.assertIn("NonZero", answer["runtime_operators"])
        self.assertNotIn("Tanh", answer["runtime_operators"])
        self.assertTrue(pathlib.Path(answer["parts"][1]["model"]).is_file())
        given = {value["name"] for value in answer["inputs"]}
        for part in answer["parts"]:
            self.assertLessEqual({value["name"] for value in part["inputs"]}, given)
            given |= {value["name"] for value in part["outputs"]}
        self.assertLessEqual({output["value"] for output in answer["outputs"]}, given)
        done = self.run_it("compile", model, "-o", self.folder / "out")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("NonZero", done.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_wrong_calls_are_said_in_one_line(self):
        for words, code, part in ((("-o", "out", "--cached"), 2, "one of -o DIRECTORY and --cached"),
                                  ((), 2, "one of -o DIRECTORY and --cached"),
                                  (("--cached", "--name", "a"), 2, "--name and --replace are for -o"),
                                  (("-o", "out", "--parts"), 2, "--parts is for --cached"),
                                  (("-o", self.folder / "new"), 2, "the sizes of input 'x', f32[N, 3], are not fixed; give --shape"),
                                  (("-o", self.symbolic()), 2, "symbolic.onnx")):
            with self.subTest(words):
                done = self.run_it("compile", self.symbolic(), *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(part, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_compiler_that_fails_leaves_nothing(self):
        compiler = self.folder / "failing"
        compiler.write_text('#!/bin/sh\nif [ "$1" = --version ]; then echo failing 1.0; else exit 1; fi\n')
        compiler.chmod(0o755)
        done = self.run_it("compile", TWO_LAYER, "-o", self.folder / "out", CXX=str(compiler))
        self.assertEqual(done.returncode, 1)
        self.assertEqual({file.name for file in self.folder.iterdir()} - {"cache"}, {"failing"})

    def test_an_interruption_and_a_limit_leave_nothing(self):
        compiler = self.folder / "slow"
        compiler.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo slow 1.0; else : > {self.folder}/begun; sleep 600; fi\n')
        compiler.chmod(0o755)
        temporary = self.folder / "temporary"
        temporary.mkdir()
        environment = dict(os.environ, CXX=str(compiler), TMPDIR=str(temporary), LEMMA_CACHE=str(self.folder / "cache"))
        words = [LEMMA, "compile", TWO_LAYER, "-o", self.folder / "out"]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment)
        deadline = time.monotonic() + 120
        while not (self.folder / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(list(temporary.iterdir()), [])
        done = subprocess.run([*words, "--time-limit", "0.5"], capture_output=True, text=True, timeout=120, env=environment)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("there was no time to compile the model", done.stderr)
        self.assertEqual(list(temporary.iterdir()), [])
        self.assertFalse((self.folder / "out").exists())

    def test_steps_are_told(self):
        done = self.run_it("compile", TWO_LAYER, "-o", self.folder / "out", "--verbose")
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = [line.rsplit(": ", 1)[-1] for line in done.stderr.splitlines()]
        self.assertEqual(steps, ["reading", "planning", "compiling", "writing"])


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
