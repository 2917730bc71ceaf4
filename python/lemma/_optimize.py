"""Making models cheaper."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ._errors import error_of
from ._models import Model, as_file, private_folder, read_as
from ._options import Shapes, option_words, shape_words
from ._program import run_for_json
from ._report import Report, report_of

if TYPE_CHECKING:
    import onnx

_WRITTEN = (0, 4)  # exit codes: with 4, the original was written because every result failed its check


def _work(
    command: str, model: Model, output: str | os.PathLike[str] | None, words: Sequence[str]
) -> tuple[Any, Report]:
    with private_folder(model) as folder:
        source = as_file(model, folder)
        target = Path(output) if output is not None else folder / "result.onnx"
        # The model is first: some options take all words that follow.
        answer = run_for_json([command, source, "-o", str(target), *words], _WRITTEN)["models"][0]
        if answer["output"] is None:
            raise error_of(1, f"lemma: {answer['model']}: {answer['message']}")
        report = report_of(answer)
        return (target if output is not None else read_as(model, target)), report


# fmt: off
@overload
def optimize(model: Model, *, output: str | os.PathLike[str], target: str | None = ...,
             device: str | os.PathLike[str] | None = ..., shapes: Shapes | None = ..., time_limit: float | None = ...,
             memory_limit: int | str | None = ..., strategy: str | None = ..., rounding_class: str | None = ...,
             rules: str | os.PathLike[str] | None = ..., only_rules: str | None = ..., measure: bool = ...,
             second_judge: bool = ..., runtime_operators: bool = ..., samples: int | None = ...,
             relative_tolerance: float | None = ..., absolute_tolerance: float | None = ..., seed: int | None = ...,
             threads: int | None = ..., external_data: bool = ...) -> tuple[Path, Report]: ...
@overload
def optimize(model: onnx.ModelProto, *, output: None = ..., target: str | None = ...,
             device: str | os.PathLike[str] | None = ..., shapes: Shapes | None = ..., time_limit: float | None = ...,
             memory_limit: int | str | None = ..., strategy: str | None = ..., rounding_class: str | None = ...,
             rules: str | os.PathLike[str] | None = ..., only_rules: str | None = ..., measure: bool = ...,
             second_judge: bool = ..., runtime_operators: bool = ..., samples: int | None = ...,
             relative_tolerance: float | None = ..., absolute_tolerance: float | None = ..., seed: int | None = ...,
             threads: int | None = ..., external_data: bool = ...) -> tuple[onnx.ModelProto, Report]: ...
@overload
def optimize(model: bytes | str | os.PathLike[str], *, output: None = ..., target: str | None = ...,
             device: str | os.PathLike[str] | None = ..., shapes: Shapes | None = ..., time_limit: float | None = ...,
             memory_limit: int | str | None = ..., strategy: str | None = ..., rounding_class: str | None = ...,
             rules: str | os.PathLike[str] | None = ..., only_rules: str | None = ..., measure: bool = ...,
             second_judge: bool = ..., runtime_operators: bool = ..., samples: int | None = ...,
             relative_tolerance: float | None = ..., absolute_tolerance: float | None = ..., seed: int | None = ...,
             threads: int | None = ..., external_data: bool = ...) -> tuple[bytes, Report]: ...
# fmt: on
def optimize(
    model: Model,
    *,
    output: str | os.PathLike[str] | None = None,
    target: str | None = None,
    device: str | os.PathLike[str] | None = None,
    shapes: Shapes | None = None,
    time_limit: float | None = None,
    memory_limit: int | str | None = None,
    strategy: str | None = None,
    rounding_class: str | None = None,
    rules: str | os.PathLike[str] | None = None,
    only_rules: str | None = None,
    measure: bool = True,
    second_judge: bool = True,
    runtime_operators: bool = False,
    samples: int | None = None,
    relative_tolerance: float | None = None,
    absolute_tolerance: float | None = None,
    seed: int | None = None,
    threads: int | None = None,
    external_data: bool = False,
) -> tuple[Any, Report]:
    """Searches for a cheaper model that computes the same, and checks it: `lemma optimize`.

    The result is of the kind of `model`: a message for a message, and bytes for bytes or a path. With `output`, a
    path, it is written there, and the path comes back; models that keep weights in files of their own need that.

    target              what it is to run on: "onnxruntime-cpu" (candidates are run, and the original is kept unless
                        one is faster; the default), "cpu" or "cuda" (predicted)
    shapes              sizes of inputs by name, such as {"x": [1, 3, 224, 224]}; a word keeps one dynamic
    time_limit          seconds, from reading to writing (20)
    memory_limit        bytes, or a text such as "2G"
    rounding_class      "bitwise", "reassociation", "distributive" or "rounding" (the default): which rules may be
                        used, by what they do to floating-point results
    measure             False: the cheapest by prediction is taken

    The others are those of the command line. What is not given is left to the program.
    """
    words = shape_words(shapes) + option_words(
        {
            "--target": target,
            "--device": device,
            "--time-limit": time_limit,
            "--memory": memory_limit,
            "--strategy": strategy,
            "--rounding-class": rounding_class,
            "--rules": rules,
            "--only-rules": only_rules,
            "--no-measure": not measure,
            "--no-second-judge": not second_judge,
            "--runtime-operators": runtime_operators,
            "--check": samples,
            "--rtol": relative_tolerance,
            "--atol": absolute_tolerance,
            "--seed": seed,
            "--threads": threads,
            "--external-data": external_data,
        }
    )
    return _work("optimize", model, output, words)


# fmt: off
@overload
def simplify(model: Model, *, output: str | os.PathLike[str], shapes: Shapes | None = ...,
             time_limit: float | None = ..., second_judge: bool = ...) -> tuple[Path, Report]: ...
@overload
def simplify(model: onnx.ModelProto, *, output: None = ..., shapes: Shapes | None = ...,
             time_limit: float | None = ..., second_judge: bool = ...) -> tuple[onnx.ModelProto, Report]: ...
@overload
def simplify(model: bytes | str | os.PathLike[str], *, output: None = ..., shapes: Shapes | None = ...,
             time_limit: float | None = ..., second_judge: bool = ...) -> tuple[bytes, Report]: ...
# fmt: on
def simplify(
    model: Model,
    *,
    output: str | os.PathLike[str] | None = None,
    shapes: Shapes | None = None,
    time_limit: float | None = None,
    second_judge: bool = True,
) -> tuple[Any, Report]:
    """Takes constants, identities and duplicates away, without a search, and keeps every bit: `lemma simplify`."""
    words = shape_words(shapes) + option_words({"--time-limit": time_limit, "--no-second-judge": not second_judge})
    return _work("simplify", model, output, words)
