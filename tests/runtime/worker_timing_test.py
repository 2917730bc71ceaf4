"""The worker that times models notices a busy machine, and finds inputs on which a model runs fast enough."""

import importlib.util
import pathlib
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import environment  # noqa: E402

environment.enter_or_skip()

import numpy  # noqa: E402
import onnx.parser  # noqa: E402

SPECIFICATION = importlib.util.spec_from_file_location("worker", ROOT / "profiler" / "onnxruntime_worker.py")
WORKER = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(WORKER)
WORKER.numpy, WORKER.onnxruntime = numpy, __import__("onnxruntime")


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.model = str(self.folder / "model.onnx")
        onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>'
                                          ' g (float[n] x) => (float[n] y) { y = Exp (x) }'), self.model)

    def sets(self, *counts):
        data = self.folder / "data"
        data.write_bytes(numpy.zeros(max(counts), numpy.float32).tobytes())
        return {"data": str(data),
                "sets": [[{"name": "x", "type": "float32", "shape": [count], "offset": 0}] for count in counts]}


class Load(Folder):
    def timed(self, threads, shares):
        """With a machine whose share of waiting is `shares`, one for each time it is asked."""
        answers, real = iter(shares), WORKER.Load.share
        WORKER.Load.share = lambda self: next(answers)
        try:
            return WORKER.time_models({"models": [self.model, self.model], "threads": threads, "optimized": True,
                                       "sessions": 1, "rounds": 2, "block_seconds": 1e-4, "seconds": 60,
                                       "least_rounds": 1, **self.sets(8)})
        finally:
            WORKER.Load.share = real

    def test_several_threads_are_judged_by_processor_time_on_a_busy_machine(self):
        answer = self.timed(2, [0.5, 0.4])
        self.assertTrue(answer["by_processor_time"])
        self.assertEqual(answer["busy"], 0.4)
        self.assertEqual([len(times) for times in answer["seconds"]], [2, 2])

    def test_a_machine_that_gets_busy_is_timed_again(self):
        answer = self.timed(2, [0.0, 0.3, 0.6])
        self.assertTrue(answer["by_processor_time"])
        self.assertEqual(answer["busy"], 0.6)

    def test_an_idle_machine_is_judged_by_the_clock_on_the_wall(self):
        answer = self.timed(2, [0.0, 0.05])
        self.assertFalse(answer["by_processor_time"])

    def test_one_thread_is_always_judged_by_its_own_time(self):
        answer = self.timed(1, [0.9])
        self.assertFalse(answer["by_processor_time"])
        self.assertEqual(answer["busy"], 0.9)

    def test_waiting_is_seen(self):
        load = WORKER.Load()
        real = time.thread_time
        WORKER.time.thread_time = lambda: 0.0  # a thread that never gets a processor
        try:
            self.assertGreater(load.probe(0.001).share(), 0.99)
        finally:
            WORKER.time.thread_time = real


class First(Folder):
    def first(self, seconds, longest_run, also=None):
        """The answer where runs on the sets take these seconds; None: it cannot be run. `also`: the same of a further set."""
        asked = self.sets(*range(1, len(seconds) + 2))
        further = asked["sets"].pop()
        if also is not None:
            asked["also"] = further
        real = WORKER.seconds_of

        def scripted(_, feed):
            result = (seconds + [also])[len(feed["x"]) - 1]
            if result is None:
                raise RuntimeError("it cannot be run")
            return result

        WORKER.seconds_of = scripted
        try:
            return WORKER.first({"model": self.model, "threads": 1, "seconds": 60, "longest_run": longest_run,
                                 **asked})
        finally:
            WORKER.seconds_of = real

    def test_a_set_that_takes_too_long_is_passed_over(self):
        self.assertEqual(self.first([2.0, 0.1], 1.0)["index"], 1)

    def test_where_all_take_too_long_the_fastest_is_taken(self):
        self.assertEqual(self.first([4.0, 2.0, 3.0], 1.0)["index"], 1)

    def test_a_further_set_is_tried_where_the_first_one_is_taken(self):
        self.assertTrue(self.first([0.1, 0.1], 1.0, also=0.5)["also"])
        self.assertFalse(self.first([0.1, 0.1], 1.0, also=2.0)["also"])
        answer = self.first([2.0, 0.1], 1.0, also=0.5)
        self.assertEqual((answer["index"], answer["also"]), (1, False))
        self.assertFalse(self.first([0.1], 1.0)["also"])

    def test_what_cannot_be_run_is_passed_over(self):
        self.assertEqual(self.first([None, 0.1], 1.0)["index"], 1)
        answer = self.first([None, None], 1.0)
        self.assertEqual((answer["index"], answer["message"]), (-1, "it cannot be run"))


if __name__ == "__main__":
    unittest.main()
