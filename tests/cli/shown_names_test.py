#!/usr/bin/env python3
"""Names of a model file are printed so that they cannot control a terminal or turn a line around, by every command."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, content, node, tensor_type

LEMMA = None
# A control of 8-bit terminals, an escape sequence, a direction, a line's end, a separator of lines, what has no width.
CONTROLS = "\u009b2J\x1b[31m\u202eabc\u2066\r\n\u2028\u200b\ufeff\x7f"
VECTOR = tensor_type(F32, [8])


def name(word):
    return word + CONTROLS + "<b>"


class ShownNames(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-shown-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.write("model.onnx", "Relu", 1)
        self.other = self.write("other.onnx", "Tanh", 2)

    def write(self, file, operator, weight):
        metadata = content(14, content(1, name("key")) + content(2, name("value")))
        path = self.folder / file
        path.write_bytes(tiny_models.model(
            [node("Neg", [name("x")], [name("n")]), node("Neg", [name("n")], [name("m")]),
             node(operator, [name("m")], [name("r")]), node("Add", [name("r"), name("w")], [name("y")]),
             node(name("Mystery"), [name("y")], [name("z")], domain=name("d"))],
            [(name("x"), VECTOR)], [(name("y"), VECTOR), (name("z"), VECTOR)], domains=[name("d")],
            initializers=[tiny_models.tensor(name("w"), [8], [weight] * 8)]) + metadata)
        return path

    def plain(self, file):
        """The same without the operator that nothing can compute."""
        path = self.folder / file
        path.write_bytes(tiny_models.model(
            [node("Neg", [name("x")], [name("n")]), node("Tanh", [name("n")], [name("m")]), node("Add", [name("m"), name("w")], [name("y")])],
            [(name("x"), VECTOR)], [(name("y"), VECTOR)],
            initializers=[tiny_models.tensor(name("w"), [8], range(8))]))
        return path

    def assert_clean(self, text, where):
        for control in CONTROLS.replace("\n", "").replace("\r", "") + "\r":
            if control in "2J[31mabc":
                continue
            self.assertNotIn(control, text, f"{where}: {text[max(0, text.find(control) - 80):][:160]!r}")

    def run_it(self, *words, codes=(0,)):
        done = subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=120, cwd=self.folder)
        self.assertIn(done.returncode, codes, done.stderr)
        self.assert_clean(done.stdout, words)
        self.assert_clean(done.stderr, words)
        return done

    def test_what_is_printed(self):
        plain = self.plain("plain.onnx")
        self.run_it("inspect", self.model)
        self.run_it("run", plain, "--random", 1)
        self.run_it("run", self.model, "--random", 1, codes=(3,))
        self.run_it("compare", self.model, self.model)
        self.run_it("compare", self.model, self.other, codes=(3, 4))
        self.run_it("compare", plain, self.model, codes=(4,))
        self.run_it("diff", self.model, self.other, codes=(4,))
        self.run_it("simplify", self.model, "-o", "simple.onnx")
        self.run_it("optimize", self.model, "-o", "result.onnx", "--no-measure", "--time-limit", 5)
        self.run_it("schedule", plain, "--device", "slow-cpu")
        self.run_it("emit", plain, "-o", "program")
        self.run_it("emit", self.model, "-o", "no-program", codes=(3,))
        self.run_it("inspect", self.folder / "no\x1b\u202emodel\n.onnx", codes=(2,))

    def test_objects(self):
        plain = self.plain("plain.onnx")
        for words, codes in ((("inspect", self.model), (0,)), (("run", plain, "--random", 1), (0,)),
                             (("compare", plain, plain), (0,)), (("diff", self.model, self.other), (4,)),
                             (("optimize", self.model, "-o", "result.onnx", "--no-measure", "--time-limit", 5), (0,)),
                             (("schedule", plain, "--device", "slow-cpu"), (0,)), (("emit", plain, "-o", "program"), (0,))):
            done = self.run_it(*words, "--json", codes=codes)
            json.loads(done.stdout)
        # A name is still itself.
        inputs = json.loads(self.run_it("run", plain, "--random", 1, "--json").stdout)["outputs"]
        self.assertEqual(inputs[0]["name"], name("y"))

    def test_files(self):
        plain = self.plain("plain.onnx")
        self.run_it("inspect", self.model, "--dot", "graph.dot")
        self.run_it("diff", self.model, self.other, "--html", "difference.html", codes=(4,))
        self.run_it("optimize", self.model, "-o", "result.onnx", "--no-measure", "--time-limit", 5, "--report", "report.html")
        self.run_it("emit", plain, "-o", "program", "--timeline", "timeline.svg")
        files = ["graph.dot", "difference.html", "report.html", "timeline.svg",
                 *(path for path in (self.folder / "program").iterdir() if path.suffix != ".bin")]
        for file in files:
            self.assert_clean((self.folder / file).read_bytes().decode(), file)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
