"""A program in place of nvcc that compiles emitted CUDA source for this processor (host_cuda/), and one in place of the
driver's library."""

import subprocess

import host_program

# Sources and ptx.cuh, whose functions are replaced, are compiled in a copy of the folder.
COMPILER = """#!/usr/bin/env python3
import pathlib, shutil, subprocess, sys, tempfile
HOST, COMPILER, OPTIONS, OBJECTS, LOG = {host!r}, {compiler!r}, {options!r}, {objects!r}, {log!r}
words = sys.argv[1:]
if words == ["--version"]:
    print("host compiler\\nin place of nvcc")
    sys.exit()
with open(LOG, "a") as log:
    print(*words, file=log)
target = pathlib.Path(words[words.index("-o") + 1]).absolute()
inputs = [pathlib.Path(word) for word in words if word.endswith((".cu", ".o")) and word != words[words.index("-o") + 1]]
folders = [pathlib.Path("."), *(pathlib.Path(words[i + 1]) for i, word in enumerate(words) if word == "-I")]
with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    for folder in [*folders, *(each.parent for each in inputs)]:
        for file in folder.iterdir():
            if file.suffix in (".cu", ".cuh", ".h"):
                shutil.copy(file, work)
    shutil.copy(pathlib.Path(HOST) / "ptx.cuh", work)
    call = [COMPILER, *OPTIONS, "-I", HOST, "-Wno-unused-function", *(word for word in words if word.startswith("-D") or word == "-c")]
    for each in inputs:
        call += ["-x", "c++", work / each.name] if each.suffix == ".cu" else ["-x", "none", each]
    if "-c" not in words:
        call += ["-x", "none", *OBJECTS, "-lstdc++", "-lm"]  # which are left out where all inputs are objects
    sys.exit(subprocess.run([*map(str, call), "-o", str(target)]).returncode)
"""
DRIVER = """
int cuInit(unsigned flags) { (void)flags; return 0; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == 16 ? 3 : attribute == 75 ? 9 : 0;
  return 0;
}
"""
MULTIPROCESSORS = 3  # that the driver says


class HostToolkit:
    def __init__(self, folder):
        host = host_program.Host(folder)
        self.log = folder / "compiled"
        self.nvcc = folder / "nvcc"
        self.nvcc.write_text(COMPILER.format(host=str(host_program.HOST_CUDA), compiler=host_program.compiler(),
                                             options=host.headers("plain"), objects=host.objects("plain", False), log=str(self.log)))
        self.nvcc.chmod(0o755)
        self.driver_folder = folder / "driver"

    def calls(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def driver_environment(self):
        """With it, there is a device."""
        self.driver_folder.mkdir(exist_ok=True)
        source = self.driver_folder / "driver.c"
        source.write_text(DRIVER)
        subprocess.run([host_program.compiler(), "-x", "c", "-shared", "-fPIC", source, "-o", self.driver_folder / "libcuda.so.1"],
                       check=True)
        return {"LD_LIBRARY_PATH": str(self.driver_folder)}
