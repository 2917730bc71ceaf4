"""Finds the models of Debian's libonnx-testdata and the light models of the onnx package."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

USUAL = Path("/usr/share/libonnx-testdata/data")
SUITES = ("node", "pytorch-converted", "pytorch-operator", "simple")


def data_folder(given=None):
    """The folder that holds `node/`, `simple/`, ...: the one given, the usual one, or wherever dpkg put it."""
    candidates = [Path(given), Path(given) / "data"] if given else [USUAL, *packaged_folders()]
    for candidate in candidates:
        if (candidate / "node").is_dir():
            return candidate
    where = given or "the files of libonnx-testdata; run scripts/setup --tests, or name the folder with --data"
    print(f"{sys.argv[0]}: no folder node/ of ONNX backend tests in {where}", file=sys.stderr)
    sys.exit(2)


def packaged_folders():
    try:
        listing = subprocess.run(["dpkg", "-L", "libonnx-testdata"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        return []
    return [Path(line).parent for line in listing.splitlines() if line.endswith("/node")]


def released_data(version="1.22.0"):
    """Where the data of a release of the onnx package is once it was fetched."""
    folder = Path(__file__).resolve().parent.parent / "build" / "testdata" / f"onnx-{version}"
    return folder / "onnx" / "backend" / "test" / "data"


def released_folder(version):
    """The data that a release of the onnx package carries: its wheel is fetched from PyPI once. (Newer ones than
    1.22.0 carry none.)"""
    data = released_data(version)
    folder = data.parents[3]
    if not (data / "node").is_dir():
        with tempfile.TemporaryDirectory(prefix="onnx-wheel-") as scratch:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                            f"onnx=={version}", "--dest", scratch], check=True)
            with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
                wheel.extractall(folder, [name for name in wheel.namelist() if "backend/test/data/" in name])
    return data_folder(data)


def test_folders(data, suite):
    """The folders of a suite that hold a model, by name."""
    return sorted(model.parent for model in (data / suite).glob("*/model.onnx"))


def data_sets(folder):
    return sorted(folder.glob("test_data_set_*"), key=lambda path: int(path.name.rsplit("_", 1)[1]))


def light_models():
    """The nine real architectures with generated weights that the onnx Python package carries."""
    import onnx

    return sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
