"""A compiled task program, called with numpy arrays. This file needs numpy and ctypes alone."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_DTYPES = {
    "bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32",
    "i64": "int64", "u64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64",
}  # fmt: skip

Shape = tuple[int, ...]


class InputError(ValueError):
    """What was given is not what the program takes."""


class ProgramError(RuntimeError):
    """The program cannot run."""


def dtype_of(name: str) -> np.dtype[Any]:
    """The numpy type of elements: of bf16 that of the package ml_dtypes where it is installed, else its bits."""
    if name in _DTYPES:
        return np.dtype(_DTYPES[name])
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype("uint16")
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def _type_text(dtype: np.dtype[Any], shape: Shape) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]"


def _address(array: Any) -> int:
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):  # an empty array, one that cannot be written to, elements of another package
        return int(array.ctypes.data)


class Tensor:
    """An input or output of a program; `shapes` are those that it may have."""

    def __init__(self, name: str, type_text: str) -> None:
        element, _, sizes = type_text.rstrip("]").partition("[")
        axes = [[int(size) for size in axis.split("/")] for axis in sizes.split(", ") if axis]
        count = max((len(axis) for axis in axes), default=1)
        self.name = name
        self.dtype = dtype_of(element)
        self.shapes: list[Shape] = [tuple(axis[i % len(axis)] for axis in axes) for i in range(count)]

    @property
    def shape(self) -> tuple[int | None, ...]:
        """None stands for a size that may be one of several."""
        return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*self.shapes))

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, {' or '.join(_type_text(self.dtype, shape) for shape in self.shapes)})"


class _Instance:
    """A program with memory and threads of its own, and room for the arguments of a call."""

    def __init__(self, handle: ctypes.c_void_p, inputs: int, outputs: int) -> None:
        self.handle = handle
        self.inputs = (ctypes.c_void_p * inputs)()
        self.input_bytes = (ctypes.c_size_t * inputs)()
        self.outputs = (ctypes.c_void_p * outputs)()
        self.output_bytes = (ctypes.c_size_t * outputs)()


class Library:
    """A library with its weights. Any number of threads may call it: so many calls run at the same time, each with memory
    and threads of its own, and others wait."""

    input_error: type[Exception] = InputError
    program_error: type[Exception] = ProgramError

    def __init__(self, library: str, weights: str, name: str, runs_at_once: int | None = None) -> None:
        self._closed = True
        try:
            self._functions = ctypes.CDLL(library)
        except OSError as error:
            raise self.program_error(str(error)) from error
        self._name = name
        self._run = self._function("run")
        self._message = self._function("message", ctypes.c_char_p)
        self._share = self._function("share")
        self._destroy = self._function("destroy", None)
        self._change = threading.Condition()
        self._free: list[_Instance] = []
        self._waiting = 0
        handle = ctypes.c_void_p()
        if self._function("create")(os.fsencode(weights), ctypes.byref(handle)) != 0:
            raise self._failure()
        self.inputs = self._tensors("input")
        self.outputs = self._tensors("output")
        self._free_rows = self._find_free_rows()
        self._counts = ctypes.c_size_t(len(self.inputs)), ctypes.c_size_t(len(self.outputs))
        self._sizes = self._sizes_of_calls()
        self._first = self._instance(handle)
        self._free.append(self._first)
        self._most = max(1, runs_at_once if runs_at_once is not None else os.cpu_count() or 1)
        self._made = 1
        self._closed = False

    def run(
        self,
        names: Sequence[str] | None,
        feeds: Mapping[str, Any],
        outputs: Mapping[str, np.ndarray[Any, Any]] | None = None,
    ) -> list[np.ndarray[Any, Any]]:
        """The outputs of these names (None: all), in their order, of arrays by the names of the inputs. Of an output with a
        row for each step of a loop, where the call decides how many these are, the rows that there are. Arrays are those of
        numpy, or of others that support DLPack and are in the processor's memory; those that are contiguous are not copied.
        `outputs`: arrays that outputs are written into."""
        if len(feeds) != len(self.inputs):
            self._check_names(feeds, self.inputs, "input")
        if outputs:
            self._check_names(outputs, self.outputs, "output", may_lack=True)
        if names is not None:
            self._check_names(names, self.outputs, "output", may_lack=True)
        results = self.call(feeds, outputs)
        if names is None:
            return results
        by_name = {tensor.name: array for tensor, array in zip(self.outputs, results)}
        return [by_name[name] for name in names]

    def call(
        self, feeds: Mapping[str, Any], outputs: Mapping[str, np.ndarray[Any, Any]] | None = None
    ) -> list[np.ndarray[Any, Any]]:
        """All outputs. What else is among the arrays is left alone."""
        arrays = [self.checked_input(tensor, feeds) for tensor in self.inputs]
        size = 0
        if len(self._sizes) == 1:
            for tensor, array in zip(self.inputs, arrays):
                if array.shape != tensor.shapes[0]:
                    raise self._wrong_input(tensor, array)
        else:
            size = self._size_of(arrays)
        results = [self._result(tensor, size, outputs, arrays) for tensor in self.outputs]
        if outputs:
            self._check_overlaps([array for array in results if any(array is given for given in outputs.values())])
        instance = self._acquire()
        try:
            for i, array in enumerate(arrays):
                instance.inputs[i] = _address(array)
                instance.input_bytes[i] = array.nbytes
            for i, array in enumerate(results):
                instance.outputs[i] = _address(array)
                instance.output_bytes[i] = array.nbytes
            code = self._run(instance.handle, instance.inputs, instance.input_bytes, self._counts[0],
                             instance.outputs, instance.output_bytes, self._counts[1])  # fmt: skip
            if code != 0:
                raise self._failure()
            for i in self._free_rows:
                results[i] = results[i][: self._written_rows(instance.handle, i)]
        finally:
            self._release(instance)
        return results

    def checked_input(self, tensor: Tensor, feeds: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        """A contiguous array of the right type, which is that of the caller where it is one."""
        try:
            array = feeds[tensor.name]
        except KeyError:
            raise self.input_error(f"input '{tensor.name}' is missing") from None
        if type(array) is not np.ndarray:
            array = self._as_array(tensor.name, array)
        if array.dtype != tensor.dtype:
            raise self._wrong_input(tensor, array)
        flags = array.flags
        return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")

    def close(self) -> None:
        """Ends the threads and releases the memory, when the calls that run have ended."""
        if self._closed:
            return
        with self._change:
            if self._closed:
                return
            self._closed = True
            self._waiting += 1
            self._change.notify_all()
            ended: list[_Instance] = []
            while len(ended) < self._made:  # one that is being made is counted, and is made of the first
                if self._free:
                    ended.append(self._free.pop())
                else:
                    self._change.wait()
            for instance in ended:
                self._destroy(instance.handle)
            self._waiting -= 1
        try:
            from _ctypes import dlclose
        except ImportError:
            return
        dlclose(self._functions._handle)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # at the end of the interpreter
            pass

    def _function(self, name: str, result: Any = ctypes.c_int) -> Any:
        try:
            function = self._functions[f"{self._name}_{name}"]
        except AttributeError as error:
            raise self.program_error(str(error)) from error
        function.restype = result
        return function

    def _failure(self) -> Exception:
        return self.program_error(self._message().decode(errors="replace"))

    def _tensors(self, kind: str) -> list[Tensor]:
        count = self._function(f"{kind}_count", ctypes.c_size_t)()
        name, type_text = (self._function(f"{kind}_{what}", ctypes.c_char_p) for what in ("name", "type"))
        numbers = map(ctypes.c_size_t, range(count))
        return [Tensor(name(i).decode(errors="replace"), type_text(i).decode()) for i in numbers]

    def _find_free_rows(self) -> list[int]:
        """The outputs of which a call decides how many rows they have."""
        if not hasattr(self._functions, f"{self._name}_most_rows"):
            return []
        most = self._function("most_rows", ctypes.c_size_t)
        self._written_rows = self._function("written_rows", ctypes.c_size_t)
        self._written_rows.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        return [i for i in range(len(self.outputs)) if most(ctypes.c_size_t(i)) > 0]

    def _sizes_of_calls(self) -> dict[tuple[Shape, ...], int]:
        """By the shapes of all inputs, the number of the sizes of a call."""
        count = max((len(tensor.shapes) for tensor in [*self.inputs, *self.outputs]), default=1)
        return {
            tuple(tensor.shapes[i % len(tensor.shapes)] for tensor in self.inputs): i for i in reversed(range(count))
        }

    def _size_of(self, arrays: Sequence[np.ndarray[Any, Any]]) -> int:
        size = self._sizes.get(tuple(array.shape for array in arrays))
        if size is not None:
            return size
        for tensor, array in zip(self.inputs, arrays):
            if array.shape not in tensor.shapes:
                raise self._wrong_input(tensor, array)
        raise self.input_error("the inputs have sizes that do not belong together")

    def _wrong_input(self, tensor: Tensor, array: np.ndarray[Any, Any]) -> Exception:
        right = " or ".join(_type_text(tensor.dtype, shape) for shape in tensor.shapes)
        return self.input_error(
            f"input '{tensor.name}' is {_type_text(array.dtype, array.shape)}, and has to be {right}"
        )

    def _as_array(self, name: str, value: Any) -> np.ndarray[Any, Any]:
        if isinstance(value, (np.ndarray, np.generic)):
            return np.asarray(value)
        if not hasattr(value, "__dlpack__"):
            raise self.input_error(f"input '{name}' is no array: {type(value).__name__}")
        try:
            return np.from_dlpack(value)
        except Exception as error:  # each library has its own
            raise self.input_error(f"input '{name}' cannot be taken by DLPack: {error}") from error

    def _result(
        self, tensor: Tensor, size: int, given: Mapping[str, Any] | None, inputs: Sequence[np.ndarray[Any, Any]]
    ) -> np.ndarray[Any, Any]:
        shape = tensor.shapes[size % len(tensor.shapes)]
        array = given.get(tensor.name) if given else None
        if array is None:
            return np.empty(shape, tensor.dtype)
        what = f"the array for output '{tensor.name}'"
        if not isinstance(array, np.ndarray):
            raise self.input_error(f"{what} is none of numpy: {type(array).__name__}")
        if array.dtype != tensor.dtype or array.shape != shape:
            raise self.input_error(
                f"{what} is {_type_text(array.dtype, array.shape)}, and has to be {_type_text(tensor.dtype, shape)}"
            )
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned and flags.writeable):
            raise self.input_error(f"{what} is not contiguous, not aligned, or cannot be written to")
        if any(np.may_share_memory(array, other) for other in inputs):
            raise self.input_error(f"{what} shares memory with an input")
        return array

    def _check_overlaps(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        for i, array in enumerate(arrays):
            if any(np.may_share_memory(array, other) for other in arrays[:i]):
                raise self.input_error("two arrays for outputs share memory")

    def _check_names(self, names: Any, tensors: Sequence[Tensor], kind: str, may_lack: bool = False) -> None:
        known = {tensor.name for tensor in tensors}
        for name in names:
            if name not in known:
                raise self.input_error(
                    f"there is no {kind} '{name}'; there are: {', '.join(tensor.name for tensor in tensors)}"
                )
        for tensor in tensors:
            if not may_lack and tensor.name not in names:
                raise self.input_error(f"{kind} '{tensor.name}' is missing")

    def _instance(self, handle: ctypes.c_void_p) -> _Instance:
        return _Instance(handle, len(self.inputs), len(self.outputs))

    def _acquire(self) -> _Instance:
        """One that nobody uses; another one is made as long as there may be more. Taking one out of a list and putting it back
        are single steps for other threads, so that they need no lock."""
        try:
            instance = self._free.pop()
        except IndexError:
            return self._other_instance()
        if self._closed:
            self._release(instance)
            raise self.program_error("the program is closed")
        return instance

    def _release(self, instance: _Instance) -> None:
        self._free.append(instance)
        if self._waiting:  # whoever waits has said so before it looked for one
            with self._change:
                self._change.notify_all()

    def _other_instance(self) -> _Instance:
        with self._change:
            self._waiting += 1
            try:
                while not self._closed:
                    if self._free:
                        return self._free.pop()
                    if self._made < self._most:
                        break
                    self._change.wait()
            finally:
                self._waiting -= 1
            if self._closed:
                raise self.program_error("the program is closed")
            self._made += 1
        handle = ctypes.c_void_p()
        if self._share(self._first.handle, ctypes.byref(handle)) == 0:
            return self._instance(handle)
        failure = self._failure()
        with self._change:
            self._made -= 1
            self._change.notify_all()
        raise failure
