"""Results of measurements: one file bench/results/NAME.json for each question.

A file holds the newest figures only; older ones are in the history. `bench/tables` makes bench/RESULTS.md and
bench/MISSES.md of all of them. The fields of a file:

  title      of its section
  question   that it answers, as a sentence
  command    lines that were run, in order, from the root of the repository
  machine    what it ran on, and what else ran there
  date       YYYY-MM-DD
  commit     of the program; null where it was not written down
  columns    of the table: {"name": ...}, with a "unit" and "decimals" (of all numbers) where there are such
  rows       lists of numbers and texts, one for each column; null where there is no figure
  notes      sentences below the table
  asked      bars: {"what", "bar", "best", "met": true or false, "reason": why it is not met}
  not_run    what the question asks for and was never measured
"""

import datetime
import json
import platform
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench" / "results"
FIELDS = {"title": str, "question": str, "command": list, "machine": str, "date": str,
          "commit": (str, type(None)), "columns": list, "rows": list, "notes": list, "asked": list, "not_run": list}
COLUMN = {"name", "unit", "decimals"}
BAR = {"what": str, "bar": str, "best": str, "met": bool, "reason": str}


class Malformed(Exception):
    """Says which file, and what is wrong with it."""


# ---- Reading ---------------------------------------------------------------------------------------------------------

def demand(holds, name, what):
    if not holds:
        raise Malformed(f"bench/results/{name}.json: {what}")


def check_fields(name, result):
    for field, kind in FIELDS.items():
        demand(isinstance(result.get(field), kind), name, f"the field '{field}' is missing or of another type")
    unknown = sorted(result.keys() - FIELDS.keys())
    demand(not unknown, name, f"there is no field '{', '.join(unknown)}'")
    demand(re.fullmatch(r"\d{4}-\d\d-\d\d", result["date"]), name, f"'{result['date']}' is no date such as 2026-11-25")
    demand(result["question"].endswith("?"), name, "the question does not end with a question mark")
    for field in ("command", "notes", "not_run"):
        demand(all(isinstance(text, str) and text for text in result[field]), name, f"'{field}' is no list of texts")
    demand(result["command"], name, "no command says how the figures were taken")


def check_table(name, result):
    for column in result["columns"]:
        demand(isinstance(column, dict) and isinstance(column.get("name"), str) and column.keys() <= COLUMN, name,
               f"{column} is no column")
    for row in result["rows"]:
        demand(len(row) == len(result["columns"]), name, f"the row {row} has another length than there are columns")
        demand(all(cell is None or isinstance(cell, (str, int, float)) for cell in row), name,
               f"the row {row} has a cell that is neither a number nor a text")


def check_bars(name, result):
    for bar in result["asked"]:
        for field, kind in BAR.items():
            demand(isinstance(bar.get(field), kind), name, f"a bar has no field '{field}' of the right type: {bar}")
        demand(bar.keys() == BAR.keys(), name, f"a bar has a field too many: {bar}")
        demand(bar["met"] or bar["reason"], name, f"a bar is not met, and no reason is given: {bar['what']}")


def check(name, result):
    """Raises Malformed where a result is not as the top of this file says."""
    check_fields(name, result)
    check_table(name, result)
    check_bars(name, result)


def anchor(title):
    """That GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def load(folder=FOLDER):
    """All results by name, checked."""
    results = {}
    for file in sorted(folder.glob("*.json")):
        try:
            results[file.stem] = json.loads(file.read_text())
        except ValueError as error:
            raise Malformed(f"bench/results/{file.name}: {error}") from error
        check(file.stem, results[file.stem])
    return results


def text_of(result):
    """The file's bytes: a line for each row."""
    parts = []
    for field in FIELDS:
        value = result[field]
        if isinstance(value, list) and value:
            lines = ",\n".join(f"  {json.dumps(item, ensure_ascii=False)}" for item in value)
            parts.append(f'"{field}": [\n{lines}\n ]')
        else:
            parts.append(f'"{field}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n " + ",\n ".join(parts) + "\n}\n"


# ---- Writing ---------------------------------------------------------------------------------------------------------

def machine():
    """The processor and how many of them there are."""
    models = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"{len(models)} processors, {models[0] if models else platform.machine()}"


def add_option(parser):
    parser.add_argument("--result", type=Path, metavar="FILE",
                        help="bench/results/NAME.json, whose rows, machine, date and commit are replaced")


def update(file, rows):
    """Replaces the figures of a result by new ones. The rest is for a reader to look at again, which is said. Raises
    Malformed, and leaves the file, where the rows do not fit or there is none."""
    if file is None:
        return
    if not rows:
        raise Malformed(f"{file}: there are no new figures; the file is left as it is")
    result = json.loads(file.read_text())
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    result |= {"rows": rows, "machine": machine(), "date": datetime.date.today().isoformat(),
               "commit": commit.stdout.strip() or None}
    check(file.stem, result)
    file.write_text(text_of(result))
    print(f"{file}: the figures are replaced; read its command, notes and bars again, then run bench/tables", file=sys.stderr)
