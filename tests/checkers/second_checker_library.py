"""What the tests of the second checker share: a few axioms, and certificates written by hand, to
which digests are added."""

import hashlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "checkers"))

import lemma_check  # noqa: E402
from second_checker.certificates import check_certificate  # noqa: E402
from second_checker.rules import parse_rules  # noqa: E402

AXIOMS = """
axiom add_associates
  a : [A..]
  b : [B..]
  c : [C..]
  Add(Add(a, b), c) = Add(a, Add(b, c))

axiom add_commutes
  a : [A..]
  b : [B..]
  Add(a, b) = Add(b, a)

axiom add_zero
  x : [A..]
  param t : type
  Add(x, ConstantOfShape{data_type=t, shape=[], value=0.0}()) = x

axiom cast_of_f32
  x : f32[A..]
  Cast{to=f32}(x) = x

axiom clip_above_clip
  x : [A..]
  param a : real
  param b : real
  where real_less_equal(a, b)
  Clip{min=a}(Clip{min=b}(x)) = Clip{min=b}(x)

axiom clip_of_clip
  x : [A..]
  param a : real
  param b : real
  Clip{min=a}(Clip{min=b}(x)) = Clip{min=real_max(a, b)}(x)

axiom difference_of_defined
  defined x : [A..]
  param t : type
  Sub(x, x) = ConstantOfShape{data_type=t, shape=[A..], value=0.0}()

axiom difference_with_itself
  x : [A..]
  param t : type
  Sub(x, x) => ConstantOfShape{data_type=t, shape=[A..], value=0.0}()

axiom div_as_mul
  a : [A..]
  b : [B..]
  Div(a, b) = Mul(a, Reciprocal(b))

axiom empty_slice
  x : [n]
  param t : type
  Slice{axes=[0], ends=[0], starts=[0]}(x) = ConstantOfShape{data_type=t, shape=[0], value=0.0}()

axiom expand_of_scalar
  s : []
  param D : dimensions[1]
  Expand{shape=D}(s) = Expand{shape=D}(Reshape{shape=[]}(s))

axiom identity_of_square
  x : [n, n]
  Identity(x) = x

axiom joined_halves
  x : [n, m]
  param k : dimension
  where k <= n
  Concat{axis=0}(Slice{axes=[0], ends=[k], starts=[0]}(x), Slice{axes=[0], ends=[n], starts=[k]}(x))
    = x

axiom mul_commutes
  a : [A..]
  b : [B..]
  Mul(a, b) = Mul(b, a)

axiom mul_distributes_over_add
  a : [A..]
  b : [B..]
  c : [C..]
  Mul(a, Add(b, c)) = Add(Mul(a, b), Mul(a, c))

axiom numbers_added
  param a : real
  param b : real
  Add(ConstantOfShape{shape=[], value=a}(), ConstantOfShape{shape=[], value=b}())
    = ConstantOfShape{shape=[], value=real_add(a, b)}()

axiom quotient_with_itself
  x : [A..]
  param t : type
  Div(x, x) => ConstantOfShape{data_type=t, shape=[A..], value=1.0}()

axiom relu_of_relu
  x : [A..]
  Relu(Relu(x)) = Relu(x)

axiom relu_of_transpose
  x : [A..]
  param p : permutation[len(A)]
  Relu(Transpose{perm=p}(x)) = Transpose{perm=p}(Relu(x))

axiom reshape_of_relu
  x : [A..]
  param p : dimensions[2]
  Reshape{shape=p}(Relu(x)) = Relu(Reshape{shape=p}(x))

axiom slice_of_all
  x : [n + 1, m]
  Slice{axes=[0], ends=[n + 1], starts=[0]}(x) = x

axiom sub_as_add
  a : [A..]
  b : [B..]
  Sub(a, b) = Add(a, Neg(b))

axiom sum_with_complement
  x : [A..]
  s : []
  Add(x, Sub(s, x)) => Expand{shape=[A..]}(s)

axiom unsqueezed
  x : [n]
  Squeeze{axes=[0]}(Unsqueeze{axes=[0]}(x)) = x
"""
CLASSES = {"add_commutes": "bitwise", "mul_commutes": "bitwise", "relu_of_relu": "bitwise",
           "relu_of_transpose": "bitwise", "identity_of_square": "bitwise",
           "unsqueezed": "bitwise", "reshape_of_relu": "bitwise", "slice_of_all": "bitwise",
           "clip_of_clip": "bitwise", "clip_above_clip": "bitwise", "joined_halves": "bitwise",
           "expand_of_scalar": "bitwise", "cast_of_f32": "bitwise",
           "difference_of_defined": "bitwise", "numbers_added": "reassociation",
           "add_associates": "reassociation"}
RULES = {one.name: one for one in parse_rules(AXIOMS)}
TEXTS = {name: one.text() for name, one in RULES.items()}
OPERATORS = lemma_check.read_operators(ROOT / "docs" / "operators.md")
WORST = ("bitwise", "reassociation", "distributive", "rounding")
OPERATION = re.compile(r"\b([A-Z][A-Za-z0-9]*)[({]")


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def certificate(rule, chains, cases, witness="witness"):
    """The text; `rule`: its lines from "rule NAME" on, `chains`: the steps of each chain, `cases`:
    what stands after the word "case" in the lines that have the digest. Names and digests of what is used are added."""
    rule = "\n".join([rule[0], *("  " + one for one in rule[1:])]) + "\n"
    steps = [step for chain in chains for step in chain]
    axioms = sorted({step.split()[0] for step in steps})
    known = [name for name in axioms if name in TEXTS]
    words = " ".join([rule, *(step.split(": ", 1)[-1] for step in steps),
                      *(TEXTS[name] for name in known)])
    operators = sorted(set(OPERATION.findall(words)))
    worst = max((WORST.index(CLASSES.get(name, "rounding")) for name in axioms), default=0)
    lines = ["lemma certificate 3", "verifier 4", f"id {digest(rule)}", *rule[:-1].split("\n")]
    lines += [f"operator {name} {digest(OPERATORS[name])}" for name in operators]
    lines += [f"axiom {name} {digest(TEXTS.get(name, ''))}" for name in axioms]
    lines += [f"class {WORST[worst]}", witness]
    lines += [f"cases {len(cases)} {digest(''.join(f'case{one}' + chr(10) for one in cases))}"]
    for i, chain in enumerate(chains, 1):
        listed = [str(n) for n, one in enumerate(cases, 1) if one.endswith(f" by {i}")]
        lines += [f"chain {i}" + (" of cases " + ", ".join(listed) if i > 1 and listed else "")]
        lines += ["  step " + step for step in chain]
    return "\n".join([*lines, "end"]) + "\n"


def check(text, records=None):
    return check_certificate(text, RULES, TEXTS, OPERATORS, CLASSES, records)
