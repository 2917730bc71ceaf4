"""Models on their way to the program and back. The program reads and writes files: models in memory stand in a
private folder meanwhile, which is in memory as well where there is room, and is removed in any case."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar, Union

from ._errors import Error, InputError
from ._options import path_word


class ModelMessage(Protocol):
    """What is used of an `onnx.ModelProto`. The package onnx need not be installed, neither to run nor for types."""

    def ByteSize(self) -> int: ...  # noqa: N802: the names are protobuf's

    def SerializeToString(self) -> bytes: ...  # noqa: N802

    def ParseFromString(self, serialized: bytes, /) -> Any: ...  # noqa: N802


Message = TypeVar("Message", bound=ModelMessage)
"""The class of a message: a result is of the same."""

Model = Union[bytes, str, "os.PathLike[str]", ModelMessage]
"""A file, the bytes of one, or a message."""

_IN_MEMORY = "/dev/shm"
_PRIVATE_NAME = re.compile(r"\.lemma-[0-9a-f]{16}")
_ROOM_BESIDE = 64 * 2**20

_TOO_LARGE = "a message above 2 GB cannot be handed over; save the model with external data, and give paths"
_MOST_BYTES = 2**31 - 1  # of a message of protobuf


def _size_of_message(model: ModelMessage) -> int:
    try:
        size = model.ByteSize()
    except Exception as error:  # some versions of protobuf cannot even count them
        raise InputError(f"{_TOO_LARGE} ({error})") from error
    if size > _MOST_BYTES:
        raise InputError(f"{_TOO_LARGE} (it has {size:,} bytes)")
    return size


def _size_of(model: Model) -> int:
    if isinstance(model, (str, os.PathLike)):
        return os.path.getsize(model) if os.path.isfile(model) else 0
    if isinstance(model, bytes):
        return len(model)
    return _size_of_message(model) if hasattr(model, "ByteSize") else 0


def _place_for(size: int) -> str | None:
    """Where a folder for a model of `size` bytes, its result and what is made in between can be; none: where
    temporary files usually are."""
    try:
        has_room = os.access(_IN_MEMORY, os.W_OK) and shutil.disk_usage(_IN_MEMORY).free > 6 * size + _ROOM_BESIDE
    except OSError:
        has_room = False
    return _IN_MEMORY if has_room else None


def _lock(folder: Path) -> int | None:
    """A descriptor that holds the folder's lock as long as it is open; none if another process holds it, or if the name
    is not that folder's any more."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(folder)):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _remove_abandoned(place: Path) -> None:
    """Folders of processes that were killed: nobody holds their locks."""
    for folder in place.iterdir():
        if _PRIVATE_NAME.fullmatch(folder.name) and (descriptor := _lock(folder)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


@contextmanager
def _locked_folder(place: Path) -> Iterator[Path]:
    """A folder that is removed in any case: by the next call, if this process is killed. Names and locks are those of
    the program (docs/outputs.md), which removes such folders as well."""
    _remove_abandoned(place)
    descriptor = None
    while descriptor is None:
        folder = place / f".lemma-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        descriptor = _lock(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


@contextmanager
def private_folder(*models: Model) -> Iterator[Path]:
    """For a call with these models. Errors do not name it: nobody can look into it any more."""
    place = _place_for(sum(map(_size_of, models))) or tempfile.gettempdir()
    with _locked_folder(Path(place)) as folder:
        try:
            yield folder
        except Error as error:
            raise type(error)(str(error).replace(str(folder) + os.sep, "")) from None


def _bytes_of(model: Model) -> bytes:
    if isinstance(model, bytes):
        return model
    if isinstance(model, (str, os.PathLike)) or not hasattr(model, "SerializeToString"):
        raise InputError(f"a model is a path, bytes or an onnx.ModelProto; this is {type(model).__name__}")
    try:
        return model.SerializeToString()
    except Exception as error:  # protobuf has several for messages from 2 GB on
        raise InputError(f"the model cannot be serialized ({error}); give paths") from error


def as_file(model: Model, folder: Path, name: str = "model.onnx") -> str:
    """The path of a model; one in memory is written to the folder."""
    if isinstance(model, (str, os.PathLike)):
        return path_word(model)
    file = folder / name
    file.write_bytes(_bytes_of(model))
    return str(file)


def read_as(model: Model, file: Path) -> bytes | ModelMessage:
    """What the file holds: a message if `model` is one, else bytes."""
    if any(other != file and other.stem == file.stem for other in file.parent.iterdir()):
        raise InputError("the result has weights in a file of their own; say where with `output`")
    content = file.read_bytes()
    if isinstance(model, (bytes, str, os.PathLike)):
        return content
    message = type(model)()
    message.ParseFromString(content)
    return message
