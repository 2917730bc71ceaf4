"""Writes bench/RESULTS.md, bench/MISSES.md and docs/papers.md from the results in bench/results/ (bench/parts/results.py
describes them; the figures of papers are in bench/parts/papers.py).

With --check nothing is written: the pages have to be what would be written, and each result has to name a command that
is there. Exit code: 0, 2 where a result is not as described, 4 where a page is stale or a command is not there.
"""

import argparse
import re
import shlex
import sys

import papers
import results
from results import ROOT, anchor

BENCH = ROOT / "bench"
# Programs that are not of the repository, or that are built.
OTHER_PROGRAMS = {"ctest", "git", "pip", "lemma", "lemma-check"}
BUILT = re.compile(r"build/\w+/(?:(tests|bench)/)?bin/(\w+)")

# Sections of the page in order, by chapter.
CHAPTERS = {
    "Optimized files": ["onnxruntime-times", "runtime-operators", "gains-by-place", "time-shares", "outside-kernels", "predictions", "operator-predictions",
        "measured-costs", "real-models", "predicted-change", "predicted-change-others", "masked-decoders",
        "unrolled-lstm", "simplify", "strangers", "random-models", "small-models", "check-seconds", "explanations", "memory",
        "toolkits", "runtime-definitions", "conformance", "round-trip", "damaged-models", "fuzzing"],
    "Search": ["search-seconds", "strategies-cpu", "strategies-h200", "tensat-t4", "tensat-times-t4", "tensat-h200", "residual-block", "limits", "large-models",
        "one-round-bounds", "extraction", "open-extractions", "egraph-engine", "engine", "rules-by-hand-and-found", "plan-choices", "collective-synthesis", "collective-times", "collective-algorithms", "simulator-moves", "other-plans", "topologies", "rewritten-plans", "plan-memory"],
    "Proofs and rules": ["axioms-and-rules", "parallel-rules", "distributed-programs", "plans-on-ranks", "placed-programs", "own-operators", "transfers", "calibrated-exchanges", "calibrated-plans", "losses-over-time", "partial-equivalence", "partial-models", "gradients", "training-steps", "false-claims", "mutants", "certificates",
        "taso-rules", "taso-conditions", "exports", "numpy-evaluation", "soundness", "contradictions"],
    "Generator and databases": ["enumeration", "growth", "enumeration-ranks", "division", "databases", "rule-database", "rule-gains", "database-workers", "what-follows", "completeness", "pairs", "lines-by-hand"],
    "Task programs": ["task-times", "task-time-spread", "control-flow", "sessions", "session-soak", "kernels", "operator-times", "operator-growth", "own-kernels", "planned-times", "task-agreement",
        "task-threads", "task-profile", "fusion", "fusion-times", "schedules", "schedule-averages", "operator-spread", "tuning", "tiles", "schedule-proof", "memory-plans"],
    "CUDA source": ["cuda-compile", "hip-compile", "cuda-audit", "cuda-measurements", "cuda-on-a-processor", "cuda-mutants", "ptx-execution", "cuda-waits", "run-book",
        "library-calls", "kept-weights", "cuda-planned-gains", "cuda-predictions"],
    "Faults and processes": ["faults", "parallel-use", "survivors", "profile-database"],
    "Build and tests": ["test-suite", "clean-build", "wheel", "size-of-the-tree"],
}

INTRODUCTION = """\
# Results

`bench/tables` writes this page from `bench/results/`; do not edit it. Each section answers one question with the newest
figures; older ones are in the history. What is missed or was never run is in [MISSES.md](MISSES.md). Times of shared
machines are upper bounds. Costs that are predicted on `cpu` are those of the roofline model
(`targets/devices/cpu.json`). A command that takes `--result bench/results/NAME.json` replaces the figures there.
"""
MISSES_INTRODUCTION = """\
# Open misses

`bench/tables` writes this page from `bench/results/`; do not edit it. It lists the bars that the newest figures do not
meet, and what was never run. Figures and commands are in [RESULTS.md](RESULTS.md).
"""


# ---- Text ------------------------------------------------------------------------------------------------------------

def heading(column):
    return f"{column['name']}, {column['unit']}" if "unit" in column else column["name"]


def cell(value, decimals=None):
    if decimals is not None and isinstance(value, float):
        return f"{value:.{decimals}f}"
    return "-" if value is None else str(value).replace("|", "\\|")


def table(columns, rows):
    """Lines of a table whose columns are aligned; columns of numbers to the right."""
    headings = [heading(column) for column in columns]
    texts = [[cell(value, column.get("decimals")) for value, column in zip(row, columns)] for row in rows]
    numbers = [all(row[at] is None or isinstance(row[at], (int, float)) for row in rows) for at in range(len(headings))]
    widths = [max(3, len(headings[at]), *(len(row[at]) for row in texts)) for at in range(len(headings))]

    def line(row):
        return "| " + " | ".join(text.rjust(width) if right else text.ljust(width)
                                 for text, width, right in zip(row, widths, numbers)) + " |"

    rule = "|" + "|".join("-" * (width + 1) + (":" if right else "-") for width, right in zip(widths, numbers)) + "|"
    return [line(headings), rule, *map(line, texts)]


