"""Builds what the run book carries to a machine with a GPU: binaries, packed weights, self-checks and models."""

import hashlib
import json
import lzma
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy
import onnx
from onnx import numpy_helper

import environment
import model_sizes

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PTX = ROOT / "backend_cuda" / "emit_cuda" / "parts"
# Of what `lemma emit` fuses.
VARIANTS = {"ours": (), "no-stitching": ("--without", "packing", "--without", "warp", "--without", "block"),
            "no-fusion": ("--no-fusion",), "calls": ("--library-calls",)}
PROGRAMS = ("selfcheck", "runner")
DEVICES = {"sm_75": "t4", "sm_80": "a100", "sm_90": "h100"}  # for predictions
PERIOD = 61  # prime, so that neighbours along no axis are equal
SMALL = 4096  # elements of weights that stay as they are


class Refused(Exception):
    """A model that is left out, with the reason."""


class NoVariant(Exception):
    """A variant of a model that is left out, with the reason."""


def run(words, cwd=None):
    return subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False)


def must(words, cwd=None):
    done = run(words, cwd)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]}: {(done.stderr.strip() or done.stdout.strip() or 'failed').splitlines()[-1]}")
    return done.stdout


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


def pack(source, target):
    """target.xz, which appears whole or not at all. Weights are large, and repeat: little effort packs them."""
    preset = 6 if source.stat().st_size < 1 << 24 else 1
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    with source.open("rb") as file, lzma.open(partial, "wb", preset=preset) as packed:
        shutil.copyfileobj(file, packed, 1 << 20)
    partial.rename(target.with_name(target.name + ".xz"))


def nvcc_words(options):
    """Programs have no symbols, so that they are small."""
    return [options.nvcc, "-std=c++20", "-O3", f"-arch={options.arch}", "--expt-relaxed-constexpr", '-DPROGRAM_DIRECTORY="."',
            "-Xlinker", "-s"]


def emit(options, model, variant, directory):
    words = [environment.lemma_program(options.lemma), "emit", model, "--target", "cuda", "--arch", options.arch, "-o", directory,
             "--name", "program", "--block-threads", options.block_threads, *VARIANTS[variant]]
    words += ["--device", options.device] if options.device else []
    words += ["--call-costs", DEVICES[options.arch]] if variant == "calls" and options.arch in DEVICES else []
    done = run(words)
    if done.returncode in (2, 3):
        raise Refused(last_part(done.stderr))
    if done.returncode != 0:
        raise RuntimeError(last_part(done.stderr) or f"lemma: exit code {done.returncode}")


def last_part(text):
    """Of "lemma: FILE: REASON"."""
    return text.strip().splitlines()[-1].split(".onnx: ", 1)[-1] if text.strip() else ""


def library_words(options, directory):
    """What calls of libraries are linked with; nothing where a program has none."""
    libraries = {"products.cuh": "-lcublasLt", "windows.cuh": "-lcudnn"}
    called = [word for file, word in libraries.items() if (directory / file).exists()]
    folder = Path(options.nvcc).resolve().parent.parent / "lib"
    # cuDNN calls its interface of single functions deprecated.
    return ["-Xcompiler", "-Wno-deprecated-declarations", "-L", folder, *called] if called else []


def build_main(words, directory, name, scratch):
    """The object of the self-check or the runner, which have no code for the device: the stages for it would take most of the
    time. Most variants have the same ones."""
    made = scratch / f"{name}.o"
    sources = [(directory / file).read_text() for file in (f"{name}.cu", "program.h")]
    key = scratch / f"{name}.sources"
    if not key.exists() or key.read_text() != "".join(sources):
        must([*words, "-x", "c++", "-c", f"{name}.cu", "-o", made], directory)
        key.write_text("".join(sources))
    return made


def pack_programs(directory, target):
    """Both in one file, as most of the one is also in the other."""
    both = directory / "programs.tar"
    with tarfile.open(both, "w") as file:
        for name in PROGRAMS:
            member = file.gettarinfo(directory / name, name)
            member.mtime = 0
            with (directory / name).open("rb") as contents:
                file.addfile(member, contents)
    pack(both, target / both.name)


