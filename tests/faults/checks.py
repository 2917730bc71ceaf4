"""What has to hold after a fault: every file is the old one or the new one, every reader accepts it, and the next run
leaves what a run without a fault leaves."""

import dataclasses
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile

import sandbox

NUMBER = re.compile(rb"(?<![A-Za-z_])\d+(\.\d+)?([eE][-+]?\d+)?")
# What a caller keeps for later; that it was not written is no failure.
KEPT_FOR_LATER = (sandbox.CACHE + "/", sandbox.HOME + "/")
ERRORS = ("ENOSPC", "EIO", "EMFILE")
REMOVING = ("unlink", "unlinkat", "rmdir")


@dataclasses.dataclass
class Finding:
    command: str
    fault: str  # kind, and the call that it struck
    what: str

    def __str__(self):
        return f"{self.command}: {self.fault}: {self.what}"


def is_whole_database(data):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "copy.sqlite")
        file.write_bytes(data)
        connection = sqlite3.connect(file)
        try:
            return connection.execute("pragma integrity_check").fetchone()[0] == "ok"
        except sqlite3.DatabaseError:
            return False
        finally:
            connection.close()


def is_whole(path, data):
    """Whether a file of its kind was not cut."""
    if path.endswith(".sqlite"):
        return is_whole_database(data)
    if path.endswith(".html"):
        return data.rstrip().endswith(b"</html>")
    try:
        json.loads(data)
        return True
    except ValueError:
        return False


