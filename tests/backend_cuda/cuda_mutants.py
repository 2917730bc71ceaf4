"""Changes of emitted CUDA source in one place each, and whether the tests on a processor find them."""

import random
import re
import shutil

import host_program

KERNELS, PROGRAM, RUN_TIME, SCHEDULE = "kernels.cuh", "persistent.cuh", "run_time.cuh", "schedule.cuh"
TILES = "tiled_products.cuh"


def table(name):
    """A pattern for a table of the schedule."""
    return re.compile(r" %s\[\] = \{[^;]*" % name)


def plain(kind, file, pattern, replacement):
    return kind, file, re.compile(pattern), replacement


KINDS = [
    plain("barrier of the block dropped", PROGRAM, r"__syncthreads\(\);", ""),
    plain("barrier of the block dropped", KERNELS, r"__syncthreads\(\);", ""),
    plain("barrier of the block moved", KERNELS, r"__syncthreads\(\);\n( *phase_[^;]*;)", r"\1\n  __syncthreads();"),
    plain("barrier of a warp dropped", KERNELS, r"__syncwarp\(\);", ""),
    plain("release dropped", PROGRAM, r"ptx::add_release", "ptx::add_relaxed"),
    plain("acquire dropped", RUN_TIME, r"ptx::load_acquire", "ptx::load_relaxed"),
    plain("runs not counted", PROGRAM, r"earlier_runs \+ 1", "earlier_runs"),
    plain("slot moved", KERNELS, r"slots \+ (\d\d+)", lambda match: f"slots + {int(match[1]) - 16}"),
    plain("slots of warps overlap", KERNELS, r"warp_size \* (\d+);", lambda match: f"warp_size * {int(match[1]) // 2};"),
    plain("index of a store shifted", KERNELS, r"\by\[([^\]]+)\] =", r"y[\1 + 1] ="),
    plain("index of a read shifted", KERNELS, r"(\bx\d+)\[([^\]]+)\]", r"\1[\2 + 1]"),
    plain("last element left out", KERNELS, r"element < count;", "element + 1 < count;"),
    plain("threads take too few elements", KERNELS, r"element \+= threads\.count", "element += 2 * threads.count"),
    plain("threads take the same elements", KERNELS, r"element = threads\.rank;", "element = threads.rank / 2;"),
    plain("groups left out", KERNELS, r"element \+= (\d) \* threads\.count", r"element += 2 * \1 * threads.count"),
    plain("groups computed by others", KERNELS, r"own = element \+ group \* threads\.count", "own = element + group"),
    plain("neighbours read elsewhere", KERNELS, r"load_together<(\d+)>\((x\d+) \+", r"load_together<\1>(\2 + \1 +"),
    plain("neighbours stored elsewhere", KERNELS, r"store_together\(y \+ ", "store_together(y + 4 + "),
    plain("neighbours exchanged", KERNELS, r"\.at\[neighbour\]\}", ".at[neighbour ^ 1]}"),
    plain("terms left out", KERNELS, r"\+= lanes\)", "+= 2 * lanes)"),
    plain("all lanes store", KERNELS, r"if \(threads\.rank % lanes == 0\) ", ""),
    plain("lanes not put together", KERNELS, r" = across_lanes<lanes>\(t(\d+),", r" = across_lanes<lanes>(t\1 * 2,"),
    plain("half of the lanes put together", KERNELS, r"across_lanes<lanes>", "across_lanes<lanes / 2>"),
    plain("lanes of other elements put together", KERNELS, r"across_lanes<lanes>", "across_lanes<warp_size>"),
    plain("guard turned round", KERNELS, r"if \((t\d+) != 0\)", r"if (\1 == 0)"),
    plain("barrier of tiles dropped", TILES, r"__syncthreads\(\);", ""),
    plain("wait for copies dropped", TILES, r"ptx::wait_for_copies<stages - 2>\(\);", ""),
    plain("wait for an older copy", TILES, r"wait_for_copies<stages - 2>", "wait_for_copies<stages - 1>"),
    plain("copies not committed", TILES, r"ptx::commit_copies\(\);", ""),
    plain("tiles brought too early", TILES, r"(__syncthreads\(\);)[^\n]*\n *(bring\(step \+ stages - 1\);)", r"\2 \1"),
    plain("terms beyond the last", TILES, r"of_line != outside && term < end_term", "of_line != outside"),
    plain("tile of results left out", TILES, r"first_row \+= row_count", "first_row += 2 * row_count"),
    plain("kept weights not copied", PROGRAM, r"if constexpr \(keeps_weights\) copy_residents\([^;]*;", ""),
    plain("kept weights not waited for", RUN_TIME, r"if \(first < end\) ptx::wait_for_copies<0>\(\);", ""),
    plain("last of kept weights left out", RUN_TIME, r"count = part\.rows \* in_row;", "count = part.rows * in_row - 1;"),
    plain("rows of kept weights moved", RUN_TIME, r"row \* part\.to_stride", "row * part.row_bytes"),
    plain("kept weights not read", RUN_TIME, r"if \(read\.argument % threads\.count == threads\.rank\)", "if (threads.count == 0)"),
    plain("first of a part shifted", KERNELS, r"(first\d) = (part[^;]*);", r"\1 = \2 + 1;"),
]
WITHOUT_EFFECT_ALONE = ("release dropped", "acquire dropped", "runs not counted")  # where no block waits for another
ENTRY = re.compile(r"\{(\d+), (\d+)\}")
STEP = re.compile(r"\{(\d+), (\d+), (\d+), (\d+), (\d+), (\d+)\}")


