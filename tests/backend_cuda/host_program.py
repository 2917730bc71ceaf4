"""Emitted CUDA source as a program of this processor: compiled with host_cuda/, run in several orders of its blocks."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

HOST_CUDA = pathlib.Path(__file__).resolve().parent / "host_cuda"
ORDERS = ("ascending", "descending", "random:1")
BLOCKS = 4  # of the description host_cuda/device.json
MORE_ORDERS = ORDERS + tuple(f"slowest:{block}" for block in range(BLOCKS))
OPTIONS = ["-std=c++20", "-Og", "-ffp-contract=off", "-fPIC"]
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


def parts(kind, options):
    """The names of the objects that every program is linked with, with their sources and options: what is not to be looked
    into, then what is."""
    with_runtime = [*options, "-include", "cuda_runtime.h"]
    return [("host_cuda.o", "host_cuda.cpp", []), ("all_orders.o", "all_orders.cpp", []),
            (f"{kind}_calls.o", "host_calls.cpp", with_runtime),
            (f"{kind}_libraries.o", "host_libraries.cpp", [*with_runtime, "-include", "cublasLt.h", "-include", "cudnn.h"])]


def included(file):
    """A file and those of its folder that it includes, and so on."""
    files = [file]
    for each in files:
        for name in re.findall(r'^#include "([^"]+)"', each.read_text(), re.MULTILINE):
            if each.parent / name not in files and (each.parent / name).exists():
                files.append(each.parent / name)
    return files


class Host:
    """What all programs share: the runtime and the headers, compiled once, and whether races are looked for. They are in
    the folder that $LEMMA_HOST_CUDA names if they were compiled for all tests (main), else in the one that is given."""

    def __init__(self, folder):
        made = os.environ.get("LEMMA_HOST_CUDA")
        self.programs = folder
        self.is_made = bool(made)
        self.folder = pathlib.Path(made) if made else folder
        self.sanitizer = [SANITIZER, "-g1"] if self.finds_races() else []
        self.ready = set()
        self.compiling, self.selfchecks = threading.Lock(), {}

    def finds_races(self):
        return (self.folder / "checked.races").exists() if self.is_made else has_sanitizer(self.folder)

    def options(self, kind):
        return self.sanitizer if kind == "checked" else []

    def compile_shared(self, kind):
        """The objects and headers of a kind: "checked" looks for races, "plain" does not. Most of the time of a compilation
        would go into the headers of the standard library."""
        with self.compiling:
            if self.is_made or kind in self.ready:
                return
            for target, source, options in parts(kind, self.options(kind)):
                if not (self.folder / target).exists():
                    self.compile([*OPTIONS, *options, "-I", HOST_CUDA, "-c", HOST_CUDA / source], self.folder / target)
            header = self.folder / f"{kind}.h"
            header.write_text("#include <cuda_runtime.h>\n")
            self.compile([*self.words(kind), "-x", "c++-header", header], f"{header}.gch")
            self.ready.add(kind)

    def compile(self, words, target):
        done = run([compiler(), *words, "-o", target])
        if done.returncode != 0:
            raise RuntimeError(done.stderr)

    def words(self, kind):
        return [*OPTIONS, *self.options(kind), "-I", str(HOST_CUDA)]

    def headers(self, kind):
        """The words with which a compilation of a kind begins."""
        self.compile_shared(kind)
        return [*self.words(kind), "-include", str(self.folder / f"{kind}.h")]

    def objects(self, kind, has_main):
        """What a program is linked with, which has a main of its own or is to have that of all_orders.cpp."""
        self.compile_shared(kind)
        return [str(self.folder / name) for name, _, _ in parts(kind, []) if has_main or name != "all_orders.o"]

    def take_words(self, directory):
        """Puts the words of this processor in the place of the device's (ptx.cuh, or hip.cuh of source in HIP). The ending of the
        sources."""
        is_hip = (directory / "hip.cuh").exists()
        for words in ("ptx.cuh", *(["hip.cuh"] if is_hip else [])):
            shutil.copy(HOST_CUDA / words, directory / words)
        return "hip" if is_hip else "cu"

    def build(self, directory, name, kernels=None):
        """Compiles the source of a directory there, perhaps with kernels of an object and its header there; what the compiler
        said if it failed. A self-check that is compiled already is taken as it is."""
        ending = self.take_words(directory)
        words = [compiler(), *self.headers("checked"), "-Wall", "-Wextra", "-Werror",
                 "-Wno-unused-function", '-DPROGRAM_DIRECTORY="."', "-x", "c++"]
        failure = self.compile_selfcheck(directory, words, f"selfcheck.{ending}")
        if failure:
            return failure
        included, linked = (["-include", f"{kernels}.h"], [f"{kernels}.o"]) if kernels else ([], [])
        done = run([*words, *included, f"{name}.{ending}", "-x", "none", *linked, "selfcheck.o", *self.objects("checked", True), "-o", "check"],
                   cwd=directory)
        return done.stderr if done.returncode != 0 else None

    def compile_object(self, directory, source, more=()):
        """An object of a source beside it; what the compiler said if it failed."""
        done = run([compiler(), *self.headers("checked"), *more, "-I", ".", "-c", source], cwd=directory)
        return done.stderr if done.returncode != 0 else None

    def compile_selfcheck(self, directory, words, source):
        """Compiles a self-check. Those of models with tensors of the same sizes differ in comments at most."""
        if (directory / "selfcheck.o").exists():
            return None
        texts = [re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read_text(), flags=re.DOTALL)
                 for file in included(directory / source)]
        key = hashlib.sha256("\0".join(texts).encode()).hexdigest()
        with self.compiling:
            lock = self.selfchecks.setdefault(key, threading.Lock())
        target = self.programs / f"selfcheck-{key}.o"
        with lock:
            if not target.exists():
                done = run([*words, "-Dmain=selfcheck_main", "-c", source, "-o", target], cwd=directory)
                if done.returncode != 0:
                    return done.stderr
        shutil.copy(target, directory / "selfcheck.o")
        return None

    def library(self, directory, name):
        """The source of a directory as a shared library, without the sanitizer."""
        ending = self.take_words(directory)
        done = run([compiler(), *self.headers("plain"), "-shared", "-x", "c++", f"{name}.{ending}", "-x", "none",
                    *self.objects("plain", False), "-o", "program.so"], cwd=directory)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return directory / "program.so"

    def check(self, directory, *orders, runs=2, seconds=120):
        """Exit code and output of the self-check in some orders, up to the first in which it fails; a race has the exit code
        66, a deadlock 3."""
        return self.run_checked([directory / "check", ",".join(orders), directory, runs], seconds * len(orders))

    def run_checked(self, words, seconds, **environment):
        """Exit code and output of a program that may be compiled with the sanitizer."""
        given = dict(os.environ, TSAN_OPTIONS="exitcode=66 halt_on_error=1", **environment)
        try:
            done = run([*(plain_addresses() if self.sanitizer else []), *words], env=given, timeout=seconds)
        except subprocess.TimeoutExpired:
            return 124, "it took too long"
        return done.returncode, done.stdout + done.stderr


def main():
    """host_program.py FOLDER: compiles what all tests share into a folder. Without a compiler it stays empty."""
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    os.environ.pop("LEMMA_HOST_CUDA", None)
    if compiler():
        host = Host(folder)
        for kind in ("checked", "plain"):
            host.compile_shared(kind)
        if host.sanitizer:
            (folder / "checked.races").touch()
    (folder / "made").touch()


if __name__ == "__main__":
    main()
