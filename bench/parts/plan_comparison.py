#!/usr/bin/env python3
"""Plans of the models that FlexFlow and Unity are measured on, beside data parallelism, plans of experts and FlexFlow's search, as
`lemma plan make --other-plans --beside` predicts them (docs/plans.md, "Making a plan"). All have the same ways of operators and the same
costs. Plans of experts are those that these papers name: for convolutional networks all layers with weights of their own for each
pixel's sum stay data parallel, and dense layers are cut (Krizhevsky, "One weird trick", 2014); for transformers attention heads and wide
layers are cut (Megatron); for tables of embeddings the tables are; for chains of products every second weight is cut along its rows.

With --models or --devices, --result keeps the rows of the others. Batches grow with the devices: 64 samples for each where FlexFlow has as many, 16 and 2 as Unity's artifact has on 4 devices.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import results

ROOT = Path(__file__).resolve().parents[2]
FLEXFLOW, UNITY = "1.3 to 3.3", "up to 3.6"
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
LIMIT = 600  # seconds


class Cluster(NamedTuple):
    name: str
    hosts: int  # 0: the description has one
    devices: int
    axes: int  # of its mesh


class Case(NamedTuple):
    model: str
    batch: int  # on a device
    loss: str | None  # of a step of training; none: inference
    clusters: tuple
    expert: str  # placements (see below)
    published: str
    steps: int | None = None


P100 = {devices: Cluster("p100-hosts", devices // 4, devices, 1 if devices == 4 else 2) for devices in (4, 8, 16)}
H100 = {8: Cluster("h100-host", 0, 8, 1), 16: Cluster("h100-hosts", 2, 16, 2)}
# ALL0 is axis 0 cut by all axes of the mesh, IN0 by the devices of a host, HOST0 by hosts: what has it is left out where there is one.
SAMPLES = "image:ALL0 labels:ALL0"
CLASSIFIER = " classifier_weight:IN0 classifier_bias:IN0"
ALTERNATING = "dose*:HOST0 cell*q:HOST0 drug*s:HOST0 target:HOST0 *0_weight:IN1 *1_weight:IN0 *2_weight:IN1 response_weight:IN0"
MEGATRON = ("input_ids:HOST0 token_type_ids:HOST0 *_query_weight:IN1 *_key_weight:IN1 *_value_weight:IN1 *_query_bias:IN0 *_key_bias:IN0 "
            "*_value_bias:IN0 *_attention_output_weight:IN0 *_intermediate_weight:IN1 *_intermediate_bias:IN0 layer*_output_weight:IN0")
CASES = (
    Case("alexnet", 64, "cross-entropy", (P100[4], P100[8], P100[16]),
         SAMPLES + " dense*_weight:ALL0 dense*_bias:ALL0", FLEXFLOW),
    Case("candle_uno", 16, "mse", (P100[4], P100[8], P100[16], H100[8], H100[16]), ALTERNATING, UNITY),
    Case("dlrm", 16, "mse", (P100[4], P100[8], P100[16], H100[8], H100[16]), "dense:ALL0 category*:ALL0 target:ALL0 table*:ALL1", UNITY),
    Case("rnntc", 64, "cross-entropy", (P100[4],), "words:HOST0 labels:HOST0 layer*_weight:IN1", FLEXFLOW, steps=5),
    Case("rnnlm", 64, "cross-entropy", (P100[4],),
         "words:HOST0 labels:HOST0 layer*_weight:IN1 scores_weight:IN1", FLEXFLOW, steps=5),
    Case("nmt", 64, "cross-entropy", (P100[4],), "*coder*_weight:IN1 scores_weight:IN1", FLEXFLOW, steps=5),
    Case("inception_v3", 64, None, (P100[16],), "image:ALL0" + CLASSIFIER, FLEXFLOW),
    Case("resnet101", 64, None, (P100[16],), "image:ALL0" + CLASSIFIER, FLEXFLOW),
    Case("resnext50_32x4d", 4, None, (P100[16],), "image:ALL0" + CLASSIFIER, UNITY),
    Case("bert-large", 2, None, (P100[16],), MEGATRON, UNITY),
)


def placements(case, axes):
    """The expert's plan on a mesh of one axis, or of hosts and their devices."""
    words = case.expert.replace("ALL0", ",".join(["0"] * axes)).replace("ALL1", ",".join(["1"] * axes))
    words = words.replace("IN", "replicated," * (axes - 1)).replace("HOST0", "0,replicated").split()
    return " ".join(word for word in words if axes > 1 or not word.endswith(":0,replicated"))


