"""Both sides of a rule in ONNX Runtime.

The two sides of one instance become one model without optimizations, so that the runtime computes each of them from the
operators as they are written. Which attributes of the rule's language are operands in ONNX is read from ONNX's own
schemas. Elements are f64, or f32 where the runtime has no kernel for f64. The numpy evaluator says which elements are
undefined; those are not compared, since a runtime may compute any number there. Sizes are above 0: products over nothing
are whatever the memory held before."""

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from rule_evaluation.arithmetic import Reals
from rule_evaluation.contents import KINDS, numbers
from rule_evaluation.judge import Judge, Overflow
from rule_evaluation.operators import IllTyped, TooLarge

OPSET = 20
OPERAND_NAMES = {("Pad", "value"): "constant_value", ("ConstantOfShape", "shape"): "input"}
TOLERANCES = {numpy.float64: 1e-9, numpy.float32: 1e-4}  # of the largest number of the two sides
MOST_ATTEMPTS = 25  # for each instance that is asked for
REFUSALS = (onnxruntime.capi.onnxruntime_pybind11_state.Fail,
            onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument,
            onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph,
            onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented,
            onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException)


class Refused(Exception):
    """ONNX Runtime does not compute this model; the text says why."""


class SidesModel:
    """A model whose outputs are those of the left side and then those of the right side."""

    def __init__(self, element):
        self.element, self.nodes, self.constants = element, [], []

    def constant(self, value):
        """The name of a new initializer."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def operand(self, operator, name, value):
        """An attribute of the rule's language that is an operand in ONNX."""
        is_number = isinstance(value, float) or (operator, name) in (("Pad", "value"), ("Clip", "min"), ("Clip", "max"))
        return self.constant(numpy.array(value, self.element if is_number else numpy.int64))

    def add(self, node, operands, attributes, prefix):
        """Appends an operation; returns the names of its outputs."""
        schema = onnx.defs.get_schema(node.operator, OPSET)
        places, inputs, kept = {one.name: i for i, one in enumerate(schema.inputs)}, list(operands), {}
        for name, value in attributes.items():
            value = list(value) if isinstance(value, tuple) else value
            operand = OPERAND_NAMES.get((node.operator, name), name)
            if value == [] and operand in schema.attributes:
                continue  # of a scalar, for which it is the default; ONNX cannot write an empty list without its type
            if name in schema.attributes and operand == name:
                is_tensor = schema.attributes[name].type == onnx.defs.OpSchema.AttrType.TENSOR
                kept[name] = numpy_helper.from_array(numpy.array([value], self.element)) if is_tensor else value
                continue
            place = places[operand]
            inputs += [""] * (place + 1 - len(inputs))
            inputs[place] = self.operand(node.operator, name, value)
        if node.operator == "Reshape":
            kept["allowzero"] = 1
        count = max(node.outputs, len(attributes.get("split", ())))  # a rule may use fewer than there are
        outputs = [f"{prefix}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(node.operator, inputs, outputs, **kept))
        return outputs

    def add_side(self, side, letter):
        """Appends a side; returns the names of its outputs."""
        rule, made = side.rule, {}
        for number in side.order:
            node = rule.nodes[number]
            if node.operator is None:
                made[number] = [f"x{node.input}"]
                continue
            operands = [made[one[0]][one[1]] if one else "" for one in node.operands]
            made[number] = self.add(node, operands, side.attributes[number], f"{letter}{number}")
        names = []
        for i, (number, output) in enumerate(side.roots):
            names.append(f"{letter}_output{i}")
            self.nodes.append(helper.make_node("Identity", [made[number][output]], [names[-1]]))
        return names

    def run(self, outputs, arrays):
        """The values of the outputs. Raises Refused."""
        kind = helper.np_dtype_to_tensor_dtype(numpy.dtype(self.element))
        inputs = [helper.make_tensor_value_info(f"x{i}", kind, array.shape) for i, array in enumerate(arrays)]
        results = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "sides", inputs, results, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            return session.run(outputs, {f"x{i}": numpy.asarray(array, self.element) for i, array in enumerate(arrays)})
        except REFUSALS as error:
            raise Refused(str(error)) from None


def sides_in_runtime(sides, arrays, element):
    """Outputs of the left and of the right side. Raises Refused."""
    model = SidesModel(element)
    left, right = (model.add_side(side, letter) for side, letter in zip(sides, "lr"))
    values = model.run(left + right, arrays)
    return values[:len(left)], values[len(left):]


def differing(left, right, reference, is_equation, tolerance):
    """What differs between outputs of both sides where the left one is defined, or either one in an equation."""
    for i, (a, b) in enumerate(zip(left, right)):
        if a.shape != b.shape:
            return f"output {i}: shapes {list(a.shape)} and {list(b.shape)}"
        defined = numpy.isfinite(reference[0].outputs[i][0])
        if is_equation:
            defined = defined | numpy.isfinite(reference[1].outputs[i][0])
        with numpy.errstate(all="ignore"):
            near = numpy.abs(a.astype(numpy.float64) - b) <= tolerance
        wrong = defined & ~near
        if wrong.any():
            at = tuple(int(index) for index in numpy.argwhere(wrong)[0])
            return f"output {i}, element {list(at)}: left {a[at]:.9g}, right {b[at]:.9g}"
    return ""


class RuntimeJudge:
    """Evaluates one rule in ONNX Runtime."""

    def __init__(self, rule, seed):
        self.rule, self.judge = rule, Judge(rule, seed, False)
        self.element, self.refusal = numpy.float64, ""

    def run(self, count):
        """How many instances of `count` were computed, and the first difference; the text is empty if there is none."""
        computed, attempts = 0, 0
        with numpy.errstate(all="ignore"):
            while computed < count and attempts < MOST_ATTEMPTS * count:
                attempts += 1
                difference = self.instance()
                computed += difference is not None
                if difference:
                    return computed, difference
        return computed, ""

    def instance(self):
        """What differs in one instance, an empty text, or None if it is not computed."""
        found = self.judge.choice()
        if found is None:
            return None
        values, shapes, sides = found
        if self.judge.zeros(values) or any(0 in shape for shape in shapes):
            return None
        generator = self.judge.generator
        arrays = [numpy.asarray(numbers(generator, generator.choice(KINDS), shape)) for shape in shapes]
        try:
            reference = [side.evaluate(Reals(), self.judge.typed(arrays)) for side in sides]
        except (IllTyped, TooLarge, Overflow):
            return None
        left, right = self.computed(sides, arrays)
        if left is None:
            return None
        if any(a.shape != b[0].shape for values, side in zip((left, right), reference)
               for a, b in zip(values, side.outputs)):
            self.refusal = "the runtime makes another shape of an empty tensor than ONNX says"
            return None
        scale = max(one.scale for one in reference)
        difference = differing(left, right, reference, self.rule.is_equation, TOLERANCES[self.element] * scale)
        return f"{difference}, where {values}" if difference else ""

    def computed(self, sides, arrays):
        """Outputs of both sides, from the first type for which the runtime has kernels; (None, None) if it has none."""
        for element in (numpy.float64, numpy.float32):
            if element == numpy.float64 and self.element != element:
                continue
            try:
                results = sides_in_runtime(sides, arrays, element)
            except Refused as error:
                self.refusal = str(error)
                continue
            self.element = element
            return results
        return None, None
