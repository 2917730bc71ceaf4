"""Trains LeNet on images of 28 by 28 with ONNX Runtime alone: the step of training is a model that Lemma writes.

    python examples/train_digits.py [STEPS]

The images are drawn, noisy and moved about: nothing has to be loaded.
"""

import sys
from pathlib import Path

import lemma
import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

sys.path.append(str(Path(__file__).resolve().parent.parent / "models"))
import training_models  # noqa: E402

BATCH = 32


def images(random, shapes):
    labels = random.integers(0, 10, BATCH)
    pictures = np.stack([np.roll(shapes[i], random.integers(-2, 3, 2), (0, 1)) for i in labels])
    noisy = pictures + random.normal(0, 0.5, pictures.shape)
    return noisy[:, None].astype(np.float32), labels.astype(np.int64)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    model = training_models.make("lenet", batch=BATCH)
    step = lemma.differentiate(model, loss="cross-entropy", optimizer="momentum")
    step, _ = lemma.optimize(step, time_limit=20, measure=False)
    session = onnxruntime.InferenceSession(step.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    weights = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
    state = {n.removesuffix(".next"): None for n in names if n.endswith(".next")}
    for name in state:
        state[name] = weights[name] if name in weights else np.zeros_like(weights[name.removesuffix(".momentum")])

    random = np.random.default_rng(0)
    shapes = (random.random((10, 7, 7)) < 0.4).repeat(4, 1).repeat(4, 2).astype(np.float64)
    for number in range(steps):
        x, labels = images(random, shapes)
        outputs = dict(zip(names, session.run(
            None, {"x": x, "labels": labels, "learning_rate": np.array(0.02, np.float32), **state})))
        state = {name: outputs[name + ".next"] for name in state}
        if number % 50 == 0 or number + 1 == steps:
            print(f"step {number}: loss {outputs['loss']:.4f}", flush=True)

    trained = onnx.ModelProto()
    trained.CopyFrom(model)
    for initializer in trained.graph.initializer:
        if initializer.name in state:
            initializer.CopyFrom(numpy_helper.from_array(state[initializer.name], initializer.name))
    x, labels = images(random, shapes)
    scores = onnxruntime.InferenceSession(trained.SerializeToString()).run(None, {"x": x})[0]
    print(f"{(scores.argmax(1) == labels).mean():.0%} of a new batch is right")


if __name__ == "__main__":
    main()
