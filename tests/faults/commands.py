"""The commands that are struck by faults: what they read, in two versions, and what they write."""

import dataclasses
import pathlib
import shutil
import sys
import typing

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import tiny_models
from tiny_models import F32, content, integers_attribute, node, number, tensor_type

SIZE = 16


def weights(seed, count=SIZE * SIZE):
    """Small numbers that differ between seeds, exact in every format."""
    return [((7 * i + 11 * seed) % 17 - 8) / 16 for i in range(count)]


def write_model(file, seed, data=None, size=SIZE):
    """A product and a Relu between operators that change nothing; with `data`, the weights are in a file of that
    name."""
    file.parent.mkdir(parents=True, exist_ok=True)
    twice = [integers_attribute("perm", [1, 0])]
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Transpose", ["a"], ["b"], attributes=twice),
             node("Transpose", ["b"], ["c"], attributes=twice), node("Identity", ["c"], ["d"]),
             node("Relu", ["d"], ["y"])]
    values, matrix = weights(seed, size * size), tensor_type(F32, [4, size])
    if data:
        (file.parent / data).write_bytes(tiny_models.floats(values))
        initializer = tiny_models.external_tensor("w", [size, size], data)
    else:
        initializer = tiny_models.tensor("w", [size, size], values)
    file.write_bytes(tiny_models.model(nodes, [("x", matrix)], [("y", matrix)], initializers=[initializer]))


AXIOMS = ("axiom commutes\n  x : [n]\n  y : [n]\n  Add(x, y) = Add(y, x)\n",
          "axiom negated_twice\n  x : [n]\n  Neg(Neg(x)) => x\n")
CANDIDATES = ("rule first\n  x : [n]\n  y : [n]\n  Relu(Add(x, y)) => Relu(Add(y, x))\n",
              "rule second\n  x : [n]\n  Relu(Neg(Neg(x))) => Relu(x)\n",
              "rule third\n  x : [n]\n  y : [n]\n  z : [n]\n  Add(Add(x, y), z) => Add(z, Add(x, y))\n")


def write_axioms(folder):
    (folder / "axioms").mkdir(parents=True)
    (folder / "axioms" / "mine.axioms").write_text("\n".join(AXIOMS))
    shutil.copy(HERE.parents[1] / "rules" / "axioms.rounding", folder)


def two_models(work, version):
    """In two folders, and the weights of both are in a file of one name."""
    for seed, name in enumerate(("encoder", "decoder")):
        write_model(work / name / f"{name}.onnx", 2 * version + seed, data="weights.bin")


def one_model(work, version):
    write_model(work / "model.onnx", version)


def both_versions(work, version):
    write_model(work / "before.onnx", version)
    write_model(work / "after.onnx", version + 2)


def rule_folder(work, version):
    """Axioms and rules; the second version has another rule, and no proofs are there yet."""
    folder = work / "rules"
    if version == 0:
        write_axioms(folder)
        (folder / "substitutions").mkdir()
    (folder / "substitutions" / "mine.rules").write_text("\n".join(CANDIDATES[:2 + version]))


def candidates(work, version):
    if version == 0:
        write_axioms(work / "axioms")
    (work / "candidates.rules").write_text("\n".join(CANDIDATES[:2 + version]))


@dataclasses.dataclass
class Command:
    name: str
    prepare: typing.Callable  # (folder, version): writes what is read
    words: str
    # Commands that read what was written, each with the file without which there is nothing to read.
    readers: tuple = ()
    # The model that a result is made of. A result that could not be made is the model as it was.
    results: dict = dataclasses.field(default_factory=dict)
    told: tuple = ()  # files that tell what happened, and so tell another thing after a fault
    measured: tuple = ()  # files that are never the same twice
    optional: tuple = ()  # files without which a command also ends well, with a note
    first: str = ""  # a command that is run before
    exit: int = 0
    limit: float = 900  # seconds
    # Also with `words` in a folder where an older version of the result is.
    replaces: bool = True


# A busy machine must not change what is found.
NO_TIMES = "--no-measure --no-second-judge --threads 1 --time-limit 600"

