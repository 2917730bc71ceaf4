"""Certificates that prove nothing, by family, for the tests of the second checker. Each is refused for
the reason that stands beside it."""

from second_checker_library import certificate, digest, OPERATORS, TEXTS
from second_checker_proofs import (
    about, add, clip, clip_cases, CLIPS, DIFFERENCE, DIFFERENCE_STEP, each_rank, maximum, OF_DEFINED,
    of_defined, RELU, relu, RELU_STEPS, TRUE, ZERO)


def changed(text, old, new, count=1):
    assert old in text, old
    return text.replace(old, new, count)


def with_rule(text, change):
    """Another rule, with the digest that belongs to it."""
    begin = text.index("rule ")
    end = text.index("operator ")
    rule = change(text[begin:end])
    return (text[:begin] + rule + text[end:]).replace(digest(text[begin:end]), digest(rule))


def refined(lines, step, witness="witness A=[3], t=f32", cases=None):
    """A rule about Sub(x, x) and 0, or another, with one step."""
    return about(lines, [step], each_rank() if cases is None else cases, witness)


DIV = "let t1 = Div(x, x)"
REFINEMENTS = {
    "backward": (refined(["x : [A..]", "param t : type", f"{ZERO} => Sub(x, x)"],
                         "difference_with_itself backward 0 at 0: x=x, A=[A..], t=t"),
                 "used backward, and its left side may be undefined here"),
    "backward, of 0/0": (refined(["defined x : [A..]", "param t : type", DIV, f"{ZERO} => Sub(t1, t1)"],
                                 "difference_with_itself backward 0 at 0: x=Div(x, x), A=[A..], t=t"),
                         "used backward"),
    "in an equation": (refined(["x : [A..]", "param t : type", f"Sub(x, x) = {ZERO}"],
                               DIFFERENCE_STEP[0]), "used in an equation"),
    "in an equation, of a quotient": (
        refined(["defined x : [A..]", "param t : type", DIV, f"Sub(t1, t1) = {ZERO}"],
                DIFFERENCE_STEP[0]), "used in an equation"),
    "in an equation, of a logarithm": (
        refined(["defined x : [A..]", "param t : type", "let t1 = Log(x)", f"Sub(t1, t1) = {ZERO}"],
                DIFFERENCE_STEP[0]), "used in an equation"),
    "in an equation, of a root": (
        refined(["defined x : [A..]", "param t : type", "let t1 = Sqrt(x)", f"Sub(t1, t1) = {ZERO}"],
                DIFFERENCE_STEP[0]), "used in an equation"),
    "in an equation, of a power": (
        refined(["defined x : [A..]", "param t : type", "let t1 = Pow(x, x)", f"Sub(t1, t1) = {ZERO}"],
                DIFFERENCE_STEP[0]), "used in an equation"),
    "in an equation, of a mean over an axis that may be empty": (
        about(["defined x : [n]", "param t : type", "let t1 = ReduceMean{axes=[0], keepdims=0}(x)",
               "Sub(t1, t1) = ConstantOfShape{data_type=t, shape=[], value=0.0}()"],
              ["difference_with_itself forward 0 at 0: x=@0.0, A=[], t=t"], [" -> [] by 1"],
              "witness t=f32, n=1"), "used in an equation"),
    "in an equation, of a part that is not defined": (
        refined(["defined x : [A..]", "y : [A..]", "param t : type", "let t1 = Add(x, y)",
                 f"Sub(t1, t1) = {ZERO}"], DIFFERENCE_STEP[0]), "used in an equation"),
    "maximum of nothing": (maximum("n"), "used in an equation"),
    "maximum of what is not defined": (maximum("n + 1", mark=""), "used in an equation"),
    "without the mark": (of_defined(rule=(OF_DEFINED[0], "x : [A..]", *OF_DEFINED[2:])),
                         "'x' is not seen to be always defined"),
    "without the mark, in a refinement": (
        of_defined(rule=DIFFERENCE), "'x' is not seen to be always defined"),
    "0/0 for an input that is marked": (
        refined(["defined x : [A..]", "param t : type", DIV, f"Sub(t1, t1) => {ZERO}"],
                "difference_of_defined forward 0 at 0: x=@0.0, A=[A..], t=t"),
        "'x' is not seen to be always defined"),
    "0/0 that a step brings in": (
        refined(["x : [A..]", "s : []", "let t1 = Sub(x, x)", "let t2 = Div(t1, t1)",
                 "Add(x, Sub(s, x)) => Add(t2, Sub(s, t2))"],
                "sum_with_complement backward 0 at 0: x=@0.0, s=@0.1.0, A=[A..]", "witness A=[2]"),
        "used backward"),
}

