#!/usr/bin/env python3
"""The second checker of certificates: small proofs hold, and wrong ones are refused for the reason
named."""

import itertools
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from second_checker_library import check, digest, OPERATORS  # noqa: E402
from second_checker_proofs import TRUE  # noqa: E402
from second_checker_wrong import FAMILIES  # noqa: E402
import lemma_check  # noqa: E402
from second_checker.axes import is_proved_for_scalars  # noqa: E402
from second_checker.cases import required_cases  # noqa: E402
from second_checker.certificates import check_digests  # noqa: E402
from second_checker.conditions import follows  # noqa: E402
from second_checker.definitions import Definition, LISTED, OVER_NOTHING, TOTAL, verdict  # noqa: E402
from second_checker.records import axioms_with_records  # noqa: E402
from second_checker.reals import has_gap, ordered_values  # noqa: E402
from second_checker.rules import parse_rules  # noqa: E402
from second_checker.sizes import (add, at_least, floor_quotient, multiply, number, ONE, parse_size, Refused,  # noqa: E402
                                  subtract, symbol, ZERO)


class Proofs(unittest.TestCase):
    def test_that_hold(self):
        for name, text in TRUE.items():
            with self.subTest(name):
                check(text)

    def test_wrong_ones_are_refused_for_their_reason(self):
        count = 0
        for family, members in FAMILIES.items():
            for name, (text, reason) in members.items():
                records = {} if "record" in name else None
                with self.subTest(family=family, name=name):
                    with self.assertRaisesRegex(Refused, reason):
                        check(text, records)
                count += 1
        self.assertGreaterEqual(count, 100)


class Cases(unittest.TestCase):
    def test_a_rule_of_millions_of_cases_is_refused_at_once(self):
        """Groups of up to eight axes have too many ways to broadcast where the rule is not one of scalars."""
        groups = "".join(f"  {one} : [{group}..]\n  group {group} : 0..8\n" for one, group in zip("xyz", "ABC"))
        groups = "".join(sorted(groups.splitlines(True), key=lambda line: line.startswith("  group")))
        claim = "  Add(Add(x, y), z) = Add(x, Add(y, z))\n"
        scalar, = parse_rules("rule r\n" + groups + claim)
        self.assertEqual(len(required_cases(scalar)), 1)
        limited, = parse_rules("rule r\n" + groups + "  where len(A) <= 8\n" + claim)
        for most in (1, 40):
            with self.assertRaisesRegex(Refused, f"{most} instead of more"):
                required_cases(limited, most)


class Definedness(unittest.TestCase):
    def test_operators_of_the_list_are_total_by_their_definitions(self):
        found = {name: verdict(name, OPERATORS[name]) for name in sorted(LISTED)}
        over_nothing = {name for name, one in found.items() if one == OVER_NOTHING}
        self.assertEqual(over_nothing, {"ReduceMax", "ReduceMean", "ReduceMin", "GlobalMaxPool"})
        self.assertEqual({one for name, one in found.items() if name not in over_nothing}, {TOTAL})

    def test_others_are_not_by_their_definitions(self):
        for name in ("Acos Acosh Asin Atanh AveragePool BatchNormalization Div Gather "
                     "GatherElements GatherND LRN LayerNormalization Log LogSoftmax LpPool MaxPool Mod "
                     "NegativeLogLikelihoodLoss Pow Reciprocal ReduceL2 ReduceLogSum ReduceMean Softmax "
                     "Sqrt Tan TopK").split():
            self.assertNotEqual(Definition(name, OPERATORS[name]).verdict(), TOTAL, name)

    def test_a_changed_definition_is_read_anew(self):
        for old, new in (("max(a[i0, i1], 0)", "sqrt(a[i0, i1])"), ("max(a[i0, i1], 0)", "1 / a[i0, i1]"),
                         ("max(a[i0, i1], 0)", "log(1 + abs(a[i0, i1]))"), ("a[i0, i1]", "a[i1, i0]"),
                         ("a[i0, i1]", "a[i0 + 1, i1]"), ("max(a[i0, i1], 0)", "pow(a[i0, i1], 2)"),
                         ("max(a[i0, i1], 0)", "a[i0, i1] / (1 + exp(a[i0, i1]) - 1)"),
                         ("max(a[i0, i1], 0)", "a[i0, i1] / 0"), ("max(a[i0, i1], 0)", "a[i0, i1] / sqrt(0)"),
                         ("max(a[i0, i1], 0)", "sqrt(a[i0, i1] * 2)"), ("max(a[i0, i1], 0)", "inf"),
                         ("y[i0, i1] =", "  %1 =")):
            section = OPERATORS["Relu"]
            self.assertIn(old, section)
            self.assertNotEqual(verdict("Relu", section.replace(old, new)), TOTAL, new)


    def test_means_divide_by_the_number_of_their_terms(self):
        section = OPERATORS["ReduceMean"]
        self.assertIn("/ f32(K*M)", section)
        for new in ("f32(K-M)", "f32(K*i0)", "f32(K*M-1)", "f32(0)", "f32(K*)", "f32()", "a[i0, i1]", "f32(i0)", "K"):
            changed = section.replace("f32(K*M)", new)
            self.assertEqual(verdict("ReduceMean", changed), "partial", new)

    def test_each_output_is_read(self):
        section = OPERATORS["Split"]
        self.assertEqual(verdict("Split", section), TOTAL)
        for old, new in (("y1[i0, i1] = a[", "y1[i0, i1] = 1 / a["), ("y0[i0, i1] = a[", "y0[i0, i1] = 1 / a["),
                         ("y1[i0, i1] =", "z1[i0, i1] =")):
            self.assertIn(old, section)
            self.assertNotEqual(verdict("Split", section.replace(old, new)), TOTAL, new)


