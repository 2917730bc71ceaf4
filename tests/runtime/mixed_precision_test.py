#!/usr/bin/env python3
"""`lemma differentiate --mixed-precision`: what ONNX Runtime makes of such steps is near to the step in f32, small gradients
survive by the scale, a step that overflows changes nothing, and the scale follows."""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import environment  # noqa: E402

environment.enter_or_skip()

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

LEMMA = None


def network():
    """A convolution, a pool, a product and a mask of -3e38: images of 8 to 4 classes."""
    generator = numpy.random.default_rng(3)

    def weight(name, *sizes):
        return numpy_helper.from_array((generator.standard_normal(sizes) * 0.3).astype(numpy.float32), name)

    weights = [weight("conv.weight", 6, 3, 3, 3), weight("conv.bias", 6), weight("last.weight", 4, 6), weight("last.bias", 4)]
    mask = numpy_helper.from_array(numpy.array([0, 0, 0, -3e38], numpy.float32), "mask")
    nodes = [helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("GlobalAveragePool", ["r"], ["p"]),
             helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("Gemm", ["f", "last.weight", "last.bias"], ["s"], transB=1),
             helper.make_node("Add", ["s", "mask"], ["scores"])]
    graph = helper.make_graph(nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 3, 8, 8])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [5, 4])], [*weights, mask])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), weights


class MixedPrecision(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="lemma-mixed-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        model, weights = network()
        onnx.save(model, cls.folder / "network.onnx")
        generator = numpy.random.default_rng(4)
        cls.feed = {weight.name: numpy_helper.to_array(weight) for weight in weights}
        cls.feed |= {"x": generator.standard_normal((5, 3, 8, 8)).astype(numpy.float32), "labels": numpy.array([0, 1, 2, 1, 0]),
                     "learning_rate": numpy.float32(0.1)}
        cls.feed |= {"loss_scale": numpy.float32(1024), "good_steps": numpy.float32(7), "steps": numpy.float32(2)}
        for weight in weights:
            for state in ("momentum", "mean", "square"):
                cls.feed[f"{weight.name}.{state}"] = numpy.full_like(cls.feed[weight.name], 0.01)

    def step(self, *words):
        """The file of a step, and what it computes, by output."""
        file = self.folder / "step.onnx"
        done = subprocess.run([LEMMA, "differentiate", self.folder / "network.onnx", "--wrt", "*.*", "-o", file, *map(str, words)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return onnx.load(file)

    def computed(self, step, **changed):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # no warnings of what it cannot fold
        session = onnxruntime.InferenceSession(step.SerializeToString(), options, providers=["CPUExecutionProvider"])
        feed = self.feed | changed
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, {value.name: numpy.asarray(feed[value.name]) for value in session.get_inputs()}), strict=True))

    def assert_near(self, some, others, names, part):
        for name in names:
            worst = numpy.abs(some[name] - others[name]).max()
            self.assertLess(worst, part * numpy.abs(others[name]).max(), name)

    def test_gradients_are_those_of_f32(self):
        wide = self.computed(self.step("--optimizer", "none"))
        narrow = self.computed(self.step("--optimizer", "none", "--mixed-precision", "f16"))
        self.assertTrue(narrow["finite"])
        names = [name for name in wide if name.endswith(".gradient")]
        self.assertEqual(len(names), 4)
        self.assert_near(narrow, wide, [*names, "loss"], 0.01)
        self.assertTrue(any((narrow[name] != wide[name]).any() for name in names))

    def test_the_half_type_computes(self):
        for half, code in (("f16", TensorProto.FLOAT16), ("bf16", TensorProto.BFLOAT16)):
            step = self.step("--mixed-precision", half)
            types = {value.name: value.type.tensor_type.elem_type for value in
                     onnx.shape_inference.infer_shapes(step, strict_mode=True).graph.value_info}
            for node in step.graph.node:
                if node.op_type in ("Conv", "Gemm", "MatMul", "Relu", "ConvTranspose"):
                    self.assertEqual(types[node.output[0]], code, node.op_type)
            declared = [*step.graph.input, *step.graph.output]
            self.assertNotIn(code, [value.type.tensor_type.elem_type for value in declared])

    def test_updates_are_those_of_f32(self):
        for optimizer in ("sgd", "momentum", "adam", "adamw"):
            wide = self.computed(self.step("--optimizer", optimizer))
            narrow = self.computed(self.step("--optimizer", optimizer, "--mixed-precision", "f16", "--loss-scale", 256))
            self.assertEqual(set(narrow) - set(wide), {"finite"})
            self.assert_near(narrow, wide, wide, 0.02)

    def test_small_gradients_need_the_scale(self):
        # A factor of 2^-20 of the scores makes gradients that f16 rounds to zero.
        weight = self.feed["last.weight"] * 2.0**-20
        scaled, bare = (self.computed(self.step("--optimizer", "none", "--mixed-precision", "f16", "--loss-scale", scale),
                                      **{"last.weight": weight})["conv.weight.gradient"] for scale in (65536, 1))
        wide = self.computed(self.step("--optimizer", "none"), **{"last.weight": weight})["conv.weight.gradient"]
        self.assertLess(numpy.abs(scaled - wide).max(), 0.05 * numpy.abs(wide).max())
        self.assertGreater(numpy.abs(bare - wide).max(), 0.2 * numpy.abs(wide).max())

    def test_a_step_that_overflows_changes_nothing(self):
        step = self.step("--optimizer", "adam", "--mixed-precision", "f16")
        after = self.computed(step, loss_scale=numpy.float32(1e30))
        self.assertFalse(after["finite"])
        for name, value in after.items():
            before = name.removesuffix(".next")
            if before not in (name, "loss_scale", "good_steps"):
                numpy.testing.assert_array_equal(value, self.feed[before], name)
        self.assertEqual(after["loss_scale.next"], numpy.float32(0.5e30))
        self.assertEqual(after["good_steps.next"], 0)
        self.assertTrue(numpy.isfinite(after["loss"]))

    def test_the_scale_grows_after_many_good_steps(self):
        step = self.step("--mixed-precision", "f16")
        usual = self.computed(step)
        self.assertEqual((usual["loss_scale.next"], usual["good_steps.next"]), (1024, 8))
        grown = self.computed(step, good_steps=numpy.float32(1999))
        self.assertEqual((grown["loss_scale.next"], grown["good_steps.next"]), (2048, 0))
        numpy.testing.assert_array_equal(grown["last.bias.next"], usual["last.bias.next"])

    def test_optimized_steps_still_look_at_the_gradients(self):
        self.step("--mixed-precision", "f16")
        done = subprocess.run([LEMMA, "simplify", self.folder / "step.onnx", "-o", self.folder / "simple.onnx"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        after = self.computed(onnx.load(self.folder / "simple.onnx"), loss_scale=numpy.float32(1e30))
        self.assertFalse(after["finite"])
        numpy.testing.assert_array_equal(after["last.bias.next"], self.feed["last.bias"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", type=pathlib.Path, required=True)
    known, rest = parser.parse_known_args()
    LEMMA = known.lemma
    unittest.main(argv=[sys.argv[0], *rest])