def keeps_weights(schedule):
    """Whether blocks keep weights in shared memory, by the text of the schedule."""
    return "keeps_weights = true" in schedule


def sites(directory):
    """(kind, file, begin, end, new text) for each change of the source in a directory."""
    texts = {file: (directory / file).read_text() for file in (KERNELS, PROGRAM, RUN_TIME, SCHEDULE, TILES)}
    found = []
    for kind, file, pattern, replacement in KINDS:
        if file == TILES and "sum_products<" not in texts[KERNELS]:
            continue
        if "kept weights" in kind and not keeps_weights(texts[SCHEDULE]):
            continue
        for match in pattern.finditer(texts[file]):
            new = replacement(match) if callable(replacement) else match.expand(replacement)
            found.append((kind, file, match.start(), match.end(), new))
    schedule = texts[SCHEDULE]
    if not any(match[4] != "0" for match in STEP.finditer(schedule, *table("steps").search(schedule).span())):
        found = [site for site in found if site[0] not in WITHOUT_EFFECT_ALONE]
    waits, steps = table("waits").search(schedule), table("steps").search(schedule)
    for match in ENTRY.finditer(schedule, waits.start(), waits.end()):
        if match[2] != "0":
            found.append(("wait for one task less", SCHEDULE, match.start(), match.end(),
                          f"{{{match[1]}, {int(match[2]) - 1}}}"))
    if keeps_weights(schedule):
        reads = table("resident_reads").search(schedule)
        for match in ENTRY.finditer(schedule, reads.start(), reads.end()):
            found.append(("kept weights read elsewhere", SCHEDULE, match.start(), match.end(),
                          f"{{{match[1]}, {int(match[2]) + 4}}}"))
    for match in STEP.finditer(schedule, steps.start(), steps.end()):
        fields = list(match.groups())
        if fields[3] != "0":
            found.append(("waits of a step dropped", SCHEDULE, match.start(), match.end(),
                          "{%s, %s, %s, 0, %s, %s}" % (*fields[:3], *fields[4:])))
        if fields[5] != "0":  # the last of several
            found.append(("signal dropped", SCHEDULE, match.start(), match.end(),
                          "{%s, %s, %s, %s, %s, %d}" % (*fields[:5], int(fields[5]) - 1)))
    return found


def choose(directories, count, seed, sites_of=None):
    """As many of each kind as there can be, in a fixed order: (directory, site) pairs. `sites_of`: in place of `sites`."""
    by_kind = {}
    for directory in directories:
        for site in (sites_of or sites)(directory):
            by_kind.setdefault(site[0], []).append((directory, site))
    chooser = random.Random(seed)
    for each in by_kind.values():
        chooser.shuffle(each)
    chosen = []
    while len(chosen) < count and any(by_kind.values()):
        for each in by_kind.values():
            if each and len(chosen) < count:
                chosen.append(each.pop())
    return chosen


def outcome(host, directory, site, folder):
    """How a change is found: "race", "wrong", "waits for ever", "crash" or "does not compile"; None if it is not."""
    kind, file, begin, end, new = site
    shutil.copytree(directory, folder)
    text = (folder / file).read_text()
    (folder / file).write_text(text[:begin] + new + text[end:])
    try:
        failure = host.build(folder, "sample")
        if failure:
            return "does not compile"
        code, output = host.check(folder, *host_program.MORE_ORDERS)
        if code == 2 and " waits in its step " in output:  # the program has noticed it
            return "waits for ever"
        if code != 0:
            return {1: "wrong", 3: "waits for ever", 66: "race", 124: "waits for ever"}.get(code, "crash")
        return None
    finally:
        shutil.rmtree(folder)


def description(directory, site):
    """The place of a change, in one line."""
    kind, file, begin, end, new = site
    text = (directory / file).read_text()
    line = text.count("\n", 0, begin) + 1
    return f"{directory.name}/{file}:{line}: {kind}: {' '.join(text[begin:end].split())[:80]}"
