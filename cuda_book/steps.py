"""What the run book runs on a machine with a GPU: steps, each with a file of results. Needs nothing but Python's library."""

import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

DONE, WRONG, FAILED, SKIPPED, NO_TIME = "done", "WRONG", "FAILED", "skipped", "no time"
BASELINES = ("stream", "graph")  # (a) and (b) of bench/cuda plans
RUNTIMES = ("onnxruntime", "torch", "tensorrt", "xla")
TIME_LIMIT = 90  # seconds of a step
CLOSELY = 3  # models that other tools look at

PROGRAM = "program"  # of a variant: the self-check and the runner


def same_file(source, target):
    """Without a copy where the file system has links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def unpack(source, target):
    """The file appears whole or not at all. Programs may be run."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    with partial.open("wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
    if "." not in target.name:
        partial.chmod(0o755)
    partial.rename(target)


def pip_library_folders():
    """Where pip puts NVIDIA's libraries (nvidia-cublas, nvidia-cudnn and so on): nvidia/NAME/lib beside other packages."""
    return [str(folder) for place in sys.path if place
            for folder in sorted(Path(place).glob("nvidia/*/lib")) if any(folder.glob("lib*.so*"))]


class Book:
    """A prepared directory, and where its results go."""

    def __init__(self, directory, results, seconds, runs, copied_megabytes=512, rounds=2000):
        self.directory, self.results, self.runs = directory, results, runs
        self.copied_megabytes, self.rounds = copied_megabytes, rounds
        self.start = time.monotonic()
        self.contents = json.loads((directory / "book.json").read_text())
        self.end = time.monotonic() + seconds
        results.mkdir(parents=True, exist_ok=True)

    def seconds_since_start(self):
        return time.monotonic() - self.start

    def time_left(self):
        return self.end - time.monotonic()

    def file(self, name):
        """A file of the directory, unpacked beside the results if it is packed."""
        if (self.directory / name).exists():
            return self.directory / name
        unpacked = self.results / "unpacked" / name
        if unpacked.exists():
            return unpacked
        if (self.directory / f"{name}.xz").exists():
            with lzma.open(self.directory / f"{name}.xz") as source:
                unpack(source, unpacked)
            return unpacked
        self.unpack_model(Path(*Path(name).parts[:2]))
        if unpacked.exists():
            return unpacked
        if len(Path(name).parts) > 3:  # of a variant
            shared = self.file(str(Path(name).parent.parent / unpacked.name))
            unpacked.parent.mkdir(parents=True, exist_ok=True)
            same_file(shared, unpacked)
            return unpacked
        raise FileNotFoundError(f"{name} is not in the directory")

    def unpack_model(self, folder):
        """All of "models/NAME" that is packed together, as reading one file of it means to read those before it."""
        archive = self.directory / folder / "files.tar.xz"
        if not archive.exists():
            return
        with tarfile.open(archive, "r|xz") as files:
            for member in files:
                target = self.results / "unpacked" / folder / member.name
                if not target.exists():
                    unpack(files.extractfile(member), target)

    def environment(self):
        """With the libraries that are carried in front of others."""
        for packed in sorted((self.directory / "libraries").glob("*.xz")):
            self.file(f"libraries/{packed.stem}")
        folders = [str((self.results / "unpacked" / "libraries").resolve()), os.environ.get("LD_LIBRARY_PATH", ""), *pip_library_folders()]
        return dict(os.environ, LD_LIBRARY_PATH=":".join(folder for folder in folders if folder))

    def run_program(self, name, *words):
        """A program of the directory."""
        return self.run([self.file(name), *words], self.environment())

    def run(self, words, environment=None):
        """Exit code, output and errors; 124 if it takes too long."""
        try:
            done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, env=environment,
                                  timeout=max(1, min(TIME_LIMIT, self.time_left())))
        except subprocess.TimeoutExpired:
            return 124, "", "it took too long"
        return done.returncode, done.stdout, done.stderr


def last_line(*texts):
    lines = [line for text in texts for line in text.strip().splitlines()]
    return lines[-1] if lines else "it said nothing"


def ptx(book):
    code, output, errors = book.run_program("ptx_check")
    if code == 0:
        return {"status": DONE, "functions": re.findall(r"^passed (\w+)$", output, re.MULTILINE)}
    wrong = [line for line in output.splitlines() if line.startswith("FAILED")]
    return {"status": WRONG if code == 1 else FAILED, "reason": "; ".join(wrong) or last_line(errors, output)}


