#!/usr/bin/env python3
"""`lemma optimize --report`: a page that is well-formed and says what was done, and the same as JSON."""

import html.parser
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import tested_programs

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "two_layer.onnx"
LEMMA = None
UNCLOSED = {"meta", "rect", "link"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.ids, self.words, self.pictures = [], set(), set(), [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        self.pictures += tag == "svg"
        self.links.add(names.get("href", "#")[1:])
        self.ids.add(names.get("id"))
        if tag not in UNCLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in UNCLOSED:
            return
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        self.words.append(data)


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-report-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "<b>&two.onnx"  # a name that would be markup
        shutil.copy(EXAMPLE, self.model)
        (self.folder / "broken.onnx").write_bytes(b"no model")

    def optimize(self, report):
        call = [LEMMA, "optimize", self.model, self.folder / "broken.onnx", "--out-dir", self.folder / "out", "--report",
                self.folder / report, "--no-measure"]  # what is chosen would depend on what else runs
        done = subprocess.run(call, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 3, done.stderr)
        return (self.folder / report).read_text()

    def test_page(self):
        page = Page(self.optimize("report.html"))
        self.assertEqual(page.open, [])
        text = " ".join(page.words)
        for words in ("<b>&two.onnx", "broken.onnx", "optimized", "failed", "Predicted cost", "rounding:", "MatMul("):
            self.assertIn(words, text)
        used = self.rules_linked(page)
        self.assertTrue(used)
        self.assertLessEqual(page.links - {""}, page.ids)
        # Each rule has its proof in the page, by words and by steps.
        for rule in used:
            self.assertIn(f"proof-{rule}", page.links)
            self.assertIn(rule.split("_")[0] + " " + rule.split("_")[1], text)
        self.assertIn("Rests on", text)
        # Bars of the models and of the operators, the place that changed and each rule, both before and after.
        self.assertEqual(page.pictures, 2 + 2 + 2 * len(used))
        self.assertIn("Add, 4 MatMul, 2 Relu -> 2 MatMul, Relu", text)
        self.assertIn("Predicted cost of all operators of a kind", text)
        self.assertIn("0.00 us", text)  # the Add is gone

    def test_the_page_names_the_rules_that_json_names(self):
        models = json.loads(self.optimize("report.json"))["models"]
        used = set(models[0]["rules_used"])
        self.assertTrue(used)
        self.assertEqual(self.rules_linked(Page(self.optimize("report.html"))), used)

    @staticmethod
    def rules_linked(page):
        return {link for link in page.links - {""} if not link.startswith("proof-")}


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
