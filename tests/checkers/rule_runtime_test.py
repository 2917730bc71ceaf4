#!/usr/bin/env python3
"""Rules in ONNX Runtime, and rules with one change: true ones hold, false ones are noticed."""

import random
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "checkers"), str(ROOT / "scripts")]

from environment import enter_or_skip  # noqa: E402

enter_or_skip()

from rule_evaluation.language import rules_of  # noqa: E402
from rule_evaluation.rule_mutants import mutant_of, term_of, term_text  # noqa: E402
from rule_evaluation.runtime import RuntimeJudge  # noqa: E402
from rule_evaluation.work import evaluate_rule  # noqa: E402

PRODUCTS = """rule products
  x : [m, k]
  a : [k, n]
  b : [k, n]
  MatMul(x, Add(a, b)) = Add(MatMul(x, a), MatMul(x, b))
"""
PARTS = """rule parts
  x : [m, n + p]
  Concat{axis=1}(Split{axis=1, split=[n, p]}(x)#0, Split{axis=1, split=[n, p]}(x)#1) => x
"""
IMAGES = """rule images
  x : [b, c, h, w]
  k : [o, c, 3, 3]
  Relu(Conv{strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], group=1}(Pad{pads=[0, 0, 0, 0, 0, 0, 0, 0]}(x), k))
    = Relu(Conv{strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], group=1}(x, k))
"""


def rule_of(text):
    return rules_of(text, "test")[0]


class Runtime(unittest.TestCase):
    def test_true_rules_hold(self):
        for text, instances in ((PRODUCTS, 10), (PARTS, 10), (IMAGES, 2)):
            with self.subTest(text.split()[1]):
                self.assertEqual(RuntimeJudge(rule_of(text), 1).run(instances), (instances, ""))

    def test_types_for_which_there_are_no_kernels_are_left(self):
        judge = RuntimeJudge(rule_of(IMAGES), 1)
        judge.run(1)
        self.assertEqual(judge.element.__name__, "float32")

    def test_false_rules_are_noticed(self):
        for wrong in (PRODUCTS.replace("Add(a, b)", "Sub(a, b)"), PARTS.replace("(x)#0", "(x)#1", 1),
                      IMAGES.replace("= Relu(", "= Abs(")):
            with self.subTest(wrong.split()[1]):
                computed, difference = RuntimeJudge(rule_of(wrong), 1).run(20)
                self.assertTrue(difference, f"{computed} instances")

    def test_elements_that_are_undefined_are_not_compared(self):
        undefined = "rule quotient\n  x : [n]\n  y : [n]\n  Mul(Div(x, y), y) => x\n"
        self.assertEqual(RuntimeJudge(rule_of(undefined), 1).run(10), (10, ""))
        converse = "rule quotient\n  x : [n]\n  y : [n]\n  x => Mul(Div(x, y), y)\n"
        self.assertNotEqual(RuntimeJudge(rule_of(converse), 1).run(30)[1], "")


class Mutants(unittest.TestCase):
    def test_terms_are_written_as_they_are_read(self):
        for text in (PRODUCTS, PARTS, IMAGES):
            rule = rule_of(text)
            for side in (rule.left, rule.right):
                for root in side:
                    written = term_text(rule, term_of(rule, root))
                    header = "\n".join(line for line in text.split("\n") if " : " in line)
                    again = rule_of(f"rule again\n{header}\n  {written} => {written}\n")
                    self.assertEqual(term_of(again, again.left[0]), term_of(rule, root))

    def test_a_mutant_is_another_claim_about_the_same_inputs(self):
        generator, rule, found = random.Random(3), rule_of(PRODUCTS), set()
        for number in range(40):
            mutant = mutant_of(rule, PRODUCTS, generator, number)
            if mutant is None:
                continue
            what, changed, text = mutant
            found.add(what)
            self.assertEqual([one.shape for one in changed.inputs], [one.shape for one in rule.inputs])
            self.assertNotEqual(term_of(changed, changed.right[0]), term_of(rule, rule.right[0]))
            self.assertEqual(term_of(changed, changed.left[0]), term_of(rule, rule.left[0]), text)
        self.assertGreaterEqual(len(found), 3, found)

    def test_most_mutants_are_noticed(self):
        generator, rule, count, noticed = random.Random(5), rule_of(PRODUCTS), 0, 0
        for number in range(30):
            mutant = mutant_of(rule, PRODUCTS, generator, number)
            if mutant is None:
                continue
            count += 1
            failures = evaluate_rule(mutant[1], 1, 20, False)["summary"]["failures"]
            noticed += bool(failures or RuntimeJudge(mutant[1], 1).run(20)[1])
        self.assertGreater(count, 5)
        self.assertGreaterEqual(noticed, count - 2)  # two of the operands of Add may be exchanged


if __name__ == "__main__":
    unittest.main()
