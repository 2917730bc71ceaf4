#!/usr/bin/env python3
"""Products in tiles (lemma emit --target cuda): tiled_products.cuh against plain loops, and models whose products and
convolutions are computed in tiles against the interpreter, on this processor (host_cuda/)."""

import itertools
import json
import pathlib
import re
import shutil
import sys

import cuda_case
import cuda_mutants
import host_program
import tested_programs

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LARGE_TASKS = HERE / "host_cuda" / "large_tasks.json"
UNSTITCHED = ("--without", "block", "--without", "warp", "--without", "packing")
IN_BLOCKS = ("--without", "warp")
F32, MATRIX, IN_BLOCK = "= ThreadTiles<", "= MatrixTiles<", "window_factor<"

# A model, what its text has, and options.
SAMPLES = [
    ("tiled_groups", F32), ("batched_product", F32, *UNSTITCHED), ("tiled_product_f16", F32, "--arch", "sm_75", "--units", 1),
    ("tiled_groups_f16", MATRIX), ("tiled_attention_bf16", IN_BLOCK, *IN_BLOCKS), ("tiled_convolution", MATRIX, "--tf32"),
]
OTHERS = [
    ("tiled_product", F32), ("tiled_product", F32, "--units", 1), ("tiled_convolution", F32), ("aligned_product", F32, *UNSTITCHED),
    ("tiled_product_f16", MATRIX, "--units", 1), ("aligned_product_bf16", MATRIX, *UNSTITCHED),
    ("batched_product_f16", MATRIX, *UNSTITCHED), ("tiled_convolution_bf16", MATRIX), ("batched_product", IN_BLOCK, *IN_BLOCKS),
    ("tiled_attention", IN_BLOCK, *IN_BLOCKS), ("tiled_product", MATRIX, "--tf32", "--units", 1),
]
# (model, kind, which one): each has an effect in these programs.
CHANGES = [("tiled_product", "barrier of tiles dropped", i) for i in range(4)] + [
    ("tiled_product", "wait for copies dropped", 0), ("tiled_product", "wait for an older copy", 0),
    ("tiled_product", "copies not committed", 0), ("tiled_product", "tiles brought too early", 0),
    ("tiled_product", "terms beyond the last", 0), ("tiled_product", "tile of results left out", 0),
    ("tiled_product_f16", "barrier of tiles dropped", 0), ("tiled_product_f16", "wait for an older copy", 0)]


class Tiles(cuda_case.ProgramCase):
    numbers = itertools.count()

    def emit(self, model, *words, device=LARGE_TASKS, threads=64):
        return self.write_program(model, f"{model}-{next(self.numbers)}", "--device", device, "--block-threads", threads, *words)

    def agreement(self, model, has, *words, threads=64):
        """Nothing if the program of a model agrees in all orders, else what went wrong."""
        directory = self.emit(model, *words, threads=threads)
        if has not in (directory / "kernels.cuh").read_text():
            return f"{model} {words}: no '{has}'"
        failure = self.disagreement(directory)
        return f"{words}: {failure}" if failure else None

    def all_agree(self, variants):
        failures = [each for each in self.for_each(lambda one: self.agreement(*one), variants) if each]
        self.assertEqual(failures, [])


