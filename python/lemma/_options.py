"""Keyword arguments as options of the program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal, Optional, TypedDict, Union

from ._errors import InputError

Shapes = Mapping[str, Sequence[Union[int, str]]]
"""Sizes of inputs by name; a word keeps a size dynamic."""

Path = Union[str, "os.PathLike[str]"]

Value = Optional[Union[str, int, float, bool, "os.PathLike[str]"]]


class SimplifyOptions(TypedDict, total=False):
    """Keyword arguments of `simplify`. None leaves one to the program."""

    shapes: Shapes | None
    """Sizes of inputs by name, such as {"x": [1, 3, 224, 224]}; a word keeps one dynamic."""
    sample_shapes: Shapes | None
    """Sizes on which the result is checked; the model keeps its own."""
    time_limit: float | None
    """Seconds, from reading to writing (20)."""
    rounding_class: Literal["bitwise", "reassociation", "distributive", "rounding"] | None
    """"bitwise", "reassociation", "distributive" or "rounding": which rules may be used, by what they do to floating-point
    results."""
    second_judge: bool
    """False: the result is not compared with ONNX Runtime."""
    keep_outputs: Sequence[str] | None
    """Names of the outputs that stay; all others go."""
    max_growth: float | None
    """Percent by which the result's file may be larger."""
    target_opset: int | None
    """Version of the standard operators that the result is written for."""
    fix_defaults: bool
    """True: inputs with a default value become constants."""
    operators: Sequence[Path] | None
    """Libraries of operators from outside."""


class OptimizeOptions(SimplifyOptions, total=False):
    """Keyword arguments of `optimize`."""

    target: str | None
    """What it is to run on: "onnxruntime-cpu" (candidates are run, and the original is kept unless one is faster; the
    default), "cpu" or "cuda" (predicted), "rtask-cpu", "rtask-cuda" or "rtask-hip" (task programs)."""
    device: Path | None
    """Predict for this device: "cpu", "cuda", or the file of a description."""
    measure: bool
    """False: the cheapest by prediction is taken."""
    costs: str | None
    """"analytic" or "measured"."""
    database: Path | None
    """The file of measured times."""
    replay: Path | None
    """A report of the same models and options, whose measured choices are repeated."""
    memory_limit: int | str | None
    """Bytes, or a text such as "2G"."""
    model_time_limit: float | None
    """Seconds after which a model is given up."""
    strategy: Literal["auto", "saturation", "backtracking", "combined", "none"] | None
    """"auto", "saturation", "backtracking", "combined" or "none"."""
    alpha: float | None
    """Backtracking goes on with graphs that cost less than this times the best."""
    budget: int | None
    """Graphs that backtracking expands."""
    node_limit: int | None
    """Nodes of the e-graph."""
    exact_extraction: float | None
    """Seconds for exact extraction."""
    rules: Path | None
    """A folder of proved rules."""
    unproved: Sequence[Path] | Path | None
    """Files of rules that are used without proof; Report.rules_without_proof says which the result uses."""
    only_rules: str | None
    """A regular expression that is part of the names of the rules in use."""
    target_values: Sequence[int] | None
    """What free parameters of rules are tried with."""
    partial_rules: bool
    """True: images may be put beside each other, and the like: the rules with the role `partial`."""
    runtime_operators: bool
    """True: the result may have operators of ONNX Runtime's own."""
    runtime: str | None
    """The same for the runtime of a library of operators."""
    samples: int | None
    """Random inputs on which the result is compared."""
    relative_tolerance: float | None
    absolute_tolerance: float | None
    seed: int | None
    threads: int | None
    external_data: bool
    """True: weights are written to a file of their own."""
    keep_original: bool
    """True: where nothing faster is found, the original's bytes come back, not a model that is only simpler."""
    explanation: Path | None
    """A file for why the result is equal; lemma-check replays it."""
    trace: Path | None
    """A folder for the graph after each step, as text."""
    report: Path | None
    """A file for a report: a page if it ends in .html, else JSON."""


