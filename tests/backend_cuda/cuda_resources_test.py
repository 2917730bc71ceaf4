#!/usr/bin/env python3
"""What nvcc made of functions (scripts/cuda_resources) is kept in the profile database, and what spilled registers or does not
fit is not chosen again. A program in place of nvcc says what is to be said."""

import json
import os
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
sys.path.insert(0, str(ROOT / "scripts"))
import device_code

# A loop that loads twice 16 bytes before it uses them, one that does not know where memory is, and code without a loop.
SASS = """
_ZN1a7phase_0EPKf:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0020*/                   LDG.E.128 R8, desc[UR4][R2.64+0x200] ;
        /*0030*/                   FADD R12, R4, R8 ;
        /*0040*/                   LDG.E.U16 R5, desc[UR4][R2.64+0x400] ;
        /*0050*/                   FADD R12, R12, R5 ;
        /*0060*/              @!P0 BRA `(.L_x_0) ;
_ZN1a8kernel_1EPKf:
.L_x_1:
        /*0010*/                   LD.E R4, [R2] ;
        /*0020*/                   STS [R9], R4 ;
        /*0030*/               @P1 BRA `(.L_x_1) ;
_ZN1a8kernel_2EPKf:
        /*0010*/                   LDG.E R4, desc[UR4][R2.64] ;
        /*0020*/                   EXIT ;
"""
PTX = """
.func _ZN1a7phase_0EPKf(
\t.param .b64 x
)
{
\tld.param.u64 \t%rd1, [x];
$L__BB0_1:
\tld.global.v4.f32 \t{%f1, %f2, %f3, %f4}, [%rd1];
\tld.global.v4.f32 \t{%f5, %f6, %f7, %f8}, [%rd1+512];
\tadd.f32 \t%f9, %f1, %f5;
\tld.global.u16 \t%rs1, [%rd1+1024];
\tcvt.f32.f16 \t%f10, %rs1;
\t@%p1 bra \t$L__BB0_1;
\tret;
}
.visible .entry _Z12run_schedulev(
)
{
$L__BB1_1:
\tld.u32 \t%r1, [%rd1];
\tbra.uni \t$L__BB1_1;
}
"""
FACTS = {"widest_load_bytes": 16, "narrowest_load_bytes": 2, "bytes_in_flight": 32, "loop_instructions": 6, "loop_bytes": 34,
         "loads_of_unknown_memory": 0}
# Functions spill whose texts have the word in the file "spills" beside it; the version is that of the file "version".
COMPILER = """#!/usr/bin/env python3
import pathlib, re, sys
here = pathlib.Path(__file__).parent
if sys.argv[1:] == ["--version"]:
    print("in place of nvcc\\n" + (here / "version").read_text())
    sys.exit()
word = (here / "spills").read_text()
source = pathlib.Path(next(each for each in sys.argv[1:] if each.endswith(".cu"))).parent / "kernels.cuh"
for name, text in re.findall(r"^__device__ __noinline__ void (\\w+)(\\(.*?^\\}\\n)", source.read_text(), re.MULTILINE | re.DOTALL):
    bytes_spilled = 8 if word and word in text else 0
    print(f"ptxas info    : Function properties for _ZN1a{len(name)}{name}Ev\\n    0 bytes stack frame, {bytes_spilled} bytes spill "
          f"stores, {bytes_spilled} bytes spill loads", file=sys.stderr)
print("ptxas info    : Function properties for _Z12run_schedulev\\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill "
      "loads\\nptxas info    : Used 90 registers, used 1 barriers", file=sys.stderr)
"""


def tiles_of(directory):
    return set(re.findall(r"// Tiles: (.*)", (directory / "kernels.cuh").read_text()))


def files_of(directory):
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.name != "resources.json"}


class Code(unittest.TestCase):
    def test_loops_of_sass_have_widths_and_bytes_in_flight(self):
        facts = device_code.facts_of(device_code.sass_functions(SASS))
        self.assertEqual(facts, {"phase_0": FACTS, "kernel_1": {
            "widest_load_bytes": 4, "narrowest_load_bytes": 4, "bytes_in_flight": 4, "loop_instructions": 3, "loop_bytes": 4,
            "loads_of_unknown_memory": 1}})

    def test_loops_of_ptx_have_the_same(self):
        self.assertEqual(device_code.facts_of(device_code.ptx_functions(PTX)), {"phase_0": FACTS})


