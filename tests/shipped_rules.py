"""Rules of rules/substitutions/ by what they say, and their certificates."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]


def certificates_in(folder):
    """The text of each certificate of the packs, by the name of its rule."""
    packs = "".join(file.read_text() for file in sorted(pathlib.Path(folder).glob("*.certificates")))
    texts = re.split(r"(?m)^(?=lemma certificate )", packs)[1:]
    return {re.search(r"(?m)^rule (\S+)$", text)[1]: text for text in texts}


def shipped_certificates():
    return certificates_in(ROOT / "rules" / "substitutions")


def rule_that_says(*lines):
    """The name of the only rule that has all of the lines."""
    names = []
    for file in sorted((ROOT / "rules" / "substitutions").glob("*.rules")):
        for text in re.split(r"\n\s*\n", file.read_text()):
            said = [line.strip() for line in text.splitlines()]
            if all(line in said for line in lines):
                names += [line.removeprefix("rule ") for line in said if line.startswith("rule ")]
    if len(names) != 1:
        raise LookupError(f"not one rule, but {names}, says {lines}")
    return names[0]
