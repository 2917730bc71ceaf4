"""Convolutional models at their published sizes, with random weights."""

import math

from builder import Builder


def normalized(builder, value, channels_in, channels_out, kernel, name, *, epsilon=1e-5, scale=1.0, **arguments):
    """Conv without bias, then BatchNormalization."""
    value = builder.convolution(value, channels_in, channels_out, kernel, name, bias=False, **arguments)
    return builder.batch_normalization(value, channels_out, f"{name}_norm", epsilon=epsilon, scale=scale)


def classifier(builder, value, channels, classes=1000, batch=1):
    value = builder.node("GlobalAveragePool", value)
    value = builder.node("Flatten", value, axis=1)
    builder.output(builder.dense(value, channels, classes, "classifier"), "logits", [batch, classes])


def vgg19(options):
    """VGG-19 (Simonyan and Zisserman, 2015, configuration E), 224x224, 143.7 M parameters."""
    builder = Builder("vgg19", options.seed)
    value = builder.input("image", [1, 3, 224, 224])
    channels = 3
    for stage, (width, depth) in enumerate([(64, 2), (128, 2), (256, 4), (512, 4), (512, 4)], start=1):
        for layer in range(1, depth + 1):
            value = builder.convolution(value, channels, width, 3, f"conv{stage}_{layer}", padding=1)
            value = builder.relu(value)
            channels = width
        value = builder.pool("MaxPool", value, 2, 2)
    value = builder.node("Flatten", value, axis=1)
    # Max pooling enlarges the second moment: the first dense layer takes it back.
    value = builder.relu(builder.dense(value, 512 * 7 * 7, 4096, "dense1", gain=0.3))
    value = builder.relu(builder.dense(value, 4096, 4096, "dense2", gain=math.sqrt(2)))
    builder.output(builder.dense(value, 4096, 1000, "dense3"), "logits", [1, 1000])
    return builder.finish(vgg19.__doc__)


def squeezenet1_1(options):
    """SqueezeNet 1.1 (Iandola et al., 2016; release 1.1), 224x224, 1.24 M parameters."""
    builder = Builder("squeezenet1_1", options.seed)
    value = builder.input("image", [1, 3, 224, 224])
    value = builder.relu(builder.convolution(value, 3, 64, 3, "conv1", stride=2))
    value = builder.pool("MaxPool", value, 3, 2, ceil_mode=1)
    channels = 64
    fires = [(16, 64), (16, 64), None, (32, 128), (32, 128), None, (48, 192), (48, 192), (64, 256), (64, 256)]
    for index, fire in enumerate(fires, start=2):
        if fire is None:
            value = builder.pool("MaxPool", value, 3, 2, ceil_mode=1)
            continue
        squeeze, expand = fire
        name = f"fire{index}"
        narrow = builder.relu(builder.convolution(value, channels, squeeze, 1, f"{name}_squeeze", gain=1.2))
        single = builder.relu(builder.convolution(narrow, squeeze, expand, 1, f"{name}_expand1x1"))
        three = builder.relu(builder.convolution(narrow, squeeze, expand, 3, f"{name}_expand3x3", padding=1))
        value = builder.node("Concat", single, three, axis=1)
        channels = 2 * expand
    value = builder.relu(builder.convolution(value, channels, 1000, 1, "classifier"))
    value = builder.node("Flatten", builder.node("GlobalAveragePool", value), axis=1)
    builder.output(value, "logits", [1, 1000])
    return builder.finish(squeezenet1_1.__doc__)


def alexnet(options, width=64, image=224):
    """AlexNet (Krizhevsky, 2014, in one piece), 224x224, 61.1 M parameters."""
    builder = Builder("alexnet", options.seed)
    value = builder.input("image", [options.batch, 3, image, image])
    channels, size = 3, image
    # Channels, kernel, stride, padding, and whether a pool follows.
    layers = [(width, 11, 4, 2, True), (3 * width, 5, 1, 2, True), (6 * width, 3, 1, 1, False),
              (4 * width, 3, 1, 1, False), (4 * width, 3, 1, 1, True)]
    for index, (filters, kernel, stride, padding, pools) in enumerate(layers, start=1):
        value = builder.relu(builder.convolution(value, channels, filters, kernel, f"conv{index}", stride=stride, padding=padding))
        channels, size = filters, (size + 2 * padding - kernel) // stride + 1
        if pools:
            value = builder.pool("MaxPool", value, 3, 2)
            size = (size - 3) // 2 + 1
    value = builder.node("Flatten", value, axis=1)
    value = builder.relu(builder.dense(value, channels * size * size, 64 * width, "dense1", gain=0.5))
    value = builder.relu(builder.dense(value, 64 * width, 64 * width, "dense2", gain=math.sqrt(2)))
    builder.output(builder.dense(value, 64 * width, 1000, "dense3"), "logits", [options.batch, 1000])
    return builder.finish(alexnet.__doc__)


