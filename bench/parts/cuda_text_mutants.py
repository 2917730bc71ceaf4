#!/usr/bin/env python3
"""Changes emitted CUDA source in one place each (a barrier, a wait, a signal, an order of memory, an index, a slot), and
counts how many changes the tests on a processor find (docs/cuda.md): by a wrong output, a race, or threads that wait for
ever, in one of seven orders of the blocks. Each that is not found is printed.

With --library-calls, programs are graphs of library calls and kernels, and the changes those of the graph (an edge, an
operand, a leading dimension, a copy, a workspace), in seven orders of nodes and blocks.

With --ptx, what is run is the PTX that nvcc makes of the source, and the changes are those of ptx.cuh, which only nvcc reads: an
order of memory, a lane, an operand of an instruction. Each change is tried in all programs until one finds it; where nvcc makes the
same PTX of all programs, it changes none of them. With --tf32, programs multiply factors that are rounded to TF32.
"""

import argparse
import collections
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "backend_cuda")]
import environment

environment.enter()

import cuda_attention_test
import cuda_call_mutants
import cuda_models
import cuda_mutants
import host_program
import ptx_mutants
import ptx_program
import results

MODELS = ("softmax_of_large_values", "layer_normalization", "products", "convolution", "attention", "lstm")
# In tiles, several of them for a task.
LARGE = ("tiled_product", "tiled_product_f16", "tiled_groups")
PTX_MODELS = ("products", "lstm", "narrow_products", "wide_elementwise", "wide_elementwise_f16", "tiled_product_f16", "tiled_product_bf16",
              "tiled_product", "tiled_product --tf32", "tiled_convolution_f16", "tiled_attention_f16", "normalization_of_bf16")
TF32_MODELS = ("tiled_product --tf32", "attention_in_one_pass --tf32", "lstm --tf32")
SAME = "the same code"
WITH_CALLS = ("scaled_products", "branches", "attention", "transformer_block")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/cuda mutants",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--library-calls", action="store_true")
    parser.add_argument("--ptx", action="store_true")
    parser.add_argument("--tf32", action="store_true", help="with --ptx: programs whose factors are rounded to TF32")
    parser.add_argument("--architecture", default="sm_90", help="for --ptx")
    parser.add_argument("--jobs", type=int, default=2, help="changes at a time")
    results.add_option(parser)
    options = parser.parse_args()
    if (options.result or options.tf32) and not options.ptx:
        parser.error("--result and --tf32 are for --ptx")
    return options


def emit(options, folder, words):
    """The source of a model, with more words for `lemma emit` behind its name."""
    model, *more = words.split()
    directory, file = folder / words.replace(" ", ""), folder / f"{model}.onnx"
    made = cuda_attention_test.ATTENTIONS["tf32"] if model == "attention_in_one_pass" else cuda_models.CALL_MODELS[model]
    file.write_bytes(made())
    device = ["--device", host_program.HOST_CUDA / "device.json"]
    if model.startswith(("tiled", "narrow")):
        device = ["--device", host_program.HOST_CUDA / "large_tasks.json", "--units", "1"]
    if model == "attention_in_one_pass":
        device = ["--device", "h100", "--units", "2"]
    threads = ["--block-threads", "32" if options.library_calls else "64"]
    calls = ["--library-calls", "all", "--call-costs", "h100"] if options.library_calls else []
    subprocess.run([environment.lemma_program(options.lemma), "emit", file, "--target", "cuda", "-o", directory, "--name",
                    "sample", *device, *threads, *calls, *more], check=True, stdout=subprocess.DEVNULL)
    return directory


