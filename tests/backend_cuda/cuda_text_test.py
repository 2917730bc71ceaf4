#!/usr/bin/env python3
"""lemma emit --target cuda: the source is compiled for this processor with a meaning of CUDA's words (host_cuda/), and
its outputs are compared with the interpreter's in three orders of its blocks. Where there is ThreadSanitizer, races
between the threads of a grid are errors too."""

import ctypes
import itertools
import json
import os
import sys

import cuda_case
import cuda_models
import cuda_mutants
import host_program
import tested_programs

OK, BAD_ARGUMENT, WRONG_SIZE, NO_WEIGHTS = range(4)
UNFIT_DEVICE = 6
DEVICE = host_program.HOST_CUDA / "device.json"

# (kind, which one): each has an effect in these models.
CHANGES = {"products": [("barrier of the block dropped", 0), ("barrier of the block dropped", 1), ("release dropped", 0),
                        ("acquire dropped", 0), ("wait for one task less", 0), ("signal dropped", 0),
                        ("index of a store shifted", 0)],
           "softmax": [("barrier of a warp dropped", 1), ("all lanes store", 0)]}


class CudaText(cuda_case.ProgramCase):
    every = 3  # the suite compares the first variant, the third behind it, ...
    numbers = itertools.count()

    def little_device(self):
        """Without room for what phases hand on: that is in device memory then."""
        description = dict(json.loads(DEVICE.read_text()), shared_bytes_per_unit=256)
        file = self.folder / "little.json"
        file.write_text(json.dumps(description))
        return file

    def agreement(self, model, *words, sizes=1):
        """Nothing if the program of a model agrees in all orders, with each of its sizes, else what went wrong."""
        directory = self.write_program(model, f"{model}-{next(self.numbers)}", *words)
        failure = self.disagreement(directory, 2 * sizes)
        return f"{words}: {failure}" if failure else None

    def test_programs_agree_with_the_interpreter_in_every_order(self):
        variants = [(each.__name__, "--device", DEVICE, "--block-threads", 64) for each in cuda_models.TESTED]
        variants += [(model, "--device", DEVICE, "--units", 3, "--block-threads", 32, "--without", "thread", "--without", "warp")
                     for model in ("softmax", "lstm")]
        variants += [(model, "--device", self.little_device(), "--block-threads", 64) for model in ("softmax", "attention")]
        variants += [("layer_normalization", "--device", DEVICE, "--units", 3, "--block-threads", 96, "--no-fusion")]
        failures = [each for each in self.for_each(lambda words: self.agreement(*words), variants[::self.every]) if each]
        self.assertEqual(failures, [])

    def test_sizes_of_the_inputs_share_a_program(self):
        words = ("--device", DEVICE, "--block-threads", 64, "--shape", "x:1/9/16,40")
        self.assertIsNone(self.agreement("open_sizes", *words, sizes=3))
        directory = self.write_program("open_sizes", "sizes", *words)
        library = ctypes.CDLL(str(self.host.library(directory, "sample")))
        library.sample_message.restype = ctypes.c_char_p
        library.sample_input_type.restype = ctypes.c_char_p
        library.sample_destroy.argtypes = [ctypes.c_void_p]
        program = ctypes.c_void_p()
        self.assertEqual(library.sample_create(str(directory / "weights.bin").encode(), ctypes.byref(program)), OK)
        self.assertEqual(library.sample_input_type(0), b"f32[1/9/16, 40]")
        self.assertEqual(library.sample_input_bytes(0), 16 * 40 * 4)
        inputs, outputs = ctypes.create_string_buffer(16 * 40 * 4), ctypes.create_string_buffer(16 * 33 * 4)

        def call(rows, result_rows):
            return library.sample_run(program, (ctypes.c_void_p * 1)(ctypes.addressof(inputs)),
                                      (ctypes.c_size_t * 1)(rows * 40 * 4), ctypes.c_size_t(1),
                                      (ctypes.c_void_p * 1)(ctypes.addressof(outputs)),
                                      (ctypes.c_size_t * 1)(result_rows * 33 * 4), ctypes.c_size_t(1), None)

        self.assertEqual(call(9, 9), OK)
        self.assertEqual(call(2, 2), WRONG_SIZE)
        self.assertEqual(library.sample_message(), b"input 'x' (f32[1/9/16, 40]) does not have 320 bytes: dimension 0, 'N', "
                         b"has to be 1, 9 or 16")
        self.assertEqual(call(9, 16), WRONG_SIZE)
        self.assertIn(b"has 1188 bytes, not 2112", library.sample_message())
        library.sample_destroy(program)

    def call(self, library, program, inputs, outputs, count=1, input_bytes=24 * 70 * 4):
        return library.sample_run(program, (ctypes.c_void_p * 1)(inputs), (ctypes.c_size_t * 1)(input_bytes),
                                  ctypes.c_size_t(count), (ctypes.c_void_p * 1)(outputs),
                                  (ctypes.c_size_t * 1)(24 * 70 * 4), ctypes.c_size_t(1), None)

    def test_wrong_calls_are_answered(self):
        directory = self.write_program("softmax", "called", "--device", DEVICE, "--block-threads", 64)
        library = ctypes.CDLL(str(self.host.library(directory, "sample")))
        library.sample_message.restype = ctypes.c_char_p
        library.sample_destroy.argtypes = [ctypes.c_void_p]
        program = ctypes.c_void_p()
        weights = str(directory / "weights.bin").encode()
        self.assertEqual(library.sample_create(b"missing.bin", ctypes.byref(program)), NO_WEIGHTS)
        os.environ["HOST_CUDA_PROCESSORS"] = "3"
        self.assertEqual(library.sample_create(weights, ctypes.byref(program)), UNFIT_DEVICE)
        self.assertEqual(library.sample_message(), b"the device has 3 multiprocessors, which run 3 blocks at a time; the schedule is for 4")
        del os.environ["HOST_CUDA_PROCESSORS"]
        self.assertEqual(library.sample_create(weights, ctypes.byref(program)), OK)
        tensors = (directory / "selfcheck.bin").read_bytes()
        inputs = ctypes.create_string_buffer(tensors[:24 * 70 * 4])
        outputs = ctypes.create_string_buffer(24 * 70 * 4)
        call = (library, program, ctypes.addressof(inputs), ctypes.addressof(outputs))
        self.assertEqual(self.call(*call, input_bytes=4), WRONG_SIZE)
        self.assertEqual(self.call(*call, count=2), BAD_ARGUMENT)
        self.assertEqual(self.call(library, program, 0, ctypes.addressof(outputs)), BAD_ARGUMENT)
        self.assertEqual(self.call(library, program, ctypes.addressof(inputs) + 1, ctypes.addressof(outputs)), BAD_ARGUMENT)
        self.assertIn(b"is not aligned", library.sample_message())
        results = set()
        for _ in range(3):
            self.assertEqual(self.call(*call), OK)
            results.add(outputs.raw)
        self.assertEqual(len(results), 1)
        library.sample_destroy(program)

    @tested_programs.long
    def test_changes_of_the_text_are_found(self):
        """One change of each kind that a wrong result alone need not show; bench/cuda mutants makes many more."""
        if not self.host.sanitizer:
            self.skipTest("there is no ThreadSanitizer")
        words = ("--device", DEVICE, "--block-threads", 64)
        chosen = []
        for model in ("products", "softmax"):
            directory = self.write_program(model, f"{model}-to-change", *words)
            self.assertIsNone(self.host.build(directory, "sample"))
            for kind, number in CHANGES[model]:
                found = [site for site in cuda_mutants.sites(directory) if site[0] == kind]
                chosen.append((directory, found[number]))

        self.for_each(lambda number: self.assert_found(*chosen[number], number), range(len(chosen)))


@tested_programs.long
class AllCudaText(CudaText):
    every = 1


for name in ("test_sizes_of_the_inputs_share_a_program", "test_wrong_calls_are_answered", "test_changes_of_the_text_are_found"):
    setattr(AllCudaText, name, None)


if __name__ == "__main__":
    sys.exit(cuda_case.main(__doc__))
