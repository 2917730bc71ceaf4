#!/usr/bin/env python3
"""`lemma extract` as a caller sees it: figures, exit codes, messages of one line, JSON."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import tested_programs

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data" / "egraphs"
LEMMA = None


def lemma(*arguments, **more):
    return subprocess.run([LEMMA, *map(str, arguments)], capture_output=True, text=True, timeout=120, **more)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def result(self, *arguments, **more):
        done = lemma("extract", *arguments, "--json", **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        return json.loads(done.stdout)

    def assert_fails(self, words, *arguments):
        done = lemma("extract", *arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")


class Figures(Case):
    def test_optimum(self):
        for name, cost in [("shared", 11), ("cyclic", 4.75), ("negative", -2)]:
            result = self.result(DATA / f"{name}.json")
            self.assertEqual(result["cost"], cost, name)
            self.assertEqual(result["lower_bound"], cost, name)
            self.assertIs(result["optimal"], True)
            self.assertIs(result["valid"], True)
            self.assertGreaterEqual(result["seconds"], 0)

    def test_absent_roots_are_named(self):
        self.assertEqual(self.result(DATA / "cyclic.json")["absent_roots"], ["nowhere"])
        done = lemma("extract", DATA / "cyclic.json")
        self.assertEqual(done.returncode, 0)
        self.assertIn("1 of the roots", done.stderr)

    def test_text(self):
        done = lemma("extract", DATA / "shared.json")
        self.assertIn("cost 11, proved optimal", done.stdout)

    def test_choices(self):
        output = self.folder / "choices.json"
        self.result(DATA / "shared.json", "-o", output)
        self.assertEqual(
            json.loads(output.read_text()),
            {"cost": 11, "choices": {"pair": "pair", "a": "a.right", "b": "b.right", "s": "s"}})

    def test_deep_chain(self):
        depth = 100_000
        nodes = {str(i): {"op": "f", "children": [str(i + 1)] if i < depth else [], "eclass": str(i), "cost": 1}
                 for i in range(depth + 1)}
        path = self.write("deep.json", json.dumps({"nodes": nodes, "root_eclasses": ["0"]}))
        self.assertEqual(self.result(path)["cost"], depth + 1)


def covering(size):
    """A hard one: each of many roots takes one of three shared parts."""
    nodes = {f"p{i}": {"op": "p", "children": [], "eclass": f"p{i}", "cost": 3 + i % 4} for i in range(size)}
    for root in range(4 * size):
        for k, part in enumerate([root * 7 % size, (root * root + 11) % size, (root * 13 + 5) % size]):
            nodes[f"r{root}.{k}"] = {"op": "r", "children": [f"p{part}"], "eclass": f"r{root}", "cost": 0}
    return json.dumps({"nodes": nodes, "root_eclasses": [f"r{i}" for i in range(4 * size)]})


class Limits(Case):
    def test_time_limit(self):
        path = self.write("covering.json", covering(400))
        start = time.monotonic()
        result = self.result(path, "--time-limit", 1)
        self.assertLess(time.monotonic() - start, 20)
        self.assertTrue(result["valid"])
        self.assertLessEqual(result["lower_bound"], result["cost"])
        self.assertEqual(result["optimal"], result["lower_bound"] == result["cost"])

    def test_without_programs(self):
        """Neither an option nor a bare search path changes cost and optimality."""
        path = self.write("covering.json", covering(20))
        expected = self.result(path)
        self.assertTrue(expected["optimal"])
        for result in [self.result(path, "--no-programs"), self.result(path, env={**os.environ, "PATH": "/nowhere"})]:
            self.assertEqual(result["cost"], expected["cost"])
            self.assertTrue(result["optimal"])

    def test_nothing_is_left_behind(self):
        path = self.write("covering.json", covering(60))
        scratch = self.folder / "scratch"
        scratch.mkdir()
        self.result(path, "--time-limit", 0.2, env={**os.environ, "TMPDIR": str(scratch)})
        self.assertEqual(list(scratch.iterdir()), [])


class BadInput(Case):
    def test_files(self):
        self.assert_fails(["missing.json"], self.folder / "missing.json")
        self.assert_fails(["folder"], self.folder)
        for name, text, words in [
            ("empty.json", "", ["not JSON"]),
            ("cut.json", '{"nodes": {"a": {"op"', ["not JSON"]),
            ("list.json", "[1, 2]", ["array"]),
            ("other.json", '{"foo": 1}', ["nodes are missing"]),
            ("child.json", '{"nodes": {"a": {"op": "f", "children": ["b"], "eclass": "c"}}, "root_eclasses": ["c"]}',
             ['"b"']),
            ("root.json", '{"nodes": {"a": {"op": "f", "eclass": "c"}}, "root_eclasses": ["d"]}', ["root_eclasses"]),
            ("circle.json", '{"nodes": {"a": {"op": "f", "children": ["a"], "eclass": "c"}}, "root_eclasses": ["c"]}',
             ["root", "itself"]),
        ]:
            self.assert_fails([name, *words], self.write(name, text))

    def test_usage(self):
        self.assert_fails(["egraph"])
        self.assert_fails(["time-limit"], DATA / "shared.json", "--time-limit", "-1")
        self.assert_fails(["time-limit"], DATA / "shared.json", "--time-limit", "soon")

    def test_damaged_files(self):
        text = (DATA / "shared.json").read_text()
        for cut in range(0, len(text) - 3, 23):
            self.assert_fails(["cut.json"], self.write("cut.json", text[:cut]))


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
