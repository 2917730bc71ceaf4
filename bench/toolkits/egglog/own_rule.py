from __future__ import annotations

from egglog import EGraph, Expr, StringLike, rewrite, vars_


class Term(Expr):
    def __init__(self, name: StringLike) -> None: ...
    def __add__(self, other: Term) -> Term: ...
    def __sub__(self, other: Term) -> Term: ...
    def __mul__(self, other: Term) -> Term: ...


egraph = EGraph()
a, b, c = vars_("a b c", Term)
x, y, z = Term("x"), Term("y"), Term("z")
term = egraph.let("term", x * y + x * z)
egraph.register(rewrite(a * b + a * c).to(a * (b + c)))
egraph.run(10)
print(egraph.extract(term))
