#!/usr/bin/env python3
"""lemma emit --target hip: where there is hipcc, programs compile and link for two architectures, and the code of the device has
the orders of memory that the schedule needs."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import cuda_models
import host_program
import tested_programs

LEMMA = None
HIPCC = shutil.which("hipcc")
DEVICE = host_program.HOST_CUDA / "device.json"
# With terms that lanes share and blocks that wait for each other; in tiles.
COMPILED = (("products", "gfx906", "--device", DEVICE), ("tiled_product", "gfx90a", "--device", DEVICE.parent / "large_tasks.json"))


def run(words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600, **options)


class Compiled(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-hip-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def emit(self, model, architecture, *words):
        file = self.folder / f"{model}.onnx"
        file.write_bytes(cuda_models.MODELS[model]())
        directory = self.folder / architecture
        done = run([LEMMA, "emit", file, "--target", "hip", "--arch", architecture, "-o", directory, "--name", "sample", *words])
        self.assertEqual(done.returncode, 0, done.stderr)
        return directory

    def device_code(self, directory, architecture):
        done = run([HIPCC, "-std=c++20", "-O3", f"--offload-arch={architecture}", "-Wall", "-Wextra", "-Wno-unused-function",
                    "-Wno-unused-command-line-argument", "--cuda-device-only", "-S", "sample.hip", "-o", "sample.s"], cwd=directory)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return (directory / "sample.s").read_text()

    def assert_has(self, code, pattern, is_there=True):
        self.assertEqual(re.search(pattern, code) is not None, is_there, pattern)

    def test_they_compile_and_link(self):
        for model, architecture, *words in COMPILED:
            directory = self.emit(model, architecture, *words)
            code = self.device_code(directory, architecture)
            self.assert_has(code, f'.amdgcn_target "amdgcn-amd-amdhsa--{architecture}')
            # A wait ends by a load past the near cache, which is emptied then. All writes have ended before the barrier in
            # front of a signal.
            self.assert_has(code, r"global_load_dwordx2 [^\n]* glc\n(?:[^\n]*\n){0,3}\s*buffer_wbinvl1")
            self.assert_has(code, r"s_waitcnt vmcnt\(0\)[^\n]*\n\s*s_barrier *\n(?:[^\n]*\n){0,60}?\s*global_atomic_add_x2 ")
            # No tensor is read or stored by an access that may be to any memory.
            self.assert_has(code, r"\bflat_(load|store)", False)
            if model == "products":
                for word in ("ds_bpermute_b32", "s_memrealtime", "s_trap"):  # of a wait that does not end
                    self.assert_has(code, word)
            else:
                self.assert_has(code, r"global_load_dwordx4[^$]*ds_write_b128[^$]*ds_read_b128[^$]*global_store_dwordx4")
            spilled = [int(count) for count in re.findall(r"\.vgpr_spill_count: *(\d+)", code)]
            self.assertTrue(spilled)
            self.assertEqual(set(spilled), {0})
            done = run([HIPCC, "-std=c++20", "-O1", f"--offload-arch={architecture}", '-DPROGRAM_DIRECTORY="."', "sample.hip",
                        "selfcheck.hip", "-o", "selfcheck"], cwd=directory)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_without_a_device_the_self_check_says_so(self):
        model, architecture, *words = COMPILED[0]
        directory = self.emit(model, architecture, *words)
        done = run([HIPCC, "-std=c++20", "-O1", f"--offload-arch={architecture}", '-DPROGRAM_DIRECTORY="."', "sample.hip",
                    "selfcheck.hip", "-o", "selfcheck"], cwd=directory)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = run([directory / "selfcheck", directory])
        if done.returncode == 0:
            self.skipTest("there is a device")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (77, "", "there is no AMD device\n"))


def main():
    global LEMMA
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    if HIPCC is None:
        print("there is no hipcc (scripts/setup --hip)")
        return 77
    return unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    sys.exit(main())
