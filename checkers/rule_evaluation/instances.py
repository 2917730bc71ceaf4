"""Values for the variables of a rule: ranks, sizes and parameters.

Instances are drawn at random and kept if one side is well typed. What is drawn is chosen so that this
succeeds often: sizes are taken by the axis's distance from the last one, so that groups that are
broadcast against each other fit together; and every third condition is brought to its border."""

import math
from dataclasses import dataclass

from rule_evaluation.expressions import evaluate, holds, Unevaluable
from rule_evaluation.language import names_of
from rule_evaluation.operators import MOST_ELEMENTS

ELEMENT_TYPES = ("f32", "f32", "f32", "f64", "f16", "bf16")
REALS = (0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 1.75, 3.25, -0.125, 7.0, 100.5, -1000.25, 1e-3, 6.0, 1e4, 5e6,
         -5e6)
MAGNITUDES = (-12, 12)  # powers of ten
MOST_AXES = 80
LONGEST_LIST = 100
BIG = (257, 260, 300, 513)
WINDOW_LISTS = {"strides": (1, 1, 2, 3, 1), "dilations": (1, 1, 2, 1), "pads": (0, 0, 1, 2, 1),
                "kernel_shape": (1, 2, 3, 2)}


def literals_of(expression):
    if expression[0] == "literal" and isinstance(expression[1], float):
        yield expression[1]
    for part in expression[1:]:
        if isinstance(part, tuple):
            yield from literals_of(part)


@dataclass
class Style:
    """How an instance is drawn; the later attempts are drawn with less variety."""
    palette: tuple
    zeros: str        # "none", "one" (one variable is 0) or "some"
    broadcast: float  # how often an axis of a group has size 1
    ranks: str        # "low", "any" or "high"
    big: bool


def style_of(random_, attempt):
    zeros = random_.choice(("none", "none", "none", "one", "one", "some"))
    ranks = random_.choice(("low", "any", "low", "high")) if attempt < 6 else "low"
    if attempt % 3 == 2 or attempt > 20:
        palette = (random_.choice((1, 2, 2, 3)),)
    elif ranks == "high":
        palette = (1, 2, 2, 3)
    else:
        palette = random_.choice(((1, 2, 3, 5, 7), (2, 3), (1, 2, 3), (3, 5, 7, 2), (1, 2, 4)))
    broadcast = random_.choice((0.0, 0.2, 0.5)) if attempt < 20 else 0.0
    big = random_.random() < 0.04 and ranks == "low"
    return Style(palette, zeros, broadcast, ranks, big)


