#!/usr/bin/env python3
"""Programs of others that use the library: what ought to compile does and runs, and what applies rules without proofs is refused by the
compiler. The programs lie in ../shared/library; without them this is skipped."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT.parent / "shared" / "library"
OPTIONS = None
# What the compiler says of a program that hands over rules without proofs, or that takes a header that is not installed.
REFUSED = {"opt": r"reference of type .const lemma::RuleDatabase&. from expression of type .std::vector<lemma::Substitution>",
           "abuse": r"RuleDatabase::RuleDatabase\(.*is private",
           "conc": r"reference of type .const lemma::RuleDatabase&. from expression of type .std::span<const lemma::Substitution>",
           "digest": r"lemma/ir/operator_instances\.h: No such file"}
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(Consumer LANGUAGES CXX)
find_package(Lemma REQUIRED)
add_executable(prove prove.cpp)
target_link_libraries(prove PRIVATE Lemma::verifier)
add_executable(toy toy.cpp)
target_link_libraries(toy PRIVATE Lemma::egraph)
"""


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.prefix = cls.folder / "prefix"
        done = run(OPTIONS.cmake, "--install", OPTIONS.build_folder, "--prefix", cls.prefix)
        assert done.returncode == 0, done.stderr
        for program in PROGRAMS.glob("*.cpp"):
            # Headers are included as lemma/FOLDER/NAME.h since these programs were written.
            text = re.sub(r'#include "(?=[a-z_]+/)', '#include "lemma/', program.read_text())
            (cls.folder / program.name).write_text(text)

    def compiled(self, name, *folders):
        words = [OPTIONS.compiler, "-std=c++20", "-fsyntax-only", *(f"-I{folder}" for folder in folders), f"-I{self.prefix}/include"]
        return run(*words, self.folder / f"{name}.cpp")

    def test_what_has_no_proof_is_refused_by_the_compiler(self):
        for name, words in REFUSED.items():
            with self.subTest(name):
                done = self.compiled(name)
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, words)

    def test_a_header_of_the_same_name_is_another_one(self):
        own = self.folder / "own" / "ir"
        own.mkdir(parents=True)
        (own / "graph.h").write_text("struct MyGraph {};\n")
        collide = self.folder / "collide.cpp"
        collide.write_text((PROGRAMS / "collide.cpp").read_text().replace('"search/', '"lemma/search/'))
        done = self.compiled("collide", self.folder / "own")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_those_that_compile_run(self):
        (self.folder / "CMakeLists.txt").write_text(PROJECT)
        build = self.folder / "build"
        done = run(OPTIONS.cmake, "-G", "Ninja", "-S", self.folder, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                   f"-DCMAKE_CXX_COMPILER={OPTIONS.compiler}", f"-DCMAKE_CXX_FLAGS={OPTIONS.compiler_flags}")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run(OPTIONS.cmake, "--build", build)
        self.assertEqual(done.returncode, 0, done.stdout)
        done = run(build / "toy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\A\w+ \d+ classes \d+ nodes\n")
        data = self.prefix / "share" / "lemma"
        done = run(build / "prove", data, "rule twice\n  a : [A..]\n  Neg(Neg(a)) => a\n")
        self.assertTrue(done.stdout.startswith("proved"), done.stdout + done.stderr)
        done = run(build / "prove", data, "rule wrong\n  a : [A..]\n  Neg(a) => a\n")
        self.assertTrue(done.stdout.startswith("refuted"), done.stdout + done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("cmake", "build-folder", "compiler"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--compiler-flags", default="")
    OPTIONS, rest = parser.parse_known_args()
    if not PROGRAMS.is_dir():
        print("skipped: there are no programs of others here (../shared/library)")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
