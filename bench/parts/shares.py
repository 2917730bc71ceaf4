#!/usr/bin/env python3
"""Where the models of bench/models spend their time under ONNX Runtime: `lemma profile` measures each node of the graph
that ONNX Runtime makes of a model; the table has the three kinds of nodes that take the most time together, as a
share of the sum, and how well the sum agrees with the time of the whole model.

Exit code: 0.
"""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

import model_times as models


def arguments():
    parser = argparse.ArgumentParser(prog="bench/models shares",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "real_models")
    parser.add_argument("--only", nargs="*", default=[], help="models whose name contains one of these words")
    parser.add_argument("--no-trained", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=40, help="of measuring, for each model")
    return parser.parse_args()


def main():
    options = arguments()
    print("| model | ms | sum of nodes | the most time |\n|---|---|---|---|")
    errors = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for file, shapes in models.gather(options):
            fixed = models.with_sizes(file, shapes, folder)
            call = [environment.lemma_program(options.lemma), "profile", fixed, "--json", "--threads", options.threads,
                    "--database", folder / "profile.sqlite", "--seconds", options.seconds]
            done = subprocess.run(list(map(str, call)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            report = json.loads(done.stdout)["models"][0] if done.stdout else {"message": done.stderr.strip()}
            if report.get("message"):
                print(f"| {file.stem} | - | - | {report['message'][:80]} |", flush=True)
                continue
            shares = collections.Counter()
            for node in report["by_key"]:
                shares[node["key"].split("{")[0].split(":")[-1]] += node["ms"] or 0
            total = sum(shares.values()) or 1
            error = report["predicted_ms"] / report["latency_ms"] - 1
            errors.append(abs(error))
            most = ", ".join(f"{kind} {ms / total:.0%}" for kind, ms in shares.most_common(3))
            print(f"| {file.stem} | {report['latency_ms']:.3g} | {error:+.1%} | {most} |", flush=True)
    print(f"\nMean error of the sums: {sum(errors) / max(1, len(errors)):.1%} over {len(errors)} models.")


if __name__ == "__main__":
    main()
