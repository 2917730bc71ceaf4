"""lemma audit: proofs for people, and what rests on which axiom."""

import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import tested_programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from shipped_rules import rule_that_says, shipped_certificates  # noqa: E402

RELU_OF_TRANSPOSE = rule_that_says("x1 : [A..]", "Relu(Transpose{perm=p1}(x1)) = Transpose{perm=p1}(Relu(x1))")
LEMMA = None


def audit(*arguments):
    return subprocess.run([LEMMA, "audit", *map(str, arguments)], capture_output=True, text=True,
                          check=False)


def damage(rules):
    """The certificate of RELU_OF_TRANSPOSE reads its step the wrong way."""
    text = shipped_certificates()[RELU_OF_TRANSPOSE]
    for pack in (rules / "substitutions").glob("*.certificates"):
        pack.write_text(pack.read_text().replace(text, text.replace(" forward ", " backward ")))


@functools.cache
def shipped_table():
    """The table of all rules that are shipped, which takes seconds."""
    return json.loads(audit("--json").stdout)


class Audit(unittest.TestCase):
    def test_the_table_has_every_rule(self):
        done = audit()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        count = len(shipped_certificates())
        self.assertIn(f"{count} of {count} certificates hold", done.stdout)

    def test_a_proof_shows_graphs_and_steps(self):
        done = audit("merge_convs_sharing_input", "--case", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in ("left side", "right side", "step 1: ", "conv_concat_output_channels, right to left",
                     "t9#0 & t9#1", "x : f32[n, c, S.0]", "(case 1 of 2"):
            self.assertIn(part, done.stdout)

    def test_all_cases(self):
        done = audit(RELU_OF_TRANSPOSE, "--all-cases")
        self.assertEqual(done.stdout.count("\ncase "), 154)
        one = audit(RELU_OF_TRANSPOSE, "--case", "A=[A.0, A.1], p1=[1, 0]")
        self.assertEqual(one.stdout.count("\ncase "), 1)
        self.assertIn("t2 = Relu(t1)                   : f32[A.1, A.0]", one.stdout)

    def test_json_is_one_object(self):
        shown = json.loads(audit(RELU_OF_TRANSPOSE, "--json").stdout)["rules"][0]
        self.assertEqual(shown["axioms"], {"relu_of_transpose": 154})
        self.assertEqual(shown["shown_cases"][0]["steps"][0]["axiom"], "relu_of_transpose")
        table = shipped_table()
        self.assertTrue(all(one["verdict"] == "proved" for one in table["rules"]))

    def test_what_falls_with_an_axiom(self):
        table = shipped_table()["rules"]
        wanted = [one["rule"] for one in table if "conv_concat_batch" in one["axioms"]]
        self.assertTrue(wanted)
        found = json.loads(audit("--axiom", "conv_concat_batch", "--json").stdout)
        self.assertEqual([one["rule"] for one in found["rules"]], wanted)
        self.assertIn(f"{len(wanted)} of {len(table)} proofs depend on it",
                      audit("--axiom", "conv_concat_batch").stdout)

    def test_pages_stand_by_themselves(self):
        """Of a quarter of the rules: the index proof of a case, which each page shows, takes most of the time."""
        rules = {*sorted(shipped_certificates())[::4], "merge_convs_sharing_input"}
        with tempfile.TemporaryDirectory() as folder:
            done = audit(*sorted(rules), "--html", folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            files = {one.name: one.read_text() for one in pathlib.Path(folder).iterdir()}
        self.assertLessEqual({f"rule-{name}.html" for name in rules}, set(files))
        for name, text in files.items():
            for target in re.findall(r'href="([^"]*)"', text):
                self.assertIn(target.split("#")[0], files, name)
            self.assertNotRegex(text, r"src=|url\(|https?://|@import|fetch\(", name)
            # Well formed: nothing that rules say is taken for markup.
            body = text.removeprefix("<!DOCTYPE html>").replace('<meta charset="utf-8">', "")
            xml.etree.ElementTree.fromstring(body.replace("&middot;", ""))
        page = files["rule-merge_convs_sharing_input.html"]
        self.assertEqual(page.count("<svg "), 2)
        for part in ("Left side", "Right side", "step 1: ", "axiom-conv_concat_output_channels.html",
                     "Class: reassociation", "&amp;", "All cases are on record as proved", "index.html#operator=Split",
                     "Element of output 1 of the left side", "The same of the right side"):
            self.assertIn(part, page)
        self.assertNotIn("cannot be shown", "".join(files.values()))
        index = files["index.html"]
        self.assertEqual(index.count("<tr data-class="), len(rules))
        row = re.search(r'<tr data-class="reassociation" data-operators="Concat Conv Split" data-text="([^"]*)">.*'
                        r'rule-merge_convs_sharing_input', index)
        self.assertIn("conv{dilations=d, group=1", row[1])
        self.assertIn("conv_concat_output_channels", row[1])
        refuted = files["refuted.html"]
        candidates = [json.loads(line) for path in (ROOT / "rules").glob("*.candidates")
                      for line in path.read_text().splitlines()]
        wanted = sum(one["outcome"] == "refuted" for one in candidates)
        self.assertEqual(refuted.count("<h2>"), wanted)
        self.assertIn("rule-merge_convs_sharing_input.html", files["axiom-conv_concat_output_channels.html"])

    @tested_programs.long
    def test_pages_are_the_same_each_time(self):
        with tempfile.TemporaryDirectory() as folder:
            written = []
            for name in ("first", "second"):
                self.assertEqual(audit(RELU_OF_TRANSPOSE, "merge_convs_sharing_input", "--html",
                                       pathlib.Path(folder, name)).returncode, 0)
                written.append({one.name: one.read_bytes() for one in pathlib.Path(folder, name).iterdir()})
            self.assertEqual(*written)

    def test_a_refused_rule_has_a_page_that_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = pathlib.Path(folder, "rules")
            shutil.copytree(ROOT / "rules", rules)
            damage(rules)
            pages = pathlib.Path(folder, "pages")
            done = audit(RELU_OF_TRANSPOSE, "--rules", rules, "--html", pages)
            self.assertEqual(done.returncode, 4)
            page = (pages / f"rule-{RELU_OF_TRANSPOSE}.html").read_text()
            self.assertIn("Refused: case 1 (A=[], p1=[])", page)

    def test_a_counterexample_is_evaluated_again(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = pathlib.Path(folder, "some.rules")
            rules.write_text("rule wrong\n  x : [n, m]\n  y : [n, m]\n  where n == 3, m == 2\n"
                             "  Sub(x, y) => Sub(y, x)\n\nrule right\n  x : [n]\n"
                             "  Neg(Neg(x)) => x\n")
            target = pathlib.Path(folder, "counterexamples")
            done = subprocess.run([LEMMA, "rules", "verify", rules, "--counterexamples", target],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 4, done.stderr)
            file = target / "wrong.counterexample"
            self.assertEqual(list(target.iterdir()), [file])
            shown = audit("--counterexample", file)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))
            for part in ("at n=3, m=2", "x f32[3, 2] =", "evaluated now: output 0: element ["):
                self.assertIn(part.replace("n=3, m=2", ""), shown.stdout)
            done = audit(RELU_OF_TRANSPOSE, "--html", pathlib.Path(folder, "pages"), "--counterexample", file)
            self.assertEqual(done.returncode, 0, done.stderr)
            page = pathlib.Path(folder, "pages", "refuted.html").read_text()
            for part in ("<h2>wrong</h2>", "x f32[3, 2] =", "evaluated now: output 0: element ["):
                self.assertIn(part, page)
            text = file.read_text()
            file.write_text(text.replace("Sub(y, x)", "Sub(x, y)"))
            shown = audit("--counterexample", file)
            self.assertEqual(shown.returncode, 4)
            self.assertIn("evaluated now: both sides are equal", shown.stdout)
            file.write_text(text[:-5])
            self.assertEqual(audit("--counterexample", file).returncode, 2)

    def test_bad_input(self):
        for arguments in (["no_such_rule"], ["--axiom", "none"],
                          [RELU_OF_TRANSPOSE, "--case", "999"], ["--rules", "/nowhere"]):
            done = audit(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertTrue(done.stderr.startswith("lemma: "), done.stderr)

    def test_a_damaged_certificate_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = pathlib.Path(folder, "rules")
            shutil.copytree(ROOT / "rules", rules)
            damage(rules)
            done = audit("--rules", rules, RELU_OF_TRANSPOSE)
            self.assertEqual(done.returncode, 4)
            self.assertIn("step 1 (relu_of_transpose)", done.stderr)
            self.assertEqual(audit("--rules", rules).returncode, 4)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
