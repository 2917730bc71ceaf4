#!/usr/bin/env python3
"""Runs `lemma simplify` (which keeps every bit), `lemma simplify --rounding-class rounding`, onnxsim and onnxslim on the
light models, the models of the literature and the trained models. Prints a table of the nodes of each file (those of
bodies and Constant nodes among them), its size and the seconds of each program as a whole process (median of --runs),
with averages over the models below --limit; larger ones are listed apart. Each result is compared with its original
under ONNX Runtime on random inputs (scripts/compare).

Exit code: 0 every result of Lemma agrees with its original, 4 otherwise.
"""

import argparse
import json
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

import onnx

import model_times as models
import optimized_models as real_models

FORMS = ("lemma", "lemma, rounding", "onnxsim", "onnxslim")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/real_models simplify",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "real_models", help="folder of models and peers")
    parser.add_argument("--only", nargs="*", default=[], help="models whose file name contains one of these")
    parser.add_argument("--no-trained", action="store_true", help="leave out the PyPI packages (no download)")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=50, help="of the averages, in MB")
    parser.add_argument("--samples", type=int, default=2, help="sets of inputs of the comparison")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


def count_nodes(graph):
    """Nodes of a graph and of the bodies in it."""
    bodies = [body for node in graph.node for attribute in node.attribute
              for body in (attribute.g, *attribute.graphs)]
    return len(graph.node) + sum(map(count_nodes, bodies))


def facts(file):
    """Nodes and megabytes of a file, and of the data beside it."""
    model = onnx.load(file, load_external_data=False)
    size = sum(part.stat().st_size for part in file.parent.glob(file.stem + ".*") if not part.is_dir())
    return {"nodes": count_nodes(model.graph) + sum(len(function.node) for function in model.functions),
            "megabytes": size / 1e6}


def calls(options, file, folder):
    """The command and the result of each form."""
    lemma = [environment.lemma_program(options.lemma), "simplify", file, "-o"]
    peers = models.peer_python(options).parent
    written = {form: folder / form.replace(", ", "_") / file.name for form in FORMS}
    for place in written.values():
        place.parent.mkdir(parents=True)
    return {
        "lemma": ([*lemma, written["lemma"]], written["lemma"]),
        "lemma, rounding": ([*lemma, written["lemma, rounding"], "--rounding-class", "rounding"],
                            written["lemma, rounding"]),
        "onnxsim": ([peers / "onnxsim", file, written["onnxsim"]], written["onnxsim"]),
        "onnxslim": ([peers / "onnxslim", file, written["onnxslim"]], written["onnxslim"]),
    }


def agreement(options, file, written):
    """"yes", or why the result is not the original."""
    call = [ROOT / "scripts" / "compare", file, written, "--samples", str(options.samples), "--json",
            *real_models.shape_options(file)]
    done = subprocess.run(call, capture_output=True, text=True)
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        return (done.stderr.strip().splitlines() or ["no answer"])[-1][-200:]
    if answer["passed"]:
        return "yes"
    return answer["reason"] or answer["checker_message"] or f"{answer['scale']} times the tolerance"


def measure(options, file):
    row = {"model": file.name, "original": facts(file), "forms": {}}
    with tempfile.TemporaryDirectory(prefix="lemma-simplify-") as folder:
        for form, (call, written) in calls(options, file, Path(folder)).items():
            seconds = []
            for _ in range(options.runs):
                written.unlink(missing_ok=True)
                start = time.monotonic()
                done = subprocess.run(list(map(str, call)), capture_output=True, text=True)
                seconds.append(time.monotonic() - start)
            result = {"seconds": statistics.median(seconds), "agrees": "no result"}
            if done.returncode == 0 and written.exists():
                result |= facts(written) | {"agrees": agreement(options, file, written)}
            row["forms"][form] = result
    return row


def table(rows):
    lines = ["| model | MB | nodes | " + " | ".join(f"{form} | s" for form in FORMS) + " |",
             "|---" * (3 + 2 * len(FORMS)) + "|"]
    for row in rows:
        cells = []
        for form in FORMS:
            result = row["forms"][form]
            mark = "" if result["agrees"] == "yes" else "!"
            cells += [f"{result.get('nodes', '-')}{mark}", f"{result['seconds']:.2f}"]
        lines.append(f"| {row['model'].removesuffix('.onnx')} | {row['original']['megabytes']:.2f} | "
                     f"{row['original']['nodes']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def averages(rows, title):
    """Of models that every program gave a result for, so that all averages are of the same models."""
    same = [row for row in rows if all("nodes" in row["forms"][form] for form in FORMS)]
    if not same:
        return
    parts = [f"{form} {statistics.fmean(row['forms'][form]['nodes'] for row in same):.1f} nodes, "
             f"{statistics.fmean(row['forms'][form]['megabytes'] for row in same):.2f} MB, "
             f"{statistics.fmean(row['forms'][form]['seconds'] for row in same):.2f} s" for form in FORMS]
    print(f"{title}, {len(same)} models with results of all programs: original "
          f"{statistics.fmean(row['original']['nodes'] for row in same):.1f} nodes, "
          f"{statistics.fmean(row['original']['megabytes'] for row in same):.2f} MB; {'; '.join(parts)}")


def main():
    options = arguments()
    rows = []
    for file in real_models.gather(options):
        print(f"{file.name} ...", file=sys.stderr, flush=True)
        rows.append(measure(options, file))
        if options.json:
            options.json.write_text(json.dumps({"models": rows}, indent=1) + "\n")
    small = [row for row in rows if row["original"]["megabytes"] < options.limit]
    large = [row for row in rows if row not in small]
    print(table(small))
    if large:
        print(f"\nFrom {options.limit:g} MB on:\n\n{table(large)}")
    print("\nA number with ! is of a result that does not agree with its original.\n")
    averages(small, f"Below {options.limit:g} MB")
    averages([row for row in small if not row["model"].startswith("light_")],
             "Of these with weights of their own")
    faults = [(row["model"], form, result["agrees"]) for row in rows for form, result in row["forms"].items()
              if result["agrees"] != "yes"]
    for model, form, reason in faults:
        print(f"  {model}, {form}: {reason}")
    return 4 if any(form.startswith("lemma") for _, form, _ in faults) else 0


if __name__ == "__main__":
    sys.exit(main())
