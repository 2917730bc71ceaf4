#!/usr/bin/env python3
"""lemma emit --target cuda: what nvcc makes of the source, its PTX, is run on this processor (ptx_program.py), and its outputs are
compared with the interpreter's in three orders of its blocks, with ThreadSanitizer where it is there."""

import pathlib
import shutil
import subprocess
import sys
import unittest

import cuda_case
import cuda_mutants
import host_program
import ptx_mutants
import ptx_program
import ptx_text
import ptx_translation
import tested_programs

MODELS = ("lstm", "tiled_product_f16")
LARGE = ("tiled", "aligned", "batched")  # begin the names of models that are cut into tiles
WORDS = ("--no-resources", "--block-threads", 64)
INSTRUCTIONS = """
.version 9.0
.target sm_90
.address_size 64
.global .align 4 .u32 table[3] = {7, 11, 13};
.entry compute(.param .u64 compute_param_0)
{
  .reg .pred %p<4>;
  .reg .b16 %h<4>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [compute_param_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, -7;
  mov.u32 %r2, 0x89abcdef;
STATEMENTS
  ret;
}
"""
# A statement that leaves its result in %r10, and the result.
RESULTS = [
    ("shr.s32 %r10, %r1, 1;", 0xfffffffc), ("shr.u32 %r10, %r1, 28;", 15), ("shr.u32 %r10, %r1, 32;", 0),
    ("shr.s32 %r10, %r1, 40;", 0xffffffff), ("shl.b32 %r10, %r2, 8;", 0xabcdef00), ("div.s32 %r10, %r1, 2;", 0xfffffffd),
    ("rem.s32 %r10, %r1, 4;", 0xfffffffd), ("mul.hi.u32 %r10, %r2, 16;", 8), ("mul.hi.s32 %r10, %r1, 4;", 0xffffffff),
    ("mad.lo.s32 %r10, %r1, 3, 5;", 0xfffffff0), ("prmt.b32 %r10, %r2, %r1, 0x0123;", 0xefcdab89),
    ("prmt.b32 %r10, %r2, %r1, 0x8000;", 0xffefefef), ("bfe.u32 %r10, %r2, 8, 8;", 0xcd), ("bfe.s32 %r10, %r2, 8, 8;", 0xffffffcd),
    ("bfe.s32 %r10, %r2, 28, 8;", 0xfffffff8), ("bfi.b32 %r10, 3, %r2, 30, 4;", 0xc9abcdef), ("lop3.b32 %r10, %r1, %r2, 255, 0xe8;", 0x89abcdf9 | 0xef),
    ("shf.l.wrap.b32 %r10, %r1, %r2, 36;", 0x9abcdeff), ("shf.r.clamp.b32 %r10, %r1, %r2, 40;", 0x89abcdef),
    ("popc.b32 %r10, %r2;", 20), ("clz.b32 %r10, 255;", 24), ("min.s32 %r10, %r1, 3;", 0xfffffff9), ("max.u32 %r10, %r1, 3;", 0xfffffff9),
    ("dp2a.lo.u32.u32 %r10, %r2, 0x01020304, 5;", 5 + 0xcdef * 4 + 0x89ab * 3),
    ("dp4a.u32.s32 %r10, 0x01010101, 0xff020304, 0;", 8), ("abs.s32 %r10, %r1;", 7),
    ("cvt.rzi.s32.f32 %r10, 0fC0600000;", 0xfffffffd), ("cvt.rzi.u32.f32 %r10, 0fC0600000;", 0), ("cvt.rzi.s32.f32 %r10, 0f7FC00000;", 0),
    ("cvt.rzi.s32.f32 %r10, 0f7F800000;", 0x7fffffff), ("cvt.rni.s32.f32 %r10, 0f40200000;", 2), ("add.f32 %r10, 0f3F800000, 0f40000000;", 0x40400000),
    ("fma.rm.f32 %r10, 0f3F800001, 0f3F800001, 0f00000000;", 0x3f800002), ("mul.f32 %r10, 0f3F800001, 0f3F800001;", 0x3f800002),
    ("min.f32 %r10, 0f7FC00000, 0f3F800000;", 0x3f800000), ("copysign.f32 %r10, 0fBF800000, 0f40000000;", 0xc0000000),
    ("mul.ftz.f32 %r10, 0f00800000, 0f3F000000;", 0), ("cvt.sat.f32.f32 %r10, 0fBF800000;", 0), ("neg.f32 %r10, 0f00000000;", 0x80000000),
    ("setp.gt.f32 %p1, 0f7FC00000, 0f3F800000; selp.b32 %r10, 1, 2, %p1;", 2),
    ("setp.gtu.f32 %p1, 0f7FC00000, 0f3F800000; selp.b32 %r10, 1, 2, %p1;", 1),
    ("setp.ne.f32 %p1, 0f7FC00000, 0f3F800000; selp.b32 %r10, 1, 2, %p1;", 2),
    ("setp.lt.s32 %p1, %r1, 0; setp.lt.and.u32 %p2, %r1, 0, %p1; selp.b32 %r10, 1, 2, %p2;", 2),
    ("mov.b64 %rd3, {%r1, %r2}; mov.b64 {%r11, %r10}, %rd3;", 0x89abcdef), ("mov.b32 {%h1, %h2}, %r2; mov.b32 %r10, {%h2, %h1};", 0xcdef89ab),
    ("ld.global.u32 %r10, [table+8];", 13), ("cvt.s32.s8 %r10, %r2;", 0xffffffef),
    ("mov.u32 %r10, 5; setp.eq.s32 %p1, %r10, 5; @!%p1 mov.u32 %r10, 6; @%p1 bra $L_end; mov.u32 %r10, 7; $L_end:", 5),
]
MAIN = """
void ptx_compute(const void*);
#include <cstdio>
int main() {
  unsigned results[64] = {};
  unsigned* const place = results;
  host_cuda::launch(1, 32, 16, [&] { ptx_compute(&place); });
  for (int i = 0; i < COUNT; ++i) std::printf("%u\\n", results[i]);
}
"""


