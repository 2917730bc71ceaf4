#!/usr/bin/env python3
"""`lemma run` and `lemma inspect` as a caller sees them: exit codes, messages of one line, JSON."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models as tiny

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "two_layer.onnx"
LEMMA = None

VECTOR = tiny.tensor_type(tiny.F32, [3])


def lemma(*arguments):
    return subprocess.run([LEMMA, *map(str, arguments)], capture_output=True, text=True, timeout=120)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def relu(self, inputs=(-1, 0, 2), outputs=(0, 0, 2)):
        """A model and a folder of its input and expected output."""
        model = self.write("relu.onnx", tiny.model([tiny.node("Relu", ["x"], ["y"])], [("x", VECTOR)], [("y", VECTOR)]))
        self.write("data/input_0.pb", tiny.tensor("x", [len(inputs)], inputs))
        self.write("data/output_0.pb", tiny.tensor("y", [len(outputs)], outputs))
        return model, self.folder / "data"

    def assert_fails(self, code, words, *arguments):
        """One line on standard error that holds the words, the code, and nothing on standard output."""
        done = lemma(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")


class Usage(Case):
    def test_no_command(self):
        self.assert_fails(2, ["lemma:"])

    def test_unknown_option(self):
        self.assert_fails(2, ["--frobnicate"], "run", EXAMPLE, "--frobnicate")

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([LEMMA, "inspect", EXAMPLE, "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("standard output", done.stderr)

    def test_no_model(self):
        self.assert_fails(2, ["model"], "run")

    def test_two_kinds_of_inputs(self):
        self.assert_fails(2, ["--seed"], "run", EXAMPLE, "--seed", "1", "--inputs", self.folder)

    def test_inputs_are_needed(self):
        self.assert_fails(2, [str(EXAMPLE), "--seed"], "run", EXAMPLE)

    def test_negative_tolerance(self):
        self.assert_fails(2, ["--rtol"], "run", EXAMPLE, "--random", "1", "--rtol", "-1")

    def test_malformed_shape(self):
        self.assert_fails(2, ["--shape"], "run", EXAMPLE, "--random", "1", "--shape", "x4,16")


class BadFiles(Case):
    def test_missing_model(self):
        for command in (["run", "--random", "1"], ["inspect"]):
            self.assert_fails(2, ["absent.onnx"], *command, self.folder / "absent.onnx")

    def test_a_folder_is_no_model(self):
        for command in (["run", "--random", "1"], ["inspect"]):
            self.assert_fails(2, [self.folder.name], *command, self.folder)

    def test_not_a_model(self):
        garbage = self.write("garbage.onnx", b"this is no model at all\n" * 9)
        for command in (["run", "--random", "1"], ["inspect"]):
            self.assert_fails(2, ["garbage.onnx"], *command, garbage)

    def test_empty_model(self):
        self.assert_fails(2, ["empty.onnx"], "inspect", self.write("empty.onnx", b""))

    def test_missing_input_file(self):
        model, data = self.relu()
        (data / "input_0.pb").unlink()
        self.assert_fails(2, ["input_0.pb"], "run", model, "--inputs", data)

    def test_one_input_file_too_many(self):
        model, data = self.relu()
        shutil.copy(data / "input_0.pb", data / "input_1.pb")
        self.assert_fails(2, ["input_1.pb"], "run", model, "--inputs", data)

    def test_damaged_input_file(self):
        model, data = self.relu()
        whole = (data / "input_0.pb").read_bytes()
        for size in (0, 5, len(whole) - 3):
            (data / "input_0.pb").write_bytes(whole[:size])
            self.assert_fails(2, ["input_0.pb"], "run", model, "--inputs", data)

    def test_input_of_another_size(self):
        model, data = self.relu(inputs=(1, 2))
        self.assert_fails(2, ["'x'"], "run", model, "--inputs", data)

    def test_batch_line_without_a_folder(self):
        done = lemma("run", "--batch", self.write("jobs", b"model.onnx\n"), "--json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("line 1", done.stderr)
        self.assertEqual(json.loads(done.stdout)["status"], "bad_input")


class Unsupported(Case):
    def test_unknown_operator_is_named(self):
        nodes = [tiny.node("Widget", ["x"], ["y"], domain="com.example")]
        model = self.write("widget.onnx", tiny.model(nodes, [("x", VECTOR)], [("y", VECTOR)], ["com.example"]))
        self.assert_fails(3, ["com.example.Widget"], "run", model, "--random", "1")

    def test_an_unused_unknown_operator_does_not_matter(self):
        nodes = [tiny.node("Widget", ["x"], ["z"], domain="com.example"), tiny.node("Relu", ["x"], ["y"])]
        model = self.write("widget.onnx", tiny.model(nodes, [("x", VECTOR)], [("y", VECTOR)], ["com.example"]))
        self.assertEqual(lemma("run", model, "--random", "1").returncode, 0)

    def test_sequences(self):
        sequence = tiny.sequence_type(tiny.F32)
        model = self.write("sequence.onnx",
                           tiny.model([tiny.node("Identity", ["x"], ["y"])], [("x", sequence)], [("y", sequence)]))
        self.assert_fails(3, ["'x'"], "run", model, "--random", "1")

    def test_strings(self):
        strings = tiny.tensor_type(tiny.STRING, [2])
        model = self.write("strings.onnx",
                           tiny.model([tiny.node("Identity", ["x"], ["y"])], [("x", strings)], [("y", strings)]))
        self.assert_fails(3, ["'x'", "string"], "run", model, "--random", "1")


class Run(Case):
    def test_equal(self):
        model, data = self.relu()
        done = lemma("run", model, "--inputs", data, "--compare", data)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")

    def test_different(self):
        model, data = self.relu(outputs=(0, 0, 2.5))
        done = lemma("run", model, "--inputs", data, "--compare", data, "--json")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("'y'", done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["status"], "wrong")
        comparison = answer["outputs"][0]["comparison"]
        self.assertEqual((comparison["failures"], comparison["first_failure"]), (1, 2))
        self.assertAlmostEqual(comparison["max_absolute_error"], 0.5)
        self.assertAlmostEqual(comparison["tolerance_factor"], 0.5 / (1e-7 + (1e-3 + 32 * 2**-24) * 2.5), places=3)
        larger = ["--rtol", "0.2001", "--atol", "0"]
        self.assertEqual(lemma("run", model, "--inputs", data, "--compare", data, *larger).returncode, 0)

    def test_other_shape_than_expected(self):
        model, data = self.relu(outputs=(0, 0))
        self.assertEqual(lemma("run", model, "--inputs", data, "--compare", data).returncode, 4)

    def test_sizes_of_an_unused_input_do_not_matter(self):
        model = self.write("unused.onnx", tiny.model([tiny.node("Relu", ["x"], ["y"])],
                                                     [("x", VECTOR), ("unused", VECTOR)], [("y", VECTOR)]))
        _, data = self.relu()
        self.write("data/input_1.pb", tiny.tensor("unused", [1, 1], [7]))
        done = lemma("run", model, "--inputs", data, "--compare", data)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_random_inputs_depend_on_the_seed_alone(self):
        outputs = [json.loads(lemma("run", EXAMPLE, "--random", seed, "--json").stdout)["outputs"] for seed in (1, 1, 2)]
        self.assertEqual(outputs[0], outputs[1])
        self.assertNotEqual(outputs[0], outputs[2])

    def test_written_outputs_are_what_was_computed(self):
        for seed in (1, 2):
            written = lemma("run", EXAMPLE, "--random", seed, "--outputs", self.folder / str(seed))
            self.assertEqual(written.returncode, 0, written.stderr)
            self.assertIn("f32[4, 8]", written.stdout)
        exact = ["--rtol", "0", "--atol", "0"]
        self.assertEqual(lemma("run", EXAMPLE, "--random", "1", "--compare", self.folder / "1", *exact).returncode, 0)
        self.assertEqual(lemma("run", EXAMPLE, "--random", "1", "--compare", self.folder / "2").returncode, 4)

    def test_symbolic_sizes(self):
        batch = tiny.tensor_type(tiny.F32, ["N", 3])
        model = self.write("batch.onnx",
                           tiny.model([tiny.node("Relu", ["x"], ["y"])], [("x", batch)], [("y", batch)]))
        done = lemma("run", model, "--random", "1", "--shape", "x:5,3")
        self.assertIn("f32[5, 3]", done.stdout)
        self.assertEqual(done.stderr, "")
        done = lemma("run", model, "--random", "1")
        self.assertIn("f32[1, 3]", done.stdout)
        self.assertIn("N", done.stderr)

    def test_batch(self):
        model, data = self.relu()
        jobs = self.write("jobs", f"{model}\t{data}\n{self.folder}/absent.onnx\t{data}\n{model}\t{data}\n".encode())
        done = lemma("run", "--batch", jobs, "--json")
        self.assertEqual(done.returncode, 2)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([answer["status"] for answer in answers], ["passed", "bad_input", "passed"])
        self.assertIn("absent.onnx", answers[1]["reason"])


class Inspect(Case):
    def test_json(self):
        report = json.loads(lemma("inspect", EXAMPLE, "--json").stdout)
        self.assertEqual(report["inputs"], [{"name": "x", "type": "f32[4, 16]"}])
        self.assertEqual(report["outputs"], [{"name": "y", "type": "f32[4, 8]"}])
        counts = {row["name"]: row["count"] for row in report["operators"]}
        self.assertEqual(counts, {"MatMul": 4, "Add": 1, "Relu": 2})
        self.assertEqual(sum(row["flops"] for row in report["operators"]), report["flops"])
        self.assertGreater(report["cost"], 0)
        self.assertEqual(report["opaque"], [])

    def test_opaque_operators_are_grouped(self):
        nodes = [tiny.node("Widget", [name], [name + "x"], domain="com.example") for name in ("x", "xx")]
        model = self.write("widget.onnx", tiny.model(nodes, [("x", VECTOR)], [("xxx", VECTOR)], ["com.example"]))
        opaque = json.loads(lemma("inspect", model, "--json").stdout)["opaque"]
        self.assertEqual([(row["name"], row["count"]) for row in opaque], [("com.example.Widget", 2)])
        self.assertIn("com.example.Widget", lemma("inspect", model).stdout)

    def test_symbols(self):
        batch = tiny.tensor_type(tiny.F32, ["N", 3])
        model = self.write("batch.onnx",
                           tiny.model([tiny.node("Relu", ["x"], ["y"])], [("x", batch)], [("y", batch)]))
        symbols = json.loads(lemma("inspect", model, "--json").stdout)["symbols"]
        self.assertEqual(symbols, [{"name": "N", "source": "axis 0 of input 'x'", "uses": 2}])
        fixed = lemma("inspect", model, "--json", "--shape", "x:7,3")
        self.assertEqual(json.loads(fixed.stdout)["outputs"][0]["type"], "f32[7, 3]")

    def test_text(self):
        text = lemma("inspect", EXAMPLE, "--text").stdout
        self.assertIn('input %0 "x" : f32[4, 16]', text)
        self.assertIn("MatMul", text)

    def test_picture(self):
        picture = self.folder / "picture.dot"
        done = lemma("inspect", EXAMPLE, "--dot", picture)
        self.assertEqual(done.returncode, 0, done.stderr)
        source = picture.read_text()
        self.assertTrue(source.startswith("digraph"))
        self.assertEqual(source.count('label="MatMul'), 4)
        self.assertEqual(picture.with_suffix(".svg").is_file(), shutil.which("dot") is not None)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
