#!/usr/bin/env python3
"""lemma plan on models of ranks that differ: right ones are proved and run, mistakes are found where they are, and channels that do
not fit are errors that name them."""

import json
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
import placed
import tested_programs
from onnx import helper

LEMMA = None

# The operator at which each mistake shows, and something that one line behind it tells.
CULPRITS = {
    ("samples", "order"): ("Concat 'rank 0", "2 to 4 of axis 0"), ("filters", "other_filters"): ("Add", "4 to 8 of axis 1"),
    ("channels", "no_sum"): ("Conv", "0 to 2 of axis 1"), ("channels", "other_channels"): ("Conv", "0 to 2 of axis 1"),
    ("length", "small_halo"): ("Conv", "0 to 4 of axis 2"), ("length", "order"): ("Concat 'rank 0", "4 to 8 of axis 2"),
    ("samples and filters", "other_filters"): ("Add", "0 to 2 of axis 0, 4 to 8 of axis 1"),
    ("channels and length", "no_sum"): ("Conv", "0 to 2 of axis 1, 0 to 9 of axis 2"),
    ("lstm", "other_channel"): ("LSTM 'rank 1", "constant 'w.1'"), ("lstm", "lost_state"): ("LSTM 'rank 2", "constant 'start'"),
    ("lstm", "order"): ("Concat 'rank 3", "values"), ("pipeline", "stale"): ("Concat 'rank 3", "0 to 2 of axis 0"),
    ("pipeline", "skipped"): ("MatMul 'rank 3", "rank 1: residual"), ("pipeline", "order"): ("Concat 'rank 3", "6 to 8 of axis 0"),
    ("pipeline of groups", "no_sum"): ("MatMul 'rank 2", "0 to 16 of axis 1"), ("inception", "dropped"): ("Concat 'rank 0", "rank 1"),
    ("inception", "order"): ("Concat 'rank 0", "rank 2"),
}


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

    def plan(self, *arguments, launcher=()):
        return subprocess.run([*launcher, LEMMA, "plan", *map(str, arguments)], capture_output=True, text=True, timeout=60)


class Verify(Case):
    def test_right_programs_are_proved_and_run(self):
        for kind, make in placed.KINDS.items():
            with self.subTest(kind=kind):
                files = self.write(*make())
                done = self.plan("verify", *files)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertTrue(done.stdout.startswith("proved: "), done.stdout)
                done = self.plan("run", *files)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_mistakes_are_found_where_they_are(self):
        self.assertEqual(set(CULPRITS), set(placed.MISTAKES))
        for kind, mistake in placed.MISTAKES:
            with self.subTest(kind=kind, mistake=mistake):
                files = self.write(*placed.KINDS[kind](mistake))
                done = self.plan("verify", *files)
                self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                culprit, told = CULPRITS[kind, mistake]
                self.assertIn("none of them: " + culprit, done.stdout)
                self.assertIn(told, done.stdout)
                self.assertEqual(self.plan("run", *files).returncode, 4)

    def test_without_samples_parts_are_found_as_well(self):
        """Beyond some number of elements nothing is computed, and only likely parts are tried."""
        sizes = placed.PipelineSizes(stages=2, microbatches=2, batch=512, hidden=1024)
        done = self.plan("verify", *self.write(*placed.pipeline(sizes)))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.plan("verify", *self.write(*placed.pipeline(sizes, "order")))
        self.assertIn(done.returncode, (3, 4), done.stdout + done.stderr)
        self.assertIn("none of them: Concat", done.stdout)

    def test_claims_are_rules_that_are_proved_again(self):
        claims = self.folder / "claims.rules"
        done = self.plan("verify", *self.write(*placed.KINDS["channels and length"]()), "--claims", claims)
        self.assertEqual(done.returncode, 0, done.stderr)
        again = subprocess.run([LEMMA, "rules", "obligations", str(claims)], capture_output=True, text=True)
        count = claims.read_text().count("\nrule ")
        self.assertGreater(count, 10)
        self.assertIn(f"{count} of {count} claims hold", again.stdout)


