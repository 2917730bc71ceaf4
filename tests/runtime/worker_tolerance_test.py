"""The second judge allows what check/tolerance.h says."""

import importlib.util
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import environment  # noqa: E402

environment.enter_or_skip()

import numpy  # noqa: E402

SPECIFICATION = importlib.util.spec_from_file_location("worker", ROOT / "profiler" / "onnxruntime_worker.py")
WORKER = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(WORKER)

SINGLE = {"relative": 1e-4, "absolute": 1e-5, "of_largest": False, "rounding": 32 * 2.0**-24}
HALF = {"relative": 32 * 2.0**-11, "absolute": 1e-5, "of_largest": True, "rounding": 0}


def agrees(expected, position, error, request):
    before = numpy.array(expected, dtype=numpy.float64)
    after = before.copy()
    after[position] += error
    return WORKER.difference("y", before, after, request)[0] == ""


class WorkerTolerance(unittest.TestCase):
    def test_elements_may_cancel(self):
        elements = [100, -90, 110, 1e-3, 95]
        self.assertTrue(agrees(elements, 3, 1.5e-4, SINGLE))
        self.assertFalse(agrees(elements, 3, 1e-3, SINGLE))

    def test_one_huge_element_does_not_excuse_the_others(self):
        elements = [0.5, -1e9, 0.25, 1, 0.75, 0, 0, 0, 0, 0, 0]
        self.assertFalse(agrees(elements, 0, 1e-3, SINGLE))
        self.assertTrue(agrees(elements, 1, 1e4, SINGLE))

    def test_narrow_types_count_for_the_largest_element(self):
        self.assertTrue(agrees([1, 0.001], 1, 0.01, HALF))
        self.assertFalse(agrees([1, 0.001], 1, 0.01, SINGLE))

    def test_zeros_and_infinities(self):
        self.assertTrue(agrees([0, 0, numpy.inf], 0, 1e-6, SINGLE))
        self.assertFalse(agrees([0, 0, numpy.inf], 0, 1e-4, SINGLE))

    def test_small_outputs_are_compared(self):
        self.assertFalse(agrees([1e-7, 2e-7, -3e-7], 1, 1e-8, SINGLE))
        self.assertTrue(agrees([1e-7, 2e-7, -3e-7], 1, 1e-12, SINGLE))

    def test_what_is_no_tensor_is_compared(self):
        one = [numpy.array([1.0, 2.0]), {"a": 0.5, "b": 0.25}, "text", None, 3]
        self.assertEqual(WORKER.difference_of_values("y", one, list(one), SINGLE)[0], "")
        for index, other in enumerate((numpy.array([1.0, 2.5]), {"a": 0.5, "b": 0.5}, "texts", 0, 4)):
            changed = one[:index] + [other] + one[index + 1:]
            self.assertIn(f"y[{index}]", WORKER.difference_of_values("y", one, changed, SINGLE)[0])
        self.assertNotEqual(WORKER.difference_of_values("y", one, one[:-1], SINGLE)[0], "")
        self.assertNotEqual(WORKER.difference_of_values("y", {"a": 1.0}, {"b": 1.0}, SINGLE)[0], "")

    def test_what_rounding_of_the_inputs_moves_is_allowed(self):
        """y = (x + 1e6) - 1e6 loses what x has behind the point; z = x does not."""
        class Model:
            def run(self, names, feed):
                x = feed["x"]
                return [(x + numpy.float32(1e6)) - numpy.float32(1e6), x]

        x = numpy.array([0.1, 1234.5678, 3e6], dtype=numpy.float32)
        expected = Model().run(["y", "z"], {"x": x})
        moved = WORKER.moved_by_rounding(Model(), ["y", "z"], {"x": x}, expected)
        self.assertEqual(moved[0][0], 0)  # far below what is lost
        self.assertGreater(moved[0][2], 0.1)
        self.assertLess(moved[1].max(), 2)
        other = expected[1].copy()
        other[1] += 0.5
        self.assertNotEqual(WORKER.difference("z", expected[1], other, SINGLE, moved[1])[0], "")
        other = expected[0].copy()
        other[2] += 1
        self.assertEqual(WORKER.difference("y", expected[0], other, SINGLE, moved[0])[0], "")

    def test_elements_on_a_coarse_grid_may_jump_as_others_were_seen_to(self):
        grid = 2.0**-24
        elements = grid * numpy.array([1, 2, 3, 2, 1, 2, 2, 3], dtype=numpy.float64)
        moved = grid * numpy.array([0, 0, 1, 0, 0, 1, 0, 0], dtype=numpy.float64)
        other = elements.copy()
        other[1] += grid
        self.assertEqual(WORKER.difference("y", elements, other, SINGLE, moved)[0], "")
        self.assertNotEqual(WORKER.difference("y", elements, other, SINGLE, numpy.zeros(8))[0], "")
        other[1] += grid  # two steps
        self.assertNotEqual(WORKER.difference("y", elements, other, SINGLE, moved)[0], "")

    def test_allowances_hold_for_each_element_and_for_a_few_jumps(self):
        expected = numpy.array([1.0, -2.0, numpy.nan, numpy.inf], dtype=numpy.float32)
        allowed = {"relative": 0.01, "common": 0.1, "jump": 0.5, "jumps": 1}
        within = lambda actual: WORKER.is_within(expected, numpy.array(actual, dtype=numpy.float32), allowed)
        self.assertTrue(within([1.1, -2.1, numpy.nan, numpy.inf]))
        self.assertTrue(within([1.4, -2.1, numpy.nan, numpy.inf]))
        self.assertFalse(within([1.4, -2.4, numpy.nan, numpy.inf]))  # two jumps
        self.assertFalse(within([1.6, -2.0, numpy.nan, numpy.inf]))  # too far
        self.assertFalse(within([1.0, -2.0, 0.0, numpy.inf]))
        self.assertFalse(within([1.0, -2.0, numpy.nan, -numpy.inf]))
        self.assertFalse(WORKER.is_within(expected, expected.astype(numpy.float64), allowed))

    def test_a_jump_excuses_no_other_result(self):
        """Of inputs near the jump of a function, rounding moves everything."""
        elements = numpy.ones(4)
        other = numpy.array([1.0, 1.0, 2.0, 1.0])
        moved = numpy.ones(4)
        self.assertNotEqual(WORKER.difference("y", elements, other, SINGLE, moved)[0], "")
        other[2] = 1.009
        self.assertEqual(WORKER.difference("y", elements, other, SINGLE, moved)[0], "")


