#!/usr/bin/env python3
"""Processes that lemma starts: they end with it, whatever ends it, and no limit waits for them. Signals, full files and
files that are cut are told as what they are. Nothing here depends on how fast anything is: what must end is endless."""

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

import tested_programs
import tiny_models
from tiny_models import F32, node, tensor_type

LEMMA = None
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "two_layer.onnx"
ENDLESS = 10**12  # steps
PATIENCE = 300  # seconds, for what takes less than one


class Processes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-processes-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.mark = f"LEMMA_TEST_MARK={uuid.uuid4()}"
        name, value = self.mark.split("=")
        self.environment = dict(os.environ, LEMMA_CACHE=str(self.folder / "cache"), **{name: value},
                                LEMMA_PROFILE=str(self.folder / "profile.sqlite"))
        self.addCleanup(self.kill_survivors)

    # ---- Helpers

    def survivors(self):
        """Processes that a command of this test has started, directly or not, and that still run."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if self.mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
            except OSError:
                pass
        return found

    def kill_survivors(self):
        for process, _ in self.survivors():
            os.kill(process, signal.SIGKILL)

    def assert_none_survives(self):
        end = time.monotonic() + PATIENCE
        while self.survivors() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(self.survivors(), [])

    def wait_for(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def start(self, *words, **options):
        return subprocess.Popen([LEMMA, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment, **options)

    def run_it(self, *words, code=0, **options):
        done = subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=2 * PATIENCE,
                              env=self.environment, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def write(self, name, contents):
        file = self.folder / name
        file.write_bytes(contents)
        return file

    def endless(self, name="endless.onnx"):
        return self.write(name, tiny_models.counting_loop(ENDLESS))

    def relu(self, name="relu.onnx"):
        return self.write(name, tiny_models.model([node("Relu", ["x"], ["y"])], [("x", tensor_type(F32, [4]))],
                                                  [("y", tensor_type(F32, [4]))]))

    def data_for_relu(self):
        folder = self.folder / "data"
        folder.mkdir()
        (folder / "input_0.pb").write_bytes(tiny_models.tensor("x", [4], [-1, 0, 1, 2]))
        (folder / "output_0.pb").write_bytes(tiny_models.tensor("y", [4], [0, 0, 1, 2]))
        return folder

    def program(self, name, commands):
        """A program of the name that is found first, from lines for a shell."""
        folder = self.folder / "programs"
        folder.mkdir(exist_ok=True)
        file = folder / name
        file.write_text("#!/bin/sh\n" + commands)
        file.chmod(0o755)
        self.environment["PATH"] = f"{folder}:{os.environ['PATH']}"
        self.environment.pop("CXX", None)
        return file

    def hanging_compiler(self):
        """One that says its version, and then starts two processes for each source, one of them in a session of its own;
        none ends."""
        compiler = shutil.which("c++")
        if not compiler:
            self.skipTest("there is no compiler")
        self.program("c++", f'[ "$1" = --version ] && exec {compiler} --version\n'
                            f"touch {self.folder}/compiling\nsetsid sleep 100000 &\nsleep 100000\nexit 1\n")

    def is_compiling(self):
        return (self.folder / "compiling").exists()

    # ---- Children end with their parent

    def test_a_compiler_ends_with_the_command(self):
        self.hanging_compiler()
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            with self.subTest(signal=number):
                (self.folder / "compiling").unlink(missing_ok=True)
                running = self.start("run", self.relu(), "--random", 1, "--engine", "rtask-cpu")
                self.wait_for(self.is_compiling)
                running.send_signal(number)
                # Nobody holds the pipes of a command that has ended.
                running.communicate(timeout=PATIENCE)
                self.assertEqual(running.returncode, -number)
                self.assert_none_survives()

    def test_workers_and_judges_end_with_the_command(self):
        self.program("judge", f"touch {self.folder}/judging\nsetsid sleep 100000 &\nexec sleep 100000\n")
        self.environment["LEMMA_PYTHON"] = str(self.folder / "programs" / "judge")
        for number in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(signal=number):
                (self.folder / "judging").unlink(missing_ok=True)
                running = self.start("optimize", EXAMPLE, "-o", self.folder / "out.onnx", "--time-limit", 10**6)
                self.wait_for((self.folder / "judging").exists)
                running.send_signal(number)
                running.communicate(timeout=PATIENCE)
                self.assert_none_survives()

    def test_an_endless_model_ends_with_its_time(self):
        files = [self.endless("a.onnx"), self.endless("b.onnx")]
        done = self.run_it("optimize", *files, "--out-dir", self.folder / "out", "--no-measure", "--time-limit", 10**6,
                           "--model-time-limit", 3, code=3)
        self.assertEqual(done.stderr.count("timed out"), 2, done.stderr)
        self.assert_none_survives()

    # ---- Limits hold whatever a child does

    def test_a_judge_that_does_not_answer_is_given_up(self):
        self.program("judge", "exec sleep 100000\n")
        self.environment["LEMMA_PYTHON"] = str(self.folder / "programs" / "judge")
        for command in ("simplify", "optimize"):
            self.run_it(command, EXAMPLE, "-o", self.folder / "out.onnx", "--time-limit", 3)
            self.assertTrue((self.folder / "out.onnx").exists())
            self.assert_none_survives()

    def test_a_compiler_that_hangs_is_given_up(self):
        self.hanging_compiler()
        call = ("run", self.relu(), "--random", 1, "--engine", "rtask-cpu", "--time-limit", 2)
        done = self.run_it(*call, code=3)
        self.assertIn("no result within 2 s", done.stderr)
        self.assert_none_survives()
        self.program("c++", "exec sleep 100000\n")  # in --version, too
        self.assertIn("no result within 2 s", self.run_it(*call, code=3).stderr)
        self.assert_none_survives()
        # Nothing is timed without a compiler.
        self.run_it("optimize", EXAMPLE, "-o", self.folder / "out.onnx", "--target", "rtask-cpu", "--time-limit", 8)
        self.assertTrue((self.folder / "out.onnx").exists())
        self.assert_none_survives()

    # ---- lemma run

    def test_run_is_given_up_after_its_time(self):
        done = self.run_it("run", self.endless(), "--random", 1, "--time-limit", 1, "--json", code=3)
        self.assertEqual(json.loads(done.stdout)["status"], "timed_out")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        # Without reaching a limit it prints what it prints without one.
        call = ("run", self.relu(), "--random", 1)
        plain = self.run_it(*call)
        limited = self.run_it(*call, "--time-limit", 1000, "--memory-limit", "4G", "--outputs", self.folder / "out")
        self.assertEqual(plain.stdout, limited.stdout)
        self.assertTrue((self.folder / "out" / "output_0.pb").exists())
        self.assert_none_survives()

    def test_run_is_given_up_at_its_memory(self):
        shape = tiny_models.tensor("shape", [1], [2**28], tiny_models.I64)
        large = self.write("large.onnx", tiny_models.model(
            [node("ConstantOfShape", ["shape"], ["z"]), node("Add", ["z", "x"], ["y"])],
            [("x", tensor_type(F32, [1]))], [("y", tensor_type(F32, [2**28]))], initializers=[shape]))
        done = self.run_it("run", large, "--random", 1, "--memory-limit", "300M", code=3)
        self.assertIn("not enough memory", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        # Of a size that no machine has.
        huge = self.write("huge.onnx", tiny_models.model(
            [node("Relu", ["x"], ["y"])], [("x", tensor_type(F32, [2**45]))], [("y", tensor_type(F32, [2**45]))]))
        done = self.run_it("run", huge, "--random", 1, code=3)
        self.assertIn("not enough memory", done.stderr)

    def test_no_job_of_a_batch_stops_the_next(self):
        data = self.data_for_relu()
        endless_data = self.folder / "endless"
        endless_data.mkdir()
        for name in ("input_0.pb", "output_0.pb"):
            (endless_data / name).write_bytes(tiny_models.tensor("x", [1], [1]))
        relu, endless = self.relu(), self.endless()
        jobs = self.write("jobs", f"{relu}\t{data}\nno tab\n\n{endless}\t{endless_data}\n{relu}\t{data}\n"
                                  f"{self.folder}/missing\t{data}\n{relu}\t{data}".encode())
        done = self.run_it("run", "--batch", jobs, "--json", "--time-limit", 2, code=2)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([each["status"] for each in answers],
                         ["passed", "bad_input", "timed_out", "passed", "bad_input", "passed"])
        self.assertIn("line 2: expected MODEL<tab>FOLDER", answers[1]["reason"])
        self.assert_none_survives()

    def test_a_job_whose_process_dies_does_not_stop_the_next(self):
        data = self.data_for_relu()
        jobs = self.folder / "jobs"
        os.mkfifo(jobs)
        running = self.start("run", "--batch", jobs, "--json")
        with open(jobs, "w") as pipe:
            print(self.relu(), data, sep="\t", file=pipe, flush=True)
            self.assertEqual(json.loads(running.stdout.readline())["status"], "passed")
            workers = [process for process, words in self.survivors() if "--answers-jobs" in words and not words.startswith("lemma-supervisor")]
            self.assertEqual(len(workers), 1)
            os.kill(workers[0], signal.SIGSEGV)
            self.wait_for(lambda: not pathlib.Path(f"/proc/{workers[0]}").exists())
            for _ in range(2):
                print(self.relu(), data, sep="\t", file=pipe, flush=True)
        output, said = running.communicate(timeout=PATIENCE)
        self.assertEqual([json.loads(line)["status"] for line in output.splitlines()], ["internal_fault", "passed"],
                         said)
        self.assertEqual(running.returncode, 1)

    # ---- Signals and files

    def test_an_ignored_interruption_stays_ignored(self):
        models = [self.relu(f"{i}.onnx") for i in range(3)]
        words = ["optimize", *models, "--out-dir", self.folder / "out", "--no-measure", "--json"]
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            running = self.start(*words, preexec_fn=lambda number=number: signal.signal(number, signal.SIG_IGN))
            self.wait_for(self.survivors)
            running.send_signal(number)
            output, said = running.communicate(timeout=PATIENCE)
            self.assertEqual(running.returncode, 0, said)
            self.assertEqual({each["status"] for each in json.loads(output)["models"]}, {"unchanged"})

    def test_a_file_that_may_not_grow_is_an_error_of_that_model(self):
        weights = tiny_models.tensor("w", [2**16], [1] * 2**16)
        large = self.write("large.onnx", tiny_models.model(
            [node("Add", ["x", "w"], ["y"])], [("x", tensor_type(F32, [2**16]))], [("y", tensor_type(F32, [2**16]))],
            initializers=[weights]))
        relu, out = self.relu(), self.folder / "out"
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2**17, 2**17))
        done = self.run_it("simplify", large, relu, "--out-dir", out, "--json", "--no-second-judge", code=3,
                           preexec_fn=limit)
        self.assertEqual([each["status"] for each in json.loads(done.stdout)["models"]], ["failed", "unchanged"])
        self.assertIn("too large", done.stderr)
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["relu.onnx"])

    def test_too_few_processes_are_told(self):
        if os.getuid() != 0:
            self.skipTest("only root can become a user with no other process")
        self.folder.chmod(0o777)
        model, user = self.relu(), 2**20 + os.getpid()
        for most in (1, 2, 3, 4, 6, 8, 12):
            def limit(most=most):
                os.setgid(user)
                os.setuid(user)
                resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
            done = subprocess.run([LEMMA, "optimize", model, "-o", self.folder / "out.onnx", "--time-limit", "10"],
                                  capture_output=True, text=True, timeout=2 * PATIENCE, preexec_fn=limit,
                                  env=dict(self.environment, HOME=str(self.folder)))
            with self.subTest(most=most, said=done.stderr):
                self.assertIn(done.returncode, (0, 3))
                self.assertNotIn("internal fault", done.stderr)
                if most == 1:
                    self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1))
                    self.assertIn("a process for it cannot be started", done.stderr)

    def test_too_few_descriptors_are_told(self):
        """From the first file that is opened on, in the command itself and in the processes that it starts."""
        model, out = self.relu(), self.folder / "out.onnx"
        for words in (("optimize", model, "-o", out, "--time-limit", "60"), ("simplify", model, "-o", out),
                      ("run", model, "--random", 1, "--time-limit", 600), ("inspect", model, "--dot", out), ("diff", model, model),
                      ("compare", model, model), ("emit", model, "-o", out, "--replace")):
            for most in (4, 5, 6, 7, 8, 10, 12, 13, 16):
                limit = lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
                done = subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=2 * PATIENCE,
                                      preexec_fn=limit, env=self.environment)
                with self.subTest(words=words, most=most, said=done.stderr):
                    self.assertIn(done.returncode, (0, 2, 3))
                    for word in ("internal", "crashed", "terminate"):
                        self.assertNotIn(word, done.stderr)
                    if done.returncode != 0:
                        self.assertIn("Too many open files", done.stderr)
            shutil.rmtree(out, ignore_errors=True)
            out.unlink(missing_ok=True)

    def test_a_process_without_memory_is_told(self):
        """It cannot be loaded, or not do what comes first."""
        for limit in (4096, 2**20, 2**22):
            with self.subTest(limit):
                done = self.run_it("run", self.relu(), "--random", 1, "--memory-limit", limit, code=3)
                self.assertRegex(done.stderr, "cannot be loaded|has given up|was killed|not enough memory")

    def test_a_temporary_folder_that_cannot_be_made_is_told(self):
        self.environment["TMPDIR"] = str(self.relu())  # no folder
        done = self.run_it("optimize", EXAMPLE, "-o", self.folder / "out.onnx", code=3)
        self.assertIn("no temporary folder can be made", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for words in (("profile", EXAMPLE), ("profile", EXAMPLE, "--target", "rtask-cpu")):
            done = self.run_it(*words, code=3)
            self.assertIn("no temporary folder can be made", done.stderr)

    def test_a_file_that_is_cut_while_it_is_read_is_told(self):
        weights = self.write("weights.bin", tiny_models.floats([1] * 2**20))
        model = self.write("model.onnx", tiny_models.counting_loop(
            ENDLESS, 2**20, tiny_models.external_tensor("one", [2**20], "weights.bin")))
        running = self.start("run", model, "--random", 1)
        # So much time of the processor is spent in the loop only, which reads the weights for ever.
        times = pathlib.Path(f"/proc/{running.pid}/stat")
        ticks = 2 * os.sysconf("SC_CLK_TCK")
        self.wait_for(lambda: int(times.read_text().split(") ")[1].split()[11]) > ticks)
        os.truncate(weights, 4096)
        output, said = running.communicate(timeout=PATIENCE)
        self.assertIn(f"{weights}: was cut while it was read", said)
        self.assertEqual((running.returncode, said.count("\n")), (2, 1), said)


if __name__ == "__main__":
    LEMMA, arguments = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *arguments])
