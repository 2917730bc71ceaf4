"""A folder that a command runs in, with its own home, temporary folder and cache; what is in it can be compared and
put back."""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess

HOME, CACHE, TEMPORARY, WORK = "home", "cache", "temporary", "work"
# What ONNX Runtime and its libraries keep for themselves.
FOREIGN = (f"{HOME}/.cache", f"{TEMPORARY}/.ses")


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Sandbox:
    def __init__(self, folder):
        self.root = pathlib.Path(folder)
        self.kept = self.root.with_name(self.root.name + ".kept")
        for name in (HOME, CACHE, TEMPORARY, WORK):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        self.work = self.root / WORK

    def environment(self, **more):
        """Of a command: all that it writes without being told where is in the sandbox."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("LEMMA_", "XDG_", "CCACHE"))}
        # Lemma chooses a target, its timing and its number of threads by the machine; here they are the same everywhere.
        environment |= {"HOME": str(self.root / HOME), "TMPDIR": str(self.root / TEMPORARY),
                        "LEMMA_CACHE": str(self.root / CACHE), "LEMMA_PROFILE": str(self.root / HOME / "profile.sqlite"),
                        "LEMMA_TARGET": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
        return environment | more

    def keep(self):
        """Remembers what is there now, for put_back()."""
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(self.root, self.kept, symlinks=True)

    def put_back(self):
        shutil.rmtree(self.root)
        shutil.copytree(self.kept, self.root, symlinks=True)

    def contents(self):
        """By path: what it is with its permissions, and the bytes of a file or the target of a link."""
        found = {}
        for folder, folders, files in os.walk(self.root):
            for name in folders + files:
                path = pathlib.Path(folder, name)
                if str(path.relative_to(self.root)).startswith(FOREIGN):
                    continue
                mode = path.lstat().st_mode
                data = os.readlink(path) if stat.S_ISLNK(mode) else path.read_bytes() if stat.S_ISREG(mode) else None
                found[str(path.relative_to(self.root))] = (stat.filemode(mode), data)
        return found


class Ended:
    """How a traced command ended."""

    def __init__(self, result, out, error):
        self.exit, self.signal = result.get("exit"), result.get("signal")
        self.points, self.struck = result["points"], result["struck"]
        self.outlived, self.timed_out = result["outlived"], result["timed_out"]
        self.out, self.error = out, error

    @property
    def how(self):
        if self.timed_out:
            return "no end"
        return f"signal {signal.Signals(self.signal).name}" if self.signal else f"exit {self.exit}"


class CannotTrace(Exception):
    pass


class Tracer:
    def __init__(self, program):
        self.program = program

    def run(self, sandbox, words, points="changes", at=0, caller=False, stays=False, limit=120, linger=10, log=None):
        """The command, with the fault at the call number `at`; 0: none, and all calls are counted."""
        result = sandbox.root.with_name(sandbox.root.name + ".result")
        result.unlink(missing_ok=True)
        options = ["--result", result, "--points", points, "--at", at, "--limit", limit, "--linger", linger]
        options += ["--caller"] * caller + ["--stays"] * stays + (["--log", log] if log else [])
        # The tracer ends what outlives the command, so that the pipes are closed.
        done = subprocess.run([self.program, *map(str, options), *map(str, words)], cwd=sandbox.work,
                              env=sandbox.environment(), stdin=subprocess.DEVNULL, capture_output=True)
        out, error = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
        if done.returncode == 3:
            raise CannotTrace(error)
        assert done.returncode == 0, (done.returncode, error)
        return Ended(json.loads(result.read_text()), out, error)
