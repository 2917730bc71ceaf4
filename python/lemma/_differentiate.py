"""Steps of training."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, overload

from ._models import Message, Model, as_file, private_folder, read_as
from ._options import Shapes, option_words, path_word, shape_words
from ._program import run

# fmt: off
@overload
def differentiate(model: Model, *, output: str | os.PathLike[str], loss: str | None = ..., parameters: str | None = ...,
                  optimizer: str | None = ..., loss_scale: float | None = ...,
                  mixed_precision: str | None = ..., momentum: float | None = ...,
                  betas: tuple[float, float] | None = ..., epsilon: float | None = ...,
                  weight_decay: float | None = ..., memory_limit: int | str | None = ...,
                  shapes: Shapes | None = ...) -> Path: ...
@overload
def differentiate(model: Message, *, output: None = ..., loss: str | None = ..., parameters: str | None = ...,
                  optimizer: str | None = ..., loss_scale: float | None = ...,
                  mixed_precision: str | None = ..., momentum: float | None = ...,
                  betas: tuple[float, float] | None = ..., epsilon: float | None = ...,
                  weight_decay: float | None = ..., memory_limit: int | str | None = ...,
                  shapes: Shapes | None = ...) -> Message: ...
@overload
def differentiate(model: bytes | str | os.PathLike[str], *, output: None = ..., loss: str | None = ...,
                  parameters: str | None = ..., optimizer: str | None = ..., loss_scale: float | None = ...,
                  mixed_precision: str | None = ..., momentum: float | None = ...,
                  betas: tuple[float, float] | None = ..., epsilon: float | None = ...,
                  weight_decay: float | None = ..., memory_limit: int | str | None = ...,
                  shapes: Shapes | None = ...) -> bytes: ...
# fmt: on
def differentiate(
    model: Model,
    *,
    output: str | os.PathLike[str] | None = None,
    loss: str | None = None,
    parameters: str | None = None,
    optimizer: str | None = None,
    loss_scale: float | None = None,
    mixed_precision: str | None = None,
    momentum: float | None = None,
    betas: tuple[float, float] | None = None,
    epsilon: float | None = None,
    weight_decay: float | None = None,
    memory_limit: int | str | None = None,
    shapes: Shapes | None = None,
) -> Any:
    """A step of training of the model, as a model: `lemma differentiate`. docs/gradients.md says what its inputs and outputs
    are. `loss` is "cross-entropy" (the default), "mse", or the name of an output that is the loss; `parameters` names what is
    trained, with * and ?; `optimizer` is "sgd" (the default), "momentum", "adam", "adamw", or "none" for gradients as outputs.
    `mixed_precision` is "f16" or "bf16".
    `memory_limit` is bytes of what nodes compute, as 64M, or "least" (docs/memory.md). None leaves a number to the program. A file given by `output` is written, and its path returned."""
    first, second = betas if betas is not None else (None, None)
    words = shape_words(shapes) + option_words(
        {
            "--loss": loss,
            "--wrt": parameters,
            "--optimizer": optimizer,
            "--loss-scale": loss_scale,
            "--mixed-precision": mixed_precision,
            "--momentum": momentum,
            "--beta1": first,
            "--beta2": second,
            "--epsilon": epsilon,
            "--weight-decay": weight_decay,
            "--memory-limit": memory_limit,
        }
    )
    with private_folder(model) as folder:
        result = folder / "step.onnx" if output is None else Path(output)
        run(["differentiate", as_file(model, folder), "-o", path_word(result), *words])
        return read_as(model, result) if output is None else result