ZERO_IS_ONE = certificate(
    ("rule zero_is_one", "x : []", "param t : type",
     "Sub(x, x) => ConstantOfShape{data_type=t, shape=[], value=1.0}()"),
    [["difference_with_itself forward 0 at 0: x=@0.0, A=[], t=t",
      "difference_with_itself backward 0 at 0: x=Div(Sub(x, x), Sub(x, x)), A=[], t=t",
      "difference_with_itself forward 0 at 0.0.0: x=@0.0.0.0, A=[], t=t",
      "add_zero backward 0 at 0.0.0: x=@0.0.0, A=[], t=t",
      "div_as_mul forward 0 at 0.0: a=@0.0.0, b=@0.0.1, A=[], B=[]",
      "mul_commutes forward 0 at 0.0: a=@0.0.0, b=@0.0.1, A=[], B=[]",
      "mul_distributes_over_add forward 0 at 0.0: a=@0.0.0, b=@0.0.1.0, c=@0.0.1.1, A=[], B=[], C=[]",
      "mul_commutes forward 0 at 0.0.0: a=@0.0.0.0, b=@0.0.0.1, A=[], B=[]",
      "mul_commutes forward 0 at 0.0.1: a=@0.0.1.0, b=@0.0.1.1, A=[], B=[]",
      "div_as_mul backward 0 at 0.0.0: a=@0.0.0.0, b=@0.0.0.1.0, A=[], B=[]",
      "div_as_mul backward 0 at 0.0.1: a=@0.0.1.0, b=@0.0.1.1.0, A=[], B=[]",
      "difference_with_itself backward 0 at 0.0.0.0: x=x, A=[], t=t",
      "difference_with_itself backward 0 at 0.0.1.0: x=x, A=[], t=t",
      "quotient_with_itself forward 0 at 0.0.0: x=@0.0.0.0, A=[], t=t",
      "quotient_with_itself forward 0 at 0.0.1: x=@0.0.1.0, A=[], t=t",
      "quotient_with_itself forward 0 at 0.1: x=@0.1.0, A=[], t=t",
      "sub_as_add forward 0 at 0: a=@0.0, b=@0.1, A=[], B=[]",
      "add_associates forward 0 at 0: a=@0.0.0, b=@0.0.1, c=@0.1, A=[], B=[], C=[]",
      "sub_as_add backward 0 at 0.1: a=@0.1.0, b=@0.1.1.0, A=[], B=[]",
      "difference_with_itself forward 0 at 0.1: x=@0.1.0, A=[], t=t",
      "add_zero forward 0 at 0: x=@0.0, A=[], t=t"]], [" -> [] by 1"], "witness t=f32")
ZERO_OVER_ZERO = certificate(
    ("rule eq_zero_over_zero", "x : [A..]", "s : []", "let t1 = Sub(x, x)", "let t2 = Div(t1, t1)",
     "Add(x, Sub(s, x)) = Add(t2, Sub(s, t2))"),
    [["sum_with_complement forward 0 at 0: x=@0.0, s=@0.1.0, A=[A..]",
      "sum_with_complement backward 0 at 0: x=Div(Sub(x, x), Sub(x, x)), s=@0.0, A=[A..]"]],
    each_rank(), "witness A=[3, 1]")