class Channels(Case):
    """Two ranks: x goes from rank 0 to rank 1, doubled there, and back."""

    def write_ranks(self, change=None):
        single = placed.Writer()
        x = single.input("x", [4, 4])
        single.output("y", single.op("Add", [x, x]), [4, 4])
        ranks = placed.Ranks(2)
        x = ranks[0].input("x", [4, 4])
        there = ranks.send(x, 0, 1, [4, 4], "there")
        back = ranks.send(ranks[1].op("Add", [there, there]), 1, 0, [4, 4], "back")
        ranks[0].output("y", back, [4, 4])
        models = ranks.models()
        if change:
            change(models)
        return self.write(single.model(), models)

    @staticmethod
    def node(model, kind):
        return next(node for node in model.graph.node if node.op_type == kind)

    def set(self, model, kind, name, value):
        node = self.node(model, kind)
        kept = [attribute for attribute in node.attribute if attribute.name != name]
        del node.attribute[:]
        node.attribute.extend(kept + ([] if value is None else [helper.make_attribute(name, value)]))

    def test_the_program_is_right(self):
        self.assertEqual(self.plan("verify", *self.write_ranks()).returncode, 0)

    def test_channels_that_do_not_fit_are_one_line(self):
        def waits(models):
            # Rank 0 receives before it sends what the other one waits for.
            nodes = list(models[0].graph.node)
            nodes.sort(key=lambda node: node.op_type != "Recv")
            del models[0].graph.node[:]
            models[0].graph.node.extend(nodes)

        def twice(models):
            node = onnx.NodeProto()
            node.CopyFrom(self.node(models[0], "Send"))
            node.output[0] = "again"
            models[0].graph.node.append(node)

        for change, message in [
            (waits, "rank 0 for channel 'back' from rank 1; rank 1 for channel 'there' from rank 0"),
            (twice, "channel 'there' is sent twice"),
            (lambda m: self.set(m[0], "Send", "channel", "other"), "channel 'other' is sent by rank 0, and received by none"),
            (lambda m: m[0].graph.node.remove(self.node(m[0], "Send")), "channel 'there' is received by rank 1, and sent by none"),
            (lambda m: self.set(m[0], "Send", "channel", None), "names no channel"),
            (lambda m: self.set(m[0], "Send", "to", 0), "0 is no other rank"),
            (lambda m: self.set(m[0], "Send", "to", 7), "7 is no other rank"),
            (lambda m: self.set(m[1], "Recv", "shape", [4, 2]), "rank 0 sends f32[4, 4], but rank 1 receives f32[4, 2]"),
            (lambda m: self.set(m[1], "Recv", "type", 6), "but rank 1 receives"),
        ]:
            with self.subTest(message=message):
                for command in ("verify", "run"):
                    done = self.plan(command, *self.write_ranks(change))
                    self.assertIn(done.returncode, (2, 3), done.stdout + done.stderr)
                    self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                    self.assertIn(message, done.stderr)

    def test_what_another_rank_gives_is_not_taken_for_the_output(self):
        """0 is not 1, whatever the ranks exchange."""
        single = placed.Writer()
        x = single.input("x", [4])
        single.output("y", single.op("Add", [x, single.weight("one", numpy.ones(1, numpy.float32))]), [4])
        ranks = placed.Ranks(2)
        x = ranks[0].input("x", [4])
        zero = ranks[1].op("Mul", [ranks.send(x, 0, 1, [4]), ranks[1].weight("one", numpy.zeros(1, numpy.float32))])
        ranks[0].output("y", ranks[0].op("Add", [x, ranks.send(zero, 1, 0, [4])]), [4])
        self.assertEqual(self.plan("verify", *self.write(single.model(), ranks.models())).returncode, 4)

    def test_ranks_that_give_an_output_by_other_operators_are_refused(self):
        def change(models):
            graph = models[1].graph
            graph.node.append(helper.make_node("Identity", [self.node(models[1], "Recv").output[0]], ["y"]))
            graph.output.append(helper.make_tensor_value_info("y", 1, [4, 4]))

        done = self.plan("verify", *self.write_ranks(change))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("output 'y': the ranks 0 and 1 give the same part of it by different operators", done.stderr)


