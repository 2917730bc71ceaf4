#!/usr/bin/env python3
"""What a model keeps when nothing is changed, what it loses that changes nothing, and what is said when a run ends
early. Models are encoded by hand."""

import argparse
import json
import pathlib
import subprocess
import tempfile
import unittest

import tiny_models
from tiny_models import F32, integer_attribute, integers_attribute, node, tensor_type

LEMMA = None
VECTOR = tensor_type(F32, [2])


class Everyday(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-everyday-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *words):
        return subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=120)

    def optimize(self, model, *words):
        done = self.run_it("optimize", model, *words, "--json", "--no-second-judge", "--no-measure")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["models"][0]

    def write(self, name, *parts, **more):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(tiny_models.model(*parts, **more))
        return file

    def one_relu(self, name="relu.onnx"):
        return self.write(name, [node("Relu", ["x"], ["y"])], [("x", VECTOR)], [("y", VECTOR)])

    def external_weights(self, name, values=(1, 2)):
        """x + w, where w is in a file below the model's folder."""
        file = self.write(name, [node("Add", ["x", "w"], ["y"])], [("x", VECTOR)], [("y", VECTOR)],
                          initializers=[tiny_models.external_tensor("w", [2], "data/weights.bin")])
        data = file.parent / "data" / "weights.bin"
        data.parent.mkdir(exist_ok=True)
        data.write_bytes(tiny_models.floats(values))
        return file

    def test_a_model_in_which_nothing_is_cheaper_is_the_same_bytes(self):
        model = self.one_relu()
        figures = self.optimize(model, "-o", self.folder / "out.onnx")
        self.assertEqual(figures["status"], "unchanged")
        self.assertEqual((self.folder / "out.onnx").read_bytes(), model.read_bytes())

    def test_its_data_goes_along(self):
        model = self.external_weights("a/model.onnx")
        out = self.folder / "out"
        self.assertEqual(self.optimize(model, "--out-dir", out)["status"], "unchanged")
        self.assertEqual((out / "model.onnx").read_bytes(), model.read_bytes())
        self.assertEqual((out / "data" / "weights.bin").read_bytes(), tiny_models.floats((1, 2)))
        # In the folder that it is in, there is nothing to copy.
        self.optimize(model, "-o", model.parent / "again.onnx")
        self.assertEqual((model.parent / "again.onnx").read_bytes(), model.read_bytes())

    def test_data_of_another_model_is_not_replaced(self):
        out = self.folder / "out"
        self.optimize(self.external_weights("a/one.onnx"), "--out-dir", out)
        other = self.external_weights("b/two.onnx", (3, 4))
        self.assertEqual(self.optimize(other, "--out-dir", out)["status"], "unchanged")
        self.assertEqual((out / "data" / "weights.bin").read_bytes(), tiny_models.floats((1, 2)))
        self.assertIn(tiny_models.floats((3, 4)), b"".join(
            file.read_bytes() for file in out.iterdir() if file.name.startswith("two")))

    def test_what_only_merges_is_an_improvement_and_is_explained(self):
        matrix = tensor_type(F32, [2, 3])
        turned = [integers_attribute("perm", [1, 0])]
        middles = {
            "negations": [node("Neg", ["a"], ["m"]), node("Neg", ["m"], ["b"])],
            "transposes": [node("Transpose", ["a"], ["m"], attributes=turned),
                           node("Transpose", ["m"], ["b"], attributes=turned)],
            "relus": [node("Relu", ["a"], ["m"]), node("Relu", ["m"], ["b"])],
            "parts": [node("Split", ["a"], ["m", "n"], attributes=[integer_attribute("axis", 0)]),
                      node("Concat", ["m", "n"], ["b"], attributes=[integer_attribute("axis", 0)])],
        }
        for name, middle in middles.items():
            nodes = [node("Tanh", ["x"], ["a"]), *middle, node("Sigmoid", ["b"], ["y"])]
            model = self.write(f"{name}.onnx", nodes, [("x", matrix)], [("y", matrix)])
            for strategy in ("auto", "saturation", "combined", "backtracking"):
                figures = self.optimize(model, "-o", self.folder / "out.onnx", "--strategy", strategy)
                self.assertEqual(figures["status"], "optimized", (name, strategy))
                self.assertEqual(figures["after"]["operators"], 3 if name == "relus" else 2, (name, strategy))
                self.assertTrue(figures["rules_used"], (name, strategy))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    options, rest = parser.parse_known_args()
    LEMMA = options.lemma
    unittest.main(argv=["everyday_test", *rest])
