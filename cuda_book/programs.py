"""Programs of the run book: emitted by variant, and compiled so that they are small when packed."""

import shutil
import subprocess
from pathlib import Path

import environment

HERE = Path(__file__).resolve().parent
# Of what `lemma emit` fuses.
VARIANTS = {"ours": (), "no-stitching": ("--without", "packing", "--without", "warp", "--without", "block"),
            "no-fusion": ("--no-fusion",), "calls": ("--library-calls",)}
MAINS = ("selfcheck", "runner")
DEVICES = {"sm_75": "t4", "sm_80": "a100", "sm_86": "a10", "sm_89": "l4", "sm_90": "h100", "sm_100": "b200",
           "sm_103": "b300", "sm_120": "rtx5090"}  # for predictions
PERIOD = 61  # of weights and inputs; prime, so that neighbours along no axis are equal


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


def library_folders(options):
    toolkit = Path(options.nvcc).resolve().parent.parent
    return [toolkit / name for name in ("lib64", "lib", "targets/x86_64-linux/lib")]


def shared_runtime(options):
    """The file of CUDA's runtime that programs load, by the name that they load it by; None where the toolkit has none."""
    libraries = [file for folder in library_folders(options) for file in sorted(folder.glob("libcudart.so.*"))]
    return min(libraries, key=lambda file: len(file.name), default=None)


def nvcc_words(options):
    """Programs have no symbols, no PTX, code for the device as it is, which packs better, and one runtime for all of them."""
    number = options.arch.removeprefix("sm_")
    return [options.nvcc, "-std=c++20", "-O3", f"-gencode=arch=compute_{number},code=sm_{number}", "--no-compress",
            "--expt-relaxed-constexpr", '-DPROGRAM_DIRECTORY="."', "-Xlinker", "-s",
            *(("-cudart", "shared") if shared_runtime(options) else ())]


def emit(options, model, variant, directory):
    words = [environment.lemma_program(options.lemma), "emit", model, "--target", "cuda", "--arch", options.arch, "-o", directory,
             "--name", "program", "--block-threads", options.block_threads, "--repeat-inputs", PERIOD, *VARIANTS[variant]]
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


# cuDNN calls its interface of single functions deprecated.
WITH_CUDNN = ("-Xcompiler", "-Wno-deprecated-declarations")


def library_words(options, directory):
    """What calls of libraries are linked with; nothing where a program has none."""
    libraries = {"products.cuh": "-lcublasLt", "windows.cuh": "-lcudnn"}
    called = [word for file, word in libraries.items() if (directory / file).exists()]
    return [*WITH_CUDNN, *folder_words(options), *called] if called else []


def folder_words(options):
    return [word for folder in library_folders(options) for word in ("-L", folder)]


def build_host_part(words, directory, name, scratch, *more):
    """The object of a source without code for the device: the stages for it would take most of the time. Most variants have
    the same ones."""
    made = scratch / f"{name}.o"
    sources = [(directory / file).read_text() for file in (f"{name}.cu", "program.h")]
    key = scratch / f"{name}.sources"
    if not key.exists() or key.read_text() != "".join(sources):
        must([*words, *more, "-x", "c++", "-c", f"{name}.cu", "-o", made], directory)
        key.write_text("".join(sources))
    return made


def build_variant(options, model, variant, scratch):
    """A folder with `program`, which is the self-check and the runner, `weights.bin` and `selfcheck.bin`."""
    directory = scratch / variant
    emit(options, model, variant, directory)
    if variant == "calls" and not (directory / "graph.cuh").exists():
        raise NoVariant("no call of a library pays")
    shutil.copy(HERE / "both.cu", directory)
    words = [*nvcc_words(options), *library_words(options, directory)]
    must([*words, "-c", "program.cu", "-o", "program.o"], directory)
    mains = [build_host_part(words, directory, name, scratch, f"-Dmain={name}_main") for name in MAINS]
    must([*words, "program.o", *mains, build_host_part(words, directory, "both", scratch), "-o", "program"], directory)
    return directory
