#!/usr/bin/env python3
"""`lemma rules import|verify FILE|export` as programs, and TASO's own file where it is at hand."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import small_file

ROOT = pathlib.Path(__file__).resolve().parents[3]
TASO_FILE = pathlib.Path(os.environ.get("LEMMA_SHARED", ROOT.parent / "shared")) / \
    "peers/taso/graph_subst.pb"
WRONG = {98, 99, 100, 105, *range(125, 132)}
UNDEFINED = {70, 73, 77, 79, 81, 84, 91, 95, 103, 104, *range(110, 119), 120, 132}
LEMMA = CHECKER = None


def run(*command, code=0):
    result = subprocess.run([str(one) for one in command], capture_output=True, text=True,
                            timeout=300, cwd=ROOT)
    if result.returncode != code:
        raise AssertionError(f"{command}: exit code {result.returncode}\n"
                             f"{result.stdout}{result.stderr}")
    return result


class Exchange(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-exchange-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def decide(self, file, code):
        """Imports and verifies a file; its verdicts by index, and the processor seconds."""
        rules, verdicts = self.folder / "r.rules", self.folder / "verdicts"
        run(LEMMA, "rules", "import", file, "-o", rules)
        output = run(LEMMA, "rules", "verify", rules, "--verdicts", verdicts, "--json",
                     "--certificates", self.folder / "proofs", code=code).stdout
        lines = [json.loads(one) for one in verdicts.read_text().splitlines()]
        self.assertEqual([one["index"] for one in lines], list(range(len(lines))))
        return lines, json.loads(output)

    def check(self, count):
        proofs = self.folder / "proofs"
        for checker in ((CHECKER, "--axioms", ROOT / "rules/axioms"),
                        (sys.executable, ROOT / "checkers/lemma_check.py")):
            output = run(*checker, "--rules", proofs, proofs).stdout
            self.assertIn(f"{count} certificates hold", output)

    def test_the_small_file_is_what_its_source_says(self):
        self.assertEqual((ROOT / "tests/verifier/exchange/small.pb").read_bytes(),
                         small_file.collection())

    def test_decides_the_small_file(self):
        lines, totals = self.decide(ROOT / "tests/verifier/exchange/small.pb", 4)
        verdicts = {one["rule"]: one for one in lines}
        self.assertEqual((totals["proved"], totals["refuted"], totals["unknown"]), (7, 1, 0))
        self.assertEqual(verdicts["taso_006"]["verdict"], "refuted")
        self.assertIn("inputs", verdicts["taso_006"]["counterexample"])
        self.assertEqual(verdicts["taso_000"]["condition"], "")
        self.assertIn("group_1 == 1", verdicts["taso_004"]["condition"])
        self.assertIn("group_2 == group_1", verdicts["taso_005"]["added"])
        self.assertIn("without condition: refuted", verdicts["taso_005"]["reason"])
        self.assertEqual(verdicts["taso_007"]["condition"],
                         "len(A1) == 0, len(A2) == 0, x2_0 == x1_0")
        self.check(7)

    def test_a_proof_does_not_outlive_its_condition(self):
        self.decide(ROOT / "tests/verifier/exchange/small.pb", 4)
        sys.path.insert(0, str(ROOT / "checkers"))
        from second_checker.certificates import digest
        pack = (self.folder / "proofs" / "proved.certificates").read_text()
        text = next(one for one in pack.split("lemma certificate ") if "\nrule taso_005\n" in one)
        file = self.folder / "taso_005.certificates"
        lines = ("lemma certificate " + text).split("\n")
        where = next(i for i, one in enumerate(lines) if one.startswith("  where "))
        del lines[where]
        end = next(i for i, one in enumerate(lines) if one.startswith("operator "))
        lines[2] = "id " + digest("\n".join(lines[3:end]) + "\n")
        file.write_text("\n".join(lines))
        run(CHECKER, "--axioms", ROOT / "rules/axioms", file, code=4)
        run(sys.executable, ROOT / "checkers/lemma_check.py", file, code=4)

    def test_garbage_is_one_line_and_exit_code_2(self):
        for name, contents in {"empty": b"", "text": b"rule a\n", "cut": small_file.collection()[:-3],
                               "random": bytes(range(7, 250))}.items():
            file = self.folder / name
            file.write_bytes(contents)
            result = run(LEMMA, "rules", "import", file, code=2)
            self.assertEqual(result.stdout, "")
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn(str(file), result.stderr)
        run(LEMMA, "rules", "import", self.folder / "absent", code=2)

    def test_exports_what_it_imported(self):
        rules, again, out = (self.folder / one for one in ("a.rules", "b.rules", "out.pb"))
        run(LEMMA, "rules", "import", ROOT / "tests/verifier/exchange/small.pb", "-o", rules)
        run(LEMMA, "rules", "export", rules, "-o", out)
        run(LEMMA, "rules", "import", out, "-o", again)
        twice = self.folder / "twice.pb"
        run(LEMMA, "rules", "export", again, "-o", twice)
        self.assertEqual(out.read_bytes(), twice.read_bytes())

    def test_exports_only_what_is_true_as_it_will_be_read(self):
        rules = self.folder / "a.rules"
        # The condition is lost on the way: without it the second rule is false, the first is not.
        rules.write_text("rule kept\n  x : [n]\n  y : [m]\n  where m == n\n"
                         "  Add(x, y) => Add(y, x)\n\n"
                         "rule lost\n  x : [n, m]\n  y : [m, n]\n  where n == 1, m == 1\n"
                         "  MatMul(x, y) => MatMul(y, x)\n")
        result = run(LEMMA, "rules", "export", rules, "-o", self.folder / "out.pb")
        self.assertIn("1 rules exported, 1 of them", result.stdout)
        self.assertIn("left out: lost: TASO would read a rule that is not true", result.stderr)

    def test_rewriting_systems_get_what_comes_back(self):
        rules, again = self.folder / "a.rules", self.folder / "b.rules"
        rules.write_text("rule kept\n  x : [n, m]\n  Abs(Neg(x)) = Abs(x)\n")
        for form in ("egg", "egglog"):
            out = self.folder / form
            printed = run(LEMMA, "rules", "export", rules, "--format", form, "-o", out).stdout
            self.assertEqual(printed, "1 rules exported; 0 of 1 left out\n")
            run(LEMMA, "rules", "import", out, "--format", form, "-o", again)
            self.assertEqual(again.read_text(), rules.read_text())
            cut = self.folder / "cut"
            cut.write_text(out.read_text().rstrip()[:-1])
            result = run(LEMMA, "rules", "import", cut, "--format", form, code=2)
            self.assertEqual((result.stdout, result.stderr.count("\n")), ("", 1), result.stderr)
            self.assertIn(f"{cut}:", result.stderr)

    def test_other_provers_agree(self):
        if not shutil.which("eprover") and not shutil.which("cvc5"):
            self.skipTest("neither eprover nor cvc5 is installed")
        self.decide(ROOT / "tests/verifier/exchange/small.pb", 4)
        script = (sys.executable, ROOT / "scripts/reprove.py", "--lemma", LEMMA,
                  "--certificates", self.folder / "proofs")
        self.assertIn("at least one: 7 of 7", run(*script).stdout)
        self.assertIn("at least one: 0 of 7", run(*script, "--canary", "--limit", "2").stdout)

    def test_decides_all_of_taso(self):
        if not TASO_FILE.exists():
            self.skipTest(f"{TASO_FILE} is absent")
        lines, totals = self.decide(TASO_FILE, 0)
        self.assertEqual((len(lines), totals["unknown"]), (133, 0))
        for one in lines:
            conditional = one["index"] in WRONG | UNDEFINED
            self.assertEqual(one["verdict"], "proved", one)
            self.assertEqual(bool(one["condition"]), conditional, one)
            if one["index"] in WRONG:
                self.assertIn("without condition: refuted", one["reason"])
                equal = one["index"] in (99, 100, 130, 131)
                self.assertIn("out_2 == out_1" if equal else "group_1 == 1", one["added"], one)
        self.check(133)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--checker", required=True)
    known, rest = parser.parse_known_args()
    LEMMA, CHECKER = known.lemma, known.checker
    unittest.main(argv=[sys.argv[0], *rest])