AUDIT = {
    "zero is one": (ZERO_IS_ONE, r"case 1 \(\), chain 1: step 2 \(difference_with_itself\): a refinement is "
                                 "used backward"),
    "zero is one, as an equation": (
        with_rule(ZERO_IS_ONE, lambda rule: changed(rule, "=>", "=")),
        r"step 1 \(difference_with_itself\): a refinement is used in an equation"),
    "zero over zero": (ZERO_OVER_ZERO, r"step 1 \(sum_with_complement\): a refinement is used in an"),
    "excluded cases": (
        about(["x : [A..]", "param t : type", "where real_less_equal(0.0, real_multiply(product([A..]), 1.0))",
               "Add(x, ConstantOfShape{data_type=t, shape=[], value=0.0}()) => x"],
              ["add_zero forward 0 at 0: x=@0.0, A=[A..], t=t"], each_rank()[:1], "witness A=[], t=f32"),
        "the cases are not those that the rule demands"),
    "a number computed from sizes": (
        about(["x : [A..]", "Add(x, ConstantOfShape{shape=[], "
               "value=real_multiply(floordiv(product([A..]), 100), 1.0)}()) => x"],
              ["add_zero forward 0 at 0: x=@0.0, A=[A..], t=f32"], each_rank(), "witness A=[]"),
        "not well typed in a case that cannot be left out"),
    "a symbol that collides": (
        about(["x : [A..]", "y : [B..]", "z : [C..]", "w : [n + 5]", "group A : 1..1", "group B : 1..1",
               "group C : 1..1", "param axis2 : dimensions[2]", "let t1 = Add(x, y)", "let t2 = Relu(z)",
               "let t3 = ConstantOfShape{shape=axis2, value=0.0}()",
               "t1 & t2 & t3 & Slice{axes=[0], ends=[1], starts=[0]}(w) => t1 & t2 & t3 & Slice{axes=[0], "
               "ends=[floordiv(at([C..], 0), 100) - floordiv(at(axis2, 1), 100) + 1], "
               "starts=[floordiv(at([C..], 0), 100) - floordiv(at(axis2, 1), 100)]}(w)"],
              [], [f" A=[{a}], B=[{b}], C=[axis.2.1] -> [axis.0.1] & [axis.2.1] & [axis2.0, axis2.1] & [1]"
                   " by 1" for a, b in (("axis.0.1", "1"), ("1", "axis.0.1"), ("axis.0.1", "axis.0.1"))],
              "witness A=[1], B=[1], C=[1], axis2=[1, 1], n=1"),
        "a slice from where is not known"),
    "a clip that forgets": (
        about(["x : [A..]", "group A : 1..1", "param a : real",
               "Clip{min=a}(x) => Clip{min=real_max(real_min(a, 3.0), -2.5)}(x)"], [],
              [f" A=[A.0], a={a} -> [A.0] by 1" for a in (-1031.125, 0.0, 1031.125)],
              "witness A=[1], a=1.0"), "attribute min computes with a real parameter"),
    "a gather that reads outside": (
        about(["x : [n + 5]", "i : i64[m]", "y : [m]", "s : []", "let t3 = Gather{axis=0}(x, i)",
               "Add(y, Sub(s, y)) => Add(t3, Sub(s, t3))"], [], [" -> [m] by 1"], "witness m=1, n=1"),
        "operator 'Gather' is not known to this checker"),
    "a reciprocal that is forgotten": (
        refined(["x : [A..]", "y : []", "let t1 = Reciprocal(x)", "Add(x, Sub(y, x)) => Add(t1, Sub(y, t1))"],
                "sum_with_complement forward 0 at 0: x=@0.0, s=@0.1.0, A=[A..]", "witness A=[2]"),
        "the last step does not arrive at the right side"),
}

WITNESS = {
    "contradictory conditions": (
        about(["x : [n]", "where n < 0", "let t1 = Relu(x)", "t1 = t1"], [], [" -> [n] by 1"],
              "witness n=0"), "witness: it does not meet the conditions"),
    "conditions not met": (
        about(["x : [n, m]", "where n == m", "Identity(x) = x"],
              ["identity_of_square forward 0 at 0: x=@0.0, n=m"], [" -> [m, m] by 1"],
              "witness m=2, n=3"), "witness: it does not meet the conditions"),
    "outside the range": (relu(witness="witness A=[1, 1, 1, 1]"), "witness: it does not meet"),
    "a negative size": (relu(witness="witness A=[-1]"), "witness: a negative size"),
    "not well typed": (add(witness="witness A=[2], B=[3]"), "witness: shapes that cannot be broadcast"),
    "a symbol": (relu(witness="witness A=[n]"), "witness: 'n' has no value"),
    "a value too few": (add(witness="witness A=[2]"), "witness: 1 values are given for 2 names"),
    "a value too many": (relu(witness="witness A=[2], B=[2]"), "witness: 2 values are given for 1"),
    "another order": (add(witness="witness B=[2], A=[2]"), "witness: 'A' has no value"),
    "none": (relu(witness="witness"), "witness: 0 values are given"),
    "another way to write it": (relu(witness="witness A=[1 + 1]"), "canonical form"),
    "no number": (clip(witness="witness A=[2], a=zero, b=1.0"), "witness: 'zero' has no value"),
}

