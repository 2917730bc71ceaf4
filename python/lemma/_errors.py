"""Failures as exceptions. Their text is the line that the program prints, without its name."""

from __future__ import annotations


class Error(Exception):
    """Whatever Lemma reports."""


class InputError(Error, ValueError):
    """What was given is no model, no rule, or asks for something that is not there."""


class UnsupportedError(Error):
    """Something the input asks for and Lemma does not do."""


class CheckError(Error):
    """A check failed: something is not what it is said to be."""


class Cancelled(Error):
    """The call was ended by its argument `cancel`. Nothing was written."""


class InternalError(Error, RuntimeError):
    """A fault of Lemma, or of the machine."""


# By exit code (docs/exit_codes.md).
_KINDS: dict[int, type[Error]] = {2: InputError, 3: UnsupportedError, 4: CheckError}


def error_of(exit_code: int, standard_error: str) -> Error:
    """The last line that the program printed for people, as an exception."""
    lines = [line[len("lemma: ") :] for line in standard_error.splitlines() if line.startswith("lemma: ")]
    if not lines:
        how = f"signal {-exit_code}" if exit_code < 0 else f"code {exit_code}"
        return InternalError(f"the program ended with {how}: {standard_error.strip()[-500:]}")
    return _KINDS.get(exit_code, InternalError)(lines[-1])
