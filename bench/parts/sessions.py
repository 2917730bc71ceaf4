#!/usr/bin/env python3
"""Times `lemma.compile` from Python beside an InferenceSession of ONNX Runtime with the same threads: the first call (reading,
compiling without a cache, and one run), later calls, and memory. Models are those of the set and of bench/strangers.list.

Each figure of a first call and of memory is of a process of its own. Later calls take turns in one process, in random order,
with several threads after a pause and a call that does not count;
a ratio is the median over all rounds. Outputs are compared on the same inputs.

Exit code: 0 all sessions give the outputs of ONNX Runtime, 4 otherwise.
"""

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "parts"), str(ROOT / "scripts")]
import environment

environment.enter()

import results

LIMIT = 900  # seconds of a process


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks sessions", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files (default: those of --work)")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--work", type=Path, nargs="+", default=[ROOT / "out" / "strangers" / "models",
                                                                ROOT / "out" / "real_models" / "literature"],
                        help="folders of models, as bench/strangers and bench/models make them")
    parser.add_argument("--only", nargs="*", default=[], help="models whose name contains one of these")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5, help="of timing, for each model")
    parser.add_argument("--inputs", help=argparse.SUPPRESS)
    parser.add_argument("--child", choices=("lemma", "onnxruntime", "both"), help=argparse.SUPPRESS)
    results.add_option(parser)
    return parser.parse_args()


# ---- In a process of its own -----------------------------------------------------------------------------------------

def runtime_session(model, threads):
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 4
    return onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])


def lemma_session(model, threads, in_background=False):
    import warnings

    import lemma
    warnings.simplefilter("ignore", lemma.FallbackWarning)
    return lemma.compile(model, threads=threads, background=in_background)


def resident_megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def first_call(kind, model, threads, feeds):
    """Seconds and megabytes of the first call, with the imports before it."""
    import numpy  # noqa: F401
    if kind == "lemma":
        import lemma  # noqa: F401
    else:
        import onnxruntime  # noqa: F401
    before = resident_megabytes()
    begin = time.perf_counter()
    session = lemma_session(model, threads) if kind == "lemma" else runtime_session(model, threads)
    session.run(None, feeds)
    seconds = time.perf_counter() - begin
    for _ in range(3):
        session.run(None, feeds)
    return {"seconds": seconds, "megabytes": resident_megabytes() - before}


def worst_difference(got, expected):
    """Of the tolerance, which is 1e-4 of the value and of the greatest one, and of f16 as much as its steps are larger."""
    import numpy
    worst = 0.0
    for a, b in zip(got, expected):
        if not isinstance(b, numpy.ndarray) or b.dtype.kind not in "fiub":
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        if b.size:
            part = 1e-2 if b.dtype == numpy.float16 else 1e-4
            a, b = a.astype(numpy.float64), b.astype(numpy.float64)
            difference = numpy.where((a == b) | (numpy.isnan(a) & numpy.isnan(b)), 0, numpy.abs(a - b))
            finite = numpy.abs(b[numpy.isfinite(b)])
            limit = part * (numpy.abs(b) + (finite.max() if finite.size else 0)) + 1e-6
            worst = max(worst, float((difference / limit).max()))
    return worst


def later_calls(model, threads, feeds, seconds):
    sessions = {"lemma": lemma_session(model, threads), "onnxruntime": runtime_session(model, threads)}
    outputs = {name: session.run(None, feeds) for name, session in sessions.items()}
    times = {name: [] for name in sessions}
    shuffled, end = random.Random(1), time.perf_counter() + seconds
    while len(times["lemma"]) < 7 or time.perf_counter() < end:
        order = list(sessions)
        shuffled.shuffle(order)
        for name in order:
            if threads > 1:  # threads of ONNX Runtime poll for some 70 ms after a call, and would take a processor of the next one
                time.sleep(0.15)
                sessions[name].run(None, feeds)
            begin = time.perf_counter()
            sessions[name].run(None, feeds)
            times[name].append(time.perf_counter() - begin)
    compiled = sessions["lemma"]._static or next(iter(sessions["lemma"]._by_sizes.values()), None)
    parts = [type(part).__name__ for part in compiled.parts] if compiled else []
    return {"ms": {name: 1e3 * statistics.median(taken) for name, taken in times.items()},
            "ratio": statistics.median(a / b for a, b in zip(times["lemma"], times["onnxruntime"])),
            "worst": worst_difference(outputs["lemma"], outputs["onnxruntime"]),
            "parts": len(parts), "in_runtime": sum(part == "_RuntimePart" for part in parts)}