REALS = {
    "five values": (clip(cases=[f" A=[A.0], a={a}, b={b} -> [A.0] by 1" for a in (-2.5, -1.25, 0.0, 0.5)
                                for b in (-2.5, -1.25, 0.0, 0.5)]), "the cases are not those"),
    "an order is missing": (clip(cases=clip_cases()[1:]), "the cases are not those"),
    "a choice with a gap": (clip(cases=clip_cases(shown=[(-2, -2)]) + clip_cases()), "the cases are not"),
    "another order of cases": (clip(cases=clip_cases()[::-1]), "the cases are not those"),
    "a sum": (clip(rule=(*CLIPS[:5], "Clip{min=a}(Clip{min=b}(x)) = Clip{min=real_add(a, b)}(x)")),
              "attribute min computes with a real parameter"),
    "a number beside it": (
        clip(rule=(*CLIPS[:5], "Clip{min=a}(Clip{min=b}(x)) = Clip{min=real_max(a, 3.0)}(x)")),
        "attribute min computes with a real parameter"),
    "a condition with a number": (
        clip(rule=(*CLIPS[:5], "where real_less_equal(a, 0.5)", CLIPS[5])),
        "a condition computes with a real parameter"),
    "another condition": (clip(rule=(*CLIPS[:5], "where a == b", CLIPS[5]), witness="witness A=[2], a=1.0, b=1.0"),
                          "a condition computes with a real parameter"),
    "a number that stands for one": (
        clip(rule=(*CLIPS[:5], "Clip{min=a}(Clip{min=b}(x)) = Clip{max=1031.125, min=real_max(a, b)}(x)")),
        "a number that stands for a real parameter"),
    "a step that computes": (
        clip(["clip_of_clip forward 0 at 0: x=@0.0.0, A=[A..], a=real_add(a, a), b=b"]),
        "computes with a real parameter"),
    "a step with a number that stands for one": (
        clip(["clip_of_clip forward 0 at 0: x=@0.0.0, A=[A..], a=-1031.125, b=b"]),
        "compares a real parameter with another number"),
    "a step that compares with a number": (
        clip(["clip_of_clip forward 0 at 0: x=@0.0.0, A=[A..], a=3.0, b=b"]),
        "compares a real parameter with another number"),
    "an axiom that computes": (
        about(["param a : real", "let t1 = ConstantOfShape{shape=[], value=a}()",
               "Add(t1, ConstantOfShape{shape=[], value=0.5}()) => t1"],
              ["numbers_added forward 0 at 0: a=a, b=0.5"],
              [f" a={a} -> [] by 1" for a in (-1031.125, 0.0, 1031.125)], "witness a=1.0"),
        "numbers_added: attribute value computes with a real parameter"),
    "a condition that holds in some orders": (
        clip(["clip_above_clip forward 0 at 0: x=@0.0.0, A=[A..], a=a, b=b"],
             (*CLIPS[:5], "let t1 = Clip{min=b}(x)", "Clip{min=a}(t1) = t1")),
        "a=-1031.125, b=-2062.25.*the conditions of the axiom do not hold"),
    "rounding": (
        about(["let t1 = ConstantOfShape{shape=[], value=1e+16}()",
               "Add(t1, ConstantOfShape{shape=[], value=1.0}()) => t1"],
              ["numbers_added forward 0 at 0: a=1e+16, b=1.0"], [" -> [] by 1"]),
        "a number that is not exact"),
}


THREE = [" A=[axis.0.1], B=[1] -> [axis.0.1] by 1", " A=[1], B=[axis.0.1] -> [axis.0.1] by 1",
         " A=[axis.0.1], B=[axis.0.1] -> [axis.0.1] by 1"]
ADD_ONE = ("rule swapped", "a : [A..]", "b : [B..]", "group A : 1..1", "group B : 1..1",
           "Add(a, b) = Add(b, a)")


def add_one(cases):
    return add(cases, rule=ADD_ONE, witness="witness A=[1], B=[1]")


def third_way():
    """False at A=[7], B=[1], C=[2], where the right side reads w at 30. In all ways in which A, B and C
    have one common size or 1 it reads w at 0."""
    ways, size = [], "axis.0.1"
    for mask in range(1, 8):
        a, b, c = (size if mask >> i & 1 else "1" for i in range(3))
        sums = [size if size in pair else "1" for pair in ((a, b), (b, c))]
        ways.append(f" A=[{a}], B=[{b}], C=[{c}] -> [{sums[0]}] & [{sums[1]}] & [1] by 1")
    place = "(at([A..], 0) - at([C..], 0))*(at([A..], 0) - 1)*(at([C..], 0) - 1)"
    return about(["x : [A..]", "y : [B..]", "z : [C..]", "w : [n + 5]", "group A : 1..1", "group B : 1..1",
                  "group C : 1..1", "let t1 = Add(x, y)", "let t2 = Add(y, z)",
                  "t1 & t2 & Slice{axes=[0], ends=[1], starts=[0]}(w) => t1 & t2 & "
                  f"Slice{{axes=[0], ends=[{place} + 1], starts=[{place}]}}(w)"], [], ways,
                 "witness A=[1], B=[1], C=[1], n=1")


