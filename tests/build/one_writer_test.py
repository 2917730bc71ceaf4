#!/usr/bin/env python3
"""Files are written by outputs/ alone (docs/outputs.md): nothing else opens files for writing, renames or makes scratch.

Usage: one_writer_test.py [ROOT]
"""

import pathlib
import re
import subprocess
import sys

WRITES = re.compile(r"ofstream|\bfopen\s*\(|(?:fs|filesystem|std|\s)::rename\w*\s*\(|mkdtemp|mkstemp|tmpnam|O_CREAT|O_TRUNC|"
                    r"O_WRONLY|O_RDWR|copy_file|fs::copy\s*\(|renameat")
# Why each of the others may.
EXCEPTIONS = {
    "backend/execute/timing_lock.cpp": "a lock, which holds nothing",
    "batch/batch_record.cpp": "a journal's name, which no other run has",
    "rule_language/write_operator_digests.cpp": "a step of the build",
    "egraph/exact/answer_sets.cpp": "input of a program, in scratch",
    "profiler/runtime_graph.cpp": "data for a model, in scratch",
    "profiler/onnxruntime_worker.cpp": "input of a program, in scratch",
    "system/journal.cpp": "a journal, to which lines are added under a lock",
    "system/program.cpp": "/dev/null and pipes of child processes",
    "system/supervisor.cpp": "/dev/null",
    "system/supervisor_image.cpp": "a program in memory or in a file without a name",
}
# Emitted into programs that do not use Lemma, tests, and measurements.
OTHER = ("outputs/", "tests/", "bench/", "backend/emit/parts/", "backend_cuda/emit_cuda/parts/",
         "backend_cuda/emit_calls/parts/")


def sources(root):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cpp", "*.h"], cwd=root,
                            capture_output=True, text=True)
    if listed.returncode == 0:
        return listed.stdout.split()
    return [str(path.relative_to(root)) for path in root.rglob("*") if path.suffix in (".cpp", ".h")
            and "build" not in path.relative_to(root).parts]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    wrong, seen = [], set()
    for name in sources(root):
        if name.startswith(OTHER) or not (root / name).exists():
            continue
        for number, line in enumerate((root / name).read_text(errors="replace").splitlines(), 1):
            if WRITES.search(line.split("//")[0]):
                seen.add(name)
                if name not in EXCEPTIONS:
                    wrong.append(f"{name}:{number}: {line.strip()}")
    for line in wrong:
        print(line)
    if wrong:
        print("files are written with outputs/files.h, folders with outputs/folder_update.h, scratch is in outputs/scratch.h")
    for name in sorted(set(EXCEPTIONS) - seen):
        if (root / name).exists():
            print(f"{name}: no exception is needed any more")
            wrong.append(name)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
