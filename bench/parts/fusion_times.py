"""What bench/tasks fusion --time does: times memory-bound operators and models as task programs beside ONNX Runtime, models also
without each scheme of stitching and beside XLA and OpenVINO, with one thread on one processor.

All runtimes take turns, in random order; a ratio is the median over all rounds. A sample has as many runs as take 50 us. The share
of a copy: the time of a copy that reads and writes as many bytes as the inputs, outputs and weights have, over the program's.
"""

import importlib.util
import json
import math
import os
import statistics
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy
import onnx

import emitted_program
import memory_bound_cases
import results
import task_times
from agreement import inputs_of

ROOT = Path(__file__).resolve().parents[2]
MODELS = ["normalization_chain", "softmax_chain", "softmax_chain_2000", "dien", "crnn", "speech", "gnn",
          "layer_normalization_parts"]
SCHEMES = ["thread", "packing", "warp", "block"]
SAMPLE_SECONDS = 50e-6
MOST_NODES_OF_XLA = 500  # it compiles longer than a measurement should take
LARGEST_RATIO, MEAN_OF_MODELS, LARGEST_OF_MODELS, LEAST_SHARE = 1.0, 0.6, 0.9, 0.7


# ---- Runtimes --------------------------------------------------------------------------------------------------------

def is_there(module):
    return importlib.util.find_spec(module) is not None


class Xla:
    """The model in JAX, compiled by XLA for one thread."""

    def __init__(self, model, feed):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
        import jax

        import jax_evaluation
        weights = jax_evaluation.weights_of(model)
        # What says how operators are applied has to be known; the rest is given.
        self.given = {name: jax.device_put(array) for name, array in {**weights, **feed}.items()
                      if array.dtype.kind == "f" or name in feed}
        self.call = jax.jit(lambda values: jax_evaluation.evaluate(model, values))

    def run(self):
        return self.call(self.given).block_until_ready()