CASES = {
    "none": (relu(cases=[]), "the first chain is not used"),
    "one is missing": (relu(cases=each_rank()[:-1]), "the cases are not those"),
    "one too many": (relu(cases=[*each_rank(), " A=[A.0, A.1, A.2, A.3] -> [A.0, A.1, A.2, A.3] by 1"]),
                     "the cases are not those"),
    "reordered": (relu(cases=each_rank()[::-1]), "the cases are not those"),
    "twice": (relu(cases=each_rank() + each_rank()[-1:]), "the cases are not those"),
    "another size": (relu(cases=changed("\n".join(each_rank()), "-> [A.0]", "-> [1]").split("\n")),
                     "the cases are not those of the digest"),
    "a symbol of another name": (relu(cases="\n".join(each_rank()).replace("A.", "B.").split("\n")),
                                 "the cases are not those"),
    "a size in another form": (
        about(["x : [n + 1, m]", "let t1 = Relu(x)", "Slice{axes=[0], ends=[n + 1], starts=[0]}(t1) = t1"],
              ["slice_of_all forward 0 at 0: x=@0.0, m=m, n=n"], [" -> [1 + n, m] by 1"],
              "witness m=0, n=0"), "the cases are not those of the digest"),
    "broadcast: one way is missing": (add_one(THREE[:2]), "the cases are not those"),
    "broadcast: equal sizes only": (add_one(THREE[2:]), "the cases are not those"),
    "broadcast: reordered": (add_one([THREE[1], THREE[0], THREE[2]]), "the cases are not those"),
    "broadcast: symbols of the old names": (
        add_one("\n".join(THREE).replace("axis.0.1", "axis0.1").split("\n")), "the cases are not those"),
    "broadcast: symbols of the groups": (
        add_one([" A=[A.0], B=[B.0] -> [A.0] by 1"]), "the cases are not those"),
    "broadcast: aligned by way of a third": (
        about(["x : [A..]", "y : [B..]", "z : [C..]", "group A : 1..1", "group B : 1..1", "group C : 1..1",
               "Add(x, y) & Add(y, z) = Add(y, x) & Add(z, y)"],
              ["add_commutes forward 0 at 0: a=@0.0, b=@0.1, A=[A..], B=[B..]",
               "add_commutes forward 0 at 1: a=@1.0, b=@1.1, A=[B..], B=[C..]"],
              [f" A=[{a}], B=[{b}], C=[{c}] -> [axis.0.1] & [axis.0.1] by 1"
               for c in ("1", "axis.0.1") for b in ("1", "axis.0.1") for a in ("1", "axis.0.1")][1:],
              "witness A=[1], B=[1], C=[1]"), "A and C need not have a common size"),
    "broadcast: false where a third has size 1": (third_way(), "A and C need not have a common size"),
    "broadcast: a reshape of a group": (
        about(["a : [A..]", "b : [B..]", "group A : 1..1", "group B : 1..1", "let t1 = Flatten{axis=0}(a)",
               "Add(t1, b) = Add(b, t1)"],
              ["add_commutes forward 0 at 0: a=@0.0, b=@0.1, A=[1, A..], B=[B..]"],
              THREE, "witness A=[1], B=[1]"), "beyond broadcasting: Flatten"),
    "a permutation is missing": (
        about(["x : [A..]", "group A : 2..2", "param p : permutation[len(A)]",
               "Relu(Transpose{perm=p}(x)) = Transpose{perm=p}(Relu(x))"],
              ["relu_of_transpose forward 0 at 0: x=@0.0.0, A=[A..], p=p"],
              [" A=[A.0, A.1], p=[0, 1] -> [A.0, A.1] by 1"], "witness A=[2, 3], p=[1, 0]"),
        "the cases are not those"),
    "an open condition excludes nothing": (
        about(["x : [A..]", "group A : 1..2", "where at([A..], 0) != 7", "let t1 = Relu(x)", "Relu(t1) = t1"],
              ["relu_of_relu forward 0 at 0: x=@0.0.0, A=[A..]"], [" A=[A.0] -> [A.0] by 1"],
              "witness A=[2]"), "the cases are not those"),
    "a condition that cannot be evaluated excludes nothing": (
        about(["x : [A..]", "group A : 1..2", "where at([A..], 1) == at([A..], 0)", "let t1 = Relu(x)",
               "Relu(t1) = t1"],
              ["relu_of_relu forward 0 at 0: x=@0.0.0, A=[A..]"], [" A=[A.0, A.1] -> [A.0, A.1] by 1"],
              "witness A=[2, 2]"), "the cases are not those"),
    "an open condition is not assumed": (
        about(["x : [n, m]", "where m <= n, n <= m", "Identity(x) = x"],
              ["identity_of_square forward 0 at 0: x=@0.0, n=m"], [" -> [n, m] by 1"], "witness m=2, n=2"),
        "'x' has another shape"),
}