class CudaTiles(Tiles):
    @tested_programs.long
    def test_sums_agree_with_plain_loops(self):
        work = self.folder / "sums"
        work.mkdir()
        parts = ROOT / "backend_cuda" / "emit_cuda" / "parts"
        for name in ("run_time.cuh", "tiled_products.cuh"):
            shutil.copy(parts / f"{name}.in", work / name)
        for file in (ROOT / "base" / "half_precision.h", ROOT / "backend" / "emit" / "parts" / "half_types.h",
                     HERE / "tiled_products_check.cu", host_program.HOST_CUDA / "ptx.cuh"):
            shutil.copy(file, work)
        words = [host_program.compiler(), *self.host.headers("checked"), "-Wall",
                 "-Wextra", "-Werror", "-Wno-unused-function", "-x", "c++", "tiled_products_check.cu", "-x", "none",
                 *self.host.objects("checked", False), "-o", "check"]
        done = host_program.run(words, cwd=work)
        self.assertEqual(done.returncode, 0, done.stderr)
        code, output = self.host.run_checked([work / "check"], 500, HOST_CUDA_ORDER="random:1")
        self.assertEqual((code, output), (0, ""))

    @tested_programs.long
    def test_models_agree_with_the_interpreter(self):
        self.all_agree(SAMPLES)

    @tested_programs.long
    def test_threads_that_are_no_power_of_two_share_tiles(self):
        self.assertIsNone(self.agreement("tiled_product_f16", MATRIX, "--units", 1, threads=160))

    def test_rows_and_columns_of_several_axes_have_names_of_their_own(self):
        text = (self.emit("tiled_products_of_axes") / "kernels.cuh").read_text()
        for name in ("row_rest", "column_rest"):
            self.assertIn(f"std::uint32_t {name} = ", text)
        self.assertIsNone(self.agreement("tiled_products_of_axes", F32))

    def test_few_rows_have_no_tiles(self):
        for model in ("vector_product", "depthwise_convolution", "softmax"):
            self.assertNotIn("sum_products<", (self.emit(model) / "kernels.cuh").read_text(), model)

    def test_copies_are_as_wide_as_memory_allows(self):
        for model, copies in (("aligned_product", ("Order::terms, 4", "Order::lines, 4")),
                              ("aligned_product_f16", ("Order::terms, 8", "Order::lines, 8")),
                              ("batched_product", ("Order::terms, 4", "Order::lines, 1", "Order::lines, 2")),
                              ("tiled_convolution", ("Order::terms, 1", "Order::lines, 1"))):
            text = (self.emit(model, *UNSTITCHED) / "kernels.cuh").read_text()
            for one in copies:
                self.assertIn(f"tensor_factor<{one}>(", text, model)

    def test_results_are_stored_16_bytes_at_a_time_where_all_that_is_read_with_them_lies_so(self):
        for model, widths in (("tiled_product", {"4"}), ("aligned_product_f16", {"", "8"}), ("tiled_product_f16", {"4"}),
                              ("tiled_convolution", {""})):
            text = (self.emit(model, "--units", 1) / "kernels.cuh").read_text()
            self.assertEqual(set(re.findall(r"sum_products<Results, \d, \d+(?:, (\d+))?>", text)), widths, model)

    def test_slots_and_tiles_share_the_memory_of_a_block(self):
        description = json.loads(LARGE_TASKS.read_text())
        file = self.folder / "little.json"
        for room in (30000, 17000, 6000, 2000):
            file.write_text(json.dumps(dict(description, shared_bytes_per_unit=room)))
            directory = self.emit("tiled_attention", *IN_BLOCKS, device=file)
            shared = int(re.search(r"shared_bytes = (\d+)", (directory / "schedule.cuh").read_text())[1])
            self.assertLessEqual(shared, room)
            tiles = re.findall(r"product_bytes<Results, \d>\(\) <= (\d+)", (directory / "kernels.cuh").read_text())
            self.assertGreater(shared, max(map(int, tiles), default=0))

    def test_tiles_that_spill_are_not_chosen(self):
        def tiles(directory):
            return set(re.findall(r"// Tiles: (.*)", (directory / "kernels.cuh").read_text()))

        first = tiles(self.emit("tiled_product"))
        self.assertTrue(first)
        file = self.folder / "resources.json"
        functions = [{"name": "kernel_0", "spill_store_bytes": 8, "tiles": one} for one in first]
        for resources, expected in (({"architecture": "sm_90", "functions": functions}, False),
                                    ({"architecture": "sm_80", "functions": functions}, True),
                                    ({"architecture": "sm_90", "functions": [dict(functions[0], spill_store_bytes=0)]}, True)):
            file.write_text(json.dumps(resources))
            second = tiles(self.emit("tiled_product", "--resources", file))
            self.assertTrue(second)
            self.assertEqual(second == first, expected, resources)
            self.assertEqual(bool(second & first), expected, resources)
        file.write_text("[]")
        done = self.run_emit("tiled_product", "--plan", "--resources", file)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no file of scripts/cuda_resources", done.stderr)

    def test_tf32_is_asked_for(self):
        self.assertNotIn(MATRIX, (self.emit("tiled_product") / "kernels.cuh").read_text())
        done = self.run_emit("tiled_product", "--plan", "--arch", "sm_75", "--tf32")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--tf32", done.stderr)
        done = host_program.run([self.lemma, "emit", self.folder / "tiled_product.onnx", "--plan", "--tf32"])
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--tf32", done.stderr)

    @tested_programs.long
    def test_changes_of_the_text_are_found(self):
        if not self.host.sanitizer:
            self.skipTest("there is no ThreadSanitizer")
        directories = {model: self.emit(model, "--units", 1) for model in ("tiled_product", "tiled_product_f16")}
        for directory in directories.values():
            self.assertIsNone(self.host.build(directory, "sample"))

        def is_found(number):
            model, kind, which = CHANGES[number]
            site = [one for one in cuda_mutants.sites(directories[model]) if one[0] == kind][which]
            self.assert_found(directories[model], site, number)

        self.for_each(is_found, range(len(CHANGES)))


class OtherTiles(Tiles):
    """What takes minutes."""

    def test_models_agree_with_the_interpreter(self):
        self.all_agree(OTHERS)

    def test_threads_that_are_no_power_of_two_share_tiles(self):
        self.assertIsNone(self.agreement("tiled_product", F32, "--units", 1, threads=96))


if __name__ == "__main__":
    sys.exit(cuda_case.main(__doc__))
