"""Saturates a term by another engine: other_engines.py egglog|egg RULES TERM ITERATIONS. Prints JSON: nodes (null where the
engine does not tell) and milliseconds. Exit code 77 where the engine is not installed."""

import collections
import json
import re
import sys
import time
from pathlib import Path


def parse(text):
    """A term as nested lists of words."""
    open_lists = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            open_lists.append([])
        elif token == ")":
            complete = open_lists.pop()
            open_lists[-1].append(complete)
        else:
            open_lists[-1].append(token)
    return open_lists[0][0]


def rules_of(file):
    for line in Path(file).read_text().splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, claim = line.split(": ", 1)
        both = "<=>" in claim
        left, right = (parse(side) for side in claim.split("<=>" if both else "=>"))
        yield name, left, right
        if both:
            yield name + "-back", right, left


def operators_of(term, found):
    if isinstance(term, list):
        found[term[0]] = len(term) - 1
        for child in term[1:]:
            operators_of(child, found)
    return found


# ---- egglog ----------------------------------------------------------------------------------------------------------

NAMES = {"+": "Add", "*": "Mul", "-": "Sub"}


def egglog_text(term):
    if isinstance(term, list):
        return "(" + " ".join([NAMES.get(term[0], term[0].title()), *map(egglog_text, term[1:])]) + ")"
    return term[1:] if term.startswith("?") else f'(Word "{term}")'


def run_egglog(rules, term, iterations):
    from egglog import bindings

    found = operators_of(term, {})
    for _, left, right in rules:
        operators_of(left, found)
        operators_of(right, found)
    lines = ["(datatype Term (Word String) "
             + " ".join(f"({NAMES.get(name, name.title())}{' Term' * arity})" for name, arity in found.items()) + ")"]
    lines += [f"(rewrite {egglog_text(left)} {egglog_text(right)})" for _, left, right in rules]
    lines.append(f"(let root {egglog_text(term)})")
    egraph = bindings.EGraph()
    egraph.run_program(*egraph.parse_program("\n".join(lines)))
    start = time.perf_counter()
    egraph.run_program(*egraph.parse_program(f"(run {iterations})"))
    milliseconds = (time.perf_counter() - start) * 1e3
    said = egraph.run_program(*egraph.parse_program("(print-size)"))
    sizes = dict(re.findall(r"\(?'?\(?(\w+)[',: ]+(\d+)", " ".join(map(str, said))))
    nodes = sum(int(count) for name, count in sizes.items() if name in {"Word", *map(lambda n: NAMES.get(n, n.title()), found)})
    return {"nodes": nodes, "milliseconds": milliseconds}


# ---- egg -------------------------------------------------------------------------------------------------------------

def run_egg(rules, term, iterations):
    import snake_egg

    types = {}

    def build(node):
        if isinstance(node, list):
            key = (node[0], len(node) - 1)
            if key not in types:
                types[key] = collections.namedtuple(f"Operation{len(types)}", [f"child{i}" for i in range(key[1])])
            return types[key](*map(build, node[1:]))
        return snake_egg.Var(node[1:]) if node.startswith("?") else node

    rewrites = [snake_egg.Rewrite(build(left), build(right), name) for name, left, right in rules]
    egraph = snake_egg.EGraph()
    egraph.add(build(term))
    start = time.perf_counter()
    egraph.run(rewrites, iter_limit=iterations, time_limit=300.0, node_limit=10_000_000)
    return {"nodes": None, "milliseconds": (time.perf_counter() - start) * 1e3}


def main():
    engine, file, term, iterations = sys.argv[1:]
    run = {"egglog": run_egglog, "egg": run_egg}[engine]
    try:
        print(json.dumps(run(list(rules_of(file)), parse(term), int(iterations))))
    except ImportError as error:
        print(f"other_engines.py: {error}", file=sys.stderr)
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
