#!/usr/bin/env python3
"""`lemma optimize --report`: a page that is well-formed and says what was done, and the same as JSON."""

import html.parser
import json
import pathlib
import re
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
    """All tests look at one page and one JSON file, of the same models."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="lemma-report-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.model = cls.folder / "<b>&two.onnx"  # a name that would be markup
        shutil.copy(EXAMPLE, cls.model)
        (cls.folder / "broken.onnx").write_bytes(b"no model")
        cls.page, cls.json = cls.optimize("report.html"), json.loads(cls.optimize("report.json"))

    @classmethod
    def optimize(cls, report):
        call = [LEMMA, "optimize", cls.model, cls.folder / "broken.onnx", "--out-dir", cls.folder / "out", "--report",
                cls.folder / report, "--no-measure"]  # what is chosen would depend on what else runs
        done = subprocess.run(call, capture_output=True, text=True, timeout=120)
        if done.returncode != 3:
            raise AssertionError(done.stderr)
        return (cls.folder / report).read_text()

    def test_page(self):
        page = Page(self.page)
        self.assertEqual(page.open, [])
        text = " ".join(page.words)
        for words in ("<b>&two.onnx", "broken.onnx", "optimized", "failed", "Predicted cost", "rounding:", "MatMul("):
            self.assertIn(words, text)
        self.assertIn("1 of 2 models is predicted to run faster; <b>&two.onnx gains the most", text)
        used = self.rules_linked(page)
        self.assertTrue(used)
        self.assertLessEqual(page.links - {""}, page.ids)
        # Each rule has its proof in the page, by words and by steps.
        for rule in used:
            self.assertIn(f"proof-{rule}", page.links)
            self.assertIn(rule.split("_")[0] + " " + rule.split("_")[1], text)
        self.assertIn("Rests on", text)
        # The place that changed and each rule, both before and after.
        self.assertEqual(page.pictures, 2 + 2 * len(used))
        self.assertIn("Add, 4 MatMul, 2 Relu -> 2 MatMul, Relu", text)
        self.assertIn("Predicted cost of all operators of a kind", text)
        self.assertIn("0.00 us", text)  # the Add is gone

    def test_how_it_was_made(self):
        text = " ".join(Page(self.page).words)
        version = subprocess.run([LEMMA, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        for words in (version.splitlines()[0].capitalize(), "Machine", "--no-measure", f"--out-dir {self.folder / 'out'}"):
            self.assertIn(words, text)
        self.assertNotIn(f"{self.folder / 'broken.onnx'} ", text)  # a model is no option

    def test_dark_and_narrow(self):
        """Every color is one of the page, which has two sets of them; what may be wide scrolls inside the page."""
        text = self.page
        style, body = re.search("<style>(.*?)</style>(.*)", text, re.DOTALL).groups()
        light, dark = (set(re.findall(r"(--\w+): #", part)) for part in style.split("prefers-color-scheme: dark", 1))
        self.assertEqual(light, dark)
        self.assertLessEqual(set(re.findall(r"var\((--\w+)\)", style)), light)
        self.assertEqual(re.findall(r'fill="|stroke="|color:', body), [])
        for class_name in re.findall(r'<rect class="box (\w+)"', body):
            self.assertIn(f".{class_name} {{ fill: var(", style)
        for table in re.finditer("<table[^>]*>", body):
            scrolls = body[:table.start()].endswith('<div class="wide">')
            self.assertTrue(scrolls or 'class="list' in table[0], table[0])

    def test_the_page_names_the_rules_that_json_names(self):
        models = self.json["models"]
        used = set(models[0]["rules_used"])
        self.assertTrue(used)
        self.assertEqual(self.rules_linked(Page(self.page)), used)

    @staticmethod
    def rules_linked(page):
        return {link for link in page.links - {"", "rules"} if not link.startswith(("proof-", "model-"))}


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
