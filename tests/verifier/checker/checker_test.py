"""The program lemma-check from outside: what it accepts, what it says, and what it is made of."""

import argparse
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
from shipped_rules import rule_that_says, shipped_certificates  # noqa: E402

RELU_OF_TRANSPOSE = rule_that_says("x1 : [A..]", "Relu(Transpose{perm=p1}(x1)) = Transpose{perm=p1}(Relu(x1))")
ADD_COMMUTES = rule_that_says("x1 : [A..]", "x2 : [B..]", "Add(x1, x2) = Add(x2, x1)")
RECIPROCAL_TWICE = rule_that_says("Reciprocal(Reciprocal(x1)) => x1", "group A : 0..5")
RULES = ROOT / "rules" / "substitutions"
CERTIFICATES = shipped_certificates()
TWO_CHAINS = next(text for text in CERTIFICATES.values() if text.count("\nchain ") == 2 and re.search(
    r"(?m)^chain 2 of cases \d+, \d+", text))
OTHERS = [CERTIFICATES[name] for name in ("mul_by_one", "add_zero")]
CHECKER = None


def files_of_axioms(*certificates):
    """The files that have the axioms of these certificates: to read all of them takes longer than to check a few."""
    used = {name for text in certificates for name in re.findall(r"(?m)^axiom (\S+) ", text)}
    return [file for file in sorted((ROOT / "rules" / "axioms").glob("*.axioms"))
            if used & set(re.findall(r"(?m)^axiom (\S+)$", file.read_text()))]


AXIOMS_OF_REFUSALS = files_of_axioms(CERTIFICATES[RELU_OF_TRANSPOSE], CERTIFICATES[RECIPROCAL_TWICE], TWO_CHAINS, *OTHERS)


def check(*arguments):
    return subprocess.run([CHECKER, *map(str, arguments)], capture_output=True, text=True,
                          check=False)


class ShippedCertificates(unittest.TestCase):
    def test_all_hold_and_every_rule_has_one(self):
        done = check("--rules", RULES, RULES)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"{len(CERTIFICATES)} certificates hold", done.stdout)
        self.assertGreater(len(CERTIFICATES), 100)

    def test_each_stands_beside_its_rule_and_in_its_order(self):
        for folder in (RULES, ROOT / "rules" / "one_proof"):
            for pack in folder.glob("*.certificates"):
                names = re.findall(r"(?m)^rule (\S+)$", pack.read_text())
                rules = re.findall(r"(?m)^rule (\S+)$", pack.with_suffix(".rules").read_text())
                self.assertEqual(names, [name for name in rules if name in names], pack)

    def test_a_rule_without_one_is_named(self):
        done = check("--rules", RULES, RULES / "convolution.certificates")
        self.assertEqual(done.returncode, 4)
        self.assertIn("mul_by_one: there is no certificate that holds", done.stderr)


