#!/usr/bin/env python3
"""lemma emit --target cuda: weights that blocks keep in shared memory across the steps of a recurrent network. The source is
compiled for this processor (host_cuda/), and its outputs are compared with the interpreter's in three orders of its blocks,
with ThreadSanitizer where it is there."""

import itertools
import json
import sys

import cuda_case
import cuda_models
import cuda_mutants
import host_program

# Multiprocessors: elsewhere, blocks keep no weights.
DEVICE = host_program.HOST_CUDA / "multiprocessors.json"
WORDS = ("--device", DEVICE, "--block-threads", 64)
# Each step by itself.
APART = [word for scheme in ("packing", "warp", "block") for word in ("--without", scheme)]
KEEPING = ("lstm", "recurrence", "recurrence_f16", "recurrence_bf16")
CHANGES = [("kept weights not copied", 0), ("kept weights not waited for", 0), ("last of kept weights left out", 0),
           ("rows of kept weights moved", 0), ("kept weights not read", 0), ("kept weights read elsewhere", 0),
           ("kept weights read elsewhere", -1), ("barrier of the block dropped", 0)]


class CudaResidents(cuda_case.ProgramCase):
    numbers = itertools.count()

    def agreement(self, model, *words, keeps=True, sizes=1):
        """Nothing if the program of a model keeps weights, or keeps none, and agrees in all orders, else what went wrong."""
        directory = self.write_program(model, f"{model}-{next(self.numbers)}", *words)
        if cuda_mutants.keeps_weights((directory / "schedule.cuh").read_text()) != keeps:
            return f"{model} {words}: weights are {'not ' if keeps else ''}kept"
        failure = self.disagreement(directory, 2 * sizes)
        return f"{words}: {failure}" if failure else None

    def test_programs_with_kept_weights_agree_with_the_interpreter_in_every_order(self):
        variants = [(model, *WORDS) for model in KEEPING]
        variants += [("lstm", *WORDS, "--no-fusion"), ("lstm", *WORDS, *APART, "--units", 3, "--policy", "waves"),
                     ("gru", *WORDS, *APART), ("recurrence", "--device", DEVICE, "--units", 2, "--block-threads", 32)]
        failures = [each for each in self.for_each(lambda words: self.agreement(*words), variants) if each]
        self.assertEqual(failures, [])

    def test_weights_that_cannot_be_kept_are_read_where_they_are(self):
        variants = [("lstm", *WORDS, "--no-resident-weights"), ("products", *WORDS),
                    ("lstm", "--device", host_program.HOST_CUDA / "device.json", "--block-threads", 64)]
        failures = [each for each in self.for_each(lambda words: self.agreement(*words, keeps=False), variants) if each]
        self.assertEqual(failures, [])
        # Biases have whole words.
        self.assertIsNone(self.disagreement(self.write_program("recurrence_of_odd_rows_f16", "odd-rows", *WORDS)))

    def test_little_memory_has_some_of_them(self):
        """There is room for the last columns, of which there are fewer. The other tasks read the device's memory."""
        description = dict(json.loads(DEVICE.read_text()), shared_bytes_per_unit=2800)
        (self.folder / "little.json").write_text(json.dumps(description))
        words = ("--device", self.folder / "little.json", "--block-threads", 64, *APART)
        self.assertIsNone(self.agreement("recurrence", *words))
        planned = self.planned("recurrence", *words)
        self.assertGreater(planned["tasks_with_residents"], 0)
        self.assertLess(planned["tasks_with_residents"], planned["tasks"])

    def test_each_of_several_sizes_keeps_its_own(self):
        for words in ((), ("--no-resident-weights",)):
            self.assertIsNone(self.agreement("open_recurrence", *WORDS, "--shape", "h0:1/2/9,44", *words, keeps=not words,
                                             sizes=3))

    def test_kernels_between_calls_keep_weights(self):
        for words in ((), ("--no-resident-weights",)):
            self.assertIsNone(self.agreement("repeated_bias", *WORDS, "--library-calls", "all", "--call-costs", "h100", *APART,
                                             "--without", "thread", *words, keeps=not words))

    def planned(self, model, *words):
        done = self.run_emit(model, "--plan", "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_plan_says_what_is_saved(self):
        kept, read = (self.planned("lstm", *WORDS, *APART, *words) for words in ((), ("--no-resident-weights",)))
        self.assertGreater(kept["tasks_with_residents"], 8)
        self.assertGreater(kept["resident_weight_bytes"], 0)
        self.assertEqual(read["resident_weight_bytes"], 0)
        self.assertLess(kept["bytes_read"], read["bytes_read"])
        self.assertLess(kept["planned_seconds"], read["planned_seconds"])

    def test_changes_of_the_text_are_found(self):
        if not self.host.sanitizer:
            self.skipTest("there is no ThreadSanitizer")
        directory = self.write_program("lstm", "to-change", *WORDS)
        self.assertIsNone(self.host.build(directory, "sample"))
        sites = cuda_mutants.sites(directory)
        chosen = [[site for site in sites if site[0] == kind][number] for kind, number in CHANGES]
        self.for_each(lambda number: self.assert_found(directory, chosen[number], number), range(len(chosen)))


if __name__ == "__main__":
    sys.exit(cuda_case.main(__doc__))
