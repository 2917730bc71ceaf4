#!/usr/bin/env python3
"""Times models under ONNX Runtime with all of its optimizations: as they are, as `lemma optimize` writes them, and, with
--peers, as onnxsim and onnxslim write them; with --peers also the originals under OpenVINO. All forms of a model run in
turn, in random order, in fresh processes. A table, a picture (--picture FILE.svg) and JSON (--json FILE).

The ratio of a form is the median over all rounds of its time to the original's; the bound is one-sided, with 97.5%
confidence (order statistics). A form with the original's bytes counts as 1. The models: MODELS, one for each
architecture; they are made or downloaded if they are not there.

Exit code: 0 the bound of each changed model is at most --bound, 4 it is not.
"""

import argparse
import filecmp
import json
import math
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import numpy
import onnx

import results
import testdata
from agreement import RandomInputs, session

LITERATURE = ["bert-base", "decoder", "inception_v3", "lstm", "nasnet_a", "nasrnn", "resnext50_32x4d", "squeezenet1_1",
              "vgg19"]
LIGHT = ["light_bvlc_alexnet", "light_densenet121", "light_inception_v1", "light_resnet50", "light_shufflenet"]
# Trained models: words of their paths, and sizes where not all are possible.
TRAINED = {"silero-vad-silero_vad.onnx": {}, "silero_vad_op18_ifless": {}, "magika": {},
           "mobile_v2.0_cls_infer": {"x": [1, 3, 48, 192]},
           "PP-OCRv4_det_infer": {"x": [1, 3, 160, 160]}, "PP-OCRv4_rec_infer": {"x": [1, 3, 48, 320]},
           "PP-OCRv6_det_small": {"x": [1, 3, 160, 160]}, "PP-OCRv6_rec_small": {"x": [1, 3, 48, 320]},
           "melspectrogram": {"input": [1, 16000]}, "embedding_model": {}, "alexa": {}}
PEERS = ["onnxsim==0.8.1", "onnxslim==0.1.98", "openvino==2026.4.1", "onnxruntime==1.31.1", "onnx==1.23.2"]
FORMS = ["lemma", "onnxsim", "onnxslim", "openvino"]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/models times",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="ONNX files (default: those of --work)")
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "real_models", help="folder of models and results")
    parser.add_argument("--only", nargs="*", default=[], help="models whose name contains one of these words")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=60, help="of lemma, in seconds")
    parser.add_argument("--seconds", type=float, default=8, help="of timing, for each model and process")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--bound", type=float, default=1.02)
    parser.add_argument("--runtime-operators", action="store_true", help="lemma may write operators of ONNX Runtime")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--no-trained", action="store_true", help="leave out the models of PyPI packages")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", type=Path)
    results.add_option(parser)
    return parser.parse_args()


# ---- Models ----------------------------------------------------------------------------------------------------------

def gather(options):
    """Pairs of a file and the sizes of its inputs."""
    if options.models:
        return [(file, {}) for file in options.models]
    literature, trained = options.work / "literature", options.work / "trained"
    for folder, script in ((literature, "build"), (trained, "unpack-trained")):
        if not folder.is_dir() and not (folder == trained and options.no_trained):
            subprocess.run([ROOT / "models" / script, "--out", folder], check=True, stdout=sys.stderr)
    files_and_shapes = [(literature / f"{name}.onnx", {}) for name in LITERATURE]
    files_and_shapes += [(path, {}) for path in testdata.light_models() if path.stem in LIGHT]
    if not options.no_trained:
        files = sorted(trained.rglob("*.onnx"))
        for word, shapes in TRAINED.items():
            files_and_shapes += [(file, shapes) for file in files if word in str(file)][:1]
    return [(file, shapes) for file, shapes in files_and_shapes
            if not options.only or any(word in str(file) for word in options.only)]


def inputs_of(file, shapes):
    loaded = session(file)
    inputs = RandomInputs(loaded.get_inputs(), shapes, seed=0)
    error = inputs.settle(lambda feed: loaded.run(None, feed))
    if error:
        raise error
    return inputs.sample(0)


# ---- Forms of a model ------------------------------------------------------------------------------------------------

def with_sizes(file, shapes, folder):
    """The model with the sizes of these inputs fixed, so that every form of it has the same ones."""
    if not shapes:
        return file
    model = onnx.load(file)
    for value in model.graph.input:
        for dimension, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, [])):
            dimension.dim_value = size
    out = folder / file.name
    onnx.save(model, out)
    return out


