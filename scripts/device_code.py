"""Facts of the code that nvcc makes of emitted functions: how wide the loads of loops are, how many bytes a thread has in flight
and how many instructions it takes for them. From SASS, as NVIDIA's nvdisasm prints it, or where there is none from PTX, of
which ptxas may still make something else."""

import dataclasses
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "out" / "tools"
SASS_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
FUNCTION = r"(?:kernel|phase)_\d+"


@dataclasses.dataclass
class Instruction:
    kind: str = ""  # "load" of the device's memory, "store", "branch", or another one
    width: int = 4  # bytes of a load
    knows_memory: bool = True  # the load says that it is of the device's memory
    writes: frozenset = frozenset()  # registers
    reads: frozenset = frozenset()
    target: str = ""  # label of a branch


@dataclasses.dataclass
class Loop:
    """An innermost loop that loads from the device's memory."""
    function: str
    instructions: int
    widths: list  # of loads, in bytes
    in_flight: int  # bytes of a thread
    unknown: int  # loads that do not say which memory they are of

    @property
    def bytes(self):
        return sum(self.widths)


def sass_instruction(words, operands):
    name = words.split(".")
    first, _, others = operands.partition(", ")
    width = next((SASS_WIDTHS[word] for word in name if word in SASS_WIDTHS), 4)
    if name[0] == "LDG" or (name[0] == "LD" and "E" in name):
        number = re.fullmatch(r"R(\d+)", first)
        writes = {f"R{int(number[1]) + i}" for i in range(max(1, width // 4))} if number else set()
        return Instruction("load", width, name[0] == "LDG", frozenset(writes), frozenset(re.findall(r"R\d+", others)))
    if name[0] == "BRA":
        target = re.search(r"`\((\.L_x_\d+)\)", operands)
        return Instruction("branch", target=target[1] if target else "")
    kind = "store" if name[0] in ("ST", "STG", "STS") else ""
    return Instruction(kind, reads=frozenset(re.findall(r"R\d+", others)))


def sass_functions(text):
    """By name, the labels and instructions of each function of a kernel, as nvdisasm prints them."""
    functions, body = {}, []
    for line in text.splitlines():
        label = re.fullmatch(r"([$.\w]+):", line)
        if label and re.search(rf"{FUNCTION}E", label[1]) and not label[1].startswith(".L"):
            body = functions.setdefault(re.findall(rf"({FUNCTION})E", label[1])[-1], [])
        elif label and not label[1].startswith(".L"):
            body = []
        elif label:
            body.append(label[1])
        elif code := re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+ )?\s*([A-Z0-9_.]+)\s*(.*?) ;", line):
            body.append(sass_instruction(code[1], code[2]))
    return functions


def ptx_instruction(words, operands):
    name = words.split(".")
    registers = re.findall(r"%\w+", operands)
    if name[0] == "bra":
        return Instruction("branch", target=operands.strip())
    if name[0] == "ld" and name[1:2] not in (["param"], ["shared"], ["local"], ["const"]):
        count = next((int(word[1:]) for word in name if re.fullmatch(r"v\d", word)), 1)
        written = registers[:count]
        width = count * int(re.search(r"\d+", name[-1])[0]) // 8
        return Instruction("load", width, "global" in name, frozenset(written), frozenset(registers[count:]))
    return Instruction("store" if name[0] == "st" and name[1:2] != ["param"] else "", reads=frozenset(registers))


def ptx_functions(text):
    """The same of PTX."""
    functions, body = {}, None
    for line in text.splitlines():
        if line.startswith(".func") or line.startswith(".visible .func") or re.match(r"(\.\w+ )*\.func\b", line):
            name = re.findall(rf"({FUNCTION})E", line)
            body = functions.setdefault(name[-1], []) if name else None
        elif ".entry" in line or line.startswith("}"):
            body = None
        elif body is None:
            continue
        elif label := re.fullmatch(r"(\$\w+):.*", line.strip()):
            body.append(label[1])
        elif code := re.match(r"\s+(?:@!?%\w+ )?\s*([a-z][\w.:]*)\s*([^;]*);", line):
            body.append(ptx_instruction(code[1], code[2]))
    return functions


def loop_spans(body):
    """Where each loop begins and ends."""
    places = {line: at for at, line in enumerate(body) if isinstance(line, str)}
    return [(places[line.target], at) for at, line in enumerate(body)
            if isinstance(line, Instruction) and line.kind == "branch" and places.get(line.target, at) < at]


def instructions_of(body, span):
    return [line for line in body[span[0]:span[1] + 1] if isinstance(line, Instruction)]


def is_inside(inner, outer):
    return inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]


def innermost_loops(body):
    """Instructions of each loop without another one inside."""
    spans = loop_spans(body)
    for span in spans:
        if not any(is_inside(other, span) for other in spans):
            yield instructions_of(body, span)


def instructions_of_step(body, turns):
    """Those of the largest loop; of one with others inside, which are gone through so many times each, where `turns` is more
    than 1."""
    spans = loop_spans(body)
    inner = [span for span in spans if not any(is_inside(other, span) for other in spans)]
    if turns == 1:
        return max((len(instructions_of(body, span)) for span in inner), default=0)
    # The smallest loop that has several inside of it.
    steps = [span for span in spans if sum(is_inside(loop, span) for loop in inner) > 1]
    if not steps:
        return 0
    step = min(steps, key=lambda span: span[1] - span[0])
    return len(instructions_of(body, step)) + (turns - 1) * sum(len(instructions_of(body, loop)) for loop in inner
                                                                if is_inside(loop, step))


def bytes_in_flight(instructions):
    """Those of loads in front of the first use of one of them, or in front of a store."""
    most = running = 0
    loaded = set()
    for instruction in instructions:
        if instruction.kind == "load":
            running += instruction.width
            loaded |= instruction.writes
            most = max(most, running)
        elif loaded & instruction.reads or instruction.kind == "store":
            running, loaded = 0, set()
    return most


def loops_of(functions):
    """The innermost loops with loads of all functions."""
    for name, body in sorted(functions.items()):
        for instructions in innermost_loops(body):
            loads = [instruction for instruction in instructions if instruction.kind == "load"]
            if loads:
                yield Loop(name, len(instructions), [load.width for load in loads], bytes_in_flight(instructions),
                           sum(not load.knows_memory for load in loads))


def facts_of(functions):
    """By function, what its loop has that loads most bytes; nothing of a function without such a loop."""
    facts = {}
    for loop in loops_of(functions):
        if loop.function not in facts or loop.bytes > facts[loop.function].bytes:
            facts[loop.function] = loop
    return {name: {"widest_load_bytes": max(loop.widths), "narrowest_load_bytes": min(loop.widths), "bytes_in_flight": loop.in_flight,
                   "loop_instructions": loop.instructions, "loop_bytes": loop.bytes, "loads_of_unknown_memory": loop.unknown}
            for name, loop in facts.items()}


def disassembler(nvcc=None):
    """nvdisasm: of the search path, beside nvcc, or what `bench/cuda audit --fetch` brought; None where there is none."""
    beside = Path(shutil.which(nvcc) or nvcc).resolve().parent / "nvdisasm" if nvcc else None
    for program in (shutil.which("nvdisasm"), beside, TOOLS / "nvdisasm"):
        if program and Path(program).is_file():
            return str(program)
    return None
