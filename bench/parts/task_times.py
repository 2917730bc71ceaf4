#!/usr/bin/env python3
"""Times task programs (docs/rtask.md) beside ONNX Runtime with all of its optimizations, and with --openvino beside
OpenVINO, on the same models with the same number of threads. Each model is emitted, built, and checked against ONNX
Runtime; then all run in turn, in random order, in one process. A table, and JSON (--json FILE).

A ratio is the median over all rounds of the time to that of ONNX Runtime. The spread is what lies between the 5th and
the 95th hundredth of the times; JSON has the least time, the 99th hundredth and the greatest one as well, of each runtime.

--competitor times all of them once more while another program computes all the time on the last of the processors, and says
how many times as long each takes then. What counts is the time on the clock, with one thread as well.

--batch 1 4 16 builds the models of `models/` with these batches; the ones that are not built for others than 1 are
named and left out. Models that are given as files are run as they are.

Exit code: 0 all programs are built and agree, 4 otherwise.
"""

import argparse
import contextlib
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import numpy
import onnxruntime

import emitted_program
from agreement import inputs_of

LITERATURE = ["lstm", "nasrnn", "squeezenet1_1", "resnext50_32x4d", "inception_v3", "nasnet_a", "vgg19", "bert-base",
              "decoder"]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/tasks times",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files (default: the models of the literature)")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "real_models", help="folder of models and results")
    parser.add_argument("--threads", type=int, default=1, help="of all runtimes; programs take fewer where they end sooner with them")
    parser.add_argument("--seconds", type=float, default=6, help="of timing, for each model")
    parser.add_argument("--runs", type=int, help="as many rounds, in place of --seconds")
    parser.add_argument("--batch", type=int, nargs="+", default=[1], help="batches of the models of the literature")
    parser.add_argument("--names", nargs="+", default=LITERATURE, metavar="NAME", help="of models of the literature")
    parser.add_argument("--policy", default="best")
    parser.add_argument("--openvino", action="store_true", help="needs a Python that has it: see bench/models times --peers")
    parser.add_argument("--competitor", action="store_true", help="time beside a busy program as well")
    parser.add_argument("--plot", type=Path, help="SVG file of the ratios")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


# ---- Runtimes --------------------------------------------------------------------------------------------------------

class OnnxRuntime:
    def __init__(self, model, feed, threads):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
        self.feed = feed
        self.binding = self.session.io_binding()
        for name, array in feed.items():
            self.binding.bind_cpu_input(name, array)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name, "cpu")

    def run(self):
        self.session.run_with_iobinding(self.binding)


class OpenVino:
    def __init__(self, model, feed, threads):
        import openvino
        compiled = openvino.Core().compile_model(str(model), "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"})
        self.request, self.feed = compiled.create_infer_request(), feed
        for name, array in feed.items():
            self.request.set_tensor(name, openvino.Tensor(array, shared_memory=True))

    def run(self):
        self.request.infer(share_outputs=True)


# ---- Measuring -------------------------------------------------------------------------------------------------------

def timed(runs, options, on_the_clock=False):
    """Seconds of each run by name, the runs taking turns. With one thread the clock leaves out the time in which other
    programs had the processor, unless `on_the_clock`: it is that of this thread, and that of the process for OpenVINO
    and XLA, which have threads of their own."""
    of_one = {name: time.process_time if name in ("openvino", "xla") else time.thread_time for name in runs}
    is_of_one = options.threads == 1 and not on_the_clock
    clocks = of_one if is_of_one else dict.fromkeys(runs, time.perf_counter)
    times = {name: [] for name in runs}
    for run in runs.values():
        for _ in range(3):
            run()
    end, shuffled, rounds = time.perf_counter() + options.seconds, random.Random(1), 0
    while rounds < options.runs if options.runs else rounds < 5 or time.perf_counter() < end:
        rounds += 1
        order = list(runs)
        shuffled.shuffle(order)
        for name in order:
            begin = clocks[name]()
            runs[name]()
            times[name].append(clocks[name]() - begin)
    return times


@contextlib.contextmanager
def busy_processor():
    """A program computes on the last processor of those that this one may use."""
    processor = max(os.sched_getaffinity(0))
    source = f"import os\nos.sched_setaffinity(0, {{{processor}}})\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE) as competitor:
        try:
            competitor.stdout.readline()  # it has begun
            yield
        finally:
            competitor.kill()


def beside_competitor(runs, options):
    """Medians in milliseconds, by name and by whether there is a competitor."""
    alone = timed(runs, options, on_the_clock=True)
    with busy_processor():
        beside = timed(runs, options, on_the_clock=True)
    median = lambda times: {name: 1e3 * statistics.median(taken) for name, taken in times.items()}
    return {"alone": median(alone), "beside": median(beside)}


