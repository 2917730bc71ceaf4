"""Builds what the run book carries to a machine with a GPU: binaries, packed weights, self-checks and models."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy
import onnx
from onnx import numpy_helper

import environment
import model_sizes
from packing import pack, pack_together
from programs import (DEVICES, PERIOD, WITH_CUDNN, NoVariant, Refused, build_variant, folder_words, must, nvcc_words, run,
                      shared_runtime)
from unfinished import finished_bytes, locked, workplace

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PTX = ROOT / "backend_cuda" / "emit_cuda" / "parts"
SCRIPTS = ("run.py", "steps.py", "runtimes.py")
SMALL = 4096  # elements of weights that stay as they are


def with_repeated_weights(model, seed):
    """Large weights repeat a few of their own values, drawn by the seed, so that they can be carried packed. Sizes, types and
    ranges of values stay, and with them what is computed how."""
    for index, tensor in enumerate(model.graph.initializer):
        values = numpy_helper.to_array(tensor)
        if values.size <= SMALL or values.dtype.kind != "f":
            continue
        few = numpy.random.default_rng([seed, index]).choice(values.reshape(-1), PERIOD)
        tensor.CopyFrom(numpy_helper.from_array(numpy.resize(few, values.shape), tensor.name))
    return model


def with_sizes(model, sizes):
    """Sizes that the model leaves open are those that it is used with, for all that the book runs."""
    for tensor in model.graph.input:
        for dimension, size in zip(tensor.type.tensor_type.shape.dim, sizes.get(tensor.name, ())):
            dimension.dim_value = size
    return model


class ModelFiles:
    """What is carried for a model: one archive of all but weights and the model itself, which are large and repeat. Weights
    and recorded tensors are there once for all variants, and again where a variant has others."""

    def __init__(self, folder):
        self.folder, self.together, self.digests = folder, [], {}

    def has_already(self, file):
        """Whether it is the same for the variants before; the first one decides what all have in common."""
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        return self.digests.setdefault(file.name, digest) == digest

    def add_variant(self, name, directory):
        self.together.append((f"{name}/program", directory / "program"))
        for file in (directory / "weights.bin", directory / "selfcheck.bin"):
            is_first, is_same = file.name not in self.digests, self.has_already(file)
            place = file.name if is_first else f"{name}/{file.name}"
            if is_first or not is_same:
                if file.name == "weights.bin":
                    pack(file, self.folder / place)
                    file.unlink()  # it may be large
                else:
                    self.together.append((place, file))

    def write(self):
        pack_together(self.together, self.folder / "files.tar")


def predicted(options, model, scratch):
    """Seconds by way, of bench/cuda plans; nothing where no device of the architecture is described. The calls that are
    priced are in calls.txt then, for the baseline."""
    if options.arch not in DEVICES:
        return None
    plans, calls = scratch / "plans.json", scratch / "calls.txt"
    must([sys.executable, ROOT / "bench" / "cuda", "plans", model, "--device", DEVICES[options.arch], "--lemma",
          environment.lemma_program(options.lemma), "--json", plans, "--calls", calls])
    return json.loads(plans.read_text())["plans"][0]["seconds"]


def build_model(options, file, target, folder):
    """Files in a folder of the model, and what book.json says of it; all appears at once."""
    scratch, made = folder / "scratch", folder / file.stem
    for part in (scratch, made):
        part.mkdir()
    light = scratch / "model.onnx"
    loaded = with_sizes(onnx.load(file), model_sizes.sizes_of(file))
    onnx.save(with_repeated_weights(loaded, options.seed), light)
    files, without = ModelFiles(made), {}
    for variant in options.variant:
        try:
            files.add_variant(variant, build_variant(options, light, variant, scratch))
        except NoVariant as reason:
            without[variant] = str(reason)
    seconds = predicted(options, light, scratch)
    if seconds is not None:
        files.together.append(("calls.txt", scratch / "calls.txt"))
    files.write()
    pack(light, made / "model.onnx")
    record = {"model": file.stem, "variants": [variant for variant in options.variant if variant not in without], "without": without,
              "predicted": seconds}
    (made / "model.json").write_text(json.dumps(record) + "\n")
    with locked(target):
        if not (target / "models" / file.stem).exists():
            made.rename(target / "models" / file.stem)


def build_alone(options, target, scratch, name):
    """A program that needs no emitted one: the check of ptx.cuh, or what measures steps of a schedule."""
    if (target / f"{name}.xz").exists():
        return
    for part in ("ptx.cuh", "run_time.cuh", "device_calls.cuh"):
        shutil.copy(PTX / f"{part}.in", scratch / part)
    shutil.copy(ROOT / "base" / "half_precision.h", scratch)  # for a test's ptx.cuh
    shutil.copy(HERE / f"{name}.cu", scratch)
    must([*nvcc_words(options), f"{name}.cu", "-o", name], scratch)
    pack(scratch / name, scratch / "packed")
    (scratch / "packed.xz").rename(target / f"{name}.xz")


def carry_description(options, target, folder):
    """The description of the device that programs are scheduled for, of which run.py makes one of the device that is there."""
    described = Path(options.device or ROOT / "targets" / "devices" / f"{DEVICES.get(options.arch, '')}.json")
    if not described.exists():
        described = ROOT / "targets" / "devices" / f"{options.device}.json"
    if described.exists():
        shutil.copy(described, folder / "script")
        (folder / "script").rename(target / "device.json")


def build_baseline(options, target, scratch):
    """Why there is none; None if there is."""
    if (target / "baseline.xz").exists():
        return None
    shutil.copy(PTX / "device_calls.cuh.in", scratch / "device_calls.cuh")
    shutil.copy(HERE / "baseline.cu", scratch)
    done = run([*nvcc_words(options), *WITH_CUDNN, "baseline.cu", "-o", "baseline", *folder_words(options), "-lcublasLt", "-lcudnn"],
               scratch)
    if done.returncode != 0:
        return "cuBLASLt and cuDNN were not there when the book was prepared"
    pack(scratch / "baseline", scratch / "packed")
    (scratch / "packed.xz").rename(target / "baseline.xz")
    return None


class OtherBook(Exception):
    """The directory is prepared for something else."""


class Contents:
    """book.json: all models that are in the directory, whichever call has prepared them, in order of their names."""

    def __init__(self, options, target):
        self.target, self.file, self.made_for = target, target / "book.json", {"arch": options.arch, "seed": options.seed}
        self.update()

    def update(self, **changes):
        """Entries `without_baseline`, and `left_out` by model, are put in place of what is there."""
        with locked(self.target):
            there = json.loads(self.file.read_text()) if self.file.exists() else dict(self.made_for)
            for key, value in self.made_for.items():
                if there[key] != value:
                    raise OtherBook(f"{self.target}: it is prepared with {key} {there[key]}, not {value}")
            models = [json.loads(file.read_text()) for file in sorted((self.target / "models").glob("*/model.json"))]
            left_out = {**there.get("left_out", {}), **changes.get("left_out", {})}
            made = {model["model"] for model in models}
            contents = {**self.made_for, "models": models,
                        "left_out": {name: left_out[name] for name in sorted(left_out) if name not in made},
                        "without_baseline": changes.get("without_baseline", there.get("without_baseline"))}
            partial = self.file.with_name("book.json.partial")
            partial.write_text(json.dumps(contents, indent=1) + "\n")
            partial.rename(self.file)
            return contents


def prepare_common(options, target, contents):
    """What all models need."""
    (target / "models").mkdir(exist_ok=True)
    with workplace(target) as folder:
        for name in SCRIPTS:
            shutil.copy(HERE / name, folder / "script")
            (folder / "script").rename(target / name)
        runtime = shared_runtime(options)
        if runtime and not (target / "libraries" / f"{runtime.name}.xz").exists():
            (target / "libraries").mkdir(exist_ok=True)
            pack(runtime, folder / "packed")
            (folder / "packed.xz").rename(target / "libraries" / f"{runtime.name}.xz")
        carry_description(options, target, folder)
        for name in ("ptx_check", "device_costs"):
            build_alone(options, target, folder, name)
        contents.update(without_baseline=build_baseline(options, target, folder))


def prepare_model(options, file, target, contents):
    """Whether nothing failed. What is there is kept."""
    finished = target / "models" / file.stem
    try:
        if not finished.exists():
            with workplace(target) as folder:
                build_model(options, file, target, folder)
        record = json.loads((finished / "model.json").read_text())
        without = "".join(f"; without {name}: {reason}" for name, reason in record["without"].items())
        print(f"prepared  {file.stem}: {finished_bytes(finished) / 1e6:.2f} MB{without}", flush=True)
        contents.update()
    except Refused as reason:
        contents.update(left_out={file.stem: str(reason)})
        print(f"left out  {file.stem}: {reason}", flush=True)
    except RuntimeError as error:
        print(f"FAILED    {file.stem}: {error}", flush=True)
        return False
    return True


def prepare(options):
    """Exit code: 0; 2 where the directory is prepared for something else; 4 where a model fails, or it is too large."""
    target = options.prepare.absolute()  # compilers run elsewhere
    target.mkdir(parents=True, exist_ok=True)
    try:
        contents = Contents(options, target)
    except OtherBook as error:
        print(error, file=sys.stderr)
        return 2
    prepare_common(options, target, contents)
    failures = sum(not prepare_model(options, file, target, contents) for file in options.models)
    there = contents.update()
    with locked(target):
        size = finished_bytes(target)
    print(f"{len(there['models'])} models in {size / 1e6:.1f} MB")
    if size > options.most_megabytes * 1e6:
        print(f"{target}: more than {options.most_megabytes:g} MB", file=sys.stderr)
        failures += 1
    return 4 if failures else 0
