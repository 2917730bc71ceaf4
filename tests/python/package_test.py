#!/usr/bin/env python3
"""Makes a wheel from a build, installs it into an empty environment, uses it, and uninstalls it."""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
SKIPPED = 77
OF_THE_C_LIBRARY = re.compile(r"^(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|util))\.so")


def require(condition, message):
    if not condition:
        print(message)
        sys.exit(1)


def run(*words, environment=None, folder=None):
    """The command's output; its failure ends the test and shows what it said."""
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=environment, cwd=folder)
    require(result.returncode == 0, f"failed: {words}\n{result.stdout}\n{result.stderr}")
    return result.stdout


def missing_tool():
    if not PYTHON.exists():
        return "there is no .venv"
    needed = "import mypy, onnx, pip, scikit_build_core, typing_extensions"
    result = subprocess.run([PYTHON, "-c", needed], capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stderr.splitlines()[-1]


def make_wheel(build_folder, scratch):
    run(PYTHON, "-m", "pip", "wheel", ROOT, "--no-deps", "--no-build-isolation", "--disable-pip-version-check",
        "--wheel-dir", scratch, "-C", f"build-dir={scratch / 'build'}",
        environment={**os.environ, "LEMMA_BUILD_FOLDER": str(build_folder)})
    wheels = list(scratch.glob("*.whl"))
    require(len(wheels) == 1, f"wheels: {wheels}")
    return wheels[0]


def check_build_folders():
    """The two recipes of docs/python.md do not share a folder, which each would empty."""
    settings = ("from scikit_build_core.settings.skbuild_read_settings import SettingsReader\n"
                "read = SettingsReader.from_file('pyproject.toml').settings\n"
                "print(read.build_dir, read.cmake.source_dir)")
    compiled, taken = (run(PYTHON, "-c", settings, folder=ROOT, environment={**os.environ, **more}).split()
                       for more in ({"LEMMA_BUILD_FOLDER": ""}, {"LEMMA_BUILD_FOLDER": "/some/build"}))
    require(compiled == ["build/wheel", "."], f"a wheel is compiled in {compiled}")
    require(taken == ["build/wheel_from_build", "python/from_build"], f"a wheel of a build is made in {taken}")


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


def check_libraries(package):
    """Programs and libraries find all that they need beside them, but the C library."""
    loaders = [path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path)]
    if not loaders:
        print("which libraries are loaded is not looked at: the loader is not known here")
        return
    own = str((package / "lib" / "lemma").resolve())
    for program in sorted((package / "bin").iterdir()):
        loaded = run(loaders[0], "--list", program, environment={})
        for line in loaded.splitlines():
            name, _, place = line.strip().partition(" => ")
            name = pathlib.Path(name.split(" ")[0]).name
            inside = place and str(pathlib.Path(place.split(" (")[0]).resolve().parent) == own
            require(inside or OF_THE_C_LIBRARY.match(name), f"{program.name} takes from elsewhere: {line.strip()}")


