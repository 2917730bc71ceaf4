#!/usr/bin/env python3
"""What the search gains and takes with costs of operators that are measured (`--costs measured`).

Each model of bench/models is optimized three times: with analytic costs; with measured ones from an empty profile; and
again, from the profile that the first call has filled. The ratio is that of the result to the original, as the last
run of `lemma optimize` judges it; 1 where the original is kept. --export writes all that was measured, as the profile
that ships (costmodel/profiles/x86-64.json) was made.

Exit code: 0.
"""

import argparse
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

WAYS = ["analytic", "empty", "filled"]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/models costs",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", help="the program (default: the built one)")
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "real_models")
    parser.add_argument("--only", nargs="*", default=[], help="models whose name contains one of these words")
    parser.add_argument("--no-trained", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=30)
    parser.add_argument("--filled-time-limit", type=float, help="of the third call (default: the same)")
    parser.add_argument("--export", type=Path, help="JSON file for what was measured")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def optimize(options, file, out, database, time_limit):
    call = [environment.lemma_program(options.lemma), "optimize", file, "-o", out, "--target", "onnxruntime-cpu",
            "--threads", options.threads, "--time-limit", time_limit, "--json"]
    if database:
        call += ["--costs", "measured", "--database", database]
    done = subprocess.run(list(map(str, call)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["models"][0]


def figures(report):
    optimized = report["status"] == "optimized"
    timing = report["timing"]
    return {"seconds": report["seconds"], "search_seconds": report["search_seconds"],
            "measuring_seconds": report["costs"]["seconds"], "measured_now": report["costs"]["measured_now"],
            "ratio": timing["ratio"]["median"] if optimized and timing["rounds"] else 1.0,
            "predicted_ms": report["predicted_before_ms"], "latency_ms": report["latency_before_ms"],
            "message": report["message"]}


def line(name, by_way):
    cells = [f"{name[:40]:40}"]
    for way in WAYS:
        row = by_way[way]
        cells.append(f"{row['ratio']:6.3f} {row['seconds']:5.1f} {row['search_seconds']:5.1f} "
                     f"{row['measuring_seconds']:5.1f} {row['measured_now']:4d}")
    return " | ".join(cells)


def main():
    options = arguments()
    rows = []
    head = " | ".join([f"{'model':40}"] + [f"{way + ' ratio':>6} all search measuring new" for way in WAYS])
    print(head, flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for file, shapes in models.gather(options):
            file = models.with_sizes(file, shapes, folder)
            # A profile of its own: what other models have filled would not be empty.
            database = folder / f"{file.stem}.sqlite"
            by_way = {}
            for way in WAYS:
                limit = options.filled_time_limit if way == "filled" else None
                by_way[way] = figures(optimize(options, file, folder / "out.onnx", database if way != "analytic" else None,
                                               limit or options.time_limit))
            rows.append({"model": file.name, **by_way})
            print(line(file.stem, by_way), flush=True)
            if options.export:
                part = folder / "part.json"
                lemma = environment.lemma_program(options.lemma)
                subprocess.run([lemma, "profile", "--database", database, "--export", part], check=True)
                subprocess.run([lemma, "profile", "--database", folder / "all.sqlite", "--import", part], check=True,
                               stdout=subprocess.DEVNULL)
        if options.export:
            subprocess.run([environment.lemma_program(options.lemma), "profile", "--database", folder / "all.sqlite",
                            "--export", options.export], check=True)
    for way in WAYS:
        print(f"{way}: geometric mean {models.geometric_mean([row[way]['ratio'] for row in rows]):.3f}, everything at most "
              f"{max(row[way]['seconds'] for row in rows):.1f} s, the search "
              f"{max(row[way]['search_seconds'] for row in rows):.1f} s, measuring at most "
              f"{max(row[way]['measuring_seconds'] for row in rows):.1f} s")
    if options.json:
        options.json.write_text(json.dumps({"models": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
