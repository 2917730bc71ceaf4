#!/usr/bin/env python3
"""Installs the project, then builds and runs an outside project that finds the installed package."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def run(*command):
    """The command's output; its failure ends the test and shows what it said."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode != 0:
        print("failed:", *command)
        print(result.stdout, result.stderr, sep="\n")
        sys.exit(1)
    return result.stdout


def require(condition, message):
    if not condition:
        print(message)
        sys.exit(1)


def check_files(prefix):
    headers = prefix / "include" / "lemma"
    public = [line for line in (ROOT / "cmake" / "public_headers.txt").read_text().splitlines() if line[:1].isalpha()]
    require(len(public) > 20, f"few public headers: {public}")
    for header in public:
        require((headers / header).is_file(), f"not installed: {header}")
    installed = list(headers.rglob("*.h"))
    require(len(installed) < 200, f"{len(installed)} headers are installed")
    for folder in ("cli", "backend_cuda"):
        require(not (headers / folder).exists(), f"headers of {folder}/ are no part of the package")
    for header in installed:
        for line in header.read_text().splitlines():
            require(not line.startswith('#include "') or line.startswith('#include "lemma/'), f"{header.name}: {line}")
    rules = [path.relative_to(ROOT) for path in ROOT.glob("rules/**/*")
             if path.is_file() and path.suffix != ".md" and path.name != "CMakeLists.txt"]
    for rule in rules:
        require((prefix / "share" / "lemma" / rule).is_file(), f"not installed: {rule}")


def check_no_path_of_the_checkout(prefix):
    for path in prefix.rglob("*.cmake"):
        require(str(ROOT) not in path.read_text(), f"{path.name} names a path of the checkout")


def check_operators_from_outside(arguments, prefix, scratch):
    """The example builds with the package, and the installed program proves its rules."""
    source, build = ROOT / "examples" / "custom_operator", scratch / "operators"
    run(arguments.cmake, "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={arguments.compiler}", f"-DCMAKE_CXX_FLAGS={arguments.compiler_flags}")
    run(arguments.cmake, "--build", build)
    rules = shutil.copytree(source / "rules", scratch / "operator_rules")
    said = run(prefix / "bin" / "lemma", "rules", "verify", "--rules", rules, "--operators", build / "example_operators.so")
    require("2 rules: 2 proved, 2 of them twice" in said, f"of the rules of the example the program says '{said}'")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--build-folder", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--compiler-flags", default="")
    parser.add_argument("--version", required=True)
    parser.add_argument("--operators", action="store_true", help="build the example of operators from outside, and nothing else")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="lemma-install-") as scratch_name:
        scratch = pathlib.Path(scratch_name)
        prefix = scratch / "first"
        run(arguments.cmake, "--install", arguments.build_folder, "--prefix", prefix)
        # The package must not depend on where it was installed.
        prefix = prefix.rename(scratch / "moved")
        check_files(prefix)
        check_no_path_of_the_checkout(prefix)
        said = run(prefix / "bin" / "lemma", "--version").splitlines()[0]
        require(said == f"lemma {arguments.version}", f"the installed program says '{said}'")

        if arguments.operators:
            check_operators_from_outside(arguments, prefix, scratch)
            return
        rules = prefix / "share" / "lemma" / "rules"
        said = run(prefix / "bin" / "lemma-check", "--rules", rules / "substitutions",
                   rules / "substitutions")
        require("0 fail" in said, f"the installed checker says '{said}'")

        outside = shutil.copytree(HERE / "outside", scratch / "outside")
        build = scratch / "build"
        run(arguments.cmake, "-G", "Ninja", "-S", outside, "-B", build,
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={arguments.compiler}",
            f"-DCMAKE_CXX_FLAGS={arguments.compiler_flags}",
            f"-DLEMMA_WANTED_VERSION={arguments.version}")
        run(arguments.cmake, "--build", build)
        said = run(build / "outside").strip()
        require(said.startswith(f"Lemma {arguments.version}"), f"the outside program says '{said}'")
        print(said)
        run(build / "outside", prefix)
        # A program that uses the library gets a result that was checked.
        done = run(build / "outside", prefix, ROOT / "examples" / "two_layer.onnx", scratch / "result.onnx")
        require(done.split() == ["optimized", "7", "3", "1"], f"the outside program says '{done}'")
        require((scratch / "result.onnx").is_file(), "the outside program has written nothing")
        done = run(build / "outside", prefix, scratch / "database").split()
        require(done[0] == "14" and int(done[1]) > 0 and int(done[2]) > 0, f"the outside program built {done}")


if __name__ == "__main__":
    os.environ.pop("CMAKE_PREFIX_PATH", None)
    main()
