#!/usr/bin/env python3
"""The harness itself: which calls are counted, what a fault does, and that damage is found. The command is a Python
program here."""

import argparse
import pathlib
import sys
import tempfile
import unittest

import checks
import commands
import sandbox

TRACER = None
# A file in place, a folder, a rename, a removal and a child that writes.
WRITER = """
import os, subprocess, sys
file = os.open("a", os.O_WRONLY | os.O_CREAT); os.write(file, b"1"); os.fsync(file); os.close(file)
os.mkdir("b"); os.rename("a", "b/c"); os.symlink("c", "b/d"); os.unlink("b/d")
subprocess.run(["/bin/sh", "-c", "echo 2 > e"])
os.read(os.open("e", os.O_RDONLY), 1); os.close(os.pipe()[0])
"""
CALLS = ["execve", "openat", "write", "fsync", "mkdir", "rename", "symlink", "unlink", "execve", "openat", "write"]
CAREFUL = """
import os
file = os.open(".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC); os.write(file, open("in", "rb").read()); os.close(file)
os.rename(".new", "out")
"""
CARELESS = """
import sys
with open("out", "wb") as out:
    for byte in open("in", "rb").read():
        out.write(bytes([byte])); out.flush()
"""
SILENT = """
import os
try:
    file = os.open("out", os.O_WRONLY | os.O_CREAT); os.write(file, open("in", "rb").read())
except OSError:
    pass
"""


class Harness(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-harness-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tracer = sandbox.Tracer(TRACER)

    def run_traced(self, program, log=None, **fault):
        self.box = sandbox.Sandbox(self.folder / "sandbox")
        self.box.keep()
        return self.tracer.run(self.box, [sys.executable, "-IS", "-c", program], log=log, **fault)

    def reference(self, program, replaces=False):
        """A command that is the program; `lemma` is Python."""
        script = self.folder / "script.py"
        script.write_text(program)

        def prepare(work, version):
            (work / "in").write_bytes(b"old" if version == 0 else b"new")

        command = commands.Command("program", prepare, f"-IS {script}")
        return checks.Reference(command, self.tracer, sys.executable, self.folder, replaces)

    def test_counts_the_calls_of_all_processes(self):
        log = self.folder / "log"
        ended = self.run_traced(WRITER, log)
        self.assertEqual((ended.exit, ended.points, ended.outlived), (0, len(CALLS), []))
        names = [sandbox.json.loads(line)["call"] for line in log.read_text().splitlines()]
        self.assertEqual(names, CALLS)

    def test_kills_before_the_call(self):
        ended = self.run_traced(WRITER, at=CALLS.index("rename") + 1)
        self.assertEqual((ended.how, ended.struck["call"]), ("signal SIGKILL", "rename"))
        self.assertEqual(sorted(path.name for path in self.box.work.iterdir()), ["a", "b"])

    def test_kills_one_process(self):
        ended = self.run_traced(WRITER.replace("os.read", "0 and os.read"), at=len(CALLS), caller=True)
        self.assertEqual((ended.how, ended.struck["program"]), ("exit 0", "sh"))
        self.assertEqual((self.box.work / "e").read_bytes(), b"")

    def test_a_call_fails(self):
        for kind, call in (("ENOSPC", "write"), ("EIO", "write"), ("EMFILE", "pipe2")):
            log = self.folder / "log"
            self.run_traced(WRITER, log, points=kind)
            at = next(line["at"] for line in map(sandbox.json.loads, log.read_text().splitlines())
                      if line["call"] == call)
            self.box.put_back()
            ended = self.run_traced(WRITER, points=kind, at=at)
            self.assertEqual((ended.exit, ended.struck["call"]), (1, call))
            said = {"ENOSPC": "No space left", "EIO": "Input/output error", "EMFILE": "Too many open files"}
            self.assertIn(said[kind], ended.error)
            self.box.put_back()

    def test_what_outlives_the_command_is_named_and_ended(self):
        ended = self.run_traced('import subprocess; subprocess.Popen(["/bin/sleep", "600"])', linger=0.5)
        self.assertEqual(ended.exit, 0)
        self.assertEqual([words.strip() for words in ended.outlived], ["/bin/sleep 600"])

    def test_a_program_that_has_no_end_is_ended(self):
        self.assertTrue(self.run_traced("while True: pass", limit=0.5).timed_out)

    def test_finds_nothing_where_files_appear_whole(self):
        for replaces in (False, True):
            reference = self.reference(CAREFUL, replaces)
            for at in range(1, reference.points("changes") + 1):
                self.assertEqual([finding.what for finding in reference.kill(at)], [])

    def test_finds_a_file_that_was_cut(self):
        reference = self.reference(CARELESS, replaces=True)
        found = [finding.what for at in range(1, reference.points("changes") + 1) for finding in reference.kill(at)]
        self.assertIn("work/out is neither the old nor the new one", found)

    def test_finds_what_is_left(self):
        reference = self.reference(CAREFUL.replace("'.new'", "'.%d' % os.getpid()").replace(
            '".new"', '".%d" % os.getpid()'))
        found = [finding.what for at in range(1, reference.points("changes") + 1) for finding in reference.kill(at)]
        self.assertTrue(any("after the next run left: work/." in what for what in found), found)

    def test_finds_success_with_damaged_output(self):
        reference = self.reference(SILENT)
        found = [finding.what for at in range(1, reference.points("ENOSPC") + 1)
                 for finding in reference.fail("ENOSPC", at)]
        self.assertTrue(any("exit 0, but" in what for what in found), found)

    def test_finds_an_end_without_a_word(self):
        reference = self.reference(SILENT.replace("pass", "raise SystemExit(2)"))
        found = [finding.what for finding in reference.fail("ENOSPC", 1)]
        self.assertEqual(found, ["exit 2 and no word"])

    def test_samples_are_spread(self):
        self.assertEqual(checks.sampled(3, 5), [1, 2, 3])
        self.assertEqual(checks.sampled(101, 3), [1, 51, 101])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracer", help="the built fault_tracer")
    options, rest = parser.parse_known_args()
    TRACER = options.tracer
    try:
        if TRACER is None:
            raise sandbox.CannotTrace("there is no fault_tracer for this processor")
        with tempfile.TemporaryDirectory() as scratch:
            sandbox.Tracer(TRACER).run(sandbox.Sandbox(pathlib.Path(scratch, "sandbox")), ["/bin/true"])
    except sandbox.CannotTrace as reason:
        print(reason)
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