def dcgan_generator(options, width=64):
    """The generator of DCGAN (Radford et al., 2016): 100 random numbers become an image of 64x64, 12.7 M parameters."""
    builder = Builder("dcgan_generator", options.seed)
    value = builder.input("noise", [options.batch, 100, 1, 1])
    channels = 100
    for layer, filters in enumerate([16 * width, 8 * width, 4 * width, 2 * width, 3], start=1):
        stride, padding = (1, 0) if layer == 1 else (2, 1)
        weight = builder.normal(f"layer{layer}_weight", (channels, filters, 4, 4), math.sqrt(2 / (4 * channels)))
        value = builder.node("ConvTranspose", value, weight, name=f"layer{layer}", kernel_shape=[4, 4], strides=[stride, stride],
                             pads=[padding] * 4)
        if layer < 5:
            value = builder.relu(builder.batch_normalization(value, filters, f"layer{layer}_norm"))
        channels = filters
    builder.output(builder.node("Tanh", value), "image", [options.batch, 3, 64, 64])
    return builder.finish(dcgan_generator.__doc__)


def resnext50_32x4d(options):
    """ResNeXt-50 32x4d (Xie et al., 2017), 224x224, 25.0 M parameters."""
    builder = Builder("resnext50_32x4d", options.seed)
    value = builder.input("image", [options.batch, 3, 224, 224])
    value = builder.relu(normalized(builder, value, 3, 64, 7, "stem", stride=2, padding=3))
    value = builder.pool("MaxPool", value, 3, 2, 1)
    channels = 64
    for stage, depth in enumerate([3, 4, 6, 3], start=1):
        width = 64 * 2**stage
        for block in range(depth):
            stride = 2 if block == 0 and stage > 1 else 1
            value = resnext_block(builder, value, channels, width, stride, f"stage{stage}_{block}")
            channels = 2 * width
    classifier(builder, value, channels, batch=options.batch)
    return builder.finish(resnext50_32x4d.__doc__)


def resnext_block(builder, value, channels, width, stride, name):
    """Bottleneck with a 3x3 convolution of 32 groups; a projected shortcut where the shape changes."""
    branch = builder.relu(normalized(builder, value, channels, width, 1, f"{name}_reduce"))
    branch = builder.relu(normalized(builder, branch, width, width, 3, f"{name}_group", stride=stride, padding=1,
                                     groups=32))
    # Small last scales keep the sum of sixteen residual branches of order one.
    branch = normalized(builder, branch, width, 2 * width, 1, f"{name}_expand", scale=0.3)
    if stride != 1 or channels != 2 * width:
        value = normalized(builder, value, channels, 2 * width, 1, f"{name}_shortcut", stride=stride, gain=1.0)
    return builder.relu(builder.node("Add", branch, value))


def resnet101(options, depths=(3, 4, 23, 3), image=224):
    """ResNet-101 (He et al., 2016; strides in the 3x3 convolutions, as torchvision has them), 224x224, 44.5 M parameters."""
    builder = Builder("resnet101", options.seed)
    value = builder.input("image", [options.batch, 3, image, image])
    value = builder.relu(normalized(builder, value, 3, 64, 7, "stem", stride=2, padding=3))
    value = builder.pool("MaxPool", value, 3, 2, 1)
    channels = 64
    for stage, depth in enumerate(depths):
        width = 64 * 2**stage
        for block in range(depth):
            stride = 2 if block == 0 and stage > 0 else 1
            value = bottleneck_block(builder, value, channels, width, stride, f"stage{stage}_{block}")
            channels = 4 * width
    classifier(builder, value, channels, batch=options.batch)
    return builder.finish(resnet101.__doc__)


def bottleneck_block(builder, value, channels, width, stride, name):
    """Convolutions of 1x1, 3x3 and 1x1; a projected shortcut where the shape changes."""
    branch = builder.relu(normalized(builder, value, channels, width, 1, f"{name}_reduce"))
    branch = builder.relu(normalized(builder, branch, width, width, 3, f"{name}_middle", stride=stride, padding=1))
    branch = normalized(builder, branch, width, 4 * width, 1, f"{name}_expand", scale=0.2)
    if stride != 1 or channels != 4 * width:
        value = normalized(builder, value, channels, 4 * width, 1, f"{name}_shortcut", stride=stride, gain=1.0)
    return builder.relu(builder.node("Add", branch, value))


