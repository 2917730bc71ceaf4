"""Where calls that prepare a directory at the same time leave each other alone: each has a folder for what is unfinished,
and changes of what they share are made one after the other."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = ".unfinished-"


@contextlib.contextmanager
def locked(folder):
    """Alone among all calls that do this."""
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_abandoned(folder):
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


@contextlib.contextmanager
def workplace(target):
    """A folder of this call within the directory. Those of calls that were killed are removed."""
    with locked(target):
        for old in target.glob(f"{PREFIX}*"):
            if is_abandoned(old):
                shutil.rmtree(old)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=target))
        owner = (folder / ".lock").open("w")
        fcntl.flock(owner, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        # Where another call looks at the folder at the same time, it would find it without its lock.
        with locked(target), owner:
            shutil.rmtree(folder)


def finished_bytes(target):
    """Of all files but those in such folders."""
    total = 0
    for path, folders, files in os.walk(target):
        folders[:] = [name for name in folders if not name.startswith(PREFIX)]
        total += sum((Path(path) / name).stat().st_size for name in files)
    return total
