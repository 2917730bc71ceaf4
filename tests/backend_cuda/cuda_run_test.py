#!/usr/bin/env python3
"""lemma run --engine rtask-cuda: what it says without a toolkit and without a device, that it builds once and keeps the
program, and, with the host header in place of nvcc and a driver of its own, that results are those of the interpreter."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import cuda_models
import host_nvcc
import host_program
import tested_programs

LEMMA = None
NO_DEVICE = 6


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-cuda-run-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "lstm.onnx"
        self.model.write_bytes(cuda_models.SAMPLES["lstm"]())
        self.environment = dict(os.environ, LEMMA_CACHE=str(self.folder / "cache"))

    def run_it(self, *words, **environment):
        return subprocess.run([LEMMA, "run", self.model, "--random", "5", *map(str, words)], capture_output=True, text=True,
                              timeout=300, env={**self.environment, **environment})

    def one_line(self, done, code, part):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(part, done.stderr)
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)


class Run(Base):
    def test_without_a_toolkit_it_says_so(self):
        self.one_line(self.run_it("--engine", "rtask-cuda", "--arch", "sm_90", CUDACXX="/no/nvcc"), 3,
                      "the CUDA compiler /no/nvcc cannot be run; set CUDACXX")
        empty = self.folder / "empty"
        empty.mkdir()
        self.one_line(self.run_it("--engine", "rtask-cuda", "--arch", "sm_90", CUDACXX="", CUDA_HOME="", PATH=str(empty)), 3,
                      "there is no CUDA toolkit")

    def test_options_for_other_engines_are_refused(self):
        self.one_line(self.run_it("--arch", "sm_90"), 2, "--arch is for --engine rtask-cuda")
        self.one_line(self.run_it("--engine", "rtask-cpu", "--tf32"), 2, "--tf32 is for --engine rtask-cuda")
        self.one_line(self.run_it("--engine", "rtask-cuda", "--arch", "sm_75", "--tf32"), 2, "have no products of TF32")

    @unittest.skipIf(shutil.which("nvidia-smi"), "there is a device")
    def test_without_a_device_it_says_so(self):
        self.one_line(self.run_it("--engine", "rtask-cuda"), NO_DEVICE, "no CUDA device was found")

    @unittest.skipUnless(shutil.which("nvcc") and not shutil.which("nvidia-smi"), "needs nvcc, and no device")
    def test_nvcc_builds_it_once(self):
        built = []
        for _ in range(2):
            done = self.run_it("--engine", "rtask-cuda", "--arch", "sm_90", "--device", host_program.HOST_CUDA / "device.json")
            self.one_line(done, NO_DEVICE, "no CUDA device was found; the program is built in")
            built.append([(file, file.stat().st_mtime_ns) for file in self.folder.glob("cache/cuda_programs/*/runner")])
        self.assertEqual(len(built[0]), 1)
        self.assertEqual(built[0], built[1])


@unittest.skipIf(host_program.compiler() is None, "there is no C++ compiler")
class RunOnTheHost(Base):
    def setUp(self):
        super().setUp()
        self.toolkit = host_nvcc.HostToolkit(self.folder)
        self.environment["CUDACXX"] = str(self.toolkit.nvcc)

    def test_results_are_those_of_the_interpreter(self):
        expected = self.folder / "expected"
        self.assertEqual(self.run_it("--outputs", expected).returncode, 0)
        words = ("--engine", "rtask-cuda", "--device", host_program.HOST_CUDA / "device.json", "--compare", expected, "--rtol",
                 "1e-4", "--atol", "1e-5")
        for _ in range(2):
            done = self.run_it("--arch", "sm_80", *words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("yes", done.stdout)
        lines = self.toolkit.calls()
        self.assertEqual(len(lines), 1)
        self.assertIn("-arch=sm_80", lines[0])
        # Another input gives other results.
        done = subprocess.run([LEMMA, "run", self.model, "--random", "6", "--arch", "sm_80", *map(str, words)],
                              capture_output=True, text=True, timeout=300, env=self.environment)
        self.assertEqual(done.returncode, 4, done.stderr)

    def test_the_device_that_is_here_decides(self):
        done = self.run_it("--engine", "rtask-cuda", **self.toolkit.driver_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("-arch=sm_90", self.toolkit.calls()[0])
        schedule = next(self.folder.glob("cache/cuda_programs/*/schedule.cuh")).read_text()
        self.assertIn(f"unit_count = {host_nvcc.MULTIPROCESSORS},", schedule)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
