"""Looking at models: what they consist of, how two of them differ, and how long their operators take."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ._cancel import CancelEvent
from ._models import Model, as_file, private_folder
from ._options import Shapes, option_words, shape_words
from ._program import run, run_for_json


@dataclass(frozen=True)
class Inspection:
    """The main figures; `details` has all of them under the names of `lemma inspect --json`."""

    operators: Mapping[str, int]
    """How many of each there are; those that Lemma cannot see into are among them."""
    opaque: Mapping[str, str]
    """Operators that Lemma cannot see into, and why."""
    parameters: int
    flops: float
    """Of one run, where sizes are known."""
    bytes: float
    cost: float
    """Seconds, as predicted for the device."""
    details: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Difference:
    """What differs between two files. `details` has it by section (inputs, operators, weights, ...)."""

    equal: bool
    same_program: bool
    """The graphs are the same node by node, whatever names and metadata are."""
    details: Mapping[str, Any]

    def __bool__(self) -> bool:
        return not self.equal


def inspect(
    model: Model,
    *,
    shapes: Shapes | None = None,
    device: str | os.PathLike[str] | None = None,
    picture: str | os.PathLike[str] | None = None,
) -> Inspection:
    """What a model consists of and what it costs: `lemma inspect`. `picture` is a file for Graphviz; an SVG file is written
    next to it."""
    words = shape_words(shapes) + option_words({"--device": device, "--dot": picture})
    with private_folder(model) as folder:
        answer = run_for_json(["inspect", as_file(model, folder), *words])
    return Inspection(
        operators={row["name"]: row["count"] for row in answer["operators"]},
        opaque={row["name"]: row["reason"] for row in answer["opaque"]},
        parameters=answer["parameters"],
        flops=answer["flops"],
        bytes=answer["bytes"],
        cost=answer["cost"],
        details=answer,
    )


def text_of(model: Model, *, shapes: Shapes | None = None) -> str:
    """The graph in its textual form: `lemma inspect --text`."""
    with private_folder(model) as folder:
        return run(["inspect", as_file(model, folder), "--text", *shape_words(shapes)])


def diff(original: Model, other: Model, *, page: str | os.PathLike[str] | None = None) -> Difference:
    """What differs between two models, in what they say: `lemma diff`. `verify` compares what they compute. `page` is a
    file for pictures of both."""
    with private_folder(original, other) as folder:
        files = [as_file(original, folder, "original.onnx"), as_file(other, folder, "other.onnx")]
        answer = run_for_json(["diff", *files, *option_words({"--html": page})], (0, 4))
    return Difference(answer["equal"], answer["same_program"], answer["differences"])


def profile(
    models: Model | Sequence[Model],
    *,
    target: str | None = None,
    database: str | os.PathLike[str] | None = None,
    shapes: Shapes | None = None,
    size: int | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
    hold_out_all: bool = False,
    cancel: CancelEvent | None = None,
) -> Mapping[str, Any]:
    """Measures the operators of models, and keeps the times in a database for `optimize(..., costs="measured")`:
    `lemma profile`, whose figures for each model come back under the names of `lemma profile --json`."""
    is_one = isinstance(models, (str, bytes, os.PathLike)) or not isinstance(models, Sequence)
    several: Sequence[Model] = [cast(Model, models)] if is_one else cast("Sequence[Model]", models)
    words = shape_words(shapes) + option_words(
        {
            "--target": target,
            "--database": database,
            "--size": size,
            "--threads": threads,
            "--time-limit": time_limit,
            "--hold-out-all": hold_out_all,
        }
    )
    with private_folder(*several) as folder:
        files = [as_file(model, folder, f"model_{i}.onnx") for i, model in enumerate(several)]
        answer: Mapping[str, Any] = run_for_json(["profile", *files, *words], cancel=cancel)
    return answer
