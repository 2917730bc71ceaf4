"""A transformer block, experts and a step of training: for one device, and for each rank of a parallel run.

Each maker returns a model for one device and the models of the ranks, with collectives of the domains com.microsoft and
lemma between them. `bug` names a mistake that is made in the ranks' models; MISTAKES lists them.
"""

import numpy
from onnx import TensorProto, checker, helper, numpy_helper

OPERATOR_SET = 20


class Writer:
    """Nodes and weights of one model."""

    def __init__(self, ranks=1):
        self.ranks = ranks
        self.nodes, self.weights, self.inputs, self.outputs = [], {}, [], []
        self.count = 0

    def name(self, stem):
        self.count += 1
        return f"{stem}_{self.count}"

    def op(self, kind, operands, stem=None, domain="", outputs=1, **attributes):
        names = [self.name(stem or kind.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, operands, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, name, array):
        self.weights[name] = numpy.ascontiguousarray(array, dtype=array.dtype)
        return name

    def number(self, value):
        return self.weight(f"number_{value}", numpy.array(value, numpy.float32))

    def shape(self, *sizes):
        return self.weight("shape_" + "_".join(map(str, sizes)), numpy.array(sizes, numpy.int64))

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name, value, shape):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    # Collectives. On one device they are nothing.

    def all_reduce(self, x, stem="all_reduce"):
        return self.op("AllReduce", [x], stem, "com.microsoft", group_size=self.ranks) if self.ranks > 1 else x

    def all_gather(self, x, axis):
        return self.op("AllGather", [x], "all_gather", "com.microsoft", group_size=self.ranks, axis=axis) if self.ranks > 1 else x

    def reduce_scatter(self, x, axis):
        return self.op("ReduceScatter", [x], "reduce_scatter", "lemma", group_size=self.ranks, axis=axis) if self.ranks > 1 else x

    def all_to_all(self, x, split_axis, concat_axis):
        if self.ranks == 1:
            return x
        return self.op("AllToAll", [x], "all_to_all", "lemma", group_size=self.ranks, split_axis=split_axis, concat_axis=concat_axis)

    def rotate(self, x):
        return self.op("Permute", [x], "permute", "lemma", group_size=self.ranks, shift=1, ring=1)

    def model(self):
        graph = helper.make_graph(
            self.nodes, "parallel", self.inputs, self.outputs,
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()])
        sets = [("", OPERATOR_SET), ("com.microsoft", 1), ("lemma", 1)]
        used = {node.domain for node in self.nodes} | {""}
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*s) for s in sets if s[0] in used], ir_version=9)
        if used == {""}:
            checker.check_model(model)
        return model


def part(array, axis, rank, ranks):
    return numpy.split(array, ranks, axis)[rank]


class Sizes:
    def __init__(self, batch=2, tokens=8, hidden=16, heads=4, layers=1, experts=4):
        self.batch, self.tokens, self.hidden, self.heads, self.layers, self.experts = batch, tokens, hidden, heads, layers, experts


def block_weights(sizes, layer):
    random = numpy.random.default_rng(layer)
    c = sizes.hidden

    def drawn(*shape):
        return random.uniform(-0.5, 0.5, shape).astype(numpy.float32)

    weights = {"norm1": drawn(c) + 1, "shift1": drawn(c), "norm2": drawn(c) + 1, "shift2": drawn(c)}
    for name in "qkvo":
        weights["w" + name] = drawn(c, c)
        weights["b" + name] = drawn(c)
    weights |= {"w1": drawn(c, 4 * c), "b1": drawn(4 * c), "w2": drawn(4 * c, c), "b2": drawn(c)}
    return weights


def gelu(w, x):
    inner = w.op("Erf", [w.op("Mul", [x, w.number(0.70710678)])])
    return w.op("Mul", [w.op("Mul", [x, w.op("Add", [inner, w.number(1.0)])]), w.number(0.5)], "gelu")


