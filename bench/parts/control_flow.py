#!/usr/bin/env python3
"""Times models with control flow as one program each beside ONNX Runtime with the same threads, on inputs that take different
ways: a decoder that writes 1 to 64 tokens before it stops, and a voice-activity model with one network for each sampling
rate. Outputs are compared on all inputs: tokens have to be the same ones.

Each model is compiled by `lemma compile`. Both runtimes take turns, in random order, in one process, called from Python with
numpy arrays; a time is the median over all rounds. With one thread the clock leaves out the time in which other programs had
the processor.

Exit code: 0 all outputs agree, 4 otherwise.
"""

import argparse
import importlib
import random
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

import numpy
import onnxruntime

import results

TOLERANCE = 1e-4  # of the largest element


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks control-flow", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5, help="of timing, for each input")
    parser.add_argument("--draws", type=int, default=400, help="inputs of the decoder, of which those are timed that take different numbers of steps")
    results.add_option(parser)
    return parser.parse_args()


def decoder_inputs(session, draws):
    """Inputs by what is said of them: of those with different numbers of steps, some from few to many."""
    by_steps = {}
    for seed in range(draws):
        generator = numpy.random.default_rng(seed)
        feed = {"encoded": (generator.uniform(0.2, 3) * generator.standard_normal((32, 256))).astype(numpy.float32),
                "first": generator.integers(0, 2_000, 1)}
        by_steps.setdefault(len(session.run(["tokens"], feed)[0]), feed)
    steps = sorted(by_steps)
    chosen = sorted({steps[round(i * (len(steps) - 1) / 4)] for i in range(5)})
    return {f"{count} steps": by_steps[count] for count in chosen}


def voice_inputs(_session, _draws):
    generator = numpy.random.default_rng(0)
    feed = {"sound": generator.standard_normal((1, 512), dtype=numpy.float32),
            "state": generator.standard_normal((2, 1, 128), dtype=numpy.float32)}
    return {f"{rate // 1000} kHz": {**feed, "rate": numpy.array(rate)} for rate in (16_000, 8_000)}


MODELS = {"greedy_decoder": decoder_inputs, "voice_activity": voice_inputs}


def compiled(options, model, folder):
    """The program of a model, and how it was said to be."""
    call = [environment.lemma_program(options.lemma), "compile", model, "-o", folder / model.stem, "--threads", options.threads]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    sys.path.insert(0, str(folder / model.stem))
    return importlib.import_module(model.stem).Program()


def runtime_session(model, threads):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 4
    return onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])


def difference(ours, theirs):
    """The largest difference as a part of the largest element; integers have to be equal."""
    worst = 0.0
    for mine, other in zip(ours, theirs):
        if mine.shape != other.shape or mine.dtype != other.dtype:
            return float("inf")
        if mine.dtype.kind != "f":
            worst = worst if numpy.array_equal(mine, other) else float("inf")
        elif mine.size:
            worst = max(worst, float(numpy.abs(mine - other).max() / max(numpy.abs(other).max(), 1e-30)))
    return worst


def milliseconds(runs, options):
    """Medians by name."""
    clock = time.thread_time if options.threads == 1 else time.perf_counter
    times = {name: [] for name in runs}
    for run in runs.values():
        for _ in range(3):
            run()
    end, shuffled = time.perf_counter() + options.seconds, random.Random(1)
    while time.perf_counter() < end or len(times["onnxruntime"]) < 5:
        order = list(runs)
        shuffled.shuffle(order)
        for name in order:
            begin = clock()
            runs[name]()
            times[name].append(clock() - begin)
    return {name: 1e3 * statistics.median(of_name) for name, of_name in times.items()}


def main():
    options = arguments()
    rows, has_failed = [], False
    print(f"{'model':16} {'input':10} {'ms':>8} {'ORT ms':>8} {'ratio':>6} {'difference':>10}")
    with tempfile.TemporaryDirectory(prefix="lemma-flow-") as name:
        folder = Path(name)
        subprocess.run([ROOT / "models" / "build", *MODELS, "--out", folder], check=True, stdout=subprocess.DEVNULL)
        for stem, inputs_of in MODELS.items():
            model = folder / f"{stem}.onnx"
            session, program = runtime_session(model, options.threads), compiled(options, model, folder)
            for said, feed in inputs_of(session, options.draws).items():
                apart = difference(program.run(None, feed), session.run(None, feed))
                has_failed = has_failed or not apart <= TOLERANCE
                runs = {"program": lambda program=program, feed=feed: program.run(None, feed),
                        "onnxruntime": lambda session=session, feed=feed: session.run(None, feed)}
                ms = milliseconds(runs, options)
                ratio = ms["program"] / ms["onnxruntime"]
                rows.append([stem, said, round(ms["program"], 4), round(ms["onnxruntime"], 4), round(ratio, 3), apart])
                print(f"{stem:16} {said:10} {ms['program']:8.3f} {ms['onnxruntime']:8.3f} {ratio:6.2f} {apart:10.2g}", flush=True)
            program.close()
    results.update(options.result, rows)
    return 4 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