def built(options, case, devices, folder):
    batch = case.batch * devices
    words = ["--out", folder, "--hollow", "--batch", str(batch), *(("--steps", str(case.steps)) if case.steps else ())]
    subprocess.run([sys.executable, ROOT / "models" / "build", case.model, *words], check=True, capture_output=True)
    file = folder / f"{case.model}-batch{batch}.onnx"
    if not case.loss:
        return file
    step = folder / f"{case.model}-step.onnx"
    subprocess.run([options.lemma, "differentiate", file, "--loss", case.loss, "--optimizer", "sgd", "-o", step], check=True,
                   capture_output=True)
    return step


def seconds(text):
    value, unit = text.split()
    return float(value) * UNITS[unit]


def planned(options, case, cluster, file, folder):
    """Milliseconds of each plan by its name, percent above the bound, and seconds of both searches; nothing: it took too long."""
    hosts = ["--hosts", str(cluster.hosts)] if cluster.hosts else []
    command = [options.lemma, "plan", "make", file, "--cluster", cluster.name, *hosts, "--other-plans", "--beside",
               f"expert={placements(case, cluster.axes)}", "--proposals", str(options.proposals), "-o", folder / "plan.json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None
    rows = re.findall(r"^(this one|data parallelism|expert|Metropolis)[\w, ]*?  +(none fits|[\d.]+ \w+)(?: +[\d.]+)?(?: +([\d.]+ \w+))?$",
                      done.stdout, re.MULTILINE)
    if done.returncode != 0 or len(rows) != 4:
        raise results.Malformed(f"{case.model} on {cluster.name}: {done.stderr.strip() or done.stdout[-400:]}")
    times = {name: None if time == "none fits" else 1e3 * seconds(time) for name, time, _ in rows}
    searching = {name: seconds(taken) for name, _, taken in rows if taken}
    above = re.search(r"at most ([\d.]+)% above", done.stdout)
    return times, float(above.group(1)) if above else 0.0, searching


def row_of(case, cluster, answer, taken):
    what = f"{case.model}, {'a step of training' if case.loss else 'inference'}{f', {case.steps} words' if case.steps else ''}"
    begin = [what, cluster.name, cluster.devices]
    if answer is None:
        return [*begin, *[None] * 9, case.published, taken]
    times, above, searching = answer
    own = times["this one"]
    others = [times[name] for name in ("data parallelism", "expert", "Metropolis")]
    ratios = [other and other / own for other in others]
    return [*begin, own, *others, *ratios, above, searching.get("Metropolis"), case.published, taken]


def rows_of(options):
    for case in CASES:
        if options.models and case.model not in options.models:
            continue
        for cluster in case.clusters:
            if options.devices and cluster.devices not in options.devices:
                continue
            with tempfile.TemporaryDirectory() as name:
                begin, folder = time.monotonic(), Path(name)
                answer = planned(options, case, cluster, built(options, case, cluster.devices, folder), folder)
                yield row_of(case, cluster, answer, time.monotonic() - begin)


def with_others(file, rows):
    """New rows, after those of the file that are about something else."""
    if file is None or not rows:
        return rows
    known = {tuple(row[:3]) for row in rows}
    return [row for row in json.loads(file.read_text())["rows"] if tuple(row[:3]) not in known] + rows


def main():
    parser = argparse.ArgumentParser(prog="bench/search other_plans", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", default=str(ROOT / "build" / "release" / "bin" / "lemma"), help="built by scripts/build release lemma")
    parser.add_argument("--models", nargs="*", help="of those that are planned; otherwise all")
    parser.add_argument("--devices", nargs="*", type=int, help="on so many only")
    parser.add_argument("--proposals", type=int, default=1_000_000, help="of Metropolis and Hastings' search")
    results.add_option(parser)
    options, rows = parser.parse_args(), []
    try:
        for row in rows_of(options):
            rows.append(row)
            print(*(f"{cell:.3g}" if isinstance(cell, float) else cell for cell in row), sep="; ", flush=True)
        results.update(options.result, with_others(options.result, rows))
    except (subprocess.CalledProcessError, results.Malformed) as error:
        print(f"bench/search other_plans: {getattr(error, 'stderr', None) or error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
