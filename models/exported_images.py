"""Models of images in the spelling of exporters: classifiers, detectors with their last steps, networks over latents."""

import math

import numpy
from onnx import TensorProto, numpy_helper

from exporter import BOOL, FLOAT, INT64, Exporter

HEADS, WIDTH = 4, 16
TOTAL = HEADS * WIDTH


def vit():
    """A vision transformer: patches, a class token that is expanded to the batch, positions, blocks."""
    graph = Exporter("vit")
    image = graph.input("pixel_values", FLOAT, "batch", 3, 64, 64)
    weights = graph.weight("patch.weight", TOTAL, 3, 16, 16, deviation=0.05), graph.weight("patch.bias", TOTAL)
    value = graph.node("Conv", image, *weights, kernel_shape=[16, 16], strides=[16, 16], pads=[0] * 4, dilations=[1, 1], group=1)
    shape = graph.node("Slice", graph.node("Shape", value), graph.integers(0), graph.integers(2), graph.integers(0))
    value = graph.node("Reshape", value, graph.node("Concat", shape, graph.integers(-1), axis=0))
    value = graph.node("Transpose", value, perm=[0, 2, 1])
    wanted = graph.shape_of(graph.size(image, 0), -1, -1)
    ones = graph.node("ConstantOfShape", graph.node("Shape", wanted), value=numpy_helper.from_array(numpy.ones(1, numpy.int64)))
    unknown = graph.node("Equal", wanted, graph.node("Mul", ones, graph.scalar(-1)))
    token = graph.node("Expand", graph.weight("cls_token", 1, 1, TOTAL), graph.node("Where", unknown, ones, wanted))
    value = graph.node("Concat", token, value, axis=1)
    value = graph.node("Add", value, graph.weight("position_embeddings", 1, 17, TOTAL))
    for layer in range(3):
        stem = f"encoder.layer.{layer}"
        given = graph.layer_normalization(value, f"{stem}.layernorm_before", TOTAL)
        value = graph.node("Add", graph.self_attention(given, f"{stem}.attention", HEADS, WIDTH), value)
        given = graph.layer_normalization(value, f"{stem}.layernorm_after", TOTAL)
        wide = graph.gelu(graph.linear(given, f"{stem}.intermediate", TOTAL, 4 * TOTAL))
        value = graph.node("Add", graph.linear(wide, f"{stem}.output", 4 * TOTAL, TOTAL), value)
    value = graph.layer_normalization(value, "layernorm", TOTAL)
    first = graph.node("Gather", value, graph.scalar(0), axis=1)
    head = graph.weight("classifier.weight", 10, TOTAL), graph.weight("classifier.bias", 10)
    graph.output(graph.node("Gemm", first, *head, alpha=1.0, beta=1.0, transB=1), "logits", FLOAT, "batch", 10)
    return graph.model()


def yolo_block(graph, value, stem, given, made, stride=1):
    return graph.silu(graph.convolution(value, stem, given, made, stride=stride))


