#!/usr/bin/env python3
"""Situations of public reports about comparable tools (situations.py): `lemma simplify` and `lemma optimize` end with 0,
write a valid model that computes the same, and leave no more nodes than said. --write makes docs/situations.md anew.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(pathlib.Path(__file__).resolve().parent)]
import environment  # noqa: E402

environment.enter_or_skip()

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

from counting import nodes_of  # noqa: E402
from situations import SITUATIONS  # noqa: E402

LEMMA = None
PAGE = ROOT / "docs" / "situations.md"
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, numpy.nan, numpy.inf, -numpy.inf, 3.0, 1e-30]


def feeds_of(session, draw):
    """Random elements; in the last draws special ones. Open sizes are 2, 3, ..."""
    generator, feeds = numpy.random.default_rng(draw), {}
    for value in session.get_inputs():
        shape = [size if isinstance(size, int) else 2 + index + draw for index, size in enumerate(value.shape)]
        if "float" in value.type or "double" in value.type:
            kind = numpy.float64 if "double" in value.type else numpy.float32
            elements = generator.normal(size=shape).astype(kind) * 10 ** (draw % 3)
            if draw >= 3 and len(shape) == 1:
                elements = generator.choice(SPECIAL, size=shape).astype(kind)
            feeds[value.name] = elements.astype(kind) if shape else numpy.array(numpy.nan if draw == 3 else elements, kind)
        elif "bool" in value.type:
            feeds[value.name] = numpy.array(draw % 2 == 0)
        else:
            feeds[value.name] = generator.integers(0, 2, size=shape)
    return feeds


def run(file):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def results_of(command, folder):
    """Writes all models into the folder, runs one command on all of them, and tells the folder of the results."""
    originals, results = folder / "models", folder / "results"
    originals.mkdir()
    results.mkdir()
    for situation in SITUATIONS:
        onnx.save(situation.model(), str(originals / f"{situation.name}.onnx"))
    files = sorted(map(str, originals.iterdir()))
    done = subprocess.run([LEMMA, *command, *files, "--out-dir", results], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return results


class Situations(unittest.TestCase):
    command = None

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.results = results_of(cls.command, pathlib.Path(cls.holder.name))

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def judge(self, situation):
        """The number of nodes that are left."""
        original = self.results.parent / "models" / f"{situation.name}.onnx"
        result = self.results / original.name
        onnx.checker.check_model(str(result), full_check=True)
        before, after = run(str(original)), run(str(result))
        compared = 0
        for draw in range(6):
            feeds = feeds_of(before, draw)
            try:
                expected = before.run(None, feeds)
            except Exception:  # what the original does not compute is not compared
                continue
            compared += 1
            for left, right in zip(expected, after.run(None, feeds)):
                self.assertEqual(left.dtype, right.dtype)
                self.assertEqual(left.shape, right.shape)
                numpy.testing.assert_allclose(right, left, rtol=2e-4, atol=2e-5, equal_nan=True)
        self.assertGreater(compared, 0, "the original does not run")
        return nodes_of(onnx.load(str(result)).graph)


class Simplified(Situations):
    command = ["simplify"]


class Optimized(Situations):
    command = ["optimize", "--no-measure"]


def add(situation):
    def simplify(self):
        self.assertLessEqual(self.judge(situation), situation.most_nodes)

    setattr(Simplified, f"test_{situation.name}", simplify)
    setattr(Optimized, f"test_{situation.name}", lambda self: self.judge(situation))


class Page(unittest.TestCase):
    def test_names_every_situation(self):
        text = PAGE.read_text()
        for situation in SITUATIONS:
            owner, number = situation.source.split("#")
            self.assertIn(f"[{situation.source}](https://github.com/{owner}/issues/{number})", text)


def write_page():
    counts = []
    for kind in (Simplified, Optimized):
        kind.setUpClass()
        counts.append([kind().judge(situation) for situation in SITUATIONS])
        kind.tearDownClass()
    rows = []
    for situation, simplified, optimized in zip(SITUATIONS, *counts):
        owner, number = situation.source.split("#")
        rows.append(f"| [{situation.source}](https://github.com/{owner}/issues/{number}) | {situation.what} | "
                    f"{nodes_of(situation.model().graph)} | {simplified} | {optimized} |")
    PAGE.write_text(
        "# Situations of public reports\n\nUsers of tools that rewrite ONNX models have reported what these do wrong. Each row "
        "is such a situation, rebuilt as a\nsmall model (`tests/strangers/situations.py`). `tests/strangers/situations_test.py` "
        "runs `lemma simplify` and `lemma\noptimize --no-measure` on all of them: the command ends with 0, the result passes "
        "ONNX's checker, and ONNX Runtime, with\nits own optimizations off, computes the same from both files on random and "
        "special inputs (NaN, infinities, zeros of\nboth signs). The last three columns count nodes: of the model, after `simplify` and "
        "after `optimize`. `tests/strangers/situations_test.py\n--lemma build/release/bin/lemma --write` makes this page.\n\n"
        "| report | what goes wrong there | nodes | simplify | optimize |\n|---|---|---:|---:|---:|\n" +
        "\n".join(rows) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--write", action="store_true", help="make docs/situations.md")
    arguments, rest = parser.parse_known_args()
    LEMMA = arguments.lemma
    if arguments.write:
        write_page()
    else:
        for situation in SITUATIONS:
            add(situation)
        unittest.main(argv=[sys.argv[0], *rest])