class Refusals(unittest.TestCase):
    """All that is refused here is an alteration of what is accepted with the same axioms."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.rules = pathlib.Path(self.folder.name)
        (self.rules / "axioms").mkdir()
        for file in AXIOMS_OF_REFUSALS:
            shutil.copy(file, self.rules / "axioms")
        for name in ("axioms.rounding", "axioms.proofs"):
            shutil.copy(ROOT / "rules" / name, self.rules)
        shutil.copy(ROOT / "docs" / "operators.md", self.rules)
        (self.rules / "substitutions").mkdir()
        self.file = self.rules / "substitutions" / "movement.certificates"
        self.text = CERTIFICATES[RELU_OF_TRANSPOSE]

    def tearDown(self):
        self.folder.cleanup()

    def refused(self, text, message):
        self.file.write_text(text)
        done = check(self.file)
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn(str(self.file), done.stderr)
        self.assertIn(message, done.stderr)

    def second(self):
        return subprocess.run(
            [sys.executable, ROOT / "checkers" / "lemma_check.py", "--axioms", self.rules / "axioms",
             "--operators", self.rules / "operators.md", self.file],
            capture_output=True, text=True, check=False)

    def refused_by_both(self, text, message, message_of_second=None):
        self.refused(text, message)
        done = self.second()
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn(message_of_second or message, done.stderr)

    def test_unaltered_it_holds(self):
        self.file.write_text(self.text)
        self.assertEqual(check(self.file).returncode, 0)
        self.assertEqual(self.second().returncode, 0)

    def test_another_format(self):
        self.refused_by_both(self.text.replace("lemma certificate 3", "lemma certificate 2"),
                             "another format")

    def test_another_version(self):
        line = self.text.split("\n")[1]
        self.assertRegex(line, r"^verifier \d+$")
        self.refused_by_both(self.text.replace(line, "verifier 7", 1),
                             "version '7' of the verifier", "another version of the verifier")

    def test_an_altered_axiom(self):
        file = self.rules / "axioms" / "elementwise_movement.axioms"
        text = file.read_text()
        altered = text.replace("axiom relu_of_transpose\n  x : [A..]\n  group A : 0..6",
                               "axiom relu_of_transpose\n  x : [A..]\n  group A : 0..5")
        self.assertNotEqual(text, altered)
        file.write_text(altered)
        self.refused_by_both(self.text, "the axiom 'relu_of_transpose' has changed since")

    def test_an_altered_definition(self):
        line = [one for one in self.text.split("\n") if one.startswith("operator Relu ")][0]
        self.refused_by_both(self.text.replace(line, line[:-8] + "00000000"), "operator Relu",
                             "the operator 'Relu' has changed since")

    def test_an_altered_document_of_definitions(self):
        file = self.rules / "operators.md"
        text = file.read_text()
        altered = text.replace("## Relu\n\nMax(x, 0).", "## Relu\n\nMax(x, 1).")
        self.assertNotEqual(text, altered)
        file.write_text(altered)
        self.file.write_text(self.text)
        done = self.second()
        self.assertEqual(done.returncode, 4)
        self.assertIn("the operator 'Relu' has changed since", done.stderr)

    def test_another_class_of_rounding(self):
        self.assertIn("\nclass bitwise\n", self.text)
        self.refused_by_both(self.text.replace("class bitwise", "class rounding"),
                             "its class is bitwise")
        file = self.rules / "axioms.rounding"
        file.write_text("relu_of_transpose distributive\n")
        self.refused_by_both(self.text, "its class is distributive")
        file.unlink()
        self.refused_by_both(self.text, "its class is rounding")

    def test_what_holds_from_left_to_right_proves_no_equation(self):
        """Div(x, x) => 1 and the like: where x is 0, the right side is defined and the left is not."""
        text = CERTIFICATES[RECIPROCAL_TWICE]
        self.file.write_text(text)
        self.assertEqual((check(self.file).returncode, self.second().returncode), (0, 0))
        changed = text.replace(" => x1", " = x1", 1)
        block = changed[changed.index("rule "):changed.index("\noperator ") + 1]
        changed = changed.replace(text.split("\n")[2],
                                  "id " + hashlib.sha256(block.encode()).hexdigest(), 1)
        self.refused_by_both(changed, "its left side may be undefined here")

    def test_a_missing_axiom(self):
        (self.rules / "axioms" / "elementwise_movement.axioms").unlink()
        self.refused(self.text, "there is no axiom 'relu_of_transpose'")

    def test_an_axiom_without_a_proof_record(self):
        file = self.rules / "axioms.proofs"
        text = file.read_text()
        line = [one for one in text.splitlines() if one.startswith("relu_of_transpose ")][0]
        start = "axiom 'relu_of_transpose' is not proved: "
        command = "run lemma rules verify --axioms --write"
        altered = "what it means changed since it was proved, or its record was altered"
        for changed, reason in (
                ("", "no record of an index proof"),
                (line.replace(" cases=", " cases=1"), altered),
                (re.sub("sha256=.", lambda m: m[0][:-1] + ("1" if m[0][-1] == "0" else "0"), line),
                 altered),
                (re.sub(" text=.{64}", " text=" + "0" * 64, line), "changed since it was proved"),
                (re.sub(r"version=\d+", "version=1", line), "proved by another version")):
            file.write_text(text.replace(line, changed))
            self.refused(self.text, start + reason)
            self.refused(self.text, command)
            self.assertEqual(check("--no-axiom-records", self.file).returncode, 0)
        file.unlink()
        self.refused(self.text, start + "no record of an index proof")
        self.assertEqual(check("--no-axiom-records", self.file).returncode, 0)

    def test_records_that_cannot_be_read(self):
        self.file.write_text(self.text)
        (self.rules / "axioms.proofs").write_text("relu_of_transpose text=12\n")
        done = check(self.file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("axioms.proofs:1: the field 'sha256' is missing", done.stderr)

    def test_a_wrong_step_names_case_and_step(self):
        self.refused(self.text.replace(" forward ", " backward ", 1), "chain 1: step 1 "
                     "(relu_of_transpose): what stands at the position")

    def test_a_truncated_file(self):
        self.refused(self.text[:len(self.text) // 2], "line ")

    def test_an_empty_file(self):
        self.refused("", "another format")

    def test_damage_to_one_of_a_pack_is_named_and_leaves_the_others(self):
        """The name of the rule, the line where its certificate begins, and where it can be told, that of the damage."""
        begin = OTHERS[0].count("\n") + 1
        place = f"{self.file}:{begin}: {RELU_OF_TRANSPOSE}: "
        chain = self.text[:self.text.index("chain 1")].count("\n")
        for old, new, reason in (("class bitwise\n", "", "line"), ("chain 1", "chain 2", f"line {begin + chain}: "),
                                 ("forward", "backward", "case 1"), ("\nend\n", "\n", f"line {begin}"),
                                 ("lemma certificate 3", "lemma", f"line {begin}: ")):
            self.assertIn(old, self.text)
            self.file.write_text(OTHERS[0] + self.text.replace(old, new, 1) + OTHERS[1])
            for done in (check(self.file), self.second()):
                self.assertEqual(done.returncode, 4, done.stdout)
                self.assertIn(place, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn("2 certificates hold", done.stdout)
            if reason != f"line {begin}":
                self.assertIn(place + reason, check(self.file).stderr)

    def test_cases_that_another_chain_proves(self):
        """Each alteration of the list of cases is refused by both."""
        text = TWO_CHAINS
        count = int(re.search(r"(?m)^cases (\d+) ", text)[1])
        heading = re.search(r"(?m)^chain 2 of cases (.*)$", text)
        listed = heading[1]
        first = int(re.match(r"\d+", listed)[0])
        self.file.write_text(text)
        self.assertEqual((check(self.file).returncode, self.second().returncode), (0, 0))
        for other, reason in (
                (listed[listed.index(", ") + 2:], ""), ("", "'' is no position"),
                (f"{listed}, {count + 1}", f"there is no case {count + 1}"), (f"0, {listed}", "out of order"),
                (f"{first}, {listed}", "out of order"), (listed.replace(", ", ",", 1), ""), (f"{listed}, ", ""),
                (", ".join(map(str, range(1, count + 1))), "the first chain is not used"), ("x", "")):
            changed = text.replace(heading[0], f"chain 2 of cases {other}")
            self.refused(changed, reason)
            self.assertEqual(self.second().returncode, 4, other)
        for changed in (text.replace(heading[0], "chain 2"), text.replace(heading[0], heading[0].replace("2", "3", 1)),
                        text.replace("chain 1\n", "chain 1 of cases 1\n"),
                        text.replace("\nend\n", f"\nchain 3 of cases {first}\nend\n"),  # of another chain too
                        text.replace("\nend\n", "\nchain 3\nend\n"),
                        re.sub(r"(?m)^cases \d+", f"cases {count - 1}", text),
                        re.sub(r"(?m)^cases \d+", f"cases {10 ** 12}", text),
                        re.sub(r"(?m)^cases (\d+) .", r"cases \1 z", text),
                        re.sub(r"(?m)^cases .*\n", "", text)):
            self.assertNotEqual(changed, text)
            self.refused(changed, "")
            self.assertEqual(self.second().returncode, 4, changed)


class Contradictions(unittest.TestCase):
    """Certificates over true axioms, in tests/verifier/checker/contradictions, signed here."""

    FOLDER = pathlib.Path(__file__).resolve().parent / "contradictions"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        operators = (ROOT / "docs" / "operators.md").read_text()
        self.operators = {section.split("\n", 1)[0]: "## " + section.strip("\n") + "\n"
                          for section in operators.split("\n## ")[1:]}
        axioms = (self.FOLDER / "axioms" / "true.axioms").read_text().split("\n\n")
        axioms = [one.strip("\n") for one in axioms if one.startswith("axiom ")]
        self.axioms = {one.split("\n", 1)[0].removeprefix("axiom "): one + "\n" for one in axioms}

    def tearDown(self):
        self.folder.cleanup()

    def signed(self, name):
        def digest(text):
            return hashlib.sha256(text.encode()).hexdigest()
        texts = (self.FOLDER / "certificates.unsigned").read_text().split("\nend\n")
        text = next(text for text in texts if f"\nrule {name}\n" in text) + "\nend\n"
        cases = re.search(r"(case .*\n)+", text)[0]
        text = text.replace(cases, f"cases {cases.count(chr(10))} {digest(cases)}\n")
        rule = text[text.index("\nrule ") + 1:text.index("\noperator ") + 1]
        lines = []
        for line in text.split("\n"):
            kind, _, rest = line.removesuffix(" DIGEST").partition(" ")
            if not line.endswith(" DIGEST"):
                lines.append(line)
            elif line == "id DIGEST":
                lines.append("id " + digest(rule))
            else:
                known = self.operators if kind == "operator" else self.axioms
                canonical = known[rest].replace("  group A : 0..3\n", "")
                lines.append(f"{kind} {rest} {digest(canonical)}")
        file = pathlib.Path(self.folder.name) / f"{name}.certificates"
        file.write_text("\n".join(lines))
        return file

    def answers(self, name):
        file = self.signed(name)
        second = subprocess.run(
            [sys.executable, ROOT / "checkers" / "lemma_check.py", "--no-axiom-records", "--axioms",
             self.FOLDER / "axioms", file], capture_output=True, text=True, check=False)
        first = check("--no-axiom-records", "--axioms", self.FOLDER / "axioms", file)
        return first, second

    def test_what_they_prove_rightly_holds(self):
        for name in ("zero_from_difference", "zero_equals_defined_difference"):
            for done in self.answers(name):
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_zero_is_not_one(self):
        first, second = self.answers("zero_is_one")
        self.assertEqual((first.returncode, second.returncode), (4, 4))
        self.assertIn("step 2 (difference_with_itself): the axiom is a refinement, used backward",
                      first.stderr)

    def test_refinements_are_no_equations(self):
        for name in ("eq_zero_over_zero", "zero_equals_difference"):
            first, second = self.answers(name)
            self.assertEqual((first.returncode, second.returncode), (4, 4), name)
            self.assertIn("step 1", first.stderr)
            self.assertIn("used for an equation", first.stderr)


class BadUsage(unittest.TestCase):
    def test_exit_code_is_two(self):
        for arguments in ([], ["/nowhere"], ["--axioms"], [RULES, "--wrong"],
                          ["--axioms", "/nowhere", RULES], [ROOT / "docs"]):
            done = check(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertTrue(done.stderr.startswith("lemma-check: "), arguments)


class Explanations(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = pathlib.Path(self.folder.name) / "sum.explanation"
        self.certificate = self.pack_of(ADD_COMMUTES)
        digest = CERTIFICATES[ADD_COMMUTES].split("\n")[2].removeprefix("id ")
        self.text = f"""lemma explanation 2
