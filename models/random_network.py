"""Random models for tests: 10 to 30 operators of some 60 kinds in one graph, values with several users, several
outputs, odd broadcasts, and all types that operators take. A model is a function of its seed.

ONNX's own shape inference says what each node gives; a node that it refuses is left out.
"""

import random

import ml_dtypes
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

OPSET = 18
IR_VERSION = 8
REAL = ("f32", "f32", "f32", "f32", "f64", "f16", "bf16")
INTEGERS = ("i64", "i64", "i32", "i32", "i16", "i8", "u8", "u16", "u32", "u64")
ELEMENT_TYPES = {
    "f32": (TensorProto.FLOAT, numpy.float32),
    "f64": (TensorProto.DOUBLE, numpy.float64),
    "f16": (TensorProto.FLOAT16, numpy.float16),
    "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
    "i64": (TensorProto.INT64, numpy.int64),
    "i32": (TensorProto.INT32, numpy.int32),
    "i16": (TensorProto.INT16, numpy.int16),
    "i8": (TensorProto.INT8, numpy.int8),
    "u64": (TensorProto.UINT64, numpy.uint64),
    "u32": (TensorProto.UINT32, numpy.uint32),
    "u16": (TensorProto.UINT16, numpy.uint16),
    "u8": (TensorProto.UINT8, numpy.uint8),
    "bool": (TensorProto.BOOL, numpy.bool_),
}
NAMES = {element: name for name, (element, _) in ELEMENT_TYPES.items()}
# What gives NaN or overflows on ordinary numbers (Log, Sqrt, Pow) is left out: undefined elements have their own tests.
UNARY = ("Abs Neg Relu Tanh Sigmoid Exp Erf Softplus Softsign Sin Cos Ceil Floor Round Sign Elu LeakyRelu HardSigmoid "
         "HardSwish Identity Atan Selu Celu Mish ThresholdedRelu").split()
BINARY = "Add Add Sub Mul Mul Max Min".split()
COMPARE = "Less Greater Equal LessOrEqual GreaterOrEqual".split()
REDUCE = "ReduceSum ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp".split()


