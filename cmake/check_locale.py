#!/usr/bin/env python3
"""No call follows the locale of the process, which belongs to the program that Lemma is part of (base/number_text.h has what
takes their place). Emitted source is looked at as well. Programs, which set no locale, may print numbers.
"""

import pathlib
import re
import sys

EDGES = pathlib.Path(__file__).with_name("edges.txt")
FOLDERS = sorted({line.split()[1].split("/")[0] for line in EDGES.read_text(encoding="utf-8").splitlines()
                  if line.startswith("folder ")} - {"bench", "tests"})
ENDINGS = {".cpp", ".h", ".cu", ".cuh", ".in"}

# What is looked for, and what to use.
CALLS = {
    "number reading": (r"\b(strto(d|f|ld)|ato[fil]|atoll|sto(d|f|ld)|[fsv]*scanf)\s*\(", "number_of() or take_number()"),
    "number printing": (r"printf\s*\([^;]*%[-+ #0-9.*]*[aefgAEFG]", "fmt::format"),
    "hexadecimal formats": (r'"[^"\n]*\{[^{}"\n]*:[-+ #0-9.]*[aA]\}', "hexadecimal_text()"),
    "letters": (r"(?<![\w.])(std::)?(is(alpha|alnum|digit|xdigit|space|print|punct|upper|lower|cntrl|graph)|to(lower|upper))"
                r"\s*\(", "is_ascii_letter() and its like"),
    "streams": (r"\b(std::)?o?stringstream\b", "fmt::format"),
    "words from streams": (r"\bistringstream\b", "words(), or number_of() of a word"),
    "locales": (r"\b(setlocale|localeconv|newlocale|uselocale)\b|std::locale\b|\bimbue\b", "nothing: they are the caller's"),
}

# Files that may have such a call, and why it does not follow the locale.
EXCEPTIONS = {
    ("backend/emit/parts/selfcheck.cpp.in", "number printing"): "a program",
    ("backend/emit/parts/selfcheck.cpp.in", "number reading"): "a program",
    ("backend_cuda/emit_cuda/parts/selfcheck.cu.in", "number printing"): "a program",
    ("plans/rank_sources/parts/main.cpp.in", "number printing"): "a program",
    ("plans/rank_sources/parts/main.cpp.in", "number reading"): "a program",
    ("backend_cuda/emit_cuda/parts/selfcheck.cu.in", "number reading"): "a program",
    ("backend_cuda/emit_cuda/parts/runner.cu.in", "number printing"): "a program",
    ("backend_cuda/emit_cuda/parts/runner.cu.in", "number reading"): "a program",
    ("batch/memory_guard.cpp", "number reading"): "hexadecimal integers of the kernel",
    ("cli/audit_command.cpp", "words from streams"): "lines",
    ("cli/extract_command.cpp", "streams"): "the bytes of a file",
    ("egraph/exact/answer_sets.cpp", "streams"): "lines and words",
    ("profiler/profile_database.cpp", "words from streams"): "words",
    ("rule_language/rounding.cpp", "words from streams"): "lines and words",
    ("rule_language/rule_database.cpp", "streams"): "the bytes of a file",
    ("rule_language/rule_database.cpp", "words from streams"): "lines",
    ("system/program.cpp", "streams"): "the folders of a search path",
    ("system/supervisor.cpp", "number reading"): "a program",
    ("verifier/rule_files.cpp", "words from streams"): "lines and words",
}


def faults_of(file, name, used):
    text = re.sub(r"//[^\n]*", "", file.read_text(encoding="utf-8", errors="replace"))
    for kind, (pattern, instead) in CALLS.items():
        found = re.search(pattern, text)
        if found and (name, kind) in EXCEPTIONS:
            used.add((name, kind))
        elif found:
            line = text.count("\n", 0, found.start()) + 1
            yield f"{name}:{line}: '{found.group(0).split('(')[0].strip()}' follows the locale; use {instead}"


def faults_below(root, used):
    """`used` gains the exceptions that were needed."""
    faults = []
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in ENDINGS and file.is_file():
                faults += faults_of(file, file.relative_to(root).as_posix(), used)
    return faults


def main():
    used = set()
    faults = faults_below(pathlib.Path(__file__).resolve().parent.parent, used)
    faults += [f"{name} has no {kind} that EXCEPTIONS would allow" for name, kind in sorted(EXCEPTIONS.keys() - used)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