class Make(Case):
    """Plans in which each operator is on one device, for four devices."""

    def make(self, single, *options):
        model, plan = self.folder / "single.onnx", self.folder / "plan.json"
        onnx.save(single, model)
        done = self.plan("make", model, "--cluster", "local-4", "--own-operators", *options, "-o", plan)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the plan is proved to be the model", done.stdout)
        text = plan.read_bytes()
        self.assertEqual(self.plan("make", model, "--cluster", "local-4", "--own-operators", *options, "-o", plan).stdout, done.stdout)
        self.assertEqual(plan.read_bytes(), text)
        for command in ("verify", "run"):
            checked = self.plan(command, model, plan)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        return done.stdout, json.loads(text), model

    def times(self, output):
        """Seconds of the plan, on one device, and at least."""
        line = next(line for line in output.splitlines() if "on one device, and" in line)
        scale = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
        return [float(number) * scale[unit] for number, unit in re.findall(r"([0-9.]+) (us|ms|s)\b", line)]

    def test_a_stack_of_lstm_layers_is_a_wavefront(self):
        """The critical path are layers + chunks - 1 chunks."""
        output, plan, _ = self.make(placed.lstm(placed.RecurrentSizes(hidden=256, steps=4, batch=4))[0])
        planned, single, least = self.times(output)
        self.assertGreaterEqual(planned, least)
        self.assertLess(planned, 1.15 * least)
        self.assertLess(planned, 0.6 * single)
        self.assertEqual({node["rank"] for node in plan["nodes"]}, {0, 1, 2, 3})

    def test_branches_are_on_ranks_of_their_own(self):
        output, plan, _ = self.make(placed.inception(placed.InceptionSizes(blocks=1, channels=64, size=28, width=64))[0])
        planned, single, least = self.times(output)
        self.assertLess(planned, single)
        self.assertGreater(len({node["rank"] for node in plan["nodes"]}), 1)

    def test_microbatches_go_through_stages(self):
        output, plan, model = self.make(placed.pipeline(placed.PipelineSizes(stages=2, batch=32, hidden=512))[0], "--microbatches", "2")
        self.assertEqual(plan["microbatches"], 2)
        self.assertEqual({node["part"] for node in plan["nodes"]}, {0, 1})
        self.assertGreater(len({node["rank"] for node in plan["nodes"]}), 1)
        # A plan that was changed by hand is checked like any other.
        file = self.folder / "changed.json"
        for change, message in [
            (lambda p: p["nodes"].pop(), "no rank computes"),
            (lambda p: p["nodes"].reverse(), "comes before"),
            (lambda p: p["nodes"].append(p["nodes"][0]), "is computed twice"),
            (lambda p: p["nodes"][0].update(rank=4), "'rank' from 0 to 3"),
            (lambda p: p["nodes"][0].update(part=2), "'part' from 0 to 1"),
            (lambda p: p["nodes"][0].update(output="nothing"), "is not in the model"),
            (lambda p: p.update(ranks=0), "'ranks' from 1"), (lambda p: p.update(nodes=3), "is no list"),
            (lambda p: p.update(version=2), "version"), (lambda p: p.update(microbatches=5), "5 equal parts"),
        ]:
            with self.subTest(message=message):
                changed = json.loads(json.dumps(plan))
                change(changed)
                file.write_text(json.dumps(changed))
                done = self.plan("verify", model, file)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(message, done.stderr)
        plan["nodes"][0]["rank"] = 3 - plan["nodes"][0]["rank"]
        file.write_text(json.dumps(plan))
        self.assertEqual(self.plan("verify", model, file).returncode, 0)

    def test_errors_are_one_line(self):
        model = self.folder / "single.onnx"
        onnx.save(placed.pipeline(placed.PipelineSizes(stages=2, hidden=16))[0], model)
        options = ["--cluster", "local-4", "-o", self.folder / "plan.json"]
        for more, message in [
            (["--microbatches", "2"], "--microbatches is for --own-operators"),
            (["--own-operators", "--mesh", "2x2"], "--mesh is for plans"),
            (["--own-operators", "--microbatches", "3"], "cannot be cut into 3 equal parts"),
            (["--own-operators", "--memory-limit", "100"], "no plan that was tried needs at most 100 bytes"),
        ]:
            with self.subTest(message=message):
                done = self.plan("make", model, *options, *more)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(message, done.stderr)


class Processes(Case):
    def test_processes_do_what_threads_do(self):
        if shutil.which("mpirun") is None or not (Path(LEMMA).resolve().parent.parent / "lib" / "lemma" / "lemma_mpi_plans.so").exists():
            self.skipTest("lemma was built without MPI, or there is no mpirun")
        for kind, ranks in (("lstm", 4), ("channels and length", 4), ("inception", 4)):
            with self.subTest(kind=kind):
                files = self.write(*placed.KINDS[kind]())
                launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
                threads, processes = self.plan("run", *files), self.plan("run", *files, launcher=launcher)
                self.assertEqual(processes.returncode, 0, processes.stdout + processes.stderr)
                self.assertEqual(processes.stdout, threads.stdout)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
