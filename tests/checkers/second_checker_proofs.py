"""Small proofs that hold, for the tests of the second checker."""

from second_checker_library import certificate

RANKS = [" A=[]", " A=[A.0]", " A=[A.0, A.1]", " A=[A.0, A.1, A.2]"]
SHAPES = ["[]", "[A.0]", "[A.0, A.1]", "[A.0, A.1, A.2]"]


def each_rank(chain=1):
    """The cases of a rule with one group A, which is the shape of its output."""
    return [f"{rank} -> {shape} by {chain}" for rank, shape in zip(RANKS, SHAPES)]


def list_of(name, count):
    return f"[{', '.join(f'{name}.{i}' for i in range(count))}]"


def broadcast_cases(a, b):
    """The shapes of A, B and the result for these ranks: all ways in which aligned axes have a common
    size or 1."""
    if a == 0 or b == 0:
        return [(list_of("A", a), list_of("B", b), list_of("A", a) if a else list_of("B", b))]
    most, found = max(a, b), [([], [])]
    for k in range(1, most + 1):
        size = f"axis.0.{k}"
        ways = [(size, None)] if k > b else [(None, size)] if k > a else [
            (size, "1"), ("1", size), (size, size)]
        found = [([x, *first], [y, *second]) for x, y in ways for first, second in found]
    shape = [f"axis.0.{k}" for k in range(most, 0, -1)]
    return [tuple(f"[{', '.join(one for one in sizes if one)}]" for sizes in (*way, shape))
            for way in found]


ADD_CASES = [f" A={x}, B={y} -> {shape} by 1" for b in range(4) for a in range(4)
             for x, y, shape in broadcast_cases(a, b)]


# Proofs that hold.

RELU = ("rule twice", "x : [A..]", "let t1 = Relu(x)", "Relu(Relu(t1)) = t1")
RELU_STEPS = ["relu_of_relu forward 0 at 0: x=@0.0.0, A=[A..]",
              "relu_of_relu forward 0 at 0: x=@0.0.0, A=[A..]"]
ADD = ("rule swapped", "a : [A..]", "b : [B..]", "Add(a, b) = Add(b, a)")
ADD_STEP = ["add_commutes forward 0 at 0: a=@0.0, b=@0.1, A=[A..], B=[B..]"]
ADD_OF_ALL_RANKS = (*ADD[:3], "group A : 0..8", "group B : 0..8", ADD[3])
ZERO = "ConstantOfShape{data_type=t, shape=[A..], value=0.0}()"
DIFFERENCE = ("rule nothing_left", "x : [A..]", "param t : type", f"Sub(x, x) => {ZERO}")
DIFFERENCE_STEP = ["difference_with_itself forward 0 at 0: x=@0.0, A=[A..], t=t"]
OF_DEFINED = ("rule nothing_left", "defined x : [A..]", "param t : type", f"Sub(x, x) = {ZERO}")
CLIPS = ("rule clips", "x : [A..]", "group A : 1..1", "param a : real", "param b : real",
         "Clip{min=a}(Clip{min=b}(x)) = Clip{min=real_max(a, b)}(x)")
CLIPS_STEP = ["clip_of_clip forward 0 at 0: x=@0.0.0, A=[A..], a=a, b=b"]


def clip_cases(chain="1", shown=None):
    """One case for each order of a, b and 0."""
    orders = [(-2, -1), (-1, -2), (-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 0), (0, 1), (1, -1), (1, 0),
              (1, 1), (1, 2), (2, 1)]
    return [f" A=[A.0], a={a * 1031.125}, b={b * 1031.125} -> [A.0] by {chain}"
            for a, b in shown or orders]


def clip(steps=None, rule=CLIPS, cases=None, witness="witness A=[2], a=0.5, b=1.0"):
    return certificate(rule, [CLIPS_STEP if steps is None else steps],
                       clip_cases() if cases is None else cases, witness)


def relu(steps=None, cases=None, witness="witness A=[2, 1]", rule=RELU):
    return certificate(rule, [RELU_STEPS if steps is None else steps],
                       each_rank() if cases is None else cases, witness)


def add(cases=None, steps=None, witness="witness A=[2], B=[2]", rule=ADD):
    return certificate(rule, [ADD_STEP if steps is None else steps],
                       ADD_CASES if cases is None else cases, witness)


def of_defined(rule=OF_DEFINED, axiom="difference_of_defined"):
    return certificate(rule, [[f"{axiom} forward 0 at 0: x=@0.0, A=[A..], t=t"]], each_rank(),
                       "witness A=[2], t=f32")


def about(lines, steps, cases, witness="witness"):
    """A rule whose name does not matter."""
    return certificate(("rule claim", *lines), [steps], cases, witness)


def maximum(size, result="=", mark="defined "):
    """max(x) - max(x) is 0 along an axis of that size."""
    return about([f"{mark}x : [{size}]", "param t : type",
                  "let t1 = ReduceMax{axes=[0], keepdims=0}(x)",
                  f"Sub(t1, t1) {result} ConstantOfShape{{data_type=t, shape=[], value=0.0}}()"],
                 ["difference_with_itself forward 0 at 0: x=@0.0, A=[], t=t"], [" -> [] by 1"],
                 "witness t=f32" + (", n=1" if "n" in size else ""))


