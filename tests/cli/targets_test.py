#!/usr/bin/env python3
"""Targets whose operators Lemma times itself: lemma profile --target, lemma optimize --target. No result depends on how
long anything takes."""

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
from tiny_models import F32, node, tensor_type

LEMMA = None
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "two_layer.onnx"
TARGETS = ("onnxruntime-cpu", "rtask-cpu", "rtask-cuda")


class Targets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-targets-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = dict(os.environ, LEMMA_CACHE=str(self.folder / "cache"))

    def run_it(self, *words, code=0, **environment):
        done = subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=240,
                              env=dict(self.environment, **environment))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def profile(self, *words, code=0, database="profile.sqlite", target="rtask-cpu", **environment):
        return self.run_it("profile", "--target", target, "--database", self.folder / database, "--threads", "1",
                           *words, code=code, **environment)

    def optimize(self, model, output, *words, code=0, target="rtask-cpu", **environment):
        return self.run_it("optimize", model, "-o", self.folder / output, "--target", target, "--threads", "1",
                           "--database", self.folder / "profile.sqlite", "--json", *words, code=code, **environment)

    def write(self, name, *operators):
        """A model with these operators in a row, of one input each."""
        nodes = [node(operator, [f"v{i}"], [f"v{i + 1}"]) for i, operator in enumerate(operators)]
        file = self.folder / name
        file.write_bytes(tiny_models.model(nodes, [("v0", tensor_type(F32, [3, 4]))],
                                           [(f"v{len(operators)}", tensor_type(F32, [3, 4]))]))
        return file

    def need_compiler(self):
        if not shutil.which("c++"):
            self.skipTest("there is no compiler")

    def entries(self, database="profile.sqlite"):
        self.run_it("profile", "--database", self.folder / database, "--export", self.folder / "export.json")
        return json.loads((self.folder / "export.json").read_text())["targets"]

    def test_help_and_errors_name_the_targets(self):
        for command in ("profile", "optimize"):
            text = self.run_it(command, "--help").stdout
            for target in TARGETS:
                self.assertIn(target, text)
        self.assertIn("rtask-hip", text)  # which is not measured
        done = self.run_it("optimize", EXAMPLE, "-o", self.folder / "x.onnx", "--target", "vulcan", code=2)
        self.assertIn("--target vulcan: no device has this name", done.stderr)
        self.assertIn("rtask-cpu", done.stderr)
        done = self.run_it("profile", EXAMPLE, "--target", "vulcan", code=2)
        self.assertIn("rtask-cpu", done.stderr)
        for done in (self.optimize(EXAMPLE, "x.onnx", "--costs", "measured", target="h100", code=2),
                     self.optimize(EXAMPLE, "x.onnx", "--costs", "analytic", code=2)):
            self.assertIn("--costs measured", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.assertFalse((self.folder / "x.onnx").exists())

    @tested_programs.long
    def test_each_operator_is_measured_once(self):
        self.need_compiler()
        model = self.write("three.onnx", "Relu", "Sigmoid", "Relu")
        first = json.loads(self.profile(model, "--json").stdout)
        one = first["models"][0]
        self.assertEqual((one["nodes"], one["keys"], one["measured_now"], one["unknown"]), (3, 2, 2, 0))
        self.assertEqual([each["count"] for each in sorted(one["by_key"], key=lambda each: each["key"])], [2, 1])
        self.assertGreater(one["latency_ms"], 0)
        self.assertEqual(one["refused"], [])
        self.assertTrue(first["runtime"].startswith("task programs "), first["runtime"])
        again = json.loads(self.profile(model, "--json").stdout)["models"][0]
        self.assertEqual(again["measured_now"], 0)
        self.assertEqual(again["predicted_ms"], one["predicted_ms"])
        # What another compiler or target measured is kept apart.
        targets = self.entries()
        self.assertEqual(len(targets), 1)
        keys = [entry["key"] for entry in targets[0]["entries"]]
        self.assertEqual(len(keys), 3)
        self.assertIn("run", keys)
        self.assertIn("operator Relu f32[3, 4] -> f32[3, 4]", keys)
        self.profile("--import", self.folder / "export.json", "--elsewhere", database="other.sqlite")
        self.assertEqual(self.entries("other.sqlite"), targets)
        self.assertIn("measured elsewhere", self.profile("--list", database="other.sqlite").stdout)

    @tested_programs.long
    def test_operators_that_have_no_kernel_are_named(self):
        self.need_compiler()
        model = self.write("strange.onnx", "Relu", "Strange")
        done = self.profile(model, "--json")
        self.assertIn("not measured: Strange", done.stderr)
        one = json.loads(done.stdout)["models"][0]
        self.assertEqual((one["nodes"], one["unknown"], one["measured_now"]), (2, 1, 1))
        self.assertEqual([each["key"] for each in one["refused"]], ["Strange"])
        self.assertIsNone(one["latency_ms"])

    def test_without_a_compiler_nothing_is_measured(self):
        done = self.profile(EXAMPLE, code=3, CXX="/nowhere/c++")
        self.assertIn("nothing can be measured: the C++ compiler /nowhere/c++ cannot be run; set CXX", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        answer = json.loads(self.optimize(EXAMPLE, "out.onnx", CXX="/nowhere/c++").stdout)["models"][0]
        self.assertIn("cannot be run", answer["costs"]["message"])
        self.assertIsNone(answer["latency_before_ms"])
        self.assertTrue((self.folder / "out.rtask" / "schedule.h").exists())

    def test_an_interrupted_run_keeps_what_it_measured(self):
        self.need_compiler()
        model = self.write("many.onnx", *("Relu Sigmoid Tanh Exp Abs Neg Erf Softplus Elu Selu Sqrt Ceil".split()))
        words = [LEMMA, "profile", model, "--target", "rtask-cpu", "--threads", "1", "--database",
                 self.folder / "profile.sqlite"]
        process = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None and not self.entries():
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 3, errors)
        self.assertIn("interrupted; what was measured is kept", errors)
        self.assertGreater(len(self.entries()[0]["entries"]), 0)

    @tested_programs.long
    def test_the_program_of_the_result_is_written(self):
        self.need_compiler()
        first = json.loads(self.optimize(EXAMPLE, "a/model.onnx", "--no-measure").stdout)["models"][0]
        second = json.loads(self.optimize(EXAMPLE, "b/model.onnx", "--no-measure").stdout)["models"][0]
        self.assertEqual(first["task_program"], str(self.folder / "a" / "model.rtask"))
        self.assertEqual(first["timing"]["message"], "not wanted")
        names = sorted(file.name for file in (self.folder / "a" / "model.rtask").iterdir())
        self.assertIn("model.cpp", names)
        for name in ["../model.onnx", *(f"{each}" for each in names)]:
            self.assertEqual((self.folder / "a" / "model.rtask" / name).read_bytes(),
                             (self.folder / "b" / "model.rtask" / name).read_bytes(), name)
        self.assertEqual(first["costs"]["recorded"], second["costs"]["recorded"])
        directory = self.folder / "a" / "model.rtask"
        subprocess.run(["c++", "-std=c++20", "-O1", "-pthread", '-DPROGRAM_DIRECTORY="."', "model.cpp", "selfcheck.cpp",
                        "-o", "check"], cwd=directory, check=True, timeout=120)
        subprocess.run([directory / "check", directory], check=True, timeout=60, stdout=subprocess.DEVNULL)
        # A program that is there is replaced.
        self.optimize(EXAMPLE, "a/model.onnx", "--no-measure")
        self.assertEqual(sorted(file.name for file in (self.folder / "a").iterdir()), ["model.onnx", "model.rtask"])

    @tested_programs.long
    def test_a_program_takes_another_name_beside_what_is_none(self):
        self.need_compiler()
        (self.folder / "c.rtask").mkdir()
        (self.folder / "c.rtask" / "mine").write_text("")
        (self.folder / "d.rtask").write_text("mine")
        for name in "cd":
            for _ in range(2):  # the second call finds the program of the first one
                done = self.optimize(EXAMPLE, f"{name}.onnx", "--no-measure")
                answer = json.loads(done.stdout)["models"][0]
                self.assertEqual(answer["task_program"], str(self.folder / f"{name}-1.rtask"))
                self.assertIn(f"{name}.rtask is there and is no task program", done.stderr)
            self.assertTrue((self.folder / f"{name}-1.rtask" / f"{name}.h").exists())
            self.assertFalse((self.folder / f"{name}-2.rtask").exists())
        self.assertEqual([file.name for file in (self.folder / "c.rtask").iterdir()], ["mine"])
        self.assertEqual((self.folder / "d.rtask").read_text(), "mine")

    def test_programs_of_a_batch_do_not_take_each_others_names(self):
        self.need_compiler()
        models = [self.folder / "in" / name for name in ("c.onnx", "c-1.onnx")]
        for model in models:
            model.parent.mkdir(exist_ok=True)
            model.write_bytes(pathlib.Path(EXAMPLE).read_bytes())
        (self.folder / "out" / "c.rtask").mkdir(parents=True)
        (self.folder / "out" / "c.rtask" / "mine").write_text("")
        words = [LEMMA, "optimize", *models, "--out-dir", self.folder / "out", "--target", "rtask-cpu", "--no-measure",
                 "--threads", "1", "--json"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        programs = [pathlib.Path(model["task_program"]).name for model in json.loads(done.stdout)["models"]]
        self.assertEqual(programs, ["c-2.rtask", "c-1.rtask"])
        # A later call for one of them alone leaves the other's program as it is.
        before = (self.folder / "out" / "c-1.rtask" / "README.md").read_bytes()
        done = subprocess.run([*words[:2], models[0], *words[4:]], capture_output=True, text=True, timeout=300)
        self.assertEqual(json.loads(done.stdout)["models"][0]["task_program"], str(self.folder / "out" / "c-2.rtask"))
        self.assertEqual((self.folder / "out" / "c-1.rtask" / "README.md").read_bytes(), before)

    @tested_programs.long
    def test_what_is_measured_is_repeated_by_replay(self):
        self.need_compiler()
        report = self.folder / "report.json"
        model = self.write("two.onnx", "Abs", "Abs")
        first = json.loads(self.optimize(model, "a.onnx", "--time-limit", "60", "--report", report).stdout)["models"][0]
        self.assertGreater(first["costs"]["measured_now"], 0)
        self.assertEqual(first["timing"]["state"], 1)
        self.assertTrue(first["timing"]["runtime"].startswith("task programs "))
        self.optimize(model, "b.onnx", "--time-limit", "60", "--replay", report)
        self.assertEqual((self.folder / "a.onnx").read_bytes(), (self.folder / "b.onnx").read_bytes())

    def test_without_a_device_costs_are_analytic(self):
        done = subprocess.run([LEMMA, "profile", EXAMPLE, "--target", "rtask-cuda", "--database",
                               self.folder / "profile.sqlite"], capture_output=True, text=True, timeout=120)
        if done.returncode == 0:
            self.skipTest("there is a device")
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, "no CUDA device was found|without the CUDA toolkit|cannot be loaded")
        words = ("--time-limit", "10", "--no-second-judge")
        answer = json.loads(self.optimize(EXAMPLE, "a.onnx", *words, target="rtask-cuda").stdout)["models"][0]
        self.assertEqual((answer["cost_provenance"], answer["task_program"]), ("analytic", None))
        self.assertTrue(answer["costs"]["message"].startswith("CUDA libraries cannot be measured"), answer["costs"])
        self.assertEqual(answer["costs"]["recorded"], {})
        # What was measured on a device elsewhere is used.
        entry = {"key": "operator MatMul f32[4, 16], constant f32[16, 24] -> f32[4, 24]", "kind": "operator MatMul",
                 "elements": 1000, "work": 1536, "seconds": 5e-6, "spread": 0, "repetitions": 20, "date": "2026-11-23"}
        profile = {"format": "lemma profile 2",
                   "targets": [{"runtime": "CUDA libraries made up", "processor": "a device", "threads": 1,
                                "entries": [entry]}]}
        (self.folder / "device.json").write_text(json.dumps(profile))
        self.profile("--import", self.folder / "device.json", "--elsewhere")
        answer = json.loads(self.optimize(EXAMPLE, "b.onnx", *words, target="rtask-cuda").stdout)["models"][0]
        self.assertIn([5e-6, 2], answer["costs"]["recorded"].values())
        # It says nothing of other targets.
        answer = json.loads(self.optimize(EXAMPLE, "c.onnx", *words, "--no-measure").stdout)["models"][0]
        self.assertEqual(answer["costs"]["recorded"], {})

    def test_a_model_without_a_program_is_handed_on(self):
        model = self.write("strange.onnx", "Relu", "Strange")
        done = self.optimize(model, "out.onnx", "--no-measure", code=3)
        self.assertIn("there is no loop nest for Strange", done.stderr)
        self.assertIn("the model is written as it was", done.stderr)
        self.assertEqual((self.folder / "out.onnx").read_bytes(), model.read_bytes())
        self.assertFalse((self.folder / "out.rtask").exists())


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