graph "sum"
  input %0 "x" : f32[2, N]
  input %1 "y" : f32[N]
  %2 = Add(%0, %1) : f32[2, N]
  %3 = Relu(%2) : f32[2, N]
  %4 = Add(%1, %0) : f32[2, N]
  %5 = Relu(%4) : f32[2, N]
  output "before z" = %3
  output "after z" = %5
rule {ADD_COMMUTES} {digest}
step {ADD_COMMUTES} forward: x1=%0, x2=%1, A=[2, N], B=[N]
outside writing: that the written file says what "after" does
end
"""

    def tearDown(self):
        self.folder.cleanup()

    def pack_of(self, name):
        file = pathlib.Path(self.folder.name) / f"{name}.certificates"
        file.write_text(CERTIFICATES[name])
        return file

    def checked(self, text, *certificates):
        self.file.write_text(text)
        return check("--axioms", ROOT / "rules" / "axioms", *certificates, self.file)

    def test_it_holds_by_the_certificate_of_its_rule(self):
        done = self.checked(self.text, self.certificate)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("holds: 1 outputs equal by 1 steps with 1 rules", done.stdout)
        self.assertIn("outside: writing: that the written file", done.stdout)
        self.assertNotIn("not checked", done.stdout)

    def test_what_stays_unchecked_is_an_error_unless_it_is_accepted(self):
        text = self.text.replace("outside writing: that the written file says what", "outside writing: the file, not")
        done = self.checked(text, self.certificate)
        self.assertEqual(done.returncode, 4)
        self.assertIn("not checked: writing: the file", done.stdout)
        self.assertIn("something stays unchecked", done.stderr)
        accepted = check("--accept-unchecked", "--axioms", ROOT / "rules" / "axioms", self.certificate, self.file)
        self.assertEqual((accepted.returncode, accepted.stderr), (0, ""))

    def test_what_is_given_of_inputs_has_to_be_promised(self):
        text = self.text.replace("outside", 'given %1: defined finite [0, 1]\noutside').replace('"y"', '"input y"')
        done = self.checked(text, self.certificate)
        self.assertEqual(done.returncode, 4)
        self.assertIn("nobody promises that 'input y' is defined finite [0, 1]", done.stderr)
        for promise, code in (("y: defined finite [0, 1]", 0), ("y: defined finite [0, 2]", 4), ("x: defined finite [0, 1]", 4),
                              ("y", 2), (": defined [0, 1]", 2), ("y: between 0 and 1", 2)):
            done = check("--given", promise, "--axioms", ROOT / "rules" / "axioms", self.certificate, self.file)
            self.assertEqual(done.returncode, code, promise + done.stderr)
            if code == 0:
                self.assertIn("promised on the command line: that 'input y' is defined finite [0, 1]", done.stdout)

    def test_another_certificate_is_not_enough(self):
        done = self.checked(self.text, self.pack_of(RELU_OF_TRANSPOSE))
        self.assertEqual(done.returncode, 4)
        self.assertIn(f"no certificate that holds proves the rule '{ADD_COMMUTES}'", done.stderr)

    def test_altered_it_is_refused(self):
        for old, new in (("x1=%0", "x1=%1"), ("x1=%0", "x1=%9"), ("A=[2, N]", "A=[3, N]"),
                         ("after z\" = %5", "after z\" = %4"), ("forward", "onward"),
                         ("Relu(%4)", "Sigmoid(%4)"), ("step", "steps"), ("end\n", ""),
                         ("%4 = Add(%1, %0)", "%4 = Add(%1, %2)"), ("N]\nrule", "M]\nrule")):
            altered = self.text.replace(old, new, 1)
            if altered != self.text:
                self.assertEqual(self.checked(altered, self.certificate).returncode, 4, new)


class Size(unittest.TestCase):
    def test_it_is_small(self):
        files = [file for file in (ROOT / "verifier" / "checker").glob("*.*")
                 if not file.stem.startswith("explanation")]  # what follows from certificates
        lines = sum(len(file.read_text().split("\n")) - 1 for file in files
                    if file.suffix in (".h", ".cpp"))
        self.assertLessEqual(lines, 900)

    def test_it_links_neither_solver_nor_search(self):
        linked = subprocess.run(["ldd", CHECKER], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("z3", linked)
        symbols = subprocess.run(["nm", "-C", CHECKER], capture_output=True, text=True,
                                 check=True).stdout
        self.assertIn("lemma::checker::check", symbols)
        for other in ("lemma::verifier::", "lemma::egraph::", "lemma::search::", "Z3_"):
            self.assertNotIn(other, symbols)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--checker", required=True)
    arguments, rest = parser.parse_known_args()
    CHECKER = arguments.checker
    unittest.main(argv=["checker_test.py", *rest])
