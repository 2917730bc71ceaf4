"""Changes of programs with library calls in one place each: of the graph's edges, of what calls are given, of copies and of
the memory that calls work in. They are taken as those of cuda_mutants are."""

import re

GRAPH, PROGRAM = "graph.cuh", "sample.cu"
LOCATION = r"\{(\d), (\d+)\}"
MATRIX = r"\{\d+, (?P<%s_columns>\d+), (?P<%s_leading>\d+), (?P<%s_stride>\d+), (?P<%s_turned>true|false), (?P<%s_at>\{\d, \d+\})\}"
PRODUCT = re.compile(r"^    \{CUDA_R_\w+, (?P<batches>\d+), " + ", ".join(MATRIX % ((name,) * 5) for name in "abd")
                     + r", Addend::(?P<addend>\w+), \{\d, \d+\}, (?P<relu>true|false), (?P<factor>\S+f), \S+f\},$", re.MULTILINE)
CONVOLUTION = re.compile(r"^    \{CUDNN_DATA_\w+, \d, .*, \{(?P<pads>[\d, ]+)\}, (?P<bias>true|false), (?P<relu>true|false), "
                         r"(?P<input>\{\d, \d+\}), \{\d, \d+\}, \{\d, \d+\}, (?P<at>\{\d, \d+\})\},$", re.MULTILINE)
POOL = re.compile(r"^    \{CUDNN_DATA_\w+, CUDNN_POOLING_\w+, .*, \{(?P<pads>[\d, ]+)\}, (?P<input>\{\d, \d+\}), "
                  r"(?P<at>\{\d, \d+\})\},$", re.MULTILINE)
CALL = re.compile(r"\{CallKind::\w+, \d+, (?P<workspace>\d+)\}")
NODE = re.compile(r"\{NodeKind::(?P<kind>\w+), \d+, (?P<first>\d+), (?P<count>\d+), (?P<offset>\d+), (?P<bytes>\d+)\}")


def opposite(truth):
    return "false" if truth == "true" else "true"


def moved(location):
    """64 bytes further: still aligned as most calls expect."""
    arena, offset = re.fullmatch(LOCATION, location).groups()
    return f"{{{arena}, {int(offset) + 64}}}"


def changed(match, **texts):
    """The begin, the end and the new text of what a pattern matched, with other texts for its groups."""
    text, begin = match[0], match.start()
    for name in sorted(texts, key=match.start, reverse=True):
        text = text[:match.start(name) - begin] + str(texts[name]) + text[match.end(name) - begin:]
    return match.start(), match.end(), text


def product_changes(match):
    yield "operands of a product exchanged", changed(match, a_at=match["b_at"], b_at=match["a_at"])
    for name in "abd":
        if match[f"{name}_columns"] != "1":
            yield "leading dimension changed", changed(match, **{f"{name}_leading": int(match[f"{name}_leading"]) + 1})
        if match["batches"] != "1":
            yield "stride of batches changed", changed(match, **{f"{name}_stride": int(match[f"{name}_stride"]) + 1})
    for name in "ab":
        yield "transposition turned round", changed(match, **{f"{name}_turned": opposite(match[f"{name}_turned"])})
    if match["addend"] != "none":
        yield "addend dropped", changed(match, addend="none")
    yield "factor of a product changed", changed(match, factor="0.75f")
    yield "Relu turned round", changed(match, relu=opposite(match["relu"]))
    yield "result of a call moved", changed(match, d_at=moved(match["d_at"]))


def window_changes(match):
    yield "operand read from another place", changed(match, input=moved(match["input"]))
    yield "result of a call moved", changed(match, at=moved(match["at"]))
    yield "padding changed", changed(match, pads=re.sub(r"^\d+", lambda pad: str(int(pad[0]) ^ 1), match["pads"]))
    if "relu" in match.groupdict():
        yield "Relu turned round", changed(match, relu=opposite(match["relu"]))
        if match["bias"] == "true":
            yield "addend dropped", changed(match, bias="false")


def node_changes(match):
    first, count = int(match["first"]), int(match["count"])
    if count > 0:
        yield "first edge into a node dropped", changed(match, first=first + 1, count=count - 1)
    if count > 1:
        yield "last edge into a node dropped", changed(match, count=count - 1)
    if match["kind"] in ("input", "output"):
        yield "copy too short", changed(match, bytes=int(match["bytes"]) - 4)
        yield "copy from or to another place", changed(match, offset=int(match["offset"]) + 64)


def call_changes(match):
    if match["workspace"] != "0":
        yield "workspace of another call", changed(match, workspace=0)


# Kind, what is replaced, by what, in the program's own text. The second is where the first node may read.
MEMORY = [("workspaces overlap", re.compile(r"bytes \+= \(workspaces\[i\]\.bytes.*;"), ";"),
          ("workspace among tensors", re.compile(r"places\[i\] = bytes;"), "places[i] = 0;"),
          ("workspace among counters", re.compile(r"places\[i\] = bytes;"), "places[i] = state_offset;"),
          ("calls not on the stream of the graph", re.compile(r"node\.kind == NodeKind::call \? issue\(node\.number\)"),
           "node.kind == NodeKind::call ? sample_ok")]


def sites(directory):
    """(kind, file, begin, end, new text) for each change of the source in a directory."""
    graph, program = (directory / GRAPH).read_text(), (directory / PROGRAM).read_text()
    found = []
    for pattern, changes in ((PRODUCT, product_changes), (CONVOLUTION, window_changes), (POOL, window_changes),
                             (CALL, call_changes), (NODE, node_changes)):
        for match in pattern.finditer(graph):
            found += [(kind, GRAPH, *where) for kind, where in changes(match)]
    for kind, pattern, new in MEMORY:
        found += [(kind, PROGRAM, match.start(), match.end(), new) for match in pattern.finditer(program)]
    return found
