#!/usr/bin/env python3
"""lemma plan: models of ranks that are right are proved and run, wrong ones are found at the place of the mistake, and plans that
are made are proved, read back and run."""

import json
import re
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

import onnx
import parallel
import tested_programs

LEMMA = None

# The operator at which each mistake shows.
CULPRITS = {
    ("tensor", "no_sum_attention"): "Add", ("tensor", "no_sum_wide"): "Add", ("tensor", "sum_twice_attention"): "AllReduce",
    ("tensor", "bias_before_sum"): "Add", ("tensor", "residual_before_sum"): "Add", ("tensor", "shifted_wo"): "MatMul 'projected",
    ("tensor", "shifted_w2"): "MatMul 'narrow", ("tensor", "first_b1"): "Add", ("tensor", "first_bq"): "Add 'q",
    ("tensor", "scale"): "Mul", ("tensor", "softmax_axis"): "Softmax", ("tensor", "sum_before_gelu"): "AllReduce",
    ("sequence", "no_sum_wide"): "Slice", ("sequence", "first_part"): "Slice", ("sequence", "norm_axis"): "LayerNormalization",
    ("sequence", "shifted_wk"): "MatMul", ("expert", "no_sum"): "output 'y'", ("expert", "shifted_experts"): "MatMul 'down",
    ("expert", "local_softmax"): "Softmax", ("expert", "gate_of_first"): "MatMul 'logits", ("zero", "scaled_twice"): "Mul",
    ("zero", "own_gradient"): "Split", ("zero", "rotated_gradient"): "Permute", ("zero", "rotated_step"): "Permute",
    ("zero", "gathered_twice"): "AllReduce", ("all_to_all", "not_returned"): "Permute",
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

    def verify(self, *arguments):
        return subprocess.run([LEMMA, "plan", "verify", *map(str, arguments)], capture_output=True, text=True)


class Verify(Case):
    def test_right_programs_are_proved(self):
        for kind, make in parallel.KINDS.items():
            for ranks in (2, 4):
                with self.subTest(kind=kind, ranks=ranks):
                    done = self.verify(*self.write(*make(parallel.Sizes(batch=4), ranks)))
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertTrue(done.stdout.startswith("proved: "), done.stdout)

    def test_mistakes_are_found_where_they_are(self):
        self.assertEqual(set(CULPRITS), set(parallel.MISTAKES))
        for kind, mistake in parallel.MISTAKES:
            with self.subTest(kind=kind, mistake=mistake):
                done = self.verify(*self.write(*parallel.KINDS[kind](parallel.Sizes(batch=4), 2, mistake)))
                self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                self.assertTrue(done.stdout.startswith("refuted: "), done.stdout)
                self.assertIn("none of them: " + CULPRITS[kind, mistake], done.stdout)

    def test_a_stack_of_equal_layers_needs_the_claims_of_few(self):
        sizes = parallel.LlamaSizes(layers=20)
        files = self.write(parallel.llama(sizes, 1), [parallel.llama(sizes, 8)])
        done = self.verify(*files, "--mesh", "tensor=8")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"by [1-4]\d claims")

    @tested_programs.long
    def test_what_cannot_be_computed_is_unknown(self):
        sizes = parallel.LlamaSizes(layers=3)
        files = self.write(parallel.llama(sizes, 1), [parallel.llama(sizes, 8, "sum_twice", 1)])
        done = self.verify(*files, "--mesh", "tensor=8")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith("unknown: "), done.stdout)
        self.assertIn("none of them: AllReduce", done.stdout)

    def test_two_axes_of_devices(self):
        sizes = parallel.Sizes(batch=4)
        local = parallel.Sizes(batch=2)
        ranks = [parallel.tensor_parallel_rank(local, rank % 4, 4) for rank in range(8)]
        files = self.write(parallel.single_block(sizes), ranks)
        done = self.verify(*files, "--mesh", "data=2,tensor=4", "--values")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("data: axis 0 in parts, tensor: partial sum", done.stdout)

    def test_claims_are_rules_that_are_proved_again(self):
        claims = self.folder / "claims.rules"
        done = self.verify(*self.write(*parallel.tensor_parallel(parallel.Sizes(), 2)), "--claims", claims)
        self.assertEqual(done.returncode, 0, done.stderr)
        again = subprocess.run([LEMMA, "rules", "obligations", str(claims)], capture_output=True, text=True)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        count = claims.read_text().count("\nrule ")
        self.assertGreater(count, 15)
        self.assertIn(f"{count} of {count} claims hold", again.stdout)

    def test_a_neighbour_among_all_devices_is_refused_on_two_axes(self):
        """The neighbours along each axis are other devices."""
        sizes = parallel.Sizes()
        single, ranks = parallel.zero(sizes, 4, "rotated_step")
        done = self.verify(*self.write(single, ranks), "--mesh", "rows=2,columns=2", "--place", "m:0,0", "--place", "x:0,0",
                           "--place", "target:0,0", "--place", "m_next:0,0")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("for a mesh of one axis only", done.stderr)

    def test_errors_are_one_line(self):
        single, ranks = parallel.tensor_parallel(parallel.Sizes(), 2)
        files = self.write(single, ranks)
        other = parallel.expert_rank(parallel.Sizes(), 0, 2)
        onnx.save(other, self.folder / "other.onnx")
        for arguments, message in [
            ([files[0], files[1], files[2], "--mesh", "tensor=4"], "2 models are given for a mesh of 4 devices"),
            ([*files, "--mesh", "tensor"], "no NAME=SIZE"),
            ([*files, "--place", "x"], "not of the form"),
            ([*files, "--place", "x:0"], "has the shape"),
            ([files[0], files[1], self.folder / "other.onnx"], "ranks 0 and 1 run different programs"),
            ([files[0], self.folder / "other.onnx", self.folder / "other.onnx"], "shape"),
            ([files[0], self.folder / "none.onnx"], "none.onnx"),
        ]:
            with self.subTest(message=message):
                done = self.verify(*arguments)
                self.assertIn(done.returncode, (2, 3))
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(message, done.stderr)