def ptx_outcomes(options, folder):
    """(kind, place, how it is found) of the changes of ptx.cuh."""
    host = ptx_program.Host(folder, options.architecture)
    directories = [emit(options, folder, model) for model in (TF32_MODELS if options.tf32 else PTX_MODELS)]
    codes = {directory: ptx_program.compile_ptx(directory, "sample", options.architecture) for directory in directories}
    for directory in directories:
        unchanged = shutil.copytree(directory, folder / f"{directory.name}-unchanged")
        if host.build(unchanged, "sample") or any(host.check(unchanged, order)[0] for order in host_program.ORDERS):
            raise RuntimeError(f"{directory.name}: does not agree unchanged")
    numbers = itertools.count()

    def outcome(site):
        ways = []
        for directory in directories:
            if is_same_code(options, directory, codes[directory], site, folder / f"mutant-{next(numbers)}"):
                ways.append(SAME)
                continue
            ways.append(cuda_mutants.outcome(host, directory, site, folder / f"mutant-{next(numbers)}"))
            if ways[-1] not in (None, "does not compile"):
                return ways[-1]
        return None if None in ways else SAME if SAME in ways else "does not compile"

    sites = ptx_mutants.sites(directories[0])  # the file is the same for all
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(outcome, sites))
    return [(site[0], cuda_mutants.description(directories[0], site), how) for site, how in zip(sites, outcomes)]


def without_names(ptx):
    """PTX without what nvcc puts into names of functions of one file, which depends on all of the text."""
    return re.sub(r"[0-9a-f]{8}_\d+_sample_cu_[0-9a-f]{8}", "", ptx)


def is_same_code(options, directory, code, site, folder):
    """Whether nvcc makes the PTX of the unchanged program, `code`, of the changed one."""
    _, file, begin, end, new = site
    shutil.copytree(directory, folder)
    text = (folder / file).read_text()
    (folder / file).write_text(text[:begin] + new + text[end:])
    try:
        return without_names(ptx_program.compile_ptx(folder, "sample", options.architecture)) == without_names(code)
    except RuntimeError:
        return False
    finally:
        shutil.rmtree(folder)


def main_of_ptx(options):
    with tempfile.TemporaryDirectory(prefix="lemma-cuda-") as name:
        found = ptx_outcomes(options, Path(name))
    for kind, place, how in found:
        print(f"{kind:36} {how or 'NOT FOUND: ' + place}")
    changed = [how for _, _, how in found if how not in ("does not compile", SAME)]
    same = sum(how == SAME for _, _, how in found)
    print(f"{sum(how is not None for how in changed)} of {len(changed)} found; nvcc makes the same code of {same} more")
    results.update(options.result, [[kind, place.split("/", 1)[1].split(": ")[0], how or "not found"] for kind, place, how in found])
    return 0


def main():
    options = arguments()
    if options.ptx:
        return main_of_ptx(options)
    with tempfile.TemporaryDirectory(prefix="lemma-cuda-") as name:
        folder = Path(name)
        host = host_program.Host(folder)
        models = WITH_CALLS if options.library_calls else MODELS + LARGE
        directories = [emit(options, folder, model) for model in models]
        for directory in directories:
            if host.build(directory, "sample") or any(host.check(directory, order)[0] for order in host_program.ORDERS):
                print(f"{directory.name}: does not agree unchanged", file=sys.stderr)
                return 4
        chosen = cuda_mutants.choose(directories, options.count, options.seed,
                                     cuda_call_mutants.sites if options.library_calls else None)
        numbers = itertools.count()

        def outcome(change):
            how = cuda_mutants.outcome(host, *change, folder / f"mutant-{next(numbers)}")
            if how is None:
                print("not found: " + cuda_mutants.description(*change), flush=True)
            return how

        with ThreadPoolExecutor(options.jobs) as pool:
            outcomes = list(pool.map(outcome, chosen))
        kinds = collections.defaultdict(collections.Counter)
        for (directory, site), how in zip(chosen, outcomes):
            kinds[site[0]][how or "NOT FOUND"] += 1
        for kind, counts in kinds.items():
            print(f"{kind:36} " + ", ".join(f"{count} {how}" for how, count in sorted(counts.items())))
        compiled = [how for how in outcomes if how != "does not compile"]
        print(f"{sum(how is not None for how in compiled)} of {len(compiled)} found"
              + ("" if host.sanitizer else ", without ThreadSanitizer"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