FOLDER = {f"out/{name}.onnx": f"{name}/{name}.onnx" for name in ("encoder", "decoder")}


def read_back(*files):
    return tuple((file, words) for file in files for words in (f"inspect {file}", f"run {file} --random 1"))


COMMANDS = [
    Command("optimize", one_model, "optimize model.onnx -o result.onnx --report report.json --explain steps.explanation "
            f"--trace steps.trace {NO_TIMES}",
            readers=read_back("result.onnx"), results={"result.onnx": "model.onnx"}, told=("report.json",)),
    Command("optimize_folder", two_models, "optimize encoder/encoder.onnx decoder/decoder.onnx --out-dir out --report "
            f"report.html {NO_TIMES}",
            readers=read_back(*FOLDER), results=FOLDER, told=("report.html",)),
    Command("optimize_jobs", two_models, "optimize encoder/encoder.onnx decoder/decoder.onnx --out-dir out --jobs 2 "
            f"{NO_TIMES}",
            readers=read_back(*FOLDER), results=FOLDER),
    Command("optimize_judged", one_model, "optimize model.onnx -o result.onnx --no-measure --threads 1 --time-limit 600",
            readers=read_back("result.onnx"), results={"result.onnx": "model.onnx"}),
    Command("simplify", two_models, "simplify encoder/encoder.onnx -o result.onnx --no-second-judge --time-limit 600",
            readers=read_back("result.onnx"), results={"result.onnx": "encoder/encoder.onnx"}),
    Command("simplify_folder", two_models, "simplify encoder/encoder.onnx decoder/decoder.onnx --out-dir out --jobs 2 "
            "--no-second-judge --time-limit 600",
            readers=read_back(*FOLDER), results=FOLDER),
    Command("emit", one_model, "emit model.onnx -o program --replace --threads 2 --timeline timeline.svg "
            "--trace steps.trace"),
    Command("compile", one_model, "compile model.onnx -o program --replace --threads 2"),
    Command("emit_cuda", one_model, "emit model.onnx --target cuda -o program --replace"),
    Command("inspect", one_model, "inspect model.onnx --dot picture.dot", optional=("picture.svg",)),
    Command("diff", both_versions, "diff before.onnx after.onnx --html page.html", exit=4),
    Command("compare", both_versions, "compare before.onnx after.onnx", exit=4),
    Command("schedule", one_model, "schedule model.onnx --device h100 --timeline timeline.svg"),
    Command("run", one_model, "run model.onnx --random 1 --outputs results"),
    Command("run_built", one_model, "run model.onnx --random 1 --engine rtask-cpu --outputs results"),
    Command("profile", one_model, "profile model.onnx --seconds 0.01 --database times.sqlite --export times.json",
            readers=(("times.sqlite", "profile --list --database times.sqlite"),), measured=("times.sqlite", "times.json")),
    # Verdicts say which records were kept: after a run that was killed these are others.
    Command("rules_verify", rule_folder, "rules verify --rules rules --write --certificates proofs --threads 1",
            readers=(("rules/substitutions.proofs", "rules list --rules rules"),)),
    Command("rules_verdicts", rule_folder, "rules verify --rules rules --certificates proofs --verdicts verdicts.jsonl "
            "--threads 1"),
    Command("rules_build", candidates, "rules build --candidates candidates.rules --rules axioms --name mine -o built "
            "--threads 1",
            readers=(("built/substitutions", "rules list --rules built"),)),
    Command("rules_generate", one_model, "rules generate --set elementary --max-ops 1 -o found.rules --refuted "
            "refuted.rules --threads 1"),
    Command("rules_regions", one_model, "rules regions --set elementary --max-ops 1 -o found.rules --record regions.json "
            "--threads 1"),
    Command("rules_minimize", candidates, "rules minimize candidates.rules -o derived.txt --threads 1"),
    Command("rules_export", candidates, "rules export candidates.rules --format taso -o rules.pb"),
    Command("audit", rule_folder, "audit --rules rules --html pages", first="rules verify --rules rules --write"),
]


def command_named(name):
    return next(command for command in COMMANDS if command.name == name)
