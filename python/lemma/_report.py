"""What was done to a model."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ._pictures import Picture, pictures_html, pictures_in


@dataclass(frozen=True)
class Report:
    """The main figures; `details` has all of them under the names of `lemma optimize --json` (docs/search.md)."""

    status: str
    """"optimized"; "simplified": nothing faster was found, and what was written has fewer nodes and is no slower;
    "unchanged": nothing cheaper was found, or `message` says why it was not taken; or "mismatch": every result failed its
    check. The last two give the model as it was."""
    message: str
    warning: str
    """A result that was refused; what was written is another one."""
    operators_before: int
    operators_after: int
    cost_before: float
    """Seconds, as predicted for the target."""
    cost_after: float
    latency_before_ms: float | None
    """Milliseconds in ONNX Runtime; none where nothing was measured."""
    latency_after_ms: float | None
    rules_used: Mapping[str, int]
    """Rules by name, and how often."""
    rules_without_proof: list[str]
    """Those of the files `unproved` that the result uses: it equals the model only if they are true."""
    max_error: float
    """The largest difference from the original on random inputs."""
    samples_compared: int
    adversarial_compared: int
    second_judge: str
    """What ONNX Runtime says of the result: "agrees", or why it was not asked."""
    strategy: str
    seconds: float
    details: Mapping[str, Any] = field(repr=False)
    pictures: tuple[Picture, ...] = field(default=(), repr=False)
    """"Before" and "After" of the places that changed, by turns, where `optimize` was asked for pictures or runs in a notebook.
    None where the option `report` is given: its file has them."""

    def _repr_html_(self) -> str:
        """For notebooks: the main figures, and the places that changed as pictures."""
        rows = [("Operators", f"{self.operators_before} to {self.operators_after}")]
        rows.append(("Predicted, in us", f"{1e6 * self.cost_before:.4g} to {1e6 * self.cost_after:.4g}"))
        if self.latency_before_ms is not None and self.latency_after_ms is not None:
            rows.append(("Measured, in ms", f"{self.latency_before_ms:.4g} to {self.latency_after_ms:.4g}"))
        rows.append(("Compared", f"on {self.samples_compared} random inputs; largest difference {self.max_error:.3g}"))
        used = (f"{count} x {name}" for name, count in self.rules_used.items())
        rows.append(("Rules", ", ".join(used) or "none"))
        rows += [("Message", text) for text in (self.message, self.warning) if text]
        cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
        return f"<p>{html.escape(self.status)}</p><table>{cells}</table>{pictures_html(self.pictures)}"


def report_of(answer: Mapping[str, Any], page: str = "") -> Report:
    """From the entry of a model in the program's answer, and the page about it, if there is one."""
    return Report(
        status=answer["status"],
        message=answer["message"],
        warning=answer["warning"],
        operators_before=answer["before"]["operators"],
        operators_after=answer["after"]["operators"],
        cost_before=answer["cost_before"],
        cost_after=answer["cost_after"],
        latency_before_ms=answer["latency_before_ms"],
        latency_after_ms=answer["latency_after_ms"],
        rules_used=answer["rules_used"],
        rules_without_proof=answer["rules_without_proof"],
        max_error=answer["max_error"],
        samples_compared=answer["samples_compared"],
        adversarial_compared=answer["adversarial_compared"],
        second_judge=answer["second_judge"],
        strategy=answer["strategy"],
        seconds=answer["seconds"],
        details=answer,
        pictures=pictures_in(page, "<h3>Places that changed</h3>", "<h3>"),
    )
