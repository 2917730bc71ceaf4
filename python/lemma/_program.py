"""The program `lemma`, which the package holds, as a child process.

A process of its own is what lets a call be interrupted at once, keeps a limit on memory for one model, lets other
threads of Python run meanwhile, and keeps faults away from the caller's process.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

from ._cancel import CancelEvent, check, ended_by
from ._errors import InternalError, error_of

_PROGRAMS = Path(__file__).resolve().parent / "bin"


def _environment() -> dict[str, str]:
    """ONNX Runtime is asked for in the Python that calls, unless another one is chosen."""
    return {"LEMMA_PYTHON": sys.executable, **os.environ}


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the process and those that it started. It is asked first, so that it removes its temporary files."""
    for signal_number, seconds in ((signal.SIGINT, 5.0), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, signal_number)
        except ProcessLookupError:
            pass
        try:
            process.communicate(timeout=seconds)
            break
        except subprocess.TimeoutExpired:
            continue


def _read_both(process: subprocess.Popen[str], on_line: Callable[[str], None]) -> tuple[str, str]:
    """What the process prints, and what it says to people, of which each line is handed on as it comes. An exception of
    `on_line` is raised here."""
    assert process.stdout is not None and process.stderr is not None
    output: list[str] = []
    beside = threading.Thread(target=lambda stream: output.append(stream.read()), args=(process.stdout,), daemon=True)
    beside.start()
    said: list[str] = []
    for line in process.stderr:
        said.append(line)
        on_line(line.rstrip("\n"))
    beside.join()
    process.wait()
    process.stdout.close()
    process.stderr.close()
    return "".join(output), "".join(said)


def run(
    words: Sequence[str],
    accepted: Collection[int] = (0,),
    on_line: Callable[[str], None] | None = None,
    environment: Mapping[str, str] | None = None,
    cancel: CancelEvent | None = None,
) -> str:
    """The standard output of `lemma WORDS...`. Another exit code is raised as an exception; an exception in the
    meantime (KeyboardInterrupt) ends the program. `on_line` takes the lines for people as they come. `environment`: variables
    in place of those of this process. `cancel`: an event that ends the program when it is set, and `Cancelled` is raised."""
    check(cancel)
    try:
        process = subprocess.Popen(
            [str(_PROGRAMS / "lemma"), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # It ends with this process, also if this one is killed.
            env={**_environment(), **(environment or {}), "LEMMA_PARENT": str(os.getpid())},
            start_new_session=True,
        )
    except OSError as error:
        raise InternalError(f"the program cannot be started: {error}") from error
    try:
        with ended_by(cancel, process):
            output, complaints = process.communicate() if on_line is None else _read_both(process, on_line)
    except BaseException:
        _end(process)
        raise
    # With an accepted code there is an answer, unless the call itself was wrong.
    if process.returncode not in accepted or (process.returncode == 2 and not output.strip()):
        raise error_of(process.returncode, complaints)
    return output


def run_for_json(
    words: Sequence[str],
    accepted: Collection[int] = (0,),
    on_line: Callable[[str], None] | None = None,
    environment: Mapping[str, str] | None = None,
    cancel: CancelEvent | None = None,
) -> Any:
    output = run([*words, "--json"], accepted, on_line, environment, cancel)
    try:
        return json.loads(output)
    except ValueError as error:
        raise InternalError(f"the program's answer cannot be read: {error}") from error


@functools.lru_cache(maxsize=None)
def version() -> str:
    """That of the package, as installed; the program is asked where nothing is."""
    try:
        return metadata.version("lemma")
    except metadata.PackageNotFoundError:
        return run(["--version"]).split()[1]


def _become(program: str) -> NoReturn:
    path = str(_PROGRAMS / program)
    os.execve(path, [path, *sys.argv[1:]], _environment())


def lemma() -> NoReturn:
    """The command `lemma`."""
    _become("lemma")


def lemma_check() -> NoReturn:
    """The command `lemma-check`."""
    _become("lemma-check")