RUN_TIME = {
    "sizes that have to agree": (
        about(["x : [n]", "y : [4]", "let t1 = Relu(x)", "let t2 = Relu(y)",
               "t1 & t2 => t1 & Slice{axes=[0], ends=[4], starts=[0]}(Add(t2, Slice{axes=[0], ends=[0], "
               "starts=[0]}(t1)))"], [], [" -> [n] & [4] by 1"], "witness n=4"),
        "witness: shapes that cannot be broadcast"),
    "a broadcast that the left side does not have": (
        about(["x : [n]", "y : [4]", "Relu(y) => Slice{axes=[0], ends=[4], starts=[0]}(Add(x, y))"], [],
              [" -> [4] by 1"], "witness n=4"), "defined only where n - 4 = 0, or the size is 1"),
    "equal sizes, where the left side broadcasts": (
        about(["x : [n]", "y : [4]", "Add(x, y) => ReduceSum{axes=[1], keepdims=0}(Concat{axis=1}("
               "Unsqueeze{axes=[1]}(x), Unsqueeze{axes=[1]}(y)))"], [], [" -> [4] by 1"], "witness n=4"),
        "defined only where n - 4 = 0"),
    "an axis that has to be 1": (
        about(["x : [1]", "y : [n]", "Add(x, ReduceSum{axes=[0], keepdims=0}(y)) => Add(x, Squeeze{axes=[0]}"
               "(y))"], [], [" -> [1] by 1"], "witness n=1"), "defined only where n - 1 = 0"),
    "a reshape to other sizes": (
        about(["x : [n]", "y : [m, k]", "Relu(y) => Reshape{shape=[m, k]}(x)"], [], [" -> [m, k] by 1"],
              "witness k=2, m=2, n=4"), "defined only where k\\*m - n = 0"),
    "a size that may be negative": (
        about(["x : [n]", "y : [m]", "param t : type",
               "Add(x, ReduceSum{axes=[0], keepdims=0}(y)) => Add(x, ReduceSum{axes=[0], keepdims=0}("
               "ConstantOfShape{data_type=t, shape=[m - n], value=0.0}()))"], [], [" -> [n] by 1"],
              "witness t=f32, m=2, n=1"), "defined only where m - n is not negative"),
    "a divisor that may be 0": (
        about(["x : [n, m]", "Relu(x) => Reshape{shape=[n, floordiv(m*n, n)]}(x)"], [],
              [" -> [n, m] by 1"], "witness m=1, n=1"), "defined only where n - 1 is not negative"),
    "a divisor that may be 0, in the same term": (
        about(["x : [n, m]", "Reshape{shape=[n, m]}(x) => Reshape{shape=[n, floordiv(m*n, n)]}(x)"], [],
              [" -> [n, m] by 1"], "witness m=1, n=1"), "defined only where n - 1 is not negative"),
    "a divisor that may be 0, on the left side of an equation": (
        about(["x : [n, m]", "Reshape{shape=[n, divide(m*n, n)]}(x) = Reshape{shape=[n, m]}(x)"], [],
              [" -> [n, m] by 1"], "witness m=1, n=1"), "defined only where n - 1 is not negative"),
    "a window larger than the input": (
        about(["x : [n, c, y, z]", "w : [o, c, 1, 1]", "Conv{pads=[1, 1, 1, 1]}(x, w) => "
               "Pad{pads=[0, 0, 1, 1, 0, 0, 1, 1]}(Conv(x, w))"], [], [" -> [n, o, y + 2, z + 2] by 1"],
              "witness c=1, n=1, o=1, y=1, z=1"), "defined only where [yz] - 1 is not negative"),
    "groups that may be 0": (
        about(["v : [n, g*o, 1, 1]", "x : [n, c*g, 1, 1]", "w : [g*o, c, 1, 1]",
               "Relu(v) => Conv{group=g}(x, w)"], [], [" -> [n, g*o, 1, 1] by 1"],
              "witness c=1, g=1, n=1, o=1"), "defined only where g - 1 is not negative"),
    "an equation, whose left side asks for more": (
        about(["x : [n]", "y : [4]", "Slice{axes=[0], ends=[4], starts=[0]}(Add(x, y)) = Relu(y)"], [],
              [" -> [4] by 1"], "witness n=4"), "defined only where n - 4 = 0, or the size is 1"),
    "a step that asks for more": (
        about(["x : [n]", "y : [4]", "param t : type",
               "let t1 = ConstantOfShape{data_type=t, shape=[0], value=0.0}()", "let t2 = Relu(x)",
               "let t3 = Relu(y)", "t1 & t2 & t3 => t1 & t2 & t3"],
              ["empty_slice backward 0 at 0: x=Add(x, y), t=t, n=4",
               "empty_slice forward 0 at 0: x=@0.0, t=t, n=4"], [" -> [0] & [n] & [4] by 1"],
              "witness t=f32, n=4"), "step 1 .*defined only where n - 4 = 0, or the size is 1"),
    "a dimension of an axiom that may be negative": (
        about(["x : [n, m]", "let t1 = Relu(x)", "Slice{axes=[0], ends=[n], starts=[0]}(t1) = t1"],
              ["slice_of_all forward 0 at 0: x=@0.0, m=m, n=n - 1"], [" -> [n, m] by 1"],
              "witness m=2, n=2"), "'n' may be negative"),
    "a parameter of an axiom that may be negative": (
        about(["x : [k + n, m]", "let t1 = Relu(x)", "Relu(t1) => t1"],
              ["joined_halves backward 0 at 0.0.0: x=x, k=k - 1, m=m, n=k + n"], [" -> [k + n, m] by 1"],
              "witness k=1, m=2, n=2"), "the conditions of the axiom do not hold"),
    "a condition of an axiom that is not seen to hold": (
        about(["x : [n, m]", "param k : dimension", "let t1 = Relu(x)", "Relu(t1) => t1"],
              ["joined_halves backward 0 at 0.0.0: x=x, k=k, m=m, n=n"], [" -> [n, m] by 1"],
              "witness k=1, m=2, n=2"), "the conditions of the axiom do not hold"),
    "sides of different shapes": (
        about(["x : [n]", "y : [m]", "Relu(x) => Relu(y)"], [], [" -> [n] by 1"], "witness m=1, n=1"),
        "the sides have different types"),
}

