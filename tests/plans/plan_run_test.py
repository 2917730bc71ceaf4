#!/usr/bin/env python3
"""lemma plan run: task programs and all ways of exchanging compute what the interpreter does, steps of training go on from each
other without growth of memory, and a rank that is killed ends the run with a line."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models"), str(ROOT / "tests" / "cli")]
import environment

environment.enter_or_skip()

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import parallel
import placed
import tested_programs
import training_models

LEMMA = None
EXCHANGES = ("collectives", "one-sided", "send-receive", "remote-calls")


def run(words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)


def write_inputs(step, folder, rate):
    """Weights and what else a step of training is given, of the model that it was made from."""
    folder.mkdir()
    random = np.random.default_rng(5)
    for number, value in enumerate(step.graph.input):
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if value.name == "learning_rate":
            array = np.full(shape, rate, kind)
        elif np.issubdtype(kind, np.integer):
            array = random.integers(0, 3, shape).astype(kind)
        else:
            array = (random.uniform(-0.5, 0.5, shape)).astype(kind)
        (folder / f"input_{number}.pb").write_bytes(numpy_helper.from_array(array, value.name).SerializeToString())


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, single, ranks):
        files = []
        for number, model in enumerate([single, *ranks]):
            files.append(self.folder / f"model{number}.onnx")
            onnx.save(model, files[-1])
        return files

    def launcher(self, ranks):
        """mpirun for so many ranks, or a skipped test."""
        if shutil.which("mpirun") is None or not (Path(LEMMA).resolve().parent.parent / "lib" / "lemma" / "lemma_mpi_plans.so").exists():
            self.skipTest("lemma was built without MPI, or there is no mpirun")
        return ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]

    def answer(self, *words, launcher=()):
        done = run([*launcher, LEMMA, "plan", "run", *words, "--json"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout), done.stderr

    def training(self, *places):
        """A step of training of two layers, data parallel, a plan for it, and inputs."""
        model, step, plan, inputs = (self.folder / part for part in ("model.onnx", "step.onnx", "plan.json", "inputs"))
        layers = training_models.Model("layers", np.float32)
        x = layers("Relu", layers.linear(layers.input("x", [8, 6]), "first", 6, 8))
        onnx.save(layers.finish(layers.linear(x, "last", 8, 4)), model)
        self.assertEqual(run([LEMMA, "differentiate", model, "--loss", "mse", "--optimizer", "sgd", "-o", step]).returncode, 0)
        self.make(step, plan, *places)
        if not inputs.exists():
            write_inputs(onnx.load(step), inputs, 0.5)
        return step, plan, inputs

    def make(self, step, plan, *places):
        places = [word for place in ("x:0", "target:0", *places) for word in ("--place", place)]
        made = run([LEMMA, "plan", "make", step, "--cluster", "local-2", "-o", plan, *places])
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("the plan is proved to be the model", made.stdout)


def elementwise(rows, *operators):
    """Operators of one operand, one after the other, on so many rows."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 8]) for name in "xy")
    names = ["x", *(f"v{i}" for i in range(1, len(operators))), "y"]
    nodes = [helper.make_node(op, [names[i]], [names[i + 1]]) for i, op in enumerate(operators)]
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


class Comparisons(Case):
    """Random inputs are from -1 to 1: half of the logarithms are no number."""

    def test_no_number_at_the_same_places_is_no_difference(self):
        answer, _ = self.answer(*self.write(elementwise(4, "Log"), [elementwise(2, "Log")] * 2))
        self.assertEqual(answer["difference"], 0)

    def test_no_number_beside_a_number_is_a_difference(self):
        for single, ranks in ((("Log",), ("Abs", "Log")), (("Abs", "Log"), ("Log",))):
            done = run([LEMMA, "plan", "run", *self.write(elementwise(4, *single), [elementwise(2, *ranks)] * 2)])
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.assertIn("differ from those of one device by inf", done.stdout)


class Engines(Case):
    def test_task_programs_compute_what_the_interpreter_does(self):
        for kind in ("tensor", "zero"):
            with self.subTest(kind=kind):
                files = self.write(*parallel.KINDS[kind](parallel.Sizes(batch=4, layers=1), 2))
                programs, _ = self.answer(*files, "--engine", "task-programs")
                interpreted, _ = self.answer(*files)
                self.assertLess(programs["difference"], 1e-5)
                self.assertEqual(programs["interpreted"], [])
                self.assertEqual(programs["ranks"], interpreted["ranks"])

    def test_what_has_no_program_is_interpreted_and_named(self):
        def model(rows):
            x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 4]) for name in "xy")
            nodes = [helper.make_node("Cast", ["x"], ["narrow"], to=TensorProto.FLOAT8E4M3FN),
                     helper.make_node("Cast", ["narrow"], ["y"], to=TensorProto.FLOAT)]
            return helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 19)], ir_version=9)

        files = self.write(model(4), [model(2), model(2)])
        answer, notes = self.answer(*files, "--engine", "task-programs")
        self.assertEqual(len(answer["interpreted"]), 1)
        self.assertRegex(notes, r"^note: stage 1 is interpreted: .*f8e4m3fn")

    def test_processes_run_task_programs(self):
        files = self.write(*parallel.KINDS["tensor"](parallel.Sizes(batch=4, layers=1), 2))
        processes, _ = self.answer(*files, "--engine", "task-programs", launcher=self.launcher(2))
        threads, _ = self.answer(*files, "--engine", "task-programs")
        for answer in (processes, threads):
            del answer["steps"]
        self.assertEqual(processes, threads)


