"""Damage to the graph: names, order, attributes, functions, depth."""

from onnx import AttributeProto, GraphProto, ModelProto, helper

from base_models import (BUILT, FLOAT, attention, branches, convolution, floats, function, integers, local_functions,
                         model, node, perceptron, value)
from cases import EITHER, REJECT, damage


def chain(names, **arguments):
    """A model whose nodes are the unary operators given as (operator, input, output)."""
    nodes = [node(operator, source, target) for operator, source, target in names]
    return model(nodes, [value("x", [2])], [value("y", [2])], **arguments)


def every_built_model():
    return [(name, build()) for name, build in BUILT.items()]


@damage("cyclic graph")
def cyclic():
    yield "itself", REJECT, chain([("Relu", "y", "y")])
    yield "two", REJECT, chain([("Relu", "y", "a"), ("Neg", "a", "y")])
    yield "beside", REJECT, chain([("Relu", "x", "y"), ("Relu", "b", "a"), ("Neg", "a", "b")])
    for length in (3, 100, 20000):
        links = [("Relu", f"v{(index - 1) % length}", f"v{index}") for index in range(length)]
        yield f"ring of {length}", REJECT, chain([*links, ("Neg", "v0", "y")])
    for name, base in every_built_model():
        last = base.graph.node[-1].output[0]
        base.graph.node[0].input[0] = last
        yield name, REJECT, base


@damage("order of nodes")
def unordered():
    for name, base in every_built_model():
        nodes = list(base.graph.node)[::-1]
        del base.graph.node[:]
        base.graph.node.extend(nodes)
        yield name, EITHER, base


@damage("duplicate names")
def duplicates():
    for name, base in every_built_model():
        base.graph.node.append(base.graph.node[-1])
        yield f"value twice {name}", REJECT, base
    for name, base in every_built_model():
        if base.graph.initializer:
            base.graph.initializer.append(base.graph.initializer[0])
            yield f"initializer twice {name}", REJECT, base
    for name, base in every_built_model():
        base.graph.input.append(base.graph.input[0])
        yield f"input twice {name}", REJECT, base
    for name, base in every_built_model():
        for entry in base.graph.node:
            entry.name = "same"
        yield f"node names {name}", EITHER, base
    base = perceptron()
    base.graph.node[0].output[0] = "bias"
    base.graph.node[1].input[0] = "bias"
    yield "value like initializer", REJECT, base
    base = perceptron()
    base.graph.node[3].output[0] = "x"
    base.graph.output[0].name = "x"
    yield "value like input", REJECT, base
    yield "two outputs of a node", REJECT, model([node("Split", "x", "y y", axis=0)], [value("x", [2])],
                                                  [value("y", [1])])
    base = perceptron()
    base.graph.output.append(base.graph.output[0])
    yield "output twice", EITHER, base
    base = local_functions()
    base.functions.append(base.functions[0])
    yield "function twice", REJECT, base


@damage("undefined value")
def undefined():
    for name, base in every_built_model():
        for index in range(len(base.graph.node)):
            broken = ModelProto.FromString(base.SerializeToString())
            broken.graph.node[index].input[-1] = "nowhere"
            yield f"{name} node {index}", REJECT, broken
    base = perceptron()
    base.graph.output[0].name = "nowhere"
    yield "graph output", REJECT, base
    base = perceptron()
    del base.graph.input[:]
    yield "no graph inputs", REJECT, base
    base = perceptron()
    del base.graph.initializer[:]
    yield "no initializers", REJECT, base
    base = branches()
    base.graph.node[0].attribute[0].g.node[0].input[0] = "nowhere"
    yield "in a subgraph", REJECT, base
    base = branches()
    base.graph.node[1].attribute[0].g.output[1].name = "nowhere"
    yield "output of a subgraph", REJECT, base
    base = local_functions()
    base.functions[0].node[0].input[0] = "nowhere"
    yield "in a function", REJECT, base
    for label, name in (("line break", "two\nlines"), ("return", "a\rb\r\nc"), ("escape", "\x1b[2J\x07"),
                        ("long", "n" * 1_000_000), ("percent", "%s%n{}{0}"), ("null", "a\0b")):
        base = perceptron()
        base.graph.node[0].input[0] = name
        yield f"named with {label}", REJECT, base
    sound, broken = b"\x0a\x01x\x0a\x05first", b"\x0a\x01\xff\x0a\x05first"
    content = perceptron().SerializeToString(deterministic=True)
    assert sound in content
    yield "named with broken utf-8", REJECT, content.replace(sound, broken)


@damage("arity")
def arity():
    for label, nodes in {
        "matmul of one": [node("MatMul", "x", "y")],
        "matmul of three": [node("MatMul", "x x x", "y")],
        "add of none": [node("Add", "", "y")],
        "relu with two outputs": [node("Relu", "x", "y z")],
        "concat of none": [node("Concat", "", "y", axis=0)],
        "reshape without shape": [node("Reshape", "x", "y")],
    }.items():
        yield label, REJECT, model(nodes, [value("x", [2, 2])], [value("y", None)])
    base = perceptron()
    base.graph.node[0].input[1] = ""
    yield "required input left empty", REJECT, base
    base = perceptron()
    del base.graph.node[0].output[:]
    yield "no output", REJECT, base
    base = perceptron()
    base.graph.node[1].op_type = ""
    yield "no operator", REJECT, base


