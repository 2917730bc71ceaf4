"""Comparing two models."""

from __future__ import annotations

from dataclasses import dataclass

from ._cancel import CancelEvent
from ._models import Model, as_file, private_folder
from ._options import Shapes, option_words, shape_words
from ._program import run_for_json


@dataclass(frozen=True)
class Comparison:
    equal: bool
    difference: str
    """The first output that differs, for people."""
    compared_by: str
    """How: "computing" (on random and adversarial inputs), "structure" (the same program, node by node), "parts" (computed
    between nodes that are the same and cannot be computed), "running" (whole, with bodies), "onnx runtime"; or
    "interface", whose difference is one of names or types."""
    samples: int
    """Sets of random inputs."""
    adversarial: int
    """Sets of inputs at the ends of the types, where roundings and overflows show."""
    max_error: float

    def __bool__(self) -> bool:
        return self.equal


def verify(
    original: Model,
    other: Model,
    *,
    shapes: Shapes | None = None,
    samples: int | None = None,
    relative_tolerance: float | None = None,
    absolute_tolerance: float | None = None,
    seed: int | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
    cancel: CancelEvent | None = None,
) -> Comparison:
    """Computes both models on the same inputs, from the definitions of their operators, and compares the outputs:
    `lemma compare`. Models with operators that have no definition are equal where they are the same node by node, or give
    the same when run whole. Where something could not be compared, UnsupportedError names it."""
    words = shape_words(shapes) + option_words(
        {
            "--samples": samples,
            "--rtol": relative_tolerance,
            "--atol": absolute_tolerance,
            "--seed": seed,
            "--time-limit": time_limit,
            "--threads": threads,
        }
    )
    with private_folder(original, other) as folder:
        files = [as_file(original, folder, "original.onnx"), as_file(other, folder, "other.onnx")]
        answer = run_for_json(["compare", *files, *words], (0, 4), cancel=cancel)
    return Comparison(
        equal=answer["equal"],
        difference=answer["difference"],
        compared_by=answer["compared_by"],
        samples=answer["samples"],
        adversarial=answer["adversarial"],
        max_error=answer["max_error"],
    )