class Placed(Case):
    def test_what_is_placed_decides_the_rest(self):
        step, plan, inputs = self.training()
        bytes_of = {}
        for kind, places in {"data": (), "weights": ("*.weight:0", "*.bias:0")}.items():
            self.make(step, plan, *places)
            answer, _ = self.answer(step, plan, "--inputs", inputs, "--steps", 3)
            self.assertLess(answer["difference"], 1e-5)
            bytes_of[kind] = answer["ranks"][0]["bytes"] // 3
        # Gradients of all weights are added up; then a few numbers of the loss.
        parameters = 6 * 8 + 8 + 8 * 4 + 4
        self.assertGreaterEqual(bytes_of["data"], 4 * parameters)
        self.assertLess(bytes_of["data"], 4 * parameters + 256)
        # Weights in parts are gathered, and the parts of gradients are added up: as many bytes.
        self.assertLess(bytes_of["weights"], 2 * bytes_of["data"])

    def test_names_that_are_not_there_are_told(self):
        step, plan, _ = self.training()
        for place, message in (("nothing:0", "no input, weight or output has this name"), ("x:7", "axis 7"), ("x:1,1", "--place")):
            done = run([LEMMA, "plan", "make", step, "--cluster", "local-2", "-o", plan, "--place", place])
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertIn(message, done.stderr)


class Exchanges(Case):
    def test_all_ways_give_the_same(self):
        launchers = [()] if shutil.which("mpirun") is None else [(), self.launcher(2)]
        files = self.write(*parallel.KINDS["sequence"](parallel.Sizes(batch=4, layers=1), 2))
        texts = set()
        for launcher in launchers:
            for exchange in EXCHANGES:
                with self.subTest(exchange=exchange, processes=bool(launcher)):
                    done = run([*launcher, LEMMA, "plan", "run", *files, "--exchange", exchange, "--steps", 3])
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    texts.add(done.stdout)
        self.assertEqual(len(texts), 1, texts)


    def test_nccl_says_what_is_missing(self):
        files = self.write(*parallel.KINDS["sequence"](parallel.Sizes(batch=4, layers=1), 2))
        done = run([LEMMA, "plan", "run", *files, "--exchange", "nccl"])
        if done.returncode != 0:  # there may be two devices
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertRegex(done.stderr, "^lemma: rank 0 has ended: (this lemma was built without NCCL|NCCL cannot be used: .)")


