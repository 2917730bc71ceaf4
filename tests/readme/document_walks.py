"""What the commands of each document need, and which of them are not run by tests/readme/walk_test.py, with the reason."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models")]

# Commands that no test runs: what they begin with, and why.
NOT_RUN = {
    "scripts/test": "runs all tests",
    "scripts/setup": "installs packages",
    "scripts/build release": "builds what is tested here",
    "cmake --preset release": "builds what is tested here",
    "cmake --install": "writes into the system; the test install_package installs into a folder",
    "pip ": "the test python_package makes a wheel and installs it",
    "LEMMA_BUILD_FOLDER": "the test python_package makes a wheel and installs it",
    "lemma run model.onnx --seed 0 --engine rtask-cuda": "needs a GPU",
    "lemma plan verify model.onnx sharded.onnx": "of a file that another tool writes; the test plans_sharded_models has such files",
    "python3 out/book/run.py": "needs a GPU",
    "lemma plan make step.onnx --cluster p100-hosts": "names tensors of AlexNet; the test plans_command has --beside",
}
# Documents that tests of their own walk through.
WALKED_ELSEWHERE = {"outside_operators.md": "the tests outside_operators and outside_operators_long"}
# Commands with the mark of scripts/test --all: they take more than a few seconds.
SLOW = (
    "lemma rules generate --set taso",
    "lemma rules verify taso.rules",
    "build/release/bin/lemma rules verify taso.rules",
    "build/release/bin/lemma-check taso.proofs",
    "build/release/bin/lemma audit --counterexample",
    "./lemma tune --operator MatMul",
    "cmake -S out/two_layer",
    "ctest --test-dir out/two_layer",
    "build/release/bin/lemma audit --axiom",
    "lemma compile model.onnx -o program --threads 1",
    "cmake -S program",
    "cmake --build build",
    "ctest --test-dir program/build",
    "./lemma rules verify --axioms",
    "build/release/bin/lemma rules verify --axioms",
    "./lemma rules build --set taso",
    "./lemma optimize examples/two_layer.onnx -o out/two_layer.onnx --rules out/taso_rules",
    "lemma rules build ",
    "lemma optimize model.onnx -o out.onnx --rules shipped",
    "lemma tune model.onnx",
    "lemma tune --operator MatMul --operand 'f32[37, 129]' --operand 'constant f32[129, 65]' --threads 1",
    "lemma optimize --target rtask-cpu",
    "lemma profile --target rtask-cpu",
    "scripts/task_programs",
    "lemma plan make step.onnx",
    "lemma plan topology step.onnx",
    "mpirun -n 2 lemma plan calibrate",
    "build/release/bin/lemma audit --html pages",
    "checkers/lemma_check.py rules/substitutions",
    "build/release/bin/lemma-check rules/substitutions",
    "scripts/reprove.py",
    "damage/certificate_mutants.py",
    "cuda_book/cuda_check",
)


def two_layers(folder, name="model.onnx"):
    (folder / name).write_bytes((ROOT / "examples" / "two_layer.onnx").read_bytes())


def token_model(folder):
    """A model with the inputs `ids` and `mask`, both [batch, 128]."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    table = numpy.linspace(-1, 1, 50 * 8, dtype=numpy.float32).reshape(50, 8)
    nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"]), helper.make_node("Unsqueeze", ["mask", "last"], ["weights"]),
             helper.make_node("Mul", ["rows", "weights"], ["y"])]
    graph = helper.make_graph(
        nodes, "tokens", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", 128]),
                          helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["batch", 128])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 128, 8])],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(numpy.array([2]), "last")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), folder / "model.onnx")


def product(folder):
    """A model that is a polynomial of its inputs."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    weights = numpy_helper.from_array(numpy.ones((6, 4), numpy.float32), "w")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, width]) for name, width in (("x", 6), ("y", 4)))
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product", [x], [y], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), folder / "model.onnx")


def classifier(folder, name="model.onnx"):
    """A model whose output are numbers of classes."""
    import onnx
    import sharded
    onnx.save(sharded.layers(), folder / name)


def ranks(folder, kind):
    import onnx
    import placed
    single, models = placed.KINDS[kind]()
    onnx.save(single, folder / "model.onnx")
    for rank, model in enumerate(models):
        onnx.save(model, folder / f"rank{rank}.onnx")


def two_ranks(folder):
    ranks(folder, "filters")


def training_step(folder):
    """step.onnx: a step of training with the inputs `x`, `labels` and momenta."""
    lemma = folder / "build" / "release" / "bin" / "lemma"
    classifier(folder, "classes.onnx")
    subprocess.run([lemma, "differentiate", "classes.onnx", "--loss", "cross-entropy", "--optimizer", "momentum", "-o", "step.onnx"],
                   cwd=folder, check=True, capture_output=True)


def rules(folder):
    """A few candidates, and rules of another system."""
    two_layers(folder)
    (folder / "found.rules").write_text("rule twice_negated\n  a : [A..]\n  Neg(Neg(a)) => a\n")
    (folder / "graph_subst.pb").write_bytes((ROOT / "tests" / "verifier" / "exchange" / "small.pb").read_bytes())


# Programs that some commands need, by a word of the command: without them these are not run, which is said.
NEEDED = {"mpirun": "mpirun", "CMAKE_SYSTEM_PROCESSOR=aarch64": "aarch64-linux-gnu-g++", "cmake --build build && ctest": "qemu-aarch64",
          "scripts/cuda_resources": "cuobjdump", "scripts/reprove.py": "eprover"}
# Exit codes other than 0, by command.
EXIT_CODES = {
    "./lemma diff examples/two_layer.onnx out/two_layer.onnx --html out/difference.html": 4,  # they differ
    "lemma rules verify taso.rules --verdicts taso.verdicts": 4,  # some candidates are refuted
    "build/release/bin/lemma rules verify taso.rules --verdicts taso.verdicts --write-certificates taso.proofs": 4,
    "build/release/bin/lemma rules verify taso.rules --counterexamples taso.counterexamples": 4,
}
# Other models than the one of examples/ as model.onnx, by a word of the command.
MODELS = {"--shape ids": token_model, "plan make step.onnx": training_step, "plan topology step.onnx": training_step, "plan run model.onnx rank0.onnx rank1.onnx": two_ranks,
          "--prime-field": product}
# Words in capitals, in every document.
PLACEHOLDERS = {"MODEL.onnx": "model.onnx", "TRAIN.onnx": "train.onnx", "MODEL...": "model.onnx",
                "NAME.explanation": "model.explanation", "taso_098": "*"}
# What is in the folder of each document beside the model of examples/ as model.onnx: what makes it, and commands that come first.
WALKS = {
    "audit.md": (rules, ()),
    "certificates.md": (two_layers, ("lemma optimize model.onnx -o out.onnx --explain model.explanation --no-measure",)),
    "database.md": (rules, ("lemma rules build --candidates found.rules -o shipped --work shipped.work",
                            "cp rules/operator_sets/small.set mine.set")),
    "gradients.md": (classifier, ()),
    "memory.md": (classifier, ("lemma differentiate model.onnx --loss cross-entropy --optimizer sgd -o train.onnx",)),
    "plans.md": (lambda folder: ranks(folder, "length"), ()),
}