class Model:
    """Stands for a session: its outputs are drawn anew in each run, or what they are."""

    def __init__(self, outputs):
        self.outputs = outputs

    def get_outputs(self):
        return [type("Output", (), {"name": name}) for name in self.outputs]

    def run(self, names, feed):
        values = [self.outputs[name] for name in names]
        return [value() if callable(value) else value for value in values]


class RandomOutputs(unittest.TestCase):
    def verdict(self, original, result):
        models = iter([Model(original), Model(result)])
        kept = WORKER.session, WORKER.contents
        WORKER.session, WORKER.contents = lambda *words: next(models), lambda file: b""
        try:
            return WORKER.compare({**SINGLE, "rounding": 0, "data": "", "original": "", "result": "", "threads": 1,
                                   "sets": [[], []]})
        finally:
            WORKER.session, WORKER.contents = kept

    def setUp(self):
        draws = iter(range(1000))
        self.noise = lambda: numpy.array([float(next(draws))])
        self.zero, self.one = numpy.array([0.0]), numpy.array([1.0])

    def test_a_random_output_hides_no_wrong_one(self):
        for first, second in (("a", "b"), ("b", "a")):
            answer = self.verdict({first: self.zero, second: self.noise}, {first: self.one, second: self.noise})
            self.assertEqual((answer["verdict"], answer["different"][0]), ("differs", first))
            answer = self.verdict({second: self.noise, first: self.zero}, {second: self.noise, first: self.one})
            self.assertEqual((answer["verdict"], answer["different"][0]), ("differs", first))

    def test_the_others_are_compared(self):
        answer = self.verdict({"a": self.zero, "b": self.noise}, {"a": self.zero, "b": self.noise})
        self.assertEqual((answer["verdict"], answer["message"]), ("agrees", "output 'b' is random"))
        answer = self.verdict({"b": self.noise}, {"b": self.noise})
        self.assertEqual(answer["verdict"], "not available")

    def test_all_outputs_that_differ_are_named(self):
        answer = self.verdict({"a": self.zero, "b": self.one}, {"a": self.one, "b": self.zero})
        self.assertEqual(answer["different"], ["a", "b"])


if __name__ == "__main__":
    unittest.main()