def resnet_block(options):
    """The block of ResNet with which TASO (Jia et al., 2019) begins: two 3x3 convolutions beside one of 1x1, 64 channels of
    14x14."""
    builder, side, channels = Builder("resnet_block", options.seed), 14 * options.scale, 64
    image = builder.input("image", [options.batch, channels, side, side])
    value = builder.relu(builder.convolution(image, channels, channels, 3, "first", padding=1, bias=False))
    value = builder.convolution(value, channels, channels, 3, "second", padding=1, bias=False)
    beside = builder.convolution(image, channels, channels, 1, "beside", bias=False)
    builder.output(builder.relu(builder.node("Add", value, beside)), "sum", [options.batch, channels, side, side])
    return builder.finish(resnet_block.__doc__)


def resnet18(options):
    """ResNet-18 (He et al., 2016), 224x224, 11.7 M parameters."""
    builder = Builder("resnet18", options.seed)
    value = builder.input("image", [options.batch, 3, 224 * options.scale, 224 * options.scale])
    value = builder.relu(normalized(builder, value, 3, 64, 7, "stem", stride=2, padding=3))
    value = builder.pool("MaxPool", value, 3, 2, 1)
    channels = 64
    for stage, width in enumerate([64, 128, 256, 512]):
        for block in range(2):
            stride = 2 if block == 0 and stage > 0 else 1
            value = basic_block(builder, value, channels, width, stride, f"stage{stage}_{block}")
            channels = width
    classifier(builder, value, channels, batch=options.batch)
    return builder.finish(resnet18.__doc__)


def basic_block(builder, value, channels, width, stride, name, axes=2):
    """Two convolutions of 3 along each axis; a projected shortcut where the shape changes."""
    kernel, padding = (3,) * axes, (1,) * axes
    branch = builder.relu(normalized(builder, value, channels, width, kernel, f"{name}_a", stride=(stride,) * axes, padding=padding))
    branch = normalized(builder, branch, width, width, kernel, f"{name}_b", padding=padding, scale=0.3)
    if stride != 1 or channels != width:
        value = normalized(builder, value, channels, width, (1,) * axes, f"{name}_shortcut", stride=(stride,) * axes,
                           padding=(0,) * axes, gain=1.0)
    return builder.relu(builder.node("Add", branch, value))


def resnet18_3d(options):
    """ResNet-18 for videos (Hara et al., 2018; layer sizes of torchvision's r3d_18), 16 frames of 112x112, 33.4 M
    parameters."""
    builder = Builder("resnet18_3d", options.seed)
    value = builder.input("frames", [options.batch, 3, *(size * options.scale for size in (16, 112, 112))])
    value = builder.relu(normalized(builder, value, 3, 64, (3, 7, 7), "stem", stride=(1, 2, 2), padding=(1, 3, 3)))
    channels = 64
    for stage, width in enumerate([64, 128, 256, 512]):
        for block in range(2):
            stride = 2 if block == 0 and stage > 0 else 1
            value = basic_block(builder, value, channels, width, stride, f"stage{stage}_{block}", axes=3)
            channels = width
    classifier(builder, value, channels, classes=400, batch=options.batch)
    return builder.finish(resnet18_3d.__doc__)


def csrnet_dilated(options):
    """The dilated back end of CSRNet (Li et al., 2018, configuration B): six 3x3 convolutions of dilation 2 and the one
    that makes the map, on the 28x28 features of an image of 224x224; 8.6 M parameters."""
    builder = Builder("csrnet_dilated", options.seed)
    side = 28 * options.scale
    value = builder.input("features", [options.batch, 512, side, side])
    channels = 512
    for index, width in enumerate([512, 512, 512, 256, 128, 64]):
        value = builder.relu(builder.convolution(value, channels, width, 3, f"dilated_{index}", padding=2, dilation=2))
        channels = width
    builder.output(builder.convolution(value, channels, 1, 1, "map"), "density", [options.batch, 1, side, side])
    return builder.finish(csrnet_dilated.__doc__)


