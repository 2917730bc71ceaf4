"""Models of sequences in the spelling of exporters: a decoder with its cache, encoders, and recurrent layers."""

import numpy
from onnx import TensorProto

from exporter import FLOAT, INT64, Exporter

HEADS, WIDTH, VOCABULARY = 4, 16, 200
TOTAL = HEADS * WIDTH


def causal_mask(graph, length, past):
    """A window of a table of booleans, as GPT-2 has it, and a number for what is hidden."""
    table = graph.array("transformer.attn.bias", numpy.tril(numpy.ones((1, 1, 128, 128), bool)))
    end = graph.node("Add", past, length)
    rows = graph.slice(table, past, end, 2)
    return graph.slice(rows, 0, end, 3)


def cached_attention(graph, value, past_key, past_value, stem, seen):
    joined = graph.linear(value, f"{stem}.c_attn", TOTAL, 3 * TOTAL)
    parts = graph.node("Split", joined, graph.integers(TOTAL, TOTAL, TOTAL), outputs=3, axis=2)
    query, key, content = (graph.heads(part, HEADS, WIDTH) for part in parts)
    key = graph.node("Concat", past_key, key, axis=2)
    content = graph.node("Concat", past_value, content, axis=2)
    scores = graph.node("MatMul", query, graph.node("Transpose", key, perm=[0, 1, 3, 2]))
    scores = graph.node("Div", scores, graph.node("Pow", graph.constant(float(WIDTH)), graph.constant(0.5)))
    scores = graph.node("Where", seen, scores, graph.constant(numpy.finfo(numpy.float32).min))
    mixed = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), content)
    return graph.linear(graph.merged(mixed, HEADS, WIDTH), f"{stem}.c_proj", TOTAL, TOTAL), key, content


def gpt2_cache():
    """GPT-2 with a cache of keys and values; batch, tokens and tokens before are dynamic."""
    graph, layers = Exporter("gpt2"), 3
    tokens = graph.input("input_ids", INT64, "batch_size", "sequence_length")
    past = [[graph.input(f"past_key_values.{layer}.{part}", FLOAT, "batch_size", HEADS, "past_sequence_length", WIDTH)
             for part in ("key", "value")] for layer in range(layers)]
    length, before = graph.size(tokens, 1), graph.size(past[0][0], 2)
    tokens = graph.reshape(tokens, -1, length)
    positions = graph.node("Range", before, graph.node("Add", length, before), graph.scalar(1))
    positions = graph.node("Unsqueeze", graph.node("Cast", positions, to=INT64), graph.integers(0))
    words = graph.node("Gather", graph.weight("transformer.wte.weight", VOCABULARY, TOTAL, deviation=0.5), tokens)
    places = graph.node("Gather", graph.weight("transformer.wpe.weight", 128, TOTAL, deviation=0.5), positions)
    value = graph.node("Add", words, places)
    seen = causal_mask(graph, length, before)
    for layer, (past_key, past_value) in enumerate(past):
        stem = f"transformer.h.{layer}"
        given = graph.layer_normalization(value, f"{stem}.ln_1", TOTAL)
        mixed, key, content = cached_attention(graph, given, past_key, past_value, f"{stem}.attn", seen)
        for part, kept in (("key", key), ("value", content)):
            graph.output(kept, f"present.{layer}.{part}", FLOAT, "batch_size", HEADS, "total_length", WIDTH)
        value = graph.node("Add", mixed, value)
        given = graph.layer_normalization(value, f"{stem}.ln_2", TOTAL)
        wide = graph.tanh_gelu(graph.linear(given, f"{stem}.mlp.c_fc", TOTAL, 4 * TOTAL))
        value = graph.node("Add", value, graph.linear(wide, f"{stem}.mlp.c_proj", 4 * TOTAL, TOTAL))
    value = graph.layer_normalization(value, "transformer.ln_f", TOTAL)
    graph.output(graph.linear(value, "lm_head", TOTAL, VOCABULARY, bias=False), "logits", FLOAT, "batch_size", "sequence_length",
                 VOCABULARY)
    return graph.model()


