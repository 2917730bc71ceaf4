"""The programs that a test runs, from its command line, and which of its tests run.

Tests that take many seconds and repeat in the large what others show carry the mark @long. They run with --long, and then
they alone do: scripts/test --all.
"""

import argparse
import unittest


def long(test):
    """The mark, of a test or of a class of tests."""
    test.is_long = True
    return test


def take_long_ones(wanted):
    """unittest finds the tests with the mark, or those without."""
    all_names = unittest.TestLoader.getTestCaseNames

    def names(loader, cases):
        of_class = getattr(cases, "is_long", False)
        return [name for name in all_names(loader, cases)
                if (of_class or getattr(getattr(cases, name), "is_long", False)) == wanted]

    unittest.TestLoader.getTestCaseNames = names


def given(description, *names):
    """By name, the value of --NAME, which must be given; then the words that are left, which are for unittest."""
    parser = argparse.ArgumentParser(description=description)
    for name in names:
        parser.add_argument(f"--{name}", required=True, metavar="FILE")
    parser.add_argument("--long", action="store_true", help="the tests with the mark @long, and no others")
    options, rest = parser.parse_known_args()
    take_long_ones(options.long)
    return *(getattr(options, name.replace("-", "_")) for name in names), rest
