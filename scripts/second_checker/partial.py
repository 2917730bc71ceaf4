"""Which operators may be undefined for some elements, read off their definitions in docs/operators.md.

An axiom with `=>` holds where its left side is defined. If that has such an operator, nothing is said
about where the right side is defined: the axiom may be read from left to right only.
"""

import functools
import re

from second_checker.sizes import demand

# A quotient, but by a size, a number or 1 + what is not negative; functions without a value somewhere.
PARTIAL = re.compile(r" / (?!f32\(|\d|\(1 \+ (?:exp|abs)\()|\blog\((?!1 \+ exp\()"
                     r"|\bfloormod\([a-z]\[|\b(?:sqrt|pow|reciprocal|tan|asin|acos|acosh|atanh)\(")
PART = re.compile(r"^  %\d+ = ([A-Z]\w*)[({]", re.MULTILINE)
# Divided by a sum of exponentials, which is not 0.
NORMALIZED = re.compile(r"  (%\d+) = Exp\([^\n]*\n  (%\d+) = ReduceSum\{[^\n]*\}\(\1\)[^\n]*\n"
                        r"  %\d+ = Div\(\1, \2\)[^\n]*\n")


@functools.lru_cache(maxsize=None)
def meaning(section):
    """Whether the definition itself is partial, and the operators of a composition."""
    block = re.search(r"(?s)```\n(.*?)```", section)
    demand(block, "an operator without a definition")
    head, _, body = block[1].partition("\n\n")
    demand(body, f"'{head}' has no definition")
    body = NORMALIZED.sub("", body)
    return bool(PARTIAL.search(body)), frozenset(PART.findall(body))


def may_be_undefined(name, sections):
    demand(name in sections, f"there is no operator '{name}'")
    partial, parts = meaning(sections[name])
    return partial or any(may_be_undefined(part, sections) for part in parts)


def holds_from_left_only(axiom, sections):
    return not axiom.both and any(
        may_be_undefined(axiom.nodes[node][0], sections)
        for node in axiom.below(axiom.left) if axiom.nodes[node][0])
