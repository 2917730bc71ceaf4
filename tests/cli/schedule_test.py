#!/usr/bin/env python3
"""lemma schedule: plans for devices that are only described, and what it says of wrong calls."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

import tested_programs
import tiny_models
from tiny_models import F32, node, tensor_type

LEMMA = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICE = ROOT / "targets" / "devices" / "simulated-80.json"
TWO_LAYER = ROOT / "examples" / "two_layer.onnx"


class Schedule(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-schedule-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *words):
        return subprocess.run([LEMMA, "schedule", *map(str, words)], capture_output=True, text=True, timeout=120)

    def planned(self, *words):
        done = self.run_it(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def products(self):
        """x * a * b, large enough for all units."""
        matrix = tensor_type(F32, [512, 512])
        file = self.folder / "products.onnx"
        file.write_bytes(tiny_models.model([node("MatMul", ["x", "a"], ["p"]), node("MatMul", ["p", "b"], ["y"])],
                                           [(name, matrix) for name in ("x", "a", "b")], [("y", matrix)]))
        return file

    def refused(self, part, *words):
        done = self.run_it(*words)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(part, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_plan_lies_between_its_bounds(self):
        model = self.products()
        for policy in ("best", "critical-path", "waves", "waves-without-choice"):
            plan = self.planned(model, "--device", DEVICE, "--policy", policy)
            self.assertEqual((plan["units"], plan["policy"]), (80, policy))
            seconds, bound = plan["schedule"]["seconds"], plan["lower_bound"]
            self.assertGreaterEqual(seconds * (1 + 1e-9), max(bound["work"], bound["critical_path"]))
            self.assertLessEqual(seconds, 1.001 * plan["operator_by_operator"]["seconds"])
            self.assertTrue(0 < plan["schedule"]["utilisation"] <= 1)
            self.assertGreaterEqual(plan["arena_bytes"], plan["largest_live_bytes"])

    def test_more_units_take_less_time(self):
        model = self.products()
        seconds = [self.planned(model, "--device", DEVICE, "--units", units)["schedule"]["seconds"]
                   for units in (1, 2, 16)]
        self.assertLess(seconds[2], seconds[1] / 4)
        self.assertLess(seconds[1], seconds[0] / 1.5)

    def test_the_same_call_gives_the_same_plan(self):
        plans = [self.planned(self.products(), "--device", DEVICE) for _ in range(2)]
        for plan in plans:
            for key in ("planning_seconds", "planning_cpu_seconds"):
                self.assertGreaterEqual(plan.pop(key), 0)
        self.assertEqual(plans[0], plans[1])

    def test_library_calls_are_priced_beside_the_plan(self):
        model, file = self.products(), ROOT / "targets" / "devices" / "h100.json"
        plan = self.planned(model, "--device", "h100", "--library-calls", file, "--scale-costs", 0.5, "--scale-costs", 2)
        calls = plan["library_calls"]
        self.assertEqual((calls["calls"], calls["kernels"]), (2, 0))
        self.assertEqual(calls["bytes"], 2 * 3 * 512 * 512 * 4)
        launch, in_graph = calls["seconds_per_launch"], calls["seconds_per_launch_in_graph"]
        self.assertEqual((launch, in_graph), (3.8e-6, json.loads(file.read_text())["operators"]["launch_overhead_seconds"]))
        self.assertAlmostEqual(calls["one_by_one_seconds"] - calls["graph_seconds"], 2 * (launch - in_graph), places=12)
        for scaled in calls["scaled"]:
            more = scaled["factor"] - 1
            with_launches = scaled["launches"]
            self.assertAlmostEqual(with_launches["graph_seconds"], calls["graph_seconds"] + 2 * more * in_graph, places=12)
            self.assertAlmostEqual(with_launches["one_by_one_seconds"], calls["one_by_one_seconds"] + 2 * more * launch, places=12)
            self.assertAlmostEqual(with_launches["schedule_seconds"], plan["schedule"]["seconds"] + more * launch, places=12)
        # The second product waits for the first.
        halved, doubled = (scaled["waits"]["schedule_seconds"] for scaled in calls["scaled"])
        self.assertLess(halved, plan["schedule"]["seconds"])
        self.assertGreater(doubled, plan["schedule"]["seconds"])
        lines = self.folder / "calls"
        self.planned(model, "--device", "h100", "--library-calls", file, "--write-library-calls", lines)
        matrix = "512 512 512 0 0"
        self.assertEqual(lines.read_text(), 2 * f"product f32 1 {matrix} {matrix} {matrix} 0 0\n")
        self.refused("--call-costs", model, "--device", "h100", "--library-calls", "no-such-device")

    def test_the_cut_is_that_of_emitted_source(self):
        words = (self.products(), "--device", "h100", "--stitch", "--library-calls", "h100", "--cut")
        cut = self.planned(*words)["cut"]
        self.assertEqual(cut["candidates"], 2)
        done = subprocess.run([LEMMA, "emit", str(self.products()), "--target", "cuda", "--library-calls", "--plan", "--json",
                               "--policy", "best"], capture_output=True, text=True, timeout=120)
        self.assertEqual(cut, json.loads(done.stdout)["library_calls"])
        lines = self.run_it(*words).stdout.splitlines()
        self.assertEqual(len(lines), 2 + cut["calls"] + cut.get("kernels", 0), lines)
        self.assertNotEqual(self.run_it(self.products(), "--device", "h100", "--cut").returncode, 0)

    def test_times_of_kernels_are_kept_in_a_file(self):
        model, times = self.products(), self.folder / "times.json"
        first = self.planned(model, "--device", DEVICE, "--write-kernel-times", times)
        self.assertEqual(first["kernels"]["with_recorded_times"], 0)
        second = self.planned(model, "--device", DEVICE, "--kernel-times", times)
        self.assertEqual(second["kernels"]["with_recorded_times"], second["kernels"]["all"])
        self.assertAlmostEqual(first["schedule"]["seconds"] / second["schedule"]["seconds"], 1, places=2)
        recorded = json.loads(times.read_text())
        for operator in recorded["operators"].values():
            operator["seconds"] = {parts: 10 * seconds for parts, seconds in operator["seconds"].items()}
        times.write_text(json.dumps(recorded))
        slower = self.planned(model, "--device", DEVICE, "--kernel-times", times)
        self.assertGreater(slower["schedule"]["seconds"], 5 * first["schedule"]["seconds"])

    def measured(self, model, units):
        times = self.folder / "measured.json"
        self.planned(model, "--device", "cpu", "--units", units, "--measure-kernels", times)
        return times, json.loads(times.read_text())

    def rewritten(self, times, recorded, factor):
        """The file with times of cuts by another factor for each number of parts."""
        for operator in recorded["operators"].values():
            cuts = sorted(operator["seconds"].items(), key=lambda cut: -cut[1])
            operator["seconds"] = {parts: factor[min(i, 1)] * 1e-3 for i, (parts, _) in enumerate(cuts)}
        times.write_text(json.dumps(recorded))

    @tested_programs.long
    def test_plans_for_this_processor_take_measured_times(self):
        model = self.products()
        times, recorded = self.measured(model, 2)
        for operator in recorded["operators"].values():
            self.assertGreater(len(operator["seconds"]), 1)
            self.assertTrue(all(seconds > 0 for seconds in operator["seconds"].values()))
        plan = self.planned(model, "--device", "cpu", "--units", 2, "--kernel-times", times)
        self.assertGreater(plan["kernels"]["with_recorded_times"], 0)
        # As if two tasks on two units took 0.6 of the time of one, and as if cutting only cost time.
        for factor, units in (((1, 0.6), 2), ((1, 2), 1)):
            self.rewritten(times, recorded, factor)
            plan = self.planned(model, "--device", "cpu", "--units", 2, "--kernel-times", times)
            self.assertEqual(plan["units"], units)
            self.assertEqual(plan["tasks"] > plan["operators"], units == 2)
        self.assertAlmostEqual(plan["schedule"]["seconds"], plan["operators"] * 1e-3, places=5)
        done = subprocess.run([LEMMA, "emit", str(model), "--threads", "2", "--plan", "--json", "--kernel-times", str(times)],
                              capture_output=True, text=True, timeout=120)
        said = json.loads(done.stdout)
        self.assertEqual((said["units"], said["tasks"], said["kernels"]), (1, plan["operators"], plan["kernels"]))
        missing = plan["kernels"]["all"] - plan["kernels"]["with_recorded_times"]
        if missing:
            self.assertIn(f"{missing} of {plan['kernels']['all']} kernels have no time", done.stderr)
        recorded["operators"].clear()
        times.write_text(json.dumps(recorded))
        done = self.run_it(model, "--device", "cpu", "--units", 2, "--kernel-times", times)
        self.assertIn("kernels have no time in the file; theirs are modelled", done.stderr)

    def test_times_of_another_processor_are_refused(self):
        times = self.folder / "times.json"
        times.write_text('{"device": "another", "source": "", "operators": {}}')
        self.refused("times of 'another', not of this processor", TWO_LAYER, "--device", "cpu", "--kernel-times", times)
        for words in (["run", "--random", "1", "--engine", "rtask-cpu"], ["emit", "--plan"]):
            done = subprocess.run([LEMMA, words[0], str(TWO_LAYER), *words[1:], "--kernel-times", str(times)],
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("not of this processor", done.stderr)
        self.refused("--measure-kernels is for --device cpu", TWO_LAYER, "--device", DEVICE, "--measure-kernels", times)

    def test_the_timeline_shows_every_task(self):
        picture = self.folder / "timeline.svg"
        plan = self.planned(TWO_LAYER, "--device", DEVICE, "--units", 3, "--timeline", picture)
        bars = ElementTree.parse(picture).getroot().findall(".//{*}rect/{*}title")
        self.assertEqual(len(bars), plan["tasks"])

    def test_people_get_one_line(self):
        done = self.run_it(TWO_LAYER, "--device", DEVICE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertIn("on 80 units take", done.stdout)

    def test_what_is_wrong_is_said_in_one_line(self):
        self.refused("missing.json: cannot be read", TWO_LAYER, "--device", self.folder / "missing.json")
        broken = self.folder / "broken.json"
        broken.write_text('{"name": "d"}')
        self.refused("is missing", TWO_LAYER, "--device", broken)
        broken.write_text('{"device": "another", "source": "", "operators": {}}')
        self.refused("times of 'another', not of", TWO_LAYER, "--device", DEVICE, "--kernel-times", broken)
        symbolic = self.folder / "symbolic.onnx"
        rows = tensor_type(F32, ["N", 3])
        symbolic.write_bytes(tiny_models.model([node("Relu", ["x"], ["y"])], [("x", rows)], [("y", rows)]))
        self.refused("are not fixed; give --shape", symbolic, "--device", DEVICE)
        self.planned(symbolic, "--device", DEVICE, "--shape", "x:5,3")


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
