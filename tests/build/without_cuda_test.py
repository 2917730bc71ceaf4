#!/usr/bin/env python3
"""Without the CUDA toolkit, or with LEMMA_CUDA=OFF, the module for NVIDIA devices is left out and all else is configured
as before."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE = sys.argv.pop(1)
COMPILER = sys.argv.pop(1)


def targets_of(folder, option):
    words = [CMAKE, "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DLEMMA_CUDA={option}", "-DLEMMA_BUILD_TESTS=OFF",
             f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_BUILD_TYPE=Release"]
    # As on a machine without a toolkit.
    words += ["-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON"] if option == "AUTO" else []
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=280)
    return done, (folder / "build.ninja").read_text() if done.returncode == 0 else ""


class WithoutCuda(unittest.TestCase):
    def test_the_module_is_left_out(self):
        for option in ("OFF", "AUTO"):
            with tempfile.TemporaryDirectory(prefix="lemma-no-cuda-") as folder:
                done, targets = targets_of(pathlib.Path(folder), option)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("lemma_cuda", targets)
                self.assertIn("liblemma_libraries.a", targets)
                self.assertEqual("will not measure on NVIDIA devices" in done.stdout, option == "AUTO")


if __name__ == "__main__":
    unittest.main()
