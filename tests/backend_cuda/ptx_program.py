"""Emitted CUDA source whose kernels are nvcc's PTX, run on this processor: nvcc compiles the source to PTX, which becomes C++
(ptx_translation.py) in the place of the kernels. What nvcc made of the source is run, and not the source."""

import re
import shutil
import subprocess

import host_program
import ptx_text
import ptx_translation

KERNEL = re.compile(r"__global__ void (?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(([^)]*)\)\s*\{")


def compiler():
    """nvcc, also where CUDA's installer puts it."""
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def compile_ptx(directory, name, architecture):
    """PTX of a directory's source. Raises RuntimeError with what nvcc said."""
    words = [compiler(), "-std=c++20", "--expt-relaxed-constexpr", "-O3", f"-arch={architecture}", "-ptx", "-o", "kernels.ptx",
             f"{name}.cu"]
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return (directory / "kernels.ptx").read_text()


def hand_over(text, names):
    """Source whose kernels call the function ptx_NAME with the addresses of their parameters; adds their names."""
    place = 0
    while match := KERNEL.search(text, place):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        given = [parameter.split()[-1].strip("*&") for parameter in match[2].split(",") if parameter.strip()]
        call = f" ::ptx_{match[1]}({', '.join(f'&{name}' for name in given)}); }}"
        text = text[:match.end()] + call + text[end:]
        names[match[1]] = len(given)
        place = match.end() + len(call)
    return text


class Host(host_program.Host):
    """Programs with the kernels of nvcc's PTX for an architecture, such as "sm_90"."""

    def __init__(self, folder, architecture):
        super().__init__(folder)
        self.architecture = architecture

    def build(self, directory, name, kernels="kernels_of_ptx"):
        """The source of the directory is changed: its kernels only hand over what they are given."""
        try:
            ptx = compile_ptx(directory, name, self.architecture)
            names = {}
            for file in sorted(directory.glob("*.cu*")):
                file.write_text(hand_over(file.read_text(), names))
            text = ptx_translation.translated(ptx, sorted(names))
        except (RuntimeError, ptx_text.Unknown) as error:
            return str(error)
        (directory / f"{kernels}.h").write_text("".join(
            f"void ptx_{name}({', '.join(['const void*'] * count)});\n" for name, count in sorted(names.items())))
        (directory / f"{kernels}.cpp").write_text(text)
        shutil.copy(host_program.HOST_CUDA / "ptx.cuh", directory / "ptx.cuh")
        failure = self.compile_object(directory, f"{kernels}.cpp", ["-w"])
        return failure or super().build(directory, name, kernels)
