"""Gradients of single operators: those of the files that `lemma differentiate` writes beside those of JAX.

A case is an operator with attributes, and what JAX computes for it. For each choice of sizes a file with the operator and the
loss sum(y * c) is written, differentiated in all real operands, and run in ONNX Runtime for several contents.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import jax_evaluation as evaluation

SIZES = [(3, 4, 5), (1, 1, 1), (2, 1, 3), (0, 3, 2)]
CONTENTS = 5
TOLERANCE = 2e-4


class Case:
    """`shapes` gives the shapes of the real operands for three sizes; `given` the operands behind them, which are constants."""

    def __init__(self, op, function, shapes=None, attributes=None, given=None, positive=False, small=False, smallest=0, inside=None):
        self.op, self.function = op, function
        self.shapes = shapes or (lambda a, b, c: [(a, b, c)])
        self.attributes, self.given = attributes or {}, given or (lambda a, b, c: [])
        self.positive, self.small, self.smallest = positive, small, smallest
        self.inside = inside  # which places the operands are at, if constants stand between them

    def label(self):
        return self.op + "".join(f" {name}={value}" for name, value in self.attributes.items())


def same(count):
    return lambda a, b, c: [(a, b, c)] * count


def unary(op, function, **more):
    return Case(op, function, **more)


def axes_of(*axes):
    return lambda a, b, c: [np.array(axes, np.int64)]


def reduced(op, function, axes=(1,), keepdims=1, **more):
    return Case(op, lambda x, _: function(x, axis=axes, keepdims=bool(keepdims)), given=axes_of(*axes), attributes={"keepdims": keepdims}, **more)


def pool(x, kind, kernel, strides, pads, include=False):
    window, steps = (1, 1, *kernel), (1, 1, *strides)
    padding = [(0, 0), (0, 0), *evaluation.pairs(pads)]
    if kind == "max":
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, steps, padding)
    total = jax.lax.reduce_window(x, 0.0, jax.lax.add, window, steps, padding)
    count = jax.lax.reduce_window(jnp.ones_like(x), 0.0, jax.lax.add, window, steps, padding)
    return total / (np.prod(kernel) if include else count)


def pooled(op, kind, kernel, strides, pads, include=False):
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    if kind == "average":
        attributes["count_include_pad"] = int(include)
    return Case(op, lambda x: pool(x, kind, kernel, strides, pads, include), lambda a, b, c: [(a, b, c + 3, c + 4)], attributes)


def convolution(strides, pads, dilations, group, bias):
    attributes = {"strides": strides, "pads": pads, "dilations": dilations, "group": group}
    spatial = len(strides)

    def shapes(a, b, c):
        image = [(a, group * b, *[c + 5 + i for i in range(spatial)]), (2 * group, b, *[3] * spatial)]
        return [*image, (2 * group,)] if bias else image
    return Case("Conv", lambda *operands: evaluation.conv(*operands, **attributes), shapes, attributes, smallest=1)


def transposed_convolution(strides, pads):
    attributes = {"strides": strides, "pads": pads}
    return Case("ConvTranspose", lambda *operands: evaluation.conv_transpose(*operands, **attributes),
                lambda a, b, c: [(a, b, *[c + 2] * len(strides)), (b, 2, *[3] * len(strides)), (2,)], attributes, smallest=1)


def gather_nd(x, i):
    return x[tuple(jnp.moveaxis(i, -1, 0))]


def indices(shape, count):
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) * 7 % max(count, 1)


def gathered(axis, rank):
    return Case("Gather", lambda x, i: jnp.take(x, i, axis), attributes={"axis": axis}, smallest=1,
                given=lambda a, b, c: [indices((2, 3)[:rank], (a, b, c)[axis])])


def resized(function, mode, transformation, scales, nearest="round_prefer_floor"):
    attributes = {"mode": mode, "coordinate_transformation_mode": transformation}
    if mode == "nearest":
        attributes["nearest_mode"] = nearest
    return Case("Resize", lambda x, *_: function(x), lambda a, b, c: [(a, b, c + 1, c + 2)], attributes, smallest=1,
                given=lambda a, b, c: [np.zeros(0, np.float32), np.array(scales, np.float32)])


def repeated(x, *times):
    for axis, count in enumerate(times):
        x = jnp.repeat(x, count, axis=axis)
    return x


def scattered(x, i, u, axis):
    where = list(jnp.meshgrid(*[jnp.arange(n) for n in i.shape], indexing="ij"))
    where[axis] = i
    return x.at[tuple(where)].add(u)


CASES = [
    *[unary(op, function) for op, function in {
        "Abs": jnp.abs, "Asinh": jnp.arcsinh, "Atan": jnp.arctan, "Ceil": jnp.ceil, "Cos": jnp.cos, "Cosh": jnp.cosh,
        "Erf": jax.scipy.special.erf, "Exp": jnp.exp, "Floor": jnp.floor, "Identity": lambda x: x, "Neg": jnp.negative,
        "Relu": jax.nn.relu, "Round": jnp.round, "Sigmoid": jax.nn.sigmoid, "Sign": jnp.sign, "Sin": jnp.sin, "Sinh": jnp.sinh,
        "Softplus": jax.nn.softplus, "Softsign": jax.nn.soft_sign, "Tan": jnp.tan, "Tanh": jnp.tanh, "Elu": jax.nn.elu, "Selu": jax.nn.selu,
        "Mish": jax.nn.mish, "HardSwish": jax.nn.hard_swish}.items()],
    *[unary(op, function, positive=True) for op, function in {"Log": jnp.log, "Sqrt": jnp.sqrt, "Reciprocal": jnp.reciprocal}.items()],
    *[unary(op, function, small=True) for op, function in {"Acos": jnp.arccos, "Asin": jnp.arcsin, "Atanh": jnp.arctanh}.items()],
    unary("Acosh", lambda x: jnp.arccosh(x), positive=True),
    Case("LeakyRelu", lambda x: jnp.where(x < 0, np.float32(0.2) * x, x), attributes={"alpha": 0.2}),
    Case("Celu", lambda x: jax.nn.celu(x, 1.5), attributes={"alpha": 1.5}),
    Case("HardSigmoid", lambda x: jnp.clip(0.2 * x + 0.5, 0, 1), attributes={"alpha": 0.2, "beta": 0.5}),
    Case("ThresholdedRelu", lambda x: jnp.where(x > 0.5, x, 0), attributes={"alpha": 0.5}),
    Case("Clip", lambda x, low, high: jnp.clip(x, low, high), given=lambda a, b, c: [np.float32(-0.5), np.float32(0.75)]),
    *[Case(op, function, same(2)) for op, function in {
        "Add": jnp.add, "Sub": jnp.subtract, "Mul": jnp.multiply, "Max": jnp.maximum, "Min": jnp.minimum, "Sum": jnp.add,
        "Mean": lambda x, y: (x + y) / 2}.items()],
    Case("Div", jnp.divide, same(2), positive=True),
    Case("Pow", jnp.power, same(2), positive=True),
    Case("PRelu", lambda x, s: jnp.where(x < 0, s * x, x), same(2)),
    Case("Add", jnp.add, lambda a, b, c: [(a, b, c), (c,)]),
    Case("Mul", jnp.multiply, lambda a, b, c: [(a, b, c), (b, 1)]),
    *[reduced("ReduceSum", jnp.sum, axes, keepdims) for axes, keepdims in [((1,), 1), ((0,), 0), ((0, 1), 0), ((1, 2), 1), ((0, 1, 2), 0)]],
    *[reduced("ReduceMean", jnp.mean, axes, keepdims, smallest=1) for axes, keepdims in [((1,), 1), ((2,), 0), ((1, 2), 0)]],
    *[reduced(op, function, axes, keepdims, smallest=1) for op, function in (("ReduceMax", jnp.max), ("ReduceMin", jnp.min))
      for axes, keepdims in [((1,), 1), ((2,), 0), ((1, 2), 1)]],
    reduced("ReduceProd", jnp.prod, smallest=1),
    reduced("ReduceSumSquare", lambda x, axis, keepdims: (x * x).sum(axis=axis, keepdims=keepdims)),
    reduced("ReduceL1", lambda x, axis, keepdims: jnp.abs(x).sum(axis=axis, keepdims=keepdims)),
    reduced("ReduceL2", lambda x, axis, keepdims: jnp.sqrt((x * x).sum(axis=axis, keepdims=keepdims)), smallest=1),
    reduced("ReduceLogSum", lambda x, axis, keepdims: jnp.log(x.sum(axis=axis, keepdims=keepdims)), positive=True, smallest=1),
    reduced("ReduceLogSumExp", lambda x, axis, keepdims: jax.scipy.special.logsumexp(x, axis=axis, keepdims=keepdims), smallest=1),
    *[Case(op, lambda x, f=function, k=axis: f(x, axis=k), attributes={"axis": axis}, smallest=1)
      for op, function in (("Softmax", jax.nn.softmax), ("LogSoftmax", jax.nn.log_softmax)) for axis in (1, 2)],
    Case("LayerNormalization", lambda x, s, b: evaluation.layer_norm(x, s, b), lambda a, b, c: [(a, b, c + 2), (c + 2,), (c + 2,)], smallest=1),
    Case("MatMul", jnp.matmul, lambda a, b, c: [(a, b), (b, c)]),
    Case("MatMul", jnp.matmul, lambda a, b, c: [(2, a, b), (2, b, c)]),
    Case("MatMul", jnp.matmul, lambda a, b, c: [(2, 3, a, b), (b, c)]),
    *[Case("Gemm", lambda *operands, m=modes: evaluation.gemm(*operands, **m), shapes, modes) for modes, shapes in [
        ({}, lambda a, b, c: [(a, b), (b, c), (c,)]), ({"transB": 1}, lambda a, b, c: [(a, b), (c, b), (c,)]),
        ({"transA": 1}, lambda a, b, c: [(b, a), (b, c)]), ({"transA": 1, "transB": 1}, lambda a, b, c: [(b, a), (c, b), (c,)])]],
    *[Case("Transpose", lambda x, p=perm: x.transpose(p), attributes={"perm": perm}) for perm in ([2, 0, 1], [0, 2, 1])],
    Case("Reshape", lambda x, s: x.reshape(s), given=lambda a, b, c: [np.array([a * b, c], np.int64)], smallest=1),
    Case("Flatten", lambda x: x.reshape(x.shape[0], -1), attributes={"axis": 1}, smallest=1),
    Case("Squeeze", lambda x, i: x[:, 0], lambda a, b, c: [(a, 1, c)], given=axes_of(1)),
    Case("Unsqueeze", lambda x, i: x[:, None], given=axes_of(1)),
    Case("Concat", lambda x, y: jnp.concatenate([x, y], 1), lambda a, b, c: [(a, b, c), (a, 2, c)], {"axis": 1}),
    Case("Concat", lambda x, y, z: jnp.concatenate([x, y, z], 0), lambda a, b, c: [(a, b), (1, b), (2, b)], {"axis": 0}),
    Case("Slice", lambda x, *_: x[:, 1:3], lambda a, b, c: [(a, b + 3, c)], given=lambda a, b, c: [np.array([v], np.int64) for v in (1, 3, 1)]),
    Case("Expand", lambda x, s: jnp.broadcast_to(x, s), lambda a, b, c: [(a, 1, c)], given=lambda a, b, c: [np.array([a, 3, c], np.int64)]),
    *[Case("Pad", lambda x, p, *_: jnp.pad(x, [(int(p[i]), int(p[i + 3])) for i in range(3)]),
           given=lambda a, b, c, p=pads: [np.array(p, np.int64)]) for pads in ([0, 1, 2, 0, 0, 1], [1, 0, 0, 2, 0, 0])],
    Case("Tile", lambda x, r: jnp.tile(x, [int(k) for k in r]), given=lambda a, b, c: [np.array([2, 1, 3], np.int64)]),
    *[gathered(axis, rank) for axis in (0, 1, 2) for rank in (1, 2)],
    Case("GatherND", gather_nd, given=lambda a, b, c: [indices((4, 1), a)], smallest=1),
    Case("GatherND", gather_nd, given=lambda a, b, c: [np.concatenate([indices((4, 1), a), indices((4, 1), b)], 1)], smallest=1),
    *[Case("GatherElements", lambda x, i, k=axis: jnp.take_along_axis(x, i, k), lambda a, b, c: [(a, b)], {"axis": axis},
           given=lambda a, b, c, k=axis: [indices((a, b), (a, b)[k])], smallest=1) for axis in (0, 1)],
    Case("Where", lambda c, x, y: jnp.where(c, x, y), same(2), given=lambda a, b, c: [indices((a, b, c), 2).astype(bool)], inside=[1, 2]),
    Case("CumSum", lambda x, i: jnp.cumsum(x, 1), given=lambda a, b, c: [np.int64(1)]),
    Case("Trilu", jnp.triu, smallest=1),
    *[convolution(s, p, d, g, bias) for s, p, d, g, bias in [
        ([1, 1], [0, 0, 0, 0], [1, 1], 1, False), ([1, 1], [1, 1, 1, 1], [1, 1], 1, True), ([2, 2], [1, 0, 1, 0], [1, 1], 1, False),
        ([1, 1], [1, 0, 1, 0], [1, 1], 3, True), ([1, 1], [2, 2, 2, 2], [2, 2], 1, True), ([1, 1], [0, 0, 0, 0], [2, 3], 2, False),
        ([2, 1], [2, 0, 2, 0], [2, 1], 1, False), ([1, 1], [1, 1, 1, 1], [2, 2], 1, False), ([1], [1, 1], [1], 1, True), ([1], [2, 2], [2], 1, False)]],
    transposed_convolution([1, 1], [0, 0, 0, 0]), transposed_convolution([2, 2], [1, 1, 1, 1]), transposed_convolution([2], [0, 0]),
    *[pooled("MaxPool", "max", k, s, p) for k, s, p in [([2, 2], [2, 2], [0] * 4), ([3, 3], [1, 1], [1] * 4)]],
    *[pooled("AveragePool", "average", k, s, p, i) for k, s, p, i in [
        ([2, 2], [2, 2], [0] * 4, False), ([3, 3], [1, 1], [1] * 4, False), ([3, 3], [1, 1], [1] * 4, True), ([3, 2], [2, 2], [1, 0, 1, 1], False)]],
    Case("GlobalAveragePool", lambda x: x.mean(axis=(2, 3), keepdims=True), lambda a, b, c: [(a, b, c, c + 1)], smallest=1),
    Case("GlobalMaxPool", lambda x: x.max(axis=(2, 3), keepdims=True), lambda a, b, c: [(a, b, c, c + 1)], smallest=1),
    resized(lambda x: repeated(x, 1, 1, 2, 2), "nearest", "asymmetric", [1, 1, 2, 2], "floor"),
    resized(lambda x: repeated(x, 1, 1, 2, 2), "nearest", "half_pixel", [1, 1, 2, 2]),
    resized(lambda x: repeated(x, 1, 1, 3, 3), "nearest", "asymmetric", [1, 1, 3, 3], "floor"),
    resized(lambda x: jax.image.resize(x, (*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3]), "linear", antialias=False),
            "linear", "half_pixel", [1, 1, 2, 2]),
    Case("DepthToSpace", lambda x: x.reshape(x.shape[0], -1, 2, 2, *x.shape[2:]).transpose(0, 1, 4, 2, 5, 3).reshape(
        x.shape[0], -1, 2 * x.shape[2], 2 * x.shape[3]), lambda a, b, c: [(a, 4 * b, c, c)], {"blocksize": 2, "mode": "CRD"}, smallest=1),
    Case("ScatterElements", lambda x, i, u: scattered(x, i, u, 0), lambda a, b, c: [(a, b), (a, b)], {"axis": 0, "reduction": "add"},
         given=lambda a, b, c: [indices((a, b), a)], inside=[0, 2], smallest=1),
    Case("Einsum", lambda x, y: jnp.einsum("bij,bjk->bik", x, y), lambda a, b, c: [(2, a, b), (2, b, c)], {"equation": "bij,bjk->bik"}),
]


def model_of(case, sizes, folder):
    """The file with the operator and its loss, and the operands as JAX takes them: a name, or a constant."""
    shapes, given = case.shapes(*sizes), case.given(*sizes)
    places = case.inside or list(range(len(shapes)))
    names = [f"x{i}" for i in range(len(shapes))]
    operands, constants, rest = [], [], iter(given)
    for place in range(len(shapes) + len(given)):
        if place in places:
            operands.append(names[places.index(place)])
        else:
            constants.append(numpy_helper.from_array(np.asarray(next(rest)), f"given{place}"))
            operands.append(constants[-1].name)
    nodes = [helper.make_node(case.op, operands, ["y"], **case.attributes), helper.make_node("Mul", ["y", "c"], ["products"]),
             helper.make_node("ReduceSum", ["products"], ["loss"], keepdims=0)]
    values = {c.name: numpy_helper.to_array(c) for c in constants}

    def evaluated(real):
        return case.function(*[real[name] if name in real else values[name] for name in operands])
    result = jax.eval_shape(evaluated, {name: jax.ShapeDtypeStruct(shape, np.float32) for name, shape in zip(names, shapes)}).shape
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in [*zip(names, shapes), ("c", result)]]
    graph = helper.make_graph(nodes, case.op, inputs, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, folder / "operator.onnx")
    return dict(zip(names, shapes)), result, evaluated


def contents(case, shape, random):
    values = random.normal(size=shape)
    if case.positive:
        values = np.abs(values) + (1.5 if case.op == "Acosh" else 0.5)
    if case.small:
        values = np.tanh(values) * 0.9
    return values.astype(np.float32)


def compared(case, sizes, folder, lemma):
    """How many gradients agree, and what differs; or why there is no file."""
    shapes, result, evaluated = model_of(case, sizes, folder)
    written = folder / "gradient.onnx"
    call = [lemma, "differentiate", folder / "operator.onnx", "--loss", "loss", "--wrt", "x*", "--optimizer", "none", "-o", written]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return 0, [], (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1][:300]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    # Without its FusedMatMul, which leaves the result of an empty sum as it finds the memory.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = onnxruntime.InferenceSession(written.read_bytes(), options, providers=["CPUExecutionProvider"])
    wanted = {i.name for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    gradient = jax.jit(jax.grad(lambda real, c: (evaluated(real) * c).sum()))
    agree, different = 0, []
    for seed in range(CONTENTS):
        random = np.random.default_rng(seed)
        real = {name: contents(case, shape, random) for name, shape in shapes.items()}
        c = random.normal(size=result).astype(np.float32)
        outputs = dict(zip(names, session.run(None, {n: v for n, v in {**real, "c": c}.items() if n in wanted})))
        expected = gradient(real, c)
        for name in shapes:
            theirs = np.asarray(expected[name])
            # Without an output the loss does not depend on the operand.
            mine = outputs.get(f"{name}.gradient", np.zeros_like(theirs))
            scale = max(np.abs(theirs).max(initial=0), 1e-3)
            error = np.abs(mine - theirs).max(initial=0) / scale
            if mine.shape == theirs.shape and error <= TOLERANCE:
                agree += 1
            else:
                different.append(f"{name}: {mine.shape} beside {theirs.shape}, error {error:.1e}")
    return agree, different, ""


def compare_operators(lemma, only):
    """Prints a line for each case; whether none differs."""
    agree_in_all, differ, refused, operators = 0, 0, 0, set()
    with tempfile.TemporaryDirectory(prefix="lemma-gradients-") as name:
        for case in CASES:
            if only and case.op not in only:
                continue
            agree, different, reasons = 0, [], set()
            for sizes in SIZES:
                if min(sizes) < case.smallest:
                    continue
                count, errors, reason = compared(case, sizes, Path(name), lemma)
                agree += count
                different += errors
                reasons |= {reason} - {""}
            agree_in_all, differ, refused = agree_in_all + agree, differ + len(different), refused + bool(reasons)
            if agree:
                operators.add(case.op)
            print(f"{case.label()}: {agree} agree, {len(different)} differ", *different[:2], *sorted(reasons), sep="; ", flush=True)
    print(f"{len(operators)} operators, {agree_in_all} gradients agree, {differ} differ, {refused} of the cases are refused", file=sys.stdout)
    return differ == 0
