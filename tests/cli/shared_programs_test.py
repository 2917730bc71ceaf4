#!/usr/bin/env python3
"""Emitted programs that share weights and run at the same time, also after fork() and under sanitizers, and several programs
in one binary: what each of them shows to a linker."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import tested_programs

LEMMA = None
MODEL = pathlib.Path(__file__).resolve().parents[2] / "examples" / "two_layer.onnx"

# NAME_ stands for the name of the program.
PROGRAM = r"""
#include "NAME.h"

using Numbers = std::vector<float>;

Numbers run_NAME(NAME_program* program, int variant) {
  Numbers x(NAME_input_bytes(0) / sizeof(float)), y(NAME_output_bytes(0) / sizeof(float));
  for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>((k * 7 + variant * 11) % 13) - 6;
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  const size_t input_bytes[] = {x.size() * sizeof(float)}, output_bytes[] = {y.size() * sizeof(float)};
  if (NAME_run(program, inputs, input_bytes, 1, outputs, output_bytes, 1) != NAME_ok) std::abort();
  return y;
}
"""

CALLER = r"""
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

%s
/// Each thread makes a program of one that others use as well, runs it, and destroys it.
bool runs_in_threads(const NAME_program* first, const std::vector<Numbers>& expected) {
  std::atomic<bool> is_right = true;
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < expected.size(); ++thread)
    threads.emplace_back([&, thread] {
      NAME_program* own = nullptr;
      if (NAME_share(first, &own) != NAME_ok) std::abort();
      for (int i = 0; i < RUNS; ++i)
        if (run_NAME(own, static_cast<int>(thread)) != expected[thread]) is_right = false;
      NAME_destroy(own);
    });
  for (std::thread& thread : threads) thread.join();
  return is_right;
}

int main(int, char** words) {
  NAME_program *first = nullptr, *second = nullptr, *third = nullptr;
  if (NAME_create(words[1], &first) != NAME_ok) return 2;
  std::vector<Numbers> expected;
  for (int variant = 0; variant < 4; ++variant) expected.push_back(run_NAME(first, variant));
  if (expected[0] == expected[1]) return 3;
  if (NAME_share(nullptr, &second) != NAME_bad_argument || second != nullptr) return 4;
  if (NAME_share(first, nullptr) != NAME_bad_argument) return 5;
  std::atomic<bool> stops = false;
  std::thread busy([&] {
    while (!stops)
      if (run_NAME(first, 0) != expected[0]) std::abort();
  });
  if (!runs_in_threads(first, expected)) return 6;
  stops = true;
  busy.join();
  // A program lives longer than the one that it was made of.
  if (NAME_share(first, &second) != NAME_ok || NAME_share(second, &third) != NAME_ok) return 7;
  NAME_destroy(first);
  if (run_NAME(third, 1) != expected[1]) return 8;
  NAME_destroy(second);
  if (FORKS) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(600);  // one that hangs ends
      const bool is_right = run_NAME(third, 2) == expected[2] && runs_in_threads(third, expected);
      NAME_destroy(third);
      _exit(is_right ? 0 : 1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return 9;
  }
  if (run_NAME(third, 3) != expected[3]) return 10;
  NAME_destroy(third);
}
"""

BOTH = r"""
#include <cstdlib>
#include <vector>

