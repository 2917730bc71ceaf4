#!/usr/bin/env python3
"""Altered certificates, explanations, records, axioms and rules, each of which has to be refused.

    bench/proofs mutants [--build build/release] [--each N] [--only KIND...]

  certificates  damage/certificate_mutants.py on all of rules/, N of each class and certificate, asked of lemma-check
                and of lemma_check.py
  explanations  of small models: steps left out, and numbers of steps, digests and outputs changed; lemma-check
  records       of axioms and rules: every field of every record of a small database changed or left out; loading
  axioms        changes of right sides: an index proof only where exact evaluation agrees
  rules         the same, conditions dropped, outputs exchanged: no proof from the axioms without an index proof

Prints a line for each kind. The exit code is 4 if an altered one is accepted.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter()

KINDS = ["certificates", "explanations", "records", "axioms", "rules"]


def run(*command, **more):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT, check=False, **more)


def certificates(options, _):
    done = run(ROOT / "damage" / "certificate_mutants.py", "--checker", options.build / "bin" / "lemma-check",
               "--each", options.each)
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    count, first, second = re.search(r"(\d+) mutants of .*accepts (\d+), lemma_check.py (\d+)", done.stdout).groups()
    # Another exit code than 0 without one accepted: a class has no mutants.
    return int(count), max(int(first) + int(second), int(done.returncode != 0))


# ---- Explanations --------------------------------------------------------------------------------

MODELS = ["examples/two_layer.onnx"]


def other_digit(digit):
    return "8" if digit == "9" else str(int(digit) + 1)


def altered_explanations(text):
    """Texts that explain nothing: what they change is read by the checker."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        def with_line(*new, at=i):
            return "\n".join([*lines[:at], *new, *lines[at + 1:]])
        if line.startswith("step "):
            yield with_line()
            for at, letter in enumerate(line):
                if letter.isdigit() and at > line.index(": "):
                    yield with_line(line[:at] + other_digit(letter) + line[at + 1:])
            yield with_line(re.sub(" (forward|backward):", " sideways:", line))
        elif line.startswith("rule "):
            yield with_line()
            yield with_line(line[:-1] + ("1" if line[-1] == "0" else "0"))
        elif line.startswith('  output "after '):
            for other in ("0", "99999"):
                yield with_line(re.sub(r"%\d+$", f"%{other}", line))
            yield with_line()
        elif line in ("lemma explanation 2", "end"):
            yield with_line()
            yield with_line(line, line)


def explanations(options, folder):
    models = [ROOT / name for name in MODELS] + options.models
    files, count = [], 0
    for model in models:
        file = folder / f"{model.stem}.explanation"
        done = run(options.build / "bin" / "lemma", "optimize", model, "-o", folder / "result.onnx", "--explain", file)
        if done.returncode != 0:
            sys.exit(f"{model}: {done.stderr}")
        text = file.read_text()
        for mutant in dict.fromkeys(altered_explanations(text)):
            if mutant == text:
                continue
            files.append(folder / f"mutant{count}.explanation")
            files[-1].write_text(mutant)
            count += 1
    unaltered = [folder / f"{model.stem}.explanation" for model in models]
    if run(options.build / "bin" / "lemma-check", ROOT / "rules" / "substitutions", *unaltered).returncode != 0:
        sys.exit("an explanation does not hold as it was written")
    accepted = 0
    for start in range(0, len(files), 2000):
        part = files[start:start + 2000]
        done = run(options.build / "bin" / "lemma-check", ROOT / "rules" / "substitutions", *part)
        refused = set(re.findall(r"/(mutant\d+)\.explanation: ", done.stderr))
        for file in part:
            if file.stem not in refused:
                accepted += 1
                shutil.copy(file, tempfile.gettempdir())
                print(f"accepted: {Path(tempfile.gettempdir(), file.name)}", file=sys.stderr)
    return count, accepted


# ---- Records -------------------------------------------------------------------------------------

CLAIMS = {
    "axioms/some.axioms": ["add_commutes", "mul_commutes", "add_associates"],
    "substitutions/some.rules": [
        "rule reverse_sum\n  x : [A..]\n  y : [A..]\n  z : [A..]\n"
        "  Add(Add(x, y), z) = Add(z, Add(y, x))\n",
        "rule reverse_product\n  x : [A..]\n  y : [A..]\n  Mul(x, y) = Mul(y, x)\n"],
}


