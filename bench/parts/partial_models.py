#!/usr/bin/env python3
"""Models with and without the rules of partial equivalence (docs/partial_equivalence.md): the six that PET and EinNet ran.

    bench/search partial [--models FOLDER] [--devices v100 h100] [--only NAME...] [--cpu] [--larger] [--result FILE]

Each model is optimized for the descriptions of the devices, as they ship and with `partial_rules` on. The table has the
predicted gains, the published ones of PET and EinNet beside them, and the ratio of the two predictions. With --cpu each
model is also optimized for ONNX Runtime with and without the rules, and what comes out is timed, in turn with the
original: in ONNX Runtime and as a task program. With --larger the same models are searched with 8 times as many pixels
along each axis of an image, 4 times along each of a video, and 64 times as many tokens, and the time of the search
is compared.

Each result is explained, the explanation is replayed by `lemma-check`, and `lemma optimize` compares the result with the
original before it is written.

Exit code: 0 all agree and are replayed, 4 otherwise.
"""

import argparse
import json
import random
import shutil
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

import emitted_program
import results
import task_times
from agreement import inputs_of

# Published gains over the best of the other systems: PET (Wang et al., OSDI 2021, figure 7, V100) by batch, and EinNet
# (Zheng et al., OSDI 2023, abstract: the greatest and the mean of seven models on a V100).
PET = {("csrnet_dilated", 1): 2.21, ("csrnet_dilated", 16): 2.51, ("resnet18", 1): 1.04, ("resnet18", 16): 1.21,
       ("inception_v3", 1): 1.24, ("inception_v3", 16): 1.44, ("bert-base", 1): 1.40, ("bert-base", 16): 1.19,
       ("resnet18_3d", 1): 1.00, ("resnet18_3d", 16): 1.28}
MODELS = [("csrnet_dilated", 1), ("csrnet_dilated", 16), ("resnet18", 1), ("resnet18", 16), ("inception_v3", 1), ("bert-base", 1),
          ("resnet18_3d", 1), ("longformer", 1)]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/search partial", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--models", type=Path, help="folder that keeps the models")
    parser.add_argument("--devices", nargs="*", default=["v100", "h100"])
    parser.add_argument("--only", nargs="*", default=[name for name, _ in MODELS])
    parser.add_argument("--no-predictions", action="store_true")
    parser.add_argument("--cpu", action="store_true", help="also for ONNX Runtime and as task programs, timed")
    parser.add_argument("--larger", action="store_true", help="also the time of the search for larger sizes")
    parser.add_argument("--seconds", type=float, default=10, help="of timing, for each model")
    parser.add_argument("--time-limit", type=float, default=180, help="of one run")
    parser.add_argument("--json", type=Path)
    results.add_option(parser)
    return parser.parse_args()


def model_file(options, folder, name, batch=1, scale=1):
    """The model, made if it is not there."""
    stem = name + (f"-batch{batch}" if batch > 1 else "") + (f"-scale{scale}" if scale > 1 else "")
    file = folder / f"{stem}.onnx"
    if not file.is_file():
        subprocess.run([ROOT / "models" / "build", name, "--out", folder, "--batch", str(batch), "--scale", str(scale)], check=True,
                       stdout=sys.stderr)
    return file


# ---- One run ---------------------------------------------------------------------------------------------------------

def optimize(options, model, output, *words):
    """What `lemma optimize` reports of one model, whose explanation is replayed."""
    explanation = output.with_suffix(".explanation")
    call = [environment.lemma_program(options.lemma), "optimize", model, "-o", output, "--explain", explanation, "--json", "--time-limit",
            options.time_limit, *words]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{model.name}: exit code {done.returncode}: {done.stderr[-500:]}")
    figures = json.loads(done.stdout)["models"][0]
    figures["replayed"] = replayed(options, figures, explanation)
    return figures