class Inception:
    """The blocks of Inception-v3, each Conv + BatchNormalization + Relu; names follow the paper's figures 5-7."""

    def __init__(self, builder):
        self.builder = builder

    def unit(self, value, channels_in, channels_out, kernel, name, **arguments):
        return self.builder.relu(
            normalized(self.builder, value, channels_in, channels_out, kernel, name, epsilon=1e-3, **arguments))

    def chain(self, value, channels, name, *layers):
        """Units in a row, each given as (channels, kernel[, arguments])."""
        for index, (width, kernel, *arguments) in enumerate(layers):
            value = self.unit(value, channels, width, kernel, f"{name}_{index}", **(arguments[0] if arguments else {}))
            channels = width
        return value

    def average(self, value):
        return self.builder.pool("AveragePool", value, 3, 1, 1, count_include_pad=1)

    def join(self, *values):
        return self.builder.node("Concat", *values, axis=1)

    def block_5x5(self, value, channels, pooled, name):
        single = self.chain(value, channels, f"{name}_1x1", (64, 1))
        five = self.chain(value, channels, f"{name}_5x5", (48, 1), (64, 5, {"padding": 2}))
        three = self.chain(value, channels, f"{name}_3x3", (64, 1), (96, 3, {"padding": 1}), (96, 3, {"padding": 1}))
        pool = self.chain(self.average(value), channels, f"{name}_pool", (pooled, 1))
        return self.join(single, five, three, pool)

    def reduce_35(self, value, channels, name):
        three = self.chain(value, channels, f"{name}_3x3", (384, 3, {"stride": 2}))
        double = self.chain(value, channels, f"{name}_double", (64, 1), (96, 3, {"padding": 1}), (96, 3, {"stride": 2}))
        return self.join(three, double, self.builder.pool("MaxPool", value, 3, 2))

    def block_7x7(self, value, width, name):
        row, column = ((1, 7), {"padding": (0, 3)}), ((7, 1), {"padding": (3, 0)})
        single = self.chain(value, 768, f"{name}_1x1", (192, 1))
        seven = self.chain(value, 768, f"{name}_7x7", (width, 1), (width, *row), (192, *column))
        double = self.chain(value, 768, f"{name}_double", (width, 1), (width, *column), (width, *row),
                            (width, *column), (192, *row))
        pool = self.chain(self.average(value), 768, f"{name}_pool", (192, 1))
        return self.join(single, seven, double, pool)

    def reduce_17(self, value, name):
        three = self.chain(value, 768, f"{name}_3x3", (192, 1), (320, 3, {"stride": 2}))
        seven = self.chain(value, 768, f"{name}_7x7", (192, 1), (192, (1, 7), {"padding": (0, 3)}),
                           (192, (7, 1), {"padding": (3, 0)}), (192, 3, {"stride": 2}))
        return self.join(three, seven, self.builder.pool("MaxPool", value, 3, 2))

    def block_split(self, value, channels, name):
        single = self.chain(value, channels, f"{name}_1x1", (320, 1))
        three = self.fork(self.chain(value, channels, f"{name}_3x3", (384, 1)), f"{name}_3x3")
        double = self.chain(value, channels, f"{name}_double", (448, 1), (384, 3, {"padding": 1}))
        double = self.fork(double, f"{name}_double")
        pool = self.chain(self.average(value), channels, f"{name}_pool", (192, 1))
        return self.join(single, three, double, pool)

    def fork(self, value, name):
        row = self.unit(value, 384, 384, (1, 3), f"{name}_row", padding=(0, 1))
        column = self.unit(value, 384, 384, (3, 1), f"{name}_column", padding=(1, 0))
        return self.join(row, column)


def inception_v3(options, image=299):
    """Inception-v3 without its auxiliary head (Szegedy et al., 2016; layer sizes of torchvision), 299x299,
    23.8 M parameters."""
    builder = Builder("inception_v3", options.seed)
    blocks = Inception(builder)
    value = builder.input("image", [options.batch, 3, image * options.scale, image * options.scale])
    value = blocks.chain(value, 3, "stem_a", (32, 3, {"stride": 2}), (32, 3), (64, 3, {"padding": 1}))
    value = builder.pool("MaxPool", value, 3, 2)
    value = blocks.chain(value, 64, "stem_b", (80, 1), (192, 3))
    value = builder.pool("MaxPool", value, 3, 2)
    for index, (channels, pooled) in enumerate([(192, 32), (256, 64), (288, 64)]):
        value = blocks.block_5x5(value, channels, pooled, f"mixed_35_{index}")
    value = blocks.reduce_35(value, 288, "reduce_35")
    for index, width in enumerate([128, 160, 160, 192]):
        value = blocks.block_7x7(value, width, f"mixed_17_{index}")
    value = blocks.reduce_17(value, "reduce_17")
    for index, channels in enumerate([1280, 2048]):
        value = blocks.block_split(value, channels, f"mixed_8_{index}")
    classifier(builder, value, 2048, batch=options.batch)
    return builder.finish(inception_v3.__doc__)


