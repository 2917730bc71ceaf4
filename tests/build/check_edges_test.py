#!/usr/bin/env python3
"""cmake/check_edges.py refuses exactly what is wrong in a small tree."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "check_edges.py"

TREE = {
    "cmake/edges.txt": """\
folder ir            :
folder egraph        : ir
folder frontend_onnx : ir
folder search        : ir egraph

header onnx/ : frontend_onnx
header z3    : egraph
""",
    "docs/architecture.md": """\
| folder | what it does | may use |
|--------|--------------|---------|
| `frontend_onnx/` | reads | `ir` |
| `search/` | searches | `ir` |
""",
    "egraph/egraph.h": """\
#pragma once
#include "ir/upward.h"
#include <z3++.h>
""",
    "egraph/unguarded.h": """\
#include "ir/upward.h"
""",
    "frontend_onnx/CMakeLists.txt": """\
lemma_add_library(NAME frontend_onnx SOURCES import.cpp)
""",
    "frontend_onnx/import.cpp": """\
#include <onnx/onnx_pb.h>
#include "search/search.h"
""",
    "frontend_onnx/unlisted.cpp": """\
#include <vector>
""",
    "ir/upward.h": """\
#pragma once
#include "egraph/egraph.h"
""",
    "search/CMakeLists.txt": """\
lemma_add_library(NAME search SOURCES search.cpp)
""",
    "search/search.cpp": """\
#include "egraph/egraph.h"
#include <onnx/onnx_pb.h>
  #  include <vector>
""",
}

EXPECTED = """\
docs/architecture.md: search may use egraph, ir, not ir
egraph/egraph.h:3: third-party header belongs in a .cpp file: z3++.h
egraph/unguarded.h: header without #pragma once
frontend_onnx/import.cpp:2: frontend_onnx may not use search: search/search.h
frontend_onnx/unlisted.cpp: not listed in frontend_onnx/CMakeLists.txt
ir/upward.h:2: ir may not use egraph: egraph/egraph.h
search/search.cpp:2: search may not use third-party header onnx/onnx_pb.h
cmake/edges.txt: frontend_onnx may use ir, but includes nothing of it
cmake/edges.txt: search may use ir, but includes nothing of it
6 files, 9 complaints
"""


def check(root):
    return subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)


class CheckEdges(unittest.TestCase):
    def test_refuses_forbidden_includes(self):
        with tempfile.TemporaryDirectory() as root:
            for name, text in TREE.items():
                file = pathlib.Path(root, name)
                file.parent.mkdir(exist_ok=True)
                file.write_text(text)
            result = check(root)
        self.assertEqual(result.stdout, EXPECTED)
        self.assertEqual(result.returncode, 1)

    def test_an_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as root:
            (pathlib.Path(root) / "cmake").mkdir()
            (pathlib.Path(root) / "cmake" / "edges.txt").write_text("folder ir :\n")
            self.assertEqual(check(root).returncode, 2)

    def test_a_misspelt_folder_is_an_error(self):
        with tempfile.TemporaryDirectory() as root:
            (pathlib.Path(root) / "cmake").mkdir()
            (pathlib.Path(root) / "cmake" / "edges.txt").write_text("folder ir : egrap\n")
            result = check(root)
            self.assertEqual(result.returncode, 2)
            self.assertIn("egrap", result.stderr)

    def test_a_cycle_of_folders_is_an_error(self):
        with tempfile.TemporaryDirectory() as root:
            (pathlib.Path(root) / "cmake").mkdir()
            (pathlib.Path(root) / "cmake" / "edges.txt").write_text(
                "folder ir : egraph\nfolder egraph : ir\n")
            result = check(root)
            self.assertEqual(result.returncode, 2)
            self.assertIn("ir uses egraph", result.stderr)


if __name__ == "__main__":
    unittest.main()