class Copy:
    """Reads and writes as many bytes in all."""

    def __init__(self, moved):
        self.source = numpy.ones(max(1, moved // 2), numpy.uint8)
        self.target = numpy.zeros_like(self.source)

    def run(self):
        numpy.copyto(self.target, self.source)


# ---- Building --------------------------------------------------------------------------------------------------------

def build(options, model, folder, *words):
    """None, or why the program is not there."""
    try:
        emitted_program.build(options.lemma, model, folder, 1, "--most-check-memory", 0, *words)
    except RuntimeError as error:
        return str(error)
    except subprocess.CalledProcessError as error:
        return f"not compiled: {error}"
    return None


def write_cases(options, folder):
    """(what is timed, file, variants) of operators and models."""
    jobs = []
    if not options.models or options.operators is not None:
        for name, kind, size in memory_bound_cases.cases():
            if options.operators and name not in options.operators:
                continue
            file = folder / f"case{len(jobs)}.onnx"
            onnx.save(memory_bound_cases.model_of(name, kind, size), file)
            jobs.append(SimpleNamespace(name=name, kind=kind, size=size, file=file, variants=["all"], is_model=False))
    files = list(options.models)
    if not files and options.operators is None:
        subprocess.run([ROOT / "models" / "build", *MODELS, "--out", folder], check=True, stdout=subprocess.DEVNULL)
        files = [folder / f"{name}.onnx" for name in MODELS]
    variants = ["all", *([] if options.no_variants else SCHEMES)]
    jobs += [SimpleNamespace(name=file.stem, kind="float32", size=None, file=file, variants=variants, is_model=True)
             for file in files]
    return jobs


def build_all(options, jobs, folder):
    """Folders of programs by job and variant; None where one is not built, which is said."""
    def built(place, job, variant):
        where = folder / f"program{place}_{variant}"
        words = [] if variant == "all" else ["--without", variant]
        return where, build(options, job.file, where, *words)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        pending = [(job, variant, pool.submit(built, place, job, variant))
                   for place, job in enumerate(jobs) for variant in job.variants]
        for job in jobs:
            job.programs = {}
        for job, variant, future in pending:
            where, fault = future.result()
            if fault:
                print(f"{job.name} {job.kind} {job.size or ''} {variant}: {fault}", flush=True)
            else:
                job.programs[variant] = where


# ---- Timing ----------------------------------------------------------------------------------------------------------

def bytes_moved(model, feed, outputs):
    weights = sum(onnx.numpy_helper.to_array(tensor).nbytes for tensor in model.graph.initializer)
    return weights + sum(array.nbytes for array in feed.values()) + sum(array.nbytes for array in outputs)


def differs(program, reference, kind):
    """Whether an output differs by more than roundings of its type explain."""
    limit = 4e-3 if kind == "float16" else 1e-4
    for data, expected in zip(program.outputs, reference.session.run(None, reference.feed)):
        got = data.view(expected.dtype).reshape(expected.shape)
        if not numpy.allclose(got, expected, rtol=limit, atol=limit * float(numpy.abs(expected).max() or 1), equal_nan=True):
            return True
    return False


def repeated(run, count):
    def runs():
        for _ in range(count):
            run()
    return runs


def timed(runs, seconds):
    """Seconds of a run by name: lists of samples, which belong together by round."""
    once = task_times.timed(runs, SimpleNamespace(threads=1, seconds=0, runs=3))
    counts = {name: max(1, math.ceil(SAMPLE_SECONDS / max(1e-7, statistics.median(taken)))) for name, taken in once.items()}
    times = task_times.timed({name: repeated(run, counts[name]) for name, run in runs.items()},
                             SimpleNamespace(threads=1, seconds=seconds, runs=None))
    return {name: [taken / counts[name] for taken in samples] for name, samples in times.items()}


def peers_of(job, model, feed):
    """Runs of other systems by name, of those that are there."""
    runs = {}
    if is_there("openvino"):
        runs["openvino"] = task_times.OpenVino(job.file, feed, 1).run
    if is_there("jax") and len(model.graph.node) <= MOST_NODES_OF_XLA:
        runs["xla"] = Xla(model, feed).run
    return runs


def measure(options, job):
    """Medians of seconds and of ratios to ONNX Runtime by what ran; None without a program."""
    if "all" not in job.programs:
        return None
    model = onnx.load(job.file)
    feed = inputs_of(job.file) if job.is_model else memory_bound_cases.feed_of(job.name, model)
    programs = {variant: emitted_program.Program(folder, feed) for variant, folder in job.programs.items()}
    reference = task_times.OnnxRuntime(job.file, feed, 1)
    for program in programs.values():
        program.run()
    wrong = [variant for variant, program in programs.items() if differs(program, reference, job.kind)]
    moved = bytes_moved(model, feed, programs["all"].outputs)
    runs = {variant: program.run for variant, program in programs.items()}
    runs |= {"onnxruntime": reference.run, "copy": Copy(moved).run}
    if job.is_model:
        runs |= peers_of(job, model, feed)
    times = timed(runs, options.seconds * (4 if job.is_model else 1))
    for program in programs.values():
        program.close()
    over = lambda name, base: statistics.median(a / b for a, b in zip(times[name], times[base]))
    return SimpleNamespace(ms={name: 1e3 * statistics.median(taken) for name, taken in times.items()}, moved=moved, wrong=wrong,
                           ratio={name: over(name, "onnxruntime") for name in times}, share=over("copy", "all"))


def row_of(job, figures):
    size = "x".join(map(str, job.size)) if job.size else "model"
    ratio = lambda name: round(figures.ratio[name], 2) if name in figures.ratio else None
    return [job.name if job.is_model else f"{job.name} {job.kind}", size, round(figures.moved / 1e6, 3),
            round(figures.ms["all"], 4), round(figures.ms["onnxruntime"], 4), ratio("all"), round(100 * figures.share),
            *(ratio(name) for name in ("openvino", "xla", *SCHEMES))]


# ---- What was asked --------------------------------------------------------------------------------------------------

def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def worst_of(rows, least=0):
    return ", ".join(f"{row[0]} {row[1]} {row[5]:.2f}" for row in sorted(rows, key=lambda row: -row[5])[:5] if row[5] > least)


def bars_of(rows):
    """(what, bar, what is reached, whether it is met) of the rows that there are."""
    operators = [row for row in rows if row[1] not in ("model", "x".join(map(str, memory_bound_cases.BEYOND_CACHE)))]
    models = [row for row in rows if row[1] == "model"]
    far = [row for row in rows if row not in operators and row not in models]
    if operators:
        above = [row for row in operators if row[5] > LARGEST_RATIO]
        yield ("time of memory-bound operators over that of ONNX Runtime, each of 16 kinds in three sizes, f32 and f16",
               f"{LARGEST_RATIO:.1f}", f"geometric mean {geometric_mean([row[5] for row in operators]):.2f}; {len(above)} of "
               f"{len(operators)} are above{': the worst are ' + worst_of(above) if above else ''}", not above)
    if models:
        mean = geometric_mean([row[5] for row in models])
        yield ("the same of memory-bound models, geometric mean", f"{MEAN_OF_MODELS}", f"{mean:.2f}", mean <= MEAN_OF_MODELS)
        above = [row for row in models if row[5] > LARGEST_OF_MODELS]
        yield ("the same, each model", f"{LARGEST_OF_MODELS}", worst_of(models), not above)
    if far:
        least = min(far, key=lambda row: row[6])
        yield ("bytes per second where data do not fit in a cache, of those of a copy", f"{100 * LEAST_SHARE:.0f}%",
               f"{least[6]}% ({least[0]}) to {max(row[6] for row in far)}%", least[6] >= 100 * LEAST_SHARE)


def write_bars(options, rows):
    """Into the result, with the reasons that it had."""
    bars = list(bars_of(rows))
    for what, bar, best, met in bars:
        print(f"{'met' if met else 'MISSED'}: {what}: asked {bar}, reached {best}")
    if not options.result:
        return
    result = json.loads(options.result.read_text())
    reasons = {entry["what"]: entry["reason"] for entry in result["asked"]}
    result["asked"] = [{"what": what, "bar": bar, "best": best, "met": met,
                        "reason": "" if met else reasons.get(what) or "see the rows"} for what, bar, best, met in bars]
    options.result.write_text(results.text_of(result))
    results.update(options.result, rows)


def main(options):
    for module in ("openvino", "jax"):
        if not is_there(module):
            print(f"{module} is absent: its columns stay empty")
    rows, failed = [], False
    with tempfile.TemporaryDirectory(prefix="lemma-fusion-") as folder:
        jobs = write_cases(options, Path(folder))
        build_all(options, jobs, Path(folder))
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(f"{'':32} {'size':>12} {'MB':>9} {'program ms':>10} {'ONNX R. ms':>10} {'ratio':>6} {'copy %':>6} {'OpenVINO':>8} "
              f"{'XLA':>6} " + " ".join(f"{'-' + scheme:>8}" for scheme in SCHEMES))
        for job in jobs:
            try:
                figures = measure(options, job)
            except Exception as error:  # noqa: BLE001 - whatever a runtime raises where it has no kernel
                print(f"{job.name} {job.kind} {job.size or ''}: {str(error).splitlines()[0][:150]}", flush=True)
                failed = failed or job.is_model
                continue
            if figures is None or figures.wrong:
                print(f"{job.name} {job.kind} {job.size or ''}: other results, or no program", flush=True)
                failed = True
                if figures is None:
                    continue
            rows.append(row_of(job, figures))
            cells = [f"{'-' if cell is None else cell:>{width}}"
                     for cell, width in zip(rows[-1][1:], (12, 9, 10, 10, 6, 6, 8, 6, 8, 8, 8, 8))]
            print(f"{rows[-1][0]:32} {' '.join(cells)}", flush=True)
    write_bars(options, rows)
    return 4 if failed else 0