class Nasnet:
    """The two cells of NASNet-A (Zoph et al., 2018, figure 4)."""

    def __init__(self, builder):
        self.builder = builder

    def squeeze(self, value, channels_in, channels_out, name):
        """The gain undoes the growth of a cell's sums."""
        return self.builder.relu(
            self.builder.convolution(value, channels_in, channels_out, 1, name, bias=False, gain=1.15))

    def fit(self, previous, shape, wanted, name):
        """Brings the older of a cell's two inputs to the channels and the extent of the newer one."""
        channels, extent = shape
        if extent == wanted[1]:
            return self.squeeze(previous, channels, wanted[0], name)
        return self.builder.relu(
            self.builder.convolution(previous, channels, wanted[0], 3, name, stride=2, padding=1, bias=False,
                                     gain=1.15))

    def separable(self, value, channels, kernel, name, stride=1):
        """Depthwise, then pointwise; the gain is for a sum of two such branches."""
        value = self.builder.convolution(value, channels, channels, kernel, f"{name}_depthwise", stride=stride,
                                         padding=kernel // 2, groups=channels, bias=False, gain=1.0)
        return self.builder.convolution(value, channels, channels, 1, f"{name}_pointwise", bias=False, gain=0.7)

    def average(self, value, stride=1):
        return self.builder.pool("AveragePool", value, 3, stride, 1, count_include_pad=0)

    def maximum(self, value, stride):
        return self.builder.pool("MaxPool", value, 3, stride, 1)

    def add(self, left, right):
        return self.builder.node("Add", left, right)

    def normal_cell(self, previous, previous_shape, current, current_shape, channels, name):
        current = self.squeeze(current, current_shape[0], channels, f"{name}_current")
        previous = self.fit(previous, previous_shape, (channels, current_shape[1]), f"{name}_previous")
        sums = [
            self.add(self.separable(current, channels, 3, f"{name}_a"), current),
            self.add(self.separable(previous, channels, 3, f"{name}_b"),
                     self.separable(current, channels, 3, f"{name}_c")),
            self.add(self.average(current), previous),
            self.add(self.average(previous), self.average(previous)),
            self.add(self.separable(previous, channels, 3, f"{name}_d"),
                     self.separable(previous, channels, 3, f"{name}_e")),
        ]
        return self.builder.node("Concat", *sums, axis=1)

    def reduction_cell(self, previous, previous_shape, current, current_shape, channels, name):
        current = self.squeeze(current, current_shape[0], channels, f"{name}_current")
        previous = self.fit(previous, previous_shape, (channels, current_shape[1]), f"{name}_previous")
        first = self.add(self.separable(previous, channels, 7, f"{name}_a", 2),
                         self.separable(current, channels, 5, f"{name}_b", 2))
        second = self.add(self.maximum(current, 2), self.separable(previous, channels, 7, f"{name}_c", 2))
        third = self.add(self.average(current, 2), self.separable(previous, channels, 5, f"{name}_d", 2))
        fourth = self.add(self.maximum(current, 2), self.separable(first, channels, 3, f"{name}_e"))
        fifth = self.add(self.average(first), second)
        return self.builder.node("Concat", first, second, third, fourth, fifth, axis=1)


def nasnet_a(options):
    """NASNet-A as superoptimizers measure it: the cells of Zoph et al. (2018) stacked as in the evaluation of
    TASO (Jia et al., SOSP 2019): input 128x56x56, three stages of five normal cells and a reduction cell, the
    width doubling from 128, no batch normalization."""
    builder = Builder("nasnet_a", options.seed)
    cells = Nasnet(builder)
    value, shape, channels = builder.input("features", [options.batch, 128, 56, 56]), (128, 56), 128
    for stage in range(3):
        previous, previous_shape = value, shape
        for index in range(5):
            name = f"stage{stage}_normal{index}"
            result = cells.normal_cell(previous, previous_shape, value, shape, channels, name)
            previous, previous_shape, value, shape = value, shape, result, (5 * channels, shape[1])
        channels *= 2
        value = cells.reduction_cell(previous, previous_shape, value, shape, channels, f"stage{stage}_reduction")
        shape = (5 * channels, shape[1] // 2)
    builder.output(value, "cells", [options.batch, shape[0], shape[1], shape[1]])
    return builder.finish(nasnet_a.__doc__)