def taken(name, result):
    """Where, when and how the figures were taken."""
    program = f"program of {result['commit']}" if result["commit"] else "the commit was not written down"
    lines = [f"Machine: {result['machine']}. Date: {result['date']}, {program}. Figures: `bench/results/{name}.json`, by", ""]
    return [*lines, *(f"    {command}" for command in result["command"])]


def bar_text(bar):
    why = f" Why: {bar['reason']}." if bar["reason"] else ""
    return f"{bar['what']}. Asked: {bar['bar']}. Reached: {bar['best']}.{why}"


def section(name, result):
    lines = [f"### {result['title']}", "", result["question"], ""]
    if result["rows"]:
        lines += [*table(result["columns"], result["rows"]), ""]
    lines += [*taken(name, result), ""]
    lines += [f"- {note}" for note in result["notes"]]
    lines += [f"- {'Met' if bar['met'] else '**Missed**'}: {bar_text(bar)}" for bar in result["asked"]]
    lines += [f"- Not run: {text}" for text in result["not_run"]]
    return [*lines, ""] if lines[-1] else lines


def results_page(all_results):
    """The text of RESULTS.md."""
    lines, sections = [INTRODUCTION], []
    for chapter, names in CHAPTERS.items():
        lines += [f"- [{chapter}](#{anchor(chapter)})"]
        sections += [f"## {chapter}", ""]
        for name, result in ((name, all_results[name]) for name in names):
            lines.append(f"  - [{result['title']}](#{anchor(result['title'])}): {result['question']}")
            sections += section(name, result)
    return "\n".join([*lines, "", *sections]).rstrip("\n") + "\n"


def misses_page(all_results):
    """The text of MISSES.md."""
    missed, not_run = [], []
    for chapter, names in CHAPTERS.items():
        lines = []
        for result in (all_results[name] for name in names):
            link = f"[{result['title']}](RESULTS.md#{anchor(result['title'])})"
            lines += [f"- {link}, {result['date']}: {bar_text(bar)}" for bar in result["asked"] if not bar["met"]]
            not_run += [f"- {link}: {text}" for text in result["not_run"]]
        missed += [f"### {chapter}", "", *lines, ""] if lines else []
    return "\n".join([MISSES_INTRODUCTION, "## Bars that are missed", "", *missed, "## Never run", "", *not_run]) + "\n"


def all_pages(all_results):
    """The text of each page, by file."""
    return {BENCH / "RESULTS.md": results_page(all_results), BENCH / "MISSES.md": misses_page(all_results),
            papers.PAGE: papers.page(all_results, table)}


# ---- Checks ----------------------------------------------------------------------------------------------------------

def check_chapters(all_results):
    """Each result has a place on the page, and each place a result."""
    listed = [name for names in CHAPTERS.values() for name in names]
    for name in sorted(set(listed) ^ all_results.keys()):
        what = "is no file" if name in listed else "has no place in CHAPTERS of bench/tables"
        raise results.Malformed(f"bench/results/{name}.json {what}")


def part_is_there(command, word):
    return f'    "{word}": ("' in (ROOT / command).read_text()


def fault_of(command):
    """What is wrong with a command line; nothing if its program is there."""
    words = shlex.split(command)
    while words and re.fullmatch(r"[A-Z_0-9]+=.*", words[0]):
        words = words[1:]
    for prefix in (["taskset", "-c", "0"], ["mpirun", "-n", "2"]):
        words = words[3:] if words[:3] == prefix else words
    program = words[0] if words else ""
    built = BUILT.fullmatch(program)
    if built:
        lists = [*(ROOT / (built[1] or "tests")).rglob("CMakeLists.txt")]
        return "" if any(re.search(rf"\b{built[2]}\b", file.read_text()) for file in lists) else f"nothing builds {program}"
    if program in OTHER_PROGRAMS:
        return ""
    if not (ROOT / program).is_file():
        return f"there is no {program}"
    if "dispatch.run(" in (ROOT / program).read_text(errors="replace") and program != "bench/tables":
        part = words[1] if len(words) > 1 else ""
        return "" if part_is_there(program, part) else f"{program} has no part '{part}'"
    return ""


def faults(all_results, pages):
    """Lines about stale pages, commands that are not there, and titles that occur twice."""
    for name, result in all_results.items():
        for command in result["command"]:
            if fault := fault_of(command):
                yield f"bench/results/{name}.json: {fault} ({command})"
    titles = [result["title"] for result in all_results.values()] + list(CHAPTERS)
    for title in sorted({title for title in titles if titles.count(title) > 1}):
        yield f"the title '{title}' occurs twice"
    for file, text in pages.items():
        if not file.exists() or file.read_text() != text:
            yield f"{file.relative_to(ROOT)} is stale; bench/tables writes it"


def main():
    parser = argparse.ArgumentParser(prog="bench/tables", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    try:
        all_results = results.load()
        check_chapters(all_results)
        pages = all_pages(all_results)
    except results.Malformed as error:
        print(error, file=sys.stderr)
        return 2
    if not options.check:
        for file, text in pages.items():
            file.write_text(text)
    wrong = list(faults(all_results, pages))
    for fault in wrong:
        print(fault, file=sys.stderr)
    return 4 if wrong else 0

