#!/usr/bin/env python3
"""`lemma rules verify` over small folders: which axioms are used, what is recorded and said."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tested_programs

LEMMA = None
TRUE = "axiom commutes\n  x : [n]\n  y : [n]\n  Add(x, y) = Add(y, x)\n"
FALSE = "axiom swapped\n  x : [n]\n  y : [m]\n  Concat{axis=0}(x, y) => Concat{axis=0}(y, x)\n"
RULE = "rule swap\n  a : [n]\n  b : [n]\n  Relu(Add(a, b)) => Relu(Add(b, a))\n"
BY_INDEX = "rule twice\n  x : [n]\n  Neg(Neg(x)) => x\n"


class Verify(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-rules-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("axioms", "substitutions"):
            (self.folder / name).mkdir()
        (self.folder / "axioms" / "a.axioms").write_text(TRUE)
        (self.folder / "substitutions" / "a.rules").write_text(RULE)

    def verify(self, *options, code=0):
        call = [LEMMA, "rules", "verify", "--rules", str(self.folder), *options]
        result = subprocess.run(call, capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def test_lists_the_index_proofs_when_asked(self):
        output = self.verify("--axioms")
        self.assertIn("1 of 1 axioms have an index proof: 2 cases", output)
        self.assertIn("1 axioms; 1 rules: 1 proved", output)
        self.assertNotIn("index proof", self.verify())

    def test_names_an_axiom_without_index_proof_and_does_not_use_it(self):
        (self.folder / "axioms" / "b.axioms").write_text(FALSE)
        output = self.verify(code=4)
        self.assertIn("axiom swapped is refused: no index proof: output 0", output)
        self.assertIn("left:  x0[_i0]\n    right: x1[_i0]", output)
        self.assertIn("1 axioms; 1 rules: 1 proved", output)

    def test_writes_a_record_for_each_proved_axiom(self):
        (self.folder / "axioms" / "b.axioms").write_text(FALSE)
        self.verify("--write", code=4)
        records = (self.folder / "axioms.proofs").read_text()
        lines = [line for line in records.splitlines() if not line.startswith("#")]
        self.assertEqual(len(lines), 1)
        self.assertTrue(lines[0].startswith("commutes sha256="), lines)
        self.verify("--write", code=4)
        self.assertEqual((self.folder / "axioms.proofs").read_text(), records)

    def test_refuses_a_damaged_record(self):
        self.verify("--write")
        (self.folder / "axioms.proofs").write_text("commutes text=1\n")
        self.verify(code=2)
        self.verify("--axioms", "--write")
        self.verify()

    def test_prints_totals_as_json(self):
        totals = json.loads(self.verify("--json", "--axioms"))
        self.assertEqual((totals["axioms"], totals["axioms_refused"], totals["proved"],
                          totals["proved_twice"]), (1, 0, 1, 1))

    def test_writes_a_page_with_pictures(self):
        (self.folder / "more.rules").write_text(RULE + "\nrule negated\n  x : [n]\n  Neg(x) => x\n")
        page = self.folder / "page.html"
        self.verify(str(self.folder / "more.rules"), "--html", str(page), code=4)
        text = page.read_text()
        swapped, negated = text.partition('<h2 id="rule-negated">')[::2]
        self.assertIn('<h2 id="rule-swap">', swapped)
        self.assertIn("lemma certificate", swapped)
        self.assertIn("A counterexample:", negated)
        self.assertNotIn("lemma certificate", negated)
        for part in (swapped, negated):
            self.assertEqual(part.count("<svg "), 2)
        self.verify("--html", str(self.folder / "axioms" / "a.axioms"), code=2)  # it is read

    def list(self, *options, code=0):
        result = subprocess.run([LEMMA, "rules", "list", "--rules", str(self.folder), *options],
                                capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def test_says_which_proofs_a_rule_has_and_sets_apart_what_has_one(self):
        file = self.folder / "substitutions" / "a.rules"
        file.write_text(RULE + "\n# By its definition.\n" + BY_INDEX)
        verdicts = self.folder / "verdicts"
        output = self.verify("--verdicts", str(verdicts), code=4)
        self.assertRegex(output, r"(?m)^swap +proved +yes +yes ")
        self.assertRegex(output, r"(?m)^twice +proved +no +yes .*no certificate: ")
        self.assertIn("2 rules: 2 proved, 1 of them twice and 0 on record, 0 refuted", output)
        lines = [json.loads(line) for line in verdicts.read_text().splitlines()]
        self.assertEqual([line["proofs"] for line in lines], ["certificate,index", "index"])
        self.assertTrue(lines[1]["one_proof"].startswith("no certificate: "))
        self.verify("--write", code=4)
        self.verify()
        self.assertEqual(file.read_text(), RULE)
        self.assertNotIn("twice", self.list())
        self.assertIn("rule twice", self.list("--one-proof"))
        self.assertTrue(self.list("--one-proof").startswith("# no certificate: "))
        listed = json.loads(self.list("--one-proof", "--json"))["rules"]
        self.assertEqual([(one["name"], one["proofs"]) for one in listed], [("twice", "index")])

    def test_proves_again_only_what_has_changed(self):
        self.verify("--write")
        file = self.folder / "substitutions" / "a.rules"
        file.write_text(file.read_text() + "\n" + RULE.replace("swap", "turned").replace("Relu", "Abs"))
        totals = json.loads(self.verify("--write", "--json"))
        self.assertEqual((totals["rules"], totals["recorded"]), (2, 1))
        self.assertEqual(json.loads(self.verify("--write", "--json"))["recorded"], 2)
        self.assertEqual(json.loads(self.verify("--json"))["recorded"], 0)
        self.assertIn("rule turned", self.list())

    def test_says_which_class_is_missing(self):
        call = [LEMMA, "rules", "verify", "--rules", str(self.folder)]
        table = self.folder / "axioms.rounding"
        without_class = (f"{table}: axiom commutes has no class, and counts as rounding: for that alone, rules have the "
                         "class rounding: swap\n")
        for text, said in ((None, f"{table}: there is no such table: all rules have the class rounding\n"),
                           ("", without_class), ("other bitwise\n", without_class), ("commutes bitwise\n", "")):
            table.unlink(missing_ok=True)
            if text is not None:
                table.write_text(text)
            result = subprocess.run(call, capture_output=True, text=True, timeout=120)
            self.assertEqual(result.stderr, said)
            self.assertRegex(result.stdout, r"(?m)^swap .* " + ("rounding" if said else "bitwise") + " ")

    def test_names_what_does_not_fit_and_the_command_that_mends_it(self):
        self.verify("--write")
        self.assertIn("rule swap", self.list())
        (self.folder / "substitutions" / "a.certificates").unlink()
        said = self.list(code=2)
        self.assertIn(f"run lemma rules verify --rules {self.folder} --write: rules swap "
                      "(its certificate is missing)", said)
        self.verify("--write")
        self.assertIn("rule swap", self.list())


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
