"""A folder of rules with the axioms of a few themes: before anything else, `lemma rules build` evaluates every axiom
that it has, which takes longer than the small jobs of the tests."""

import pathlib
import shutil

RULES = pathlib.Path(__file__).resolve().parents[1] / "rules"
# What most candidates of tests/database/candidates.rules need.
THEMES = ("constants", "convolution", "elementwise", "elementwise_movement", "matmul", "movement", "normalization", "numbers")


def write(folder, themes=THEMES):
    """The folder, with the shipped records of the proofs of its axioms."""
    (folder / "axioms").mkdir(parents=True)
    for theme in themes:
        shutil.copy(RULES / "axioms" / f"{theme}.axioms", folder / "axioms")
    for name in ("axioms.proofs", "axioms.rounding"):
        shutil.copy(RULES / name, folder)
    return folder
