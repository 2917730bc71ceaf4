#!/usr/bin/env python3
"""One test for each kind of fault that was once found: a result that replaces what it was made of, models that are told
equal though they differ, processes that outlive their command, results that are taken for done."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

import commands
import sandbox
import tested_programs
import tiny_models
from tiny_models import F32, I64, content, graph_attribute, integer_attribute, node, number, tensor_type

LEMMA = None
BOOL = 9
VECTOR, COUNT, CONDITION = tensor_type(F32, [4]), tensor_type(I64, []), tensor_type(BOOL, [])
TRUE = number(2, BOOL) + content(8, "t") + content(9, b"\x01")
NO_JUDGE = ["--no-second-judge", "--time-limit", "600"]
NO_TIMES = ["--no-measure", "--threads", "1", *NO_JUDGE]


def loop(operator, trips):
    """y = x + what a Loop makes of x by an operator and 1, so many times."""
    one = tiny_models.tensor("one", [4], [1] * 4)
    body = b"".join(content(1, each) for each in (node(operator, ["v", "one"], ["w"]), node("Identity", ["c"], ["d"])))
    body += content(2, "body") + content(5, one)
    body += b"".join(content(11, tiny_models.value_info(*each)) for each in (("i", COUNT), ("c", CONDITION), ("v", VECTOR)))
    body += b"".join(content(12, tiny_models.value_info(*each)) for each in (("d", CONDITION), ("w", VECTOR)))
    attribute = content(1, "body") + content(6, body) + number(20, 5)
    return tiny_models.model([node("Loop", ["n", "t", "x"], ["l"], attributes=[attribute]), node("Add", ["l", "x"], ["y"])],
                             [("x", VECTOR)], [("y", VECTOR)],
                             initializers=[tiny_models.tensor("n", [], [trips], I64), TRUE])


def branches(then, otherwise):
    attributes = [graph_attribute(f"{name}_branch", [node(operator, ["x"], [name])], [(name, VECTOR)])
                  for name, operator in (("then", then), ("else", otherwise))]
    return tiny_models.model([node("If", ["c"], ["y"], attributes=attributes)], [("x", VECTOR), ("c", CONDITION)],
                             [("y", VECTOR)])


def custom(operator="Mine", value=1, domain="d", operand="x"):
    nodes = [node("Neg", ["x"], ["n"]), node(operator, [operand], ["a"], domain, [integer_attribute("k", value)]),
             node("Add", ["a", "n"], ["y"])]
    return tiny_models.model(nodes, [("x", VECTOR)], [("y", VECTOR)], domains=[domain])


class Faults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-kinds-")
        self.addCleanup(folder.cleanup)
        self.box = sandbox.Sandbox(pathlib.Path(folder.name, "sandbox"))
        self.folder = self.box.work

    def run_lemma(self, *words, **environment):
        return subprocess.run([LEMMA, *map(str, words)], cwd=self.folder, env=self.box.environment(**environment),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=900)

    def succeed(self, *words):
        done = self.run_lemma(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def expect_equal(self, model, result):
        done = self.run_lemma("compare", model, result)
        self.assertEqual(done.returncode, 0, f"{model}, {result}: {done.stdout}{done.stderr}")


class Outputs(Faults):
    def test_a_result_does_not_replace_the_data_of_its_model(self):
        commands.write_model(self.folder / "model.onnx", 0, data="model.data")
        before = (self.folder / "model.data").read_bytes()
        commands.write_model(self.folder / "same.onnx", 0)
        self.run_lemma("simplify", "model.onnx", "-o", "model.opt", *NO_JUDGE)
        self.assertEqual((self.folder / "model.data").read_bytes(), before)
        self.expect_equal("same.onnx", "model.onnx")
        if (self.folder / "model.opt").exists():
            self.expect_equal("same.onnx", "model.opt")

    def test_a_result_does_not_replace_data_of_others(self):
        commands.write_model(self.folder / "model.onnx", 0, data="weights.bin")
        (self.folder / "my.data").write_text("notes")
        self.succeed("simplify", "model.onnx", "-o", "my.onnx", *NO_JUDGE)
        self.assertEqual((self.folder / "my.data").read_text(), "notes")
        self.expect_equal("model.onnx", "my.onnx")

    def test_results_with_one_stem_do_not_share_data(self):
        for seed in (1, 2):
            commands.write_model(self.folder / f"model{seed}.onnx", seed, data=f"weights{seed}.bin")
            self.succeed("simplify", f"model{seed}.onnx", "-o", f"net.v{seed}", *NO_JUDGE)
        for seed in (1, 2):
            self.expect_equal(f"model{seed}.onnx", f"net.v{seed}")

    def test_no_option_replaces_the_model_that_was_given(self):
        commands.write_model(self.folder / "other.onnx", 1)
        for words in ("optimize m.onnx -o o.onnx --no-measure --report m.onnx", "inspect m.onnx --dot m.onnx",
                      "diff m.onnx other.onnx --html m.onnx", "emit m.onnx --plan --timeline m.onnx",
                      "schedule m.onnx --device h100 --timeline m.onnx", "run m.onnx --random 1 --outputs m.onnx",
                      "schedule m.onnx --device cpu --write-kernel-times m.onnx",
                      "profile m.onnx --seconds 0.01 --database p.sqlite --export m.onnx"):
            with self.subTest(words):
                commands.write_model(self.folder / "m.onnx", 0)
                before = (self.folder / "m.onnx").read_bytes()
                done = self.run_lemma(*words.split())
                self.assertEqual((self.folder / "m.onnx").read_bytes(), before)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)

    def test_two_outputs_are_not_one_file(self):
        commands.write_model(self.folder / "m.onnx", 0)
        done = self.run_lemma("optimize", "m.onnx", "-o", "o.onnx", "--report", "./o.onnx", *NO_TIMES)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        self.assertFalse((self.folder / "o.onnx").exists())

    def test_a_picture_beside_its_source_does_not_replace_a_file(self):
        commands.write_model(self.folder / "m.onnx", 0)
        (self.folder / "my.svg").write_text("notes")
        self.run_lemma("inspect", "m.onnx", "--dot", "my.dot")
        self.assertEqual((self.folder / "my.svg").read_text(), "notes")

    def test_models_of_one_call_do_not_get_each_others_weights(self):
        # The data must take long enough to copy that two copies meet.
        size = 1000
        for name, seed in (("a/encoder", 1), ("b/decoder", 2)):
            file = self.folder / f"{name}.onnx"
            file.parent.mkdir()
            (file.parent / "weights.bin").write_bytes(tiny_models.floats(commands.weights(seed, size)) * size)
            file.write_bytes(tiny_models.model(
                [node("MatMul", ["x", "w"], ["y"])], [("x", tensor_type(F32, [1, size]))],
                [("y", tensor_type(F32, [1, size]))],
                initializers=[tiny_models.external_tensor("w", [size, size], "weights.bin")]))
        for _ in range(4):
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            self.succeed("simplify", "a/encoder.onnx", "b/decoder.onnx", "--out-dir", "out", "--jobs", "2", *NO_JUDGE)
            for name in ("a/encoder", "b/decoder"):
                self.expect_equal(f"{name}.onnx", f"out/{pathlib.Path(name).name}.onnx")

    def test_a_database_is_not_damaged_by_another_one(self):
        commands.candidates(self.folder, 0)
        commands.write_model(self.folder / "m.onnx", 0)
        build = ["rules", "build", "--candidates", "candidates.rules", "--rules", "axioms", "-o", "db", "--threads", "1"]
        self.succeed(*build, "--name", "first")
        done = self.run_lemma(*build, "--name", "second")
        self.assertIn(done.returncode, (0, 2), done.stderr)
        self.succeed("rules", "list", "--rules", "db")
        self.succeed("optimize", "m.onnx", "-o", "o.onnx", "--rules", "db", *NO_TIMES)
        self.assertTrue(list((self.folder / "db" / "substitutions").glob("*first*")))


class Equality(Faults):
    def test_what_differs_inside_is_not_equal(self):
        for name, one, other in (
                ("the body of a Loop", loop("Add", 3), loop("Sub", 3)),
                ("a Loop that takes long", loop("Add", 10**12), loop("Sub", 10**12)),
                ("branches", branches("Relu", "Neg"), branches("Neg", "Relu")),
                ("an attribute", custom(), custom(value=2)), ("an operator", custom(), custom("Other")),
                ("a domain", custom(), custom(domain="e")), ("an operand", custom(), custom(operand="n"))):
            with self.subTest(name):
                (self.folder / "one.onnx").write_bytes(one)
                (self.folder / "other.onnx").write_bytes(other)
                done = self.run_lemma("compare", "one.onnx", "other.onnx", "--time-limit", "5")
                self.assertIn(done.returncode, (3, 4), done.stdout + done.stderr)


class Resuming(Faults):
    def test_only_what_was_done_is_taken_for_done(self):
        """Retrained with the same size and time; a result that was cut; another model's result."""
        models = [self.folder / "in" / f"m{i}.onnx" for i in range(5)]
        for seed, model in enumerate(models):
            commands.write_model(model, seed)
            os.utime(model, (10**9, 10**9))
        words = ["optimize", *models, "--out-dir", "out", *NO_TIMES]
        first = subprocess.Popen([LEMMA, *map(str, words)], cwd=self.folder, env=self.box.environment(),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        out = self.folder / "out"
        while first.poll() is None and not (out / "m3.onnx").exists():
            time.sleep(0.01)
        first.send_signal(signal.SIGTERM)
        first.wait()
        commands.write_model(models[0], 9)
        os.utime(models[0], (10**9, 10**9))
        (out / "m1.onnx").write_bytes(b"")
        shutil.copy(models[4], out / "m2.onnx")
        self.succeed(*words, "--resume")
        for model in models:
            self.expect_equal(model, out / model.name)


@tested_programs.long
class Children(Faults):
    """No process of a command is alive after it."""

    def setUp(self):
        super().setUp()
        self.mark = f"LEMMA_TEST_MARK={uuid.uuid4()}"
        (self.folder / "endless.onnx").write_bytes(loop("Add", 10**12))

    def alive(self):
        found = []
        for process in pathlib.Path("/proc").iterdir():
            try:
                if process.name.isdigit() and self.mark.encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                pass
        return found

    def start(self, *words, path=None, **more):
        environment = self.box.environment(**dict([self.mark.split("=")])) | ({"PATH": path} if path else {})
        return subprocess.Popen([LEMMA, *words], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, **more)

    def expect_none_alive(self):
        # 2 s on a machine that does nothing else.
        end = time.monotonic() + 30
        while self.alive() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(self.alive(), [])

    def test_after_a_signal(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                running = self.start("simplify", "endless.onnx", "-o", "out.onnx", "--time-limit", "600",
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(3)
                running.send_signal(number)
                running.wait(timeout=60)
                self.expect_none_alive()

    def test_after_a_limit(self):
        running = self.start("simplify", "endless.onnx", "-o", "out.onnx", "--time-limit", "3",
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        running.wait(timeout=300)
        self.expect_none_alive()

    def test_a_compiler_that_hangs_holds_no_pipe(self):
        binaries = self.folder / "bin"
        binaries.mkdir()
        compiler = binaries / "c++"
        compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && exec /usr/bin/c++ --version\nsleep 3000\n')
        compiler.chmod(0o755)
        commands.write_model(self.folder / "m.onnx", 0)
        running = self.start("run", "m.onnx", "--random", "1", "--engine", "rtask-cpu", path=f"{binaries}:{os.environ['PATH']}",
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        time.sleep(3)
        running.terminate()
        running.communicate(timeout=60)
        self.expect_none_alive()

    def test_a_tool_that_hangs_is_ended(self):
        binaries = self.folder / "bin"
        binaries.mkdir()
        drawing = binaries / "dot"
        drawing.write_text("#!/bin/sh\nsleep 3000\n")
        drawing.chmod(0o755)
        commands.write_model(self.folder / "m.onnx", 0)
        running = self.start("inspect", "m.onnx", "--dot", "m.dot", path=f"{binaries}:{os.environ['PATH']}",
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        error = running.communicate(timeout=600)[1]
        self.assertEqual(running.returncode, 0, error)
        self.assertIn("no svg was drawn: dot does not end within 30 s", error)
        self.assertEqual(sorted(file.name for file in self.folder.glob("m.*")), ["m.dot", "m.onnx"])
        self.expect_none_alive()

    def test_an_ignored_signal_stays_ignored(self):
        models = [f"m{i}.onnx" for i in range(4)]
        for seed, model in enumerate(models):
            commands.write_model(self.folder / model, seed)
        running = self.start("simplify", *models, "--out-dir", "out", *NO_JUDGE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        error = running.communicate(timeout=600)[1]
        self.assertEqual(running.returncode, 0, error)
        self.assertEqual(sorted(os.listdir(self.folder / "out")), models)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