def child(options):
    import numpy
    [model] = options.models
    with numpy.load(options.inputs) as given:
        feeds = dict(given)
    if options.child == "both":
        said = later_calls(model, options.threads, feeds, options.seconds)
    else:
        said = first_call(options.child, model, options.threads, feeds)
    print(json.dumps(said))


# ---- All models ------------------------------------------------------------------------------------------------------

def package(lemma, folder):
    """The module with the built program, as a wheel has them."""
    shutil.copytree(ROOT / "python" / "lemma", folder / "lemma", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "lemma" / "bin").symlink_to(Path(environment.lemma_program(lemma)).resolve().parent)


def in_child(options, kind, model, inputs, folder, cache):
    environ = dict(os.environ, PYTHONPATH=str(folder), LEMMA_CACHE=str(cache))
    call = ["timeout", str(LIMIT), sys.executable, __file__, model, "--child", kind, "--inputs", inputs, "--threads",
            options.threads, "--seconds", options.seconds]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False, env=environ)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:200])
    return json.loads(done.stdout.splitlines()[-1])


def measure(options, model, folder):
    import numpy
    from agreement import inputs_of
    with tempfile.TemporaryDirectory(prefix="lemma-sessions-") as name:
        inputs, cache = Path(name) / "inputs.npz", Path(name) / "cache"
        numpy.savez(inputs, **inputs_of(model))
        first = {kind: in_child(options, kind, model, inputs, folder, cache) for kind in ("lemma", "onnxruntime")}
        again = in_child(options, "lemma", model, inputs, folder, cache)
        later = in_child(options, "both", model, inputs, folder, cache)
    return {"first": first, "again": again, **later}


def main():
    options = arguments()
    if options.child:
        child(options)
        return 0
    models = options.models or sorted(file for folder in options.work for file in folder.glob("*.onnx"))
    models = [model for model in models if not options.only or any(word in model.stem for word in options.only)]
    rows, failed = [], []
    print(f"{'model':24} {'first s':>8} {'cached s':>9} {'ORT s':>6} {'ms':>9} {'ORT ms':>9} {'ratio':>6} {'MB':>6} {'ORT MB':>7} "
          f"{'parts':>6} {'worst':>8}")
    with tempfile.TemporaryDirectory(prefix="lemma-package-") as name:
        package(options.lemma, Path(name))
        for model in models:
            try:
                row = measure(options, model, Path(name))
            except Exception as error:  # ONNX Runtime has no common base class for its errors
                failed.append(model.stem)
                print(f"{model.stem:24} {error}", flush=True)
                continue
            if not row["worst"] <= 1:
                failed.append(model.stem)
            cells = [row["first"]["lemma"]["seconds"], row["again"]["seconds"], row["first"]["onnxruntime"]["seconds"],
                     row["ms"]["lemma"], row["ms"]["onnxruntime"], row["ratio"], row["first"]["lemma"]["megabytes"],
                     row["first"]["onnxruntime"]["megabytes"], row["parts"], row["in_runtime"], row["worst"]]
            rows.append([model.stem, *(round(cell, 4) for cell in cells)])
            print(f"{model.stem:24} {cells[0]:8.2f} {cells[1]:9.2f} {cells[2]:6.2f} {cells[3]:9.3f} {cells[4]:9.3f} {cells[5]:6.2f} "
                  f"{cells[6]:6.0f} {cells[7]:7.0f} {cells[8]:3}/{cells[9]:<2} {cells[10]:8.2g}", flush=True)
    if rows:
        print(f"geometric mean of the ratios: {statistics.geometric_mean(row[6] for row in rows):.2f}")
    if failed:
        print(f"not compiled, or other outputs: {', '.join(failed)}")
    results.update(options.result, rows)
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
