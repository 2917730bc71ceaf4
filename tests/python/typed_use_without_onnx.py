"""What a type checker has to find out about the module where onnx and numpy are not installed: package_test.py runs mypy on
this file, which never runs."""

import threading
from collections.abc import Iterator

from typing_extensions import assert_type

import lemma


class OwnMessage:
    """A message as protobuf makes them."""

    def ByteSize(self) -> int:  # noqa: N802: the names are protobuf's
        return 0

    def SerializeToString(self) -> bytes:  # noqa: N802
        return b""

    def ParseFromString(self, serialized: bytes) -> int:  # noqa: N802
        return len(serialized)


assert_type(lemma.optimize(b"")[0], bytes)
assert_type(lemma.optimize(OwnMessage())[0], OwnMessage)
assert_type(lemma.simplify(OwnMessage())[0], OwnMessage)
assert_type(lemma.differentiate("model.onnx"), bytes)
assert_type(lemma.optimize("model.onnx")[1].pictures, tuple[lemma.Picture, ...])
lemma.optimize(7)  # type: ignore[call-overload]
lemma.optimize(object())  # type: ignore[call-overload]
cancel = threading.Event()
lemma.optimize(b"", cancel=cancel, progress=lambda step: print(step.seconds))
lemma.optimize(b"", cancel=True)  # type: ignore[call-overload]
task = lemma.start(lemma.optimize, b"", time_limit=60)
assert_type(iter(task), Iterator[lemma.Step])
assert_type(lemma.Rule("rule r").prove(cancel=cancel), lemma.Verdict)
