"""Keyword arguments as options of the program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Optional, Union

from ._errors import InputError

Shapes = Mapping[str, Sequence[Union[int, str]]]
"""Sizes of inputs by name; a word keeps a size dynamic."""

Value = Optional[Union[str, int, float, bool, "os.PathLike[str]"]]


def path_word(path: str | os.PathLike[str]) -> str:
    """A path that the program does not take for an option."""
    word = os.fspath(path)
    return os.path.join(".", word) if word.startswith("-") else word


def shape_words(shapes: Shapes | None) -> list[str]:
    words = []
    for name, sizes in (shapes or {}).items():
        if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Sequence):
            raise InputError(f"the shape of '{name}' is a list of sizes; this is {sizes!r}")
        words += ["--shape", f"{name}:{','.join(str(size) for size in sizes)}"]
    return words


def option_words(options: Mapping[str, Value]) -> list[str]:
    """An option without a value is left to the program; one that is true is a flag."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append(name)
        if value is not True:
            words.append(path_word(value) if isinstance(value, os.PathLike) else str(value))
    return words