%s
int main(int, char** words) {
  first_program* first = nullptr;
  second_program* second = nullptr;
  if (first_create(words[1], &first) != first_ok || second_create(words[2], &second) != second_ok) return 2;
  const Numbers expected = run_first(first, 0);
  for (int i = 0; i < 20; ++i)
    if (run_first(first, 0) != expected || run_second(second, 0) != expected) return 3;
  first_destroy(first);
  second_destroy(second);
}
"""


def of(name, text):
    return re.sub(r"\bNAME\b|NAME(?=_)|(?<=_)NAME\b", name, text)


class SharedPrograms(unittest.TestCase):
    def setUp(self):
        if not shutil.which("c++"):
            self.skipTest("there is no compiler")
        folder = tempfile.TemporaryDirectory(prefix="lemma-shared-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def emit(self, name, threads):
        directory = self.folder / name
        # On this device small tensors are worth several tasks.
        words = ("emit", MODEL, "-o", directory, "--name", name, "--device", "slow-cpu", "--threads", threads)
        done = subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return directory

    def build(self, folder, *words):
        done = subprocess.run(["c++", "-std=c++20", "-O1", "-pthread", *map(str, words)], cwd=folder, capture_output=True,
                              text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)

    def has(self, option):
        return subprocess.run(["c++", option, "-x", "c++", "-", "-o", self.folder / "probe"], input="int main() {}",
                              text=True, capture_output=True).returncode == 0

    def check(self, threads, runs, *options, forks=True):
        directory = self.emit("model", threads)
        (directory / "caller.cpp").write_text(of("model", CALLER % PROGRAM))
        self.build(directory, *options, f"-DRUNS={runs}", f"-DFORKS={int(forks)}", "model.cpp", "caller.cpp", "-o", "caller")
        call = [directory / "caller", directory / "weights.bin"]
        if options and shutil.which("setarch"):
            call = ["setarch", "-R", *call]  # ThreadSanitizer needs its addresses
        done = subprocess.run(call, capture_output=True, text=True, timeout=900)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @tested_programs.long
    def test_programs_with_the_same_weights_run_at_the_same_time(self):
        for threads in (1, 2):
            with self.subTest(threads):
                self.check(threads, 100)
                shutil.rmtree(self.folder / "model")

    @tested_programs.long
    def test_they_do_not_race(self):
        if not self.has("-fsanitize=thread"):
            self.skipTest("there is no ThreadSanitizer")
        # It does not follow threads that are started after fork().
        self.check(2, 5, "-g", "-fsanitize=thread", forks=False)

    @tested_programs.long
    def test_memory_is_used_as_it_may_be(self):
        if not self.has("-fsanitize=address,undefined"):
            self.skipTest("there is no AddressSanitizer")
        self.check(2, 5, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

    def kernel_sources(self, directory):
        return sorted(file.name for file in directory.glob("kernels_*.cpp"))

    def archive(self, name):
        """A static library whose kernels are sources of their own."""
        directory = self.emit(name, 2)
        sources = [f"{name}.cpp", *self.kernel_sources(directory)]
        self.build(directory, "-c", "-DSEPARATE_KERNELS", *sources)
        subprocess.run(["ar", "rcs", f"lib{name}.a", *[source.replace(".cpp", ".o") for source in sources]], cwd=directory,
                       check=True)
        return directory

    @tested_programs.long
    def test_two_programs_in_one_binary(self):
        if not shutil.which("ar"):
            self.skipTest("there is no ar")
        folders = [self.archive(name) for name in ("first", "second")]
        programs = of("first", PROGRAM) + of("second", PROGRAM).replace("using Numbers = std::vector<float>;\n", "")
        (self.folder / "both.cpp").write_text(BOTH % programs)
        self.build(self.folder, "-Ifirst", "-Isecond", "both.cpp", "first/libfirst.a", "second/libsecond.a", "-o", "both")
        done = subprocess.run([self.folder / "both", *(folder / "weights.bin" for folder in folders)], capture_output=True,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)

    def symbols(self, file, *words):
        """Kind and name of what a file defines for others, as C++ spells it."""
        lines = subprocess.run(["nm", "-C", "--defined-only", *words, file], capture_output=True, text=True, check=True).stdout
        return [line.split(" ", 2)[1:] for line in lines.splitlines() if re.match(r"[0-9a-f]+ ", line)]

    @tested_programs.long
    def test_names_that_others_could_have_begin_with_the_programs(self):
        if not shutil.which("nm") or not shutil.which("ar"):
            self.skipTest("there is no nm or no ar")
        directory = self.archive("first")
        symbols = self.symbols(directory / "libfirst.a", "-g")
        self.assertTrue(any("first_kernels::" in name for _, name in symbols))
        for kind, name in symbols:
            # The standard library has the same functions everywhere; they are weak.
            if kind in "WVu" and re.search(r"\bstd::|__gnu_cxx::|^DW\.ref\.|operator (new|delete)", name):
                continue
            self.assertRegex(name, r"\bfirst_", kind)

    def test_a_shared_library_shows_the_interface_alone(self):
        if not shutil.which("nm") or not shutil.which("cmake"):
            self.skipTest("there is no nm or no CMake")
        directory = self.emit("first", 2)
        for words in (["cmake", "-S", ".", "-B", "build", "-DBUILD_SHARED_LIBS=ON"],
                      ["cmake", "--build", "build", "--target", "first"]):
            done = subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        names = {name for _, name in self.symbols(directory / "build" / "libfirst.so", "-D")}
        self.assertIn("first_run", names)
        declared = set(re.findall(r"\b(first_[a-z_]+)\(", (directory / "first.h").read_text()))
        self.assertEqual(names, declared)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
