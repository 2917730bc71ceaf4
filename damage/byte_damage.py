"""Damage to bytes: truncation, flipped bits, overwritten stretches, files that are no models at all."""

import itertools
import random

from google.protobuf.message import DecodeError
from onnx import ModelProto

from base_models import perceptron
from cases import EITHER, REJECT, Case, Folder, Link, damage


@damage("not a model")
def strangers():
    shuffle = random.Random(7)
    yield "empty", REJECT, b""
    yield "one byte", REJECT, b"\x08"
    yield "text", REJECT, b"This is not the model you are looking for.\n" * 20
    yield "JSON", REJECT, b'{"ir_version": 8, "graph": {"node": []}}\n'
    yield "zeros", REJECT, b"\0" * 4096
    yield "ones", REJECT, b"\xff" * 4096
    yield "picture", REJECT, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + shuffle.randbytes(500)
    yield "archive", REJECT, b"PK\x03\x04" + shuffle.randbytes(500)
    yield "pointer of a large file store", REJECT, (b"version https://git-lfs.github.com/spec/v1\n"
                                                     b"oid sha256:" + b"0" * 64 + b"\nsize 123\n")
    yield "endless length", REJECT, b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
    yield "endless number", REJECT, b"\x08" + b"\xff" * 30
    yield "nested groups", REJECT, b"\x0b" * 100_000
    yield "nested messages", REJECT, nested_messages(5_000)
    for index in range(12):
        yield f"noise {index}", REJECT, b"\x0f" + shuffle.randbytes(50 * (index + 1))
    content = perceptron().SerializeToString(deterministic=True)
    yield "model twice", EITHER, content + content
    yield "text after the model", REJECT, content + b"\nand some words"
    yield "text before the model", REJECT, b"words and a line break\n" + content
    yield "unknown field after the model", EITHER, content + b"\xfa\x7f\x03abc"
    yield "no such file", REJECT, None
    yield "a folder", REJECT, Folder()
    yield "a dangling link", REJECT, Link("nowhere.onnx")
    yield "a link to itself", REJECT, Link("a_link_to_itself.onnx")


def nested_messages(depth):
    """Graphs in attributes of nodes of graphs, without end."""
    content = b""
    for _ in range(depth):
        for tag in (b"\x32", b"\x2a", b"\x0a"):  # AttributeProto.g, NodeProto.attribute, GraphProto.node
            content = tag + length_prefix(len(content)) + content
    return b"\x08\x08\x3a" + length_prefix(len(content)) + content


def length_prefix(number):
    result = b""
    while number >= 128:
        result += bytes([number & 127 | 128])
        number >>= 7
    return result + bytes([number])


def parses(content):
    try:
        return ModelProto.FromString(content).HasField("graph")
    except DecodeError:
        return False


def truncate(content, generator):
    return content[:generator.randrange(1, len(content))]


def flip(content, generator):
    """One to four bits, anywhere."""
    changed = bytearray(content)
    for _ in range(generator.randint(1, 4)):
        changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
    return bytes(changed)


def overwrite(content, generator):
    start = generator.randrange(len(content))
    stretch = generator.randint(1, 16)
    filling = generator.choice([b"\0" * stretch, b"\xff" * stretch, generator.randbytes(stretch)])
    return content[:start] + filling + content[start + stretch:]


def remove(content, generator):
    start = generator.randrange(len(content))
    return content[:start] + content[start + generator.randint(1, 16):]


def repeat(content, generator):
    start = generator.randrange(len(content))
    end = min(len(content), start + generator.randint(1, 64))
    return content[:end] + content[start:end] + content[end:]


# Flips come up twice as often as the rest.
WAYS = {"truncated": truncate, "bits flipped": flip, "stretch overwritten": overwrite, "more bits flipped": flip,
        "stretch removed": remove, "stretch repeated": repeat}


def random_cases(models, seed):
    """Endless damage to the given sound models; what no protobuf reader can parse must be rejected."""
    generator = random.Random(seed)
    contents = [(name, model.SerializeToString(deterministic=True)) for name, model in models.items()]
    for way, (name, content) in zip(itertools.cycle(WAYS), shuffled_forever(contents, generator)):
        changed = WAYS[way](content, generator)
        if changed != content:
            kind = way.removeprefix("more ")
            yield Case(kind, name, EITHER if parses(changed) else REJECT, changed)


def shuffled_forever(entries, generator):
    while True:
        order = list(entries)
        generator.shuffle(order)
        yield from order
