#!/usr/bin/env python3
"""reference_filter.py FILE: a header as doxygen reads it. The comment at its beginning is that of the file, and a comment behind
a declaration, with the lines below that go on with it, is that of the declaration."""

import re
import sys

BEHIND = re.compile(r"^(?P<code>\s*[^\s/].*?[;,{})>\w\]\"])(?P<gap>\s+)//(?!/)(?P<text>.*)$")
GOES_ON = re.compile(r"^\s*//(?!/)(?P<text>.*)$")
TOPIC = re.compile(r"^\s*// ----")


def filtered(lines):
    """The first comment that does not stand behind code is that of the file."""
    result = []
    is_beginning, goes_on = True, False  # where the comment of the file may begin, or go on
    for line in lines:
        behind, alone = BEHIND.match(line), GOES_ON.match(line)
        if is_beginning and alone:
            result.append(("/// \\file\n/// " if not any(r.startswith("/// \\file") for r in result) else "/// ") + alone["text"].strip())
        elif behind and not line.lstrip().startswith("#"):
            is_beginning, goes_on = False, True
            result.append(f"{behind['code']}{behind['gap']}///< {behind['text'].strip()}")
        elif goes_on and alone and not TOPIC.match(line):
            result.append(f"///< {alone['text'].strip()}")
        else:
            has_begun = any(each.startswith("/// \\file") for each in result)
            is_beginning = is_beginning and not has_begun and (not line.strip() or line.startswith("#pragma"))
            goes_on = False
            result.append(line)
    return [without_links(line) for line in result]


def without_links(line):
    """A # in a comment, as in `both#0`, is no link to a member."""
    code, slashes, text = line.partition("///")
    return code + slashes + re.sub(r"(?<!\\)#(?=\w)", r"\\#", text) if slashes else line


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(filtered(file.read().splitlines())))


if __name__ == "__main__":
    main()
