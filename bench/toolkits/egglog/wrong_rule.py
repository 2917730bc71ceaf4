from __future__ import annotations

from egglog import EGraph, Expr, StringLike, eq, rewrite, vars_


class Term(Expr):
    def __init__(self, name: StringLike) -> None: ...
    def __sub__(self, other: Term) -> Term: ...


egraph = EGraph()
a, b = vars_("a b", Term)
x, y = Term("x"), Term("y")
term = egraph.let("term", x - y)
egraph.register(rewrite(a - b).to(b - a))
egraph.run(10)
egraph.check(eq(term).to(y - x))
print("x - y and y - x are in one class")
