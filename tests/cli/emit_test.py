#!/usr/bin/env python3
"""lemma emit: directories that build and check themselves with nothing of Lemma, and what they say of wrong calls."""

import ctypes
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

import tested_programs
import tiny_models
from tiny_models import F16, F32, I64, integer_attribute, node, tensor_type

LEMMA = None
TWO_LAYER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "two_layer.onnx"
# On which small tensors are worth several tasks: with it, --threads is how many units there are.
SLOW = ("--device", "slow-cpu", "--threads")
OK, BAD_ARGUMENT, WRONG_SIZE, NO_WEIGHTS, BAD_WEIGHTS = range(5)


class Emit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-emit-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *words, **environment):
        return subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=600,
                              env=dict(os.environ, LEMMA_CACHE=str(self.folder / "cache"), **environment))

    def emit(self, model, name, *words):
        done = self.run_it("emit", model, "-o", self.folder / name, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / name

    def write(self, name, *parts, **more):
        file = self.folder / name
        file.write_bytes(tiny_models.model(*parts, **more))
        return file

    def softmax_model(self):
        """Every row of x * w + x, as parts of 1."""
        rows = tensor_type(F32, [40, 64])
        return self.write("softmax.onnx",
                          [node("Mul", ["x", "w"], ["m"]), node("Add", ["m", "x"], ["s"]),
                           node("Softmax", ["s"], ["y"], attributes=[integer_attribute("axis", 1)])],
                          [("x", rows)], [("y", rows)],
                          initializers=[tiny_models.tensor("w", [64], [0.1 * i for i in range(64)])])

    def half_model(self):
        """A product, an activation and a softmax of f16 elements, in f16 and as f32."""
        return self.write("half.onnx",
                          [node("MatMul", ["x", "w"], ["p"]), node("Sigmoid", ["p"], ["s"]),
                           node("Mul", ["p", "s"], ["m"]),
                           node("Softmax", ["m"], ["y"], attributes=[integer_attribute("axis", 1)]),
                           node("Cast", ["m"], ["z"], attributes=[integer_attribute("to", F32)])],
                          [("x", tensor_type(F16, [12, 40]))],
                          [("y", tensor_type(F16, [12, 70])), ("z", tensor_type(F32, [12, 70]))],
                          initializers=[tiny_models.tensor("w", [40, 70], [(i * 37 % 101 - 50) / 64 for i in range(2800)],
                                                           F16)])

    def build(self, compiler, directory, *words):
        done = subprocess.run([compiler, *words], cwd=directory, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_builds_and_checks_itself_with_each_compiler(self):
        compilers = [name for name in ("g++", "clang++") if shutil.which(name)]
        if not compilers:
            self.skipTest("there is no compiler")
        # Each compiler has two of the models, and both have f16.
        for model, threads, chosen in ((TWO_LAYER, 3, compilers[:1]), (self.softmax_model(), 2, compilers[-1:]),
                                       (self.half_model(), 2, compilers)):
            directory = self.emit(model, model.stem, *SLOW, threads)
            for compiler in chosen:
                self.build(compiler, directory, "-std=c++20", "-O1", "-pthread", "-Wall", "-Wextra", "-Werror",
                           '-DPROGRAM_DIRECTORY="."', model.stem + ".cpp", "selfcheck.cpp", "-o", "check")
                checked = subprocess.run([directory / "check", directory, "50"], capture_output=True, text=True,
                                         timeout=60)
                self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
                self.assertIn("passed: 50 runs", checked.stdout)
            # A self-check that expects something else fails.
            recorded = bytearray((directory / "selfcheck.bin").read_bytes())
            recorded[-1] ^= 0x40
            (directory / "selfcheck.bin").write_bytes(recorded)
            self.assertEqual(subprocess.run([directory / "check", directory], capture_output=True).returncode, 1)

    @tested_programs.long
    def test_it_builds_with_cmake(self):
        if not shutil.which("cmake") or not shutil.which("c++"):
            self.skipTest("there is no cmake or no compiler")
        directory = self.emit(TWO_LAYER, "program")
        for words in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"],
                      ["ctest", "--test-dir", "build"]):
            done = subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def deep_model(self):
        """Products, a chain of softmax and transposes, and a sum of branches: many tensors that share the arena."""
        nodes, value = [], "x"
        for step in range(6):
            nodes += [node("MatMul", [value, "w"], [f"p{step}"]), node("Tanh", [f"p{step}"], [f"t{step}"]),
                      node("Transpose", [f"t{step}"], [f"u{step}"]),
                      node("Softmax", [f"u{step}"], [f"s{step}"], attributes=[integer_attribute("axis", 1)]),
                      node("Add", [f"s{step}", value], [f"a{step}"])]
            value = f"a{step}"
        square = tensor_type(F32, [48, 48])
        return self.write("deep.onnx", nodes, [("x", square)], [(value, square)],
                          initializers=[tiny_models.tensor("w", [48, 48], [(i * 29 % 83 - 41) / 83 for i in range(2304)])])

    def check_with_sanitizers(self, kind, runs, *programs):
        """The self-check of programs, each a model, threads and options, compiled with a sanitizer."""
        if not shutil.which("g++"):
            self.skipTest("there is no compiler")
        option = "-fsanitize=" + kind
        probe = subprocess.run(["g++", option, "-x", "c++", "-", "-o", self.folder / "probe"],
                               input="int main() {}", text=True, capture_output=True)
        if probe.returncode != 0:
            self.skipTest("there is no sanitizer for " + kind)
        for model, threads, *words in programs:
            directory = self.emit(model, f"{model.stem}-{threads}", *SLOW, threads, *words)
            self.build("g++", directory, "-std=c++20", "-O1", "-g", "-pthread", option, "-fno-sanitize-recover=all",
                       '-DPROGRAM_DIRECTORY="."', model.stem + ".cpp", "selfcheck.cpp", "-o", "check")
            call = [directory / "check", directory, str(runs)]
            if shutil.which("setarch"):
                call = ["setarch", "-R", *call]  # ThreadSanitizer needs its addresses
            done = subprocess.run(call, capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(done.stderr, "")

    @tested_programs.long
    def test_threads_do_not_race(self):
        self.check_with_sanitizers("thread", 20, (self.softmax_model(), 4), (self.deep_model(), 3))

    @tested_programs.long
    def test_memory_is_used_as_it_may_be(self):
        self.check_with_sanitizers("address,undefined", 3, (self.half_model(), 3), (self.deep_model(), 4, "--no-fusion"))

    @tested_programs.long
    def test_a_race_would_be_found(self):
        """The same check with a schedule whose waits are gone."""
        directory = self.emit(self.deep_model(), "program", *SLOW, 4, "--no-fusion")
        probe = subprocess.run(["g++", "-fsanitize=thread", "-x", "c++", "-", "-o", self.folder / "probe"],
                               input="int main() {}", text=True, capture_output=True) if shutil.which("g++") else None
        if probe is None or probe.returncode != 0:
            self.skipTest("there is no ThreadSanitizer")
        source = (directory / "run_time.h").read_text()
        self.assertIn("w < step.wait_count", source)
        (directory / "run_time.h").write_text(source.replace("w < step.wait_count", "w < 0 * step.wait_count"))
        self.build("g++", directory, "-std=c++20", "-O1", "-g", "-pthread", "-fsanitize=thread",
                   '-DPROGRAM_DIRECTORY="."', "deep.cpp", "selfcheck.cpp", "-o", "check")
        call = [directory / "check", directory, "20"]
        if shutil.which("setarch"):
            call = ["setarch", "-R", *call]
        done = subprocess.run(call, capture_output=True, text=True, timeout=600)
        self.assertIn("data race", done.stderr)

    def test_the_same_model_gives_the_same_bytes(self):
        first = self.emit(TWO_LAYER, "first", *SLOW, 2)
        second = self.emit(TWO_LAYER, "second", *SLOW, 2)
        names = sorted(file.name for file in first.iterdir())
        self.assertEqual(names, sorted(file.name for file in second.iterdir()))
        for name in names:
            self.assertEqual((first / name).read_bytes(), (second / name).read_bytes(), name)

    @tested_programs.long
    def test_a_self_check_that_does_not_fit_is_left_out(self):
        """The input and the output have 10,240 bytes each, the multiplication and the sum more."""
        model = self.softmax_model()
        for limit in ("1K", "20K"):
            done = self.run_it("emit", model, "-o", self.folder / limit, *SLOW, 2, "--most-check-memory", limit)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"without a self-check, whose tensors would take \d+ bytes \(--most-check-memory\)")
            self.assertEqual((self.folder / limit / "selfcheck.bin").read_bytes(), b"")
        whole = self.emit(model, "whole", *SLOW, 2, "--most-check-memory", "1M")
        for file in whole.iterdir():
            if file.name not in ("selfcheck.bin", "selfcheck.cpp", "comparison.h", ".lemma-files"):
                self.assertEqual(file.read_bytes(), (self.folder / "1K" / file.name).read_bytes(), file.name)
        if shutil.which("g++"):
            self.build("g++", self.folder / "1K", "-std=c++20", "-O1", "-pthread", "-Wall", "-Wextra", "-Werror",
                       '-DPROGRAM_DIRECTORY="."', "softmax.cpp", "selfcheck.cpp", "-o", "check")
            checked = subprocess.run([self.folder / "1K" / "check", self.folder / "1K"], capture_output=True, text=True, timeout=60)
            self.assertEqual(checked.returncode, 77, checked.stderr)
            self.assertRegex(checked.stderr, r"^there is nothing to compare with: the tensors of the self-check, \d+ bytes, were not recorded\n$")
        for wrong in ("-5", "5X", ""):
            done = self.run_it("emit", model, "--plan", "--most-check-memory", wrong)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        done = self.run_it("emit", model, "--plan", *SLOW, 2, "--most-check-memory", "1K", "--timeline", self.folder / "t.svg",
                           "--measure-timeline")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("no run is measured", done.stderr)

    def test_inputs_may_repeat_their_first_elements(self):
        """The input has 2,560 elements of f32."""
        recorded = [(self.emit(self.softmax_model(), name, *SLOW, 2, *words) / "selfcheck.bin").read_bytes() for name, words in
                    (("random", ()), ("repeated", ("--repeat-inputs", 61)), ("period-is-too-long", ("--repeat-inputs", 2561)))]
        self.assertEqual(recorded[1][:10240], (recorded[0][:61 * 4] * 42)[:10240])
        self.assertNotEqual(recorded[1][10240:], recorded[0][10240:])
        self.assertEqual(recorded[2], recorded[0])

    def division_model(self):
        """Integers by integers, which are defined where no divisor is 0."""
        numbers = tensor_type(I64, [64])
        return self.write("division.onnx", [node("Div", ["x", "d"], ["y"])], [("x", numbers), ("d", numbers)],
                          [("y", numbers)])

    def recorded_integers(self, directory):
        content = (directory / "selfcheck.bin").read_bytes()[:3 * 64 * 8]
        values = struct.unpack("<192q", content)
        return values[:64], values[64:128], values[128:]

    def test_inputs_are_drawn_where_the_model_is_defined(self):
        numbers, divisors, results = self.recorded_integers(self.emit(self.division_model(), "drawn"))
        self.assertNotIn(0, divisors)
        self.assertEqual(list(results), [number // divisor for number, divisor in zip(numbers, divisors)])
        one_row = self.write("one_row.onnx", [node("Gather", ["x", "i"], ["y"])],
                             [("x", tensor_type(F32, [1, 4])), ("i", tensor_type(I64, [16]))],
                             [("y", tensor_type(F32, [16, 4]))])
        self.emit(one_row, "one_row")

    def inputs(self, name, *values):
        folder = self.folder / name
        folder.mkdir()
        for i, elements in enumerate(values):
            (folder / f"input_{i}.pb").write_bytes(tiny_models.tensor("", [len(elements)], elements, I64))
        return folder

    def test_inputs_may_be_given(self):
        given = self.inputs("given", list(range(64)), [3] * 64)
        numbers, divisors, results = self.recorded_integers(self.emit(self.division_model(), "out", "--inputs", given))
        self.assertEqual((list(numbers), list(divisors)), (list(range(64)), [3] * 64))
        self.assertEqual(list(results), [number // 3 for number in range(64)])
        for folder, code, part in ((self.inputs("zeros", [1] * 64, [0] * 64), 2, "division by zero"),
                                   (self.inputs("short", [1] * 63, [1] * 64), 2, "input_0.pb"),
                                   (self.folder / "nowhere", 2, "nowhere")):
            done = self.run_it("emit", self.division_model(), "-o", self.folder / "refused", "--inputs", folder)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(part, done.stderr)
            self.assertFalse((self.folder / "refused").exists())

    @tested_programs.long
    def test_outputs_do_not_depend_on_the_number_of_threads(self):
        if not shutil.which("c++") and not os.environ.get("CXX"):
            self.skipTest("there is no compiler")
        for model in (TWO_LAYER, self.half_model()):
            outputs = set()
            for threads in (1, 4):
                folder = self.folder / f"outputs-{threads}"
                done = self.run_it("run", model, "--random", 1, "--engine", "rtask-cpu", *SLOW, threads, "--outputs", folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                outputs.add((folder / "output_0.pb").read_bytes())
            self.assertEqual(len(outputs), 1, model)

    def test_the_timeline_shows_every_task(self):
        picture = self.folder / "timeline.svg"
        done = self.run_it("emit", TWO_LAYER, "-o", self.folder / "program", *SLOW, 2, "--timeline", picture,
                           "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        root = ElementTree.parse(picture).getroot()
        bars = root.findall(".//{*}rect/{*}title")
        self.assertEqual(len(bars), json.loads(done.stdout)["tasks"])
        self.assertTrue(any(bar.text.startswith("MatMul + Relu") for bar in bars), [bar.text for bar in bars])

    def test_the_timeline_shows_measured_tasks_beside_planned_ones(self):
        page = self.folder / "timeline.html"
        done = self.run_it("emit", TWO_LAYER, "--plan", *SLOW, 2, "--timeline", page, "--measure-timeline", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text()
        root = ElementTree.fromstring(text[text.index("<svg"):text.index("</svg>") + len("</svg>")])
        bars = [title.text for title in root.findall(".//{*}rect/{*}title")]
        planned, measured = ([bar for bar in bars if f", {kind}: " in bar] for kind in ("planned", "measured"))
        self.assertEqual(len(bars), 2 * json.loads(done.stdout)["tasks"])
        self.assertEqual([bar.split(", planned")[0] for bar in planned],
                         [bar.split(", measured")[0] for bar in measured])
        rows = {}
        for rectangle in root.findall(".//{*}rect[{*}title]"):
            begin, length = float(rectangle.get("x")), float(rectangle.get("width"))
            self.assertGreaterEqual(length, 0)
            # Two decimals are written of each.
            self.assertGreaterEqual(begin, rows.get(rectangle.get("y"), 0) - 0.02)
            rows[rectangle.get("y")] = begin + length
        self.assertEqual(len(rows), 4)  # two units, planned and measured
        self.assertIn("two_layer.onnx", page.read_text().split("<svg")[0])
        self.check_axis(root)

    def check_axis(self, root):
        """The picture names its model and has numbers at equal distances below the bars, within its frame."""
        words = [text.text for text in root.findall(".//{*}text")]
        self.assertIn("two_layer.onnx", words[0])
        numbers = [(float(text.get("x")), float(text.text.removesuffix(" us")))
                   for text in root.findall(".//{*}text") if text.text.endswith(" us")]
        numbers = numbers[:len(numbers) // 2]  # of the first panel
        self.assertGreaterEqual(len(numbers), 5)
        steps = {(round(b[0] - a[0]), round(b[1] - a[1], 6)) for a, b in zip(numbers, numbers[1:])}
        self.assertEqual(len({step for _, step in steps}), 1)
        self.assertLessEqual(max(x for x, _ in steps) - min(x for x, _ in steps), 1)
        left, top, width, height = map(float, root.get("viewBox").split())
        for rectangle in root.findall(".//{*}rect[{*}title]"):
            self.assertLessEqual(float(rectangle.get("x")) + float(rectangle.get("width")), left + width)
            self.assertLessEqual(float(rectangle.get("y")) + float(rectangle.get("height")), top + height)

    def test_only_programs_for_processors_are_measured(self):
        for words, message in ((("--target", "cuda", "--timeline", self.folder / "a.svg"), "--target cpu"),
                               ((), "--timeline")):
            done = self.run_it("emit", TWO_LAYER, "--plan", "--measure-timeline", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_trace_has_what_each_pass_made(self):
        folder = self.folder / "trace"
        for words in ((), ("--no-fusion",)):  # the second trace replaces the first one
            done = self.run_it("emit", TWO_LAYER, "--plan", *SLOW, 1, "--trace", folder, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            files = sorted(file.name for file in folder.iterdir())
            passes = [name.partition("-")[2].removesuffix(".txt") for name in files]
            self.assertEqual([int(name.partition("-")[0]) for name in files], list(range(1, len(files) + 1)))
            self.assertEqual(passes[:4], ["expand-composites", "join-products", "lower-graph", "fold-factors"])
            self.assertEqual(passes[-4:], ["schedule", "plan-memory", "share-counters", "check-program"])
            self.assertEqual("fuse" in passes, not words)
        self.assertIn("= MatMul(", (folder / files[2]).read_text())

    def test_fusion_stores_fewer_tensors(self):
        counts = []
        for words in ((), ("--no-fusion",)):
            done = self.run_it("emit", TWO_LAYER, "-o", self.folder / "program", "--replace", "--json", *words)
            counts.append(json.loads(done.stdout)["operators"])
        self.assertLess(counts[0], counts[1])

    def test_a_directory_is_replaced_only_if_asked(self):
        directory = self.emit(TWO_LAYER, "program")
        (directory / "kept").write_text("")
        done = self.run_it("emit", TWO_LAYER, "-o", directory)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is there already", done.stderr)
        self.assertTrue((directory / "kept").exists())
        (directory / "kernels.h").write_text("of an earlier program")
        self.emit(TWO_LAYER, "program", "--replace")
        self.assertTrue((directory / "kept").exists())
        self.assertNotEqual((directory / "kernels.h").read_text(), "of an earlier program")
        self.assertEqual([file.name for file in self.folder.iterdir()], ["program"])

    def test_what_cannot_be_emitted_is_said_in_one_line(self):
        symbolic = self.write("symbolic.onnx", [node("Relu", ["x"], ["y"])], [("x", tensor_type(F32, ["N", 3]))],
                              [("y", tensor_type(F32, ["N", 3]))])
        strange = self.write("strange.onnx", [node("Strange", ["x"], ["y"])], [("x", tensor_type(F32, [2]))],
                             [("y", tensor_type(F32, [2]))])
        for model, code, part in ((symbolic, 2, "the sizes of input 'x', f32[N, 3], are not fixed; give --shape"),
                                  (strange, 3, "there is no loop nest for Strange")):
            done = self.run_it("emit", model, "-o", self.folder / "out")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(part, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertFalse((self.folder / "out").exists())
        self.emit(symbolic, "out", "--shape", "x:5,3")

    def library(self, name):
        directory = self.emit(self.softmax_model(), name, "--name", name, *SLOW, 2)
        self.build("g++", directory, "-std=c++20", "-O1", "-pthread", "-shared", "-fPIC", name + ".cpp", "-o",
                   "program.so")
        library = ctypes.CDLL(str(directory / "program.so"))
        message = getattr(library, name + "_message")
        message.restype = ctypes.c_char_p
        getattr(library, name + "_destroy").argtypes = [ctypes.c_void_p]
        return directory, lambda function: getattr(library, name + "_" + function)

    @staticmethod
    def create(function, weights):
        program = ctypes.c_void_p()
        code = function("create")(str(weights).encode(), ctypes.byref(program))
        return code, program

    @staticmethod
    def run_program(function, program, inputs, outputs, count=1, input_bytes=10240):
        pointers = (ctypes.c_void_p * 1)(inputs), (ctypes.c_void_p * 1)(outputs)
        sizes = (ctypes.c_size_t * 1)(input_bytes), (ctypes.c_size_t * 1)(10240)
        return function("run")(program, pointers[0], sizes[0], ctypes.c_size_t(count), pointers[1], sizes[1],
                               ctypes.c_size_t(1))

    def test_wrong_calls_are_answered(self):
        if not shutil.which("g++"):
            self.skipTest("there is no compiler")
        directory, function = self.library("first")
        weights = (directory / "weights.bin").read_bytes()
        broken = self.folder / "broken.bin"
        for contents, code, part in ((weights[:-1], BAD_WEIGHTS, "ends too early"),
                                     (weights + b"x", BAD_WEIGHTS, "has more than the weights"),
                                     (weights[:30], BAD_WEIGHTS, "is no file of weights"),
                                     (weights[:-1] + bytes([weights[-1] ^ 16]), BAD_WEIGHTS, "is damaged"),
                                     (weights[:20] + b"!" + weights[21:], BAD_WEIGHTS, "belongs to another program")):
            broken.write_bytes(contents)
            self.assertEqual(self.create(function, broken)[0], code)
            self.assertIn(part, function("message")().decode())
        self.assertEqual(self.create(function, self.folder / "missing.bin")[0], NO_WEIGHTS)

        code, program = self.create(function, directory / "weights.bin")
        self.assertEqual(code, OK)
        memory = ctypes.create_string_buffer(3 * 10240 + 64)
        start = (ctypes.addressof(memory) + 63) // 64 * 64
        call = (function, program, start, start + 10240)
        self.assertEqual(self.run_program(*call, input_bytes=10236), WRONG_SIZE)
        self.assertEqual(function("message")().decode(), "input 'x' (f32[40, 64]) has 10240 bytes, not 10236")
        self.assertEqual(self.run_program(*call, count=2), BAD_ARGUMENT)
        self.assertEqual(self.run_program(function, program, 0, start), BAD_ARGUMENT)
        self.assertEqual(self.run_program(function, program, start + 1, start + 10240), BAD_ARGUMENT)
        self.assertIn("is not aligned", function("message")().decode())
        self.assertEqual(self.run_program(*call), OK)
        function("destroy")(program)

    def test_two_programs_in_one_process_and_many_runs(self):
        if not shutil.which("g++"):
            self.skipTest("there is no compiler")
        programs = []
        for name in ("first", "second"):
            directory, function = self.library(name)
            code, program = self.create(function, directory / "weights.bin")
            self.assertEqual(code, OK)
            recorded = (directory / "selfcheck.bin").read_bytes()
            programs.append((function, program, ctypes.create_string_buffer(recorded[:10240] + bytes(64)),
                             ctypes.create_string_buffer(10240 + 64)))
        results = set()
        for _ in range(300):
            for function, program, inputs, outputs in programs:
                code = self.run_program(function, program, ctypes.addressof(inputs), ctypes.addressof(outputs))
                self.assertEqual(code, OK)
                results.add(outputs.raw[:10240])
        self.assertEqual(len(results), 1)
        rows = struct.unpack("2560f", results.pop())
        self.assertAlmostEqual(sum(rows[:64]), 1, places=4)
        for function, program, _, _ in programs:
            function("destroy")(program)

    def rows_model(self):
        """softmax(x * w) + mask for any number of rows N."""
        rows, mask = tensor_type(F32, ["N", 64]), tensor_type(F32, ["N", 1])
        return self.write("rows.onnx",
                          [node("MatMul", ["x", "w"], ["p"]), node("Softmax", ["p"], ["s"],
                                                                   attributes=[integer_attribute("axis", 1)]),
                           node("Add", ["s", "mask"], ["y"])],
                          [("x", rows), ("mask", mask)], [("y", rows)],
                          initializers=[tiny_models.tensor("w", [64, 64], [(i * 31 % 97 - 48) / 97 for i in range(4096)])])

    @tested_programs.long
    def test_sizes_have_as_many_threads_as_pay(self):
        """One row is computed by one thread, many by two: in one program, whose threads are not needed in each run."""
        rows = ("--shape", "x:1/8192,64", "--shape", "mask:1/8192,1", "--threads", 2)
        done = self.run_it("emit", self.rows_model(), "-o", self.folder / "rows", "--json", *rows)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([size["units"] for size in json.loads(done.stdout)["sizes"]], [1, 2])
        if not shutil.which("g++"):
            self.skipTest("there is no compiler")
        self.build("g++", self.folder / "rows", "-std=c++20", "-O2", "-pthread", '-DPROGRAM_DIRECTORY="."', "rows.cpp",
                   "selfcheck.cpp", "-o", "check")
        checked = subprocess.run([self.folder / "rows" / "check", self.folder / "rows", "50"], capture_output=True, text=True,
                                 timeout=60)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    @tested_programs.long
    def test_several_sizes_share_weights_and_are_chosen_at_run_time(self):
        model = self.rows_model()
        words = ("--shape", "x:1/4/16,64", "--shape", "mask:1/4/16,1", *SLOW, 2)
        directory = self.emit(model, "rows", *words)
        # With one row, the weights are stored in another order: twice in all.
        bytes_of = {}
        for rows in ("16", "4/16", "1/4/16"):
            done = self.run_it("emit", model, "--plan", "--json", "--shape", f"x:{rows},64", "--shape", f"mask:{rows},1")
            plan = json.loads(done.stdout)
            bytes_of[rows] = plan.get("sizes", [plan])[0]["weight_bytes"]
        self.assertEqual(bytes_of["4/16"], bytes_of["16"])
        self.assertEqual(bytes_of["1/4/16"], 2 * bytes_of["16"])
        compilers = [name for name in ("g++", "clang++") if shutil.which(name)]
        if not compilers:
            self.skipTest("there is no compiler")
        for compiler in compilers:
            self.build(compiler, directory, "-std=c++20", "-O1", "-pthread", "-Wall", "-Wextra", "-Werror",
                       '-DPROGRAM_DIRECTORY="."', "rows.cpp", "selfcheck.cpp", "-o", "check")
            checked = subprocess.run([directory / "check", directory, "20"], capture_output=True, text=True, timeout=60)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            self.assertIn("passed: 60 runs", checked.stdout)
        self.build(compilers[0], directory, "-std=c++20", "-O1", "-pthread", "-shared", "-fPIC", "rows.cpp", "-o", "program.so")
        library = ctypes.CDLL(str(directory / "program.so"))
        library.rows_message.restype = library.rows_input_type.restype = ctypes.c_char_p
        library.rows_input_bytes.restype = ctypes.c_size_t
        library.rows_destroy.argtypes = [ctypes.c_void_p]
        self.assertEqual(library.rows_input_type(0), b"f32[1/4/16, 64]")
        self.assertEqual(library.rows_input_bytes(0), 16 * 64 * 4)
        code, program = self.create(lambda name: getattr(library, "rows_" + name), directory / "weights.bin")
        self.assertEqual(code, OK)
        memory = ctypes.create_string_buffer(3 * 8192 + 64)
        start = (ctypes.addressof(memory) + 63) // 64 * 64

        def run(rows, mask_rows, output_rows):
            inputs = (ctypes.c_void_p * 2)(start, start + 8192)
            sizes = (ctypes.c_size_t * 2)(rows * 256, mask_rows * 4)
            outputs, output_sizes = (ctypes.c_void_p * 1)(start + 16384), (ctypes.c_size_t * 1)(output_rows * 256)
            code = library.rows_run(program, inputs, sizes, ctypes.c_size_t(2), outputs, output_sizes, ctypes.c_size_t(1))
            return code, library.rows_message().decode() if code != OK else ""

        for rows in (16, 1, 4, 16):
            self.assertEqual(run(rows, rows, rows), (OK, ""))
            values = struct.unpack("64f", ctypes.string_at(start + 16384, 256))
            self.assertAlmostEqual(sum(values), 1, places=4)
        code, message = run(5, 5, 5)
        self.assertEqual(code, WRONG_SIZE)
        self.assertEqual(message, "input 'x' (f32[1/4/16, 64]) does not have 1280 bytes: "
                                  "dimension 0, 'N', has to be 1, 4 or 16")
        code, message = run(4, 16, 4)
        self.assertEqual((code, message), (WRONG_SIZE, "the inputs have sizes that do not belong together"))
        code, message = run(4, 4, 16)
        self.assertEqual((code, message), (WRONG_SIZE, "output 'y' (f32[1/4/16, 64]) has 1024 bytes, not 4096"))
        self.assertEqual(run(4, 4, 4), (OK, ""))
        library.rows_destroy(program)

    def test_lists_of_sizes_are_checked(self):
        model = self.rows_model()
        any_size = self.write("any.onnx", [node("Relu", ["x"], ["y"])], [("x", tensor_type(F32, ["N", "M"]))],
                              [("y", tensor_type(F32, ["N", "M"]))])
        for file, words, part in (
                (model, ("--shape", "x:1/4/16,64", "--shape", "mask:1/4,1"), "there are 2 sizes of a dimension, and 3 of another"),
                (any_size, ("--shape", "x:2/3,3/2"), "sizes 1 and 2 of the inputs cannot be told apart"),
                (any_size, ("--shape", "x:2//3,1"), "x:")):
            done = self.run_it("emit", file, "-o", self.folder / "out", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(part, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        done = self.run_it("emit", model, "--plan", "--json", "--shape", "x:1/4,64", "--shape", "mask:1/4,1")
        self.assertEqual([each["inputs"]["x"] for each in json.loads(done.stdout)["sizes"]], [[1, 64], [4, 64]])

    def test_run_compiles_once_and_agrees_with_the_interpreter(self):
        if not shutil.which("c++"):
            self.skipTest("there is no compiler")
        model, expected = self.softmax_model(), self.folder / "expected"
        done = self.run_it("run", model, "--random", 5, "--outputs", expected)
        self.assertEqual(done.returncode, 0, done.stderr)
        words = ("run", model, "--random", 5, "--engine", "rtask-cpu", *SLOW, 2, "--compare", expected, "--rtol",
                 "1e-4", "--atol", "1e-5")
        libraries = []
        for _ in range(2):
            done = self.run_it(*words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            libraries.append([(file, file.stat().st_mtime_ns) for file in self.folder.glob("cache/*/*/program.so")])
        self.assertEqual(len(libraries[0]), 1)
        self.assertEqual(libraries[0], libraries[1])


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
