"""Ending a program when another thread says so."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ._errors import Cancelled

_SECONDS_TO_END = 5.0  # in which a program removes its temporary files, before it is killed
_SECONDS_BETWEEN_LOOKS = 0.05


class CancelEvent(Protocol):
    """A `threading.Event`, or what is like it: setting it ends the call."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float, /) -> bool: ...


def _signal(process: subprocess.Popen[str], number: int) -> None:
    if process.poll() is not None:  # its number may be another process's by now
        return
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def check(cancel: CancelEvent | None) -> None:
    """Raises if the event is set."""
    if cancel is not None and cancel.is_set():
        raise Cancelled("the call was cancelled")


@contextmanager
def ended_by(cancel: CancelEvent | None, process: subprocess.Popen[str]) -> Iterator[None]:
    """Ends the process and those that it started when the event is set meanwhile, and raises `Cancelled` then."""
    if cancel is None:
        yield
        return
    has_ended, was_cancelled = threading.Event(), threading.Event()

    def watch() -> None:
        while not has_ended.is_set():
            if cancel.wait(_SECONDS_BETWEEN_LOOKS) and not has_ended.is_set():
                was_cancelled.set()
                _signal(process, signal.SIGINT)
                if not has_ended.wait(_SECONDS_TO_END):
                    _signal(process, signal.SIGKILL)
                return

    threading.Thread(target=watch, name="lemma-cancel", daemon=True).start()
    try:
        yield
    finally:
        has_ended.set()
    if was_cancelled.is_set():
        raise Cancelled("the call was cancelled")
