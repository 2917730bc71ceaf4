#!/usr/bin/env python3
"""What one can do from Python with Lemma, egglog, onnxslim, ONNX Runtime and TVM: the programs of bench/toolkits/, their lines, what they
print, and how errors look.

The environment has the packages egglog, onnxslim, onnxruntime, onnx, apache-tvm, and Lemma's wheel (python3 -m venv, pip install).
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench" / "toolkits"
TASKS = {"cheaper": "a cheaper model of examples/two_layer.onnx", "own_rule": "x y + x z to x (y + z), as a rule of one's own",
         "wrong_rule": "x - y to y - x, as a rule of one's own", "same": "whether two models compute the same",
         "damaged": "a damaged model file"}
TOOLS = {"lemma": "lemma", "egglog": "egglog", "onnxslim": "onnxslim", "onnxruntime": "onnxruntime", "tvm": "apache-tvm"}
MISSING = {("egglog", "cheaper"): "reads no models", ("egglog", "same"): "reads no models", ("egglog", "damaged"): "reads no models",
           ("onnxslim", "own_rule"): "patterns are classes of its own code", ("onnxslim", "wrong_rule"): "as above",
           ("onnxruntime", "own_rule"): "rules are C++ within its build", ("onnxruntime", "wrong_rule"): "as above",
           ("tvm", "same"): "both have to be compiled and run by hand"}
LIMIT = 60  # seconds


def lines_of(file):
    return sum(1 for line in file.read_text().splitlines() if line.strip() and not line.strip().startswith("#"))


def outcome(python, file, words, folder):
    """The last line that is printed, and how many lines an error has."""
    try:
        done = subprocess.run([python, file, *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"does not end within {LIMIT} s"
    if done.returncode == 0:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        return "; ".join(lines[-3:])
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return f"error, {len(lines)} lines: {lines[-1].strip()}"


def rows_of(options):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = ROOT / "examples" / "two_layer.onnx"
        (folder / "damaged.onnx").write_bytes(model.read_bytes()[:200])
        subprocess.run([ROOT / "lemma", "optimize", model, "-o", folder / "other.onnx", "--no-measure"], check=True,
                       capture_output=True)
        for task, what in TASKS.items():
            for tool in TOOLS:
                file = FOLDER / tool / f"{task}.py"
                if not file.exists():
                    yield [what, tool, None, MISSING[tool, task]]
                    continue
                said = outcome(options.python, file, (model, "damaged.onnx", "other.onnx"), folder)
                yield [what, tool, lines_of(file), re.sub(r"/\S+/", "", said)[:200]]


def main():
    parser = argparse.ArgumentParser(prog="bench/models toolkits", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the Python of an environment that has all of them")
    results.add_option(parser)
    options = parser.parse_args()
    code = f"import importlib.metadata as m; [print(n, m.version(n)) for n in {list(TOOLS.values())!r}]"
    versions = subprocess.run([options.python, "-c", code], capture_output=True, text=True, check=False)
    if versions.returncode != 0:
        print(f"bench/models toolkits: {versions.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return 2
    print(versions.stdout)
    rows = []
    for row in rows_of(options):
        rows.append(row)
        print(*row, sep="; ", flush=True)
    try:
        results.update(options.result, rows)
    except results.Malformed as error:
        print(f"bench/models toolkits: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
