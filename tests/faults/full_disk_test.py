#!/usr/bin/env python3
"""Disks that are full, of several sizes: for results, for temporary files, and for what is kept for later.

Each command runs with a small file system in memory in place of one folder, in a name space of its own. Without the
right to make one (root, or user name spaces) the test is skipped.

A command may end well, with a right result, or say what is wrong in a line and leave nothing on the disk that was not
there before. It is never a fault of the program.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import commands
import sandbox
import tested_programs

LEMMA = None
NO_JUDGE = ["--no-second-judge", "--time-limit", "600"]
NO_TIMES = ["--no-measure", "--threads", "1", *NO_JUDGE]
SIZES = ("4k", "32k", "200k", "600k")
# Runs the words after it with a disk of the size $2 at $1, and lists in $3 what is there afterwards.
ON_SMALL_DISK = """
disk=$1 size=$2 listing=$3
shift 3
mount -t tmpfs -o "size=$size" tmpfs "$disk" || exit 99
"$@"
code=$?
find "$disk" -mindepth 1 > "$listing"
[ -z "$KEPT" ] || cp -r "$disk/." "$KEPT"
exit $code
"""


def name_space():
    """The words that give a command a name space in which it may mount; none if there is no such right."""
    for words in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        with tempfile.TemporaryDirectory() as folder:
            try:
                done = subprocess.run([*words, "mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True)
            except FileNotFoundError:
                return None
            if done.returncode == 0:
                return words
    return None


class FullDisk(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-full-")
        self.addCleanup(folder.cleanup)
        self.box = sandbox.Sandbox(pathlib.Path(folder.name, "sandbox"))
        self.work = self.box.work
        self.disk = self.box.root / "disk"
        self.disk.mkdir()
        self.kept = pathlib.Path(folder.name, "kept")
        commands.write_model(self.work / "model.onnx", 0, size=300)  # 360 kB

    def run_on(self, size, *words, **environment):
        """How it ended, what it said, and the files that are on the disk then, which are copied to self.kept."""
        shutil.rmtree(self.kept, ignore_errors=True)
        self.kept.mkdir()
        listing = self.box.root.with_name("listing")
        done = subprocess.run([*NAME_SPACE, "sh", "-c", ON_SMALL_DISK, "sh", self.disk, size, listing, LEMMA,
                               *map(str, words)], cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=1800, env=self.box.environment(KEPT=str(self.kept), **environment))
        self.assertNotEqual(done.returncode, 99, done.stderr)
        return done, sorted(str(pathlib.Path(line).relative_to(self.disk)) for line in listing.read_text().splitlines())

    def check(self, done):
        """Whether it ended well; if not, it said why."""
        self.assertIn(done.returncode, (0, 2, 3), done.stdout + done.stderr)
        self.assertNotIn("internal", done.stderr)
        if done.returncode != 0:
            self.assertTrue(done.stderr.strip())
        return done.returncode == 0

    def check_equal(self, result):
        done = subprocess.run([LEMMA, "compare", "model.onnx", result], cwd=self.work, env=self.box.environment(),
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def each_size(self, *words, sizes=SIZES, **environment):
        for size in sizes:
            done, left = self.run_on(size, *words, **environment)
            yield self.check(done), done, left

    def test_results(self):
        for verb in (["simplify", *NO_JUDGE], ["optimize", *NO_TIMES]):
            for more in ([], ["--external-data"] if verb[0] == "optimize" else []):
                for is_good, done, left in self.each_size(*verb, "model.onnx", "-o", self.disk / "out.onnx", *more):
                    if is_good:
                        self.check_equal(self.kept / "out.onnx")
                    else:
                        self.assertIn("No space left", done.stderr)
                        self.assertEqual(left, [])

    def test_results_of_a_batch(self):
        commands.write_model(self.work / "small.onnx", 1)
        for is_good, done, left in self.each_size("optimize", "model.onnx", "small.onnx", "--out-dir", self.disk, *NO_TIMES):
            self.assertEqual(is_good, "model.onnx" in left and "small.onnx" in left)
            self.assertLessEqual(set(left), {"model.onnx", "small.onnx"})
            if "model.onnx" in left:
                self.check_equal(self.kept / "model.onnx")

    def test_reports_and_pictures(self):
        for words in (["optimize", "model.onnx", "-o", self.work / "out.onnx", "--report", self.disk / "report.html", *NO_TIMES],
                      ["emit", "model.onnx", "--plan", "--timeline", self.disk / "timeline.svg"],
                      ["run", "model.onnx", "--random", "1", "--outputs", self.disk / "out"]):
            for is_good, done, left in self.each_size(*words, sizes=("4k",)):
                if not is_good:
                    self.assertLessEqual(set(left), {"out"})

    def test_emitted_programs(self):
        for is_good, done, left in self.each_size("emit", "model.onnx", "-o", self.disk / "program", "--threads", "1"):
            if is_good:
                self.assertIn("program/weights.bin", left)
            else:
                self.assertEqual(left, [])

    def test_rules(self):
        commands.candidates(self.work, 1)
        words = ["rules", "build", "--candidates", "candidates.rules", "--rules", "axioms", "--name", "mine", "--threads", "1"]
        for is_good, done, left in self.each_size(*words, "-o", self.disk / "built", "--work", self.work / "w"):
            self.assertEqual(is_good, "built/substitutions" in left, left)
        for is_good, done, left in self.each_size(*words, "-o", self.work / "built", "--work", self.disk / "w"):
            self.assertEqual(is_good, (self.work / "built" / "substitutions").exists())
            shutil.rmtree(self.work / "built", ignore_errors=True)

    @tested_programs.long
    def test_times(self):
        """Without a place to keep times in nothing is measured, or it is told."""
        words = ["profile", "model.onnx", "--target", "rtask-cpu", "--seconds", "0.01", "--threads", "1"]
        if not shutil.which("c++"):
            self.skipTest("there is no compiler")
        for is_good, done, left in self.each_size(*words, "--database", self.disk / "times.sqlite"):
            # What SQLite could not take into the database is beside it, and is taken in by whoever opens it next.
            self.assertLessEqual(set(left), {"times.sqlite", "times.sqlite-wal", "times.sqlite-shm"})

    def test_temporary_files(self):
        for verb in (["simplify", "model.onnx", "-o", "out.onnx", "--time-limit", "600"],
                     ["optimize", "model.onnx", "-o", "out.onnx", "--no-measure", "--threads", "1", "--time-limit", "600"],
                     ["emit", "model.onnx", "-o", "program", "--replace", "--threads", "1"],
                     ["inspect", "model.onnx", "--dot", "picture.dot"]):
            for is_good, done, left in self.each_size(*verb, sizes=("4k", "200k"), TMPDIR=str(self.disk)):
                self.assertEqual([name for name in left if not name.startswith(".ses")], [])
                if "out.onnx" in verb:
                    self.check_equal("out.onnx")

    def test_compiled_programs(self):
        if not shutil.which("c++"):
            self.skipTest("there is no compiler")
        words = ["run", "model.onnx", "--random", "1", "--engine", "rtask-cpu", "--threads", "1"]
        for is_good, done, left in self.each_size(*words, LEMMA_CACHE=str(self.disk)):
            unfinished = [name for name in left if "/.lemma-" in f"/{name}" and not name.endswith("/.lemma-files")]
            self.assertEqual(unfinished, [])


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    NAME_SPACE = name_space()
    if NAME_SPACE is None:
        print("no file system can be mounted here")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