def replayed(options, figures, explanation):
    """Whether the small checker accepts why the result is equal; true for one that is the original."""
    if figures["status"] == "unchanged" or not explanation.is_file():
        return True
    checker = Path(environment.lemma_program(options.lemma)).with_name("lemma-check")
    done = subprocess.run([checker, ROOT / "rules" / "substitutions", explanation, "--accept-unchecked"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        print(f"{explanation.name}: {(done.stdout + done.stderr)[-500:]}", file=sys.stderr)
    return done.returncode == 0


def partial_rules_of(figures):
    names = set(results_of_rules())
    return sorted(set(figures["rules_used"]) & names)


def results_of_rules():
    for line in (ROOT / "rules" / "substitutions" / "partial.rules").read_text().splitlines():
        if line.startswith("rule "):
            yield line.split()[1]


# ---- Predictions -----------------------------------------------------------------------------------------------------

def search_alone(options, model, description, rules=ROOT / "rules"):
    """What the search alone finds, in seconds of the processor; nothing is computed."""
    program = Path(environment.lemma_program(options.lemma)).parents[1] / "tests" / "bin" / "search_alone"
    call = [program, model, description, rules]
    return json.loads(subprocess.run(call, capture_output=True, text=True, check=True).stdout)


def description_of(device):
    return ROOT / "targets" / "devices" / f"{device}.json"


def predict(options, folder, device, name, batch):
    """Predicted gains. A model that the rules make cheaper is optimized once more, explained and compared."""
    model = model_file(options, options.models or folder, name, batch)
    without = search_alone(options, model, description_of(device))
    having = search_alone(options, model, with_partial_rules(device, folder))
    row = {"where": device, "model": name, "batch": batch, "full": without["before"] / without["after"],
           "partial": having["before"] / having["after"], "ratio": without["after"] / having["after"], "search": having["seconds"],
           "rules": [], "good": True, "messages": []}
    if having["after"] < without["after"]:
        figures = optimize(options, model, folder / "with.onnx", "--device", device, "--partial-rules")
        row |= {"rules": partial_rules_of(figures), "good": figures["replayed"], "messages": [figures["message"]] if figures["message"] else []}
    return row


# ---- Measurements ----------------------------------------------------------------------------------------------------

def in_turn(options, runs):
    """Ratios of the first one's time to those of the others, by rounds in random order; the clock is that of this thread."""
    for run in runs.values():
        run()
    shuffled, end, times = random.Random(1), time.perf_counter() + options.seconds, {name: [] for name in runs}
    while time.perf_counter() < end or len(times["original"]) < 7:
        order = list(runs)
        shuffled.shuffle(order)
        for name in order:
            begin = time.thread_time()
            runs[name]()
            times[name].append(time.thread_time() - begin)
    return {name: statistics.median(a / b for a, b in zip(times["original"], taken)) for name, taken in times.items()}


def rules_without_ours(folder):
    """The shipped rules without those of partial equivalence, of which some are used everywhere."""
    copy = folder / "rules"
    if not copy.is_dir():
        shutil.copytree(ROOT / "rules", copy)
        for file in copy.glob("substitutions/partial.*"):
            file.unlink()
    return copy


def with_partial_rules(device, folder):
    """The description of a device, with the rules on."""
    text = json.loads(description_of(device).read_text())
    text["operators"]["partial_rules"] = True
    file = folder / f"{device}-with.json"
    file.write_text(json.dumps(text))
    return file


def measure(options, folder, name):
    """Rows of a model for ONNX Runtime and for task programs. What the costs choose is timed. Where they choose none of the rules,
    both programs are one, and nothing is timed."""
    model = model_file(options, options.models or folder, name)
    for where, device in (("ONNX Runtime", "onnxruntime-cpu"), ("task program", "rtask-cpu")):
        without = search_alone(options, model, description_of(device), rules_without_ours(folder))
        having = search_alone(options, model, with_partial_rules(device, folder))
        row = {"where": where, "model": name, "batch": 1, "full": None, "partial": None, "ratio": 1.0, "search": having["seconds"], "rules": [],
               "good": True, "messages": []}
        if having["after"] < without["after"] * (1 - 1e-9):
            row |= timed_row(options, folder, model, where, device)
        yield row


def timed_row(options, folder, model, where, device):
    files = {"original": model, "full": folder / "full.onnx", "partial": folder / "partial.onnx"}
    shared = ["--device", device, "--no-second-judge"]
    figures = {"full": optimize(options, model, files["full"], *shared, "--rules", rules_without_ours(folder)),
               "partial": optimize(options, model, files["partial"], *shared, "--partial-rules")}
    feed = inputs_of(model)
    reference = task_times.OnnxRuntime(model, feed, 1)
    if where == "ONNX Runtime":
        programs = {key: task_times.OnnxRuntime(file, feed, 1) for key, file in files.items()}
        expected = reference.session.run(None, feed)
        worst = max(worst_of(program.session.run(None, feed), expected) for program in programs.values())
    else:
        programs = {}
        for key, file in files.items():
            emitted_program.build(options.lemma, file, folder / key, 1)
            programs[key] = emitted_program.Program(folder / key, feed)
            programs[key].run()
        worst = max(task_times.worst_difference(program, reference) for program in programs.values())
    gains = in_turn(options, {key: program.run for key, program in programs.items()})
    return {"full": gains["full"], "partial": gains["partial"], "ratio": gains["partial"] / gains["full"],
            "rules": partial_rules_of(figures["partial"]), "good": worst <= 1 and all(entry["replayed"] for entry in figures.values()),
            "messages": [entry["message"] for entry in figures.values() if entry["message"]]}


def worst_of(outputs, expected):
    """The greatest difference, relative to a tolerance of 1e-4 of the value and 1e-4 of the greatest one."""
    return max(float((abs(got - wanted) / (1e-4 * (abs(wanted) + abs(wanted).max()) + 1e-6)).max()) for got, wanted in zip(outputs, expected))


# ---- Larger sizes ----------------------------------------------------------------------------------------------------

SCALES = {"resnet18_3d": 4, "bert-base": 64, "longformer": 64}


def larger(options, folder, device, name):
    """Seconds of the search with the usual sizes and with about 64 times as many elements."""
    usual, scaled = (search_alone(options, model_file(options, options.models or folder, name, scale=scale), description_of(device))
                     for scale in (1, SCALES.get(name, 8)))
    return {"model": name, "usual": usual["seconds"], "scaled": scaled["seconds"], "ratio": scaled["seconds"] / usual["seconds"]}


# ---- Output ----------------------------------------------------------------------------------------------------------

def cells(row):
    published = PET.get((row["model"], row["batch"])) if row["where"] == "v100" else None
    return [row["where"], row["model"], row["batch"], *(None if row[key] is None else round(row[key], 3) for key in ("full", "partial", "ratio")), published,
            round(row["search"], 1), ", ".join(row["rules"]) or None]


def rows_of(options, folder):
    for name, batch in MODELS:
        if name not in options.only:
            continue
        for device in options.devices if not options.no_predictions else []:
            yield predict(options, folder, device, name, batch)
        if options.cpu and batch == 1:
            yield from measure(options, folder, name)


def main():
    options = arguments()
    rows, scaled = [], []
    with tempfile.TemporaryDirectory(prefix="lemma-partial-models-") as folder:
        for row in rows_of(options, Path(folder)):
            rows.append(row)
            print(*cells(row), "" if row["good"] else "NOT REPLAYED OR NOT EQUAL", *row["messages"], sep=", ", flush=True)
        for name in dict.fromkeys(name for name, _ in MODELS if options.larger and name in options.only):
            scaled.append(larger(options, Path(folder), options.devices[0], name))
            print(*scaled[-1].values(), sep=", ", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "larger": scaled}, indent=1) + "\n")
    results.update(options.result, [cells(row) for row in rows])
    return 0 if all(row["good"] for row in rows) else 4


if __name__ == "__main__":
    sys.exit(main())
