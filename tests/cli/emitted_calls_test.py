#!/usr/bin/env python3
"""Emitted programs that are called from several threads, and after fork(): both compute what one call after another
does."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import tested_programs

LEMMA = None
MODEL = pathlib.Path(__file__).resolve().parents[2] / "examples" / "two_layer.onnx"

CALLER = r"""
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "two_layer.h"

using Buffers = std::vector<std::vector<float>>;

struct Pointers {
  explicit Pointers(Buffers& buffers) {
    for (auto& buffer : buffers) {
      pointers.push_back(buffer.data());
      bytes.push_back(buffer.size() * sizeof(float));
    }
  }
  std::vector<void*> pointers;
  std::vector<size_t> bytes;
};

Buffers run(two_layer_program* program, Buffers inputs) {
  Buffers outputs;
  for (size_t i = 0; i < two_layer_output_count(); ++i)
    outputs.emplace_back(two_layer_output_bytes(i) / sizeof(float));
  const Pointers in(inputs), out(outputs);
  if (two_layer_run(program, in.pointers.data(), in.bytes.data(), in.pointers.size(), out.pointers.data(),
                    out.bytes.data(), out.pointers.size()) != two_layer_ok) {
    std::fprintf(stderr, "%s\n", two_layer_message());
    std::exit(1);
  }
  return outputs;
}

std::vector<Buffers> inputs, expected;
two_layer_program* program = nullptr;

/// Whether each of many runs gives what it should; each thread has inputs of its own.
bool runs_in_threads(int count) {
  std::atomic<bool> is_right = true;
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < inputs.size(); ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < count; ++i)
        if (run(program, inputs[thread]) != expected[thread]) is_right = false;
    });
  for (std::thread& thread : threads) thread.join();
  return is_right;
}

/// The same in a new process, and in one of that.
bool runs_after_fork(int depth) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(900);  // one that hangs ends
    const bool is_right = run(program, inputs[0]) == expected[0] && runs_in_threads(20) &&
                          (depth == 0 || runs_after_fork(depth - 1));
    two_layer_destroy(program);
    _exit(is_right ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int, char** words) {
  if (two_layer_create(words[1], &program) != two_layer_ok) return 2;
  for (int variant = 0; variant < 4; ++variant) {
    Buffers& one = inputs.emplace_back();
    for (size_t i = 0; i < two_layer_input_count(); ++i) {
      auto& buffer = one.emplace_back(two_layer_input_bytes(i) / sizeof(float));
      for (size_t k = 0; k < buffer.size(); ++k) buffer[k] = static_cast<float>((k * 7 + variant * 11) % 13) - 6;
    }
    expected.push_back(run(program, one));
  }
  if (expected[0] == expected[1]) return 3;
  if (!runs_in_threads(200)) return 4;
  if (!runs_after_fork(1)) return 5;
  // Also while another thread is in the middle of a run.
  std::atomic<bool> stops = false;
  std::thread busy([&] {
    while (!stops) run(program, inputs[2]);
  });
  for (int i = 0; i < 5; ++i)
    if (!runs_after_fork(0)) return 6;
  stops = true;
  busy.join();
  if (!runs_in_threads(20)) return 7;
  two_layer_destroy(program);
}
"""


class EmittedCalls(unittest.TestCase):
    def test_threads_and_processes(self):
        if not shutil.which("c++"):
            self.skipTest("there is no compiler")
        for threads in (1, 3):
            with self.subTest(threads), tempfile.TemporaryDirectory(prefix="lemma-calls-") as name:
                directory = pathlib.Path(name, "program")
                # On this device small tensors are worth several tasks.
                words = ("emit", MODEL, "-o", directory, "--device", "slow-cpu", "--threads", threads)
                done = subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stderr)
                (directory / "caller.cpp").write_text(CALLER)
                done = subprocess.run(["c++", "-std=c++20", "-O1", "-pthread", "two_layer.cpp", "caller.cpp", "-o", "caller"],
                                      cwd=directory, capture_output=True, text=True, timeout=600)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = subprocess.run([directory / "caller", directory / "weights.bin"], capture_output=True, text=True,
                                      timeout=1800)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