def attention(w, x, take, batch, queries, keys, heads, width, scale, axis=-1, keys_of=None):
    """Attention of so many heads, each of `width`; `take` gives a weight by name."""
    keys_of = keys_of or x

    def heads_of(name, of, tokens, perm):
        y = w.op("Add", [w.op("MatMul", [of, take("w" + name)]), take("b" + name)], name)
        y = w.op("Reshape", [y, w.shape(batch, tokens, heads, width)])
        return w.op("Transpose", [y], name + "_heads", perm=perm)

    q = heads_of("q", x, queries, [0, 2, 1, 3])
    k = heads_of("k", keys_of, keys, [0, 2, 3, 1])
    v = heads_of("v", keys_of, keys, [0, 2, 1, 3])
    scores = w.op("Mul", [w.op("MatMul", [q, k], "scores"), w.number(scale)])
    y = w.op("MatMul", [w.op("Softmax", [scores], "probabilities", axis=axis), v], "context")
    y = w.op("Transpose", [y], perm=[0, 2, 1, 3])
    return w.op("Reshape", [y, w.shape(batch, queries, heads * width)], "merged")


def single_block(sizes):
    w = Writer()
    x = w.input("x", [sizes.batch, sizes.tokens, sizes.hidden])
    width = sizes.hidden // sizes.heads
    for layer in range(sizes.layers):
        weights = block_weights(sizes, layer)

        def take(name):
            return w.weight(f"{name}.{layer}", weights[name])

        normal = w.op("LayerNormalization", [x, take("norm1"), take("shift1")], "norm1", axis=-1)
        y = attention(w, normal, take, sizes.batch, sizes.tokens, sizes.tokens, sizes.heads, width, width ** -0.5)
        y = w.op("Add", [w.op("MatMul", [y, take("wo")], "projected"), take("bo")])
        x = w.op("Add", [x, y], "residual1")
        normal = w.op("LayerNormalization", [x, take("norm2"), take("shift2")], "norm2", axis=-1)
        y = gelu(w, w.op("Add", [w.op("MatMul", [normal, take("w1")], "wide"), take("b1")]))
        y = w.op("Add", [w.op("MatMul", [y, take("w2")], "narrow"), take("b2")])
        x = w.op("Add", [x, y], "residual2")
    w.output("y", x, [sizes.batch, sizes.tokens, sizes.hidden])
    return w.model()


COLUMNS, ROWS = 1, 0
CUT = {"wq": 1, "wk": 1, "wv": 1, "bq": 0, "bk": 0, "bv": 0, "wo": 0, "w1": 1, "b1": 0, "w2": 0}


