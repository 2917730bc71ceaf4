#!/usr/bin/env python3
"""Tests of `lemma optimize --target onnxruntime-cpu`: the original is kept unless a candidate is faster when it is
run. A package of the name onnxruntime that takes as long as the test wants stands in for the real one, so that no
result depends on how busy the machine is."""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))
import environment
import tiny_models

LEMMA = ""
ROOT = Path(__file__).resolve().parent.parent.parent
WORKER = ROOT / "profiler" / "onnxruntime_worker.py"
EXAMPLE = ROOT / "examples" / "two_layer.onnx"

# The time of a run in microseconds stands in SECONDS, by whether the file is the original. The clock is the
# package's own.
FAKE = '''
import os, time
__version__ = "0.0"
CLOCK = [0.0]
time.perf_counter = time.process_time = lambda: CLOCK[0]
class GraphOptimizationLevel:
    ORT_ENABLE_ALL = 1
    ORT_DISABLE_ALL = 0
class SessionOptions:
    def add_session_config_entry(self, name, value): pass
class OrtValue:
    def ortvalue_from_numpy(array): return array
class Value:
    def __init__(self, name): self.name = name
class Binding:
    def bind_ortvalue_input(self, name, value):
        if value.size < int(os.environ.get("LEAST", 0)): raise RuntimeError("it is too small")
    def bind_output(self, name): pass
ORIGINAL = open(os.environ["ORIGINAL"], "rb").read()
class InferenceSession:
    made = 0
    def __init__(self, file, options, providers):
        if os.environ.get("FAILS"): raise RuntimeError("no kernel\\nfor this")
        contents = open(file, "rb").read()
        if os.environ.get("WORD", "").encode() not in contents: raise RuntimeError("a branch is wrong")
        # The first model of a choice is the original, written again.
        same = contents == ORIGINAL or file.endswith("candidate_0/model.onnx")
        self.seconds = float(os.environ["BEFORE" if same else "AFTER"])
    def run(self, names, feed):
        if feed["x"].size < int(os.environ.get("LEAST", 0)): raise RuntimeError("it is too small")
    def get_inputs(self): return [Value("x")]
    def get_outputs(self): return [Value("y")]
    def io_binding(self): return Binding()
    def run_with_iobinding(self, binding): CLOCK[0] += self.seconds
'''


class TimingTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        package = self.folder / "packages" / "onnxruntime"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(FAKE)

    def run_it(self, *options, before=1e-4, after=1e-4, name="out.onnx", model=EXAMPLE, **more):
        call = [LEMMA, "optimize", model, "-o", self.folder / name, "--target", "onnxruntime-cpu",
                "--no-second-judge", "--json", *options]
        variables = {**os.environ, "PYTHONPATH": str(self.folder / "packages"), "BEFORE": str(before),
                     "AFTER": str(after), "ORIGINAL": str(model), **more}
        done = subprocess.run(list(map(str, call)), capture_output=True, text=True, timeout=120, env=variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.stderr = done.stderr
        return json.loads(done.stdout)["models"][0]

    def test_a_faster_candidate_is_written(self):
        figures = self.run_it(after=0.9e-4)
        self.assertEqual(figures["status"], "optimized")
        self.assertAlmostEqual(figures["latency_before_ms"], 0.1, 4)
        self.assertAlmostEqual(figures["latency_after_ms"], 0.09, 4)
        self.assertAlmostEqual(figures["timing"]["ratio"]["median"], 0.9, 4)
        self.assertEqual(figures["timing"]["runtime"], "ONNX Runtime 0.0")

    def test_an_equal_candidate_is_not(self):
        self.kept(0.995e-4)

    def test_a_slower_candidate_is_not(self):
        self.kept(1.1e-4)

    def kept(self, after):
        figures = self.run_it(after=after)
        self.assertEqual(figures["status"], "unchanged")
        self.assertEqual(figures["rules_used"], {})
        self.assertEqual(figures["latency_before_ms"], figures["latency_after_ms"])
        self.assertRegex(self.stderr, "as long as the original|was faster when it was run")

    def test_a_runtime_that_cannot_run_the_model_leaves_the_original(self):
        figures = self.run_it(FAILS="yes")
        self.assertEqual(figures["status"], "unchanged")
        self.assertEqual((self.folder / "out.onnx").read_bytes(), EXAMPLE.read_bytes())
        self.assertIsNone(figures["latency_before_ms"])
        self.assertIn("no kernel for this", figures["message"])
        self.assertIn("--no-measure", self.stderr)
        # The report says so, and a replay repeats it.
        report = self.folder / "report.json"
        self.run_it("--report", report, FAILS="yes")
        self.assertEqual(self.run_it("--replay", report, after=0.5e-4)["status"], "unchanged")

    def test_where_it_cannot_run_it_no_measure_writes_a_result(self):
        figures = self.run_it("--no-measure", FAILS="yes")
        self.assertEqual((figures["status"], figures["message"]), ("optimized", ""))

    def test_without_a_runtime_there_is_a_prediction(self):
        (self.folder / "packages" / "onnxruntime" / "__init__.py").write_text("raise ImportError('there is none')")
        figures = self.run_it()
        self.assertEqual(figures["status"], "optimized")
        self.assertIsNone(figures["latency_before_ms"])

    def negations(self):
        model = self.folder / "negations.onnx"
        rows = tiny_models.tensor_type(tiny_models.F32, ["Rows", 3])
        nodes = [tiny_models.node("Neg", ["x"], ["a"]), tiny_models.node("Neg", ["a"], ["b"]),
                 tiny_models.node("Relu", ["b"], ["y"])]
        model.write_bytes(tiny_models.model(nodes, [("x", rows)], [("y", rows)]))
        return model

    def test_sizes_are_tried_until_the_runtime_takes_them(self):
        figures = self.run_it(model=self.negations(), after=0.5e-4, LEAST="1000")
        self.assertEqual((figures["status"], figures["timing"]["runtime"]), ("optimized", "ONNX Runtime 0.0"))
        # No sizes are large enough.
        figures = self.run_it(model=self.negations(), after=0.5e-4, LEAST="1000000000")
        self.assertEqual(figures["status"], "unchanged")
        self.assertIn("it is too small", figures["message"])
        self.assertIn("--sample-shape", figures["message"])

    def test_sizes_with_which_the_model_does_not_load_are_left_open(self):
        model = self.negations()
        figures = self.run_it("--shape", "x:7,3", model=model, after=0.5e-4, WORD="Rows")
        self.assertEqual(figures["status"], "optimized")
        self.assertIn("a branch is wrong", figures["message"])
        self.assertIn("--shape", self.stderr)
        self.assertIn(b"Rows", (self.folder / "out.onnx").read_bytes())
        # A runtime that loads neither says nothing against the sizes.
        figures = self.run_it("--shape", "x:7,3", "--no-measure", model=model, WORD="Columns")
        self.assertEqual((figures["status"], figures["message"]), ("optimized", ""))
        self.assertNotIn(b"Rows", (self.folder / "out.onnx").read_bytes())
        # One that loads both takes them.
        figures = self.run_it("--shape", "x:7,3", model=model, after=0.5e-4)
        self.assertEqual((figures["status"], figures["message"]), ("optimized", ""))
        self.assertNotIn(b"Rows", (self.folder / "out.onnx").read_bytes())

    def test_no_measure_predicts(self):
        figures = self.run_it("--no-measure", after=1.1e-4)
        self.assertEqual(figures["status"], "optimized")
        self.assertIsNone(figures["latency_after_ms"])
        self.assertEqual(figures["timing"]["message"], "not wanted")

    def test_a_replay_repeats_the_choice(self):
        for after in (0.8e-4, 1.2e-4):
            report = self.folder / "report.json"
            first = self.run_it("--report", report, after=after)
            again = self.run_it("--replay", report, name="again.onnx", after=2e-4 - after)
            self.assertEqual(again["status"], first["status"])
            self.assertEqual((self.folder / "again.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())

    def test_programs_that_time_models_wait_for_each_other(self):
        lock = self.folder / f"lemma-timing-{os.getuid()}.lock"
        lines = ["import fcntl, importlib.util, sys, time",
                 f"spec = importlib.util.spec_from_file_location('worker', {str(WORKER)!r})",
                 "worker = importlib.util.module_from_spec(spec)",
                 "spec.loader.exec_module(worker)",
                 "begin = time.monotonic_ns()",
                 "with worker.alone(float(sys.argv[1])), open(sys.argv[2]) as other:",
                 "    waited = (time.monotonic_ns() - begin) / 1e9",
                 "    try:",
                 "        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)",
                 "        print('free', waited)",
                 "    except BlockingIOError:",
                 "        print('taken', waited)"]
        call = [sys.executable, "-c", "\n".join(lines)]
        variables = {**os.environ, "PYTHONPATH": str(self.folder / "packages"), "TMPDIR": str(self.folder),
                     "BEFORE": "1", "AFTER": "1", "ORIGINAL": str(EXAMPLE)}
        # Alone, it takes the lock at once.
        first = subprocess.run([*call, "60", lock], capture_output=True, text=True, env=variables, timeout=50)
        self.assertEqual(first.stdout.split()[:1], ["taken"], first.stderr)
        # With another one at work it waits, and at last goes on.
        with open(lock) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            second = subprocess.run([*call, "0.5", lock], capture_output=True, text=True, env=variables, timeout=50)
        self.assertGreaterEqual(float(second.stdout.split()[1]), 0.5, second.stderr)

    def test_a_report_of_something_else_is_refused(self):
        report = self.folder / "report.json"
        for contents, words in (("{}", "is no report"), ('{"models": []}', "says nothing of")):
            report.write_text(contents)
            call = [LEMMA, "optimize", EXAMPLE, "-o", self.folder / "out.onnx", "--replay", report]
            done = subprocess.run(list(map(str, call)), capture_output=True, text=True, timeout=120)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.folder / "out.onnx").exists())


if __name__ == "__main__":
    environment.enter()
    index = sys.argv.index("--lemma")
    LEMMA = sys.argv[index + 1]
    del sys.argv[index:index + 2]
    unittest.main()
