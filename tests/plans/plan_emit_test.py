#!/usr/bin/env python3
"""lemma plan emit: the source of a plan compiles by its Makefile, and its ranks compute what `lemma plan run` and one device compute."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models"), str(ROOT / "tests" / "cli")]
import environment

environment.enter_or_skip()

import numpy
import onnx
import onnxruntime
import parallel
import placed
import sharded
import tested_programs
from onnx import TensorProto, helper

LEMMA = None


def run(*words, folder=None):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, cwd=folder)


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.source = self.folder / "source"

    def write(self, models):
        files = []
        for number, model in enumerate(models):
            files.append(self.folder / f"model{number}.onnx")
            onnx.save(model, files[-1])
        return files

    def emit(self, *words):
        done = run(LEMMA, "plan", "emit", *words, "-o", self.source)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def refuse(self, message, *words):
        done = run(LEMMA, "plan", "emit", *words, "-o", self.source)
        self.assertIn(done.returncode, (2, 3), done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(message, done.stderr)


class Built(Case):
    def setUp(self):
        super().setUp()
        if shutil.which("mpirun") is None or shutil.which("mpicxx") is None:
            self.skipTest("there is no MPI to compile for")

    def launch(self, ranks, *words):
        done = run("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks, self.source / "run", *words)
        return done

    def check(self, single, ranks, *others):
        """Builds and runs it on the recorded inputs and on others; returns what was said when it was written."""
        said = self.emit(single, *others)
        # As the README says it: the first command is make, the second is mpirun.
        command = re.search(r"```\n(make[^&]*) && (mpirun .*)\n```", (self.source / "README.md").read_text())
        built = run(*command[1].replace("-j", "-j2").split(), folder=self.source)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertNotIn("warning", built.stderr)
        self.assertEqual(command[2], f"mpirun -n {ranks} ./run")
        done = self.launch(ranks)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("differ from those of one device", done.stdout)
        self.check_other_inputs(single, ranks)
        return said

    def check_other_inputs(self, single, ranks):
        session = onnxruntime.InferenceSession(str(single), providers=["CPUExecutionProvider"])
        random, given = numpy.random.default_rng(5), {}
        for number, value in enumerate(session.get_inputs()):
            given[value.name] = random.uniform(-1, 1, value.shape).astype(numpy.float32)
            given[value.name].tofile(self.folder / f"input_{number}.bin")
        done = self.launch(ranks, "--inputs", self.folder, "--outputs", self.folder, "--repeat", 3)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for number, expected in enumerate(session.run(None, given)):
            actual = numpy.fromfile(self.folder / f"output_{number}.bin", numpy.float32).reshape(expected.shape)
            numpy.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)

    def test_ranks_that_do_the_same(self):
        single, rank = self.write([sharded.layers(), sharded.with_specifications(sharded.layers(), sharded.GRID, 4)])
        said = self.check(single, 4, rank)
        self.assertIn("4 ranks by 1 programs", said)
        # Another number of ranks is one line.
        done = self.launch(2)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the plan is for 4 ranks, but 2 were started", done.stderr)
        # Inputs that are too short as well.
        (self.folder / "input_0.bin").write_bytes(b"short")
        done = self.launch(4, "--inputs", self.folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("input_0.bin: ends too early", done.stderr)

    def test_all_collectives(self):
        for kind in ("sequence", "zero", "all_to_all"):
            with self.subTest(kind=kind):
                single, *ranks = self.write([parallel.KINDS[kind](parallel.Sizes(batch=4), 2)[0],
                                             *parallel.KINDS[kind](parallel.Sizes(batch=4), 2)[1]])
                self.check(single, 2, *ranks)
                shutil.rmtree(self.source)

    def test_ranks_that_differ(self):
        for kind, ranks, programs in (("channels and length", 4, 4), ("pipeline", 4, 4)):
            with self.subTest(kind=kind):
                models = placed.KINDS[kind]()
                single, *others = self.write([models[0], *models[1]])
                self.assertIn(f"{ranks} ranks by {programs} programs", self.check(single, ranks, *others))
                shutil.rmtree(self.source)


class Written(Case):
    def models(self, nodes=sharded.TENSOR):
        return self.write([sharded.layers(), sharded.with_specifications(sharded.layers(), nodes)])

    def test_the_same_plan_gives_the_same_bytes(self):
        files = self.models()
        self.emit(*files)
        first = {file.relative_to(self.source): file.read_bytes() for file in self.source.rglob("*") if file.is_file()}
        self.refuse("is there already", *files)
        self.emit(*files, "--replace")
        again = {file.relative_to(self.source): file.read_bytes() for file in self.source.rglob("*") if file.is_file()}
        self.assertEqual(first, again)

    def test_stages_of_an_earlier_plan_are_removed(self):
        self.emit(*self.models(sharded.CHANGED))
        before = {path.name for path in self.source.glob("stage_*") if path.is_dir()}
        (self.source / "own.txt").write_text("kept")
        self.emit(*self.models(sharded.DATA), "--replace")
        after = {path.name for path in self.source.glob("stage_*") if path.is_dir()}
        self.assertLess(after, before)
        self.assertEqual((self.source / "own.txt").read_text(), "kept")

    def test_what_cannot_be_written_is_one_line(self):
        def model(rows):
            x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 4]) for name in "xy")
            nodes = [helper.make_node("Cast", ["x"], ["narrow"], to=TensorProto.FLOAT8E4M3FN),
                     helper.make_node("Cast", ["narrow"], ["y"], to=TensorProto.FLOAT)]
            return helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 19)], ir_version=9)

        self.refuse("f8e4m3fn", *self.write([model(4), model(2), model(2)]))
        self.assertFalse(self.source.exists())


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
