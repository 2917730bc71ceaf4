#!/usr/bin/env python3
"""The figures of speed in the README are those of the result file that it names."""

import json
import math
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text()
COLUMNS = {"original, ms": "ONNX Runtime", "Lemma": "lemma", "onnxsim": "onnxsim", "onnxslim": "onnxslim"}


def table_and_result():
    """The rows of the README's table by its headings, and the rows of the result file by its columns."""
    mark = re.search(r"<!-- figures: (\S+) -->\n((?:\|.*\n)+)", README)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in mark[2].splitlines()]
    result = json.loads((ROOT / mark[1]).read_text())
    names = [column["name"] for column in result["columns"]]
    return ([dict(zip(lines[0], line)) for line in lines[2:]], [dict(zip(names, row)) for row in result["rows"]],
            result["columns"])


def ratio(row, program):
    return 1 if row[program] == "same bytes" else row[program]


class Figures(unittest.TestCase):
    def setUp(self):
        self.shown, self.measured, self.columns = table_and_result()

    def test_each_is_that_of_the_result(self):
        decimals = {column["name"]: column.get("decimals") for column in self.columns}
        by_name = {row["model"]: row for row in self.measured}
        for row in self.shown:
            measured = by_name[row["model"].split(",")[0]]
            for shown, name in COLUMNS.items():
                value = measured[name]
                text = str(value) if decimals[name] is None else f"{value:.{decimals[name]}f}"
                self.assertEqual(row[shown], text, row["model"])

    def test_no_model_that_changed_is_left_out(self):
        changed = [row["model"] for row in self.measured if row["lemma"] != "same bytes"]
        self.assertEqual(sorted(row["model"].split(",")[0] for row in self.shown), sorted(changed))
        words = f"all {len(changed)} of {len(self.measured)} models that became faster. Nothing faster was found for the " \
                f"other {len(self.measured) - len(changed)}"
        self.assertIn(words, " ".join(README.split()))

    def test_means(self):
        means = re.findall(r"([\d.]+) for (Lemma|onnxsim|onnxslim)\b", " ".join(README.split()))
        self.assertEqual([program for _, program in means], ["Lemma", "onnxsim", "onnxslim"])
        for shown, program in means:
            ratios = [ratio(row, program.lower()) for row in self.measured]
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            self.assertEqual(shown, f"{mean:.3f}", program)


if __name__ == "__main__":
    unittest.main()