def axiom_texts(names):
    texts = {}
    for file in sorted((ROOT / "rules" / "axioms").glob("*.axioms")):
        for block in re.split(r"(?m)^(?=axiom )", file.read_text())[1:]:
            kept = [line for line in block.split("\n") if line and not line.lstrip().startswith("#")]
            texts[kept[0].split()[1]] = "\n".join(kept) + "\n"
    return [texts[name] for name in names]


def small_database(options, folder):
    for name, claims in CLAIMS.items():
        file = folder / name
        file.parent.mkdir(parents=True)
        file.write_text("\n".join(axiom_texts(claims) if "axioms" in name else claims))
    shutil.copy(ROOT / "rules" / "axioms.rounding", folder)
    for mode in (["--axioms"], []):
        done = run(options.build / "bin" / "lemma", "rules", "verify", *mode, "--rules", folder, "--write")
        if done.returncode != 0:
            sys.exit(f"the small database: {done.stdout}{done.stderr}")


def altered_records(line):
    """Every field left out, and every letter of its value changed."""
    name, *fields = line.split(" ")
    yield ""
    yield " ".join([name + "_", *fields])
    for i, field in enumerate(fields):
        key, value = field.split("=", 1)
        yield " ".join([name, *fields[:i], *fields[i + 1:]])
        yield " ".join([name, *fields[:i], field, field, *fields[i + 1:]])
        for at, letter in enumerate(value):
            new = other_digit(letter) if letter.isdigit() else "b" if letter == "a" else "a"
            yield " ".join([name, *fields[:i], f"{key}={value[:at]}{new}{value[at + 1:]}", *fields[i + 1:]])


def records(options, folder):
    rules = folder / "rules"
    small_database(options, rules)
    lemma = options.build / "bin" / "lemma"
    if run(lemma, "rules", "list", "--rules", rules).returncode != 0:
        sys.exit("the small database is not loaded")
    count = accepted = 0
    for file in sorted(rules.glob("*.proofs")):
        lines = file.read_text().split("\n")
        for i, line in enumerate(lines):
            if not line or line.startswith("#"):
                continue
            for mutant in dict.fromkeys(altered_records(line)):
                file.write_text("\n".join([*lines[:i], *([mutant] if mutant else []), *lines[i + 1:]]))
                count += 1
                if run(lemma, "rules", "list", "--rules", rules).returncode == 0:
                    accepted += 1
                    print(f"accepted: {file.name}: {mutant}", file=sys.stderr)
        file.write_text("\n".join(lines))
    return count, accepted


# ---- Axioms and rules: the tests do it, of every mutant -------------------------------------------


def by_test(options, name):
    done = run(options.build / "tests" / "bin" / name, env={**os.environ, "LEMMA_ALL_MUTANTS": "1"})
    count = re.search(r"(\d+) mutants, (\d+) refuted, (\d+) true", done.stdout)
    if not count:
        sys.exit(done.stdout + done.stderr)
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
    print(count.group(0))
    return int(count.group(1)), max(done.stdout.count("Failure"), int(done.returncode != 0))


def axioms(options, _):
    return by_test(options, "verifier_index_mutants_test")


def rules(options, _):
    return by_test(options, "verifier_rule_mutants_test")


def main():
    parser = argparse.ArgumentParser(prog="bench/proofs mutants",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=lambda name: Path(name).resolve(), default=ROOT / "build" / "release")
    parser.add_argument("--each", type=int, default=1, help="altered certificates of a class and certificate")
    parser.add_argument("--models", type=lambda name: Path(name).resolve(), nargs="*", default=[],
                        help="models to explain, beside the example")
    parser.add_argument("--only", nargs="*", default=KINDS, choices=KINDS)
    options = parser.parse_args()
    total = faults = 0
    for kind in options.only:
        with tempfile.TemporaryDirectory(prefix="lemma-mutants-") as folder:
            count, accepted = globals()[kind](options, Path(folder))
        print(f"{kind}: {count} mutants, {accepted} accepted wrongly", flush=True)
        total, faults = total + count, faults + accepted
    print(f"together: {total} mutants, {faults} accepted wrongly")
    return 4 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
