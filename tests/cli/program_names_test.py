#!/usr/bin/env python3
"""Emitted programs build under any name of the model and with any names of its tensors."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, node, tensor_type

LEMMA = None
VECTOR = tensor_type(F32, [8])
# Files of the program, identifiers of its source, headers of the system, functions of the C library, targets of CMake,
# keywords, and no identifiers at all.
NAMES = ("kernels", "Kernels", "schedule", "tensors", "selfcheck", "comparison", "last", "time", "string", "math", "timer",
         "pthread_mutex", "mtx", "test", "all", "CMakeLists", "README", "int", "main", "1", "-", "model", "a b", "größe")
BUILT = ("test", "time", "last", "all")
STRANGE = ("a??/", "b\\", "c*/d", "e\nf", "g\u202eh", "i\u009bj", "k\"l", "`m`", "n'", "%s", "{{name}}", "/*o", "//p\\", "</script>")


class ProgramNames(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-names-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def emit(self, name, tensors=("x", "y"), middle="t"):
        x, y = tensors
        (self.folder / "models").mkdir(exist_ok=True)
        file = self.folder / "models" / f"{name}.onnx"
        file.write_bytes(tiny_models.model(
            [node("Tanh", [x], [middle]), node("Add", [middle, "w"], [y])], [(x, VECTOR)], [(y, VECTOR)],
            initializers=[tiny_models.tensor("w", [8], range(8))]))
        directory = self.folder / f"program of {name}"
        done = subprocess.run([LEMMA, "emit", file, "-o", directory, "--threads", "1"], capture_output=True, text=True,
                              timeout=900)
        self.assertEqual(done.returncode, 0, done.stderr)
        return directory

    def compiles(self, directory, *words):
        source = next(path for path in directory.glob("*.cpp") if path.with_suffix(".map").exists())
        # As for a user: the directory is one of those that are searched.
        for file in (source, directory / "selfcheck.cpp"):
            done = subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-trigraphs", "-I", directory,
                                   "-DPROGRAM_DIRECTORY=\".\"", *words, file], capture_output=True, text=True, timeout=900)
            if done.returncode != 0:
                return done.stderr
        header = source.with_suffix(".h")
        done = subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", "-I", directory, header],
                              capture_output=True, text=True, timeout=900)
        return done.stderr if done.returncode != 0 else ""

    def test_names_of_models(self):
        if not shutil.which("c++") or not shutil.which("cc"):
            self.skipTest("there is no compiler")
        for name in NAMES:
            with self.subTest(name):
                self.assertEqual(self.compiles(self.emit(name)), "")

    def test_the_name_is_kept_where_it_can_be(self):
        self.assertTrue((self.emit("mlp") / "mlp.h").exists())
        self.assertTrue((self.emit("kernels") / "kernels_model.h").exists())

    def test_names_of_tensors(self):
        if not shutil.which("c++") or not shutil.which("cc"):
            self.skipTest("there is no compiler")
        for number, name in enumerate(STRANGE):
            with self.subTest(name):
                directory = self.emit(f"m{number}", (name, f"{name} out"), f"{name} in between")
                self.assertEqual(self.compiles(directory), "")
                for file in directory.iterdir():
                    if file.suffix == ".bin":
                        continue
                    text = file.read_text()
                    for control in ("\u202e", "\u009b"):
                        self.assertNotIn(control, text, file)
                self.assertNotIn("</script>", (directory / "README.md").read_text())

    def test_a_build_with_cmake(self):
        if not shutil.which("cmake"):
            self.skipTest("there is no CMake")
        for name in BUILT:
            with self.subTest(name):
                directory = self.emit(name)
                for words in (["cmake", "-S", directory, "-B", directory / "build", "-DCMAKE_BUILD_TYPE=Debug"],
                              ["cmake", "--build", directory / "build"], ["ctest", "--test-dir", directory / "build"]):
                    done = subprocess.run(words, capture_output=True, text=True, timeout=900)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_flags_that_change_roundings_are_refused(self):
        if not shutil.which("c++"):
            self.skipTest("there is no compiler")
        directory = self.emit("flags")
        self.assertEqual(self.compiles(directory, "-O3", "-ffp-contract=fast"), "")
        for words in (["-ffast-math"], ["-Ofast"], ["-ffinite-math-only"], ["-freciprocal-math"],
                      ["-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"]):
            with self.subTest(words):
                self.assertIn("-ffast-math", self.compiles(directory, *words))


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