def yolo_split_block(graph, value, stem, channels):
    """C2f: half of the channels goes through bottlenecks, and all stages are concatenated."""
    value = graph.silu(graph.convolution(value, f"{stem}.cv1", channels, channels, kernel=1))
    parts = graph.node("Split", value, graph.integers(channels // 2, channels // 2), outputs=2, axis=1)
    inner = yolo_block(graph, yolo_block(graph, parts[1], f"{stem}.m1", channels // 2, channels // 2), f"{stem}.m2", channels // 2, channels // 2)
    joined = graph.node("Concat", *parts, graph.node("Add", parts[1], inner), axis=1)
    return graph.silu(graph.convolution(joined, f"{stem}.cv2", channels * 3 // 2, channels, kernel=1))


def yolo_boxes(graph, value, places):
    """Distances as expectations over 16 bins, by a Softmax and a fixed convolution; then corners around the anchors."""
    shape = graph.shape_of(graph.size(value, 0), 4, 16, places)
    bins = graph.node("Transpose", graph.node("Reshape", value, shape), perm=[0, 2, 1, 3])
    weight = graph.array("dfl.conv.weight", numpy.arange(16, dtype=numpy.float32).reshape(1, 16, 1, 1))
    mean = graph.node("Conv", graph.node("Softmax", bins, axis=1), weight, kernel_shape=[1, 1], strides=[1, 1], pads=[0] * 4,
                      dilations=[1, 1], group=1)
    mean = graph.node("Reshape", mean, graph.shape_of(graph.size(mean, 0), 4, places))
    near, far = graph.node("Split", mean, graph.integers(2, 2), outputs=2, axis=1)
    side = math.isqrt(places)
    anchors = numpy.stack(numpy.meshgrid(numpy.arange(side) + 0.5, numpy.arange(side) + 0.5)).reshape(1, 2, places)
    anchors = graph.constant(anchors)
    low, high = graph.node("Sub", anchors, near), graph.node("Add", anchors, far)
    return graph.node("Mul", graph.node("Concat", low, high, axis=1), graph.constant(8.0))


def yolo_nms():
    """YOLO whose last nodes choose boxes by NonMaxSuppression, as exports for deployment do."""
    graph, classes = Exporter("yolo"), 5
    image = graph.input("images", FLOAT, "batch", 3, 64, 64)
    value = yolo_block(graph, image, "model.0", 3, 16, 2)
    value = yolo_block(graph, value, "model.1", 16, 32, 2)
    value = yolo_split_block(graph, value, "model.2", 32)
    value = yolo_block(graph, value, "model.3", 32, 32, 2)
    pooled = value
    stages = [value]
    for _ in range(3):  # SPPF
        pooled = graph.node("MaxPool", pooled, kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1], ceil_mode=0)
        stages.append(pooled)
    value = graph.silu(graph.convolution(graph.node("Concat", *stages, axis=1), "model.4", 128, 32, kernel=1))
    large = graph.node("Resize", value, "", graph.constant([1, 1, 2, 2]), mode="nearest", nearest_mode="floor",
                       coordinate_transformation_mode="asymmetric")
    value = yolo_block(graph, large, "model.5", 32, 32, 2)
    boxes = graph.convolution(value, "model.6.cv2", 32, 64, kernel=1)
    scores = graph.convolution(value, "model.6.cv3", 32, classes, kernel=1)
    joined = graph.node("Concat", boxes, scores, axis=1)
    flat = graph.node("Reshape", joined, graph.shape_of(graph.size(joined, 0), 64 + classes, -1))
    boxes, scores = graph.node("Split", flat, graph.integers(64, classes), outputs=2, axis=1)
    boxes = graph.node("Transpose", yolo_boxes(graph, boxes, 64), perm=[0, 2, 1])
    scores = graph.node("Sigmoid", scores)
    chosen = graph.node("NonMaxSuppression", boxes, scores, graph.constant([20], numpy.int64), graph.constant([0.5]),
                        graph.constant([0.3]))
    picked = graph.node("Cast", graph.node("Squeeze", graph.slice(chosen, 2, 3, 1), graph.integers(1)), to=INT64)
    first = graph.node("Squeeze", graph.slice(boxes, 0, 1, 0), graph.integers(0))
    graph.output(graph.node("Gather", first, picked, axis=0), "boxes", FLOAT, "count", 4)
    graph.output(graph.node("Cast", graph.slice(chosen, 1, 2, 1), to=TensorProto.INT32), "labels", TensorProto.INT32, "count", 1)
    return graph.model()


def unet_stage(graph, value, stem, given, made):
    for number, channels in enumerate((given, made)):
        value = graph.convolution(value, f"{stem}.conv{number}", channels, made, bias=False)
        value = graph.node("Relu", graph.batch_normalization(value, f"{stem}.norm{number}", made))
    return value


def unet():
    """U-Net for any height and width: what is enlarged is cut to the size of what is joined to it."""
    graph = Exporter("unet")
    value = graph.input("image", FLOAT, "batch", 3, "height", "width")
    kept = []
    for level, (given, made) in enumerate(((3, 8), (8, 16), (16, 32))):
        value = unet_stage(graph, value, f"down{level}", given, made)
        if level < 2:
            kept.append(value)
            value = graph.node("MaxPool", value, kernel_shape=[2, 2], strides=[2, 2], pads=[0] * 4, ceil_mode=0)
    for level, (given, made) in enumerate(((32, 16), (16, 8))):
        weights = graph.weight(f"up{level}.weight", given, made, 2, 2), graph.weight(f"up{level}.bias", made)
        value = graph.node("ConvTranspose", value, *weights, kernel_shape=[2, 2], strides=[2, 2], pads=[0] * 4, dilations=[1, 1], group=1)
        other = kept.pop()
        missing = []
        for axis in (2, 3):
            gap = graph.node("Sub", graph.size(other, axis), graph.size(value, axis))
            half = graph.node("Div", gap, graph.scalar(2))
            missing.append((half, graph.node("Sub", gap, half)))
        pads = graph.shape_of(0, 0, missing[0][0], missing[1][0], 0, 0, missing[0][1], missing[1][1])
        value = graph.node("Pad", value, pads, graph.constant(0.0), mode="constant")
        value = unet_stage(graph, graph.node("Concat", other, value, axis=1), f"decode{level}", given, made)
    graph.output(graph.node("Sigmoid", graph.convolution(value, "head", 8, 1, kernel=1)), "mask", FLOAT, "batch", 1, "height", "width")
    return graph.model()


def quantized_convolution(graph, value, stem, given, made, stride=1, activation=True):
    """Q and DQ around everything: activations by tensor, weights by channel."""
    steps = graph.random(stem).integers(-100, 100, (made, given, 3, 3), numpy.int8)
    scales = graph.array(f"{stem}.weight_scale", ((0.5 + graph.random(f"{stem}.scales").random(made)) / (60 * math.sqrt(9 * given))).astype(numpy.float32))
    weight = graph.node("DequantizeLinear", graph.array(f"{stem}.weight_quantized", steps), scales,
                        graph.array(f"{stem}.weight_zero_point", numpy.zeros(made, numpy.int8)), axis=0)
    result = graph.node("Conv", value, weight, graph.weight(f"{stem}.bias", made, deviation=0.1), kernel_shape=[3, 3],
                        strides=[stride, stride], pads=[1] * 4, dilations=[1, 1], group=1)
    return quantized(graph, graph.node("Relu", result) if activation else result, 0.04 if activation else 0.05)


def quantized(graph, value, scale):
    parts = graph.constant(scale), graph.constant(0, numpy.int8)
    return graph.node("DequantizeLinear", graph.node("QuantizeLinear", value, *parts), *parts)


def resnet_qdq():
    """A ResNet quantized ahead of time, as QDQ."""
    graph = Exporter("resnet_qdq")
    value = quantized(graph, graph.input("input", FLOAT, "batch", 3, 32, 32), 0.03)
    value = quantized_convolution(graph, value, "conv1", 3, 16)
    for number, (given, made, stride) in enumerate(((16, 16, 1), (16, 32, 2), (32, 32, 1))):
        inner = quantized_convolution(graph, value, f"layer{number}.conv1", given, made, stride)
        inner = quantized_convolution(graph, inner, f"layer{number}.conv2", made, made, activation=False)
        side = value if given == made else quantized_convolution(graph, value, f"layer{number}.downsample", given, made, stride, False)
        value = quantized(graph, graph.node("Relu", graph.node("Add", inner, side)), 0.04)
    value = quantized(graph, graph.node("GlobalAveragePool", value), 0.02)
    value = graph.node("Flatten", value, axis=1)
    steps = graph.random("fc").integers(-100, 100, (10, 32), numpy.int8)
    weight = graph.node("DequantizeLinear", graph.array("fc.weight_quantized", steps), graph.constant(0.004), graph.constant(0, numpy.int8))
    result = graph.node("Gemm", value, weight, graph.weight("fc.bias", 10), transB=1)
    graph.output(quantized(graph, result, 0.02), "logits", FLOAT, "batch", 10)
    return graph.model()


def kept_box(graph, boxes, scores):
    """The body of the loop: the best box that is left, and what does not overlap it much."""
    body = graph.body("loop")
    for name, kind, shape in (("i", INT64, []), ("go_on", BOOL, []), ("left", FLOAT, ["places"])):
        body.input(name, kind, *shape)
    best = body.node("ArgMax", "left", axis=0, keepdims=0)
    box = body.node("Gather", boxes, best, axis=0)
    low = body.node("Max", body.slice(boxes, 0, 2, 1), body.slice(box, 0, 2, 0))
    high = body.node("Min", body.slice(boxes, 2, 4, 1), body.slice(box, 2, 4, 0))
    sides = body.node("Relu", body.node("Sub", high, low))
    common = body.node("ReduceProd", sides, axes=[1], keepdims=0)
    extent = body.node("Sub", body.slice(boxes, 2, 4, 1), body.slice(boxes, 0, 2, 1))
    area = body.node("ReduceProd", extent, axes=[1], keepdims=0)
    own = body.node("Gather", area, best, axis=0)
    ratio = body.node("Div", common, body.node("Add", body.node("Sub", body.node("Add", area, own), common), body.constant(1e-6)))
    apart = body.node("Less", ratio, body.constant(0.5))
    left = body.node("Mul", "left", body.node("Cast", apart, to=FLOAT))
    score = body.node("Gather", scores, best, axis=0)
    rest = body.node("ReduceMax", left, axes=[0], keepdims=0)
    body.output(body.node("Greater", rest, body.constant(0.0)), "goes_on", BOOL)
    body.output(left, "still_left", FLOAT, "places")
    body.output(box, "one_box", FLOAT, 4)
    body.output(score, "one_score", FLOAT)
    return body.graph()


def detection_loop():
    """A detector whose suppression is a Loop, as scripted PyTorch exports it, and an If for a picture without any box."""
    graph, places = Exporter("detector"), 64
    image = graph.input("image", FLOAT, 1, 3, 32, 32)
    value = graph.node("LeakyRelu", graph.convolution(image, "backbone.0", 3, 16, stride=2), alpha=0.1)
    value = graph.node("LeakyRelu", graph.convolution(value, "backbone.1", 16, 32, stride=2), alpha=0.1)
    joined = graph.convolution(value, "head", 32, 5, kernel=1)
    flat = graph.node("Reshape", graph.node("Transpose", joined, perm=[0, 2, 3, 1]), graph.shape_of(-1, 5))
    scores = graph.node("Squeeze", graph.node("Sigmoid", graph.slice(flat, 4, 5, 1)), graph.integers(1))
    grid = numpy.stack(numpy.meshgrid(numpy.arange(8), numpy.arange(8)), -1).reshape(places, 2)
    middle = graph.node("Add", graph.node("Tanh", graph.slice(flat, 0, 2, 1)), graph.constant(grid))
    half = graph.node("Exp", graph.node("Clip", graph.slice(flat, 2, 4, 1), graph.constant(-2.0), graph.constant(2.0)))
    boxes = graph.node("Concat", graph.node("Sub", middle, half), graph.node("Add", middle, half), axis=1)
    body = kept_box(graph, boxes, scores)
    _, kept, kept_scores = graph.node("Loop", graph.constant(10, numpy.int64), graph.constant(True, bool), scores, outputs=3, body=body)
    some = graph.node("Greater", graph.size(kept, 0), graph.scalar(0))
    full, empty = graph.body("then"), graph.body("else")
    full.output(full.node("Mul", kept, full.constant(4.0)), "scaled", FLOAT, "kept", 4)
    none = empty.node("ConstantOfShape", empty.integers(0, 4), value=numpy_helper.from_array(numpy.zeros(1, numpy.float32)))
    empty.output(none, "none", FLOAT, 0, 4)
    graph.output(graph.node("If", some, then_branch=full.graph(), else_branch=empty.graph()), "boxes", FLOAT, "kept", 4)
    graph.output(kept_scores, "scores", FLOAT, "kept")
    return graph.model()


def residual_block(graph, value, embedding, stem, channels):
    inner = graph.convolution(graph.silu(graph.group_normalization(value, f"{stem}.norm1", channels, 8)), f"{stem}.conv1", channels, channels)
    shift = graph.linear(graph.silu(embedding), f"{stem}.time_emb_proj", 4 * channels, channels)
    shift = graph.node("Unsqueeze", graph.node("Unsqueeze", shift, graph.integers(2)), graph.integers(3))
    inner = graph.group_normalization(graph.node("Add", inner, shift), f"{stem}.norm2", channels, 8)
    inner = graph.convolution(graph.silu(inner), f"{stem}.conv2", channels, channels)
    return graph.node("Div", graph.node("Add", value, inner), graph.constant(1.0))


def spatial_transformer(graph, value, context, stem, channels):
    """Attention over places, and to a context; a GEGLU after it."""
    rows, columns = graph.size(value, 2), graph.size(value, 3)
    inner = graph.convolution(graph.group_normalization(value, f"{stem}.norm", channels, 8), f"{stem}.proj_in", channels, channels, kernel=1)
    inner = graph.node("Transpose", inner, perm=[0, 2, 3, 1])
    inner = graph.reshape(inner, graph.size(inner, 0), graph.node("Mul", rows, columns), channels)
    for number, other in enumerate((None, context)):
        given = graph.layer_normalization(inner, f"{stem}.norm{number}", channels)
        query = graph.heads(graph.linear(given, f"{stem}.attn{number}.to_q", channels, channels, bias=False), HEADS, channels // HEADS)
        parts = [graph.heads(graph.linear(other or given, f"{stem}.attn{number}.{part}", channels, channels, bias=False), HEADS,
                             channels // HEADS) for part in ("to_k", "to_v")]
        mixed = graph.merged(graph.attention(query, *parts, channels // HEADS), HEADS, channels // HEADS)
        inner = graph.node("Add", graph.linear(mixed, f"{stem}.attn{number}.to_out", channels, channels), inner)
    wide = graph.linear(graph.layer_normalization(inner, f"{stem}.norm3", channels), f"{stem}.ff.proj", channels, 8 * channels)
    half = graph.node("Div", graph.node("Add", graph.size(wide, 2), graph.scalar(1)), graph.scalar(2))
    parts = graph.slice(wide, 0, half, 2), graph.slice(wide, half, graph.node("Mul", half, graph.scalar(2)), 2)
    gated = graph.node("Mul", parts[0], graph.gelu(parts[1]))
    inner = graph.node("Add", graph.linear(gated, f"{stem}.ff.out", 4 * channels, channels), inner)
    inner = graph.node("Transpose", graph.reshape(inner, graph.size(inner, 0), rows, columns, channels), perm=[0, 3, 1, 2])
    return graph.node("Add", graph.convolution(inner, f"{stem}.proj_out", channels, channels, kernel=1), value)


def diffusion_block():
    """A block of the network of a diffusion model: a time, a context, latents of any size."""
    graph, channels = Exporter("diffusion"), 32
    latent = graph.input("sample", FLOAT, "batch", 4, "height", "width")
    moment = graph.input("timestep", FLOAT, "batch")
    context = graph.input("encoder_hidden_states", FLOAT, "batch", "length", channels)
    frequencies = numpy.exp(-math.log(10000) * numpy.arange(16) / 16)
    angles = graph.node("Mul", graph.node("Unsqueeze", moment, graph.integers(1)), graph.constant(frequencies[None]))
    embedding = graph.node("Concat", graph.node("Sin", angles), graph.node("Cos", angles), axis=-1)
    embedding = graph.node("Concat", graph.slice(embedding, 16, 2**31, 1), graph.slice(embedding, 0, 16, 1), axis=-1)
    embedding = graph.linear(embedding, "time_embedding.linear_1", 32, 4 * channels)
    embedding = graph.linear(graph.silu(embedding), "time_embedding.linear_2", 4 * channels, 4 * channels)
    value = graph.convolution(latent, "conv_in", 4, channels)
    for number in range(2):
        value = residual_block(graph, value, embedding, f"resnets.{number}", channels)
        value = spatial_transformer(graph, value, context, f"attentions.{number}", channels)
    value = graph.silu(graph.group_normalization(value, "conv_norm_out", channels, 8))
    graph.output(graph.convolution(value, "conv_out", channels, 4), "out_sample", FLOAT, "batch", 4, "height", "width")
    return graph.model()