class Reference:
    """A command with what it reads, in a sandbox, and what it leaves when nothing happens."""

    def __init__(self, command, tracer, lemma, folder, replaces):
        self.command, self.tracer, self.lemma, self.replaces = command, tracer, lemma, replaces
        self.sandbox = sandbox.Sandbox(pathlib.Path(folder, "sandbox"))
        self.words = [lemma, *command.words.split()]
        self.prepare(0)
        if replaces:
            self.run_alone(command.words)
            self.prepare(1)
        self.sandbox.keep()
        self.old = self.sandbox.contents()
        self.told, self.measured = ([f"{sandbox.WORK}/{name}" for name in names]
                                    for names in (command.told, command.measured))
        self.varying = set()
        self.ended = self.trace()
        assert self.ended.exit == command.exit, (command.name, self.ended.how, self.ended.out, self.ended.error)
        self.new = self.sandbox.contents()
        self.sandbox.put_back()
        self.trace()
        again = self.sandbox.contents()
        assert again.keys() == self.new.keys(), (command.name, again.keys() ^ self.new.keys())
        self.varying = {path for path in again if again[path] != self.new[path]}
        unstable = [path for path in again if self.same(path, again[path]) != self.same(path, self.new[path])]
        assert not unstable, (command.name, "differ between two runs", unstable)
        self.read = {}  # what readers said, by what they read
        self.sandbox.put_back()
        self.refused_before = self.refusals(self.old)

    def prepare(self, version):
        self.command.prepare(self.sandbox.work, version)
        if self.command.first:
            done = self.run_alone(self.command.first)
            assert done.returncode == 0, (self.command.first, done.stdout, done.stderr)

    def run_alone(self, words):
        return subprocess.run([self.lemma, *words.split()], cwd=self.sandbox.work, env=self.sandbox.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=self.command.limit)

    def trace(self, **fault):
        return self.tracer.run(self.sandbox, self.words, limit=self.command.limit, **fault)

    def points(self, kind):
        """How many calls can be struck."""
        self.sandbox.put_back()
        return self.trace(points=kind).points

    def same(self, path, entry):
        """Two files with equal values hold the same, whatever the times in them."""
        kind, data = entry
        if path in self.measured:
            return (kind, "whole") if is_whole(path, data) else entry
        if path not in self.varying or data is None or data.startswith((b"\x7fELF", b"\x08")):
            return entry
        return kind, NUMBER.sub(b"#", data)

    def as_they_were(self, state):
        """Results that compute what their models compute, and the files that they name."""
        accepted = set()
        for result, model in self.command.results.items():
            path = f"{sandbox.WORK}/{result}"
            if path not in state or self.run_alone(f"compare {model} {result}").returncode != 0:
                continue
            accepted.add(path)
            accepted |= {other for other in state if pathlib.Path(other).parent == pathlib.Path(path).parent
                         and pathlib.Path(other).name.encode() in state[path][1]}
        return accepted

    def damage(self, state, left):
        """What is neither old nor new; what is neither goes to `left` instead where that is given."""
        found, odd = [], []
        for path in sorted(state.keys() | self.old.keys() | self.new.keys()):
            versions = [self.same(path, version[path]) for version in (self.old, self.new) if path in version]
            if path not in state:
                if path in self.old and path in self.new:
                    found.append(f"{path} is gone")
            elif not versions and left is not None:
                left.append(path)
            elif not versions:
                odd.append((path, "is left"))
            elif path in self.told and is_whole(path, state[path][1]):
                continue
            elif self.same(path, state[path]) not in versions:
                odd.append((path, "is neither the old nor the new one"))
        accepted = self.as_they_were(state) if odd else ()
        return found + [f"{path} {what}" for path, what in odd if path not in accepted]

    def difference_to_new(self, state, accepted=()):
        left = sorted(state.keys() - self.new.keys() - set(accepted))
        found = [f"left: {path}" for path in left if not any(path.startswith(f"{other}/") for other in left)]
        found += [f"missing: {path}" for path in sorted(self.new.keys() - state.keys())]
        found += [f"{path} differs" for path in sorted(state.keys() & self.new.keys())
                  if self.same(path, state[path]) != self.same(path, self.new[path])]
        return found

    def refusals(self, state):
        """What readers say of files that are there. They run in a copy, so that they change nothing."""
        key = sandbox.digest(repr(sorted((path, self.same(path, entry)) for path, entry in state.items())).encode())
        if key not in self.read:
            kept = self.sandbox.root.with_name("during")
            self.sandbox.root.rename(kept)
            shutil.copytree(kept, self.sandbox.root, symlinks=True)
            self.read[key] = list(self.refused())
            shutil.rmtree(self.sandbox.root)
            kept.rename(self.sandbox.root)
        return self.read[key]

    def refused(self):
        for subject, words in self.command.readers:
            if not (self.sandbox.work / subject).exists():
                continue
            done = self.run_alone(words)
            if done.returncode != 0:
                yield f"`{words}` exits with {done.returncode}: {done.stderr.strip()[:300]}"

    def finding(self, kind, ended, found, **fault):
        """In a list; none if nothing was found."""
        struck = ended.struck or {}
        place = pathlib.Path(struck.get("path") or "").name
        more = "".join(f" {name}" for name, given in fault.items() if given)
        fault = f"{kind}{more} at {struck.get('at')}: {struck.get('program')} {struck.get('call')} {place}"
        return [Finding(self.name, fault, "; ".join(found))] if found else []

    def kill(self, at, caller=False):
        """The finding for a run that is killed before its call number `at`."""
        self.sandbox.put_back()
        ended = self.trace(at=at, caller=caller)
        state = self.sandbox.contents()
        left = []
        found = self.damage(state, left)
        # A process that lost its child goes on, and the models that it could not do are written as they were.
        accepted = self.as_they_were(state) if caller and left else ()
        if ended.outlived:
            found.append(f"alive after the command: {ended.outlived}")
        if ended.timed_out:
            found.append("no end")
        found += [each for each in self.refusals(state) if each not in self.refused_before]
        after = self.run_alone(self.command.words)
        if after.returncode != self.command.exit:
            found.append(f"the next run exits with {after.returncode}: {after.stderr.strip()[:300]}")
        difference = self.difference_to_new(self.sandbox.contents(), accepted)
        found += ["after the next run " + ", ".join(difference)] * bool(difference)
        return self.finding("kill", ended, found, caller=caller)

    def fail(self, kind, at, stays=False):
        """The finding for a run in which call number `at` fails."""
        self.sandbox.put_back()
        ended = self.trace(points=kind, at=at, stays=stays)
        state = self.sandbox.contents()
        left = []
        found = self.damage(state, left if self.cannot_remove(kind, ended, stays) else None)
        if ended.outlived:
            found.append(f"alive after the command: {ended.outlived}")
        if ended.exit == self.command.exit and not ended.timed_out:
            may_be_missing = (*KEPT_FOR_LATER, *(f"{sandbox.WORK}/{name}" for name in self.command.optional))
            found += [f"exit {ended.exit}, but {each}" for each in self.difference_to_new(state)
                      if not each.removeprefix("missing: ").startswith(may_be_missing) and not each.startswith("left")]
        elif ended.timed_out or ended.signal or ended.exit not in (2, 3, 4):
            found.append(f"{ended.how}: {ended.error.strip()[:300]}")
        elif not ended.error.strip():
            found.append(f"{ended.how} and no word")
        if "internal" in ended.error:
            found.append(f"told as a fault of the program: {ended.error.strip()[:300]}")
        if left:
            self.run_alone(self.command.words)
            found += [f"after the next run {path} is left" for path in left if (self.sandbox.root / path).exists()]
        return self.finding(kind, ended, found, stays=stays)

    def cannot_remove(self, kind, ended, stays):
        """Whether the fault struck what removes things: then they stay until the next run. To empty a folder takes a
        descriptor."""
        struck = ended.struck or {"call": "", "path": ""}
        return struck["call"] in REMOVING or kind == "EMFILE" and (stays or pathlib.Path(struck["path"]).is_dir())

    @property
    def name(self):
        return self.command.name + (" over an older result" if self.replaces else "")


def sampled(points, most):
    """Up to so many of 1, ..., points, evenly, the first and the last among them."""
    if points <= most:
        return list(range(1, points + 1))
    return sorted({1 + round(i * (points - 1) / (most - 1)) for i in range(most)})
