#!/usr/bin/env python3
"""lemma emit --target hip: the source is compiled for this processor with a meaning of HIP's words (host_cuda/), whose wavefronts
have 64 lanes, and its outputs are compared with the interpreter's in three orders of its blocks. Where there is ThreadSanitizer,
races between the threads of a grid are errors too."""

import ctypes
import itertools
import os
import re
import sys

import cuda_case
import cuda_models
import cuda_mutants
import host_program
import tested_programs

OK, UNFIT_DEVICE = 0, 6
DEVICE = host_program.HOST_CUDA / "device.json"
LARGE_TASKS = ("--device", host_program.HOST_CUDA / "large_tasks.json", "--without", "packing")


def long_row():
    """A product with one element, whose terms all lanes share."""
    return cuda_models.model([cuda_models.node("MatMul", ["x", "w"], ["y"])], [("x", [1, 1024])], [("y", [1, 1])],
                             [cuda_models.weights("w", [1024, 1], 0.1)])


class HipText(cuda_case.ProgramCase):
    target = "hip"
    models = {**cuda_models.MODELS, "long_row": long_row}
    every = 8  # the suite compares the first variant, the eighth behind it, ...
    numbers = itertools.count()

    def agreement(self, model, *words):
        """Nothing if the program of a model agrees in all orders, else what went wrong."""
        directory = self.write_program(model, f"{model}-{next(self.numbers)}", *words)
        failure = self.disagreement(directory)
        return f"{words}: {failure}" if failure else None

    def test_programs_agree_with_the_interpreter_in_every_order(self):
        variants = [(each.__name__, "--device", DEVICE, "--block-threads", 128) for each in cuda_models.TESTED]
        variants += [("softmax", "--device", DEVICE, "--units", 3, "--block-threads", 64, "--without", "thread", "--without", "warp"),
                     ("layer_normalization", "--device", DEVICE, "--units", 3, "--block-threads", 192, "--no-fusion"),
                     ("recurrence", "--device", host_program.HOST_CUDA / "multiprocessors.json", "--block-threads", 64),
                     ("narrow_products", *LARGE_TASKS, "--units", 1, "--block-threads", 128),
                     ("tiled_product", *LARGE_TASKS, "--without", "block"), ("tiled_product_f16", *LARGE_TASKS, "--without", "block"),
                     ("tiled_attention", *LARGE_TASKS, "--without", "warp"), ("long_sums", *LARGE_TASKS, "--block-threads", 64)]
        failures = [each for each in self.for_each(lambda words: self.agreement(*words), variants[::self.every]) if each]
        self.assertEqual(failures, [])

    def test_wavefronts_have_64_lanes(self):
        """Terms of a reduction are shared by as many, and the slots of a block are those of half as many warps."""
        directory = self.write_program("long_row", "lanes", *LARGE_TASKS, "--units", 1, "--block-threads", 64)
        self.assertEqual(re.findall(r"unsigned lanes = (\d+);", (directory / "kernels.cuh").read_text()), ["64"])
        self.assertIsNone(self.disagreement(directory))
        words = ("--device", DEVICE, "--block-threads", 128, "--without", "block")
        slots = {}
        for target in ("cuda", "hip"):
            self.target = target
            schedule = (self.write_program("softmax", f"slots-{target}", *words) / "schedule.cuh").read_text()
            slots[target] = [int(re.search(rf"{name} = (\d+);", schedule)[1]) for name in ("shared_bytes", "address_bytes")]
        self.target = "hip"
        of_cuda, of_hip = (shared - addresses for shared, addresses in slots.values())
        self.assertGreater(of_hip, 0)
        self.assertEqual(of_cuda, 2 * of_hip)

    def test_each_thread_publishes_what_it_wrote_before_a_signal(self):
        """A release waits for the writes of one wavefront: the barrier alone does not order those of the others."""
        text = (self.write_program("products", "published", "--device", DEVICE) / "persistent.cuh").read_text()
        self.assertRegex(text, r"run_kernel\([^;]*;\n    ptx::publish_to_device\(\);\n    __syncthreads\(\);[^\n]*\n[^\n]*\n"
                               r"      ptx::add_release\(")

    def test_nothing_of_cuda_is_left(self):
        directory = self.write_program("attention", "words", "--device", DEVICE)
        for file in directory.iterdir():
            if file.suffix in (".hip", ".cuh", ".h", ".txt", ".md") and file.name != "hip.cuh":
                self.assertNotRegex(file.read_text(), r"(?i)cuda|nvidia|nvcc|\bptx\.cuh|\.cu\b|\basm\b", file.name)

    def test_the_same_model_gives_the_same_bytes(self):
        first, second = (self.write_program("lstm", name) for name in ("first", "second"))
        for file in first.iterdir():
            self.assertEqual(file.read_bytes(), (second / file.name).read_bytes(), file.name)

    def test_another_device_is_refused_in_one_line(self):
        directory = self.write_program("softmax", "called", "--device", DEVICE, "--arch", "gfx906", "--block-threads", 64)
        library = ctypes.CDLL(str(self.host.library(directory, "sample")))
        library.sample_message.restype = ctypes.c_char_p
        library.sample_destroy.argtypes = [ctypes.c_void_p]
        program, weights = ctypes.c_void_p(), str(directory / "weights.bin").encode()
        self.assertEqual(library.sample_create(weights, ctypes.byref(program)), UNFIT_DEVICE)
        self.assertEqual(library.sample_message(), b"the device is one of gfx90a, the program is for gfx906")
        os.environ["HOST_CUDA_HIP_ARCHITECTURE"] = "gfx906"
        self.addCleanup(os.environ.pop, "HOST_CUDA_HIP_ARCHITECTURE")
        os.environ["HOST_CUDA_SHARED_BYTES"] = "16"
        self.assertEqual(library.sample_create(weights, ctypes.byref(program)), UNFIT_DEVICE)
        self.assertIn(b"a block has at most 16 bytes of shared memory", library.sample_message())
        del os.environ["HOST_CUDA_SHARED_BYTES"]
        self.assertEqual(library.sample_create(weights, ctypes.byref(program)), OK)
        library.sample_destroy(program)

    def test_what_only_cuda_has_is_refused_in_one_line(self):
        for words, part in ((("--library-calls",), "--library-calls is for --target cuda"), (("--tf32",), "no products of TF32"),
                            (("--arch", "sm_90"), "--arch sm_90: of --target hip: gfx906, gfx90a"),
                            (("--block-threads", 96), "a multiple of 64"), (("--resources", "r.json"), "--resources is for")):
            done = self.run_emit("softmax", "--plan", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(part, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.target = "cuda"
        done = self.run_emit("softmax", "--plan", "--arch", "gfx90a")
        self.target = "hip"
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--arch gfx90a: of --target cuda: sm_75", done.stderr)

    @tested_programs.long
    def test_changes_of_the_text_are_found(self):
        if not self.host.sanitizer:
            self.skipTest("there is no ThreadSanitizer")
        directory = self.write_program("softmax", "to-change", "--device", DEVICE, "--block-threads", 128)
        self.assertIsNone(self.host.build(directory, "sample"))
        sites = [site for site in cuda_mutants.sites(directory)
                 if site[0] in ("barrier of a warp dropped", "slots of warps overlap", "acquire dropped")]
        self.assertGreaterEqual(len({site[0] for site in sites}), 2)
        # The second barrier of a warp, as in cuda_text_test.
        last = {site[0]: site for site in sites if site[0] != "barrier of a warp dropped"}
        last["barrier of a warp dropped"] = [site for site in sites if site[0] == "barrier of a warp dropped"][1]
        self.for_each(lambda kind: self.assert_found(directory, last[kind], f"hip-{kind}"), sorted(last))


class AllHipText(HipText):
    every = 1


if __name__ == "__main__":
    sys.exit(cuda_case.main(__doc__))
