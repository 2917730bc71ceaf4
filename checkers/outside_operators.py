"""Operators from outside (docs/outside_operators.md): a Python file says what they mean, for both programs of this folder.

    def shape_rules():   # for lemma_check.py: second_checker.operators.Operator by name
    def meanings():      # for evaluate_rules: functions as in rule_evaluation/operators.py by name

A file may have one of them or both. It is named by --meanings FILE.py (repeated for several), or by LEMMA_MEANINGS, separated by
colons. What a program knows already cannot be given another meaning."""

import os
import pathlib
import runpy

VARIABLE = "LEMMA_MEANINGS"


class Refused(Exception):
    """A file that cannot be used, and why."""


def files_of(given):
    named = [word for word in os.environ.get(VARIABLE, "").split(":") if word]
    return sorted({pathlib.Path(name).resolve() for name in [*named, *given]})


def add_meanings(given, hook, known):
    """Adds what the functions `hook` of the files return to `known`."""
    for file in files_of(given):
        if not file.is_file():
            raise Refused(f"{file}: there is no such file")
        try:
            contents = runpy.run_path(str(file))
            if not callable(contents.get("shape_rules")) and not callable(contents.get("meanings")):
                raise Refused(f"{file}: it has neither shape_rules() nor meanings()")
            added = contents[hook]() if callable(contents.get(hook)) else {}
        except Refused:
            raise
        except Exception as fault:
            raise Refused(f"{file}: {type(fault).__name__}: {fault}") from None
        for name, meaning in added.items():
            if name in known:
                raise Refused(f"{file}: the meaning of {name} is known already")
            known[name] = meaning
