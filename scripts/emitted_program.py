"""Programs that `lemma emit` writes, built as libraries and run by their C interface."""

import ctypes
import json
import os
import subprocess
import time

import environment
import numpy
import onnx


def shape_words(model, feed):
    """The options that fix the sizes of inputs as those that are fed, where the model leaves any open."""
    inputs = onnx.load(model, load_external_data=False).graph.input
    is_open = any(not dimension.HasField("dim_value") for entry in inputs for dimension in entry.type.tensor_type.shape.dim)
    if not is_open:
        return []
    return [word for name, array in feed.items() if array.ndim
            for word in ("--shape", f"{name}:{','.join(map(str, array.shape))}")]


def emit(lemma, model, folder, threads, *words):
    """What `lemma emit` said. RuntimeError if the model is refused."""
    call = [environment.lemma_program(lemma), "emit", model, "-o", folder, "--name", "program", "--replace", "--threads",
            threads, "--json", *words]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    return json.loads(done.stdout)


def compile_library(folder, source, *words):
    """program.so, with the options that the README of the directory names."""
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-fno-thread-jumps", "-fno-split-paths", "-fno-tree-loop-distribute-patterns", "-march=native", "-pthread",
                    "-shared", "-fPIC", *words, source, "-o", "program.so"], cwd=folder, check=True)


def build(lemma, model, folder, threads, *words):
    """Emits the model and compiles it: what `lemma emit` said, and the seconds of the compiler. RuntimeError if the model
    is refused."""
    said = emit(lemma, model, folder, threads, *words)
    begin = time.perf_counter()
    compile_library(folder, "program.cpp")
    return said, time.perf_counter() - begin


class Program:
    """A built program with inputs by name and outputs as bytes."""

    def __init__(self, folder, feed):
        library = ctypes.CDLL(str(folder / "program.so"))
        library.program_input_name.restype = ctypes.c_char_p
        library.program_message.restype = ctypes.c_char_p
        library.program_output_bytes.restype = ctypes.c_size_t
        self.library, self.state = library, ctypes.c_void_p()
        self.checked(library.program_create(str(folder / "weights.bin").encode(), ctypes.byref(self.state)))
        names = [library.program_input_name(i).decode() for i in range(library.program_input_count())]
        self.inputs = [numpy.ascontiguousarray(feed[name]) for name in names]
        sizes = [library.program_output_bytes(i) for i in range(library.program_output_count())]
        self.outputs = [numpy.empty(size, numpy.uint8) for size in sizes]
        self.words = []
        for arrays in (self.inputs, self.outputs):
            self.words += [(ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays]),
                           (ctypes.c_size_t * len(arrays))(*[array.nbytes for array in arrays]),
                           ctypes.c_size_t(len(arrays))]

    def checked(self, code):
        if code != 0:
            raise RuntimeError(self.library.program_message().decode())

    def run(self):
        self.checked(self.library.program_run(self.state, *self.words))

    def close(self):
        self.library.program_destroy(self.state)
        self.state = ctypes.c_void_p()
