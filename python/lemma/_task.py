"""Calls at work in the background: their steps as an iterator, their result later."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ._errors import InputError
from ._optimize import Step


class Task:
    """A call that was begun by `start`. Iterating over it gives its steps, each as soon as it begins, and ends with the call;
    every iteration begins with the first step. As a context manager it is cancelled where the block is left before its end."""

    def __init__(self, call: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        self._change = threading.Condition()
        self._steps: list[Step] = []
        self._has_ended = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._cancel = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(call, arguments, options), name="lemma-task", daemon=True)
        self._thread.start()

    def _work(self, call: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        try:
            self._result = call(*arguments, progress=self._add, cancel=self._cancel, **options)
        except BaseException as error:  # whatever it is, result() raises it
            self._error = error
        with self._change:
            self._has_ended = True
            self._change.notify_all()

    def _add(self, step: Step) -> None:
        with self._change:
            self._steps.append(step)
            self._change.notify_all()

    def __iter__(self) -> Iterator[Step]:
        seen = 0
        while True:
            with self._change:
                self._change.wait_for(lambda: self._has_ended or len(self._steps) > seen)
                if len(self._steps) == seen:
                    return
                step = self._steps[seen]
            seen += 1
            yield step

    def done(self) -> bool:
        """Whether the call has ended, in whatever way."""
        with self._change:
            return self._has_ended

    def cancel(self) -> None:
        """Ends the call: `result` raises `Cancelled`, unless the call had its result before. Does not wait for that."""
        self._cancel.set()

    def result(self, timeout: float | None = None) -> Any:
        """What the call returns, or the exception that it raises. TimeoutError after so many seconds; the call goes on."""
        with self._change:
            if not self._change.wait_for(lambda: self._has_ended, timeout):
                raise TimeoutError(f"the call has not ended after {timeout} s")
        if self._error is not None:
            raise self._error
        return self._result

    def __enter__(self) -> Task:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        self._thread.join()


def start(call: Callable[..., Any], *arguments: Any, **options: Any) -> Task:
    """Begins a call in a thread of its own: `lemma.start(lemma.optimize, "model.onnx", time_limit=60)`. `call` is a function
    that takes `progress` and `cancel`: optimize, simplify, optimize_all, simplify_all or compile."""
    takes = inspect.signature(call).parameters
    if "progress" not in takes or "cancel" not in takes:
        raise InputError(f"{getattr(call, '__name__', call)} tells no steps: it does not take progress and cancel")
    for word in ("progress", "cancel"):
        if word in options:
            raise InputError(f"a task has its own `{word}`: iterate over it, and use its cancel()")
    return Task(call, arguments, options)
