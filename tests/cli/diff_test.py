#!/usr/bin/env python3
"""`lemma diff`: what is said of two files that differ, and of two that do not."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tested_programs
import tiny_models
from report_test import Page
from tiny_models import F32, content, node, tensor_type

LEMMA = None
VECTOR = tensor_type(F32, [2])


class Diff(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-diff-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, nodes, weights=(1, 2), inputs=("x",), more=b""):
        file = self.folder / name
        file.write_bytes(tiny_models.model(nodes, [(each, VECTOR) for each in inputs], [("y", VECTOR)],
                                           initializers=[tiny_models.tensor("w", [2], weights)]) + more)
        return file

    def diff(self, before, after, *words):
        return subprocess.run([LEMMA, "diff", before, after, *words], capture_output=True, text=True, timeout=60)

    def sections(self, before, after):
        done = self.diff(before, after, "--json")
        answer = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if answer["equal"] else 4)
        return {title: {row["what"]: (row["before"], row["after"]) for row in rows}
                for title, rows in answer["differences"].items()}

    chain = staticmethod(lambda *ops: [
        node(op, ["x" if i == 0 else f"v{i}", *(["w"] if op in ("Add", "Mul") else [])],
             ["y" if i + 1 == len(ops) else f"v{i + 1}"]) for i, op in enumerate(ops)])

    def test_equal_models(self):
        one, other = (self.write(name, self.chain("Tanh", "Add", "Relu")) for name in ("a.onnx", "b.onnx"))
        done = self.diff(one, other)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(self.sections(one, other), {})

    def test_what_is_in_the_middle_of_one_only(self):
        one = self.write("a.onnx", self.chain("Tanh", "Exp", "Neg", "Add", "Relu"))
        other = self.write("b.onnx", self.chain("Tanh", "Sin", "Add", "Relu"))
        found = self.sections(one, other)
        self.assertEqual(found["operators"], {"Exp": ("1", "0"), "Neg": ("1", "0"), "Sin": ("0", "1")})
        self.assertEqual(found["places"], {"Exp, Neg -> Sin": ("Neg 'v3'", "Sin 'v2'")})
        self.assertNotIn("file", found)
        table = self.diff(one, other).stdout
        self.assertRegex(table, r"(?m)^Exp +1 +0$")

    def test_places_far_apart_are_told_apart(self):
        one = self.write("a.onnx", self.chain("Neg", "Tanh", "Exp", "Add", "Cos"))
        other = self.write("b.onnx", self.chain("Abs", "Tanh", "Exp", "Add", "Sin"))
        self.assertEqual(set(self.sections(one, other)["places"]), {"Neg -> Abs", "Cos -> Sin"})

    def test_weights_interface_and_what_the_file_says(self):
        metadata = content(14, content(1, "author") + content(2, "somebody"))
        one = self.write("a.onnx", self.chain("Add", "Relu"))
        other = self.write("b.onnx", self.chain("Add", "Relu"), weights=(1, 3), inputs=("x", "z"), more=metadata)
        found = self.sections(one, other)
        self.assertEqual(set(found), {"file", "interface", "initializers", "places"})
        self.assertEqual(found["file"], {"metadata author": (None, "somebody")})
        self.assertEqual(set(found["interface"]), {"input z"})
        self.assertEqual(set(found["initializers"]), {"w"})
        self.assertEqual(set(found["places"]), {"Add -> Add with other constants"})

    def test_weights_that_changed_are_one_change(self):
        """The second weight before is the first one after, and the difference may have its operands exchanged: neither
        names nor operands pair what has another weight."""
        def products(name, first, second, swaps):
            file = self.folder / f"{name}.onnx"
            terms = [f"{name}1", f"{name}2"]
            nodes = [node("Mul", ["x", "w"], terms[:1]), node("Mul", ["x", "v"], terms[1:]),
                     node("Sub", terms[::-1] if swaps else terms, ["y"])]
            weights = [tiny_models.tensor("w", [2], first), tiny_models.tensor("v", [2], second)]
            file.write_bytes(tiny_models.model(nodes, [("x", VECTOR)], [("y", VECTOR)], initializers=weights))
            return file

        sections = self.sections(products("a", (1, 2), (3, 4), False), products("b", (3, 4), (5, 6), False))
        self.assertEqual(set(sections["places"]), {"Mul -> Mul with other constants"})
        sections = self.sections(products("a", (1, 2), (3, 4), False), products("b", (3, 4), (5, 6), True))
        for place in sections["places"]:
            self.assertNotIn("nothing", place)

    def test_a_factor_that_went_into_weights_is_one_change(self):
        beginning = [node("Mul", ["x", "w"], ["v"]), node("Relu", ["v"], ["u"])]
        before = self.write("a.onnx", [*beginning, node("Mul", ["u", "w"], ["t"]), node("Neg", ["t"], ["s"]),
                                       node("Exp", ["s"], ["y"])])
        after = self.write("b.onnx", [*beginning, node("Mul", ["u", "w"], ["s"]), node("Exp", ["s"], ["y"])],
                           weights=(1, 3))
        sections = self.sections(before, after)
        self.assertEqual(set(sections["places"]), {"Mul -> Mul with other constants", "Mul, Neg -> Mul"})

    def test_the_same_operators_connected_otherwise(self):
        one = self.write("a.onnx", [node("Sub", ["x", "w"], ["y"])])
        other = self.write("b.onnx", [node("Sub", ["w", "x"], ["y"])])
        done = self.diff(one, other)
        self.assertEqual(done.returncode, 4)
        self.assertTrue(done.stdout)

    def test_the_page(self):
        one = self.write("<a>.onnx", self.chain("Tanh", "Exp", "Neg", "Relu"))
        other = self.write("b.onnx", self.chain("Tanh", "Sin", "Relu"))
        file = self.folder / "page.html"
        self.assertEqual(self.diff(one, other, "--html", file).returncode, 4)
        text = file.read_text()
        page = Page(text)
        self.assertEqual((page.open, page.pictures), ([], 4))  # the place and the whole, both sides
        self.assertIn("<a>.onnx", " ".join(page.words))
        # What is in color: twice two nodes of the one, twice one of the other.
        self.assertEqual((text.count('class="box taken"'), text.count('class="box added"')), (4, 2))
        self.assertNotIn("http", text.replace("http://www.w3.org", ""))

    def test_what_is_no_model(self):
        file = self.folder / "no.onnx"
        file.write_bytes(b"no model")
        done = self.diff(file, file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no.onnx", done.stderr)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