def by_lemma(options, file, out):
    """The report's entry."""
    out.parent.mkdir(parents=True, exist_ok=True)
    call = [environment.lemma_program(options.lemma), "optimize", file, "-o", out, "--target", "onnxruntime-cpu",
            "--threads", options.threads, "--time-limit", options.time_limit, "--json",
            *(["--runtime-operators"] if options.runtime_operators else [])]
    done = subprocess.run(list(map(str, call)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["models"][0]


def peer_python(options):
    """A Python with the peers in it."""
    folder = options.work / "peers"
    if not (folder / "done").exists():
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", *PEERS], check=True)
        (folder / "done").touch()
    return folder / "bin" / "python"


def by_peer(options, name, file, out):
    call = {"onnxsim": [peer_python(options).parent / "onnxsim", file, out],
            "onnxslim": [peer_python(options).parent / "onnxslim", file, out]}[name]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True, timeout=600)
    return done.returncode == 0 and out.exists()


OPENVINO = """
import json, sys, time, numpy, openvino
request = json.load(sys.stdin)
core = openvino.Core()
model = core.compile_model(request["model"], "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS":
                           request["threads"], "INFERENCE_PRECISION_HINT": "f32"})
feed = {name: numpy.load(file) for name, file in request["inputs"].items()}
run = model.create_infer_request()
times, end = [], time.perf_counter() + request["seconds"]
for _ in range(5):
    run.infer(feed)
while len(times) < 10 or time.perf_counter() < end:
    begin = time.perf_counter()
    run.infer(feed)
    times.append(time.perf_counter() - begin)
print(sorted(times)[len(times) // 2])
"""


def under_openvino(options, file, feed, folder):
    """Seconds of a run of the original, or nothing."""
    inputs = {}
    for name, array in feed.items():
        inputs[name] = str(folder / f"{len(inputs)}.npy")
        numpy.save(inputs[name], array)
    request = {"model": str(file), "threads": options.threads, "inputs": inputs, "seconds": options.seconds / 4}
    done = subprocess.run([peer_python(options), "-c", OPENVINO], input=json.dumps(request), capture_output=True,
                          text=True, timeout=600)
    return float(done.stdout) if done.returncode == 0 else None


# ---- Timing ----------------------------------------------------------------------------------------------------------

def answer_of_worker(request):
    """Of the program that times models for Lemma, which ends when its standard input does: the answer is read before."""
    with subprocess.Popen([sys.executable, ROOT / "profiler" / "onnxruntime_worker.py"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as worker:
        worker.stdin.write(json.dumps(request) + "\n")
        worker.stdin.flush()
        lines = [worker.stdout.readline() for _ in ("greeting", "answer")]
    if not lines[-1]:
        raise RuntimeError("ONNX Runtime's worker ended without an answer")
    return json.loads(lines[-1])


def time_forms(options, files, feed, folder):
    """Seconds by file and round, of several processes."""
    data, tensors, offset = folder / "inputs", [], 0
    with open(data, "wb") as stream:
        for name, array in feed.items():
            tensors.append({"name": name, "type": array.dtype.name, "shape": array.shape, "offset": offset})
            offset += stream.write(numpy.ascontiguousarray(array).tobytes())
    request = {"action": "time", "models": [str(file) for file in files], "data": str(data), "sets": [tensors],
               "threads": options.threads, "optimized": True, "sessions": 3, "rounds": 45, "block_seconds": 0.002,
               "flushed_bytes": 0, "seconds": options.seconds, "least_rounds": 8}
    seconds = [[] for _ in files]
    for _ in range(options.processes):
        answer = answer_of_worker(request)
        for index, failure in enumerate(answer["failures"]):
            if failure:
                raise RuntimeError(f"{files[index]}: {failure}")
        rounds = min(map(len, answer["seconds"]))
        for index, times in enumerate(answer["seconds"]):
            seconds[index] += times[:rounds]
    return seconds


def ratio_and_bound(before, after):
    ratios = sorted(right / left for left, right in zip(before, after))
    count, below, left_out = len(ratios), 0.0, 0
    while left_out < count and below + math.comb(count, left_out) / 2 ** count <= 0.025:
        below += math.comb(count, left_out) / 2 ** count
        left_out += 1
    return statistics.median(ratios), ratios[count - left_out] if left_out else math.inf


def measure(options, file, shapes):
    out = options.work / "models"
    row = {"model": file.stem, "forms": {}}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        file = with_sizes(file, shapes, folder)
        feed = inputs_of(file, {})
        entry = by_lemma(options, file, out / "lemma" / file.name)
        row |= {"status": entry["status"], "message": entry["message"], "rules": entry["rules_used"],
                "predicted_before_ms": entry["predicted_before_ms"], "predicted_after_ms": entry["predicted_after_ms"],
                "lemma_seconds": entry["seconds"], "search_seconds": entry["search_seconds"]}
        forms = {"lemma": out / "lemma" / file.name}
        for peer in ("onnxsim", "onnxslim") if options.peers else ():
            written = out / peer / file.name
            written.parent.mkdir(parents=True, exist_ok=True)
            if by_peer(options, peer, file, written):
                forms[peer] = written
        same = {name for name, path in forms.items() if filecmp.cmp(path, file, shallow=False)}
        timed = [file, file] + [path for name, path in forms.items() if name not in same]
        seconds = time_forms(options, timed, feed, folder)
        row["latency_before_ms"] = statistics.median(seconds[0]) * 1e3
        row["control"] = ratio_and_bound(seconds[0], seconds[1])
        measured = iter(seconds[2:])
        for name in forms:
            row["forms"][name] = (1.0, 1.0) if name in same else ratio_and_bound(seconds[0], next(measured))
        row["latency_after_ms"] = row["latency_before_ms"] * row["forms"]["lemma"][0]
        if options.peers and (elapsed := under_openvino(options, file, feed, folder)):
            ratio = elapsed * 1e3 / row["latency_before_ms"]
            row["forms"]["openvino"] = (ratio, ratio)
    row["same_bytes"] = sorted(same)
    return row


# ---- What people see -------------------------------------------------------------------------------------------------

def table(rows):
    lines = ["| model | ONNX Runtime, ms | control | lemma | bound | " + " | ".join(FORMS[1:]) +
             " | predicted | search, s | all, s |", "|---" * (8 + len(FORMS)) + "|"]
    for row in rows:
        forms = [f"{row['forms'][name][0]:.3f}" if name in row["forms"] else "-" for name in FORMS[1:]]
        lemma = "same bytes" if "lemma" in row["same_bytes"] else f"{row['forms']['lemma'][0]:.3f}"
        lines.append(f"| {row['model']} | {row['latency_before_ms']:.3g} | {row['control'][0]:.3f} | {lemma} | "
                     f"{row['forms']['lemma'][1]:.3f} | {' | '.join(forms)} | "
                     f"{row['predicted_before_ms']:.3g} → {row['predicted_after_ms']:.3g} | "
                     f"{row['search_seconds']:.1f} | {row['lemma_seconds']:.1f} |")
    return "\n".join(lines)


def result_rows(rows, peers):
    """Rows of bench/results/onnxruntime-times.json, and without the peers of runtime-operators.json."""
    ratio = lambda row, name: round(row["forms"][name][0], 3) if name in row["forms"] else None
    return [[row["model"], float(f"{row['latency_before_ms']:.3g}"), round(row["control"][0], 3),
             "same bytes" if "lemma" in row["same_bytes"] else ratio(row, "lemma"), round(row["forms"]["lemma"][1], 3),
             *(ratio(row, name) for name in (FORMS[1:] if peers else ())), float(f"{row['predicted_before_ms']:.3g}"),
             float(f"{row['predicted_after_ms']:.3g}"), round(row["search_seconds"], 1), round(row["lemma_seconds"], 1)]
            for row in rows]


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def picture(rows):
    """Bars of the time relative to the original, one group for each model."""
    names = [name for name in FORMS if any(name in row["forms"] for row in rows)]
    colors = {"lemma": "#2b6cb0", "onnxsim": "#a0aec0", "onnxslim": "#cbd5e0", "openvino": "#ecc94b"}
    height, scale, left = 14 * len(names) + 12, 300, 170
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + 2 * scale + 60}" height="{height * len(rows) + 60}" '
           'font-family="Helvetica" font-size="11">',
           '<text x="10" y="16">Time under ONNX Runtime relative to the original (OpenVINO: of the original)</text>']
    for index, name in enumerate(names):
        svg.append(f'<rect x="{left + 90 * index}" y="24" width="10" height="10" fill="{colors[name]}"/>'
                   f'<text x="{left + 90 * index + 14}" y="33">{name}</text>')
    for place, row in enumerate(rows):
        top = 44 + place * height
        svg.append(f'<text x="{left - 6}" y="{top + height / 2}" text-anchor="end">{row["model"]}</text>')
        for index, name in enumerate(names):
            if name in row["forms"]:
                ratio = row["forms"][name][0]
                svg.append(f'<rect x="{left}" y="{top + 14 * index}" width="{min(ratio, 2) * scale:.0f}" height="12" '
                           f'fill="{colors[name]}"/><text x="{left + min(ratio, 2) * scale + 4:.0f}" '
                           f'y="{top + 14 * index + 10}">{ratio:.2f}</text>')
    bottom = 44 + len(rows) * height
    svg.append(f'<line x1="{left + scale}" y1="40" x2="{left + scale}" y2="{bottom}" stroke="#444" '
               'stroke-dasharray="3,3"/></svg>')
    return "\n".join(svg) + "\n"


def main():
    options = arguments()
    rows = []
    for file, shapes in gather(options):
        print(f"{file.stem} ...", file=sys.stderr, flush=True)
        try:
            rows.append(measure(options, file, shapes))
        except Exception as error:  # a model that cannot be run says nothing of the others
            print(f"{file.name}: {error}", file=sys.stderr)
        if options.json:
            options.json.write_text(json.dumps({"threads": options.threads, "models": rows}, indent=1) + "\n")
    print(table(rows))
    for name in FORMS:
        ratios = [row["forms"][name][0] for row in rows if name in row["forms"]]
        if ratios:
            print(f"{name}: geometric mean {geometric_mean(ratios):.3f} over {len(ratios)} models")
    slower = [row["model"] for row in rows if row["forms"]["lemma"][1] > options.bound]
    if options.picture:
        options.picture.write_text(picture(rows))
    results.update(options.result, result_rows(rows, options.peers))
    print(f"bound above {options.bound}: {', '.join(slower) or 'none'}")
    return 4 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