DIGESTS = {
    "id": (changed(relu(), "id ", "id 0"), "the id is not that of the rule"),
    "another rule": (changed(relu(), "t1 = Relu(x)", "t1 = Exp(x)"), "the id is not that of the rule"),
    "axiom": (changed(relu(), digest(TEXTS["relu_of_relu"]), "0" * 64),
              "the axiom 'relu_of_relu' has changed since"),
    "operator": (changed(relu(), digest(OPERATORS["Relu"]), "0" * 64), "the operator 'Relu' has changed"),
    "operator missing": (changed(relu(), f"operator Relu {digest(OPERATORS['Relu'])}\n", ""),
                         "the operators listed are not those used"),
    "operator not used": (changed(relu(), "operator Relu", f"operator Exp {digest(OPERATORS['Exp'])}\n"
                                  "operator Relu"), "the operators listed are not those used"),
    "axiom missing": (changed(relu(), f"axiom relu_of_relu {digest(TEXTS['relu_of_relu'])}\n", ""),
                      "the axioms listed are not those used"),
    "axiom not used": (changed(relu(), "axiom relu", f"axiom add_zero {digest(TEXTS['add_zero'])}\naxiom relu"),
                       "the axioms listed are not those used"),
    "axiom not known": (changed(relu(), "relu_of_relu", "relu_of_relus", 9), "there is no axiom 'relu_of_rel"),
    "axiom without a record": (relu(), "the axiom 'relu_of_relu' has no proof record"),
    "class too good": (changed(certificate(DIFFERENCE, [DIFFERENCE_STEP], each_rank(), "witness A=[3], t=f32"),
                               "class rounding", "class bitwise"), "its class is rounding"),
    "class too bad": (changed(relu(), "class bitwise", "class rounding"), "its class is bitwise"),
    "class of the old format": (changed(clip(), "class bitwise", "class unsafe"), "its class is bitwise"),
}

CUT = TRUE["a cut at a place that is free"]


def free(line):
    """The certificate of a rule with another line about its free parameter."""
    return with_rule(CUT, lambda rule: changed(rule, "  free k : 2, 4\n", line))


TEXT = {
    "a free value of 0": (free("  free k : 2, 0\n"), "a free parameter takes values from 1 on"),
    "a negative free value": (free("  free k : -2\n"), "expected a integer"),
    "two variables free at once": (free("  free k*n : 2\n"), "n' cannot be free"),
    "a number of divisors that need not be written": (
        free("  free k : at most 8 divisors of m\n"), "the rule is not in canonical form"),
    "divisors of an unknown size": (free("  free k : divisors of q\n"), "'q' is unknown"),
    "a free parameter that is not declared": (free("  free q : 2\n"), "the rule is not in canonical form"),
    "format 1": (changed(relu(), "certificate 3", "certificate 1"), "another format"),
    "verifier 3": (changed(relu(), "verifier 4", "verifier 3"), "another version of the verifier"),
    "no end": (changed(relu(), "end\n", ""), "expected 'end'"),
    "text after the end": (relu() + "end\n", "there is text after the end"),
    "the last line does not end": (relu()[:-1], "the last line does not end"),
    "an empty line": (changed(relu(), "class", "\nclass"), "an empty line"),
    "a comment": (changed(relu(), "class bitwise", "class bitwise # exact"), "comments"),
    "a tab": (changed(relu(), "  step", "\tstep"), "tabs"),
    "a carriage return": (changed(relu(), "end\n", "end\r\n"), "other bytes"),
    "no ASCII": (changed(relu(), "rule twice", "rule twicé"), "other bytes"),
    "an unknown line": (changed(relu(), "witness A", "proof complete\nwitness A"), "expected 'witness'"),
    "lines in another order": (changed(changed(relu(), "class bitwise\n", ""), "chain 1", "class bitwise\nchain 1"),
                               "expected 'class '"),
    "brackets in a rule": (with_rule(relu(), lambda rule: changed(rule, "[A..]", "[(A..)]")),
                           "the rule is not in canonical form"),
    "a rule without its let": (with_rule(relu(), lambda rule: changed(
        changed(rule, "  let t1 = Relu(x)\n", ""), "Relu(Relu(t1)) = t1", "Relu(Relu(Relu(x))) = Relu(x)")),
                               "the rule is not in canonical form"),
    "marks in another order": (with_rule(of_defined(), lambda rule: changed(rule, "defined x", "weight defined x")),
                               "expected ':', found 'x'"),
    "an expression in another form": (changed(relu(), "A=[A..]\n", "A=[(A)..]\n"), "expected ','"),
    "a name for two things": (with_rule(relu(), lambda rule: changed(rule, "x : [A..]", "x : [A.., A]")),
                              "witness: a size is wanted"),
    "an axiom instead of a rule": (with_rule(relu(), lambda rule: changed(rule, "rule twice", "axiom twice")),
                                   "one rule is wanted"),
}

