"""Records of index proofs of axioms (docs/rules.md, "Records"): lines

    AXIOM sha256=HEX text=HEX cases=N version=V

in the file axioms.proofs beside the folder of axioms. Of a record this checker can compute `text`, the
SHA-256 of the canonical text. What operators mean at all ranks is covered by `sha256`, which lemma-check
and loading compare."""

import hashlib
import pathlib
import re

from second_checker.sizes import demand, Refused

HEX = "[0-9a-f]{64}"
LINE = re.compile(rf"(\S+) sha256={HEX} text=({HEX}) cases=([1-9]\d*) version=([1-9]\d*)")


def read_records(file):
    """(digest of the text, version) by the name of the axiom."""
    records = {}
    for i, line in enumerate(file.read_bytes().decode("utf-8").split("\n")):
        if not line or line.startswith("#"):
            continue
        found = LINE.fullmatch(line)
        demand(found, f"'{file}', line {i + 1}: this is no record of an axiom")
        demand(found[1] not in records, f"'{file}' has two records of '{found[1]}'")
        records[found[1]] = (found[2], int(found[4]))
    return records


def axioms_with_records(folder, texts):
    """Why an axiom has no record that fits, by name; None for those that have one. Records of an older
    version than others in the file do not count."""
    file = pathlib.Path(folder).resolve().parent / "axioms.proofs"
    try:
        records = read_records(file) if file.exists() else {}
    except UnicodeDecodeError:
        raise Refused(f"'{file}' is not UTF-8") from None
    newest = max((version for _, version in records.values()), default=0)
    reasons = {}
    for name, text in texts.items():
        digest, version = records.get(name, (None, None))
        fits = digest == hashlib.sha256(text.encode()).hexdigest()
        reasons[name] = ("has no proof record" if digest is None else
                         "has a proof record of another text" if not fits else
                         "has a proof record of an older version" if version != newest else None)
    return reasons