def encoder_fp16():
    """A BERT in f16 with an attention mask, which is a number of f16 where a token is hidden; inputs and logits are not."""
    graph = Exporter("bert")
    graph.dtype = numpy.float16
    tokens = graph.input("input_ids", INT64, "batch", "sequence")
    shown = graph.input("attention_mask", INT64, "batch", "sequence")
    mask = graph.node("Unsqueeze", graph.node("Unsqueeze", shown, graph.integers(1)), graph.integers(2))
    mask = graph.node("Sub", graph.constant(1.0), graph.node("Cast", mask, to=TensorProto.FLOAT16))
    mask = graph.node("Mul", mask, graph.constant(-10000.0))
    positions = graph.slice(graph.array("embeddings.position_ids", numpy.arange(128, dtype=numpy.int64).reshape(1, 128)), 0,
                            graph.size(tokens, 1), 1)
    value = graph.node("Gather", graph.weight("embeddings.word.weight", VOCABULARY, TOTAL, deviation=0.5), tokens)
    value = graph.node("Add", value, graph.node("Gather", graph.weight("embeddings.position.weight", 128, TOTAL), positions))
    value = graph.layer_normalization(value, "embeddings.LayerNorm", TOTAL)
    for layer in range(3):
        stem = f"encoder.layer.{layer}"
        mixed = graph.self_attention(value, f"{stem}.attention", HEADS, WIDTH, mask)
        value = graph.layer_normalization(graph.node("Add", mixed, value), f"{stem}.attention.LayerNorm", TOTAL)
        wide = graph.gelu(graph.linear(value, f"{stem}.intermediate", TOTAL, 4 * TOTAL))
        narrow = graph.linear(wide, f"{stem}.output", 4 * TOTAL, TOTAL)
        value = graph.layer_normalization(graph.node("Add", narrow, value), f"{stem}.output.LayerNorm", TOTAL)
    first = graph.node("Gather", value, graph.scalar(0), axis=1)
    pooled = graph.node("Tanh", graph.linear(first, "pooler.dense", TOTAL, TOTAL))
    logits = graph.node("Cast", graph.linear(pooled, "classifier", TOTAL, 3), to=FLOAT)
    graph.output(logits, "logits", FLOAT, "batch", 3)
    return graph.model()


def quantized_linear(graph, value, stem, rows, columns):
    """As ONNX Runtime's dynamic quantization writes it: the value is quantized where it is used."""
    weight = numpy.random.default_rng(len(graph.initializers)).integers(-90, 90, (rows, columns), numpy.int8)
    given, scale, zero = graph.node("DynamicQuantizeLinear", value, outputs=3)
    product = graph.node("MatMulInteger", given, graph.array(f"{stem}.weight_quantized", weight), zero,
                         graph.array(f"{stem}.weight_zero_point", numpy.int8(0)))
    by = graph.node("Mul", scale, graph.array(f"{stem}.weight_scale", numpy.float32(1 / (50 * rows ** 0.5))))
    result = graph.node("Mul", graph.node("Cast", product, to=FLOAT), by)
    return graph.node("Add", result, graph.weight(f"{stem}.bias", columns, deviation=0.02))