def device_costs(book):
    """Seconds of launches, signals and steps, and bytes per second of copies, as this device has them."""
    code, output, errors = book.run_program("device_costs", book.copied_megabytes, book.rounds)
    if code != 0:
        return {"status": FAILED, "reason": last_line(errors, output)}
    seconds = dict(re.findall(r"^(?!copy)(\w+) (\S+)$", output, re.MULTILINE))
    copies = re.findall(r"^copy (\w+) (\d+) (\d+) (\S+)$", output, re.MULTILINE)
    return {"status": DONE, "costs": {name: float(value) for name, value in seconds.items()},
            "copies": [{"place": place, "bytes_of_a_load": int(width), "threads": int(threads), "bytes_per_second": float(rate)}
                       for place, width, threads, rate in copies]}


def described(description, costs, device):
    """A description with what was measured in place of what was taken from data sheets. `device`: its name, for people."""
    schedule = dict(description.get("schedule", description))
    best = {place: max((copy["bytes_per_second"] for copy in costs["copies"] if copy["place"] == place), default=0)
            for place in ("memory", "cache")}
    seconds, units = costs["costs"], schedule["units"]
    schedule |= {"seconds_per_launch": seconds["launch"], "seconds_per_event": seconds["hop"],
                 "seconds_per_synchronization": seconds["meeting"], "seconds_per_task": seconds["step"],
                 "seconds_per_byte": units / best["cache"], "seconds_per_weight_byte": units / best["memory"],
                 "name": f"{units} units, measured on {device}",
                 "source": f"launches, signals, steps and copies measured on {device} by device_costs; the rest: {schedule['source']}"}
    return schedule


def sanitizer(book, model):
    """The self-check under compute-sanitizer, which finds accesses outside of tensors and races in shared memory."""
    program = shutil.which("compute-sanitizer")
    if not program:
        return {"status": SKIPPED, "reason": "compute-sanitizer is not installed"}
    folder = folder_of(model, "ours")
    files = [book.file(f"{folder}/{name}") for name in (PROGRAM, "weights.bin", "selfcheck.bin")]
    for tool in ("memcheck", "racecheck"):
        code, output, errors = book.run([program, "--tool", tool, "--error-exitcode", "66", files[0], "selfcheck", files[1].parent, 1],
                                        book.environment())
        if code != 0:
            return {"status": WRONG if code == 66 else FAILED, "reason": f"{tool}: {last_line(output, errors)}"}
    return {"status": DONE}


def counters(book, model):
    """What Nsight Compute says of one run."""
    program = shutil.which("ncu")
    if not program:
        return {"status": SKIPPED, "reason": "ncu is not installed"}
    folder = folder_of(model, "ours")
    code, output, errors = book.run([program, "--csv", "--launch-skip", 2, "--launch-count", 1, book.file(f"{folder}/{PROGRAM}"), "runner",
                                     book.file(f"{folder}/weights.bin"), book.file(f"{folder}/selfcheck.bin"), "-", 3],
                                    book.environment())
    if code != 0:
        return {"status": FAILED, "reason": last_line(errors, output)}
    return {"status": DONE, "text": output[-20000:]}


def folder_of(model, variant):
    return f"models/{model}/{variant}"


MISSING_LIBRARY = 127  # exit code of the dynamic linker


def what_is_missing(variant, code, output, errors):
    """Where a program with calls of libraries finds none of them, or the device is not one for it, its step is skipped."""
    if code == 77 or (variant == "calls" and code == MISSING_LIBRARY):
        return {"status": SKIPPED, "reason": last_line(output, errors)}
    return None


def correctness(book, model, variant):
    folder = folder_of(model, variant)
    files = [book.file(f"{folder}/{name}") for name in ("weights.bin", "selfcheck.bin")]
    code, output, errors = book.run_program(f"{folder}/{PROGRAM}", "selfcheck", files[0].parent)
    skipped = what_is_missing(variant, code, output, errors)
    if skipped:
        return skipped
    return {"status": DONE} if code == 0 else {"status": WRONG if code == 1 else FAILED, "reason": last_line(output, errors)}


def times(text):
    """Of "seconds LEAST MEDIAN P99" in what a program prints; None if it is not there."""
    times = re.search(r"^seconds (\S+) (\S+) (\S+)$", text, re.MULTILINE)
    return dict(zip(("least", "p50", "p99"), map(float, times.groups()))) if times else None


def timed(code, output, errors):
    if code == 77:
        return {"status": SKIPPED, "reason": last_line(output, errors)}
    seconds = times(output)
    if code != 0 or seconds is None:
        return {"status": FAILED, "reason": last_line(output, errors)}
    return {"status": DONE, "seconds": seconds}


