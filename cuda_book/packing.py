"""Files of the run book, packed: each by itself, or all of a model that are alike as one archive. Contents decide the bytes."""

import lzma
import shutil
import tarfile

# All of a model's programs lie within the 64 MiB that are searched for what was there before.
TOGETHER = [{"id": lzma.FILTER_LZMA2, "preset": 9}]
LARGE = 1 << 24  # bytes of weights, which repeat: little effort packs them


def written(target, fill):
    """target.xz, which appears whole or not at all; `fill` writes the file that it is given."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    fill(partial)
    partial.rename(target.with_name(target.name + ".xz"))


def pack(source, target):
    preset = 6 if source.stat().st_size < LARGE else 3

    def fill(partial):
        with source.open("rb") as file, lzma.open(partial, "wb", preset=preset) as packed:
            shutil.copyfileobj(file, packed, 1 << 20)

    written(target, fill)


def add(archive, source, name):
    """Without what differs from one call to the next: times and owners."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = source.stat().st_size, source.stat().st_mode & 0o777
    with source.open("rb") as contents:
        archive.addfile(member, contents)


def pack_together(files, target):
    """One archive of (name, file) pairs. What several files have in common is packed once."""
    def fill(partial):
        with lzma.open(partial, "wb", filters=TOGETHER) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            for name, source in files:
                add(archive, source, name)

    written(target, fill)