def pack_shared(source, target):
    """For all variants of a model, beside their folders; a variant that has other contents has a file of its own."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    key = target.parent / f"{source.name}.sha256"
    if not key.exists():
        pack(source, target.parent / source.name)
        key.write_text(digest + "\n")
    elif key.read_text().strip() != digest:
        pack(source, target / source.name)


def build_variant(options, model, variant, target, scratch):
    directory = scratch / variant
    emit(options, model, variant, directory)
    if variant == "calls" and not (directory / "graph.cuh").exists():
        raise NoVariant("no call of a library pays")
    words = [*nvcc_words(options), *library_words(options, directory)]
    must([*words, "-c", "program.cu", "-o", "program.o"], directory)
    for name in PROGRAMS:
        must([*words, "program.o", build_main(words, directory, name, scratch), "-o", name], directory)
    pack_programs(directory, target)
    for name in ("weights.bin", "selfcheck.bin"):
        pack_shared(directory / name, target)
    shutil.rmtree(directory)


def predicted(options, model, target, scratch):
    """Seconds by way, of bench/cuda_plans; nothing where no device of the architecture is described. The calls that are
    priced are written for the baseline."""
    if options.arch not in DEVICES:
        return None
    plans, calls = scratch / "plans.json", scratch / "calls.txt"
    must([sys.executable, ROOT / "bench" / "cuda_plans", model, "--device", DEVICES[options.arch], "--lemma",
          environment.lemma_program(options.lemma), "--json", plans, "--calls", calls])
    pack(calls, target / "calls.txt")
    return json.loads(plans.read_text())["plans"][0]["seconds"]


def build_model(options, file, target):
    """What book.json says of the model."""
    record = target / "model.json"
    if record.exists():
        return json.loads(record.read_text())
    shutil.rmtree(target, ignore_errors=True)  # of a call that was interrupted
    with tempfile.TemporaryDirectory(prefix="lemma-book-") as name:
        scratch = Path(name)
        light = scratch / "model.onnx"
        loaded = with_sizes(onnx.load(file), model_sizes.sizes_of(file))
        onnx.save(with_repeated_weights(loaded, options.seed), light)
        without = {}
        for variant in options.variant:
            try:
                build_variant(options, light, variant, target / variant, scratch)
            except NoVariant as reason:
                without[variant] = str(reason)
        pack(light, target / "model.onnx")
        made = {"model": file.stem, "variants": [each for each in options.variant if each not in without], "without": without,
                "predicted": predicted(options, light, target, scratch)}
    record.write_text(json.dumps(made) + "\n")
    return made


def build_ptx_check(options, target):
    """The check of ptx.cuh needs no emitted program."""
    if (target / "ptx_check.xz").exists():
        return
    with tempfile.TemporaryDirectory(prefix="lemma-book-") as name:
        scratch = Path(name)
        for part in ("ptx.cuh", "run_time.cuh", "device_calls.cuh"):
            shutil.copy(PTX / f"{part}.in", scratch / part)
        shutil.copy(ROOT / "ir" / "half_precision.h", scratch)  # for a test's ptx.cuh
        shutil.copy(HERE / "ptx_check.cu", scratch)
        must([*nvcc_words(options), "ptx_check.cu", "-o", "ptx_check"], scratch)
        pack(scratch / "ptx_check", target / "ptx_check")


def build_baseline(options, target):
    """Why there is none; None if there is."""
    if (target / "baseline.xz").exists():
        return None
    with tempfile.TemporaryDirectory(prefix="lemma-book-") as name:
        scratch = Path(name)
        shutil.copy(PTX / "device_calls.cuh.in", scratch / "device_calls.cuh")
        shutil.copy(HERE / "baseline.cu", scratch)
        libraries = Path(options.nvcc).resolve().parent.parent / "lib"
        # cuDNN calls its interface of single functions deprecated.
        done = run([*nvcc_words(options), "-Xcompiler", "-Wno-deprecated-declarations", "baseline.cu", "-o", "baseline", "-L",
                    libraries, "-lcublasLt", "-lcudnn"], scratch)
        if done.returncode != 0:
            return "cuBLASLt and cuDNN were not there when the book was prepared"
        pack(scratch / "baseline", target / "baseline")
    return None


def bytes_below(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def prepare(options):
    """Exit code: 0; 4 where a model fails, or the directory is too large."""
    target, failures = options.prepare, 0
    target.mkdir(parents=True, exist_ok=True)
    for name in ("run.py", "steps.py", "runtimes.py"):
        shutil.copy(HERE / name, target)
    build_ptx_check(options, target)
    contents = {"arch": options.arch, "seed": options.seed, "models": [], "left_out": {},
                "without_baseline": build_baseline(options, target)}
    for file in options.models:
        folder = target / "models" / file.stem
        try:
            contents["models"].append(build_model(options, file, folder))
            without = "".join(f"; without {name}: {reason}" for name, reason in contents["models"][-1]["without"].items())
            print(f"prepared  {file.stem}: {bytes_below(folder) / 1e6:.2f} MB{without}", flush=True)
        except Refused as reason:
            shutil.rmtree(folder, ignore_errors=True)
            contents["left_out"][file.stem] = str(reason)
            print(f"left out  {file.stem}: {reason}", flush=True)
        except RuntimeError as error:
            failures += 1
            print(f"FAILED    {file.stem}: {error}", flush=True)
    (target / "book.json").write_text(json.dumps(contents, indent=1) + "\n")
    size = bytes_below(target)
    print(f"{len(contents['models'])} models in {size / 1e6:.1f} MB")
    if size > options.most_megabytes * 1e6:
        print(f"{target}: more than {options.most_megabytes:g} MB", file=sys.stderr)
        failures += 1
    return 4 if failures else 0
