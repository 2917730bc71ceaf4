#!/usr/bin/env python3
"""lemma emit --target cuda --library-calls: the source is compiled for this processor with a meaning of CUDA's words and of
the libraries' calls (host_cuda/), and its outputs are compared with the interpreter's in three orders of its nodes and
blocks. Where there is ThreadSanitizer, races between nodes and between threads are errors too."""

import ctypes
import json
import os
import re
import shutil
import sys

import cuda_case
import cuda_models
import host_program
from cuda_models import CALL_MODELS
from tiny_models import float_attribute, integer_attribute

OK, BAD_ARGUMENT, WRONG_SIZE = range(3)
LIBRARY_ERROR, NOT_SUPPORTED = 8, 15
RACE = 66  # exit code of a self-check with ThreadSanitizer
DEVICE = host_program.HOST_CUDA / "device.json"


AGREEING = ("scaled_products", "branches", "attention", "convolution_of_f16", "product_of_bf16", "transformer_block")


class Calls(cuda_case.ProgramCase):
    models = CALL_MODELS

    def emit(self, name, directory):
        return self.write_program(name, directory, "--library-calls", "all", "--call-costs", "h100", "--device", DEVICE,
                                  "--block-threads", 32)

    def agreement(self, name):
        """Nothing if the program of a model agrees in all orders, else what went wrong."""
        directory = self.emit(name, f"{name}-agrees")
        if not (directory / "graph.cuh").exists():
            return f"{name}: there are no calls"
        return self.disagreement(directory)

    def test_programs_agree_with_the_interpreter_in_every_order(self):
        failures = [each for each in self.for_each(self.agreement, AGREEING) if each]
        self.assertEqual(failures, [])

    def changed(self, directory, target, file, old, new):
        """The program after a change in one place."""
        shutil.copytree(directory, target)
        text = (target / file).read_text()
        self.assertEqual(text.count(old), 1, old)
        (target / file).write_text(text.replace(old, new))
        self.assertIsNone(self.host.build(target, "sample"))
        return target

    def test_a_dropped_edge_is_found(self):
        """Those into and out of calls and copies: kernels alone follow each other for the memory of their blocks."""
        if not self.host.sanitizer:
            self.skipTest("there is no ThreadSanitizer")
        directory = self.emit("branches", "edges")
        self.assertIsNone(self.host.build(directory, "sample"))
        text = (directory / "graph.cuh").read_text()
        nodes = list(re.finditer(r"^    \{NodeKind::(\w+), (\d+), (\d+), (\d+), (\d+, \d+\},  // \d+)$", text, re.MULTILINE))
        before = [int(each) for each in re.search(r"nodes_before\[\] = \{([\d, ]+)\}", text)[1].split(", ")]
        changes = []
        for each in nodes:
            kind, number, first, count, rest = each.groups()
            # The last of a node's edges.
            if int(count) > 0 and (kind, nodes[before[int(first) + int(count) - 1]][1]) != ("kernel", "kernel"):
                changes.append((each[0], f"    {{NodeKind::{kind}, {number}, {first}, {int(count) - 1}, {rest}"))
        self.assertGreaterEqual(len(changes), 7)

        def code(number):
            target = self.changed(directory, self.folder / f"edge-{number}", "graph.cuh", *changes[number])
            return self.host.check(target, *host_program.ORDERS)[0]

        for change, found in zip(changes, self.for_each(code, range(len(changes)))):
            self.assertNotEqual(found, 0, change[0])

    def test_a_workspace_of_unordered_calls_is_found(self):
        if not self.host.sanitizer:
            self.skipTest("there is no ThreadSanitizer")
        directory = self.emit("branches", "workspaces")
        self.assertIsNone(self.host.build(directory, "sample"))
        # The two convolutions that read the input have no edge between them.
        target = self.changed(directory, self.folder / "shared-workspace", "graph.cuh", "{CallKind::convolution, 1, 1}",
                              "{CallKind::convolution, 1, 0}")
        for order in host_program.ORDERS:
            self.assertEqual(self.host.check(target, order)[0], RACE, order)

    def test_calls_that_compute_something_else_are_found(self):
        directory = self.emit("scaled_products", "changed")
        self.assertIsNone(self.host.build(directory, "sample"))
        changes = [("products.cuh", "const float beta = adds_matrix ? product.addend_factor : 0;", "const float beta = 0;"),
                   ("products.cuh", "(product.has_relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)",
                    "CUBLASLT_EPILOGUE_BIAS"),
                   ("products.cuh", "matrix.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N",
                    "matrix.is_transposed ? CUBLAS_OP_N : CUBLAS_OP_T")]
        for number, change in enumerate(changes):
            target = self.changed(directory, self.folder / f"changed-{number}", *change)
            for order in host_program.ORDERS:
                self.assertNotEqual(self.host.check(target, order)[0], 0, change)

    def library(self, name, directory):
        directory = self.emit(name, directory)
        library = ctypes.CDLL(str(self.host.library(directory, "sample")))
        library.sample_message.restype = ctypes.c_char_p
        library.sample_destroy.argtypes = [ctypes.c_void_p]
        return directory, library

    def test_runs_take_the_memory_that_they_are_given(self):
        directory, library = self.library("scaled_products", "bound")
        program = ctypes.c_void_p()
        self.assertEqual(library.sample_create(str(directory / "weights.bin").encode(), ctypes.byref(program)), OK)
        tensors = (directory / "selfcheck.bin").read_bytes()
        sizes = (7 * 6 * 4, 6 * 9 * 4)
        expected = tensors[sum(sizes):]

        def run(inputs, output, first_bytes=sizes[0]):
            return library.sample_run(program, (ctypes.c_void_p * 2)(*map(ctypes.addressof, inputs)),
                                      (ctypes.c_size_t * 2)(first_bytes, sizes[1]), ctypes.c_size_t(2),
                                      (ctypes.c_void_p * 1)(ctypes.addressof(output)), (ctypes.c_size_t * 1)(len(expected)),
                                      ctypes.c_size_t(1), None)

        for _ in range(3):
            inputs = [ctypes.create_string_buffer(tensors[:sizes[0]]), ctypes.create_string_buffer(tensors[sizes[0]:sum(sizes)])]
            outputs = [ctypes.create_string_buffer(len(expected)) for _ in range(2)]
            for output in outputs:
                self.assertEqual(run(inputs, output), OK)
            self.assertEqual(outputs[0].raw, outputs[1].raw)
            self.assertEqual(len({bytes(output.raw[:4]) for output in outputs} | {expected[:4]}), 1)
        self.assertEqual(run(inputs, outputs[0], first_bytes=4), WRONG_SIZE)
        library.sample_destroy(program)

    def test_a_library_that_fails_has_a_code(self):
        directory, library = self.library("scaled_products", "failing")
        program = ctypes.c_void_p()
        os.environ["HOST_CUDA_NO_ALGORITHM"] = "1"
        try:
            self.assertEqual(library.sample_create(str(directory / "weights.bin").encode(), ctypes.byref(program)), LIBRARY_ERROR)
        finally:
            del os.environ["HOST_CUDA_NO_ALGORITHM"]
        self.assertEqual(library.sample_library_code(), NOT_SUPPORTED)
        self.assertEqual(library.sample_message(), b"cublasLtMatmulAlgoGetHeuristic: there is no algorithm for a product")

    def test_only_libraries_that_are_called_are_needed(self):
        for name, called, other in (("products", "products.cuh", "windows.cuh"), ("convolution", "windows.cuh", "products.cuh")):
            directory = self.emit(name, f"{name}-needs")
            self.assertTrue((directory / called).exists())
            self.assertFalse((directory / other).exists())
            text = (directory / "CMakeLists.txt").read_text()
            self.assertEqual("CUDA::cublasLt" in text, called == "products.cuh")
            self.assertEqual("cuDNN, which this program calls, was not found" in text, called == "windows.cuh")

    def plan(self, name, *words):
        done = self.run_emit(name, "--plan", "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_calls_are_chosen_where_they_pay(self):
        """Costs of another device change the choice, and without calls the program is the one without the option."""
        costs = {"name": "made up", "source": "made up", "contraction_flops_per_second": {"f32": 1e15, "f16": 1e15, "bf16": 1e15,
                 "f64": 1e15}, "elementwise_flops_per_second": {"f32": 1e15, "f16": 1e15, "bf16": 1e15, "f64": 1e15},
                 "memory_bytes_per_second": 1e15, "launch_overhead_seconds": 1e-12, "view_overhead_seconds": 0,
                 "half_peak_flops": 0, "half_peak_bytes": 0}
        fast, slow = self.folder / "fast.json", self.folder / "slow.json"
        fast.write_text(json.dumps(costs))
        slow.write_text(json.dumps({**costs, "launch_overhead_seconds": 1.0}))
        chosen = self.plan("attention", "--library-calls", "--device", DEVICE, "--call-costs", fast)["library_calls"]
        self.assertGreater(chosen["calls"], 0)
        self.assertLess(chosen["graph_seconds"], chosen["one_kernel_seconds"])
        kept = self.plan("attention", "--library-calls", "--device", DEVICE, "--call-costs", slow)
        self.assertEqual(kept["library_calls"]["calls"], 0)
        alone = self.plan("attention", "--device", DEVICE)
        for key in ("operators", "tasks", "waits", "arena_bytes"):
            self.assertEqual(kept[key], alone[key])

    def test_the_same_model_gives_the_same_bytes(self):
        first, second = self.emit("branches", "first"), self.emit("branches", "second")
        for file in first.iterdir():
            self.assertEqual(file.read_bytes(), (second / file.name).read_bytes(), file.name)

    def test_wrong_options_are_answered_in_one_line(self):
        for words, part in ((("--library-calls", "some"), "--library-calls"), (("--call-costs", "h100"), "--library-calls"),
                            (("--library-calls", "--call-costs", "gtx"), "no device has this name")):
            done = self.run_emit("products", "--plan", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(part, done.stderr)
        done = self.run_emit("open_sizes", "--plan", "--library-calls", "--shape", "x:1/9,40")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("several sizes", done.stderr)


if __name__ == "__main__":
    sys.exit(cuda_case.main(__doc__))
