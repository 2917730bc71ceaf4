#!/usr/bin/env python3
"""lemma emit --target cuda: samples are compiled and linked by nvcc for sm_80 and sm_90 (Compiled, and CompiledTiles for
products in tiles; both say with exit code 77 that there is no toolkit), and what the command writes and refuses without one (Written)."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import cuda_models
import tested_programs

LEMMA = None
NVCC = shutil.which("nvcc")
ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICE = pathlib.Path(__file__).resolve().parent / "host_cuda" / "device.json"
KEEPING = DEVICE.with_name("multiprocessors.json")
# Of several blocks that wait for each other.
COMPILED = (("convolution", "sm_80"), ("lstm", "sm_90"), ("convolution_of_f16", "sm_80"), ("convolution_of_bf16", "sm_90"),
            ("many_tensors", "sm_80"), ("open_sizes", "sm_90", "--shape", "x:1/16,40"),
            # With weights that blocks keep.
            ("recurrence", "sm_90", "--device", KEEPING), ("recurrence_f16", "sm_80", "--device", KEEPING))
# In tiles: what the PTX has.
TILED = (("aligned_product", "sm_80", ("cp.async.cg.shared.global",)), ("tiled_convolution", "sm_90", ("cp.async.ca.shared.global",)),
         ("aligned_product_f16", "sm_90", ("mma.sync.aligned.m16n8k16.row.col.f32.f16", "ldmatrix.sync.aligned.m8n8.x2.trans")),
         ("tiled_convolution_bf16", "sm_80", ("mma.sync.aligned.m16n8k16.row.col.f32.bf16",)),
         ("tiled_product", "sm_80", ("mma.sync.aligned.m16n8k8.row.col.f32.tf32", "cvt.rna.tf32"), "--tf32"),
         ("tiled_product_f16", "sm_75", ()), ("tiled_attention", "sm_80", ("cp.async",), "--without", "warp"),
         # Threads have few registers.
         ("tiled_product", "sm_90", (), "--block-threads", "1024"), ("tiled_product_bf16", "sm_90", (), "--block-threads", "512"))
# With calls of both libraries between persistent kernels, and of cuDNN alone.
CALLED = (("attention", "sm_80"), ("convolution_of_bf16", "sm_90"))
# Self-checks differ in a table of sizes. The other programs are linked as libraries; their code for the host may be slower.
WITH_SELFCHECK = ("convolution", "open_sizes", "attention")
LIBRARIES = {"products.cuh": "-lcublasLt", "windows.cuh": "-lcudnn"}


def run(words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300, **options)


def compile_program(directory, model, architecture, *words):
    """nvcc for the program of a model, with the self-check or as a library."""
    common = [NVCC, "-std=c++20", f"-arch={architecture}", "--expt-relaxed-constexpr", "-Werror", "all-warnings"]
    if model in WITH_SELFCHECK:
        common += ["-O3", '-DPROGRAM_DIRECTORY="."', "sample.cu", "selfcheck.cu", "-o", "selfcheck"]
    else:
        common += ["-O1", "-shared", "-Xcompiler", "-fPIC", "-Xlinker", "--no-undefined", "sample.cu", "-o", "sample.so"]
    return run([*common, *words], cwd=directory)


class Cuda(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-cuda-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def emit(self, model, *words):
        file = self.folder / f"{model}.onnx"
        file.write_bytes(cuda_models.MODELS[model]())
        return run([LEMMA, "emit", file, "--target", "cuda", *words])


class Compiled(Cuda):
    def compile_and_link(self, programs):
        for model, architecture, *options in programs:
            directory = self.folder / model
            device = [] if "--device" in options else ["--device", DEVICE]
            done = self.emit(model, "--arch", architecture, *device, "-o", directory, "--name", "sample", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("keeps_weights = true" in (directory / "schedule.cuh").read_text(), KEEPING in options)
            done = compile_program(directory, model, architecture, "-keep")  # sample.ptx
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            # Loads of tensors that bypass the order of memory between blocks would read what was there before; the
            # kernel itself reads the tables of the schedule so.
            ptx = (directory / "sample.ptx").read_text()
            functions = [part for part in ptx.split("\n.func ")[1:] if "{" in part]
            self.assertTrue(functions)
            self.assertFalse([part[:200] for part in functions if "ld.global.nc" in part.split("\n.entry ")[0]])
            self.assertTrue("ld.acquire.gpu.u64" in ptx)
            self.assertTrue("red.release.gpu.add.u64" in ptx)

    def test_it_compiles_and_links(self):
        self.compile_and_link(COMPILED[::6])

    @tested_programs.long
    def test_the_others_compile_and_link(self):
        self.compile_and_link([each for i, each in enumerate(COMPILED) if i % 6 != 0])

    @tested_programs.long
    def test_ptxas_keeps_registers_for_as_many_blocks_as_share_a_multiprocessor(self):
        # The device has four.
        for units, threads, blocks in ((4, 256, 1), (11, 128, 3)):
            directory = self.folder / f"bounds-{units}"
            done = self.emit("convolution", "--arch", "sm_80", "--device", DEVICE, "--units", units, "--block-threads", threads,
                             "-o", directory, "--name", "sample")
            self.assertEqual(done.returncode, 0, done.stderr)
            done = run([NVCC, "-std=c++20", "-O3", "-arch=sm_80", "--expt-relaxed-constexpr", "-ptx", "sample.cu", "-o",
                        "sample.ptx"], cwd=directory)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            bounds = re.search(r"^(?:\.visible )?\.entry \w*run_schedule.*?^\{", (directory / "sample.ptx").read_text(),
                               re.MULTILINE | re.DOTALL)[0]
            self.assertRegex(bounds, rf"\n\.maxntid {threads}\b")
            self.assertRegex(bounds, rf"\n\.minnctapersm {blocks}\n")

    @tested_programs.long
    def test_neighbours_are_read_and_stored_in_one_access(self):
        directory = self.folder / "wide"
        done = self.emit("wide_elementwise", "--arch", "sm_90", "--device", DEVICE, "--block-threads", 64, "-o", directory,
                         "--name", "sample")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run([NVCC, "-std=c++20", "-O3", "-arch=sm_90", "--expt-relaxed-constexpr", "-ptx", "sample.cu", "-o",
                    "sample.ptx"], cwd=directory)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        kernel = re.search(r"\.func \w*kernel_0\w*\(.*?\n\}", (directory / "sample.ptx").read_text(), re.DOTALL)[0]
        self.assertRegex(kernel, r"ld\.global\.v4\.")
        self.assertRegex(kernel, r"st\.global\.v4\.")
        # No tensor is read or stored by an access that may be to any memory.
        self.assertNotRegex(kernel, r"\b(ld|st)\.f32")

    def test_calls_of_libraries_compile_and_link(self):
        toolkit = pathlib.Path(NVCC).resolve().parents[1]
        for header in ("cudnn.h", "cublasLt.h"):
            if not (toolkit / "include" / header).exists():
                self.skipTest(f"{header} is not in the toolkit's folder")
        for model, architecture in CALLED:
            directory = self.folder / f"{model}-calls"
            done = self.emit(model, "--library-calls", "all", "--call-costs", "h100", "--arch", architecture, "--device", DEVICE,
                             "-o", directory, "--name", "sample")
            self.assertEqual(done.returncode, 0, done.stderr)
            libraries = [word for file, word in LIBRARIES.items() if (directory / file).exists()]
            self.assertIn(" ".join(libraries), (directory / "README.md").read_text())
            done = compile_program(directory, model, architecture, "-Xcompiler", "-Wno-deprecated-declarations", "-L",
                                   toolkit / "lib", *libraries)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class CompiledTiles(Cuda):
    def test_tiles_have_their_instructions_and_spill_nothing(self):
        for model, architecture, instructions, *options in TILED:
            directory = self.folder / f"{model}-{architecture}-{len(options)}"
            done = self.emit(model, "--arch", architecture, "--device", DEVICE.parent / "large_tasks.json", "-o", directory,
                             "--name", "sample", *(options or ("--without", "block", "--without", "packing")))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("sum_products<", (directory / "kernels.cuh").read_text(), model)
            done = run([NVCC, "-std=c++20", "-O3", f"-arch={architecture}", "--expt-relaxed-constexpr", "-Werror", "all-warnings",
                        "-ptx", "sample.cu", "-o", "sample.ptx"], cwd=directory)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            ptx = (directory / "sample.ptx").read_text()
            for one in instructions:
                self.assertIn(one, ptx, model)
            done = run([sys.executable, ROOT / "scripts" / "cuda_resources", directory])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            resources = json.loads((directory / "resources.json").read_text())
            self.assertEqual(resources["spilled_bytes"], 0, model)
            self.assertTrue([one for one in resources["functions"] if "threads" in one.get("tiles", "")], model)
            self.assertGreaterEqual(resources["blocks_by_registers"], 1, model)


class Written(Cuda):
    def test_ptx_stands_in_one_file(self):
        self.assertEqual(self.emit("softmax", "-o", self.folder / "program").returncode, 0)
        for file in (self.folder / "program").iterdir():
            if file.suffix in (".cu", ".cuh", ".h"):
                self.assertEqual("asm" in file.read_text().split(), file.name == "ptx.cuh", file.name)

    def test_the_same_model_gives_the_same_bytes(self):
        for name in ("first", "second"):
            self.assertEqual(self.emit("lstm", "-o", self.folder / name).returncode, 0)
        for file in (self.folder / "first").iterdir():
            self.assertEqual(file.read_bytes(), (self.folder / "second" / file.name).read_bytes(), file.name)

    def test_the_schedule_is_for_the_device(self):
        for words, units in ((("--arch", "sm_80"), 108), (("--arch", "sm_90"), 132), (("--arch", "sm_75"), 40),
                             (("--device", "h200", "--units", "7"), 7)):
            done = self.emit("softmax", "--plan", "--json", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["units"], units)

    def test_blocks_that_share_a_multiprocessor_share_what_it_has(self):
        """The device has three; one block alone would take more shared memory than an eighth."""
        written, device = {}, DEVICE.parent / "large_tasks.json"
        for units in (3, 4, 24):
            directory = self.folder / str(units)
            done = self.emit("tiled_attention", "--device", device, "--units", units, "-o", directory)
            self.assertEqual(done.returncode, 0, done.stderr)
            schedule = (directory / "schedule.cuh").read_text()
            written[units] = [int(re.search(rf"{name} = (\d+);", schedule)[1]) for name in
                              ("blocks_of_multiprocessor", "shared_bytes")]
        self.assertEqual([blocks for blocks, _ in written.values()], [1, 2, 8])
        # CUDA takes 1,024 bytes for each block.
        for blocks, shared in written.values():
            self.assertLessEqual(blocks * (shared + 1024), json.loads(device.read_text())["shared_bytes_per_unit"] + 1024)

    def test_wrong_options_are_answered_in_one_line(self):
        for words, part in ((("--block-threads", "48"), "a multiple of 32"),
                            (("--device", DEVICE, "--units", "33"), "9 blocks of 256 threads would share a multiprocessor"),
                            (("--device", "gtx"), "no device has this name")):
            done = self.emit("softmax", "--plan", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(part, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        done = run([LEMMA, "emit", self.folder / "softmax.onnx", "--plan", "--device", "h100"])
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--target cuda", done.stderr)


def main():
    global LEMMA
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    if NVCC is None and any(word.startswith("Compiled") for word in rest):
        print("there is no nvcc")
        return 77
    return unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    sys.exit(main())