def whisper_encoder_int8():
    """The encoder of Whisper, quantized dynamically: two convolutions over a spectrogram, positions, attention."""
    graph, bands = Exporter("whisper_encoder"), 20
    features = graph.input("input_features", FLOAT, "batch", bands, 64)
    value = features
    for number, (given, stride) in enumerate(((bands, 1), (TOTAL, 2))):
        weights = (graph.weight(f"conv{number}.weight", TOTAL, given, 3, deviation=(3 * given) ** -0.5), graph.weight(f"conv{number}.bias", TOTAL))
        value = graph.gelu(graph.node("Conv", value, *weights, kernel_shape=[3], pads=[1, 1], strides=[stride], dilations=[1], group=1))
    value = graph.node("Transpose", value, perm=[0, 2, 1])
    value = graph.node("Add", value, graph.weight("embed_positions.weight", 32, TOTAL))
    for layer in range(2):
        stem = f"layers.{layer}"
        given = graph.layer_normalization(value, f"{stem}.self_attn_layer_norm", TOTAL)
        query = graph.node("Mul", quantized_linear(graph, given, f"{stem}.q_proj", TOTAL, TOTAL), graph.constant(WIDTH ** -0.5))
        key, content = (quantized_linear(graph, given, f"{stem}.{part}", TOTAL, TOTAL) for part in ("k_proj", "v_proj"))
        flat = [graph.reshape(graph.heads(part, HEADS, WIDTH), graph.node("Mul", graph.size(part, 0), graph.scalar(HEADS)), -1, WIDTH)
                for part in (query, key, content)]
        scores = graph.node("MatMul", flat[0], graph.node("Transpose", flat[1], perm=[0, 2, 1]))
        mixed = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), flat[2])
        mixed = graph.reshape(mixed, graph.size(given, 0), HEADS, graph.size(given, 1), WIDTH)
        mixed = graph.merged(mixed, HEADS, WIDTH)
        value = graph.node("Add", value, quantized_linear(graph, mixed, f"{stem}.out_proj", TOTAL, TOTAL))
        given = graph.layer_normalization(value, f"{stem}.final_layer_norm", TOTAL)
        wide = graph.gelu(quantized_linear(graph, given, f"{stem}.fc1", TOTAL, 4 * TOTAL))
        value = graph.node("Add", value, quantized_linear(graph, wide, f"{stem}.fc2", 4 * TOTAL, TOTAL))
    graph.output(graph.layer_normalization(value, "layer_norm", TOTAL), "last_hidden_state", FLOAT, "batch", 32, TOTAL)
    return graph.model()


def recurrent(graph, op, value, stem, given, hidden, gates):
    """Both directions, from states of zeros whose sizes are read from the value [steps, batch, features]."""
    state = graph.node("Expand", graph.constant(numpy.zeros((2, 1, hidden))), graph.shape_of(2, graph.size(value, 1), hidden))
    weights = [graph.weight(f"{stem}.{part}", 2, gates * hidden, width, deviation=0.2) for part, width in
               (("weight_ih", given), ("weight_hh", hidden))]
    bias = graph.weight(f"{stem}.bias", 2, 2 * gates * hidden, deviation=0.1)
    states = [state, graph.node("Identity", state)] if op == "LSTM" else [state]
    more = {"linear_before_reset": 1} if op == "GRU" else {}
    result, *last = graph.node(op, value, *weights, bias, "", *states, outputs=1 + len(states), direction="bidirectional",
                               hidden_size=hidden, **more)
    turned = graph.node("Transpose", result, perm=[0, 2, 1, 3])
    return graph.node("Reshape", turned, graph.integers(0, 0, -1)), last[0]


def gru_lstm_dynamic():
    """Layers of LSTM and GRU over a dynamic number of steps, the batch first outside, with a last state."""
    graph, features, hidden = Exporter("tagger"), 24, 16
    value = graph.input("features", FLOAT, "batch", "time", features)
    value = graph.node("Transpose", value, perm=[1, 0, 2])
    value, _ = recurrent(graph, "LSTM", value, "lstm", features, hidden, 4)
    value = graph.node("Dropout", value)
    value, last = recurrent(graph, "GRU", value, "gru", 2 * hidden, hidden, 3)
    value = graph.node("Transpose", value, perm=[1, 0, 2])
    flat = graph.reshape(value, graph.node("Mul", graph.size(value, 0), graph.size(value, 1)), 2 * hidden)
    logits = graph.node("Gemm", flat, graph.weight("head.weight", 9, 2 * hidden), graph.weight("head.bias", 9), transB=1)
    logits = graph.reshape(logits, graph.size(value, 0), graph.size(value, 1), 9)
    graph.output(graph.node("LogSoftmax", logits, axis=2), "tags", FLOAT, "batch", "time", 9)
    ends = graph.node("Split", last, graph.integers(1, 1), outputs=2, axis=0)
    ends = [graph.node("Squeeze", end, graph.integers(0)) for end in ends]
    graph.output(graph.node("Concat", *ends, axis=-1), "state", FLOAT, "batch", 2 * hidden)
    return graph.model()

