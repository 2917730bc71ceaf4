"""Which operators are total: defined wherever their operands are (docs/certificates.md, "Always
defined"; docs/semantics.md, "Values").

Two things have to agree: the list on that page, which says for which operators the definition printed
for one example speaks for all shapes, types and attributes; and the definition itself, read here from
docs/operators.md. What is not in the list, or cannot be read, is not total."""

import functools
import re

LISTED = frozenset(  # those of the list that this checker knows at all
    "Abs Add And Asinh Atan Ceil Clip Cos Cosh Equal Erf Exp Floor Gelu Greater GreaterOrEqual "
    "HardSigmoid HardSwish LeakyRelu Less LessOrEqual Max Mean Min Mish Mul Neg Not Or PRelu Relu Round "
    "Sigmoid Sign Sin Sinh Softplus Softsign Sub Sum Swish Tanh ThresholdedRelu Where Xor "
    "Concat ConstantOfShape Conv Dropout Expand EyeLike Flatten Gemm Identity MatMul ReduceL1 ReduceProd ReduceSum "
    "Pad ReduceSumSquare Reshape Slice Split Squeeze Transpose Unsqueeze "
    "Cast ReduceMax ReduceMean ReduceMin GlobalMaxPool".split())
REDUCING_ALL = ("GlobalMaxPool",)  # the example has no axes to reduce; others may, and have size 0
EVERYWHERE = frozenset(  # functions with a value for all arguments
    "abs asinh atan ceil cos cosh erf exp floor max min product round select sign sin sinh sum tanh"
    .split())
WORDS = frozenset("and or not".split())
NEVER_ZERO = ("exp", "abs")  # 1 + exp(...) and 1 + abs(...) are positive
INSIDE = ("Concat", "Conv", "Flatten", "Pad", "Reshape", "Slice", "Split")  # whose shape rules see that all positions are inside
PARTIAL, OVER_NOTHING, TOTAL = "partial", "undefined over an empty domain", "total"
TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?|[A-Za-z_]\w*|<=|==|.)")


