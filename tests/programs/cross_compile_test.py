#!/usr/bin/env python3
"""lemma emit --target cpu: programs are compiled for other processors as docs/rtask.md says, and their self-checks run under
qemu-user. Without these compilers or qemu the test is skipped."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "backend_cuda"))
import cuda_models
import tested_programs

LEMMA = None
# By the name of the processor, as compilers, qemu and Debian have it.
TOOLS = {name: (shutil.which(f"{name}-linux-gnu-g++"), shutil.which(f"qemu-{name}")) for name in ("aarch64", "riscv64")}
# Vectors and their tails, functions, sums, windows, 16-bit elements, gathered rows, and several sizes of one program.
MODELS = (("elementwise",), ("softmax",), ("products",), ("convolution",), ("lstm",), ("layer_normalization",), ("indices",),
          ("convolution_of_f16",), ("convolution_of_bf16",), ("attention",), ("transformer_block",), ("normalizations",),
          ("open_sizes", "--shape", "x:1/9/16,40"))


def run(words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=1200, **options)


class Cross(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-cross-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def emit(self, model, *words):
        file = self.folder / f"{model}.onnx"
        file.write_bytes(cuda_models.MODELS[model]())
        directory = self.folder / model
        done = run([LEMMA, "emit", file, "--target", "cpu", "--threads", 2, "-o", directory, "--name", "sample", *words])
        self.assertEqual(done.returncode, 0, done.stderr)
        return directory

    def configure(self, directory, processor, *words):
        compiler, emulator = TOOLS[processor]
        build = directory / processor
        done = run(["cmake", "-S", directory, "-B", build, "-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={processor}",
                    f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_CROSSCOMPILING_EMULATOR={emulator};-L;/usr/{processor}-linux-gnu",
                    "-DPROGRAM_NATIVE=OFF", *words])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return build

    def failure(self, model, processor, directory):
        """What went wrong with a program on a processor; nothing if it agrees with the interpreter."""
        build = self.configure(directory, processor)
        done = run(["cmake", "--build", build, "--parallel", os.cpu_count()])
        if done.returncode != 0:
            return f"{model} for {processor}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        done = run(["ctest", "--test-dir", build, "--output-on-failure"])
        if done.returncode != 0 or "100% tests passed" not in done.stdout:
            return f"{model} on {processor}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return None

    def run_all(self, processor):
        if None in TOOLS[processor]:
            self.skipTest(f"there is no compiler for {processor}, or no qemu (scripts/setup --cross)")
        failures = [self.failure(model, processor, self.emit(model, *words)) for model, *words in MODELS]
        self.assertEqual([failure for failure in failures if failure], [])

    def test_aarch64(self):
        self.run_all("aarch64")

    def test_riscv64(self):
        self.run_all("riscv64")

    def test_kernels_of_aarch64_are_in_vectors_of_16_bytes(self):
        compiler, _ = TOOLS["aarch64"]
        if compiler is None:
            self.skipTest("there is no compiler for aarch64 (scripts/setup --cross)")
        directory = self.emit("products")
        done = run([compiler, "-std=c++20", "-O3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-S", "sample.cpp",
                    "-o", "sample.s"], cwd=directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex((directory / "sample.s").read_text(), r"fmla\tv\d+\.4s, v\d+\.4s, v\d+\.(4s|s\[\d\])")

    def test_a_changed_weight_is_found(self):
        """The self-check compares under the emulator, too."""
        if None in TOOLS["aarch64"]:
            self.skipTest("there is no compiler for aarch64, or no qemu (scripts/setup --cross)")
        directory = self.emit("softmax")
        build = self.configure(directory, "aarch64")
        self.assertEqual(run(["cmake", "--build", build, "--parallel", os.cpu_count()]).returncode, 0)
        recorded = bytearray((directory / "selfcheck.bin").read_bytes())
        recorded[-1] ^= 0x40  # of the exponent of an output
        (directory / "selfcheck.bin").write_bytes(recorded)
        self.assertNotEqual(run(["ctest", "--test-dir", build]).returncode, 0)


def main():
    global LEMMA
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    if all(None in tools for tools in TOOLS.values()):
        print("there is no compiler for another processor, or no qemu (scripts/setup --cross)")
        return 77
    return unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    sys.exit(main())
