#!/usr/bin/env python3
"""What programs for CUDA devices say where there is no driver, where the device is not one for them, where memory is missing and
where a wait does not end. On this processor: tests/backend_cuda/host_cuda."""

import ctypes
import re
import shutil
import sys
import unittest
import unittest.mock

import cuda_case
import host_program

MODEL = "softmax"
ALIGNMENT = 256
DEVICE = host_program.HOST_CUDA / "device.json"


class Faults(cuda_case.ProgramCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not host_program.compiler():
            raise unittest.SkipTest("there is no C++ compiler")
        cls.directory = cls.write_program(cls(), MODEL, "faults", "--device", DEVICE, "--arch", "sm_90")
        failure = cls.host.build(cls.directory, "sample")
        if failure:
            raise AssertionError(failure)

    def check(self, directory=None, **environment):
        directory = directory or self.directory
        code, output = self.host.run_checked([directory / "check", "ascending", directory, 1], 120,
                                             **{name: str(value) for name, value in environment.items()})
        order, *lines = output.strip().splitlines()
        self.assertEqual(order, "order ascending")
        return code, lines

    def test_a_device_that_is_none_for_the_program_is_told_in_a_line(self):
        self.assertEqual(self.check()[0], 0)
        for environment, text in (
                ({"HOST_CUDA_DRIVER": 0}, "there is no NVIDIA driver"),
                ({"HOST_CUDA_DRIVER": 12040}, "the driver is one for CUDA 12.4, the program was compiled with CUDA 13.0"),
                ({"HOST_CUDA_DEVICES": 0}, "there is no NVIDIA device"),
                ({"HOST_CUDA_ARCHITECTURE": 86}, "the device is one of sm_86, the program is for sm_90"),
                ({"HOST_CUDA_SHARED_BYTES": 16}, "a block has at most 16 bytes of shared memory on this device, the schedule takes"),
                ({"HOST_CUDA_PROCESSORS": 1}, "the device has 1 multiprocessors, which run 1 blocks at a time; the schedule is for 4")):
            code, lines = self.check(**environment)
            self.assertEqual(code, 77, (environment, lines))
            self.assertEqual(len(lines), 1, lines)
            self.assertTrue(lines[0].startswith(text), lines)

    def test_a_self_check_without_tensors_says_so_in_a_line(self):
        directory = self.write_program(MODEL, "unrecorded", "--device", DEVICE, "--most-check-memory", "1K")
        self.assertIsNone(self.host.build(directory, "sample"))
        code, lines = self.check(directory)
        self.assertEqual(code, 77)
        self.assertRegex("; ".join(lines), r"^there is nothing to compare with: the tensors of the self-check, \d+ bytes, were not recorded$")

    def test_missing_memory_is_told_in_a_line(self):
        for limit in (8, 1000, 6000):
            code, lines = self.check(HOST_CUDA_MEMORY=limit)
            self.assertEqual((code, lines), (2, ["cudaMalloc: out of memory"]), limit)

    def test_a_wait_that_does_not_end_is_named(self):
        directory = self.write_program("products", "hang", "--device", DEVICE)
        source = directory / "persistent.cuh"
        text = source.read_text()
        # No block says that its steps have ended.
        changed = text.replace("s < step.signal_count;", "s < step.signal_count && schedule.steps == nullptr;")
        self.assertNotEqual(changed, text)
        source.write_text(changed)
        # Without the sanitizer: to it, what threads had done that were given up is in no order with the end.
        shutil.copy(host_program.HOST_CUDA / "ptx.cuh", directory / "ptx.cuh")
        self.host.compile([*self.host.headers("plain"), "-I", directory, '-DPROGRAM_DIRECTORY="."', "-x", "c++",
                           directory / "sample.cu", directory / "selfcheck.cu", "-x", "none",
                           *self.host.objects("plain", False)], directory / "check")
        done = host_program.run([directory / "check", directory, 1], timeout=120)
        code, lines = done.returncode, (done.stdout + done.stderr).splitlines()
        self.assertEqual(code, 2, lines)
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"^block \d+ waits in its step \d+ \(part \d+ of operator \d+\) for counter \d+ to reach "
                                   r"\d+; it was at \d+ after 2 s$")
        reached, wanted = re.search(r"was at (\d+)", lines[0])[1], re.search(r"to reach (\d+)", lines[0])[1]
        self.assertLess(int(reached), int(wanted))

    def test_runs_are_on_the_device_of_the_program(self):
        program = Program(self.host.library(self.directory, "sample"), self.directory / "weights.bin")
        self.addCleanup(program.destroy)
        self.assertEqual(program.run(), 0, program.message())
        set_device = program.library["_Z13cudaSetDevicei"]  # cudaSetDevice
        set_device(1)
        self.addCleanup(set_device, 0)
        self.assertEqual(program.run(), 1)
        self.assertEqual(program.message(), "the current device is number 1, the program was created on number 0")

    def test_errors_of_the_program_are_not_those_of_its_caller(self):
        library = ctypes.CDLL(str(self.host.library(self.directory, "sample")))
        made = ctypes.c_void_p()
        with unittest.mock.patch.dict("os.environ", HOST_CUDA_MEMORY="8"):
            self.assertEqual(library.sample_create(bytes(self.directory / "weights.bin"), ctypes.byref(made)), 5)
        self.assertIsNone(made.value)
        self.assertEqual(library.sample_cuda_code(), 2)
        self.assertEqual(library["_Z16cudaGetLastErrorv"](), 0)


class Program:
    """A program in this process, and room for its tensors."""

    def __init__(self, library, weights):
        self.library = ctypes.CDLL(str(library))
        for name in ("input_count", "output_count", "input_bytes", "output_bytes"):
            getattr(self.library, f"sample_{name}").restype = ctypes.c_size_t
        self.library.sample_message.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        if self.library.sample_create(bytes(weights), ctypes.byref(self.handle)) != 0:
            raise AssertionError(self.message())
        self.buffers = []
        self.tensors = {kind: self.allocated(kind) for kind in ("input", "output")}

    def allocated(self, kind):
        count = getattr(self.library, f"sample_{kind}_count")()
        sizes = [getattr(self.library, f"sample_{kind}_bytes")(ctypes.c_size_t(i)) for i in range(count)]
        buffers = [ctypes.create_string_buffer(size + ALIGNMENT) for size in sizes]
        self.buffers.append(buffers)
        memory = [(ctypes.addressof(buffer) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT for buffer in buffers]
        return (ctypes.c_void_p * count)(*memory), (ctypes.c_size_t * count)(*sizes), ctypes.c_size_t(count)

    def run(self):
        return self.library.sample_run(self.handle, *self.tensors["input"], *self.tensors["output"], None)

    def message(self):
        return self.library.sample_message().decode()

    def destroy(self):
        self.library.sample_destroy(self.handle)


if __name__ == "__main__":
    sys.exit(cuda_case.main(__doc__))