STEPS = {
    "a chain that is not used": (certificate(RELU, [RELU_STEPS, RELU_STEPS], each_rank(), "witness A=[1]"),
                                 "the cases of all chains but the first are listed"),
    "a chain that does not exist": (relu(cases=[*each_rank()[:3], each_rank(2)[3]]), "the cases are not those of the digest"),
    "chains out of order": (changed(relu(), "chain 1", "chain 2"), "chain '2' is out of order"),
    "no chain": (changed(relu(), "\n".join(["chain 1", *("  step " + one for one in RELU_STEPS)]) + "\n", ""),
                 "there is no chain"),
    "too few steps": (relu(RELU_STEPS[:1]), "the last step does not arrive at the right side"),
    "too many steps": (relu(RELU_STEPS + ["relu_of_relu backward 0 at 0: x=@0.0, A=[A..]"]),
                       "the last step does not arrive at the right side"),
    "a step that changes nothing": (
        about(["x : [A..]", "let t1 = Add(x, x)", "t1 => Add(t1, t1)"],
              ["add_commutes forward 0 at 0: a=@0.0, b=@0.1, A=[A..], B=[A..]"], each_rank(), "witness A=[1]"),
        "the step changes nothing"),
    "another direction": (relu([RELU_STEPS[0].replace("forward", "backward"), RELU_STEPS[1]]),
                          "not what stands there"),
    "another position": (relu([RELU_STEPS[0].replace("at 0:", "at 0.0.0.0:"), RELU_STEPS[1]]),
                         "not what stands there"),
    "no position": (relu([RELU_STEPS[0].replace("at 0:", "at 0.1:"), RELU_STEPS[1]]), "there is no such position"),
    "no such output of the rule": (relu([RELU_STEPS[0].replace("at 0:", "at 1:"), RELU_STEPS[1]]),
                                   "there is no such output"),
    "no such output of the axiom": (relu([RELU_STEPS[0].replace("ward 0", "ward 1"), RELU_STEPS[1]]),
                                    "has no output 1"),
    "another term": (relu([RELU_STEPS[0].replace("x=@0.0.0", "x=x"), RELU_STEPS[1]]), "not what stands there"),
    "a name of the rule": (relu([RELU_STEPS[0].replace("x=@0.0.0", "x=t1"), RELU_STEPS[1]]),
                           "'t1' is neither an input nor a let name"),
    "another shape": (relu([RELU_STEPS[0].replace("A=[A..]", "A=[]"), RELU_STEPS[1]]), "'x' has another shape"),
    "a value is missing": (relu([RELU_STEPS[0].replace(", A=[A..]", ""), RELU_STEPS[1]]),
                           "0 values are given for 1 names"),
    "values in another order": (add(steps=["add_commutes forward 0 at 0: b=@0.1, a=@0.0, A=[A..], B=[B..]"]),
                                "'a' has no value"),
    "a group too long": (
        about(["x : [A..]", "group A : 4..4", "let t1 = Relu(x)", "Relu(t1) = t1"],
              ["relu_of_relu forward 0 at 0: x=@0.0.0, A=[A..]"],
              [" A=[A.0, A.1, A.2, A.3] -> [A.0, A.1, A.2, A.3] by 1"], "witness A=[1, 1, 1, 1]"),
        "the conditions of the axiom do not hold"),
    "a step for one type only": (
        about(["x : [A..]", "Cast{to=f32}(x) = x"], ["cast_of_f32 forward 0 at 0: x=@0.0, A=[A..]"],
              each_rank(), "witness A=[]"), "the sides have different types"),
    "a step for one type only, in the second case": (
        certificate(("rule claim", "x : [A..]", "group A : 0..1", "let t1 = Relu(x)", "Relu(t1) = t1"),
                    [["relu_of_relu forward 0 at 0: x=@0.0.0, A=[A..]"],
                     ["relu_of_relu forward 0 at 0: x=@0.0.0, A=[A..]",
                      "cast_of_f32 backward 0 at 0: x=@0, A=[A..]",
                      "cast_of_f32 forward 0 at 0: x=@0.0, A=[A..]"]],
                    [" A=[] -> [] by 1", " A=[A.0] -> [A.0] by 2"], "witness A=[]"),
        "case 2 \\(A=\\[A.0\\]\\), chain 2: step 2 .*'x' is of type real"),
}

FAMILIES = {"refinements and definedness": REFINEMENTS, "audit": AUDIT, "witness": WITNESS,
            "real parameters": REALS, "cases": CASES, "run time": RUN_TIME, "digests and classes": DIGESTS,
            "text": TEXT, "steps": STEPS}
