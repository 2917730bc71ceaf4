#!/usr/bin/env python3
"""Attention that is written out in operators of ONNX becomes one operator of ONNX Runtime where these are asked for,
with the results of ONNX Runtime for the original and an explanation that is accepted; where they are not, it does
not."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import environment  # noqa: E402

environment.enter_or_skip()

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from unrolled import Builder  # noqa: E402

HEADS, SIZE, QUERIES, KEYS, BATCH = 4, 16, 24, 32, 2


def shape(builder, *sizes):
    return builder.constant(numpy.array(sizes, numpy.int64))


def attention(scaling, addend, turned_twice, mask=()):
    """`addend`, `mask`: sizes of their first two axes."""
    builder = Builder(5)
    lengths = {"q": QUERIES, "k": KEYS, "v": KEYS}
    parts = {name: builder.node("Transpose", builder.node(
        "Reshape", builder.input(name, BATCH, length, HEADS * SIZE), shape(builder, BATCH, length, HEADS, SIZE)),
        perm=[0, 2, 3, 1] if name == "k" and not turned_twice else [0, 2, 1, 3]) for name, length in lengths.items()}
    if turned_twice:
        parts["k"] = builder.node("Transpose", parts["k"], perm=[0, 1, 3, 2])
    scores = builder.node("MatMul", parts["q"], parts["k"])
    if scaling:
        factor = {"Mul": 0.25, "Div": 4.0}[scaling]
        scores = builder.node(scaling, scores, builder.constant(numpy.float32(factor)))
    if addend:
        scores = builder.node("Add", scores, builder.input("m", *addend, QUERIES, KEYS))
    if mask:
        allowed = builder.node("Greater", builder.input("m", *mask, QUERIES, KEYS), builder.constant(numpy.float32(-0.5)))
        least = builder.constant(numpy.finfo(numpy.float32).min)
        scores = builder.node("Where", allowed, scores, least)
    values = builder.node("MatMul", builder.node("Softmax", scores, axis=3), parts["v"])
    joined = builder.node("Reshape", builder.node("Transpose", values, perm=[0, 2, 1, 3]),
                          shape(builder, BATCH, QUERIES, HEADS * SIZE))
    builder.output(joined, "y")
    return builder.model()


def models():
    for scaling in ("", "Mul", "Div"):
        for addend in ((), (1, 1), (BATCH, 1)):
            name = f"{scaling or 'unscaled'}_{'x'.join(map(str, addend)) or 'alone'}"
            yield name, attention(scaling, addend, False)
        for mask in ((1, 1), (BATCH, 1)):
            yield f"{scaling or 'unscaled'}_masked_{'x'.join(map(str, mask))}", attention(scaling, (), False, mask)
    yield "turned_twice", attention("Div", (), True)


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise ValueError((done.stderr + done.stdout).strip())


def results(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    generator = numpy.random.default_rng(3)
    return session.run(None, {one.name: generator.standard_normal(one.shape).astype(numpy.float32)
                              for one in session.get_inputs()})


def check(lemma, name, model, folder):
    source, target = (folder / f"{name}{end}" for end in (".onnx", ".out.onnx"))
    onnx.save(model, source)
    for options, wanted in ((["--runtime-operators"], 1), ([], 0)):
        explanation = folder / f"{name}.{wanted}.explanation"
        run(lemma, "optimize", source, "-o", target, "--no-measure", "--no-second-judge", "--explain", explanation, "--quiet", *options)
        nodes = [node.op_type for node in onnx.load(target).graph.node]
        if nodes.count("MultiHeadAttention") != wanted or (wanted and "Softmax" in nodes):
            raise ValueError(f"with {options} it becomes {nodes}")
        for before, after in zip(results(source), results(target), strict=True):
            numpy.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemma", required=True, help="the program to test")
    parser.add_argument("--checker", required=True, help="the program lemma-check")
    arguments = parser.parse_args()
    faults = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models():
            count += 1
            try:
                check(arguments.lemma, name, model, pathlib.Path(folder))
            except Exception as error:  # ONNX Runtime has no common base class for its errors
                faults += 1
                print(f"{name}: {error}")
        try:
            run(arguments.checker, "rules/substitutions", *sorted(pathlib.Path(folder).glob("*.1.explanation")))
        except ValueError as error:
            faults += 1
            print(error)
    print(f"{count} models, {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
