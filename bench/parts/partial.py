#!/usr/bin/env python3
"""Partial equivalence: what the operator set `partial` finds by enumeration and what is written by hand, the proofs of
each rule, the regions of candidates that agree in part, and how wrong regions and corrections are refused.

    bench/proofs partial [--build build/release] [--wrong [N]] [--keep FOLDER] [--result FILE]

With --wrong also all wrong claims of tests/partial/wrong_claims.h and all mutants of the rules, which takes long; with
--wrong N every N-th of them.

Exit code: 0 all rules are proved and no wrong claim is, 4 otherwise.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import results

DENSE = r"Conv\{dilations=\[1(, 1)?\]"
# What is looked for, what all has to stand in one candidate, and the rule that says it for more sizes. An empty list of
# patterns: no compound of the set can make it.
WANTED = [
    ("images to width, gap", [r"Pad\{[^}]*pads=\[0, 0, 0, 0, 0, 0, 0, [a-z]", r"perm=\[2, 0, 1, 3\]", r"Conv"],
     "images_beside_each_other_along_width"),
    ("images to height, gap", [r"Pad\{[^}]*pads=\[0, 0, 0, 0, 0, 0, [a-z]\w*( \+ 1)?, 0\]", r"perm=\[1, 0, 2, 3\]", r"\(x, v\)"],
     "images_beside_each_other_along_height"),
    ("sequences to length, gap", [r"Pad\{[^}]*pads=\[0, 0, 0, 0, 0, [a-z]", r"perm=\[1, 0, 2\]", r"Conv"],
     "sequences_beside_each_other"),
    ("dilated to dense, one axis", [r"dilations=\[[a-z]\w*( \+ 1)?\][^(]*\(u, s\)", r"perm=\[3, 0, 1, 2\]", DENSE],
     "dilated_conv_of_sequence_as_dense"),
    ("dilated to dense, two axes", [r"dilations=\[[a-z]\w*( \+ 1)?, [a-z]", r"perm=\[3, 5, 0, 1, 2, 4\]", DENSE],
     "dilated_conv_as_dense"),
    ("tiles of rows with margin", [r"pads=\[0, 0, 1, 0, 0, 0, 1, 0\]", r"Concat\{axis=0\}\(Slice", r"pads=\[0, 1, 0, 1\].*k\)$"],
     "two_tiles_of_rows_as_batch"),
    ("strided pointwise to slice", [r"strides=\[2, 3\]", r"steps="], "strided_pointwise_conv_of_picked"),
    ("pointwise kernel padded", [r"pads=\[0, 0, 1, 1, 0, 0, 1, 1\]", r"pads=\[0, 0, 0, 0\]", r"pads=\[1, 1, 1, 1\]"],
     "unequal_kernels_padded"),
    ("two groups as one", [r"group=2", r"group=1", r"Slice\{axes=\[0\]", r"Concat"], "two_groups_as_dense"),
    ("groups with one kernel as batch", [r"group=[a-z]", r"Expand\{"], "groups_with_one_kernel_as_batch"),
    ("tail of channels cut off", [r"Slice\{axes=\[1\]", r"pads=\[0, 0, 0, 0, \w+( \+ 1)?, 0, 0, 0\]", r"Conv"],
     "channels_padded_and_cut"),
    ("1xk then kx1 merged", [r"r : \[.*, 1, 3\]", r"t : \[.*, 3, 1\]", r"perm=\[0, 2, 1, 3\]", r"Conv\{[^}]*\}\(Conv"], "rows_and_columns_merged"),
    ("stride to depth", [r"strides=\[[a-z]\w*( \+ 1)?\]", r"perm=\[0, 1, 3, 2\]"], "strided_conv_of_sequence_as_conv_of_depth"),
    ("pointwise as matrix product", [r"MatMul\(", r"Conv\{"], "pointwise_conv_as_matmul"),
    ("parts of rows with margin", [], "part_of_rows_of_conv"),
    ("parts of columns with margin", [], "part_of_columns_of_conv"),
    ("tiles of rows, any number", [], "tiles_of_rows_as_batch"),
    ("tiles of columns, any number", [], "tiles_of_columns_as_batch"),
    ("4x4 stride to blocks (ConvTranspose 2x2)", [], "conv_transpose_of_blocks_as_pointwise"),
    ("map at the borders (addition)", [], "bias_before_padded_conv_as_map"),
    ("center and border of a kernel", [], "kernel_as_center_and_border"),
    ("gap filled again", [], "gap_of_images_made_again"),
    ("5x5 as four of 3x3", [], "kernel_of_five_as_tiles_of_three"),
    ("convolution as product with offset-add", [], "conv_as_product_with_offset_add"),
    ("ConvTranspose 4x4, stride 2, as phases", [], "conv_transpose_of_four_as_conv_of_phases"),
    ("band of a product with a step, dense", [], "band_of_product_with_step"),
    ("band with a step times a matrix, dense", [], "band_with_step_times_matrix"),
    ("three axes as frames of two", [], "conv_of_volumes_as_convs_of_frames"),
    ("batch to space and back", [r"=> x$", r"perm=\[2, 3, 4, 0, 5, 1\]"], "batch_to_space_and_back"),
]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/proofs partial",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=lambda name: Path(name).resolve(), default=results.ROOT / "build" / "release")
    parser.add_argument("--wrong", type=int, nargs="?", const=1, metavar="N", help="also all wrong regions and corrections, or every N-th")
    parser.add_argument("--keep", type=Path, help="keep what the commands write there")
    results.add_option(parser)
    return parser.parse_args()


def lemma(options, *words):
    """Runs the program; the seconds that it takes, and what it prints."""
    begin = time.monotonic()
    done = subprocess.run([options.build / "bin" / "lemma", "rules", *map(str, words)], capture_output=True, text=True, cwd=results.ROOT,
                          check=False)
    if done.returncode not in (0, 3, 4):
        sys.exit(f"lemma rules {words[0]}: {done.stderr[-2000:]}")
    return time.monotonic() - begin, done.stdout


def rules_of(file):
    """Rules by name, as text."""
    return {name: f"rule {name}\n{body}" for name, body in
            re.findall(r"^rule (\w+)\n((?:  .*\n)+)", file.read_text(), re.MULTILINE)}


def verdicts(options, folder, file):
    """What the provers say of each rule of a file."""
    answers = folder / f"{file.stem}.verdicts"
    lemma(options, "verify", file, "--verdicts", answers)
    said = [json.loads(line) for line in answers.read_text().splitlines()]
    return dict(zip(rules_of(file), said, strict=True))


def proofs_in_words(verdict):
    if verdict["verdict"] != "proved":
        return verdict["verdict"]
    proofs = set(filter(None, verdict.get("proofs", "").split(",")))
    return {2: "both", 1: f"{next(iter(proofs), 'none')} only"}.get(len(proofs), "none")


def in_each_direction(rule):
    """The rule, and what an equation says from left to right and from right to left. What it needs to be true, such as sizes that
    are not 0, is looked for in one direction only."""
    *head, claim = rule.rstrip("\n").split("\n")
    sides = claim.strip().split(" = ")
    if len(sides) != 2:
        return [rule]
    name = head[0].removeprefix("rule ")
    return [rule, *("\n".join([f"rule {name}_{which}", *head[1:], f"  {a} => {b}", ""])
                    for which, (a, b) in (("forward", sides), ("backward", sides[::-1])))]


def best_of(verdicts_of_forms):
    """What is proved in the best form of a rule. One that holds only for equal sizes comes after those that hold for all."""
    order = ("both", "index only", "certificate only", "none", "unknown", "refuted")
    best = min(verdicts_of_forms, key=lambda verdict: ("==" in verdict["condition"], order.index(proofs_in_words(verdict)))
               if verdict["verdict"] == "proved" else (True, len(order)))
    words = proofs_in_words(best)
    return f"{words}, where {best['condition']}" if "==" in best["condition"] else words


def first_match(patterns, rules):
    """The shortest rule with all of the patterns."""
    fits = [name for name, text in rules.items()
            if patterns and all(re.search(pattern, text, re.MULTILINE) for pattern in patterns)]
    return min(fits, key=lambda name: len(rules[name]), default=None)


def table(options, folder):
    candidates, regions, record = (folder / name for name in ("partial.rules", "regions.rules", "regions.json"))
    seconds, _ = lemma(options, "generate", "--set", "partial", "-o", candidates)
    found = rules_of(candidates)
    names = [first_match(patterns, found) for _, patterns, _ in WANTED]
    matched = folder / "matched.rules"
    matched.write_text("\n".join(form for name in sorted(set(filter(None, names))) for form in in_each_direction(found[name])))
    forms = verdicts(options, folder, matched)
    shipped_file = results.ROOT / "rules" / "substitutions" / "partial.rules"
    shipped = verdicts(options, folder, shipped_file)
    rows = []
    for (what, _, by_hand), name in zip(WANTED, names, strict=True):
        rows.append([what, "found" if name else "by hand", round(seconds, 1) if name else None,
                     best_of(verdict for form, verdict in forms.items() if form in (name, f"{name}_forward", f"{name}_backward"))
                     if name else None, by_hand, proofs_in_words(shipped[by_hand]), "everywhere"])
        print(*rows[-1], sep=", ", flush=True)
    of_all, told = lemma(options, "regions", "--set", "partial", "-o", regions, "--record", record)
    took = {name: float(figure) for name, figure in re.findall(r"^(\w+) in ([\d.]+) s$", told, re.MULTILINE)}
    of_regions = json.loads(record.read_text())
    said = verdicts(options, folder, regions) if of_regions["found"] else {}
    for entry in of_regions["found"]:
        boxes = "; ".join(box["box"] for box in entry["boxes"])
        rows.append([f"{entry['target']}, {entry['operators']} operators, {entry['share']:.2f} of the elements", "found",
                     took[entry["rule"]], proofs_in_words(said[entry["rule"]]), entry["rule"], None, boxes])
        print(*rows[-1], sep=", ", flush=True)
    print(f"enumeration: {seconds:.1f} s, {len(found)} candidates; regions: {of_all:.1f} s, "
          f"{of_regions['partial_terms']} terms that agree in part, {of_regions['rules']} corrected")
    return rows, all(verdict["verdict"] == "proved" for verdict in shipped.values())


def wrong_claims(options):
    environment = os.environ | {"LEMMA_ALL_MUTANTS": str(options.wrong)}
    done = subprocess.run([options.build / "tests" / "bin" / "partial_test", "--gtest_filter=*WrongClaims*"], text=True,
                          capture_output=True, cwd=results.ROOT, env=environment, check=False)
    print(done.stdout[-20000:])
    return done.returncode == 0


def main():
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="lemma-partial-") as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        rows, good = table(options, folder)
    if options.wrong:
        good = wrong_claims(options) and good
    results.update(options.result, rows)
    return 0 if good else 4


if __name__ == "__main__":
    sys.exit(main())
