"""The rules, and proofs of others."""

from __future__ import annotations

import html
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._cancel import CancelEvent
from ._errors import Error, InputError
from ._options import option_words, path_word
from ._pictures import Picture, pictures_html, pictures_in
from ._program import run, run_for_json


_HEADING = re.compile(r"^\s*(?:rule|axiom)\s+([A-Za-z0-9_]+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Rule:
    """A rule, of the database or one's own: `lemma.Rule(text).prove()`."""

    text: str
    """As docs/rules.md describes; what `verify_rules` reads."""
    name: str = ""
    """That of the text."""
    rounding_class: str = ""
    """What it may do to floating-point results; empty where that is not known."""
    proofs: tuple[str, ...] = ()
    """"certificate": derived from the axioms; "index": proved from the operators' definitions. Rules without both
    are not used. Of a rule of one's own, nothing is known before prove()."""
    reason: str = ""
    """Why a proof is missing."""

    def __post_init__(self) -> None:
        names = _HEADING.findall(self.text)
        if len(names) != 1:
            raise InputError(f"a rule is a text with one line 'rule NAME'; this one has {len(names)}")
        if self.name not in ("", names[0]):
            raise InputError(f"the text is of the rule '{names[0]}', not '{self.name}'")
        object.__setattr__(self, "name", names[0])

    def prove(
        self,
        *,
        folder: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        cancel: CancelEvent | None = None,
    ) -> Verdict:
        """Proves or refutes it, from the axioms of `folder` (those of Lemma otherwise) and from the operators'
        definitions. What is proved may have conditions that were added (`Verdict.condition`)."""
        return verify_rules(self.text, folder=folder, threads=threads, cancel=cancel)[0]

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


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
    certificate: str = ""
    """What lemma-check and checkers/lemma_check.py replay; empty without this proof."""
    pictures: tuple[Picture, ...] = field(default=(), repr=False)
    """"Left side" and "Right side" at a typical application; none where none is known."""

    def __bool__(self) -> bool:
        """Whether it is proved. What is unknown is not."""
        return self.verdict == "proved"

    def __str__(self) -> str:
        """The proof, or why there is none."""
        heading = f"{self.rule}: {self.verdict}"
        if self.proofs:
            heading += f" ({' and '.join(self.proofs)})"
        if self.condition:
            heading += f" under {self.condition}"
        if self.counterexample is not None:
            parts = (self.counterexample.get(key, "") for key in ("assignment", "inputs", "difference"))
            return "\n".join([heading, *("  " + part for part in parts if part)])
        if not self:
            return heading + "\n  " + self.reason
        return heading + ("\n" + self.certificate.rstrip("\n") if self.certificate else "")

    def _repr_html_(self) -> str:
        color = {"proved": "#1a7f37", "refuted": "#cf222e"}.get(self.verdict, "#9a6700")
        heading, _, rest = str(self).partition("\n")
        shown = f"<pre>{html.escape(rest)}</pre>" if rest else ""
        if self.certificate:
            shown = f"<details><summary>Certificate</summary>{shown}</details>"
        return f'<p style="color: {color}">{html.escape(heading)}</p>{pictures_html(self.pictures)}{shown}'


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
    rules: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    cancel: CancelEvent | None = None,
) -> list[Verdict]:
    """Proves or refutes rules from the axioms and from the operators' definitions: `lemma rules verify`. They are a
    text, or a path of a file (an os.PathLike, not a text)."""
    with tempfile.TemporaryDirectory(prefix="lemma-") as name:
        file, verdicts, certificates, page = (
            Path(name) / part for part in ("given.rules", "verdicts", "certificates", "page.html")
        )
        if isinstance(rules, str):
            file.write_text(rules, encoding="utf-8")
        elif isinstance(rules, os.PathLike):
            file = Path(rules)
        else:
            raise InputError(f"rules are a text or a path; this is {type(rules).__name__}")
        words = option_words(
            {
                "--rules": folder,
                "--threads": threads,
                "--verdicts": verdicts,
                "--write-certificates": certificates,
                "--html": page,
            }
        )
        try:
            run(["rules", "verify", path_word(file), *words, "--json"], (0, 4), cancel=cancel)  # 4: not all are proved
        except Error as error:
            raise type(error)(str(error).replace(name + os.sep, "")) from None
        lines = verdicts.read_text(encoding="utf-8").splitlines()
        pack = certificates / "proved.certificates"
        texts = _certificates_in(pack.read_text(encoding="utf-8") if pack.exists() else "")
        shown = page.read_text(encoding="utf-8")
    return [_verdict_of(json.loads(line), texts, shown) for line in lines]


def _certificates_in(pack: str) -> dict[str, str]:
    """By the name of the rule."""
    texts = {}
    for part in re.split(r"(?m)^(?=lemma certificate )", pack):
        if named := _HEADING.search(part):
            texts[named[1]] = part
    return texts


def _verdict_of(line: Mapping[str, Any], certificates: Mapping[str, str], page: str) -> Verdict:
    return Verdict(
        rule=line["rule"],
        verdict=line["verdict"],
        proofs=_words(line["proofs"]),
        condition=line["condition"],
        reason=line["reason"],
        counterexample=line.get("counterexample"),
        certificate=certificates.get(line["rule"], ""),
        pictures=pictures_in(page, f'<h2 id="rule-{line["rule"]}">', "<h2 "),
    )
