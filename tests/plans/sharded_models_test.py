#!/usr/bin/env python3
"""lemma plan on models with ONNX's sharding specifications: right ones are proved and run, wrong ones are refuted or refused, and plans
are written as such models and read back."""

import json
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
import sharded
import tested_programs
from onnx import TensorProto, helper

LEMMA = None


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.single = self.save("single.onnx", sharded.layers())

    def save(self, name, model):
        onnx.save(model, self.folder / name)
        return self.folder / name

    def plan(self, *words):
        return subprocess.run([LEMMA, "plan", *map(str, words)], capture_output=True, text=True, timeout=120)

    def assert_done(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def assert_refused(self, done, message):
        self.assertIn(done.returncode, (2, 3), done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(message, done.stderr)

    def bytes_of(self, *words):
        answer = json.loads(self.assert_done(self.plan("run", *words, "--json")))
        self.assertLess(answer["difference"], 1e-5)
        return [rank["bytes"] for rank in answer["ranks"]]


class Read(Case):
    def test_right_specifications_are_proved_and_run(self):
        for kind, (nodes, devices) in sharded.RIGHT.items():
            with self.subTest(kind=kind):
                model = self.save("model.onnx", sharded.with_specifications(sharded.layers(), nodes, devices))
                self.assertTrue(self.assert_done(self.plan("verify", self.single, model)).startswith("proved: "))
                self.assertEqual(len(self.bytes_of(self.single, model)), devices)

    def test_what_is_sent_follows_from_the_specifications(self):
        sent = {}
        for kind in ("data", "tensor", "changed"):
            model = self.save("model.onnx", sharded.with_specifications(sharded.layers(), sharded.RIGHT[kind][0]))
            sent[kind] = self.bytes_of(self.single, model)
        whole, hidden = 4 * sharded.ROWS * sharded.WIDTH, 4 * sharded.ROWS * sharded.HIDDEN
        self.assertEqual(sent["data"], [0, 0])
        self.assertEqual(sent["tensor"], [whole, whole])  # a sum on two devices: twice a half
        self.assertEqual(sent["changed"], [hidden // 4, hidden // 4])  # a quarter goes to the other one

    def test_a_sum_over_devices_follows_from_the_summed_axis(self):
        nodes = {"m1": {"x": sharded.on_all(sharded.COLUMNS_CUT), "w1": sharded.on_all(sharded.ROWS_CUT)}}
        model = self.save("model.onnx", sharded.with_specifications(sharded.layers(), nodes))
        text = self.assert_done(self.plan("verify", self.single, model, "--values"))
        self.assertIn("partial sum", text)
        self.assertIn("AllReduce", text)

    def test_operands_that_an_operator_cannot_split_so_refute_it(self):
        single = self.save("single.onnx", sharded.layers(last="Softmax"))
        nodes = {"y": {"a2": sharded.on_all(sharded.COLUMNS_CUT), "y": sharded.on_all(sharded.COLUMNS_CUT)}}
        model = self.save("model.onnx", sharded.with_specifications(sharded.layers(last="Softmax"), nodes))
        done = self.plan("verify", single, model)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("none of them: Softmax 'y'", done.stdout)

    def test_another_model_is_refuted(self):
        model = self.save("model.onnx", sharded.with_specifications(sharded.layers(seed=1), sharded.TENSOR))
        done = self.plan("verify", self.single, model)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        model = self.save("model.onnx", sharded.with_specifications(sharded.layers(seed=1), sharded.STAGES))
        self.assert_refused(self.plan("verify", self.single, model), "is none of the single-device model's")

    def test_what_does_not_fit_is_one_line(self):
        for kind, (nodes, message) in sharded.MISFITS.items():
            with self.subTest(kind=kind):
                model = self.save("model.onnx", sharded.with_specifications(sharded.layers(), nodes))
                self.assert_refused(self.plan("verify", self.single, model), message)

    def test_configurations_are_chosen_by_name(self):
        both = sharded.with_specifications(sharded.layers(), sharded.TENSOR, configuration="pair")
        both = sharded.with_specifications(both, sharded.GRID, 4, configuration="square")
        model = self.save("model.onnx", both)
        self.assert_refused(self.plan("verify", self.single, model), "'pair', 'square'")
        self.assert_refused(self.plan("verify", self.single, model, "--configuration", "three"), "no configuration 'three'")
        for name, devices in (("pair", 2), ("square", 4)):
            self.assert_done(self.plan("verify", self.single, model, "--configuration", name))
            self.assertEqual(len(self.bytes_of(self.single, model, "--configuration", name)), devices)
        self.assert_refused(self.plan("verify", self.single, self.single, "--configuration", "pair"), "--configuration is for")

    def test_wrong_configurations_are_one_line(self):
        unknown = sharded.with_specifications(sharded.layers(), sharded.DATA)
        unknown.configuration[0].name = "another"
        none = sharded.with_specifications(sharded.layers(), sharded.DATA, devices=0)
        names = sharded.with_specifications(sharded.layers(), sharded.DATA)
        names.configuration[0].device.append("only one")
        twice = sharded.with_specifications(sharded.with_specifications(sharded.layers(), sharded.DATA), sharded.DATA)
        for model, message in ((unknown, "'devices', which the model does not have"), (none, "has 0 devices"),
                               (names, "2 devices, and 1 names"), (twice, "says twice")):
            with self.subTest(message=message):
                self.assert_refused(self.plan("verify", self.single, self.save("model.onnx", model)), message)

    def test_specifications_of_nodes_that_became_one_are_not_lost(self):
        """Two equal nodes are one in the graph: what the second says would be read by nobody."""
        model = sharded.layers()
        model.graph.node.insert(3, helper.make_node("Relu", ["a1"], ["r2"]))
        model.graph.node[4].input[0] = "r2"
        model = sharded.with_specifications(model, {"r2": {"a1": (sharded.ROWS_CUT, [0, 1])}, "r1": {"a1": ((), [[0, 1]])}})
        self.assert_refused(self.plan("verify", self.single, self.save("model.onnx", model)), "the node of 'r2'")


class Written(Case):
    def make(self, single, *options):
        plan = self.folder / "plan.json"
        self.assert_done(self.plan("make", single, "-o", plan, *options))
        return plan

    def test_plans_come_back(self):
        block = self.save("block.onnx", parallel.single_block(parallel.Sizes(batch=4)))
        for single, options in ((block, ("--cluster", "local-2", "--memory-limit", "22K")), (block, ("--cluster", "local-4")),
                                (self.single, ("--cluster", "local-2", "--place", "x:0")),
                                (self.single, ("--cluster", "local-4", "--own-operators"))):
            with self.subTest(options=options):
                plan, model = self.make(single, *options), self.folder / "model.onnx"
                self.assertIn("are proved to be the model", self.assert_done(self.plan("export", single, plan, "-o", model)))
                self.assert_done(self.plan("verify", single, model))
                self.assertEqual(self.bytes_of(single, model), self.bytes_of(single, plan))

    def test_a_model_that_is_written_is_one_of_onnx(self):
        plan, file = self.make(self.single, "--cluster", "local-2", "--place", "x:0"), self.folder / "model.onnx"
        self.assert_done(self.plan("export", self.single, plan, "-o", file, "--configuration", "two"))
        model = onnx.load(file)
        onnx.checker.check_model(model, full_check=True)
        self.assertEqual([(c.name, c.num_devices) for c in model.configuration], [("two", 2)])
        self.assertGreaterEqual(model.ir_version, 11)
        for node in model.graph.node:
            [devices] = node.device_configurations
            self.assertEqual(devices.configuration_id, "two")
            self.assertEqual({spec.tensor_name for spec in devices.sharding_spec}, {*node.input, *node.output})
        # Who does not know specifications computes the same.
        x = numpy.random.default_rng(0).uniform(-1, 1, (sharded.ROWS, sharded.WIDTH)).astype(numpy.float32)
        given, written = (onnxruntime.InferenceSession(str(f), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
                          for f in (self.single, file))
        numpy.testing.assert_array_equal(given, written)

    def test_a_configuration_of_the_name_is_replaced(self):
        plan, file = self.make(self.single, "--cluster", "local-2", "--place", "x:0"), self.folder / "model.onnx"
        self.assert_done(self.plan("export", self.single, plan, "-o", file))
        again = self.folder / "again.onnx"
        self.assert_done(self.plan("export", file, plan, "-o", again))
        self.assertEqual(onnx.load(file), onnx.load(again))

    def test_what_no_specification_can_say_is_one_line(self):
        plan, model = self.make(self.single, "--cluster", "local-2", "--place", "x:0"), self.folder / "model.onnx"
        good = json.loads(plan.read_text())

        def changed(change):
            text = json.loads(json.dumps(good))
            change(text, {node["output"]: node for node in text["nodes"]})
            return json.dumps(text)

        def partial_read(text, nodes):
            text["inputs"]["x"], text["weights"]["w1"] = ["axis 1"], ["axis 0"]
            nodes["m1"].update(reads=[["axis 1"], ["axis 0"]], gives=[["partial sum"]])
            nodes["a1"].update(reads=[["partial sum"], ["partial sum"]], gives=[["partial sum"]])

        def elsewhere(text, nodes):
            text["weights"]["w1"] = ["axis 0"]

        for change, message in ((partial_read, "as parts of a sum"), (elsewhere, "'w1' is placed axis 0 in parts and read replicated")):
            with self.subTest(message=message):
                plan.write_text(changed(change))
                self.assert_refused(self.plan("export", self.single, plan, "-o", model), message)
                self.assertFalse(model.exists())
        plan = self.make(self.single, "--cluster", "local-2", "--own-operators", "--microbatches", 2)
        self.assert_refused(self.plan("export", self.single, plan, "-o", model), "microbatches")
        self.assert_refused(self.plan("export", self.single, self.single, "-o", model), "only plans (.json)")

    def test_a_wrong_plan_is_not_written(self):
        single = self.save("single.onnx", sharded.layers(last="Softmax"))
        plan, model = self.make(single, "--cluster", "local-2", "--place", "x:0"), self.folder / "model.onnx"
        text = json.loads(plan.read_text())
        softmax = next(node for node in text["nodes"] if node["operator"] == "Softmax")
        softmax["reads"], softmax["gives"] = [["axis 1"]], [["axis 1"]]
        plan.write_text(json.dumps(text))
        done = self.plan("export", single, plan, "-o", model)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("none of them: Softmax", done.stderr)
        self.assertFalse(model.exists())


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
