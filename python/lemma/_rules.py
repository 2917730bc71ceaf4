"""The rules, and proofs of others."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._errors import Error, InputError
from ._options import option_words, path_word
from ._program import run, run_for_json


@dataclass(frozen=True)
class Rule:
    name: str
    text: str
    """As docs/rules.md describes; what `verify_rules` reads."""
    rounding_class: str
    """What it may do to floating-point results; empty where that is not known."""
    proofs: tuple[str, ...]
    """"certificate": derived from the axioms; "index": proved from the operators' definitions. Rules without both
    are not used."""
    reason: str = ""
    """Why a proof is missing."""


@dataclass(frozen=True)
class Verdict:
    rule: str
    verdict: str
    """"proved", "refuted" or "unknown"."""
    proofs: tuple[str, ...]
    condition: str
    """Under which it is proved."""
    reason: str
    """Why it is not proved, or not without the condition."""
    counterexample: Mapping[str, Any] | None = field(default=None)
    """For a refuted rule: sizes, inputs, and how the sides differ."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def rules(*, folder: str | os.PathLike[str] | None = None, one_proof: bool = False) -> list[Rule]:
    """The rules that optimizations use: `lemma rules list`. With `one_proof`, those that are not used because one of
    the two proofs is missing."""
    words = option_words({"--rules": folder, "--one-proof": one_proof})
    return [
        Rule(
            name=each["name"],
            text=each["text"],
            rounding_class=each.get("rounding", ""),
            proofs=_words(each["proofs"]),
            reason=each.get("reason", ""),
        )
        for each in run_for_json(["rules", "list", *words])["rules"]
    ]


def verify_rules(
    rules: str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None, threads: int | None = None
) -> list[Verdict]:
    """Proves or refutes rules from the axioms and from the operators' definitions: `lemma rules verify`. They are a
    text, or a path of a file (an os.PathLike, not a text)."""
    with tempfile.TemporaryDirectory(prefix="lemma-") as name:
        file, verdicts = Path(name) / "given.rules", Path(name) / "verdicts"
        if isinstance(rules, str):
            file.write_text(rules, encoding="utf-8")
        elif isinstance(rules, os.PathLike):
            file = Path(rules)
        else:
            raise InputError(f"rules are a text or a path; this is {type(rules).__name__}")
        words = option_words({"--rules": folder, "--threads": threads, "--verdicts": verdicts})
        try:
            run(["rules", "verify", path_word(file), *words, "--json"], (0, 4))  # 4: not all are proved
        except Error as error:
            raise type(error)(str(error).replace(name + os.sep, "")) from None
        lines = verdicts.read_text(encoding="utf-8").splitlines()
    return [_verdict_of(json.loads(line)) for line in lines]


def _verdict_of(line: Mapping[str, Any]) -> Verdict:
    return Verdict(
        rule=line["rule"],
        verdict=line["verdict"],
        proofs=_words(line["proofs"]),
        condition=line["condition"],
        reason=line["reason"],
        counterexample=line.get("counterexample"),
    )
