#!/usr/bin/env python3
"""lemma optimize --resume: what an ended run has written is left as it is, if nothing that it depends on has changed."""

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
MODELS = 9
DONE = 5  # at least, when a run is ended


class Resume(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-resume-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.models = [self.write(i, i) for i in range(MODELS)]

    # ---- Helpers

    def write(self, name, value):
        """x + w + w, with w in a file of its own; models of all values have the same size."""
        data = self.folder / f"{name}.bin"
        data.write_bytes(tiny_models.floats([value, 1, 2, 3]))
        file = self.folder / f"{name}.onnx"
        file.write_bytes(tiny_models.model(
            [node("Add", ["x", "w"], ["s"]), node("Add", ["s", "w"], ["y"])], [("x", tensor_type(F32, [4]))],
            [("y", tensor_type(F32, [4]))], initializers=[tiny_models.external_tensor("w", [4], data.name)]))
        for each in (data, file):
            os.utime(each, (1, 1))
        return file

    def call(self, *words, models=None):
        return list(map(str, [LEMMA, "optimize", *(models or self.models), "--out-dir", self.out, "--json",
                              "--strategy", "none", "--no-measure", "--no-second-judge", *words]))

    def journals(self):
        return sorted(self.out.glob(".lemma-optimize*")) if self.out.exists() else []

    def entries(self):
        """The number of complete lines of all journals after their first ones."""
        return sum(max(0, file.read_bytes().count(b"\n") - 1) for file in self.journals())

    def start(self, *words):
        """A run that has done some models, and not all."""
        while True:
            running = subprocess.Popen(self.call(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while self.entries() < DONE and running.poll() is None:
                time.sleep(0.001)
            running.send_signal(signal.SIGSTOP)
            if DONE <= self.entries() < MODELS:
                return running
            self.end(running)  # it was faster than this process
            shutil.rmtree(self.out, ignore_errors=True)

    def end(self, running, number=signal.SIGKILL):
        running.send_signal(number)
        running.send_signal(signal.SIGCONT)
        return running.communicate(timeout=120)[0]

    def interrupted(self, *words):
        self.end(self.start(*words))
        return self.entries()

    def resume(self, *words, code=0):
        done = subprocess.run(self.call("--resume", *words), capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def again(self, done):
        """By name, why models were done again."""
        prefix, middle = "lemma: ", ": done again: "
        lines = [line for line in done.stderr.splitlines() if middle in line]
        return {pathlib.Path(line[len(prefix):].split(middle)[0]).stem: line.split(middle)[1] for line in lines}

    def times(self):
        return {file.name: file.stat().st_mtime_ns for file in self.out.glob("*.onnx")}

    # ---- Tests

    def test_a_run_that_was_ended_goes_on(self):
        for number in (signal.SIGKILL, signal.SIGINT):
            with self.subTest(signal=number):
                shutil.rmtree(self.out, ignore_errors=True)
                output = self.end(self.start(), number)
                if number == signal.SIGINT:
                    statuses = [each["status"] for each in json.loads(output)["models"]]
                    self.assertEqual(statuses.count("interrupted"), MODELS - self.entries())
                done, before = self.entries(), self.times()
                again = self.resume()
                self.assertEqual(self.again(again), {})
                self.assertEqual(len(json.loads(again.stdout)["models"]), MODELS)
                after = self.times()
                self.assertEqual(len(after), MODELS)
                self.assertGreaterEqual(sum(after[name] == time for name, time in before.items()), done)
                self.assertEqual(self.journals(), [])

    def test_what_has_changed_is_done_again(self):
        self.interrupted()
        expected = self.out / "4.onnx"
        kept = expected.stat().st_mtime_ns
        # Retrained, with the size and the time of before: the data, and the file itself.
        self.write(0, 100)
        renamed = self.models[1].read_bytes().replace(b"\x0a\x01x", b"\x0a\x01q")
        self.models[1].write_bytes(renamed)
        os.utime(self.models[1], (1, 1))
        (self.out / "2.onnx").write_bytes(b"")
        shutil.copy(self.out / "4.onnx", self.out / "3.onnx")
        done = self.resume()
        self.assertEqual(self.again(done), {"0": "the model has changed", "1": "the model has changed",
                                            "2": "what was written has changed", "3": "what was written has changed"})
        self.assertEqual(expected.stat().st_mtime_ns, kept)
        for model in self.models:
            compared = subprocess.run([LEMMA, "compare", model, self.out / model.name], capture_output=True, text=True)
            self.assertEqual(compared.returncode, 0, compared.stdout + compared.stderr)

    def test_a_task_program_counts_as_far_as_it_was_written(self):
        """What the user puts beside its files is no change of it."""
        words = ("--target", "rtask-cpu", "--threads", "1")
        self.interrupted(*words)
        program = self.out / "1.rtask"
        (program / "build").mkdir()
        (program / "build" / "mine").write_text("")
        with (self.out / "2.rtask" / "README.md").open("a") as readme:
            readme.write("changed")
        self.assertEqual(self.again(self.resume(*words)), {"2": "what was written has changed"})
        self.assertTrue((program / "build" / "mine").exists())
        self.assertNotIn("changed", (self.out / "2.rtask" / "README.md").read_text()[-7:])

    def test_options_rules_and_devices_count(self):
        share = pathlib.Path(LEMMA).resolve().parent.parent / "share" / "lemma"
        rules, device = self.folder / "rules", self.folder / "device.json"
        shutil.copytree(share / "rules", rules)
        shutil.copy(share / "devices" / "cpu.json", device)
        words = ("--rules", rules, "--device", device)
        cases = {  # by the reason: a file that changes, and more words
            "the options differ": (None, ("--check", 7)),
            "the rules have changed": (rules / "substitutions" / "more.txt", ()),
            "the device differs": (device, ()),
        }
        for why, (file, more) in cases.items():
            with self.subTest(why=why):
                shutil.rmtree(self.out, ignore_errors=True)
                self.interrupted(*words)
                if file:
                    file.write_text((file.read_text() if file.exists() else "") + "\n")
                reasons = self.again(self.resume(*words, *more))
                self.assertGreaterEqual(len(reasons), DONE)
                self.assertEqual(set(reasons.values()), {why})

    def test_runs_with_one_folder_keep_their_journals_apart(self):
        running = self.start()
        other = self.write("other", 7)
        done = subprocess.run(self.call(models=[other]), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.journals()), 1)  # of the run that goes on
        entries, before = self.entries(), self.times()
        self.assertEqual(self.again(self.resume()), {})  # which is believed as well
        after = self.times()
        self.assertGreaterEqual(sum(after[name] == time for name, time in before.items()), entries)
        self.assertEqual((len(self.journals()), self.entries()), (1, entries))
        self.end(running)
        self.resume()
        self.assertEqual(self.journals(), [])

    def test_a_journal_that_is_cut_is_read_as_far_as_it_is_whole(self):
        entries = self.interrupted()
        journal, = self.journals()
        journal.write_bytes(journal.read_bytes()[:-10])
        before = self.times()
        self.resume()
        after = self.times()
        self.assertGreaterEqual(sum(after[name] == time for name, time in before.items()), entries - 1)
        self.assertEqual(self.journals(), [])


if __name__ == "__main__":
    LEMMA, arguments = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *arguments])