# By keyword. "!": a flag for what is not so; "+": once for each element; ",": the elements in one word; "shapes": sizes by name.
SIMPLIFY_OPTIONS: dict[str, tuple[str, str]] = {
    "shapes": ("--shape", "shapes"),
    "sample_shapes": ("--sample-shape", "shapes"),
    "time_limit": ("--time-limit", ""),
    "rounding_class": ("--rounding-class", ""),
    "second_judge": ("--no-second-judge", "!"),
    "keep_outputs": ("--keep-output", "+"),
    "max_growth": ("--max-growth", ""),
    "target_opset": ("--target-opset", ""),
    "fix_defaults": ("--fix-defaults", ""),
    "operators": ("--operators", "+"),
}
OPTIMIZE_OPTIONS: dict[str, tuple[str, str]] = {
    **SIMPLIFY_OPTIONS,
    "target": ("--target", ""),
    "device": ("--device", ""),
    "measure": ("--no-measure", "!"),
    "costs": ("--costs", ""),
    "database": ("--database", ""),
    "replay": ("--replay", ""),
    "memory_limit": ("--memory-limit", ""),
    "model_time_limit": ("--model-time-limit", ""),
    "strategy": ("--strategy", ""),
    "alpha": ("--alpha", ""),
    "budget": ("--budget", ""),
    "node_limit": ("--node-limit", ""),
    "exact_extraction": ("--exact-extraction", ""),
    "rules": ("--rules", ""),
    "unproved": ("--unproved", ""),
    "only_rules": ("--only-rules", ""),
    "target_values": ("--target-values", ","),
    "partial_rules": ("--partial-rules", ""),
    "runtime_operators": ("--runtime-operators", ""),
    "runtime": ("--runtime", ""),
    "samples": ("--samples", ""),
    "relative_tolerance": ("--rtol", ""),
    "absolute_tolerance": ("--atol", ""),
    "seed": ("--seed", ""),
    "threads": ("--threads", ""),
    "external_data": ("--external-data", ""),
    "keep_original": ("--keep-original", ""),
    "explanation": ("--explain", ""),
    "trace": ("--trace", ""),
    "report": ("--report", ""),
}


def path_word(path: Path) -> str:
    """A path that the program does not take for an option."""
    word = os.fspath(path)
    return os.path.join(".", word) if word.startswith("-") else word


def shape_words(shapes: Shapes | None, option: str = "--shape") -> list[str]:
    words = []
    for name, sizes in (shapes or {}).items():
        if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Sequence):
            raise InputError(f"the shape of '{name}' is a list of sizes; this is {sizes!r}")
        words += [option, f"{name}:{','.join(str(size) for size in sizes)}"]
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


def _list_of(keyword: str, value: object) -> list[str]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise InputError(f"{keyword} is a list; this is {value!r}")
    return [str(element) for element in value]


def words_of(given: Mapping[str, object], known: Mapping[str, tuple[str, str]]) -> list[str]:
    """The keyword arguments that a function was given as words."""
    words: list[str] = []
    for keyword, value in given.items():
        if keyword not in known:
            raise TypeError(f"there is no keyword argument '{keyword}'; there are {', '.join(sorted(known))}")
        option, kind = known[keyword]
        if value is None:
            continue
        if kind == "shapes":
            if not isinstance(value, Mapping):
                raise InputError(f"{keyword} are lists of sizes by name; this is {value!r}")
            words += shape_words(value, option)
        elif kind == "!":
            words += [] if value else [option]
        elif kind == "+":
            for element in _list_of(keyword, value):
                words += [option, element]
        elif kind == ",":
            words += [option, ",".join(_list_of(keyword, value))]
        else:
            assert isinstance(value, (str, int, float, bool, os.PathLike))
            words += option_words({option: value})
    return words
