#!/usr/bin/env python3
"""The figures of speed in the README are those of the result file that it names, and documents name where theirs come from."""

import json
import math
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text()
COLUMNS = {"original, ms": "ONNX Runtime", "Lemma": "lemma", "onnxsim": "onnxsim", "onnxslim": "onnxslim"}


# Times, rates and ratios. Documents also have such that nobody measured: what a line of these begins with, and what they are.
MEASURED = re.compile(r"\d(\.\d+)? ?(times (as|sooner|longer|faster)|(CPU-|processor )?(seconds?|minutes|hours)\b|s\b|ms\b|us\b|[MG]B\b|%)")
SOURCE = re.compile(r"bench/RESULTS\.md#|bench/results/[\w.-]+\.json")
NOT_MEASURED = {
    "compile.md": ("numbers stays within a part",),  # what handing over is taken to cost
    "costs.md": ("right side costs at most",),  # a limit
    "cuda.md": ("them with weights", "`run.py` needs"),  # limits
    "generator.md": ("`--memory-limit` holds",),  # limits
    "index_proofs.md": ("in a process of its own",),  # a limit
    "processes.md": ("Other programs have limits", "program on an NVIDIA"),  # limits
    "python.md": ("`output=", "in files of their own"),  # limits
    "rtask.md": ("If the arena", "| ", "between two steps"),  # costs and limits
    "search.md": ("most 1.05 times", "tenths of a second", "inputs that are changed",
                  "Adversarial inputs", "they are defined and finite", "at most 4,096"),  # limits
    "tune.md": ("most 0.98",),  # a condition
    "CONTRIBUTING.md": ("suite; with",),  # a limit
}


def sections(text):
    """The lines of prose and of tables under each heading."""
    is_fenced, lines = False, []
    for line in text.splitlines():
        if line.startswith("```"):
            is_fenced = not is_fenced
        elif line.startswith("#") and not is_fenced:
            yield lines
            lines = []
        elif not is_fenced and not line.startswith("    "):
            lines.append(line.strip())
    yield lines


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


class Documents(unittest.TestCase):
    def test_sections_name_where_their_figures_come_from(self):
        used, documents = set(), [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
        for document in documents:
            known = NOT_MEASURED.get(document.name, ())
            for lines in sections(document.read_text()):
                if any(SOURCE.search(line) for line in lines):
                    continue
                for line in filter(MEASURED.search, lines):
                    prefix = next((prefix for prefix in known if line.startswith(prefix)), None)
                    self.assertIsNotNone(prefix, f"{document.name} names no result file for: {line}")
                    used.add((document.name, prefix))
        for name, prefixes in NOT_MEASURED.items():
            for prefix in prefixes:
                self.assertIn((name, prefix), used, "this exception is not needed")


if __name__ == "__main__":
    unittest.main()
