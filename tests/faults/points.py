#!/usr/bin/env python3
"""Strikes commands with faults at the calls that change files, and looks at what is left.

Each command runs in a folder of its own, once where no result is and once over an older result. It is killed before
each of its calls that change files, with all its processes or the calling one alone, and such calls fail with ENOSPC,
EIO and EMFILE, once or from there on. checks.py says what has to hold. --most limits the calls of each kind that are
struck; they are spread evenly. Prints a line for each command and kind, and each finding.

Exit codes: 0 nothing was found, 4 findings, 77 processes cannot be traced here.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import checks
import commands
import sandbox


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", required=True, type=pathlib.Path)
    parser.add_argument("--tracer", type=pathlib.Path, help="fault_tracer; without it the script says that it cannot run")
    parser.add_argument("--only", nargs="*", default=[command.name for command in commands.COMMANDS], metavar="COMMAND",
                        choices=[command.name for command in commands.COMMANDS])
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS), metavar="KIND",
                        help=f"of {', '.join(KINDS)}")
    parser.add_argument("--most", type=int, default=10**9, help="calls of each command and kind that are struck")
    parser.add_argument("--fresh", action="store_true", help="only where no older result is")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures and findings to this file")
    return parser.parse_args()


# By name, what is counted and what happens.
KINDS = {
    "kill": ("changes", lambda reference, at: reference.kill(at)),
    "kill-one": ("changes", lambda reference, at: reference.kill(at, caller=True)),
    "ENOSPC": ("ENOSPC", lambda reference, at: reference.fail("ENOSPC", at)),
    "ENOSPC-stays": ("ENOSPC", lambda reference, at: reference.fail("ENOSPC", at, stays=True)),
    "EIO": ("EIO", lambda reference, at: reference.fail("EIO", at)),
    "EMFILE": ("EMFILE", lambda reference, at: reference.fail("EMFILE", at)),
    "EMFILE-stays": ("EMFILE", lambda reference, at: reference.fail("EMFILE", at, stays=True)),
}


def strike(reference, kinds, most):
    """Figures for each kind, with the findings."""
    counted = {}
    for kind in kinds:
        points, fault = KINDS[kind]
        if points not in counted:
            counted[points] = reference.points(points)
        begin = time.monotonic()
        findings, tried = [], checks.sampled(counted[points], most)
        for at in tried:
            findings += fault(reference, at)
        print(f"{reference.name}: {kind}: {len(tried)} of {counted[points]} calls, {len(findings)} findings, "
              f"{time.monotonic() - begin:.0f} s", flush=True)
        for finding in findings:
            print(f"  {finding}", flush=True)
        yield {"command": reference.name, "kind": kind, "calls": counted[points], "tried": len(tried),
               "findings": [str(finding) for finding in findings]}


def main():
    options = arguments()
    if options.tracer is None:
        print("there is no fault_tracer for this processor")
        return 77
    figures = []
    try:
        for name in options.only:
            command = commands.command_named(name)
            for replaces in (False, True)[:1 if options.fresh or not command.replaces else 2]:
                with tempfile.TemporaryDirectory(prefix="lemma-faults-") as folder:
                    reference = checks.Reference(command, sandbox.Tracer(options.tracer), options.lemma, folder, replaces)
                    figures += strike(reference, options.kinds, options.most)
    except sandbox.CannotTrace as reason:
        print(reason)
        return 77
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    found = sum(len(each["findings"]) for each in figures)
    print(f"{sum(each['tried'] for each in figures)} faults, {found} findings")
    return 4 if found else 0


if __name__ == "__main__":
    sys.exit(main())