class RandomModel:
    """Makes one model; `make` may be called once."""

    def __init__(self, seed, nodes=None):
        self.wanted = nodes
        self.random = random.Random(seed)
        self.numbers = numpy.random.Generator(numpy.random.PCG64(seed))
        self.nodes, self.initializers = [], []
        self.values = {}  # (type, shape) by name
        self.constants = set()
        self.used = set()
        self.inputs = []
        self.count = 0

    def make(self):
        self.real = self.random.choice(REAL)
        for _ in range(self.random.randint(1, 3)):
            self.add_input()
        if self.random.random() < 0.4:
            self.add_input(kind=self.random.choice((*INTEGERS, "bool")))
        wanted = self.wanted or self.random.randint(10, 30)
        steps = (self.unary, self.unary, self.binary, self.binary, self.with_constant, self.with_constant,
                 self.neutral, self.matmul, self.gemm, self.movement, self.movement, self.reduce, self.compare,
                 self.where, self.concat_split, self.softmax, self.image, self.cast, self.twice, self.index,
                 self.integer, self.integer, self.clip, self.logic, self.several, self.gather_elements, self.blocks,
                 self.einsum, self.top)
        for _ in range(20 * wanted):
            if len(self.nodes) >= wanted:
                break
            self.random.choice(steps)()
        return self.finish()

    # ---- Values ------------------------------------------------------------------------------------------

    def fresh(self, stem):
        self.count += 1
        return f"{stem}_{self.count}"

    def shape(self, rank=None):
        rank = self.random.choice((1, 2, 2, 3, 3, 4)) if rank is None else rank
        return [self.random.choice((1, 2, 3, 4, 6)) for _ in range(rank)]

    def add_input(self, shape=None, kind=None):
        name = self.fresh("input")
        self.values[name] = (kind or self.real, shape or self.shape())
        self.inputs.append(name)
        return name

    def constant(self, array, stem="constant"):
        name = self.fresh(stem)
        self.initializers.append(numpy_helper.from_array(array, name))
        self.values[name] = (NAMES[helper.np_dtype_to_tensor_dtype(array.dtype)], list(array.shape))
        self.constants.add(name)
        return name

    def integers(self, elements):
        return self.constant(numpy.array(elements, numpy.int64), "integers")

    def weights(self, shape, kind=None):
        kind = kind or self.real
        array = self.numbers.standard_normal(shape) * 0.5
        return self.constant(array.astype(ELEMENT_TYPES[kind][1]), "weights")

    def pick(self, kinds=REAL, rank=None, minimum=0):
        """A value that is no constant; late ones more often. None if there is none."""
        names = [name for name, (kind, shape) in self.values.items() if kind in kinds and name not in self.constants
                 and (rank is None or len(shape) == rank) and len(shape) >= minimum]
        if not names:
            return None
        return names[max(self.random.randrange(len(names)) for _ in range(2))]

    def broadcastable(self, shape):
        """Sizes that broadcast to `shape`."""
        kept = shape[self.random.randint(0, len(shape)):]
        return [size if self.random.random() < 0.7 else 1 for size in kept]

    def node(self, operator, inputs, outputs=1, **attributes):
        """The names of its outputs; none if the node is not valid or its outputs are large."""
        results = [self.fresh(operator.lower()) for _ in range(outputs)]
        node = helper.make_node(operator, inputs, results, name=self.fresh("node"), **attributes)
        known = [helper.make_tensor_value_info(name, ELEMENT_TYPES[self.values[name][0]][0], self.values[name][1])
                 for name in dict.fromkeys(inputs) if name]
        held = [tensor for tensor in self.initializers if tensor.name in inputs]
        declared = [onnx.ValueInfoProto(name=name) for name in results]
        graph = helper.make_graph([node], "one", known, declared, held)
        try:
            inferred = shape_inference.infer_shapes(
                helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION),
                check_type=True, strict_mode=True, data_prop=True)
        except Exception:  # the reason does not matter: another node is tried
            return []
        types = {}
        for output in inferred.graph.output:
            tensor = output.type.tensor_type
            if not tensor.HasField("shape") or any(not size.HasField("dim_value") for size in tensor.shape.dim):
                return []
            sizes = [size.dim_value for size in tensor.shape.dim]
            if numpy.prod(sizes, dtype=float) > 4096 or 0 in sizes or tensor.elem_type not in NAMES:
                return []
            types[output.name] = (NAMES[tensor.elem_type], sizes)
        self.values.update(types)
        self.nodes.append(node)
        self.used.update(inputs)
        return results

    # ---- Steps: each adds a node or a few, or nothing ------------------------------------------------------

    def unary(self):
        if value := self.pick():
            self.node(self.random.choice(UNARY), [value])

    def binary(self):
        if value := self.pick():
            kind, shape = self.values[value]
            fitting = [name for name, (other, sizes) in self.values.items()
                       if other == kind and name not in self.constants and fits(shape, sizes)]
            operands = [value, self.random.choice(fitting)]
            self.random.shuffle(operands)
            self.node(self.random.choice(BINARY), operands)

    def with_constant(self):
        if value := self.pick():
            kind, shape = self.values[value]
            operands = [value, self.weights(self.broadcastable(shape), kind)]
            self.random.shuffle(operands)
            self.node(self.random.choice(BINARY), operands)

    def neutral(self):
        """x * 1, x + 0 and the like, with constants of any shape."""
        if value := self.pick():
            kind, shape = self.values[value]
            operator, number = self.random.choice((("Add", 0), ("Sub", 0), ("Mul", 1), ("Div", 1), ("Mul", 0)))
            number = numpy.full(self.broadcastable(shape), number, ELEMENT_TYPES[kind][1])
            self.node(operator, [value, self.constant(number)])

    def matmul(self):
        if value := self.pick(minimum=2):
            kind, shape = self.values[value]
            for _ in range(self.random.choice((1, 1, 2))):  # two of one operand
                weights = self.weights([shape[-1], self.random.choice((2, 3, 4))], kind)
                self.node("MatMul", [value, weights])

    def gemm(self):
        if value := self.pick(rank=2):
            kind, shape = self.values[value]
            columns = self.random.choice((2, 3, 4))
            transposed = self.random.randint(0, 1)
            weights = self.weights([columns, shape[1]] if transposed else [shape[1], columns], kind)
            bias = [self.weights([columns], kind)] if self.random.random() < 0.5 else []
            self.node("Gemm", [value, weights, *bias], transB=transposed)

    def movement(self):
        value = self.pick((*REAL, "i64"), minimum=1)
        if not value:
            return
        shape = self.values[value][1]
        axis = self.random.randrange(len(shape))
        which = self.random.choice("Transpose Transpose Reshape Reshape Unsqueeze Squeeze Flatten Slice Pad Expand "
                                   "Tile Gather".split())
        if which == "Transpose":
            self.node(which, [value], perm=self.random.sample(range(len(shape)), len(shape)))
        elif which == "Reshape":
            self.node(which, [value, self.integers(self.other_shape(shape))])
        elif which == "Unsqueeze":
            self.node(which, [value, self.integers([axis])])
        elif which == "Squeeze":
            axes = [k for k, size in enumerate(shape) if size == 1]
            if axes:
                self.node(which, [value, self.integers([self.random.choice(axes)])])
        elif which == "Flatten":
            self.node(which, [value], axis=axis)
        elif which == "Slice":
            start = self.random.randrange(shape[axis])
            end = self.random.randint(start + 1, shape[axis])
            self.node(which, [value, *map(self.integers, ([start], [end], [axis]))])
        elif which == "Pad":
            pads = [self.random.randint(0, 1) for _ in range(2 * len(shape))]
            self.node(which, [value, self.integers(pads)])
        elif which == "Expand":
            self.node(which, [value, self.integers([self.random.choice((1, 2)), *shape])])
        elif which == "Tile":
            self.node(which, [value, self.integers([self.random.choice((1, 1, 2)) for _ in shape])])
        else:
            indices = [self.random.randrange(shape[axis]) for _ in range(self.random.randint(1, 3))]
            self.node(which, [value, self.integers(indices)], axis=axis)

    def other_shape(self, shape):
        count = int(numpy.prod(shape))
        sizes = []
        while count > 1:
            sizes.append(self.random.choice([size for size in range(2, count + 1) if count % size == 0]))
            count //= sizes[-1]
        return sizes or [1]

    def reduce(self):
        if value := self.pick(minimum=1):
            axes = self.random.sample(range(len(self.values[value][1])), self.random.randint(
                1, len(self.values[value][1])))
            keeps = self.random.randint(0, 1)
            operator = self.random.choice(REDUCE)
            self.node(operator, [value, self.integers(sorted(axes))], keepdims=keeps)

    def compare(self):
        if value := self.pick():
            kind, shape = self.values[value]
            truth = self.node(self.random.choice(COMPARE), [value, self.weights(self.broadcastable(shape), kind)])
            if truth and self.random.random() < 0.5:
                self.node("Not", truth)

    def where(self):
        truth, value = self.pick(("bool",)), self.pick()
        if truth and value:
            kind, shape = self.values[value]
            self.node("Where", [truth, value, self.weights(self.broadcastable(shape), kind)])

    def concat_split(self):
        value = self.pick(minimum=1)
        if not value:
            return
        kind, shape = self.values[value]
        axis = self.random.randrange(len(shape))
        if shape[axis] > 1 and self.random.random() < 0.5:
            first = self.random.randrange(1, shape[axis])
            parts = self.node("Split", [value, self.integers([first, shape[axis] - first])], outputs=2, axis=axis)
            if parts and self.random.random() < 0.5:
                self.node("Concat", parts, axis=axis)
            return
        same = [name for name, (other, sizes) in self.values.items() if other == kind and len(sizes) == len(shape) and
                name not in self.constants and all(a == b for k, (a, b) in enumerate(zip(sizes, shape)) if k != axis)]
        self.node("Concat", [value, self.random.choice(same)], axis=axis)

    def softmax(self):
        if value := self.pick(minimum=2):
            kind, shape = self.values[value]
            which = self.random.choice(("Softmax", "LogSoftmax", "LayerNormalization"))
            if which == "LayerNormalization":
                self.node(which, [value, self.weights([shape[-1]], kind), self.weights([shape[-1]], kind)], axis=-1)
            else:
                self.node(which, [value], axis=self.random.randrange(-len(shape), len(shape)))

    def image(self):
        """Convolutions, pools and normalizations of images."""
        value = self.pick(rank=4) or self.add_input([1, 3, 6, 6])
        kind, shape = self.values[value]
        channels = shape[1]
        which = self.random.choice("Conv Conv BatchNormalization BatchNormalization MaxPool AveragePool "
                                   "GlobalAveragePool InstanceNormalization".split())
        if which == "Conv":
            outputs = self.random.choice((2, 3, 4))
            size = self.random.choice((1, 3))
            operands = [value, self.weights([outputs, channels, size, size], kind)]
            if self.random.random() < 0.5:
                operands.append(self.weights([outputs], kind))
            self.node(which, operands, kernel_shape=[size, size], pads=[size // 2] * 4)
        elif which in ("MaxPool", "AveragePool"):
            self.node(which, [value], kernel_shape=[2, 2], strides=[self.random.choice((1, 2))] * 2, pads=[1, 1, 0, 0])
        elif which == "GlobalAveragePool":
            self.node(which, [value])
        elif which == "InstanceNormalization":
            self.node(which, [value, self.weights([channels], kind), self.weights([channels], kind)])
        else:
            element = ELEMENT_TYPES[kind][1]
            variance = self.constant((0.5 + self.numbers.random(channels)).astype(element))
            operands = [self.weights([channels], kind) for _ in range(3)]
            self.node(which, [value, *operands, variance])

    def cast(self):
        if value := self.pick((*REAL, "bool", *INTEGERS)):
            kind = self.values[value][0]
            # What a cast to integers makes of negative, large or broken numbers is not defined.
            integers = INTEGERS if kind == "bool" else ()
            to = self.random.choice((kind, "f32", "f64", self.real, *integers))
            self.node("Cast", [value], to=ELEMENT_TYPES[to][0])

    def twice(self):
        """What undoes itself or changes nothing the second time."""
        value = self.pick(minimum=2)
        if not value:
            return
        rank = len(self.values[value][1])
        which = self.random.choice(("Neg", "Relu", "Transpose", "around"))
        if which in ("Neg", "Relu"):
            first = self.node(which, [value])
            if first:
                self.node(which, first)
            return
        order = self.random.sample(range(rank), rank)
        first = self.node("Transpose", [value], perm=order)
        if first and which == "around":
            first = self.node(self.random.choice(UNARY), first)
        if first:
            self.node("Transpose", first, perm=[order.index(axis) for axis in range(rank)])

    def index(self):
        if value := self.pick(minimum=1):
            axis = self.random.randrange(len(self.values[value][1]))
            if self.random.random() < 0.5:
                self.node(self.random.choice(("ArgMax", "ArgMin")), [value], axis=axis,
                          keepdims=self.random.randint(0, 1))
            else:
                self.node("CumSum", [value, self.constant(numpy.array(axis, numpy.int64))])

    def integer(self):
        if value := self.pick(INTEGERS):
            kind, shape = self.values[value]
            signed = kind.startswith("i")
            other = self.constant(self.numbers.integers(-3 if signed else 0, 4, self.broadcastable(shape)).astype(
                ELEMENT_TYPES[kind][1]))
            which = self.random.choice(("Add", "Sub", "Mul", "Max", "Min", "Equal", "Less", "Greater", "Mod",
                                        "BitwiseAnd", "BitwiseOr", "BitwiseXor"))
            if which == "Mod":
                other = self.constant(self.numbers.integers(1, 5, self.broadcastable(shape)).astype(
                    ELEMENT_TYPES[kind][1]))
            self.node(which, [value, other])

    def logic(self):
        first, second = self.pick(("bool",)), self.pick(("bool",))
        if first and fits(self.values[first][1], self.values[second][1]):
            self.node(self.random.choice(("And", "Or", "Xor", "Equal")), [first, second])

    def several(self):
        """Operators of any number of operands, and the slope of a PRelu."""
        if value := self.pick():
            kind, shape = self.values[value]
            if self.random.random() < 0.3:
                self.node("PRelu", [value, self.weights(self.broadcastable(shape), kind)])
                return
            fitting = [name for name, (other, sizes) in self.values.items() if other == kind and fits(shape, sizes)]
            operands = [value, *self.random.choices(fitting, k=self.random.randint(0, 3))]
            self.node(self.random.choice(("Sum", "Mean", "Max", "Min")), operands)

    def gather_elements(self):
        if value := self.pick(minimum=1):
            shape = self.values[value][1]
            axis = self.random.randrange(len(shape))
            if self.random.random() < 0.5:
                indices = self.constant(self.numbers.integers(0, shape[axis], shape).astype(numpy.int64))
                self.node("GatherElements", [value, indices], axis=axis)
            else:
                indices = self.constant(self.numbers.integers(0, shape[0], [2, 1]).astype(numpy.int64))
                self.node("GatherND", [value, indices])

    def blocks(self):
        """Triangles of matrices, and channels as blocks of positions."""
        value = self.pick(rank=4) if self.random.random() < 0.5 else None
        if value:
            _, channels, height, width = self.values[value][1]  # ONNX's inference does not look whether these divide
            if channels % 4 == 0:
                self.node("DepthToSpace", [value], blocksize=2)
            elif height % 2 == width % 2 == 0:
                self.node("SpaceToDepth", [value], blocksize=2)
        elif value := self.pick(minimum=2):
            self.node("Trilu", [value], upper=self.random.randint(0, 1))

    def einsum(self):
        if value := self.pick(rank=2):
            kind, shape = self.values[value]
            equation = self.random.choice(("ij,jk->ik", "ij,jk->ki", "ij,jk->ijk", "ij,jk->i"))
            self.node("Einsum", [value, self.weights([shape[1], 3], kind)], equation=equation)

    def top(self):
        """Only the values: of equal numbers TopK may take any."""
        if value := self.pick(minimum=1):
            shape = self.values[value][1]
            axis = self.random.randrange(len(shape))
            results = self.node("TopK", [value, self.integers([self.random.randint(1, shape[axis])])], outputs=2,
                                axis=axis)
            if results:
                self.constants.add(results[1])  # is not picked

    def clip(self):
        if value := self.pick():
            element = ELEMENT_TYPES[self.values[value][0]][1]
            low, high = sorted(self.numbers.standard_normal(2))
            self.node("Clip", [value, self.constant(numpy.array(low, element)),
                               self.constant(numpy.array(high, element))])

    # ---- The model -----------------------------------------------------------------------------------------

    def finish(self):
        """What nobody uses is an output, and now and then something in the middle too."""
        made = [name for node in self.nodes for name in node.output]
        # An order among equal numbers says nothing.
        ends = [name for name in made if name not in self.used and name not in self.constants]
        middle = [name for name in made if name in self.used and self.random.random() < 0.08]
        info = {name: helper.make_tensor_value_info(name, ELEMENT_TYPES[kind][0], shape)
                for name, (kind, shape) in self.values.items()}
        initializers = [tensor for tensor in self.initializers if tensor.name in self.used]
        graph = helper.make_graph(self.nodes, "random", [info[name] for name in self.inputs],
                                  [info[name] for name in ends + middle], initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                                 producer_name="lemma scripts/models")


def fits(shape, other):
    """Whether the sizes broadcast."""
    return all(a == b or a == 1 or b == 1 for a, b in zip(reversed(shape), reversed(other)))


def random_model(seed, nodes=None):
    """`nodes`: how many, instead of 10 to 30; a step may add one or two more."""
    return RandomModel(seed, nodes).make()