def latency(book, model, variant):
    folder = folder_of(model, variant)
    done = book.run_program(f"{folder}/{PROGRAM}", "runner", book.file(f"{folder}/weights.bin"),
                            book.file(f"{folder}/selfcheck.bin"), "-", book.runs)
    return what_is_missing(variant, *done) or timed(*done)


def runtime(book, model, name):
    return timed(*book.run([sys.executable, book.directory / "runtimes.py", name, book.file(f"models/{model}/model.onnx"),
                            book.runs]))


def baseline(book, model, way):
    """Calls of cuBLASLt and cuDNN: "graph", or "stream" for one by one."""
    reason = book.contents.get("without_baseline")
    if reason:
        return {"status": SKIPPED, "reason": reason}
    code, output, errors = book.run_program("baseline", book.file(f"models/{model}/calls.txt"), way, book.runs)
    return timed(77 if code == MISSING_LIBRARY else code, output, errors)


def profile(book, model):
    lemma = os.environ.get("LEMMA") or shutil.which("lemma")
    if not lemma:
        return {"status": SKIPPED, "reason": "lemma is not installed; $LEMMA names it"}
    database = book.results / "profile.sqlite"
    code, output, errors = book.run([lemma, "profile", book.file(f"models/{model}/model.onnx"), "--target", "rtask-cuda",
                                     "--database", database, "--json"])
    if code != 0:
        return {"status": FAILED, "reason": last_line(errors, output)}
    return {"status": DONE, "profile": json.loads(output)}


def steps_of(contents):
    """(name, what runs it), in the order in which they are worth most: those that there is no time for are the last ones."""
    steps = [("ptx", ptx), ("costs", device_costs)]
    models = [(model["model"], model["variants"]) for model in contents["models"]]
    ours = [(model, "ours") for model, variants in models if "ours" in variants]
    others = [(model, variant) for model, variants in models for variant in variants if variant != "ours"]

    def add(kind, function, arguments):
        name = "-".join((kind, *arguments))
        steps.append((name, lambda book: function(book, *arguments)))

    for program in ours:
        add("correctness", correctness, program)
    for program in ours[:CLOSELY]:
        add("sanitizer", sanitizer, program[:1])
    for program in ours:
        add("latency", latency, program)
    for way in BASELINES:
        for model, _ in models:
            add("baseline", baseline, (model, way))
    for program in others:
        add("correctness", correctness, program)
    for program in others:
        add("latency", latency, program)
    for name in RUNTIMES:
        for model, _ in models:
            add("runtime", runtime, (model, name))
    for model, _ in models:
        add("profile", profile, (model,))
    for program in ours[:CLOSELY]:
        add("counters", counters, program[:1])
    return steps


def kept(file):
    """The result of an earlier run; None if the step has to be run."""
    if not file.exists():
        return None
    result = json.loads(file.read_text())
    return result if result["status"] in (DONE, WRONG) else None


def write(file, contents):
    partial = file.with_name(file.name + ".partial")
    partial.write_text(json.dumps(contents, indent=1) + "\n")
    partial.rename(file)


def state_of_device():
    """Clocks, power and temperature as nvidia-smi says them; nothing where there is none."""
    program = shutil.which("nvidia-smi")
    fields = ("name", "driver_version", "clocks.sm", "clocks.mem", "power.draw", "temperature.gpu")
    if not program:
        return None
    try:
        done = subprocess.run([program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader", "--id=0"], capture_output=True,
                              text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return dict(zip(fields, (value.strip() for value in done.stdout.strip().split(",")))) if done.returncode == 0 else None


def add_line(book, name, result):
    """A line of one file, in the order in which steps end: a run that is cut off loses nothing."""
    line = json.dumps({"step": name, "seconds_since_start": round(book.seconds_since_start(), 3), "device": state_of_device(), **result})
    with (book.results / "steps.jsonl").open("a") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def run_all(book, report):
    """By name of step; report(name, result) after each."""
    results = {}
    for name, step in steps_of(book.contents):
        file = book.results / f"{name}.json"
        result = kept(file)
        if result is None:
            if book.time_left() <= 0:
                result = {"status": NO_TIME}
            else:
                try:
                    result = step(book)
                except (OSError, lzma.LZMAError) as error:
                    result = {"status": FAILED, "reason": str(error)}
                if result["status"] == FAILED and book.time_left() <= 0:
                    result["status"] = NO_TIME  # it may have been stopped
                write(file, result)
                add_line(book, name, result)
        results[name] = result
        report(name, result)
    return results