class FollowingSizes(unittest.TestCase):
    def test_a_quotient_and_a_number_are_one_quotient(self):
        n = symbol("n")
        half = floor_quotient(add(n, ONE), number(2))
        self.assertTrue(follows(subtract(half, ONE), {subtract(n, ONE)}))
        self.assertFalse(follows(subtract(half, ONE), set()))
        self.assertFalse(follows(subtract(half, number(2)), {subtract(n, ONE)}))


class Meanings(unittest.TestCase):
    """A certificate has the digest of an operator's section, and that has the digest of the meaning."""

    def test_a_changed_meaning_of_any_operator_is_seen(self):
        self.assertGreater(len(OPERATORS), 150)
        for name, section in OPERATORS.items():
            if " " in name:
                continue  # a table
            lines = [f"{name} {digest(section)}"]
            check_digests("operator", lines, {name}, OPERATORS)
            before = re.search("Digest of the meaning: `([0-9a-f]{64})`", section)[1]
            other = section.replace(before, digest(before))
            with self.assertRaisesRegex(Refused, f"'{name}' has changed since"):
                check_digests("operator", lines, {name}, {name: other})

    def test_a_meaning_that_nothing_covers_is_refused(self):
        for name, section in OPERATORS.items():
            if " " in name:
                continue
            for ending in ("Digest of the meaning: ``\n", ""):
                open_one = re.sub("Digest of the meaning: .*\n", ending, section)
                with self.assertRaisesRegex(Refused, f"no digest covers the meaning of {name}"):
                    check_digests("operator", [f"{name} {digest(open_one)}"], {name}, {name: open_one})


class Sizes(unittest.TestCase):
    def test_blocks_hold_what_they_are_made_for(self):
        for text in ("-c + 16*floordiv(c + 15, 16)", "16*floordiv(g + 15, 16) - g", "-c*g + 32*floordiv(c*g + 15, 16)"):
            self.assertTrue(at_least(parse_size(text), ZERO), text)

    def test_fewer_blocks_need_not(self):
        for text in ("-c + 16*floordiv(c + 14, 16)", "-c + 8*floordiv(c + 15, 16)", "-2*c + 16*floordiv(c + 15, 16)",
                     "-c - 16*floordiv(c + 15, 16)"):
            self.assertFalse(at_least(parse_size(text), ZERO), text)


class Axes(unittest.TestCase):
    def is_for_scalars(self, claim, least=0, most=8, condition=""):
        rule, = parse_rules("rule r\n  a : [A..]\n  b : [B..]\n  group A : 0..8\n"
                            f"  group B : {least}..{most}\n{condition}  {claim}\n")
        return is_proved_for_scalars(rule)

    def test_elementwise_rules_over_whole_groups_are_proved_for_scalars(self):
        for claim in ("Add(a, b) = Add(b, a)", "Max(Neg(a), b) = Max(b, Neg(a))",
                      "Sub(ConstantOfShape{shape=[], value=1.0}(), Add(a, b)) = "
                      "Sub(ConstantOfShape{shape=[], value=1.0}(), Add(b, a))"):
            self.assertTrue(self.is_for_scalars(claim), claim)

    def test_others_are_not(self):
        for claim in ("Sub(Add(a, b), b) => a", "Add(Softmax{axis=0}(a), b) = Add(b, Softmax{axis=0}(a))",
                      "Add(a, ConstantOfShape{shape=[B..], value=0.0}()) = Add(ConstantOfShape{shape=[B..], value=0.0}(), a)"):
            self.assertFalse(self.is_for_scalars(claim), claim)
        self.assertFalse(self.is_for_scalars("Add(a, b) = Add(b, a)", most=4))
        self.assertFalse(self.is_for_scalars("Add(a, b) = Add(b, a)", least=1))
        self.assertFalse(self.is_for_scalars("Add(a, b) = Add(b, a)", condition="  where len(A) == len(B)\n"))


