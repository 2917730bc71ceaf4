#!/usr/bin/env python3
"""Predicted costs of models, optimized with the rules of one folder and of another one, and the rules that only one of both
has and uses. Nothing is timed, so that the figures do not depend on how busy the machine is, as long as no search meets its
limit of time.

Exit code: 0 no model costs more with the second folder, 4 otherwise.
"""

import argparse
import concurrent.futures
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import results


def arguments():
    parser = argparse.ArgumentParser(prog="bench/generator gains", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="a folder of rules")
    parser.add_argument("after", type=Path, nargs="?", default=results.ROOT / "rules", help="another one (default: rules)")
    parser.add_argument("--models", type=Path, default=results.ROOT / "out" / "real_models" / "literature",
                        help="a folder of models (default: those that models/build makes of the literature)")
    parser.add_argument("--lemma", type=Path, default=results.ROOT / "build" / "release" / "bin" / "lemma")
    parser.add_argument("--time-limit", type=float, default=120, help="of each search, in seconds")
    parser.add_argument("--jobs", type=int, default=2)
    results.add_option(parser)
    return parser.parse_args()


def optimized(options, model, rules):
    """The report of one model with the rules of a folder."""
    with tempfile.TemporaryDirectory(prefix="lemma-gains-") as folder:
        call = [options.lemma, "optimize", model, "-o", Path(folder) / "out.onnx", "--rules", rules, "--no-measure",
                "--no-second-judge", "--json", "--threads", "1", "--time-limit", options.time_limit]
        done = subprocess.run(list(map(str, call)), capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"bench/generator gains: {model}: {done.stderr.strip()}")
    return json.loads(done.stdout)["models"][0]


def names_in(folder):
    names = set()
    for file in (folder / "substitutions").glob("*.rules"):
        names |= {line.split()[1] for line in file.read_text().splitlines() if line.startswith("rule ")}
    return names


def main():
    options = arguments()
    models = sorted(options.models.glob("*.onnx"))
    if not models:
        sys.exit(f"bench/generator gains: there are no models in {options.models}")
    jobs = [(model, rules) for model in models for rules in (options.before, options.after)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        reports = list(pool.map(lambda job: optimized(options, *job), jobs))
    new = names_in(options.after) - names_in(options.before)
    rows, worse, used = [], 0, {}
    for model, before, after in zip(models, reports[::2], reports[1::2]):
        costs = [report["cost_after"] * 1e6 for report in (before, after)]
        ratio = costs[1] / costs[0] if costs[0] else 1
        worse += ratio > 1 + 1e-6
        of_model = sorted(new & set(after["rules_used"]))
        for rule in of_model:
            used.setdefault(rule, []).append(model.stem)
        rows.append([model.stem, round(before["cost_before"] * 1e6, 1), round(costs[0], 1), round(costs[1], 1), round(ratio, 4),
                     len(of_model)])
        print(", ".join(map(str, rows[-1])))
    for rule, where in sorted(used.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        print(f"{rule}: {len(where)} models: {', '.join(where)}")
    results.update(options.result, rows)
    return 4 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