def check_licenses(package):
    """Each library that the wheel carries comes with its licence, and so do those whose headers are compiled in."""
    folder = package / "lib" / "lemma" / "licenses"
    texts = {path.stem: path.read_text() for path in folder.glob("*.txt")}
    for name in ("libcli11-dev", "libexpected-dev", "nlohmann-json3-dev"):
        require(len(texts.get(name, "")) > 500, f"no licence of {name}")
    origins = dict(line.split(" ") for line in (folder / "libraries").read_text().splitlines())
    for library in sorted((package / "lib" / "lemma").glob("*.so*")):
        require(len(texts.get(origins.get(library.name), "")) > 500, f"no licence of {library.name}: {origins}")
    for name in set(re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", "".join(texts.values()))):
        if (pathlib.Path("/usr/share/common-licenses") / name).exists():
            require((folder / "common-licenses" / name).is_file(), f"the licence {name} is referred to and not there")


def newest_symbol(files):
    """The newest version of the C library that one of the programs or libraries asks for."""
    versions = [(0, 0)]
    for file in files:
        versions += [tuple(map(int, found)) for found in re.findall(rb"GLIBC_(\d+)\.(\d+)", file.read_bytes())]
    return max(versions)


def check_platform(wheel, package):
    """The name promises no more than is true: linux says this machine's C library, manylinux names one."""
    promised = re.search(r"-manylinux_(\d+)_(\d+)_", wheel.name)
    require(promised or re.search(r"-linux_[a-z0-9_]+\.whl$", wheel.name), f"for which platform is {wheel.name}?")
    files = [path for folder in ("bin", "lib/lemma") for path in (package / folder).iterdir() if path.is_file()]
    needed = newest_symbol(files)
    require(needed > (2, 0), "no program asks for the C library")
    if promised:
        require(tuple(map(int, promised.groups())) >= needed, f"{wheel.name} needs glibc {needed}")


def python_blocks(file):
    return re.findall(r"^```python\n(.*?)^```", file.read_text(), re.MULTILINE | re.DOTALL)


# What cells of notebooks print or display: of each the form, and what is in it, in this order.
DISPLAYED = {
    "build_script.ipynb": [("printed", "damaged.onnx     copied: "), ("text", "equal=True")],
    "proofs.ipynb": [("text", "Counter"), ("printed", "rule reshape_of_reshape"), ("printed", "n == 1"), ("text", "difference")],
    "python.ipynb": [("html", "optimized"), ("svg", "MatMul"), ("printed", "reading"), ("text", "equal=True"),
                     ("printed", "times, "), ("text", "difference"), ("html", "negated_difference: proved"),
                     ("printed", "not an ONNX model")],
}


def check_notebook(python, file, environment, folder):
    """Its cells run in order, and show what they should. What is HTML has pictures as images."""
    cells = json.loads(run(python, HERE / "run_notebook.py", file, environment=environment, folder=folder))
    wanted = list(DISPLAYED[file.name])
    for cell in cells:
        forms = {"printed": cell["printed"], **(cell["shown"] or {})}
        if "html" in forms:
            require("<img " in forms["html"] and "data:image/svg+xml;base64," in forms["html"], f"{file.name}: no picture")
        if wanted and wanted[0][1] in forms.get(wanted[0][0], ""):
            wanted.pop(0)
    require(not wanted, f"{file.name} does not show {wanted[:1]}: {json.dumps(cells, indent=1)[:3000]}")


def check_examples(python, scratch, environment, all_notebooks):
    """What the README and the page show runs in a checkout, and the notebooks in its folder `examples`, or the first of them."""
    sources = {"README.md": python_blocks(ROOT / "README.md"), "docs/python.md": python_blocks(ROOT / "docs/python.md")}
    require(all(sources.values()), f"no examples in one of {list(sources)}")
    examples = scratch / "checkout" / "examples"
    examples.mkdir(parents=True)
    for model in (ROOT / "examples").glob("*.onnx"):
        (examples / model.name).write_bytes(model.read_bytes())
    for name, blocks in sources.items():
        print(f"{name}:", run(python, "-c", "\n".join(blocks), environment=environment, folder=examples.parent), sep="\n")
    notebooks = sorted((ROOT / "examples").glob("*.ipynb"))
    require([path.name for path in notebooks] == sorted(DISPLAYED), f"notebooks are {notebooks}")
    for path in notebooks if all_notebooks else notebooks[:1]:
        check_notebook(python, path, environment, examples)


def check_types(package, without_onnx, environment):
    """With the packages onnx and numpy, and in an environment that has neither."""
    require((package / "py.typed").is_file(), "type checkers will not look at the module")
    for python, use in ((PYTHON, "typed_use.py"), (without_onnx, "typed_use_without_onnx.py")):
        run(PYTHON, "-m", "mypy", "--strict", "--no-incremental", "--ignore-missing-imports", "--python-executable", python,
            ROOT / "python" / "lemma", HERE / use, environment={**environment, "MYPYPATH": str(ROOT / "python")})


def has_sessions(environment, python):
    """Whether there is what compiled models are compared with."""
    result = subprocess.run([python, "-c", "import numpy, onnxruntime"], env=environment, capture_output=True)
    if result.returncode != 0:
        print("sessions are not tested: numpy or ONNX Runtime is not installed")
    return result.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-folder", required=True, type=pathlib.Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--sessions", action="store_true", help="test compiled models and all notebooks as well, which takes minutes")
    arguments = parser.parse_args()
    lacking = missing_tool()
    if lacking:
        print(f"skipped: {lacking} (scripts/setup --tests installs it)")
        sys.exit(SKIPPED)

    check_build_folders()
    with tempfile.TemporaryDirectory(prefix="lemma-python-") as name:
        scratch = pathlib.Path(name)
        wheel = make_wheel(arguments.build_folder, scratch)
        require(re.fullmatch(rf"lemma-{re.escape(arguments.version)}-py3-none-.*\.whl", wheel.name), wheel.name)

        environment = {"PATH": "/usr/bin:/bin", "HOME": name, "LEMMA_TARGET": "cpu"}
        run(PYTHON, "-m", "venv", "--without-pip", scratch / "empty")
        before = files_of(scratch / "empty")
        python = scratch / "empty" / "bin" / "python"
        pip = (PYTHON, "-m", "pip", "--python", python, "--disable-pip-version-check")
        run(*pip, "install", "--no-index", wheel, environment=environment)
        where = "import lemma, pathlib; print(pathlib.Path(lemma.__file__).parent)"
        package = pathlib.Path(run(python, "-c", where, environment=environment).strip())
        require(scratch in package.parents, f"the module is elsewhere: {package}")
        said = run(scratch / "empty" / "bin" / "lemma", "--version", environment=environment).splitlines()[0]
        require(said == f"lemma {arguments.version}", f"the program says '{said}'")
        rules = package / "share" / "lemma" / "rules"
        # Those of one file: checker_program replays all of them.
        few = scratch / "few"
        few.mkdir()
        smallest = min((rules / "substitutions").glob("*.certificates"), key=lambda file: file.stat().st_size)
        for file in (smallest, smallest.with_suffix(".rules")):
            shutil.copy(file, few)
        said = run(scratch / "empty" / "bin" / "lemma-check", "--axioms", rules / "axioms", "--rules", few, few,
                   environment=environment)
        require("0 fail" in said, f"the checker says '{said}'")
        check_libraries(package)
        check_licenses(package)
        check_platform(wheel, package)

        check_examples(python, scratch, environment, arguments.sessions)
        # From here on with onnx, which makes models for the tests.
        site = run(PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        environment |= {"PYTHONPATH": site, "LEMMA_EXAMPLE": str(ROOT / "examples" / "two_layer.onnx")}
        result = subprocess.run([python, HERE / "test_lemma.py"], env=environment, cwd=scratch)
        require(result.returncode == 0, "tests of the module failed")
        if arguments.sessions and has_sessions(environment, python):
            result = subprocess.run([python, HERE / "test_session.py"], env=environment, cwd=scratch)
            require(result.returncode == 0, "tests of sessions failed")
        check_types(package, python, {**environment, "PYTHONPATH": ""})

        run(*pip, "uninstall", "--yes", "lemma", environment={**environment, "PYTHONPATH": ""})
        left = files_of(scratch / "empty") - before
        require(not left, f"left after uninstalling: {sorted(left)[:20]}")


if __name__ == "__main__":
    main()
