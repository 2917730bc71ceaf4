"""PTX as nvcc writes it, read: variables, functions and their statements (PTX ISA 9.0, chapters 4 and 5)."""

import dataclasses
import re


class Unknown(Exception):
    """What is not read or has no translation."""


@dataclasses.dataclass
class Variable:
    name: str
    kind: str  # of an element: "b8", "u64", ...
    alignment: int
    count: int  # of elements
    values: list  # texts; what is left out is 0


@dataclasses.dataclass
class Function:
    name: str
    is_entry: bool
    results: list
    parameters: list
    body: list


@dataclasses.dataclass
class Label:
    name: str


@dataclasses.dataclass
class Registers:
    kind: str
    names: list


@dataclasses.dataclass
class Instruction:
    words: list  # of its name: ["ld", "global", "f32"]
    operands: list  # texts
    guard: str = ""  # the register that decides
    is_inverted: bool = False

    def text(self):
        return f"{'.'.join(self.words)} {', '.join(self.operands)}"


@dataclasses.dataclass
class Module:
    variables: list
    shared: set  # names of the block's memory
    functions: list


BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


def bytes_of(kind):
    """Of a type, such as "f32"."""
    return BYTES[kind[1:]]


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


def variable(text):
    """One of ".align 8 .b8 name[16] = {...}"."""
    match = re.fullmatch(r"(?:\.align (\d+) )?\.(\w+) ([\w$]+)(\[\d*\])?(?: = (.*))?", " ".join(text.split()))
    if not match:
        raise Unknown(f"variable {text[:200]}")
    alignment, kind, name, count, values = match.groups()
    size = int(count[1:-1] or 0) if count else 1
    return Variable(name, kind, int(alignment or bytes_of(kind)), size,
                    [value.strip() for value in values.strip("{}").split(",")] if values else [])


def parts(text):
    """Text at commas that no bracket encloses."""
    found, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            found.append(text[begin:place].strip())
            begin = place + 1
    return [part for part in [*found, text[begin:].strip()] if part]


def end_of_block(text, begin):
    """The place of the brace that closes the one at `begin`."""
    depth = 0
    for place in range(begin, len(text)):
        depth += text[place] == "{"
        depth -= text[place] == "}"
        if depth == 0:
            return place
    raise Unknown("a block without an end")


def parameters(text):
    return [variable(re.sub(r"^\.param ", "", " ".join(part.split()))) for part in parts(text or "")]


def function(head, body):
    """".func (.param .b32 result) name (.param .b64 first)" with directives behind, or the same of an entry."""
    head = re.sub(r"\.(?:maxntid|minnctapersm|reqntid|maxnreg|noreturn)\b[^\n]*", "", head)
    match = re.fullmatch(r"\s*(?:\.visible |\.weak )?\.(func|entry)\s*(?:\(([^)]*)\))?\s*([\w$]+)\s*(?:\((.*)\))?\s*", head,
                         re.DOTALL)
    if not match:
        raise Unknown(f"function {head[:200]}")
    kind, results, name, given = match.groups()
    return Function(name, kind == "entry", parameters(results), parameters(given), statements(body))


def registers(text):
    """".reg .b32 %r<6>" or ".reg .b32 temporary"."""
    match = re.fullmatch(r"\.reg \.(\w+) (.*)", text)
    names = []
    for name in parts(match[2]):
        several = re.fullmatch(r"(%?[\w$]+)<(\d+)>", name)
        names += [f"{several[1]}{i}" for i in range(int(several[2]))] if several else [name]
    return Registers(match[1], names)


def instruction(text):
    match = re.fullmatch(r"(?:@(!?)(%[\w$]+) )?([a-z][\w.:]*)(?: (.*))?", text)
    if not match:
        raise Unknown(f"statement {text[:200]}")
    inverted, guard, name, operands = match.groups()
    return Instruction(name.replace("::", ".").split("."), parts(operands or ""), guard or "", bool(inverted))


def statements(body):
    """Labels, registers, local parameters, instructions, and the braces of blocks."""
    found, place = [], 0
    while True:
        match = re.compile(r"\s*(?:([{}])|(\$[\w$]+):|([^;{}]*(?:\{[^{}]*\}[^;{}]*)*);)").match(body, place)
        if not match:
            break
        place = match.end()
        brace, label, text = match.groups()
        if brace:
            found.append(brace)
        elif label:
            found.append(Label(label))
        else:
            text = " ".join(text.split())
            if text.startswith(".reg"):
                found.append(registers(text))
            elif text.startswith(".param"):
                found.append(variable(text[len(".param "):]))
            elif text and not text.startswith((".loc", ".pragma")):
                found.append(instruction(text))
    if body[place:].strip():
        raise Unknown(f"statement {body[place:place + 200].strip()}")
    return found


def read(text):
    """A module."""
    text, place = without_comments(text), 0
    module = Module([], set(), [])
    while match := re.compile(r"\s*(\.[a-z]\w*)").match(text, place):
        begin, word = match.start(1), match[1]
        if word in (".version", ".target", ".address_size"):
            place = text.index("\n", begin)
            continue
        brace, end = text.find("{", begin), text.find(";", begin)
        is_variable = re.match(r"(?:\.visible |\.weak |\.extern )?\.(?:global|const|shared)\b", text[begin:])
        if is_variable:
            words = " ".join(text[begin:end].split())
            words = re.sub(r"^(?:\.visible |\.weak |\.extern )?\.(global|const|shared) ", r"\1 ", words)
            space, rest = words.split(" ", 1)
            if space == "shared":
                module.shared.add(variable(rest).name)
            else:
                module.variables.append(variable(rest))
            place = end + 1
        elif end != -1 and (brace == -1 or end < brace):
            place = end + 1  # a declaration
        else:
            last = end_of_block(text, brace)
            module.functions.append(function(text[begin:brace], text[brace + 1:last]))
            place = last + 1
    if text[place:].strip():
        raise Unknown(f"text {text[place:place + 200].strip()}")
    return module