def tensor_parallel_rank(sizes, rank, ranks, bug=None, sequence=False):
    """Megatron-LM: heads and the wide layer on ranks (Shoeybi et al., 2019); with `sequence` the tokens of
    normalizations and residuals as well (Korthikanti et al., 2022)."""
    w = Writer(ranks)
    tokens = sizes.tokens // ranks if sequence else sizes.tokens
    x = w.input("x", [sizes.batch, tokens, sizes.hidden])
    width = sizes.hidden // sizes.heads

    def meet(y, name):
        """The sum over ranks of a product by rows."""
        if bug == f"no_sum_{name}":
            return y if not sequence else w.op("Slice", [y, w.weight("from", numpy.array([0])), w.weight("to", numpy.array([tokens])), w.weight("along", numpy.array([1]))])
        if not sequence:
            y = w.all_reduce(y)
            return w.all_reduce(y) if bug == f"sum_twice_{name}" else y
        if bug == "first_part":
            y = w.all_reduce(y)
            return w.op("Slice", [y, w.weight("from", numpy.array([0])), w.weight("to", numpy.array([tokens])), w.weight("along", numpy.array([1]))])
        return w.reduce_scatter(y, 1)

    def spread(y):
        return w.all_gather(y, 1) if sequence else y

    for layer in range(sizes.layers):
        weights = block_weights(sizes, layer)

        def take(name):
            array, owner = weights[name], rank
            if name in CUT:
                if bug == "shifted_" + name:
                    owner = (rank + 1) % ranks
                if bug == "first_" + name:
                    owner = 0
                array = part(array, CUT[name], owner, ranks)
            return w.weight(f"{name}.{layer}", array)

        normal = w.op("LayerNormalization", [x, take("norm1"), take("shift1")], "norm1", axis=1 if bug == "norm_axis" else -1) if bug != "norm_axis" else \
            w.op("LayerNormalization", [x, w.weight("s", numpy.broadcast_to(weights["norm1"], (tokens, sizes.hidden)).copy()), w.weight("b", numpy.broadcast_to(weights["shift1"], (tokens, sizes.hidden)).copy())], "norm1", axis=-2)
        whole = spread(normal)
        scale = (width / ranks) ** -0.5 if bug == "scale" else width ** -0.5
        all_tokens = sizes.tokens
        y = attention(w, whole, take, sizes.batch, all_tokens, all_tokens, sizes.heads // ranks, width, scale, -2 if bug == "softmax_axis" else -1)
        y = w.op("MatMul", [y, take("wo")], "projected")
        if bug == "bias_before_sum":
            y = meet(w.op("Add", [y, take("bo")]), "attention")
        elif bug == "residual_before_sum":
            y = w.op("Add", [meet(w.op("Add", [y, x]), "attention"), take("bo")])
        else:
            y = w.op("Add", [meet(y, "attention"), take("bo")])
        x = y if bug == "residual_before_sum" else w.op("Add", [x, y], "residual1")
        normal = w.op("LayerNormalization", [x, take("norm2"), take("shift2")], "norm2", axis=-1)
        y = w.op("Add", [w.op("MatMul", [spread(normal), take("w1")], "wide"), take("b1")])
        if bug == "sum_before_gelu":
            y = w.all_reduce(y)
        y = meet(w.op("MatMul", [gelu(w, y), take("w2")], "narrow"), "wide")
        y = w.op("Add", [y, take("b2")])
        x = w.op("Add", [x, y], "residual2")
    w.output("y", x, [sizes.batch, tokens, sizes.hidden])
    return w.model()


def data_parallel_rank(sizes, rank, ranks, bug=None):
    local = Sizes(sizes.batch // ranks, sizes.tokens, sizes.hidden, sizes.heads, sizes.layers)
    return single_block(local)


def expert_weights(sizes):
    random = numpy.random.default_rng(7)
    e, c = sizes.experts, sizes.hidden

    def drawn(*shape):
        return random.uniform(-0.5, 0.5, shape).astype(numpy.float32)

    return {"gate": drawn(c, e), "w1": drawn(e, c, 2 * c), "w2": drawn(e, 2 * c, c)}


def expert_rank(sizes, rank, ranks, bug=None):
    """Experts on ranks: each rank computes its experts for all tokens, and the weighted results are added up."""
    w = Writer(ranks)
    t, c, e = sizes.tokens, sizes.hidden, sizes.experts // ranks
    x = w.input("x", [t, c])
    weights = expert_weights(sizes)
    gate = weights["gate"]
    logits = w.op("MatMul", [x, w.weight("gate", part(gate, 1, rank, ranks) if bug != "gate_of_first" else part(gate, 1, 0, ranks))], "logits")
    if bug == "local_softmax":
        shares = w.op("Softmax", [logits], "shares", axis=-1)
    else:
        whole = w.op("Softmax", [w.all_gather(logits, 1)], "shares", axis=-1)
        shares = w.reduce_scatter(w.op("Mul", [whole, w.number(1.0 / ranks)]), 1) if ranks > 1 else whole
    owner = (rank + 1) % ranks if bug == "shifted_experts" else rank
    h = w.op("Relu", [w.op("MatMul", [x, w.weight("w1", part(weights["w1"], 0, rank, ranks))], "up")])
    y = w.op("MatMul", [h, w.weight("w2", part(weights["w2"], 0, owner, ranks))], "down")
    share = w.op("Reshape", [w.op("Transpose", [shares], perm=[1, 0]), w.shape(e, t, 1)])
    total = w.op("ReduceSum", [w.op("Mul", [y, share]), w.weight("experts", numpy.array([0]))], "mixed", keepdims=0)
    w.output("y", total if bug == "no_sum" else w.all_reduce(total), [t, c])
    return w.model()


def zero_rank(sizes, rank, ranks, bug=None):
    """A step of momentum with gradients of parts of a batch; state and update on ranks (Rajbhandari et al., ZeRO, 2020)."""
    w = Writer(ranks)
    n, c = sizes.tokens, sizes.hidden
    x, target = w.input("x", [n // ranks, c]), w.input("target", [n // ranks, c])
    p = w.input("p", [c, c])
    m = w.input("m", [c // ranks, c])
    error = w.op("Sub", [w.op("MatMul", [x, p], "forward"), target], "error")
    g = w.op("MatMul", [w.op("Transpose", [x], perm=[1, 0]), error], "gradient")
    g = w.op("Mul", [g, w.number(2.0 / n / (ranks if bug == "scaled_twice" else 1))])
    if bug == "own_gradient":
        g = w.op("Split", [g], outputs=ranks, axis=0, num_outputs=ranks)[0] if ranks > 1 else g
    else:
        g = w.reduce_scatter(g, 0)
    if bug == "rotated_gradient":
        g = w.rotate(g)
    moved = w.op("Add", [w.op("Mul", [m, w.number(0.9)]), g], "momentum")
    step = w.op("Mul", [moved, w.number(0.01)])
    if bug == "rotated_step":
        step = w.rotate(step)
    whole = w.all_gather(step, 0)
    if bug == "gathered_twice":
        whole = w.all_reduce(whole)
    w.output("p_next", w.op("Sub", [p, whole], "updated"), [c, c])
    w.output("m_next", moved, [c // ranks, c])
    return w.model()


def all_to_all_rank(sizes, rank, ranks, bug=None):
    """Tokens on ranks, heads on ranks for attention (Jacobs et al., DeepSpeed Ulysses, 2023)."""
    w = Writer(ranks)
    t, h, d = sizes.tokens, sizes.heads, sizes.hidden // sizes.heads
    names = "qkv"
    inputs = [w.input(name, [t // ranks, h, d]) for name in names]
    swapped = bug == "swapped_axes"
    q, k, v = [w.all_to_all(x, *((0, 1) if swapped else (1, 0))) for x in inputs]
    if swapped:
        raise ValueError("shapes would not fit")
    q = w.op("Transpose", [q], perm=[1, 0, 2])
    k = w.op("Transpose", [k], perm=[1, 2, 0])
    v = w.op("Transpose", [v], perm=[1, 0, 2])
    scores = w.op("Mul", [w.op("MatMul", [q, k], "scores"), w.number(d ** -0.5)])
    y = w.op("MatMul", [w.op("Softmax", [scores], axis=-1), v], "context")
    y = w.op("Transpose", [y], perm=[1, 0, 2])
    w.output("y", w.all_to_all(y, 0, 1) if bug != "not_returned" else w.rotate(w.all_to_all(y, 0, 1)), [t // ranks, h, d])
    return w.model()


class LlamaSizes:
    """Llama 3.1 405B (Grattafiori et al., The Llama 3 Herd of Models, 2024, table 3)."""

    layers, hidden, wide, heads, groups, tokens = 126, 16384, 53248, 128, 8, 8192

    def __init__(self, **changed):
        for name, value in changed.items():
            setattr(self, name, value)


def llama(sizes, ranks, bug=None, bug_layer=0):
    """The stack of decoder layers without embeddings; weights are inputs, so that the file has none. With ranks above
    1, heads and the wide layer are on ranks."""
    w = Writer(ranks)
    t, c, d = sizes.tokens, sizes.hidden, sizes.hidden // sizes.heads
    heads, groups, wide = sizes.heads // ranks, sizes.groups // ranks, sizes.wide // ranks
    x = w.input("x", [1, t, c])
    cosine, sine = w.input("cosine", [1, t, 1, d // 2]), w.input("sine", [1, t, 1, d // 2])
    mask = w.input("mask", [1, 1, t, t])

    def normal(x, scale):
        mean = w.op("ReduceMean", [w.op("Mul", [x, x]), w.weight("last", numpy.array([-1]))], keepdims=1)
        root = w.op("Sqrt", [w.op("Add", [mean, w.number(1e-5)])])
        return w.op("Mul", [w.op("Div", [x, root]), scale], "normal")

    def turned(x):
        a, b = w.op("Split", [x], outputs=2, axis=-1, num_outputs=2)
        first = w.op("Sub", [w.op("Mul", [a, cosine]), w.op("Mul", [b, sine])])
        second = w.op("Add", [w.op("Mul", [b, cosine]), w.op("Mul", [a, sine])])
        return w.op("Concat", [first, second], "turned", axis=-1)

    def repeated(x):
        x = w.op("Unsqueeze", [x, w.weight("at", numpy.array([3]))])
        x = w.op("Expand", [x, w.shape(1, t, groups, heads // groups, d)])
        return w.op("Reshape", [x, w.shape(1, t, heads, d)], "repeated")

    for layer in range(sizes.layers):
        wrong = bug if layer == bug_layer else None

        def weight(name, *shape):
            return w.input(f"{name}.{layer}", shape)

        y = normal(x, weight("norm1", c))
        q = turned(w.op("Reshape", [w.op("MatMul", [y, weight("wq", c, heads * d)], "q"), w.shape(1, t, heads, d)]))
        k = turned(w.op("Reshape", [w.op("MatMul", [y, weight("wk", c, groups * d)], "k"), w.shape(1, t, groups, d)]))
        v = w.op("Reshape", [w.op("MatMul", [y, weight("wv", c, groups * d)], "v"), w.shape(1, t, groups, d)])
        q = w.op("Transpose", [q], perm=[0, 2, 1, 3])
        k = w.op("Transpose", [repeated(k)], perm=[0, 2, 3, 1])
        v = w.op("Transpose", [repeated(v)], perm=[0, 2, 1, 3])
        scores = w.op("Add", [w.op("Mul", [w.op("MatMul", [q, k], "scores"), w.number(d ** -0.5)]), mask])
        y = w.op("MatMul", [w.op("Softmax", [scores], axis=-1), v], "context")
        y = w.op("Reshape", [w.op("Transpose", [y], perm=[0, 2, 1, 3]), w.shape(1, t, heads * d)], "merged")
        y = w.op("MatMul", [y, weight("wo", heads * d, c)], "projected")
        x = w.op("Add", [x, y if wrong == "no_sum_attention" else w.all_reduce(y)], "residual1")
        y = normal(x, weight("norm2", c))
        gate = w.op("MatMul", [y, weight("w1", c, wide)], "gate")
        up = w.op("MatMul", [y, weight("w3", c, wide)], "up")
        y = w.op("Mul", [w.op("Mul", [gate, w.op("Sigmoid", [gate])]), up])
        y = w.op("MatMul", [y, weight("w2", wide, c)], "down")
        y = y if wrong == "no_sum_wide" else w.all_reduce(y)
        x = w.op("Add", [x, w.all_reduce(y) if wrong == "sum_twice" else y], "residual2")
    w.output("y", x, [1, t, c])
    return w.model()


def tensor_parallel(sizes, ranks, bug=None):
    return single_block(sizes), [tensor_parallel_rank(sizes, rank, ranks, bug) for rank in range(ranks)]


def sequence_parallel(sizes, ranks, bug=None):
    return single_block(sizes), [tensor_parallel_rank(sizes, rank, ranks, bug, sequence=True) for rank in range(ranks)]


def data_parallel(sizes, ranks, bug=None):
    return single_block(sizes), [data_parallel_rank(sizes, rank, ranks, bug) for rank in range(ranks)]


def expert_parallel(sizes, ranks, bug=None):
    return expert_rank(sizes, 0, 1), [expert_rank(sizes, rank, ranks, bug) for rank in range(ranks)]


def zero(sizes, ranks, bug=None):
    return zero_rank(sizes, 0, 1), [zero_rank(sizes, rank, ranks, bug) for rank in range(ranks)]


def all_to_all(sizes, ranks, bug=None):
    return all_to_all_rank(sizes, 0, 1), [all_to_all_rank(sizes, rank, ranks, bug) for rank in range(ranks)]


KINDS = {"tensor": tensor_parallel, "sequence": sequence_parallel, "data": data_parallel, "expert": expert_parallel,
         "zero": zero, "all_to_all": all_to_all}

MISTAKES = [
    ("tensor", "no_sum_attention"), ("tensor", "no_sum_wide"), ("tensor", "sum_twice_attention"), ("tensor", "bias_before_sum"),
    ("tensor", "residual_before_sum"), ("tensor", "shifted_wo"), ("tensor", "shifted_w2"), ("tensor", "first_b1"), ("tensor", "first_bq"),
    ("tensor", "scale"), ("tensor", "softmax_axis"), ("tensor", "sum_before_gelu"),
    ("sequence", "no_sum_wide"), ("sequence", "first_part"), ("sequence", "norm_axis"), ("sequence", "shifted_wk"),
    ("expert", "no_sum"), ("expert", "shifted_experts"), ("expert", "local_softmax"), ("expert", "gate_of_first"),
    ("zero", "scaled_twice"), ("zero", "own_gradient"), ("zero", "rotated_gradient"), ("zero", "rotated_step"), ("zero", "gathered_twice"),
    ("all_to_all", "not_returned"),
]
