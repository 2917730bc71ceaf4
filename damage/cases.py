"""What a case of the corpus is, and the list of the functions that make them."""

from dataclasses import dataclass, field

REJECT = "reject"  # no reader may accept the file
EITHER = "either"  # harmless damage, a matter of taste, or a sound model that is hard to process


@dataclass
class Link:
    """A symbolic link beside the model."""

    target: str


class Pipe:
    """A named pipe beside the model."""


class Folder:
    """A folder in place of a file."""


@dataclass
class Case:
    kind: str
    label: str
    expect: str
    content: object  # bytes, or a Folder or Link in place of the model, or None for no file at all
    beside: dict = field(default_factory=dict)  # name -> bytes, Link, Pipe or Folder


MAKERS = []


def damage(kind):
    """Registers a function that yields (label, expect, model or bytes[, files beside it])."""

    def register(function):
        def make():
            for label, expect, content, *beside in function():
                if hasattr(content, "SerializeToString"):
                    content = content.SerializeToString(deterministic=True)
                yield Case(kind, label, expect, content, beside[0] if beside else {})

        MAKERS.append(make)
        return function

    return register


def structured_cases():
    return [case for make in MAKERS for case in make()]
