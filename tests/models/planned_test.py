#!/usr/bin/env python3
"""The models that FlexFlow and Unity are measured on, at small sizes: onnx's checker and Lemma accept them, ONNX Runtime runs them, and
their samples are axis 0 of all inputs and outputs."""

import argparse
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models")]
import environment

environment.enter_or_skip()

import convolutional
import numpy
import onnx
import onnxruntime
import tables
import transformers
import translation

LEMMA = None
BATCH = 2
# How each is made small.
MODELS = {
    "inception_v3": lambda options: convolutional.inception_v3(options, image=75),
    "resnet101": lambda options: convolutional.resnet101(options, depths=(1, 2, 1, 1), image=32),
    "bert_large": lambda options: transformers.bert_large(options, hidden=32, layers=2, heads=4, sequence=8),
    "candle_uno": lambda options: tables.candle_uno(options, width=8, features={"cell_rnaseq": 12, "drug1_descriptors": 20}),
    "rnntc": lambda options: translation.rnntc(options, hidden=8, layers=2),
    "rnnlm": lambda options: translation.rnnlm(options, hidden=8),
    "nmt": lambda options: translation.nmt(options, hidden=8),
}
OPTIONS = argparse.Namespace(seed=0, batch=BATCH, scale=1, vocabulary=17, steps=3)


def random_inputs(session, batch):
    generator = numpy.random.default_rng(1)
    return {entry.name: generator.standard_normal([batch, *entry.shape[1:]], numpy.float32) if entry.type == "tensor(float)" else
            generator.integers(0, 2, [batch, *entry.shape[1:]]) for entry in session.get_inputs()}


class Planned(unittest.TestCase):
    def test_models_are_accepted_and_run(self):
        for name, make in MODELS.items():
            with self.subTest(model=name), tempfile.TemporaryDirectory() as folder:
                model = make(OPTIONS)
                onnx.checker.check_model(model, full_check=True)
                file = Path(folder) / f"{name}.onnx"
                onnx.save(model, str(file))
                done = subprocess.run([LEMMA, "inspect", file], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                for kind in ("Conv", "MatMul"):
                    count = sum(node.op_type == kind for node in model.graph.node)
                    if count:
                        self.assertRegex(done.stdout, rf"(?m)^{kind} +{count} ")
                session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
                for value in session.run(None, random_inputs(session, BATCH)):
                    self.assertEqual(value.shape[0] % BATCH, 0)
                    self.assertTrue(numpy.isfinite(value).all())
                    self.assertGreater(value.std(), 0)

    def test_samples_do_not_see_each_other(self):
        """Two samples together give what each gives alone, in the order of the samples."""
        for name, make in MODELS.items():
            with self.subTest(model=name):
                both, one = (make(argparse.Namespace(**{**vars(OPTIONS), "batch": batch})) for batch in (2, 1))
                sessions = [onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
                            for model in (both, one)]
                inputs = random_inputs(sessions[0], 2)
                together = sessions[0].run(None, inputs)
                for sample in range(2):
                    alone = sessions[1].run(None, {key: value[sample:sample + 1] for key, value in inputs.items()})
                    for whole, part in zip(together, alone):
                        rows = whole.shape[0] // 2
                        numpy.testing.assert_allclose(whole[sample * rows:(sample + 1) * rows], part, rtol=2e-3, atol=2e-4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True, metavar="FILE")
    options, rest = parser.parse_known_args()
    LEMMA = options.lemma
    unittest.main(argv=[sys.argv[0], *rest])