class Sampler:
    """Draws values for the variables of one rule."""

    def __init__(self, rule, random_):
        self.rule, self.random = rule, random_
        self.sizes = rule.sizes()
        self.declared = {name for one in rule.inputs for item in one.shape
                         if item[0] == "splice" for name in [item[1]]}
        self.element_type = "f32"  # the one that inputs without a type share
        self.windows = self.window_parameters()
        self.spatial = self.spatial_groups()
        self.reals = REALS + tuple(self.literals())
        self.equal_ranks = [
            (c[1][0][2][1], c[1][1][2][1]) for c in rule.conditions
            if c[0] == "==" and all(a[0] == "call" and a[1] == "len" and a[2][0] == "variable"
                                    for a in c[1])]

    def literals(self):
        """Real numbers that the rule compares with or uses, and what lies beside them."""
        expressions = [one for node in self.rule.nodes for one in node.attributes.values()]
        expressions += [one for _, arguments in self.rule.conditions for one in arguments]
        found = {value for one in expressions for value in literals_of(one)}
        return sorted({value + step for value in found for step in (-0.5, 0.0, 0.5)})

    def window_parameters(self):
        """Parameters that occur in an attribute of windows, by the attribute's name."""
        result = {}
        for node in self.rule.nodes:
            for name in WINDOW_LISTS:
                if name in node.attributes and node.operator != "Pad":
                    for _, variable in names_of(node.attributes[name]):
                        result.setdefault(variable, name)
        return result

    def spatial_groups(self):
        """Groups that stand for the spatial axes of a windowed operator's input."""
        result = set()
        for node in self.rule.nodes:
            if node.operator in ("Conv", "MaxPool", "AveragePool"):
                for one in self.rule.inputs:
                    for item in one.shape[2:]:
                        result.update(name for _, name in names_of(item))
        return result

    def rank(self, name, style):
        least, most = self.rule.groups[name]
        if style.ranks == "high" and self.random.random() < 0.6:
            return most
        if style.ranks == "low":
            return self.random.randint(least, max(least, min(most, 2)))
        return self.random.randint(least, max(least, min(most, 5)))

    def draw(self, style):
        """Values of all variables, or None if what was drawn does not fit together."""
        rule, values = self.rule, {}
        self.element_type = self.random.choice(ELEMENT_TYPES)
        master = [self.random.choice(style.palette) for _ in range(MOST_AXES)]
        ranks = {name: self.rank(name, style) for name in rule.groups}
        for a, b in self.equal_ranks:
            ranks[b] = ranks[a]
        self.draw_sizes(style, master, ranks, values)
        for name, rank in ranks.items():
            if name not in values:
                values[name] = self.free_shape(style, master, rank, values)
        for name in self.sizes:
            values.setdefault(name, self.size(style))
        self.put_zeros(style, values)
        if style.big:
            self.put_big(values)
        try:
            for name, (kind, bounds) in rule.parameters.items():
                values[name] = self.parameter(name, kind, bounds, values)
        except Unevaluable:
            return None
        self.to_borders(values)
        if not all(holds(one, values) for one in rule.conditions) or not self.in_ranges(values):
            return None
        return values

    def size(self, style):
        return self.random.choice(style.palette)

    def draw_sizes(self, style, master, ranks, values):
        """Groups and single sizes of declared shapes, by the distance of their axis from the last."""
        for one in self.rule.inputs:
            lengths = [ranks[item[1]] if item[0] == "splice" else 1 for item in one.shape]
            for i, item in enumerate(one.shape):
                after = sum(lengths[i + 1:])
                if item[0] == "splice" and item[1] not in values:
                    rank = lengths[i]
                    axes = [master[after + rank - 1 - k] for k in range(rank)]
                    ones = style.broadcast if rank < 9 else 0.8
                    values[item[1]] = tuple(1 if self.random.random() < ones else n for n in axes)
                elif item[0] == "variable" and item[1] not in values:
                    aligned = self.random.random() < 0.5
                    values[item[1]] = master[after] if aligned else self.size(style)
        for name in self.spatial:
            if name in values and isinstance(values[name], tuple):
                values[name] = tuple(max(n, self.random.choice((1, 2, 3, 4, 5))) for n in values[name])
            elif name in values:
                values[name] = max(values[name], self.random.choice((1, 2, 3, 4)))

    def free_shape(self, style, master, rank, values):
        """A group that no input declares: often another's elements in another shape."""
        known = [values[name] for name in self.declared if name in values]
        choice = self.random.random()
        if known and choice < 0.6:
            axes = list(self.random.choice(known))
            if self.random.random() < 0.5:
                self.random.shuffle(axes)
            while len(axes) > rank and len(axes) > 1:
                i = self.random.randrange(len(axes) - 1)
                axes[i:i + 2] = [axes[i] * axes[i + 1]]
            while len(axes) < rank:
                axes.insert(self.random.randint(0, len(axes)), 1)
            return tuple(axes) if len(axes) == rank else (1,) * rank
        return tuple(1 if self.random.random() < style.broadcast else master[rank - 1 - k]
                     for k in range(rank))

    def put_zeros(self, style, values):
        """Sizes and axes that become 0."""
        places = [(name, None) for name in self.sizes if name != "g"]
        places += [(name, i) for name in self.rule.groups for i in range(len(values[name]))]
        if not places or style.zeros == "none":
            return
        if style.zeros == "one":
            chosen = [self.random.choice(places)]
        else:
            chosen = [place for place in places if self.random.random() < 0.25]
        for place in chosen:
            self.put(values, place, 0)

    def put(self, values, place, size):
        name, i = place
        if i is None:
            values[name] = size
        else:
            values[name] = values[name][:i] + (size,) + values[name][i + 1:]

    def put_big(self, values):
        for name in self.sizes:
            values[name] = min(values[name], 2)
        for name in self.rule.groups:
            values[name] = tuple(min(n, 2) for n in values[name])
        places = [(name, None) for name in self.sizes]
        places += [(name, i) for name in self.declared for i in range(len(values[name]))]
        if places:
            self.put(values, self.random.choice(places), self.random.choice(BIG))

    def parameter(self, name, kind, bounds, values):
        r = self.random
        if kind == "string":
            return r.choice(bounds)[1]
        if kind == "real":
            known = [v for v in values.values() if isinstance(v, float)]
            if r.random() < 0.15:
                return r.choice((-1, 1)) * round(r.uniform(1, 10), 3) * 10.0 ** r.randint(*MAGNITUDES)
            return r.choice(known) if known and r.random() < 0.25 else r.choice(self.reals)
        if kind == "type":
            return self.element_type
        limits = [evaluate(one, values) for one in bounds]
        choices = WINDOW_LISTS.get(self.windows.get(name), (0, 1, 1, 2, 3))
        if kind == "dimension":
            if name not in self.windows and r.random() < 0.25:
                known = [v for v in values.values() if isinstance(v, int)]
                return r.choice(known) if known else r.choice(choices)
            return r.choice(choices)
        if kind == "integer":
            if limits[0] >= limits[1]:
                raise Unevaluable("an empty range")
            return r.randrange(limits[0], limits[1])
        if not 0 <= limits[0] <= LONGEST_LIST:
            raise Unevaluable("a length that is negative or too large")
        if kind == "permutation":
            return tuple(r.sample(range(limits[0]), limits[0]))
        mostly_zero = name not in self.windows and r.random() < 0.4
        return tuple(0 if mostly_zero and r.random() < 0.7 else r.choice(choices)
                     for _ in range(limits[0]))

    def to_borders(self, values):
        """Changes one variable of a condition so that the condition just holds, or holds at all."""
        for condition in self.rule.conditions:
            if condition[0] not in ("<=", "<", "==") or self.random.random() < 0.4:
                continue
            names = [name for a in condition[1] for _, name in names_of(a)
                     if isinstance(values.get(name), int)]
            if not names:
                continue
            name = self.random.choice(names)
            before, fitting = values[name], []
            for n in range(13):
                values[name] = n
                if holds(condition, values):
                    fitting.append(n)
            at_border = [n for n in fitting if n - 1 not in fitting or n + 1 not in fitting]
            values[name] = self.random.choice(at_border or fitting or [before])

    def in_ranges(self, values):
        for name, (least, most) in self.rule.groups.items():
            if not least <= len(values[name]) <= most:
                return False
        return True

    def shapes(self, values):
        """The shapes of the inputs, or None if a declared size is negative or they are too large."""
        result = []
        for one in self.rule.inputs:
            shape = evaluate(("list", *one.shape), values)
            if any(n < 0 for n in shape) or math.prod(max(n, 1) for n in shape) > MOST_ELEMENTS:
                return None
            result.append(shape)
        return result