class Definition:
    """A definition "y[i0, i1] = EXPRESSION" of one of the outputs with the types that the line above it shows."""

    def __init__(self, name, section, output=0):
        block = re.search(r"(?s)```\n(\w+)(?:\{.*?\})?\((.*?)\) : (.*?)\n\n(.*?)```", section)
        self.readable = bool(block) and block[1] == name
        if not self.readable:
            return
        self.shapes = dict(re.findall(r"(\w+): \w+(\[[^]]*\])", block[2]))
        self.shapes = {one: re.findall(r"[^][, ][^],]*", text) for one, text in self.shapes.items()}
        lines = block[4].strip().split("\n")
        results = re.findall(r"\w+\[([^]]*)\]", block[3])
        self.output_count = len(results)
        head = re.fullmatch(rf"y{output if len(results) > 1 else ''}(?:\[([^]]*)\])? = (.*)", lines[output])
        self.readable = len(lines) == len(results) and bool(head)
        if not self.readable:
            return
        self.sizes = [one for one in results[output].split(", ") if one]
        self.ranges = dict(zip([one for one in (head[1] or "").split(", ") if one], self.sizes))
        self.ranges.update(re.findall(r"\b(k\d+) < (\w+)", head[2]))
        self.tokens = TOKEN.findall(head[2])
        self.is_inside = name in INSIDE

    def closing(self, opening):
        """Where the bracket closes that opens there."""
        depth = 0
        for i in range(opening, len(self.tokens)):
            depth += (self.tokens[i] in "([") - (self.tokens[i] in ")]")
            if depth == 0:
                return i
        return len(self.tokens)

    def is_one_plus(self, opening, functions):
        """Whether the bracket holds just 1 + f(...) with one of the functions."""
        inside = self.tokens[opening + 1:opening + 5]
        return (len(inside) == 4 and inside[:2] == ["1", "+"] and inside[2] in functions
                and inside[3] == "(" and self.closing(opening + 4) + 1 == self.closing(opening))

    def verdict(self):
        if not self.readable:
            return PARTIAL
        found, i = TOTAL, 0
        while i < len(self.tokens):
            token, after = self.tokens[i], self.tokens[i + 1:i + 2]
            if token == "/" and self.is_number_of_terms(i + 1):
                found, i = OVER_NOTHING, self.closing(i + 2) + 1
                continue
            if token == "/" and not self.has_safe_divisor(i + 1):
                return PARTIAL
            if re.match(r"[A-Za-z_]", token):
                if after == ["("]:
                    if token in ("max", "min") and self.is_reduction(i + 1):
                        found = OVER_NOTHING
                    elif token == "log":
                        if not self.is_one_plus(i + 1, ("exp",)):
                            return PARTIAL
                    elif token not in EVERYWHERE and not self.is_root_of_number(i):
                        return PARTIAL
                elif after == ["["]:
                    if not self.reads_inside(token, i + 1):
                        return PARTIAL
                    i = self.closing(i + 1)
                elif not (token in WORDS or token in self.ranges or token in self.shapes
                          or token in self.ranges.values()
                          or any(token in shape for shape in self.shapes.values())):
                    return PARTIAL
            i += 1
        return found

    def has_safe_divisor(self, i):
        token = self.tokens[i]
        return (re.match(r"\d", token) and float(token) != 0) or (
            token == "(" and self.is_one_plus(i, NEVER_ZERO)) or self.is_root_of_number(i)

    def is_number_of_terms(self, i):
        """Whether f32(K*M) stands there, with sizes that are summed over: 0 only where one of these is."""
        if self.tokens[i:i + 2] != ["f32", "("]:
            return False
        inside = self.tokens[i + 2:self.closing(i + 1)]
        summed = {size for index, size in self.ranges.items() if index.startswith("k")}
        return (len(inside) % 2 == 1 and all(one == "*" for one in inside[1::2])
                and all(one in summed for one in inside[::2]))

    def is_root_of_number(self, i):
        """Whether sqrt(NUMBER) stands there, of a positive number."""
        name, opening, number, closing, *_ = [*self.tokens[i:i + 4], "", "", "", ""]
        return (name == "sqrt" and opening == "(" and closing == ")"
                and re.match(r"\d", number) is not None and float(number) > 0)

    def is_reduction(self, opening):
        return self.tokens[opening + 2:opening + 3] == ["<"] and self.tokens[
            opening + 1].startswith("k")

    def reads_inside(self, name, opening):
        """Whether each position is an index variable that ranges over just the axis, or 0 on an axis
        of size 1."""
        shape = self.shapes.get(name)
        inside = self.tokens[opening + 1:self.closing(opening)]
        if shape is None or "[" in inside:
            return False
        if self.is_inside:
            words = {one for one in inside if re.match(r"[A-Za-z]", one)}
            return words <= {"floordiv", "floormod", "max", "min", *self.ranges, *self.sizes, *shape}
        places = "".join(inside).split(",")
        return len(places) == len(shape) and all(
            self.ranges.get(place) == size or (place, size) == ("0", "1")
            for place, size in zip(places, shape))


def verdict_of_all_outputs(name, section):
    first = Definition(name, section)
    if not first.readable:
        return PARTIAL
    verdicts = [first.verdict(), *(Definition(name, section, i).verdict() for i in range(1, first.output_count))]
    return next((one for one in (PARTIAL, OVER_NOTHING) if one in verdicts), TOTAL)


@functools.lru_cache(maxsize=None)
def verdict(name, section):
    """What the definition says, for operators of the list."""
    found = verdict_of_all_outputs(name, section) if name in LISTED else PARTIAL
    return OVER_NOTHING if found == TOTAL and name in REDUCING_ALL else found
