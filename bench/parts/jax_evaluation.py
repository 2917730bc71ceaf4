"""ONNX graphs in JAX: an implementation that shares nothing with Lemma, differentiated by JAX itself.

It has the operators of models/training_models.py and models/memory_bound.py.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from onnx import helper, numpy_helper

jax.config.update("jax_enable_x64", True)


def attributes_of(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def pairs(pads):
    half = len(pads) // 2
    return list(zip(pads[:half], pads[half:]))


def conv(x, w, *bias, strides=None, pads=None, dilations=None, group=1, **_):
    spatial = x.ndim - 2
    y = lax.conv_general_dilated(x, w, strides or [1] * spatial, pairs(pads or [0] * 2 * spatial),
                                 rhs_dilation=dilations, feature_group_count=group)
    return y + bias[0].reshape((1, -1) + (1,) * spatial) if bias else y


def conv_transpose(x, w, *bias, strides=None, pads=None, **_):
    spatial = x.ndim - 2
    flipped = jnp.flip(w, axis=tuple(range(2, w.ndim))).swapaxes(0, 1)
    full = [(k - 1 - p, k - 1 - q) for k, (p, q) in zip(w.shape[2:], pairs(pads or [0] * 2 * spatial))]
    y = lax.conv_general_dilated(x, flipped, [1] * spatial, full, lhs_dilation=strides or [1] * spatial)
    return y + bias[0].reshape((1, -1) + (1,) * spatial) if bias else y


def max_pool(x, kernel_shape, strides=None, pads=None, **_):
    spatial = x.ndim - 2
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, *kernel_shape), (1, 1, *(strides or [1] * spatial)),
                             [(0, 0), (0, 0), *pairs(pads or [0] * 2 * spatial)])


def gemm(a, b, *c, alpha=1.0, beta=1.0, transA=0, transB=0):
    y = alpha * ((a.T if transA else a) @ (b.T if transB else b))
    return y + beta * c[0] if c else y


def reshape(x, shape, **_):
    sizes = [x.shape[i] if s == 0 else int(s) for i, s in enumerate(np.asarray(shape))]
    return x.reshape(sizes)


def slice_(x, starts, ends, axes):
    cut = [slice(None)] * x.ndim
    for start, end, axis in zip(np.asarray(starts), np.asarray(ends), np.asarray(axes)):
        cut[int(axis)] = slice(int(start), int(end))
    return x[tuple(cut)]


def layer_norm(x, scale, bias, epsilon=1e-5, axis=-1, **_):
    mean = x.mean(axis=axis, keepdims=True)
    deviation = x - mean
    return deviation / jnp.sqrt((deviation**2).mean(axis=axis, keepdims=True) + epsilon) * scale + bias


def batch_norm(x, scale, bias, mean, variance, epsilon=1e-5, **_):
    at = lambda v: v.reshape((1, -1) + (1,) * (x.ndim - 2))
    return (x - at(mean)) / jnp.sqrt(at(variance) + epsilon) * at(scale) + at(bias)


def lstm(x, w, r, b, hidden_size, **_):
    h = c = jnp.zeros((x.shape[1], hidden_size), x.dtype)
    outputs = []
    for step in x:
        i, o, f, g = jnp.split(step @ w[0].T + h @ r[0].T + b[0, :4 * hidden_size] + b[0, 4 * hidden_size:], 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        outputs.append(h)
    return jnp.stack(outputs)[:, None], h[None]


def gru(x, w, r, b, hidden_size, **_):
    h = jnp.zeros((x.shape[1], hidden_size), x.dtype)
    outputs = []
    for step in x:
        zx, rx, hx = jnp.split(step @ w[0].T + b[0, :3 * hidden_size], 3, axis=1)
        zh, rh, hh = jnp.split(h @ r[0].T + b[0, 3 * hidden_size:], 3, axis=1)
        z, reset = jax.nn.sigmoid(zx + zh), jax.nn.sigmoid(rx + rh)
        h = (1 - z) * jnp.tanh(hx + reset * hh) + z * h
        outputs.append(h)
    return jnp.stack(outputs)[:, None], h[None]


def split(x, parts, axis=0):
    return tuple(jnp.split(x, parts, axis))


def scatter_elements(x, indices, updates, axis=0, reduction=b"none"):
    places = list(jnp.indices(updates.shape))
    places[axis] = indices
    target = x.at[tuple(places)]
    return target.add(updates) if reduction == b"add" else target.set(updates)


def reduce_sum(x, axes, keepdims=1):
    return x.sum(axis=tuple(int(a) for a in np.asarray(axes)), keepdims=bool(keepdims))


OPERATORS = {
    "Add": jnp.add, "Sub": jnp.subtract, "Mul": jnp.multiply, "Div": jnp.divide, "MatMul": jnp.matmul,
    "Relu": jax.nn.relu, "Tanh": jnp.tanh, "Sigmoid": jax.nn.sigmoid, "Erf": jax.scipy.special.erf,
    "Elu": lambda x, alpha=1.0: jnp.where(x < 0, alpha * jnp.expm1(x), x),
    "LeakyRelu": lambda x, alpha=0.01: jnp.where(x < 0, alpha * x, x),
    "Identity": lambda x: x, "Clip": jnp.clip,
    "Gemm": gemm, "Conv": conv, "ConvTranspose": conv_transpose, "MaxPool": max_pool,
    "GlobalAveragePool": lambda x: x.mean(axis=tuple(range(2, x.ndim)), keepdims=True),
    "ReduceMean": lambda x, axes, keepdims=1: x.mean(axis=tuple(int(a) for a in np.asarray(axes)), keepdims=bool(keepdims)),
    "Softmax": lambda x, axis=-1: jax.nn.softmax(x, axis), "Where": jnp.where,
    "Flatten": lambda x, axis=1: x.reshape((int(np.prod(x.shape[:axis])), -1)),
    "Reshape": reshape, "Slice": slice_, "Transpose": lambda x, perm: x.transpose(perm),
    "Concat": lambda *x, axis: jnp.concatenate(x, axis), "Gather": lambda x, i, axis=0: jnp.take(x, i, axis),
    "Split": split, "ScatterElements": scatter_elements, "ReduceSum": reduce_sum, "Sqrt": jnp.sqrt, "Exp": jnp.exp,
    "LogSoftmax": lambda x, axis=-1: jax.nn.log_softmax(x, axis),
    "LayerNormalization": layer_norm, "BatchNormalization": batch_norm, "LSTM": lstm, "GRU": gru,
}


def weights_of(model):
    return {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}


def evaluate(model, values):
    """The first output; `values` by name of what is given."""
    values = {"": None, **weights_of(model), **values}
    for node in model.graph.node:
        operands = [values[name] for name in node.input if name]
        attributes = attributes_of(node)
        if node.op_type == "Split":
            attributes["parts"] = len(node.output)
        results = OPERATORS[node.op_type](*operands, **attributes)
        for name, result in zip(node.output, results if isinstance(results, tuple) else (results,)):
            values[name] = result
    return values[model.graph.output[0].name]


def loss_of(model, loss, parameters, inputs):
    scores = evaluate(model, {**inputs, **parameters})
    if loss == "mse":
        return ((scores - inputs["target"]) ** 2).mean()
    chosen = jnp.take_along_axis(jax.nn.log_softmax(scores, axis=1), jnp.expand_dims(inputs["labels"], 1), axis=1)
    return -chosen.mean()
