#!/usr/bin/env python3
"""lemma plan report: a page that needs nothing but itself says what devices exchange, how much, and why; plan make says how far it is on
a terminal."""

import html.parser
import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models"), str(ROOT / "tests" / "cli")]
import environment

environment.enter_or_skip()

import onnx
import parallel
import placed
import sharded
import tested_programs

LEMMA = None


class Reader(html.parser.HTMLParser):
    """Rows of tables, the text of pictures, and whether all elements are closed."""

    EMPTY = {"meta", "wbr", "br", "rect", "path", "line"}

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.pictures, self.outside = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag not in self.EMPTY:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        self.outside += [value for name, value in attributes if name in ("href", "src")]

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        elif "svg" in self.open:
            self.pictures.append(data)


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def save(self, name, model):
        onnx.save(model, self.folder / name)
        return self.folder / name

    def lemma(self, *words):
        return subprocess.run([LEMMA, "plan", *map(str, words)], capture_output=True, text=True, timeout=120)

    def page(self, cluster, *files):
        page = self.folder / "page.html"
        done = self.lemma("report", *files, "--cluster", cluster, "-o", page)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        read = Reader(page.read_text())
        self.assertEqual((read.open, read.outside), ([], []))
        return read, page.read_text()

    def bytes_of(self, *files):
        done = self.lemma("run", *files, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [rank["bytes"] for rank in json.loads(done.stdout)["ranks"]]


class Pages(Case):
    def test_what_is_exchanged_and_why(self):
        single = self.save("single.onnx", sharded.layers())
        model = self.save("model.onnx", sharded.with_specifications(sharded.layers(), sharded.TENSOR))
        read, text = self.page("local-2", single, model)
        [exchange] = [row for row in read.rows if row[0] == "AllReduce"]
        self.assertEqual(exchange[1:3], ["m2", str(self.bytes_of(single, model)[0])])
        self.assertEqual(exchange[4], "MatMul 'm2' of 'r1' (axis 1 in parts), 'w2' (axis 0 in parts) gives it partial sum; "
                                      "read replicated by Add 'a2'")
        [device] = [row for row in read.rows if row[0] == "each"]
        self.assertEqual(device[3], exchange[2])
        self.assertIn("proved: ", text)
        self.assertIn("AllReduce", read.pictures)
        self.assertTrue(any("partial sum" in line for line in read.pictures))

    def test_operators_on_devices_of_their_own(self):
        single = self.save("single.onnx", placed.inception(placed.InceptionSizes(blocks=1))[0])
        plan = self.folder / "plan.json"
        self.assertEqual(self.lemma("make", single, "--cluster", "local-4", "--own-operators", "-o", plan).returncode, 0)
        read, _ = self.page("local-4", single, plan)
        sent = [0] * 4
        for row in read.rows:
            route = re.fullmatch(r"rank (\d) to rank (\d)", row[0])
            if route:
                sent[int(route[1])] += 1
                self.assertIn(f"rank {route[2]}", row[4])
        answer = json.loads(self.lemma("run", single, plan, "--json").stdout)
        self.assertEqual(sent, [rank["messages"] for rank in answer["ranks"]])
        self.assertEqual([row[0] for row in read.rows if re.fullmatch(r"\d", row[0])], ["0", "1", "2", "3"])
        self.assertTrue(any(line == "rank 1" for line in read.pictures))

    def test_a_wrong_plan_says_so(self):
        single, ranks = parallel.tensor_parallel(parallel.Sizes(), 2, "no_sum_attention")
        files = [self.save(f"model{number}.onnx", model) for number, model in enumerate([single, *ranks])]
        _, text = self.page("local-2", *files)
        self.assertIn("refuted: ", text)
        self.assertIn("The first value that is none of them: Add", text)

    def test_another_number_of_devices_is_one_line(self):
        single = self.save("single.onnx", sharded.layers())
        model = self.save("model.onnx", sharded.with_specifications(sharded.layers(), sharded.TENSOR))
        done = self.lemma("report", single, model, "--cluster", "local-4", "-o", self.folder / "page.html")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn("the plan is for 2 devices", done.stderr)
        self.assertFalse((self.folder / "page.html").exists())


class Progress(Case):
    def test_a_terminal_is_told_how_far_it_is(self):
        """Finding the ways of a recurrence takes long enough; it is ended once something was said."""
        model = self.save("model.onnx", placed.lstm(placed.RecurrentSizes())[0])
        main, terminal = pty.openpty()
        job = subprocess.Popen([LEMMA, "plan", "make", model, "--cluster", "local-2", "-o", self.folder / "plan.json"],
                               stdout=subprocess.DEVNULL, stderr=terminal)
        os.close(terminal)
        said, end = b"", time.monotonic() + 120
        try:
            while time.monotonic() < end and b"\r" not in said:
                if select.select([main], [], [], 1)[0]:
                    said += os.read(main, 4096)
        finally:
            job.kill()
            job.wait()
            os.close(main)
        self.assertRegex(said.decode(), r"^ways of operators: \d+ of \d+ \(\d+ s\)")


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