class Run(Case):
    """The same models, run."""

    def plan(self, *arguments, launcher=()):
        return subprocess.run([*launcher, LEMMA, "plan", *map(str, arguments)], capture_output=True, text=True)

    def check_run(self, done, ranks, bytes_sent=None):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()[2:2 + ranks]]
        self.assertEqual([row[0] for row in rows], [str(rank) for rank in range(ranks)], done.stdout)
        if bytes_sent is not None:
            self.assertEqual([int(row[2]) for row in rows], [bytes_sent] * ranks, done.stdout)

    def launcher(self, ranks):
        """mpirun for so many ranks, or a skipped test."""
        if shutil.which("mpirun") is None or not (Path(LEMMA).resolve().parent.parent / "lib" / "lemma" / "lemma_mpi_plans.so").exists():
            self.skipTest("lemma was built without MPI, or there is no mpirun")
        return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]

    def test_ranks_compute_what_one_device_computes(self):
        for kind, make in parallel.KINDS.items():
            with self.subTest(kind=kind):
                self.check_run(self.plan("run", *self.write(*make(parallel.Sizes(batch=4), 4))), 4)

    def test_bytes_are_those_of_the_formulas(self):
        sizes = parallel.Sizes(batch=4)
        whole = sizes.batch * sizes.tokens * sizes.hidden * 4
        for ranks in (2, 4):
            files = self.write(*parallel.tensor_parallel(sizes, ranks))
            self.check_run(self.plan("run", *files), ranks, 2 * 2 * (ranks - 1) * whole // ranks)

    def test_a_wrong_program_differs(self):
        files = self.write(*parallel.tensor_parallel(parallel.Sizes(), 2, "shifted_wo"))
        self.assertEqual(self.plan("run", *files).returncode, 4)

    def test_processes_do_what_threads_do(self):
        launcher = self.launcher(2)
        for kind in ("sequence", "zero", "all_to_all"):
            with self.subTest(kind=kind):
                files = self.write(*parallel.KINDS[kind](parallel.Sizes(batch=4), 2))
                threads, processes = self.plan("run", *files), self.plan("run", *files, launcher=launcher)
                self.check_run(processes, 2)
                self.assertEqual(processes.stdout, threads.stdout)

    def test_another_number_of_processes_is_one_line(self):
        files = self.write(*parallel.tensor_parallel(parallel.Sizes(), 2))
        done = self.plan("run", *files, launcher=self.launcher(3))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the plan is for 2 ranks, but 3 were started", done.stderr)

    def test_plans_are_made_proved_and_run(self):
        single = self.write(parallel.single_block(parallel.Sizes(batch=4)), [])[0]
        plan, again = self.folder / "plan.json", self.folder / "again.json"
        for cluster, limit in [("local-2", "1M"), ("local-2", "22K"), ("local-4", "16K")]:
            with self.subTest(cluster=cluster, limit=limit):
                options = ["--cluster", cluster, "--memory-limit", limit]
                done = self.plan("make", single, *options, "-o", plan)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("the plan is proved to be the model", done.stdout)
                self.assertEqual(self.plan("make", single, *options, "-o", again).returncode, 0)
                self.assertEqual(plan.read_bytes(), again.read_bytes())
                self.assertEqual(self.verify(single, plan).returncode, 0)
                self.check_run(self.plan("run", single, plan), int(cluster[-1]))

    def test_a_limit_that_nothing_keeps_is_an_error(self):
        single = self.write(parallel.single_block(parallel.Sizes()), [])[0]
        done = self.plan("make", single, "--cluster", "local-2", "--memory-limit", "1K", "-o", self.folder / "plan.json")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("no plan needs at most 1024 bytes", done.stderr)
        self.assertFalse((self.folder / "plan.json").exists())

    def test_other_plans_stand_beside_it(self):
        model, = self.write(parallel.single_block(parallel.Sizes(batch=4)), [])
        said = self.plan("make", model, "--cluster", "local-2", "--other-plans", "-o", self.folder / "plan.json")
        self.assertEqual(said.returncode, 0, said.stderr)
        rows = re.findall(r"^(this one|everything on every device|data parallelism|Metropolis, from data parallelism) .* ([\d.]+)(?: +[\d.]+ \w+)?$",
                          said.stdout, re.MULTILINE)
        self.assertEqual(len(rows), 4, said.stdout)
        self.assertGreaterEqual(min(float(ratio) for _, ratio in rows), 1.0)
        self.assertLessEqual(float(rows[3][1]), float(rows[2][1]))

    def test_a_plan_by_hand_stands_beside_it(self):
        model, = self.write(parallel.single_block(parallel.Sizes(batch=4)), [])
        file = self.folder / "plan.json"
        said = self.plan("make", model, "--cluster", "local-2", "--beside", "cut samples=x:0", "--beside", "cut weights=w1*:1 w2*:0",
                         "-o", file)
        self.assertEqual(said.returncode, 0, said.stderr)
        ratios = dict(re.findall(r"^(cut samples|cut weights|data parallelism) .* ([\d.]+)$", said.stdout, re.MULTILINE))
        self.assertEqual(ratios["cut samples"], ratios["data parallelism"])
        self.assertGreaterEqual(float(ratios["cut weights"]), 1.0)
        self.assertNotIn("Metropolis", said.stdout)
        for text, message in [("x:0", "it is NAME=TENSOR:0"), ("one=x", "--beside"), ("one=nothing:0", "no input, weight or output")]:
            done = self.plan("make", model, "--cluster", "local-2", "--beside", text, "-o", file)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(message, done.stderr)
        done = self.plan("make", model, "--cluster", "local-2", "--own-operators", "--time-limit", "3", "-o", file)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)

    def test_a_search_that_is_ended_writes_a_plan_that_is_proved(self):
        model, = self.write(parallel.single_block(parallel.Sizes(batch=4)), [])
        file = self.folder / "plan.json"
        done = self.plan("make", model, "--cluster", "local-2", "--time-limit", "0.001", "-o", file)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the plan is proved to be the model", done.stdout)
        self.assertEqual(self.verify(model, file).returncode, 0)

    def test_an_interrupted_search_writes_a_plan_that_is_proved(self):
        model, = self.write(parallel.single_block(parallel.Sizes(batch=4)), [])
        file = self.folder / "plan.json"
        process = subprocess.Popen([LEMMA, "plan", "make", model, "--cluster", "local-4", "-o", file], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        # It may be over before, or not have begun: a signal is repeated until there is the one or the other.
        while process.poll() is None and not self.catches(process.pid, signal.SIGINT):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate()
        self.assertIn(process.returncode, (0, 3), errors)
        self.assertEqual("interrupted; the best plan so far is written" in errors, process.returncode == 3)
        self.assertIn("the plan is proved to be the model", said)
        self.assertEqual(self.verify(model, file).returncode, 0)

    @staticmethod
    def catches(process, number):
        """Whether a process has a handler of its own for a signal."""
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:
            return False
        caught = re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)
        return caught is not None and int(caught.group(1), 16) >> (number - 1) & 1 == 1

    def test_changed_plans_are_checked(self):
        single = self.write(parallel.single_block(parallel.Sizes(batch=4)), [])[0]
        file = self.folder / "plan.json"
        self.assertEqual(self.plan("make", single, "--cluster", "local-2", "-o", file).returncode, 0)
        plan = json.loads(file.read_text())
        softmax = next(node for node in plan["nodes"] if node["operator"] == "Softmax")
        softmax["reads"], softmax["gives"] = [["axis 3"]], [["axis 3"]]
        file.write_text(json.dumps(plan))
        done = self.verify(single, file)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("none of them: Softmax", done.stdout)

    def test_what_is_wrong_in_a_plan_is_told_in_a_line(self):
        single = self.write(parallel.single_block(parallel.Sizes(batch=4)), [])[0]
        file = self.folder / "plan.json"
        self.assertEqual(self.plan("make", single, "--cluster", "local-2", "-o", file).returncode, 0)
        good = json.loads(file.read_text())

        def changed(change):
            plan = json.loads(json.dumps(good))
            change(plan)
            return json.dumps(plan)

        for text, message in [
            ("{", "no JSON"), ("[]", "format"), ("null", "format"), ('{"format": "lemma plan", "version": 2}', "version"),
            (changed(lambda p: p.update(mesh=[])), "mesh"), (changed(lambda p: p.update(mesh=[{"name": "a", "size": 0}])), "mesh"),
            (changed(lambda p: p.update(mesh=[{"name": "a", "size": "2"}])), "mesh"),
            (changed(lambda p: p["inputs"].update(nothing=["replicated"])), "inputs 'nothing' is not in the model"),
            (changed(lambda p: p["inputs"].update(x=["axis 7"])), "has no axis 7"),
            (changed(lambda p: p["inputs"].update(x=["axis -1"])), "none of"),
            (changed(lambda p: p["inputs"].update(x=["partial sum"])), "is partial"),
            (changed(lambda p: p["inputs"].update(x="replicated")), "is no list of 1 shares"),
            (changed(lambda p: p["nodes"][0].update(reads=[])), "is no list of 3 placements"),
            (changed(lambda p: p["nodes"].append(p["nodes"][0])), "is there twice"),
            (changed(lambda p: p["nodes"].append({})), "without the name"),
            (changed(lambda p: p.update(nodes={})), "is no list"),
        ]:
            with self.subTest(message=message):
                file.write_text(text)
                done = self.verify(single, file)
                self.assertEqual(done.returncode, 2, text[:200] + done.stdout + done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
