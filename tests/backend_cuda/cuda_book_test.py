#!/usr/bin/env python3
"""cuda_book/cuda_check: prepares small models with the host header in place of nvcc, and runs the whole book on what it built,
with a driver that says there is a device. What needs other runtimes is skipped, and said to be."""

import argparse
import fcntl
import json
import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
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
SCRIPT = ROOT / "cuda_book" / "cuda_check"
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
        # Two calls at the same time, which share all but one model.
        other = cls.start_preparing(cls.book, cls.models[1])
        cls.prepared = cls.prepare(cls.book, *cls.models)
        cls.prepared_beside = other.communicate(timeout=500) + (other.returncode,)

    @classmethod
    def tearDownClass(cls):
        cls.made.cleanup()

    @classmethod
    def start_preparing(cls, book, *words):
        """In the folder of the directory, which is named as from there."""
        return subprocess.Popen([sys.executable, SCRIPT, "--prepare", book.name, "--lemma", LEMMA, "--nvcc", cls.toolkit.nvcc, "--device",
                                 host_program.HOST_CUDA / "device.json", "--block-threads", "64", "--variant", "ours", "--variant",
                                 "no-fusion", "--variant", "calls", *map(str, words)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, cwd=book.parent)

    @classmethod
    def prepare(cls, book, *words):
        process = cls.start_preparing(book, *words)
        output, errors = process.communicate(timeout=500)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def run_book(self, book, *words, device=True, **environment):
        """Where only the directory is: with the script in it."""
        given = dict(os.environ, PATH="/usr/bin:/bin", LEMMA="", HOST_CUDA_PROCESSORS="4")
        given.update(self.toolkit.driver_environment() if device else {})
        given.update({name: str(value) for name, value in environment.items()})
        return subprocess.run([sys.executable, book / "run.py", "--runs", "3", "--copied-megabytes", "1", "--rounds", "20", *map(str, words)], capture_output=True, text=True,
                              timeout=500, env=given)

    def copy_of_book(self, name):
        copied = self.folder / name
        shutil.copytree(self.book, copied, ignore=shutil.ignore_patterns("results"))
        return copied

    def test_the_directory_has_all_that_is_carried(self):
        self.assertEqual(self.prepared.returncode, 0, self.prepared.stdout + self.prepared.stderr)
        contents = json.loads((self.book / "book.json").read_text())
        self.assertEqual([each["model"] for each in contents["models"]], ["convolution", "softmax"])
        for each in contents["models"]:
            self.assertEqual(set(each["predicted"]), set("abcd"))
            # There is no call for softmax.
            has_calls = each["model"] == "convolution"
            self.assertEqual(each["variants"], ["ours", "no-fusion", *(["calls"] if has_calls else [])])
            self.assertEqual(each["without"], {} if has_calls else {"calls": "no call of a library pays"})
            folder = self.book / "models" / each["model"]
            self.assertLessEqual({"weights.bin.xz", "model.onnx.xz", "files.tar.xz"}, {file.name for file in folder.iterdir()})
            self.assertLessEqual({"selfcheck.bin", "calls.txt", *(f"{variant}/program" for variant in each["variants"])},
                                 set(self.packed(each["model"])))
        # What is there is kept.
        programs = [call for call in self.toolkit.calls() if "program" in call]
        self.assertEqual(self.prepare(self.book, *self.models).returncode, 0)
        self.assertEqual([call for call in self.toolkit.calls() if "program" in call], programs)

    def packed(self, model):
        """What is in the archive of a model, by name."""
        with tarfile.open(self.book / "models" / model / "files.tar.xz") as files:
            return {member.name: files.extractfile(member).read() for member in files}

    def test_calls_at_the_same_time_leave_one_directory(self):
        output, errors, code = self.prepared_beside
        self.assertEqual((code, errors), (0, ""), output)
        self.assertIn("prepared  convolution", output)
        self.assertEqual([each.name for each in self.book.iterdir() if "nfinished" in each.name or "partial" in each.name], [])
        # A call that was killed leaves a folder, which the next one removes, unless its owner still runs.
        left, held = self.book / ".unfinished-left", self.book / ".unfinished-held"
        for folder in (left, held):
            folder.mkdir()
        with (held / ".lock").open("w") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX)
            self.assertEqual(self.prepare(self.book, *self.models).returncode, 0)
        self.assertEqual((left.exists(), held.exists()), (False, True))
        shutil.rmtree(held)

    def test_a_directory_for_something_else_is_refused(self):
        before = (self.book / "book.json").read_bytes()
        done = self.prepare(self.book, self.models[0], "--seed", "1")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"{self.book}: it is prepared with seed 0, not 1\n"))
        self.assertEqual((self.book / "book.json").read_bytes(), before)

    def test_a_large_input_repeats_some_random_elements(self):
        elements = struct.unpack("<728f", self.packed("convolution")["selfcheck.bin"][:728 * 4])
        self.assertEqual(len(set(elements[:61])), 61)
        self.assertEqual(elements, (elements[:61] * 12)[:728])

    def test_what_there_may_be_no_time_for_comes_last(self):
        contents = json.loads((self.book / "book.json").read_text())
        sys.path.insert(0, str(ROOT / "cuda_book"))
        import steps
        names = [name for name, _ in steps.steps_of(contents)]
        both = ("convolution", "softmax")
        others = ("convolution-no-fusion", "convolution-calls", "softmax-no-fusion")
        self.assertEqual(names, [
            "ptx", "costs", *(f"correctness-{model}-ours" for model in both), *(f"sanitizer-{model}" for model in both),
            *(f"latency-{model}-ours" for model in both),
            *(f"baseline-{model}-{way}" for way in ("stream", "graph") for model in both),
            *(f"correctness-{other}" for other in others), *(f"latency-{other}" for other in others),
            *(f"runtime-{model}-{name}" for name in ("onnxruntime", "torch", "tensorrt", "xla") for model in both),
            *(f"profile-{model}" for model in both), *(f"counters-{model}" for model in both)])

    def test_without_what_unpacks_one_line_says_so(self):
        code = f"import runpy, sys; sys.modules['_lzma'] = None; sys.path.insert(0, {str(self.book)!r}); " \
               f"runpy.run_path({str(self.book / 'run.py')!r}, run_name='__main__')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        self.assertIn("has no module _lzma, which unpacks the programs: nothing was run", done.stderr)

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
        self.check_costs(book, results["steps"]["costs"])
        lines = [json.loads(line) for line in (book / "results" / "steps.jsonl").read_text().splitlines()]
        self.assertEqual([line["step"] for line in lines], list(results["steps"]))
        self.assertEqual({line["step"]: line["status"] for line in lines},
                         {name: result["status"] for name, result in results["steps"].items()})
        table = (book / "results" / "table.txt").read_text().splitlines()
        self.assertEqual([line.split()[0] for line in table], ["model", "convolution", "softmax"])
        self.assertTrue(all(line.endswith("yes") for line in table[1:]), table)
        # A second call runs no step that has a result.
        before = {file: file.stat().st_mtime_ns for file in (book / "results").glob("correctness-*.json")}
        self.assertEqual(self.run_book(book).returncode, 0)
        self.assertEqual(before, {file: file.stat().st_mtime_ns for file in before})

    def check_costs(self, book, result):
        """Measured costs are in the description, which schedules can be made for; the rest of it stays."""
        self.assertEqual(set(result["costs"]), {"launch", "cooperative_launch", "hop", "line", "meeting", "step"})
        self.assertTrue(all(seconds > 0 for seconds in result["costs"].values()), result)
        self.assertEqual({(copy["place"], copy["bytes_of_a_load"], copy["threads"]) for copy in result["copies"]},
                         {(place, width, threads) for place in ("memory", "cache") for width in (4, 16) for threads in (128, 256, 512, 1024)})
        written = json.loads((book / "results" / "device.json").read_text())
        carried = json.loads((book / "device.json").read_text())
        self.assertEqual(written["seconds_per_event"], result["costs"]["hop"])
        best = max(copy["bytes_per_second"] for copy in result["copies"] if copy["place"] == "memory")
        self.assertAlmostEqual(written["seconds_per_weight_byte"], carried["units"] / best)
        self.assertEqual({key: written[key] for key in ("units", "shared_bytes_per_unit", "least_task_seconds", "seconds_per_operation")},
                         {key: carried[key] for key in ("units", "shared_bytes_per_unit", "least_task_seconds", "seconds_per_operation")})
        done = subprocess.run([LEMMA, "emit", self.models[0], "--target", "cuda", "--plan", "--device", book / "results" / "device.json"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which("nvcc"), "there is no nvcc")
    def test_the_baseline_builds_with_the_libraries(self):
        if not (pathlib.Path(shutil.which("nvcc")).resolve().parents[1] / "include" / "cudnn.h").exists():
            self.skipTest("cuDNN is not in the toolkit's folder")
        sys.path.insert(0, str(ROOT / "cuda_book"))
        import prepare
        options = argparse.Namespace(nvcc=shutil.which("nvcc"), arch="sm_90")
        folder, scratch = self.folder / "baseline", self.folder / "baseline-scratch"
        folder.mkdir()
        scratch.mkdir()
        self.assertIsNone(prepare.build_baseline(options, folder, scratch))
        program = folder / "program"
        program.write_bytes(lzma.open(folder / "baseline.xz").read())
        program.chmod(0o755)
        calls = self.folder / "calls"
        calls.write_text("copy 64\n")
        if not shutil.which("nvidia-smi"):
            # Without the libraries that are carried, the linker may find none of CUDA's.
            done = subprocess.run([program, calls, "graph"], capture_output=True, text=True)
            self.assertIn((done.returncode, done.stdout), ((77, "no CUDA device was found\n"), (127, "")))

    def test_wrong_results_are_found(self):
        book = self.copy_of_book("wrong")
        results = book / "results" / "unpacked" / "models" / "softmax" / "ours"
        results.mkdir(parents=True)
        recorded = bytearray(self.packed("softmax")["selfcheck.bin"])
        recorded[-2] ^= 0x40  # the exponent of the last output
        (results / "selfcheck.bin").write_bytes(recorded)
        done = self.run_book(book)
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("WRONG    correctness-softmax-ours", done.stdout)

    def test_a_fault_of_the_device_is_a_line_of_each_step_and_the_rest_goes_on(self):
        for number, (environment, status, reason) in enumerate((
                ({"HOST_CUDA_DRIVER": 12040}, "skipped", "the driver is one for CUDA 12.4"),
                ({"HOST_CUDA_PROCESSORS": 1}, "skipped", "the device has 1 multiprocessors"),
                ({"HOST_CUDA_MEMORY": 3000}, "failed", "cudaMalloc: out of memory"))):
            book = self.copy_of_book(f"fault-{number}")
            done = self.run_book(book, "--seconds", "60", **environment)
            results = json.loads((book / "results" / "results.json").read_text())["steps"]
            self.assertNotIn("no time", {result["status"] for result in results.values()})
            for model in ("softmax", "convolution"):
                result = results[f"correctness-{model}-ours"]
                self.assertEqual(result["status"].lower(), status, result)
                self.assertTrue(result["reason"].startswith(reason), result)
            self.assertEqual(results["runtime-softmax-tensorrt"]["status"], "skipped")
            self.assertIn(done.returncode, (0, 4), done.stderr)
            self.assertEqual(done.stderr, "")

    def test_a_wait_that_does_not_end_is_a_line_of_its_step(self):
        """Of the programs whose blocks wait for each other; the steps after it run."""
        book = self.copy_of_book("hang")
        done = self.run_book(book, "--seconds", "120", HOST_CUDA_LOST_SIGNALS=1)
        results = json.loads((book / "results" / "results.json").read_text())["steps"]
        self.assertEqual((done.returncode, done.stderr), (4, ""))
        hanging = results["correctness-convolution-ours"]
        self.assertEqual(hanging["status"].lower(), "failed", hanging)
        self.assertRegex(hanging["reason"], r"^block \d+ waits in its step \d+ .* after 2 s$")
        self.assertEqual(results["correctness-softmax-ours"]["status"], "done")
        self.assertEqual(results["runtime-softmax-tensorrt"]["status"], "skipped")

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
        self.assertIn("nothing was run, 28 steps of 2 models are left", done.stderr)

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
