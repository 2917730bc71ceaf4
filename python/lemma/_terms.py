"""Sides of rules as expressions. What stands here is how they are written; what operators mean is in the program alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ._errors import InputError
from ._rules import Rule

_DECLARATION = re.compile(r"\s*(?:[a-z]+\s+)*([A-Za-z_][A-Za-z0-9_]*)\s*:\s*\S.*")


def _attribute(value: object) -> str:
    """As docs/rules.md writes it: a number, an expression of parameters as a text, or a list of them."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_attribute, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@dataclass(frozen=True)
class Term:
    """An expression over tensors. `+ - * / @` and the sign make Add, Sub, Mul, Div, MatMul and Neg; `lemma.op` makes all
    operators. `term[1]` is the second result of an operator that has several."""

    text: str
    declarations: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of the tensors in it, by name: lines of a rule."""

    def __str__(self) -> str:
        return self.text

    def __add__(self, other: Term) -> Term:
        return op.Add(self, other)

    def __sub__(self, other: Term) -> Term:
        return op.Sub(self, other)

    def __mul__(self, other: Term) -> Term:
        return op.Mul(self, other)

    def __truediv__(self, other: Term) -> Term:
        return op.Div(self, other)

    def __matmul__(self, other: Term) -> Term:
        return op.MatMul(self, other)

    def __neg__(self) -> Term:
        return op.Neg(self)

    def __getitem__(self, result: int) -> Term:
        if not isinstance(result, int) or result < 0:
            raise InputError(f"results of an operator are numbered from 0; this is {result!r}")
        return Term(f"{self.text}#{result}", self.declarations)


def _joined(terms: tuple[Term, ...]) -> dict[str, str]:
    """All declarations; one name has one of them."""
    result: dict[str, str] = {}
    for term in terms:
        for name, line in term.declarations.items():
            if result.setdefault(name, line) != line:
                raise InputError(f"'{name}' is declared twice: '{result[name]}' and '{line}'")
    return result


class _Operators:
    """`op.NAME(operands, attribute=value)`: an application. Whether there is such an operator, and whether it takes these
    operands, the program says when the rule is proved."""

    def __getattr__(self, name: str) -> Callable[..., Term]:
        if not name[:1].isupper():
            raise AttributeError(f"operators begin with a capital; this is '{name}'")

        def apply(*operands: Term, **attributes: Any) -> Term:
            for operand in operands:
                if not isinstance(operand, Term):
                    raise InputError(f"{name} takes terms; this is {operand!r} (lemma.tensor makes one)")
            written = ", ".join(f"{key}={_attribute(value)}" for key, value in attributes.items())
            braces = f"{{{written}}}" if written else ""
            return Term(f"{name}{braces}({', '.join(map(str, operands))})", _joined(operands))

        return apply


op = _Operators()
"""Operators by name: `lemma.op.Transpose(x, perm=[1, 0])`."""


def tensor(declaration: str) -> Term:
    """A tensor of a rule, by the line that declares it: `lemma.tensor("x : [B.., m, k]")`."""
    found = _DECLARATION.fullmatch(declaration)
    if found is None:
        raise InputError(f"a tensor is declared by its name and its shape, such as 'x : [m, k]'; this is {declaration!r}")
    return Term(found[1], {found[1]: declaration.strip()})


def rule_of(name: str, left: Term, right: Term, *lines: str, both_ways: bool = False) -> Rule:
    """The rule `left => right`, or `left = right` with `both_ways`. `lines` are those that a rule has
    between its tensors and its claim, such as "where n == 1" (docs/rules.md)."""
    given = [*_joined((left, right)).values(), *lines, f"{left} {'=' if both_ways else '=>'} {right}"]
    return Rule("\n  ".join([f"rule {name}", *given]) + "\n")
