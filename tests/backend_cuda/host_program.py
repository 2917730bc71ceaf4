"""Emitted CUDA source as a program of this processor: compiled with host_cuda/, run in several orders of its blocks."""

import os
import pathlib
import shutil
import subprocess
import threading

HOST_CUDA = pathlib.Path(__file__).resolve().parent / "host_cuda"
ORDERS = ("ascending", "descending", "random:1")
BLOCKS = 4  # of the description host_cuda/device.json
MORE_ORDERS = ORDERS + tuple(f"slowest:{block}" for block in range(BLOCKS))
OPTIONS = ["-std=c++20", "-O1", "-ffp-contract=off", "-fPIC"]
SANITIZER = "-fsanitize=thread"


def compiler():
    return shutil.which("g++") or shutil.which("c++")


def run(words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, **options)


def has_sanitizer(folder):
    """Whether programs with ThreadSanitizer can be compiled and run here."""
    file = folder / "probe.cpp"
    file.write_text('extern "C" void* __tsan_create_fiber(unsigned);\nint main() { return __tsan_create_fiber(0) == nullptr; }\n')
    if run([compiler(), SANITIZER, file, "-o", folder / "probe"]).returncode != 0:
        return False
    return run([*plain_addresses(), folder / "probe"]).returncode == 0


def plain_addresses():
    """It needs its addresses."""
    return ["setarch", "-R"] if shutil.which("setarch") else []


class Host:
    """What all programs share: the fibres and the headers, compiled once, and whether races are looked for."""

    def __init__(self, folder):
        self.folder = folder
        self.sanitizer = [SANITIZER, "-g1"] if has_sanitizer(folder) else []
        self.fibres = folder / "host_cuda.o"
        done = run([compiler(), *OPTIONS, "-c", HOST_CUDA / "host_cuda.cpp", "-o", self.fibres])
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        self.precompiled = {}
        self.compiling = threading.Lock()

    def headers(self, kind):
        """The words with which a compilation begins that looks for races ("checked"), or does not ("plain")."""
        with self.compiling:
            if kind not in self.precompiled:
                self.precompiled[kind] = self.precompile(kind, self.sanitizer if kind == "checked" else [])
            return self.precompiled[kind]

    def precompile(self, kind, options):
        """The words with which a compilation with the same options begins. Most of its time would go into the headers of
        the standard library."""
        file = self.folder / f"{kind}.h"
        file.write_text("#include <cuda_runtime.h>\n")
        words = [*OPTIONS, *options, "-I", HOST_CUDA]
        done = run([compiler(), *words, "-x", "c++-header", file, "-o", f"{file}.gch"])
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return [*map(str, words), "-include", str(file)]

    def build(self, directory, name):
        """Compiles the source of a directory there; what the compiler said if it failed. A self-check that is compiled
        already is taken as it is."""
        shutil.copy(HOST_CUDA / "ptx.cuh", directory / "ptx.cuh")
        words = [compiler(), *self.headers("checked"), "-Wall", "-Wextra", "-Werror",
                 "-Wno-unused-function", '-DPROGRAM_DIRECTORY="."', "-x", "c++"]
        if not (directory / "selfcheck.o").exists():
            done = run([*words, "-c", "selfcheck.cu", "-o", "selfcheck.o"], cwd=directory)
            if done.returncode != 0:
                return done.stderr
        done = run([*words, f"{name}.cu", "-x", "none", "selfcheck.o", self.fibres, "-o", "check"], cwd=directory)
        return done.stderr if done.returncode != 0 else None

    def library(self, directory, name):
        """The source of a directory as a shared library, without the sanitizer."""
        shutil.copy(HOST_CUDA / "ptx.cuh", directory / "ptx.cuh")
        done = run([compiler(), *self.headers("plain"), "-shared", "-x", "c++", f"{name}.cu", "-x", "none", self.fibres, "-o",
                    "program.so"], cwd=directory)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return directory / "program.so"

    def check(self, directory, order, runs=2, seconds=120):
        """Exit code and output of the self-check; a race has the exit code 66, a deadlock 3."""
        environment = dict(os.environ, HOST_CUDA_ORDER=order, TSAN_OPTIONS="exitcode=66 halt_on_error=1")
        words = [*(plain_addresses() if self.sanitizer else []), directory / "check", directory, runs]
        try:
            done = run(words, env=environment, timeout=seconds)
        except subprocess.TimeoutExpired:
            return 124, "it took too long"
        return done.returncode, done.stdout + done.stderr