class Resources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-cuda-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.nvcc = self.folder / "nvcc"
        self.nvcc.write_text(COMPILER)
        self.nvcc.chmod(0o755)
        self.database = self.folder / "profile.sqlite"
        self.say("")

    def say(self, spills, version="release 1"):
        (self.folder / "spills").write_text(spills)
        (self.folder / "version").write_text(version)

    def call(self, *words):
        environment = dict(os.environ, CUDACXX=str(self.nvcc), LEMMA_PROFILE=str(self.database))
        return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, env=environment, check=False)

    def run_it(self, *words, code=0):
        done = self.call(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def run_emit(self, model, name, *words):
        file = self.folder / f"{model}.onnx"
        if not file.exists():
            file.write_bytes(cuda_models.MODELS[model]())
        return self.call(LEMMA, "emit", file, "--target", "cuda", "--device", "h100", "--policy", "critical-path", "-o",
                        self.folder / str(name), "--name", "sample", *words)

    def emit(self, model, name, *words, code=0):
        """The directory; where there is none, the line that says why."""
        done = self.run_emit(model, name, *words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        if code != 0:
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            return done.stderr
        self.notes = done.stderr
        return self.folder / name

    def keep(self, directory):
        return self.run_it(sys.executable, ROOT / "scripts" / "cuda_resources", directory, "--database", self.database, "--lemma", LEMMA)

    def test_another_tile_is_chosen_where_one_spilled(self):
        first = self.emit("tiled_product", "first", "--without", "block")
        (tiles,) = tiles_of(first)
        self.say(f"// Tiles: {tiles}\n")
        self.keep(first)
        second = self.emit("tiled_product", "second", "--without", "block")
        self.assertIn("1 tiles", self.notes)
        (others,) = tiles_of(second)
        self.assertNotEqual(others, tiles)
        again = self.emit("tiled_product", "again", "--without", "block")
        self.assertEqual(files_of(again), files_of(second))
        # The next one spills, too: a third one is chosen.
        self.say(f"// Tiles: {others}\n")
        self.keep(second)
        (third,) = tiles_of(self.emit("tiled_product", "third", "--without", "block"))
        self.assertNotIn(third, (tiles, others))
        self.assertEqual(files_of(self.emit("tiled_product", "all", "--without", "block", "--no-resources")), files_of(first))

    def test_facts_are_of_an_architecture_a_compiler_and_a_number_of_threads(self):
        def variants(prefix):
            return [files_of(self.emit("tiled_product", f"{prefix}-{i}", *words)) for i, words in enumerate((
                ("--arch", "sm_80"), ("--compiler", "release 2"), ("--block-threads", "128")))]

        before = variants("before")
        first = self.emit("tiled_product", "first")
        self.say("// Tiles: ")
        self.keep(first)
        self.assertEqual(variants("after"), before)
        self.say("", version="release 2")
        self.assertEqual(files_of(self.emit("tiled_product", "other")), files_of(first))
        self.assertNotEqual(files_of(self.emit("tiled_product", "named", "--compiler", "release 1")), files_of(first))

    def test_what_spills_nothing_changes_nothing(self):
        first = self.emit("tiled_product", "first")
        self.keep(first)
        self.assertEqual(files_of(self.emit("tiled_product", "second")), files_of(first))
        listed = self.run_it(LEMMA, "profile", "--list").stdout
        self.assertRegex(listed, r"sm_90 +release 1 +\w+ +256 +\d+ +0")

    def test_other_cuts_are_chosen_where_functions_without_tiles_spill(self):
        names = [self.emit("softmax", "0")]
        self.say("Threads threads")  # all functions
        while True:
            self.keep(names[-1])
            done = self.run_emit("softmax", len(names))
            if done.returncode != 0:
                break
            self.assertIn("cuts of operators", done.stderr)
            names.append(self.folder / str(len(names)))
            self.assertNotIn(files_of(names[-1])["kernels.cuh"], [files_of(each)["kernels.cuh"] for each in names[:-1]])
        self.assertGreater(len(names), 2)
        message = self.emit("softmax", "none", code=3)
        self.assertIn("spills 16 bytes of registers, and there is no other way to compute it; --no-resources", message)
        self.assertFalse((self.folder / "none").exists())
        self.assertEqual(files_of(self.emit("softmax", "all", "--no-resources")), files_of(names[0]))

    def test_fewer_threads_are_taken_where_the_kernel_does_not_fit(self):
        first = self.emit("softmax", "first", "--block-threads", "512")
        self.keep(first)
        file = self.folder / "resources.json"
        resources = json.loads((first / "resources.json").read_text())
        self.assertEqual(resources["blocks_by_registers"], 1)
        file.write_text(json.dumps(dict(resources, blocks=0)))
        self.run_it(LEMMA, "profile", "--resources", file)
        second = self.emit("softmax", "second", "--block-threads", "512")
        self.assertIn("block_threads = 256;", (second / "schedule.cuh").read_text())
        self.assertEqual(files_of(second), files_of(self.emit("softmax", "third", "--block-threads", "256")))
        self.keep(second)
        file.write_text(json.dumps(dict(json.loads((second / "resources.json").read_text()), blocks=0)))
        self.run_it(LEMMA, "profile", "--resources", file)
        self.assertIn("does not fit on a multiprocessor", self.emit("softmax", "fourth", code=3))

    def test_without_code_it_says_so(self):
        """The program in place of nvcc makes none."""
        first = self.emit("softmax", "first")
        done = self.keep(first)
        self.assertIn("loads and instructions: none: nvcc left neither code", done.stdout)
        self.assertFalse([each for each in json.loads((first / "resources.json").read_text())["functions"] if "bytes_in_flight" in each])

    def test_plans_take_notice(self):
        first = self.emit("tiled_product", "first", "--without", "block", "--without", "warp", "--without", "packing")
        words = (LEMMA, "schedule", self.folder / "tiled_product.onnx", "--device", "h100", "--policy", "critical-path", "--json")
        before = json.loads(self.run_it(*words).stdout)["schedule"]["seconds"]
        self.say("// Tiles: ")
        self.keep(first)
        self.assertGreater(json.loads(self.run_it(*words).stdout)["schedule"]["seconds"], before)
        self.assertEqual(json.loads(self.run_it(*words, "--no-resources").stdout)["schedule"]["seconds"], before)

    def test_a_damaged_database_gives_one_line(self):
        self.database.write_bytes(b"x" * 5000)
        self.assertIn("profile.sqlite: file is not a database", self.emit("softmax", "none", code=2))
        self.emit("softmax", "some", "--no-resources")

    def test_damaged_resources_are_refused(self):
        file = self.folder / "resources.json"
        for text in ("", "[]", "{}", '{"architecture": "sm_90", "functions": [{"digest": 3}]}'):
            file.write_text(text)
            done = self.run_it(LEMMA, "profile", "--resources", file, code=2)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn("no file of scripts/cuda_resources", done.stderr)

    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_facts_of_nvcc_are_for_the_program_that_was_compiled(self):
        self.nvcc = NVCC
        first = self.emit("tiled_product", "first")
        self.keep(first)
        resources = json.loads((first / "resources.json").read_text())
        functions = [each for each in resources["functions"] if each["name"].startswith(("kernel", "phase", "run_schedule"))]
        self.assertTrue(all("digest" in each for each in functions), functions)
        self.assertRegex(resources["code"], "^(SASS|PTX)")
        for each in functions:
            each["spill_store_bytes"] = 4 if "tiles" in each else 0
        file = self.folder / "resources.json"
        file.write_text(json.dumps(resources))
        self.run_it(LEMMA, "profile", "--resources", file)
        self.assertFalse(tiles_of(self.emit("tiled_product", "second")) & tiles_of(first))


def main():
    global LEMMA
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    return unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    sys.exit(main())
