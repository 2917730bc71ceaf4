#!/usr/bin/env python3
"""Kinds of models that papers measure and the other tests do not have, in small sizes: as `lemma optimize` writes them and as
`lemma compile` does, they compute what their originals compute under ONNX Runtime."""

import argparse
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models")]
import environment

environment.enter_or_skip()

import numpy
import onnx

import convolutional
import tables
from agreement import RandomInputs, session

LEMMA = None
OPTIONS = types.SimpleNamespace(seed=0, batch=2, scale=1)
MODELS = {
    "alexnet": lambda: convolutional.alexnet(OPTIONS, width=4, image=64),
    "dcgan_generator": lambda: convolutional.dcgan_generator(OPTIONS, width=2),
    "dlrm": lambda: tables.dlrm(OPTIONS, rows=8, tables=3, size=4, layers=(16, 8)),
    "gcn": lambda: tables.gcn(OPTIONS, nodes=12, features=10, hidden=4),
}


class Kinds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-kinds-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_lemma(self, *words):
        done = subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)

    def inputs_of(self, model):
        loaded = session(model)
        inputs = RandomInputs(loaded.get_inputs(), {}, seed=0)
        self.assertIsNone(inputs.settle(lambda feed: loaded.run(None, feed)))
        return inputs.sample(0)

    def expect_equal(self, actual, expected, where):
        for left, right in zip(actual, expected, strict=True):
            self.assertTrue(numpy.isfinite(right).all(), where)
            self.assertGreater(numpy.ptp(right), 0, where)
            numpy.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4 * abs(right).max(), err_msg=where)

    def compiled_outputs(self, model, name, feed):
        self.run_lemma("compile", model, "-o", self.folder / "program", "--name", name, "--threads", 1)
        specification = importlib.util.spec_from_file_location(name, self.folder / "program" / f"{name}.py")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        with module.Program() as program:
            return program.run(None, feed)

    def check(self, name):
        model, optimized = self.folder / f"{name}.onnx", self.folder / "optimized.onnx"
        onnx.save(MODELS[name](), model)
        feed = self.inputs_of(model)
        expected = session(model).run(None, feed)
        self.run_lemma("optimize", model, "-o", optimized, "--no-measure", "--threads", 1)
        self.expect_equal(session(optimized).run(None, feed), expected, f"{name}, optimized")
        self.expect_equal(self.compiled_outputs(model, name, feed), expected, f"{name}, compiled")


for model_name in MODELS:
    setattr(Kinds, f"test_{model_name}", lambda self, name=model_name: self.check(name))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True, metavar="FILE")
    options, rest = parser.parse_known_args()
    LEMMA = options.lemma
    unittest.main(argv=[sys.argv[0], *rest])