class CudaPtx(cuda_case.ProgramCase):
    changes = {"lstm": ("release dropped",), "wide_elementwise_f16": ("words of a store exchanged",)}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host = ptx_program.Host(cls.folder, "sm_90")

    def emitted(self, model, *words):
        """Source with tasks on all blocks, or with several tiles for a task."""
        device = ["large_tasks.json", "--units", 1] if model.startswith(LARGE) else ["device.json"]
        return self.write_program(model, f"{model}-{self.host.architecture}", "--replace", "--device", host_program.HOST_CUDA / device[0],
                                  *device[1:], *WORDS, *words)

    def disagreement_of(self, model):
        directory = self.emitted(model)
        built = directory.with_suffix(".built")
        shutil.rmtree(built, ignore_errors=True)
        return self.disagreement(shutil.copytree(directory, built))

    def test_what_nvcc_makes_agrees_with_the_interpreter(self):
        self.assertEqual([failure for failure in self.for_each(self.disagreement_of, MODELS) if failure], [])

    @tested_programs.long
    def test_changes_of_what_only_nvcc_reads_are_found(self):
        changes = []
        for model, kinds in self.changes.items():
            directory = self.emitted(model)
            for kind in kinds:
                changes.append((directory, next(site for site in ptx_mutants.sites(directory) if site[0] == kind)))
        self.for_each(lambda i: self.assert_found(*changes[i], i), range(len(changes)))


class AllPtx(CudaPtx):
    """All models, for three architectures: minutes."""

    changes = {"lstm": ("acquire dropped", "signal is a store"), "tiled_product_f16": ("rows exchanged", "wait for an older copy")}

    def test_all_models_agree(self):
        for architecture in ("sm_80", "sm_90", "sm_120"):
            self.host.architecture = architecture
            with self.subTest(architecture):
                fixed = [model for model in self.models if not model.startswith("open_")]  # the others are emitted for sizes
                self.assertEqual([failure for failure in self.for_each(self.disagreement_of, fixed) if failure], [])


class Instructions(cuda_case.ProgramCase):
    def test_instructions_do_what_the_manual_says(self):
        statements = "\n".join(f"{statement.replace('$L_end', f'$L_end{i}')} st.global.u32 [%rd2+{4 * i}], %r10;"
                               for i, (statement, _) in enumerate(RESULTS))
        text = ptx_translation.translated(INSTRUCTIONS.replace("STATEMENTS", statements), ["compute"])
        program = self.write_program("softmax", "headers", "--units", 4, *WORDS)  # for the headers that host_cuda takes from there
        shutil.copy(host_program.HOST_CUDA / "ptx.cuh", program / "ptx.cuh")
        (program / "instructions.cpp").write_text(text + MAIN.replace("COUNT", str(len(RESULTS))))
        words = [host_program.compiler(), *self.host.headers("plain"), "-w", "-I", ".", "instructions.cpp", *self.host.objects("plain", False)]
        built = host_program.run([*words, "-o", "instructions"], cwd=program)
        self.assertEqual(built.returncode, 0, built.stderr)
        done = host_program.run([program / "instructions"])
        self.assertEqual(done.returncode, 0, done.stderr)
        got = list(map(int, done.stdout.split()))
        for (statement, expected), number in zip(RESULTS, got, strict=True):
            self.assertEqual(hex(number), hex(expected), statement)

    def test_what_is_not_known_is_an_error(self):
        for statement in ("vote.sync.any.pred %p1, %p2, -1;", "add.sat.s32 %r10, %r1, %r2;", "ld.volatile.u32 %r10, [%rd2];",
                          "mov.u32 %r10, unknown_name;", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd1}, {%rd1}, {%rd1}, {%rd1};",
                          "bar.sync 1;", "cvt.rn.satfinite.f16.f32 %h1, %r1;", "atom.add.u32 %r10, [%rd2], 1;"):
            with self.subTest(statement), self.assertRaisesRegex(ptx_text.Unknown, statement.split()[0].rstrip(";")
                                                                 if "unknown" not in statement else "unknown_name"):
                ptx_translation.translated(INSTRUCTIONS.replace("STATEMENTS", statement), ["compute"])


if __name__ == "__main__":
    if ptx_program.compiler() is None:
        print("skipped: there is no nvcc")
        sys.exit(77)
    sys.exit(cuda_case.main(__doc__))
