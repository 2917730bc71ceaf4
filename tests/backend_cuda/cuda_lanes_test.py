#!/usr/bin/env python3
"""lemma emit --target cuda: elements whose terms neighbouring lanes share. The source is compiled for this processor
(host_cuda/), and its outputs are compared with the interpreter's in three orders of its blocks, with ThreadSanitizer where it
is there."""

import re
import sys

import cuda_case
import cuda_mutants
import host_program
import tested_programs

WORDS = ("--device", host_program.HOST_CUDA / "large_tasks.json", "--units", 1, "--block-threads", 64, "--without", "packing")
KINDS = ("terms left out", "all lanes store", "lanes not put together", "half of the lanes put together",
         "lanes of other elements put together")


def lanes_of(directory):
    return [int(count) for count in re.findall(r"unsigned lanes = (\d+);", (directory / "kernels.cuh").read_text())]


class CudaLanes(cuda_case.ProgramCase):
    def test_groups_of_every_size_agree_with_the_interpreter(self):
        # Eight elements of f16 are read together: eight lanes read a whole line of memory.
        for model, sizes in (("narrow_products", [2, 4, 8, 16, 32]), ("narrow_products_f16", [2, 4, 8, 16])):
            directory = self.write_program(model, model, *WORDS)
            self.assertEqual(sorted(set(lanes_of(directory))), sizes, model)
            self.assertIsNone(self.disagreement(directory))

    def test_lanes_read_along_the_terms_where_these_lie_together(self):
        directory = self.write_program("turned_product", "turned", *WORDS)
        self.assertEqual([count >= 4 for count in lanes_of(directory)], [True])
        self.assertIsNone(self.disagreement(directory))
        sites = cuda_mutants.sites(directory)
        self.assert_found(directory, next(site for site in sites if site[0] == "threads take too few elements"), "turned")

    @tested_programs.long
    def test_changes_are_found(self):
        directory = self.write_program("narrow_products", "changed", *WORDS)
        self.assertIsNone(self.host.build(directory, "sample"))
        sites = cuda_mutants.sites(directory)
        chosen = []
        for kind in KINDS:
            of_kind = [site for site in sites if site[0] == kind]
            self.assertTrue(of_kind, kind)
            # Whole warps have no other elements' lanes.
            chosen.append(of_kind[-1] if kind == "lanes of other elements put together" else of_kind[0])
        self.for_each(lambda i: self.assert_found(directory, chosen[i], i), range(len(chosen)))


if __name__ == "__main__":
    sys.exit(cuda_case.main(__doc__))