class Steps(Case):
    def test_state_goes_from_step_to_step(self):
        step, plan, inputs = self.training()
        answer, _ = self.answer(step, plan, "--inputs", inputs, "--steps", 40)
        losses = [entry["loss"] for entry in answer["steps"]]
        self.assertEqual(len(losses), 40)
        self.assertLess(losses[-1], 0.8 * losses[0])
        self.assertLess(answer["difference"], 1e-4)
        for rank in answer["ranks"]:
            self.assertEqual(rank["bytes"], rank["planned_bytes"])
        self.assertEqual(self.answer(step, plan, "--inputs", inputs)[0]["steps"][0]["loss"], losses[0])

    def test_memory_does_not_grow_with_steps(self):
        step, plan, inputs = self.training()

        def most_memory(steps, exchange):
            process = subprocess.Popen([LEMMA, "plan", "run", str(step), str(plan), "--inputs", str(inputs), "--steps", str(steps),
                                        "--exchange", exchange], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            self.assertEqual(status, 0)
            return usage.ru_maxrss  # kB

        for exchange in ("collectives", "one-sided"):
            with self.subTest(exchange=exchange):
                few, many = most_memory(50, exchange), most_memory(350, exchange)
                self.assertLess(many - few, 1500)


class RanksThatDiffer(Case):
    """Programs in which each rank has operators of its own."""

    def test_task_programs_compute_what_the_interpreter_does(self):
        for kind in ("channels", "pipeline"):
            with self.subTest(kind=kind):
                files = self.write(*placed.KINDS[kind]())
                programs, _ = self.answer(*files, "--engine", "task-programs")
                interpreted, _ = self.answer(*files)
                self.assertLess(programs["difference"], 1e-5)
                self.assertEqual((programs["interpreted"], programs["ranks"]), ([], interpreted["ranks"]))
                self.assertTrue(all(rank["bytes"] == rank["planned_bytes"] for rank in programs["ranks"]))

    def test_all_ways_of_exchanging_give_the_same(self):
        for kind, ranks in (("channels and length", 4), ("pipeline of groups", 4)):
            files = self.write(*placed.KINDS[kind]())
            launchers = [()] if shutil.which("mpirun") is None else [(), self.launcher(ranks)]
            texts = set()
            for launcher in launchers:
                for exchange in EXCHANGES:
                    with self.subTest(kind=kind, exchange=exchange, processes=bool(launcher)):
                        done = run([*launcher, LEMMA, "plan", "run", *files, "--exchange", exchange, "--steps", 3])
                        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                        texts.add(done.stdout)
            self.assertEqual(len(texts), 1, texts)

    def test_state_goes_to_the_ranks_that_read_it(self):
        step, plan, inputs = self.training()
        losses = {}
        losses["all"] = [entry["loss"] for entry in self.answer(step, plan, "--inputs", inputs, "--steps", 20)[0]["steps"]]
        made = run([LEMMA, "plan", "make", step, "--cluster", "local-2", "-o", plan, "--own-operators"])
        self.assertEqual(made.returncode, 0, made.stderr)
        # Spread over both ranks, so that weights are updated on one and read on the other.
        text = json.loads(plan.read_text())
        for number, node in enumerate(text["nodes"]):
            node["rank"] = number % 2
        plan.write_text(json.dumps(text))
        answer, _ = self.answer(step, plan, "--inputs", inputs, "--steps", 20)
        np.testing.assert_allclose([entry["loss"] for entry in answer["steps"]], losses["all"], rtol=1e-4)
        self.assertLess(answer["difference"], 1e-4)
        for exchange in EXCHANGES[1:]:
            again, _ = self.answer(step, plan, "--inputs", inputs, "--steps", 20, "--exchange", exchange)
            self.assertEqual([entry["loss"] for entry in again["steps"]], [entry["loss"] for entry in answer["steps"]])
            self.assertEqual(again["ranks"], answer["ranks"])

    def test_stages_without_a_program_are_named_with_their_rank(self):
        single, ranks = placed.Writer(), placed.Ranks(2)
        narrow = lambda w, x: w.op("Cast", [w.op("Cast", [x], to=TensorProto.FLOAT8E4M3FN)], to=TensorProto.FLOAT)
        single.output("y", narrow(single, single.input("x", [4])), [4])
        there = ranks.send(ranks[0].input("x", [4]), 0, 1, [4])
        ranks[1].output("y", narrow(ranks[1], there), [4])
        files = self.write(single.model(), ranks.models())
        launchers = [()] if shutil.which("mpirun") is None else [(), self.launcher(2)]
        for launcher in launchers:
            answer, _ = self.answer(*files, "--engine", "task-programs", launcher=launcher)
            self.assertEqual(len(answer["interpreted"]), 1)
            self.assertRegex(answer["interpreted"][0], "^rank 1: stage [12] is interpreted: .*f8e4m3fn")


class Ends(Case):
    def process_of_rank(self, launcher, rank):
        wanted = f"OMPI_COMM_WORLD_RANK={rank}".encode()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for task in Path(f"/proc/{launcher}/task").glob("*/children"):
                for child in task.read_text().split():
                    try:
                        if wanted in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
                            return int(child)
                    except OSError:
                        pass
            time.sleep(0.01)
        raise AssertionError(f"rank {rank} did not start")

    def test_a_killed_rank_ends_the_run_with_a_line(self):
        same, differ = parallel.KINDS["tensor"](parallel.Sizes(batch=4, layers=1), 2), placed.KINDS["samples"]()
        for models, victim, exchange in ((same, 1, "collectives"), (differ, 0, "one-sided"), (differ, 1, "remote-calls")):
            with self.subTest(victim=victim, exchange=exchange, differ=models is differ):
                files = self.write(*models)
                words = [*self.launcher(len(models[1])), LEMMA, "plan", "run", *files, "--steps", 1000000, "--exchange", exchange]
                job = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                process = self.process_of_rank(job.pid, victim)
                time.sleep(2)
                self.assertIsNone(job.poll())
                os.kill(process, signal.SIGKILL)
                _, errors = job.communicate(timeout=30)
                self.assertNotEqual(job.returncode, 0)
                spoken = [line for line in errors.splitlines() if line.startswith("lemma: ")]
                self.assertEqual(len(spoken), 1, errors)
                self.assertRegex(spoken[0], rf"^lemma: rank {victim} was killed or has crashed at .*stage \d+: the run ends$")

    def test_a_rank_that_fails_ends_the_run_with_a_line(self):
        """Each rank fails for want of a compiler; one line says so."""
        files = self.write(*parallel.KINDS["tensor"](parallel.Sizes(batch=4, layers=1), 2))
        for launcher in ([], self.launcher(2)):
            done = subprocess.run([*launcher, LEMMA, "plan", "run", *map(str, files), "--engine", "task-programs"], capture_output=True,
                                  text=True, env=dict(os.environ, CXX="/no/such/compiler"), timeout=60)
            self.assertNotEqual(done.returncode, 0)
            spoken = [line for line in done.stderr.splitlines() if line.startswith("lemma: ")]
            self.assertEqual(len(spoken), 1, done.stderr)
            self.assertRegex(spoken[0], r"^lemma: rank 0 has ended: .*compiler")


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
