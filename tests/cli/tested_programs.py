"""The programs that a test runs, from its command line."""

import argparse


def given(description, *names):
    """By name, the value of --NAME, which must be given; then the words that are left, which are for unittest."""
    parser = argparse.ArgumentParser(description=description)
    for name in names:
        parser.add_argument(f"--{name}", required=True, metavar="FILE")
    options, rest = parser.parse_known_args()
    return *(getattr(options, name) for name in names), rest