TRUE = {
    "equation twice": relu(),
    "equation backward": about(["x : [A..]", "let t1 = Relu(x)", "t1 => Relu(t1)"],
                               ["relu_of_relu backward 0 at 0: x=@0.0, A=[A..]"], each_rank(),
                               "witness A=[]"),
    "broadcast": add(),
    "any ranks by scalars": add([" A=[], B=[] -> [] by 1"], rule=ADD_OF_ALL_RANKS),
    "refinement": certificate(DIFFERENCE, [DIFFERENCE_STEP], each_rank(), "witness A=[3], t=f32"),
    "equation of a defined input": of_defined(),
    "refinement as an equation": of_defined(axiom="difference_with_itself"),
    "refinement backward, of a defined input": about(
        ["defined x : [A..]", "param t : type", f"{ZERO} => Sub(x, x)"],
        ["difference_with_itself backward 0 at 0: x=x, A=[A..], t=t"], each_rank(),
        "witness A=[3], t=f32"),
    "total operators keep defined": about(
        ["defined x : [A..]", "param t : type", "let t1 = Relu(Exp(x))", f"Sub(t1, t1) = {ZERO}"],
        ["difference_with_itself forward 0 at 0: x=@0.0, A=[A..], t=t"], each_rank(),
        "witness A=[3], t=f32"),
    "a clip without an upper bound keeps defined": about(
        ["defined x : [A..]", "param t : type", "let t1 = Clip{min=0.0}(x)", f"Sub(t1, t1) = {ZERO}"],
        ["difference_with_itself forward 0 at 0: x=@0.0, A=[A..], t=t"], each_rank(),
        "witness A=[3], t=f32"),
    "maximum of a positive size": maximum("n + 1"),
    "orders of real parameters": clip(),
    "a condition on real parameters": clip(
        ["clip_above_clip forward 0 at 0: x=@0.0.0, A=[A..], a=a, b=b"],
        (*CLIPS[:5], "where real_less_equal(a, b)", "let t1 = Clip{min=b}(x)", "Clip{min=a}(t1) = t1"),
        clip_cases(shown=[(-2, -1), (-1, -1), (-1, 0), (-1, 1), (0, 0), (0, 1), (1, 1), (1, 2)])),
    "permutations": about(
        ["x : [A..]", "group A : 2..2", "param p : permutation[len(A)]",
         "Relu(Transpose{perm=p}(x)) = Transpose{perm=p}(Relu(x))"],
        ["relu_of_transpose forward 0 at 0: x=@0.0.0, A=[A..], p=p"],
        [" A=[A.0, A.1], p=[0, 1] -> [A.0, A.1] by 1", " A=[A.0, A.1], p=[1, 0] -> [A.1, A.0] by 1"],
        "witness A=[2, 3], p=[1, 0]"),
    "an equality of sizes": about(
        ["x : [n, m]", "where n == m", "Identity(x) = x"],
        ["identity_of_square forward 0 at 0: x=@0.0, n=m"], [" -> [m, m] by 1"], "witness m=2, n=2"),
    "a size of the form n + 1": about(
        ["x : [n + 1, m]", "let t1 = Relu(x)",
         "Slice{axes=[0], ends=[n + 1], starts=[0]}(t1) = t1"],
        ["slice_of_all forward 0 at 0: x=@0.0, m=m, n=n"], [" -> [n + 1, m] by 1"],
        "witness m=0, n=0"),
    "a cut at a place that is seen to be inside": about(
        ["x : [k + n, m]",
         "Concat{axis=0}(Slice{axes=[0], ends=[k], starts=[0]}(x), "
         "Slice{axes=[0], ends=[k + n], starts=[k]}(x)) = x"],
        ["joined_halves forward 0 at 0: x=@0.0.0, k=k, m=m, n=k + n"], [" -> [k + n, m] by 1"],
        "witness k=1, m=2, n=3"),
    "a cut at a place that is free": about(
        ["x : [k + n, m]", "free k : 2, 4",
         "Relu(x) => Relu(Concat{axis=0}(Slice{axes=[0], ends=[k], starts=[0]}(x), "
         "Slice{axes=[0], ends=[k + n], starts=[k]}(x)))"],
        ["joined_halves backward 0 at 0.0: x=@0.0, k=k, m=m, n=k + n"], [" -> [k + n, m] by 1"],
        "witness k=1, m=2, n=3"),
    "an equal condition at run time": about(
        ["x : [n]", "y : [4]",
         "let t1 = Relu(Concat{axis=1}(Unsqueeze{axes=[1]}(x), Unsqueeze{axes=[1]}(y)))",
         "Relu(t1) = t1"],
        ["relu_of_relu forward 0 at 0: x=@0.0.0, A=[4, 2]"], [" -> [4, 2] by 1"], "witness n=4"),
    "an axiom of one type, for inputs of that type": about(
        ["x : f32[A..]", "Cast{to=f32}(x) = x"],
        ["cast_of_f32 forward 0 at 0: x=@0.0, A=[A..]"], each_rank(), "witness A=[]"),
    "an equation that is searched forward only": about(
        ["x : [A..]", "search forward", "let t1 = Relu(x)", "Relu(t1) = t1"],
        ["relu_of_relu forward 0 at 0: x=@0.0.0, A=[A..]"], each_rank(), "witness A=[]"),
}
