"""Models compiled for the processor here, and called as in ONNX Runtime (docs/compile.md)."""

from __future__ import annotations

import os
import tempfile
import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._cancel import CancelEvent
from ._errors import Error, InputError, InternalError, UnsupportedError
from ._models import Model, as_file, private_folder
from ._optimize import Progress, _reader_of
from ._options import Shapes, option_words, shape_words
from ._program import run_for_json

if TYPE_CHECKING:
    import numpy as np

    from ._library import Library

_MOST_COUNTED = 256  # sizes that are remembered though nothing is compiled for them


class FallbackWarning(UserWarning):
    """Parts of a model run in ONNX Runtime, because no program computes their operators."""


@dataclass(frozen=True)
class Value:
    """An input or output of a model."""

    name: str
    type: str
    """The elements as numpy calls them, such as "float32"; empty for what is no tensor of numbers."""
    shape: tuple[int | str, ...] | None
    """A text stands for a size that is not fixed; none: the rank is not known."""


def _value(answer: Mapping[str, Any]) -> Value:
    from ._library import dtype_of

    try:
        element = str(dtype_of(answer["type"])) if answer["type"] != "undefined" else ""
    except TypeError:
        element = answer["type"]
    return Value(answer["name"], element, None if answer["sizes"] is None else tuple(answer["sizes"]))


def _runtime() -> Any:
    """ONNX Runtime; none if it is not installed."""
    try:
        import onnxruntime  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return None
    return onnxruntime