def spread(times):
    """In milliseconds: the least time, hundredths of all times, and the greatest one."""
    ordered = sorted(times)
    at = lambda part: 1e3 * ordered[min(len(ordered) - 1, len(ordered) * part // 100)]
    return {"runs": len(ordered), "least": at(0), "5%": at(5), "median": 1e3 * statistics.median(ordered), "95%": at(95),
            "99%": at(99), "greatest": at(100)}


def worst_difference(program, reference):
    """The greatest one of all outputs, relative to a tolerance of 1e-4 of the value and 1e-4 of the greatest one."""
    worst = 0.0
    for data, expected in zip(program.outputs, reference.session.run(None, reference.feed)):
        got = data.view(expected.dtype).reshape(expected.shape).astype(numpy.float64)
        if expected.size:
            limit = 1e-4 * (numpy.abs(expected) + numpy.abs(expected).max()) + 1e-6
            worst = max(worst, float((numpy.abs(got - expected) / limit).max()))
    return worst


def measure(options, model, folder):
    feed = inputs_of(model)
    report, compile_seconds = emitted_program.build(options.lemma, model, folder, options.threads, "--policy", options.policy,
                                                    *emitted_program.shape_words(model, feed))
    program = emitted_program.Program(folder, feed)
    reference = OnnxRuntime(model, feed, options.threads)
    program.run()
    worst = worst_difference(program, reference)
    runs = {"program": program.run, "onnxruntime": reference.run}
    if options.openvino:
        runs["openvino"] = OpenVino(model, feed, options.threads).run
    times = timed(runs, options)
    base = times["onnxruntime"]
    row = {"model": model.stem, "worst_difference": worst, "compile_seconds": compile_seconds, "report": report,
           "ms": {name: 1e3 * statistics.median(taken) for name, taken in times.items()},
           "ratio": {name: statistics.median(a / b for a, b in zip(taken, base)) for name, taken in times.items()},
           "spread_ms": {name: spread(taken) for name, taken in times.items()}}
    if options.competitor:
        row["competitor_ms"] = beside_competitor(runs, options)
    program.close()
    return row


def models_of_literature(options, folder):
    """Files by batch; those of batch 1 are in the folder of the models. Names that have no such batch are printed."""
    for batch in options.batch:
        for name in options.names:
            if batch == 1:
                yield options.work / "literature" / f"{name}.onnx"
                continue
            done = subprocess.run([ROOT / "models" / "build", name, "--batch", str(batch), "--out", folder],
                                  capture_output=True, text=True, check=False)
            if done.returncode == 0:
                yield folder / f"{name}-batch{batch}.onnx"
            else:
                print(f"{name:24} not built with a batch of {batch}: "
                      f"{(done.stderr.strip().splitlines() or ['nothing was said'])[-1]}", flush=True)


def plot(rows, threads):
    """Bars of the ratios to ONNX Runtime, with a line where it is."""
    left, top, bar, gap, scale = 150, 48, 13, 12, 420
    runtimes = [("program", "#2f6f4f"), *([("openvino", "#c9a227")] if "openvino" in rows[0]["ratio"] else [])]
    height = top + len(rows) * (len(runtimes) * bar + gap) + 24
    most = max(max(row["ratio"].values()) for row in rows)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + scale * most + 60:.0f}" height="{height}" '
             'font-family="sans-serif" font-size="11">',
             f'<text x="{left}" y="16">time over that of ONNX Runtime, batch 1, threads: {threads}</text>']
    for index, (name, color) in enumerate(runtimes):
        lines.append(f'<rect x="{left + 110 * index}" y="24" width="10" height="10" fill="{color}"/>'
                     f'<text x="{left + 110 * index + 14}" y="33">{name}</text>')
    lines.append(f'<line x1="{left + scale}" y1="{top - 6}" x2="{left + scale}" y2="{height - 18}" stroke="#888"/>'
                 f'<text x="{left + scale}" y="{height - 5}" text-anchor="middle">1</text>')
    y = top
    for row in rows:
        lines.append(f'<text x="{left - 6}" y="{y + 14}" text-anchor="end">{row["model"]}</text>')
        for name, color in runtimes:
            ratio = row["ratio"][name]
            lines.append(f'<rect x="{left}" y="{y}" width="{scale * ratio:.1f}" height="{bar - 2}" fill="{color}"/>'
                         f'<text x="{left + scale * ratio + 4:.1f}" y="{y + 10}">{ratio:.2f}</text>')
            y += bar
        y += gap
    return "\n".join(lines + ["</svg>", ""])


def main():
    options = arguments()
    if options.openvino:
        peers = options.work / "peers" / "lib"
        sys.path[1:1] = [str(path) for path in peers.glob("python*/site-packages")]
    rows, failed = [], []
    print(f"{'model':24} {'program ms':>11} {'5% to 95%':>17} {'ONNX Runtime':>13} {'ratio':>6} {'OpenVINO':>9} "
          f"{'worst':>8}")
    built = tempfile.TemporaryDirectory(prefix="lemma-models-")
    for model in options.models or models_of_literature(options, Path(built.name)):
        with tempfile.TemporaryDirectory(prefix="lemma-tasks-") as folder:
            try:
                row = measure(options, model, Path(folder) / "program")
            except (RuntimeError, subprocess.CalledProcessError) as error:
                failed.append(model.stem)
                print(f"{model.stem:24} {error}", flush=True)
                continue
        if not row["worst_difference"] <= 1:
            failed.append(model.stem)
        rows.append(row)
        openvino = f"{row['ratio']['openvino']:9.2f}" if "openvino" in row["ratio"] else f"{'-':>9}"
        of_program = row["spread_ms"]["program"]
        print(f"{row['model']:24} {of_program['median']:11.3f} {of_program['5%']:8.2f} {of_program['95%']:8.2f} "
              f"{row['ms']['onnxruntime']:13.3f} {row['ratio']['program']:6.2f} {openvino} {row['worst_difference']:8.2g}",
              flush=True)
        if options.competitor:
            of = row["competitor_ms"]
            print("  beside a busy program: " + ", ".join(
                f"{name} {of['beside'][name]:.3f} ms, {of['beside'][name] / alone:.2f} times"
                for name, alone in of["alone"].items()), flush=True)
        if options.json:
            options.json.write_text(json.dumps({"threads": options.threads, "processors": os.cpu_count(),
                                                "models": rows}, indent=1) + "\n")
    built.cleanup()
    if rows and options.plot:
        options.plot.write_text(plot(rows, options.threads))
    if rows:
        ratios = [row["ratio"]["program"] for row in rows]
        print(f"geometric mean of the ratios: {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")
    if failed:
        print(f"not built, or other results: {', '.join(failed)}")
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
