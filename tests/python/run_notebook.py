#!/usr/bin/env python3
"""Runs a notebook: run_notebook.py FILE. The code of its cells in order, in one namespace, as a kernel does; prints what each
cell prints and displays, as one JSON list: "shown" is the value of its last line as "text", "html" and "svg", as far as it has
these forms."""

import ast
import contextlib
import io
import json
import pathlib
import sys
import types


def displayed(source, names):
    """What a cell displays; none if it does not end with a value."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    if value is None:
        return None
    forms = {kind: getattr(value, f"_repr_{kind}_", None) for kind in ("html", "svg")}
    return {"text": repr(value)} | {kind: form() for kind, form in forms.items() if form is not None}


def main():
    notebook = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    if (notebook["nbformat"], type(notebook["nbformat_minor"])) != (4, int):
        sys.exit(f"{sys.argv[1]} is no notebook of format 4")
    names = {"__name__": "__main__"}
    sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: "a kernel")
    results = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            shown = displayed("".join(cell["source"]), names)
        results.append({"printed": printed.getvalue(), "shown": shown})
    print(json.dumps(results))


if __name__ == "__main__":
    main()
