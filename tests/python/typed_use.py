"""What a type checker has to find out about the module: package_test.py runs mypy on this file, which never runs."""

from pathlib import Path

import onnx
from typing_extensions import assert_type

import lemma

message, report = lemma.optimize(onnx.ModelProto(), shapes={"x": [1, "n"]})
assert_type(message, onnx.ModelProto)
assert_type(report, lemma.Report)
assert_type(lemma.optimize(b"")[0], bytes)
assert_type(lemma.optimize("model.onnx")[0], bytes)
assert_type(lemma.optimize(Path("model.onnx"), output="result.onnx")[0], Path)
assert_type(lemma.simplify(onnx.ModelProto())[0], onnx.ModelProto)
assert_type(report.latency_after_ms, float | None)
assert_type(lemma.verify(b"", "model.onnx").equal, bool)
assert_type(lemma.optimize_all([b"", "model.onnx"], jobs=2), list[lemma.Result])
assert_type(lemma.inspect("model.onnx").parameters, int)
assert_type(lemma.diff(b"", onnx.ModelProto()).equal, bool)
lemma.simplify(b"", progress=lambda step: print(step.text), keep_outputs=["y"])
lemma.simplify(b"", strategy="auto")  # type: ignore[call-overload]
assert_type(lemma.rules()[0].proofs, tuple[str, ...])
assert_type(lemma.Rule("rule r").prove().certificate, str)
assert_type(report.rules_without_proof, list[str])
lemma.optimize(b"", strategy="greedy")  # type: ignore[call-overload]
lemma.optimize(7)  # type: ignore[call-overload]
lemma.optimize(b"", time_limit="soon")  # type: ignore[call-overload]