class Orders(unittest.TestCase):
    def test_each_order_of_numbers_has_one_choice(self):
        """Any numbers stand to each other and to 0 as just one of the choices do."""
        def order(values):
            return tuple((a > b) - (a < b) for a in (*values, 0) for b in (*values, 0))

        for count in (1, 2, 3):
            choices = [[]]
            for _ in range(count):
                choices = [[*one, value] for one in choices for value in ordered_values(count)]
            kept = [one for one in choices if not has_gap(one)]
            orders = [order([getattr(value, "k", 0) for value in one]) for one in kept]
            numbers = [[]]
            for _ in range(count):
                numbers = [[*one, value] for one in numbers for value in (-9, -2, -1, 0, 3, 4, 7)]
            self.assertEqual(len(set(orders)), len(orders))
            self.assertEqual({order(one) for one in numbers}, set(orders))


class Records(unittest.TestCase):
    def reasons(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "axioms").mkdir()
            if text is not None:
                (Path(folder) / "axioms.proofs").write_text(text)
            return axioms_with_records(Path(folder) / "axioms", {"a": "axiom a\n", "b": "axiom b\n"})

    @staticmethod
    def record(name, text, version=3):
        return f"{name} sha256={'0' * 64} text={digest(text)} cases=4 version={version}\n"

    def test_records_of_these_texts(self):
        fit = self.record("a", "axiom a\n")
        self.assertEqual(self.reasons("# a comment\n" + fit + self.record("b", "axiom b\n")),
                         {"a": None, "b": None})
        self.assertEqual(self.reasons(fit), {"a": None, "b": "has no proof record"})
        self.assertEqual(self.reasons(fit + self.record("b", "axiom c\n"))["b"],
                         "has a proof record of another text")
        self.assertEqual(self.reasons(fit + self.record("b", "axiom b\n", 2))["b"],
                         "has a proof record of an older version")
        self.assertEqual(self.reasons(None)["a"], "has no proof record")

    def test_what_is_no_record(self):
        for text in ("a text=e124b68d3ce96a4d definitions=b53bc7049894fbb1 cases=14 uniform=0 version=2\n",
                     self.record("a", "axiom a\n") * 2, self.record("a", "x").replace("cases=4", "cases=0"),
                     self.record("a", "x")[:-2] + "\n"):
            with self.assertRaises(Refused):
                self.reasons(text)


class Following(unittest.TestCase):
    """A size is at least 0 where others are; each claim is tried on all small values of the symbols."""

    NAMES = ("k", "h", "t", "y")
    SIZES = ("y - 1", "h + t - 1", "h - 1", "2*y - 1", "2*y - 3", "k*h + k*t + h + t - 1", "k*h - 1", "h*h + t - 1",
             "h - t", "k*y - h", "3*y - h - 1", "y - 2", "2*y + 2*h - 5", "y + h - 3", "y + h - 2", "4")

    def size(self, text):
        total = ZERO
        for part in text.replace(" - ", " + -").split(" + "):
            product = number(-1 if part.startswith("-") else 1)
            for factor in part.lstrip("-").split("*"):
                product = multiply(product, number(int(factor)) if factor.isdigit() else symbol(factor))
            total = add(total, product)
        return total

    def test_what_follows_is_true(self):
        values = [dict(zip(self.NAMES, ones)) for ones in itertools.product(range(4), repeat=len(self.NAMES))]
        followed = set()
        for bound, size in itertools.product(self.SIZES, repeat=2):
            if not follows(self.size(size), {self.size(bound)}):
                continue
            followed.add((bound, size))
            for one in values:
                if eval(bound, {}, one) >= 0:
                    self.assertGreaterEqual(eval(size, {}, one), 0, f"{size} from {bound} where {one}")
        for pair in (("2*y - 1", "y - 1"), ("2*y - 3", "y - 2"), ("k*h + k*t + h + t - 1", "h + t - 1"),
                     ("k*h - 1", "h - 1"), ("2*y + 2*h - 5", "y + h - 3")):
            self.assertIn(pair, followed)


class Program(unittest.TestCase):
    def test_axioms_with_operators_that_are_not_known_are_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "one.axioms").write_text(
                "axiom known\n  x : [n]\n  Relu(Relu(x)) = Relu(x)\n\n"
                "axiom strange\n  x : [n]\n  TopK{k=1}(x) = x\n")
            self.assertEqual(list(lemma_check.read_axioms(folder)), ["known"])
            (Path(folder) / "two.axioms").write_text("axiom broken\n  x : [n]\n  Relu(y) = x\n")
            with self.assertRaisesRegex(Refused, "broken: 'y' is neither an input"):
                lemma_check.read_axioms(folder)


if __name__ == "__main__":
    unittest.main()
