#!/usr/bin/env python3
"""scripts/cuda_check: prepares small models with the host header in place of nvcc, and runs the whole book on what it built,
with a driver that says there is a device. What needs other runtimes is skipped, and said to be."""

import argparse
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter_or_skip()

import cuda_models
import host_nvcc
import host_program
import tested_programs

LEMMA = None
SCRIPT = ROOT / "scripts" / "cuda_check"
PARTS = ROOT / "backend_cuda" / "emit_cuda" / "parts"


class Book(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory(prefix="lemma-book-")
        cls.folder = pathlib.Path(cls.made.name)
        cls.toolkit = host_nvcc.HostToolkit(cls.folder)
        cls.models = []
        for name in ("softmax", "convolution"):
            cls.models.append(cls.folder / f"{name}.onnx")
            cls.models[-1].write_bytes(cuda_models.SAMPLES[name]())
        cls.book = cls.folder / "book"
        cls.prepared = cls.prepare(cls.book, *cls.models)

    @classmethod
    def tearDownClass(cls):
        cls.made.cleanup()

    @classmethod
    def prepare(cls, book, *words):
        return subprocess.run([sys.executable, SCRIPT, "--prepare", book, "--lemma", LEMMA, "--nvcc", cls.toolkit.nvcc, "--device",
                               host_program.HOST_CUDA / "device.json", "--block-threads", "64", "--variant", "ours", "--variant",
                               "no-fusion", "--variant", "calls", *map(str, words)], capture_output=True, text=True, timeout=500)

    def run_book(self, book, *words, device=True):
        """Where only the directory is: with the script in it."""
        given = dict(os.environ, PATH="/usr/bin:/bin", LEMMA="")
        given.update(self.toolkit.driver_environment() if device else {})
        return subprocess.run([sys.executable, book / "run.py", "--runs", "3", *map(str, words)], capture_output=True, text=True,
                              timeout=500, env=given)

    def copy_of_book(self, name):
        copied = self.folder / name
        shutil.copytree(self.book, copied, ignore=shutil.ignore_patterns("results"))
        return copied

    def test_the_directory_has_all_that_is_carried(self):
        self.assertEqual(self.prepared.returncode, 0, self.prepared.stdout + self.prepared.stderr)
        contents = json.loads((self.book / "book.json").read_text())
        self.assertEqual([each["model"] for each in contents["models"]], ["softmax", "convolution"])
        for each in contents["models"]:
            self.assertEqual(set(each["predicted"]), set("abcd"))
            # There is no call for softmax.
            has_calls = each["model"] == "convolution"
            self.assertEqual(each["variants"], ["ours", "no-fusion", *(["calls"] if has_calls else [])])
            self.assertEqual(each["without"], {} if has_calls else {"calls": "no call of a library pays"})
            for variant in each["variants"]:
                files = {file.name for file in (self.book / "models" / each["model"] / variant).iterdir()}
                self.assertLessEqual(files - {"weights.bin.xz"}, {"programs.tar.xz"})
            shared = {file.name for file in (self.book / "models" / each["model"]).iterdir() if file.is_file()}
            self.assertLessEqual({"weights.bin.xz", "selfcheck.bin.xz"}, shared)
        # What is there is kept.
        programs = [call for call in self.toolkit.calls() if "program" in call]
        self.assertEqual(self.prepare(self.book, *self.models).returncode, 0)
        self.assertEqual([call for call in self.toolkit.calls() if "program" in call], programs)

    def test_the_whole_book_on_the_host(self):
        book = self.copy_of_book("whole")
        done = self.run_book(book)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        results = json.loads((book / "results" / "results.json").read_text())
        functions = re.findall(r"^__device__ inline .*?(\w+)\(", (PARTS / "ptx.cuh.in").read_text(), re.MULTILINE)
        self.assertEqual(sorted(results["steps"]["ptx"]["functions"]), sorted([*functions, "store_addresses"]))
        for model in ("softmax", "convolution"):
            for variant in ("ours", "no-fusion", *(["calls"] if model == "convolution" else [])):
                self.assertEqual(results["steps"][f"correctness-{model}-{variant}"], {"status": "done"})
                seconds = results["steps"][f"latency-{model}-{variant}"]["seconds"]
                self.assertTrue(0 < seconds["least"] <= seconds["p50"] <= seconds["p99"])
            self.assertEqual(results["steps"][f"runtime-{model}-tensorrt"],
                             {"status": "skipped", "reason": "trtexec of TensorRT is not installed"})
            # There is no host header for all that the baseline calls.
            self.assertEqual(results["steps"][f"baseline-{model}-graph"]["status"], "skipped")
            self.assertEqual(results["steps"][f"profile-{model}"]["status"], "skipped")
        table = (book / "results" / "table.txt").read_text().splitlines()
        self.assertEqual([line.split()[0] for line in table], ["model", "softmax", "convolution"])
        self.assertTrue(all(line.endswith("yes") for line in table[1:]), table)
        # A second call runs no step that has a result.
        before = {file: file.stat().st_mtime_ns for file in (book / "results").glob("correctness-*.json")}
        self.assertEqual(self.run_book(book).returncode, 0)
        self.assertEqual(before, {file: file.stat().st_mtime_ns for file in before})

    @unittest.skipUnless(shutil.which("nvcc"), "there is no nvcc")
    def test_the_baseline_builds_with_the_libraries(self):
        if not (pathlib.Path(shutil.which("nvcc")).resolve().parents[1] / "include" / "cudnn.h").exists():
            self.skipTest("cuDNN is not in the toolkit's folder")
        sys.path.insert(0, str(ROOT / "scripts" / "cuda_book"))
        import prepare
        options = argparse.Namespace(nvcc=shutil.which("nvcc"), arch="sm_90")
        self.assertIsNone(prepare.build_baseline(options, self.folder / "baseline"))
        program = self.folder / "baseline" / "program"
        program.write_bytes(lzma.open(self.folder / "baseline" / "baseline.xz").read())
        program.chmod(0o755)
        calls = self.folder / "calls"
        calls.write_text("copy 64\n")
        if not shutil.which("nvidia-smi"):
            done = subprocess.run([program, calls, "graph"], capture_output=True, text=True)
            self.assertIn((done.returncode, done.stdout), ((77, "no CUDA device was found\n"), (127, "")))

    def test_wrong_results_are_found(self):
        book = self.copy_of_book("wrong")
        results = book / "results" / "unpacked" / "models" / "softmax" / "ours"
        results.mkdir(parents=True)
        recorded = bytearray(lzma.open(book / "models" / "softmax" / "selfcheck.bin.xz").read())
        recorded[-2] ^= 0x40  # the exponent of the last output
        (results / "selfcheck.bin").write_bytes(recorded)
        done = self.run_book(book)
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("WRONG    correctness-softmax-ours", done.stdout)

    def test_without_time_steps_are_left(self):
        book = self.copy_of_book("hurry")
        done = self.run_book(book, "--seconds", "0")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("no time  ptx", done.stdout)
        self.assertEqual(self.run_book(book).returncode, 0)

    @unittest.skipIf(shutil.which("nvidia-smi"), "there is a device")
    def test_without_a_device_one_line_says_what_was_not_run(self):
        done = self.run_book(self.book, device=False)
        self.assertEqual(done.returncode, 77)
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))
        self.assertIn("nothing was run, 23 steps of 2 models are left", done.stderr)

    def test_another_architecture_is_refused(self):
        book = self.copy_of_book("other")
        contents = json.loads((book / "book.json").read_text())
        (book / "book.json").write_text(json.dumps({**contents, "arch": "sm_80"}))
        done = self.run_book(book)
        self.assertEqual(done.returncode, 77)
        self.assertIn("the programs are for sm_80, the device is sm_90", done.stderr)

    def test_a_directory_that_is_too_large_is_refused(self):
        done = self.prepare(self.folder / "small", self.models[0], "--most-megabytes", "0.001")
        self.assertEqual(done.returncode, 4)
        self.assertIn("more than 0.001 MB", done.stderr)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
