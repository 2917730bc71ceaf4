"""Making models cheaper."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ._cancel import CancelEvent
from ._errors import Error, InputError, error_of
from ._models import Message, Model, as_file, private_folder, read_as
from ._options import OPTIMIZE_OPTIONS, SIMPLIFY_OPTIONS, OptimizeOptions, SimplifyOptions, words_of
from ._pictures import is_notebook
from ._program import run_for_json
from ._report import Report, report_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Exit codes: with 4, the original was written because every result failed its check; with 7, the result uses rules
# without proof, which the report names.
_WRITTEN = (0, 4, 7)
_EACH_ANSWERED = (0, 2, 3, 4)  # of many models: with 2 and 3, some could not be worked on
_STEP = re.compile(r"\[([0-9.]+) s\] (.*): (.*)")


@dataclass(frozen=True)
class Step:
    """What begins to be done."""

    model: str
    """The file; one in memory has a name of its own."""
    seconds: float
    """Since the call began."""
    text: str
    """Such as "reading" or "saturation with 1316 rules, round 2"."""


Progress = Callable[[Step], None]
"""Called for each step, in the thread of the call. An exception ends the program and is raised by the call."""


@dataclass(frozen=True)
class Result:
    """Of one of many models."""

    model: Any
    """As `optimize` returns it; none where there is an error."""
    report: Report | None
    error: Error | None


def _reader_of(progress: Progress | None) -> Callable[[str], None] | None:
    if progress is None:
        return None

    def read(line: str) -> None:
        if found := _STEP.fullmatch(line):
            progress(Step(found[2], float(found[1]), found[3]))

    return read


def _call(
    words: Sequence[str], accepted: Sequence[int], progress: Progress | None, cancel: CancelEvent | None
) -> Any:
    more = ["--verbose"] if progress is not None else []
    return run_for_json([*words, *more], accepted, _reader_of(progress), cancel=cancel)["models"]


def _work(
    command: str,
    model: Model,
    output: str | os.PathLike[str] | None,
    words: Sequence[str],
    progress: Progress | None,
    cancel: CancelEvent | None,
    pictures: bool = False,
) -> tuple[Any, Report]:
    with private_folder(model) as folder:
        source = as_file(model, folder)
        target = Path(output) if output is not None else folder / "result.onnx"
        page = folder / "report.html"
        if pictures and "--report" not in words:
            words = [*words, "--report", str(page)]
        # The model is first: some options take all words that follow.
        answer = _call([command, source, "-o", str(target), *words], _WRITTEN, progress, cancel)[0]
        if answer["output"] is None:
            raise error_of(1, f"lemma: {answer['model']}: {answer['message']}")
        report = report_of(answer, page.read_text(encoding="utf-8") if page.exists() else "")
        return (target if output is not None else read_as(model, target)), report


def _result_of(answer: Mapping[str, Any], model: Model, is_read: bool) -> Result:
    if answer["output"] is None:
        return Result(None, None, error_of(3, f"lemma: {answer['model']}: {answer['message']}"))
    try:
        written = Path(answer["output"])
        return Result(read_as(model, written) if is_read else written, report_of(answer), None)
    except Error as error:
        return Result(None, None, error)


def _work_on_all(
    command: str,
    models: Sequence[Model],
    output: str | os.PathLike[str] | None,
    jobs: int | None,
    resume: bool,
    words: Sequence[str],
    progress: Progress | None,
    cancel: CancelEvent | None,
) -> list[Result]:
    if isinstance(models, (str, bytes, os.PathLike)):
        raise InputError("several models are a list of them; this is one")
    if not models:
        return []
    with private_folder(*models) as folder:
        given = folder / "given"
        given.mkdir()
        sources = [as_file(model, given, f"model_{i}.onnx") for i, model in enumerate(models)]
        target = Path(output) if output is not None else folder / "results"
        more = ["--resume"] if resume else []
        more += ["--jobs", str(jobs)] if jobs is not None else []
        answers = _call([command, *sources, "--out-dir", str(target), *more, *words], _EACH_ANSWERED, progress, cancel)
        return [_result_of(answer, model, output is None) for answer, model in zip(answers, models)]


# fmt: off
@overload
def optimize(model: Model, *, output: str | os.PathLike[str], progress: Progress | None = ...,
             cancel: CancelEvent | None = ..., pictures: bool | None = ...,
             **options: Unpack[OptimizeOptions]) -> tuple[Path, Report]: ...
@overload
def optimize(model: Message, *, output: None = ..., progress: Progress | None = ...,
             cancel: CancelEvent | None = ..., pictures: bool | None = ...,
             **options: Unpack[OptimizeOptions]) -> tuple[Message, Report]: ...
@overload
def optimize(model: bytes | str | os.PathLike[str], *, output: None = ..., progress: Progress | None = ...,
             cancel: CancelEvent | None = ..., pictures: bool | None = ...,
             **options: Unpack[OptimizeOptions]) -> tuple[bytes, Report]: ...
# fmt: on
def optimize(
    model: Model,
    *,
    output: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    cancel: CancelEvent | None = None,
    pictures: bool | None = None,
    **options: Unpack[OptimizeOptions],
) -> tuple[Any, Report]:
    """Searches for a cheaper model that computes the same, and checks it: `lemma optimize`.

    The result is of the kind of `model`: a message for a message, and bytes for bytes or a path. With `output`, a
    path, it is written there, and the path comes back; models that keep weights in files of their own need that.
    `progress` is called at each step. `cancel`, a `threading.Event`, ends the call when it is set: `Cancelled` is raised, and
    nothing is written. `pictures`: whether the report has pictures of the places that changed, which takes the time of the
    page of `lemma optimize --report`; None: in a notebook. The options are those of the command line (`OptimizeOptions` says what each
    means). What is not given is left to the program.
    """
    return _work("optimize", model, output, words_of(options, OPTIMIZE_OPTIONS), progress, cancel, is_notebook() if pictures is None else pictures)


# fmt: off
@overload
def simplify(model: Model, *, output: str | os.PathLike[str], progress: Progress | None = ...,
             cancel: CancelEvent | None = ..., **options: Unpack[SimplifyOptions]) -> tuple[Path, Report]: ...
@overload
def simplify(model: Message, *, output: None = ..., progress: Progress | None = ...,
             cancel: CancelEvent | None = ..., **options: Unpack[SimplifyOptions]) -> tuple[Message, Report]: ...
@overload
def simplify(model: bytes | str | os.PathLike[str], *, output: None = ..., progress: Progress | None = ...,
             cancel: CancelEvent | None = ..., **options: Unpack[SimplifyOptions]) -> tuple[bytes, Report]: ...
# fmt: on
def simplify(
    model: Model,
    *,
    output: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    cancel: CancelEvent | None = None,
    **options: Unpack[SimplifyOptions],
) -> tuple[Any, Report]:
    """Takes constants, identities and duplicates away, without a search, and keeps every bit: `lemma simplify`."""
    return _work("simplify", model, output, words_of(options, SIMPLIFY_OPTIONS), progress, cancel)


def optimize_all(
    models: Sequence[Model],
    *,
    output: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    cancel: CancelEvent | None = None,
    **options: Unpack[OptimizeOptions],
) -> list[Result]:
    """`lemma optimize` on several models, `jobs` at a time: a result for each, in their order. One that cannot be worked
    on has an error, and the others are not concerned. `output` is a folder, in which results have their models' names;
    with it, `resume` goes on with a call that was ended, by `cancel` or otherwise."""
    return _work_on_all("optimize", models, output, jobs, resume, words_of(options, OPTIMIZE_OPTIONS), progress, cancel)


def simplify_all(
    models: Sequence[Model],
    *,
    output: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    cancel: CancelEvent | None = None,
    **options: Unpack[SimplifyOptions],
) -> list[Result]:
    """`lemma simplify` on several models, as `optimize_all`."""
    return _work_on_all("simplify", models, output, jobs, False, words_of(options, SIMPLIFY_OPTIONS), progress, cancel)
