"""What tests of emitted CUDA programs on this processor share: a folder, a compiler, programs and how they agree."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import cuda_models
import cuda_mutants
import host_program
import tested_programs


class ProgramCase(unittest.TestCase):
    """Programs of small models, in a folder that is removed in the end."""

    lemma = None  # the program, given on the command line
    target = "cuda"
    models = cuda_models.MODELS  # by name, the functions that make their bytes
    writing = threading.Lock()

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="lemma-cuda-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.host = host_program.Host(cls.folder)
        if not cls.host.sanitizer:
            print("there is no ThreadSanitizer: races show only where they change a result", file=sys.stderr)

    def run_emit(self, model, *words):
        """`lemma emit` of a model for the target, as it ended."""
        file = self.folder / f"{model}.onnx"
        with self.writing:
            if not file.exists():
                file.write_bytes(self.models[model]())
        return subprocess.run([self.lemma, "emit", file, "--target", self.target, *map(str, words)], capture_output=True, text=True,
                              timeout=120)

    def write_program(self, model, name, *words):
        """The folder of this name, with the source of a model's program."""
        done = self.run_emit(model, "-o", self.folder / name, "--name", "sample", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / name

    def disagreement(self, directory, runs=2):
        """Nothing if the program in a folder is compiled and agrees in all orders, else what went wrong."""
        failure = self.host.build(directory, "sample")
        if failure:
            return f"{directory.name}: {failure}"
        code, output = self.host.check(directory, *host_program.ORDERS)
        if code != 0 or output.count(f"passed: {runs} runs") != len(host_program.ORDERS):
            return f"{directory.name}: exit code {code}: {output[-3000:]}"
        return None

    def for_each(self, function, values):
        """What a function gives, in the order of the values, several at a time."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(function, values))

    def assert_found(self, directory, site, number):
        """A change of a program (cuda_mutants.sites) is found as more than an error of the compiler."""
        how = cuda_mutants.outcome(self.host, directory, site, self.folder / f"changed-{number}")
        self.assertIn(how, ("race", "wrong", "waits for ever"), cuda_mutants.description(directory, site))


def main(description):
    """The exit code of a file of such tests."""
    ProgramCase.lemma, rest = tested_programs.given(description, "lemma")
    if not host_program.compiler():
        print("there is no C++ compiler")
        return 77
    return unittest.main(module="__main__", argv=[sys.argv[0], *rest])