def with_attribute(build, index, attribute):
    """The model with one attribute of node `index` replaced, or removed if `attribute` is only a name."""
    base = build()
    attributes = base.graph.node[index].attribute
    name = attribute if isinstance(attribute, str) else attribute.name
    kept = [entry for entry in attributes if entry.name != name]
    del attributes[:]
    attributes.extend(kept + ([] if isinstance(attribute, str) else [attribute]))
    return base


@damage("attribute")
def attributes():
    make = helper.make_attribute
    wrong = {
        "strides text": (convolution, 0, make("strides", "1,1")),
        "strides floats": (convolution, 0, make("strides", [1.0, 1.0])),
        "strides one integer": (convolution, 0, make("strides", 1)),
        "strides zero": (convolution, 0, make("strides", [0, 0])),
        "strides negative": (convolution, 0, make("strides", [-1, -1])),
        "strides of three": (convolution, 0, make("strides", [1, 1, 1])),
        "kernel shape negative": (convolution, 3, make("kernel_shape", [-2, -2])),
        "kernel shape absent": (convolution, 3, "kernel_shape"),
        "group text": (convolution, 0, make("group", "one")),
        "group zero": (convolution, 0, make("group", 0)),
        "group indivisible": (convolution, 0, make("group", 2)),
        "group negative": (convolution, 0, make("group", -1)),
        "epsilon graph": (convolution, 1, make("epsilon", GraphProto(name="graph"))),
        "axis text": (attention, 6, make("axis", "two")),
        "axis absent": (attention, 6, "axis"),
        "axis beyond the rank": (attention, 6, make("axis", 99)),
        "axis before the rank": (attention, 6, make("axis", -99)),
        "axis huge": (attention, 6, make("axis", 2**62)),
        "axis tensor": (attention, 6, make("axis", integers("axis", [2]))),
        "perm text": (attention, 2, make("perm", ["0", "1"])),
        "perm repeated": (attention, 2, make("perm", [0, 0, 1, 2])),
        "perm too short": (attention, 2, make("perm", [1, 0])),
        "perm out of range": (attention, 2, make("perm", [0, 1, 2, 9])),
        "softmax axis beyond": (attention, 4, make("axis", 17)),
    }
    for label, (build, index, attribute) in wrong.items():
        yield label, REJECT, with_attribute(build, index, attribute)
    extreme = {
        "pads huge": (convolution, 0, make("pads", [2**40] * 4)),
        "pads overflowing": (convolution, 0, make("pads", [2**63 - 1] * 4)),
        "pads negative": (convolution, 0, make("pads", [-100] * 4)),
        "dilations huge": (convolution, 0, make("dilations", [2**62, 2**62])),
        "strides huge": (convolution, 3, make("strides", [2**62, 2**62])),
        "kernel shape huge": (convolution, 3, make("kernel_shape", [2**62, 2**62])),
        "then branch absent": (branches, 0, "then_branch"),
        "loop body absent": (branches, 1, "body"),
        "loop body a number": (branches, 1, make("body", 1)),
        "unknown name": (attention, 4, make("unheard_of", 1)),
        "epsilon not a number": (convolution, 1, make("epsilon", float("nan"))),
    }
    for label, (build, index, attribute) in extreme.items():
        yield label, EITHER, with_attribute(build, index, attribute)
    base = attention()
    base.graph.node[6].attribute.append(base.graph.node[6].attribute[0])
    yield "twice", REJECT, base
    base = attention()
    base.graph.node[6].attribute[0].type = AttributeProto.UNDEFINED
    yield "type undefined", EITHER, base
    base = attention()
    base.graph.node[6].attribute[0].type = AttributeProto.FLOAT
    yield "type contradicts value", REJECT, base
    base = attention()
    base.graph.node[6].attribute[0].name = ""
    yield "no name", EITHER, base
    base = attention()
    base.graph.node[6].attribute[0].ref_attr_name = "outer"
    yield "reference outside of a function", REJECT, base