def _runtime_session(model: str | bytes, threads: int) -> Any:
    runtime = _runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class _ProgramPart:
    def __init__(self, answer: Mapping[str, Any], runs_at_once: int | None) -> None:
        from ._library import Library

        class OwnLibrary(Library):
            input_error = InputError
            program_error = InternalError

        if runs_at_once is None:
            runs_at_once = max(1, (os.cpu_count() or 1) // max(1, answer["units"]))
        self.library: Library = OwnLibrary(answer["library"], answer["weights"], "task_program", runs_at_once)

    def run(self, values: dict[str, Any], outputs: Mapping[str, Any] | None) -> None:
        results = self.library.call(values, outputs)
        values.update((tensor.name, array) for tensor, array in zip(self.library.outputs, results))

    def close(self) -> None:
        self.library.close()


class _RuntimePart:
    def __init__(self, answer: Mapping[str, Any], threads: int) -> None:
        self._inputs = [value["name"] for value in answer["inputs"]]
        self._outputs = [value["name"] for value in answer["outputs"]]
        self._session = _runtime_session(answer["model"], threads)

    def run_all(self, names: Sequence[str], feeds: Mapping[str, Any]) -> list[Any]:
        """Of a part that is the whole model: with nothing looked at before, which ONNX Runtime does as well."""
        results: list[Any] = self._session.run(names, feeds)
        return results

    def run(self, values: dict[str, Any], outputs: Mapping[str, Any] | None) -> None:
        results = _run_in_runtime(self._session, self._outputs, {name: values[name] for name in self._inputs})
        values.update(zip(self._outputs, results))

    def close(self) -> None:
        self._session = None


def _run_in_runtime(session: Any, names: Sequence[str], feeds: Mapping[str, Any]) -> list[Any]:
    try:
        results: list[Any] = session.run(names, feeds)
    except Exception as error:  # it has no common class for its errors
        kind = InputError if type(error).__name__ in ("InvalidArgument", "ValueError") else InternalError
        raise kind(str(error).splitlines()[0]) from error
    return results


class _Compiled:
    """A model for one list of sizes."""

    def __init__(self, answer: Mapping[str, Any], threads: int, runs_at_once: int | None) -> None:
        self.parts: list[_ProgramPart | _RuntimePart] = []
        try:
            for part in answer["parts"]:
                self.parts.append(
                    _ProgramPart(part, runs_at_once) if part["runs_in"] == "program" else _RuntimePart(part, threads)
                )
        except BaseException:
            self.close()
            raise
        self.outputs = [(output["name"], output["value"]) for output in answer["outputs"]]
        self._given = {value["name"] for value in answer["inputs"]}
        self.library: Library | None = None  # of a model that is one program
        self.whole: _RuntimePart | None = None  # of a model that runs in ONNX Runtime, all of it
        if len(self.parts) == 1:
            [part] = self.parts
            if isinstance(part, _ProgramPart):
                self.library = part.library
            elif not any(value in self._given for _, value in self.outputs):
                self.whole = part
        self.users = 0
        self.is_retired = False  # its last user closes it

    def run(self, feeds: Mapping[str, Any], outputs: Mapping[str, Any] | None) -> dict[str, Any]:
        """Outputs by name. Those of programs are written into arrays of the caller at once; the caller looks after others."""
        if self.library is not None:
            return {
                tensor.name: array for tensor, array in zip(self.library.outputs, self.library.call(feeds, outputs))
            }
        values = dict(feeds)
        places: dict[str, Any] = {}
        for name, value in self.outputs:
            if outputs and name in outputs and value not in self._given:
                places.setdefault(value, outputs[name])
        for part in self.parts:
            part.run(values, places)
        return {name: values[value].copy() if value in self._given else values[value] for name, value in self.outputs}

    def close(self) -> None:
        for part in self.parts:
            part.close()


class Session:
    """A compiled model. Several threads may use it at the same time. `lemma.compile` makes one."""

    def __init__(
        self,
        model: Model,
        threads: int,
        shapes: Shapes | None,
        cache: bool,
        progress: Progress | None,
        keep: int,
        background: bool | None,
        runs_at_once: int | None,
        most_steps: int = 1024,
        schedules: bool = True,
        cancel: CancelEvent | None = None,
    ) -> None:
        self._closed = True
        self._cancel = cancel  # of the call that makes the session
        self._most_steps, self._schedules = most_steps, schedules
        self._model = os.fspath(model) if isinstance(model, os.PathLike) else model
        self._threads, self._runs_at_once, self._keep = threads, runs_at_once, max(1, keep)
        self._shapes = dict(shapes or {})
        self._progress = progress
        self._folder = None if cache else tempfile.TemporaryDirectory(prefix="lemma-session-", ignore_cleanup_errors=True)
        self._change = threading.Condition()
        self._compiling = threading.Lock()
        self._fallback: Any = None
        self._warning: str | None = None  # that is to be given; empty: it was
        self._by_sizes: OrderedDict[tuple[Any, ...], _Compiled] = OrderedDict()
        self._seen: OrderedDict[tuple[Any, ...], int] = OrderedDict()
        self._refused: OrderedDict[tuple[Any, ...], Error] = OrderedDict()
        self._static: _Compiled | None = None
        has_runtime = _runtime() is not None
        self._background = has_runtime if background is None else background and has_runtime
        try:
            answer = self._answer({})
        except BaseException:
            if self._folder is not None:
                self._folder.cleanup()
            raise
        self.inputs = [_value(value) for value in answer["inputs"]]
        self.outputs = [_value(value) for value in answer["outputs"]]
        self._names = {value.name for value in self.inputs}, {value.name for value in self.outputs}
        self._last_whole: tuple[_RuntimePart, list[tuple[str, Any]]] | None = None  # of the last call, with its sizes
        self._values: dict[str, str] = {output["name"]: output["value"] for output in answer["outputs"]}
        if not answer["open_sizes"]:
            self._static = self._opened(answer)
        self._closed, self._cancel = False, None
        self._warn(4)

    def run(
        self,
        names: Sequence[str] | None,
        feeds: Mapping[str, Any],
        outputs: Mapping[str, np.ndarray[Any, Any]] | None = None,
    ) -> list[Any]:
        """The outputs of these names (None: all), in their order. `feeds`: arrays by the names of the inputs, of numpy or of
        what supports DLPack. Contiguous arrays are not copied. `outputs`: arrays that outputs are written into."""
        if self._static is not None and self._static.library is not None:
            return self._static.library.run(names, feeds, outputs)
        last = self._last_whole
        if last is not None and outputs is None and (names is None or names):  # ONNX Runtime takes no names as all of them
            whole, shapes = last
            if all(getattr(feeds.get(name), "shape", None) == shape for name, shape in shapes):
                try:
                    return whole.run_all([self._values[name] for name in names or self._values], feeds)
                except Exception:  # what is wrong is found out below
                    pass
        self._check_names(names, feeds, outputs)
        arrays = {value.name: self._as_array(value, feeds[value.name]) for value in self.inputs}
        results = self._results(arrays, outputs)
        self._warn(3)
        for name, place in (outputs or {}).items():
            if results[name] is not place:
                results[name] = _written(name, place, results[name])
        return [results[name] for name in (names if names is not None else [value.name for value in self.outputs])]

    def close(self) -> None:
        """Ends threads and releases memory, when the calls that run have ended. Later calls are errors."""
        with self._change:
            if self._closed:
                return
            self._closed, self._last_whole = True, None
            kept = [*self._by_sizes.values(), *([self._static] if self._static else [])]
            self._by_sizes.clear()
            while any(compiled.users for compiled in kept):
                self._change.wait()
        for compiled in kept:
            compiled.close()
        self._fallback = None
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # at the end of the interpreter
            pass

    # Compilation.

    def _answer(self, shapes: Shapes) -> Any:
        words = shape_words({**self._shapes, **shapes}) + option_words({"--threads": self._threads or None})
        words += option_words({"--most-steps": self._most_steps, "--no-schedules": not self._schedules})
        environment = {"LEMMA_CACHE": self._folder.name} if self._folder is not None else {}
        with private_folder(self._model) as folder:
            source = as_file(self._model, folder)
            more = ["--verbose"] if self._progress is not None else []
            return run_for_json(
                ["compile", source, "--cached", "--parts", *words, *more],
                on_line=_reader_of(self._progress),
                environment=environment,
                cancel=self._cancel,
            )

    def _opened(self, answer: Mapping[str, Any]) -> _Compiled:
        operators = answer["runtime_operators"]
        if operators and _runtime() is None:
            raise UnsupportedError(f"no program computes {operators}, and ONNX Runtime is not installed")
        if operators and self._warning is None:
            self._warning = f"these operators run in ONNX Runtime, because no program computes them: {operators}"
            if answer["left_to_runtime"]:
                self._warning += "; the others have too little to do for programs between them, and run there as well"
        return _Compiled(answer, self._threads, self._runs_at_once)

    def _warn(self, level: int) -> None:
        """Once, in the thread of a caller: a program may have been compiled in another one."""
        if self._warning:
            warning, self._warning = self._warning, ""
            warnings.warn(warning, FallbackWarning, stacklevel=level)

    def _compile(self, key: tuple[Any, ...]) -> None:
        """Compiles for sizes and keeps that, in place of what was used least recently."""
        shapes = {value.name: shape for value, shape in zip(self.inputs, key) if shape is not None}
        compiled = self._opened(self._answer(shapes))
        dropped = [compiled]
        with self._change:
            if not self._closed:
                dropped = []
                self._by_sizes[key] = compiled
                while len(self._by_sizes) > self._keep:
                    _, oldest = self._by_sizes.popitem(last=False)
                    oldest.is_retired = True
                    if not oldest.users:
                        dropped.append(oldest)
        for old in dropped:
            old.close()

    def _compile_beside(self, key: tuple[Any, ...]) -> None:
        """The same in a thread; what goes wrong is known when these sizes come again."""
        try:
            self._compile(key)
        except Error as error:
            self._refuse(key, error)
        finally:
            self._compiling.release()

    def _refuse(self, key: tuple[Any, ...], error: Error) -> None:
        with self._change:
            self._refused[key] = error
            while len(self._refused) > _MOST_COUNTED:
                self._refused.popitem(last=False)

    def _is_wanted(self, key: tuple[Any, ...]) -> bool:
        """Whether something is to be compiled for these sizes: where nothing has to go for it, or the second time."""
        with self._change:
            if len(self._by_sizes) < self._keep:
                return True
            count = self._seen.pop(key, 0) + 1
            self._seen[key] = count
            while len(self._seen) > _MOST_COUNTED:
                self._seen.popitem(last=False)
            return count > 1

    # Calls.

    def _enter(self, key: tuple[Any, ...]) -> _Compiled | None:
        with self._change:
            if self._closed:
                raise InternalError("the session is closed")
            compiled = self._static if self._static is not None else self._by_sizes.get(key)
            if compiled is not None:
                compiled.users += 1
                if self._static is None:
                    self._by_sizes.move_to_end(key)
            return compiled

    def _leave(self, compiled: _Compiled) -> None:
        with self._change:
            compiled.users -= 1
            is_last = compiled.is_retired and compiled.users == 0
            self._change.notify_all()
        if is_last:
            compiled.close()

    def _results(self, arrays: dict[str, Any], outputs: Mapping[str, Any] | None) -> dict[str, Any]:
        key = tuple(getattr(arrays[value.name], "shape", None) if value.type else None for value in self.inputs)
        while (compiled := self._enter(key)) is None:
            if self._runs_in_runtime(key):
                return self._run_fallback(arrays)
        try:
            results = compiled.run(arrays, outputs)
        finally:
            self._leave(compiled)
        if compiled.whole is not None and not self._closed:
            self._last_whole = compiled.whole, [(value.name, size) for value, size in zip(self.inputs, key)]
        return results

    def _runs_in_runtime(self, key: tuple[Any, ...]) -> bool:
        """Whether a call is not to wait for a program. Otherwise there is one when this returns."""
        if key in self._refused:
            if _runtime() is None:
                raise self._refused[key]
            return True
        if not self._background:
            with self._compiling:
                if key not in self._by_sizes:
                    try:
                        self._compile(key)
                    except (UnsupportedError, InputError) as error:  # ONNX Runtime may take sizes that the standard does not
                        if _runtime() is None:
                            raise
                        self._refuse(key, error)
            return False
        if self._is_wanted(key) and self._compiling.acquire(blocking=False):
            threading.Thread(target=self._compile_beside, args=(key,), daemon=True).start()
        return True

    def _run_fallback(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        with self._change:
            if self._fallback is None:
                model = self._model
                if not isinstance(model, (str, bytes)):
                    model = model.SerializeToString()
                self._fallback = _runtime_session(model, self._threads)
            session = self._fallback
        names = [value.name for value in self.outputs]
        return dict(zip(names, _run_in_runtime(session, names, arrays)))

    def _check_names(
        self, names: Sequence[str] | None, feeds: Mapping[str, Any], outputs: Mapping[str, Any] | None
    ) -> None:
        known_inputs, known_outputs = self._names
        for kind, known, given in (
            ("input", known_inputs, feeds),
            ("output", known_outputs, names or ()),
            ("output", known_outputs, outputs or ()),
        ):
            for name in given:
                if name not in known:
                    raise InputError(f"there is no {kind} '{name}'; there are: {', '.join(sorted(known))}")
        for value in self.inputs:
            if value.name not in feeds:
                raise InputError(f"input '{value.name}' is missing")

    def _as_array(self, value: Value, given: Any) -> Any:
        """As numpy has it. What is no tensor of numbers is left to ONNX Runtime."""
        import numpy as np

        if not value.type:
            return given
        if not isinstance(given, (np.ndarray, np.generic)):
            if not hasattr(given, "__dlpack__"):
                raise InputError(f"input '{value.name}' is no array: {type(given).__name__}")
            try:
                given = np.from_dlpack(given)
            except Exception as error:  # each library has its own
                raise InputError(f"input '{value.name}' cannot be taken by DLPack: {error}") from error
        array = np.asarray(given)
        fits = value.shape is None or (
            len(array.shape) == len(value.shape)
            and all(isinstance(size, str) or size == there for size, there in zip(value.shape, array.shape))
        )
        if str(array.dtype) != value.type or not fits:
            sizes = "" if value.shape is None else f"[{', '.join(map(str, value.shape))}]"
            there = f"{array.dtype}[{', '.join(map(str, array.shape))}]"
            raise InputError(f"input '{value.name}' is {there}, and has to be {value.type}{sizes}")
        return array


def _written(name: str, place: Any, result: Any) -> Any:
    """The caller's array with a result that is elsewhere."""
    import numpy as np

    if not isinstance(place, np.ndarray) or place.dtype != result.dtype or place.shape != result.shape:
        raise InputError(f"the array for output '{name}' is not {result.dtype}{list(result.shape)}")
    if not place.flags.writeable:
        raise InputError(f"the array for output '{name}' cannot be written to")
    place[...] = result
    return place


def compile(
    model: Model,
    *,
    threads: int = 0,
    shapes: Shapes | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    keep: int = 8,
    background: bool | None = None,
    runs_at_once: int | None = None,
    most_steps: int = 1024,
    schedules: bool = True,
    cancel: CancelEvent | None = None,
) -> Session:
    """Compiles a model for the processor here: `lemma compile`.

    `threads` run it (0: as many as there are processors). `shapes` fix sizes of inputs. A model that leaves sizes open is
    compiled for each list of sizes that it is called with; the `keep` lists that were used last are kept. Such a compilation
    runs beside the calls where ONNX Runtime is installed, which runs the model meanwhile; with background=False, calls wait.
    Compiled programs are kept in the cache of the program, or with cache=False as long as the session. `runs_at_once`: so
    many calls run at the same time, each with memory and threads of its own, while others wait (None: as the processors
    allow). An output with a row for each step of a loop has room for `most_steps` where a call decides how many these are; a call
    that takes more is an error. schedules=False: loop schedules of `lemma tune` are not taken. What no program computes runs in ONNX Runtime, with a
    FallbackWarning. `cancel`, a `threading.Event`, ends this call with `Cancelled` when it is set; it does not concern sizes
    that calls of the session are compiled for later.
    """
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        raise UnsupportedError("lemma.compile needs numpy") from error
    if threads < 0:
        raise InputError("threads is a number from 0 on")
    if most_steps < 1:
        raise InputError("most_steps is a number from 1 on")
    return Session(model, threads, shapes, cache, progress, keep, background, runs_at_once, most_steps, schedules, cancel)