@damage("function")
def functions():
    def calling(name, bodies, domains=("local",)):
        nodes = [node(name, "x", "y", domain="local")]
        return model(nodes, [value("x", [2])], [value("y", [2])], functions=bodies, domains=domains)

    def call(name, source, target):
        return node(name, source, target, domain="local")

    yield "calls itself", REJECT, calling("F", [function("F", "x", "y", [call("F", "x", "y")])])
    yield "call each other", REJECT, calling("F", [function("F", "x", "y", [call("G", "x", "y")]),
                                                    function("G", "x", "y", [call("F", "x", "y")])])
    ring = [function(f"F{index}", "x", "y", [call(f"F{(index + 1) % 50}", "x", "y")]) for index in range(50)]
    yield "ring of fifty", REJECT, calling("F0", ring)
    inner = helper.make_graph([call("F", "x", "a")], "inner", [], [value("a", [2])])
    yield "calls itself in a subgraph", REJECT, calling("F", [function("F", "x", "y", [
        node("Constant", "", "flag", value=helper.make_tensor("flag", 9, [], [True])),
        node("If", "flag", "y", then_branch=inner, else_branch=inner)])])
    deep = [function(f"F{index}", "x", "y", [call(f"F{index + 1}", "x", "y")]) for index in range(2000)]
    yield "two thousand deep", EITHER, calling("F0", [*deep, function("F2000", "x", "y", [node("Relu", "x", "y")])])
    doubling = [function(f"F{index}", "x", "y", [call(f"F{index + 1}", "x", "a"), call(f"F{index + 1}", "a", "y")])
                for index in range(40)]
    yield "two to the fortieth nodes", EITHER, calling("F0", [*doubling,
                                                              function("F40", "x", "y", [node("Relu", "x", "y")])])
    yield "body without nodes", REJECT, calling("F", [function("F", "x", "y", [])])
    yield "no domain import", REJECT, calling("F", [function("F", "x", "y", [node("Relu", "x", "y")])], domains=())
    yield "too many arguments", REJECT, model([node("F", "x x", "y", domain="local")], [value("x", [2])],
                                              [value("y", [2])], domains=["local"],
                                              functions=[function("F", "x", "y", [node("Relu", "x", "y")])])
    yield "cyclic body", REJECT, calling("F", [function("F", "x", "y", [node("Relu", "a", "b"), node("Neg", "b", "a"),
                                                                        node("Add", "a x", "y")])])


@damage("deep graph")
def deep():
    for length in (10_000, 100_000):
        links = [("Relu" if index % 2 else "Neg", f"v{index}" if index else "x", f"v{index + 1}")
                 for index in range(length)]
        yield f"chain of {length}", EITHER, chain([*links, ("Neg", f"v{length}", "y")])
    doubling = [node("Add", f"v{index} v{index}" if index else "x x", f"v{index + 1}") for index in range(10_000)]
    yield "diamonds of 10000", EITHER, model([*doubling, node("Neg", "v10000", "y")], [value("x", [2])],
                                             [value("y", [2])])
    wide = [node("Relu", "x", f"v{index}") for index in range(10_000)]
    names = " ".join(f"v{index}" for index in range(10_000))
    yield "sum of 10000", EITHER, model([*wide, node("Sum", names, "y")], [value("x", [2])], [value("y", [2])])
    for depth in (3, 30):
        yield f"subgraphs {depth} deep", EITHER, nested_branches(depth)


def nested_branches(depth):
    """Protobuf by default gives up after a hundred nested messages, three of which make one level here."""
    leaf = helper.make_graph([node("Relu", "x", "leaf")], "leaf_graph", [], [value("leaf", [2])])
    graph = leaf
    for level in range(depth):
        name = f"level{level}"
        branch = node("If", "flag", name, then_branch=graph, else_branch=leaf)
        graph = helper.make_graph([branch], f"{name}_graph", [], [value(name, [2])])
    graph.input.extend([value("flag", [], 9), value("x", [2])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@damage("opset")
def opsets():
    for version, expect in ((0, REJECT), (-1, REJECT), (-(2**63), REJECT), (10**9, EITHER), (2**63 - 1, EITHER),
                            (1, EITHER)):
        base = perceptron()
        base.opset_import[0].version = version
        yield f"version {version}", expect, base
    for name, base in every_built_model():
        del base.opset_import[:]
        yield f"none {name}", REJECT, base
    base = perceptron()
    base.opset_import[0].domain = "elsewhere"
    yield "only another domain", REJECT, base
    base = perceptron()
    base.opset_import.append(helper.make_opsetid("", 9))
    yield "two versions", EITHER, base
    base = perceptron()
    base.graph.node[2].domain = "not.imported"
    yield "domain not imported", REJECT, base
    for version in (0, -1, 2**63 - 1):
        base = perceptron()
        base.ir_version = version
        yield f"IR version {version}", EITHER, base


@damage("incomplete model")
def incomplete():
    base = perceptron()
    base.ClearField("graph")
    yield "no graph", REJECT, base
    base = perceptron()
    del base.graph.node[:]
    yield "no nodes", REJECT, base
    base = perceptron()
    del base.graph.output[:]
    yield "no outputs", EITHER, base
    base = perceptron()
    base.graph.name = ""
    yield "graph without name", EITHER, base
    base = perceptron()
    base.graph.input[0].ClearField("type")
    yield "input without type", EITHER, base
    base = perceptron()
    base.graph.input[0].name = ""
    yield "input without name", REJECT, base
    base = perceptron()
    base.graph.output[0].ClearField("type")
    yield "output without type", EITHER, base

