#!/usr/bin/env python3
"""reference_filter.py FILE: a header as doxygen reads it. The comment at its beginning is that of the file, and a comment behind
a declaration, with the lines below that go on with it, is that of the declaration: of what a line opens with {, and of each
of the variables that it declares."""

import re
import sys

BEHIND = re.compile(r"^(?P<code>\s*[^\s/].*?[;,{})>\w\]\"])(?P<gap>\s+)//(?!/)(?P<text>.*)$")
GOES_ON = re.compile(r"^\s*//(?!/)(?P<text>.*)$")
TOPIC = re.compile(r"^\s*// ----")
# What doxygen would take a comment behind for: the first member, or the last enumerator.
OPENS = re.compile(r"\{$|^\s*enum\b.*\};$")
# Two variables or more of one type, with or without initial values; not a parameter list, nor the last line of one.
VARIABLE = r"\w+(?: = [^,;()]+)?"
VARIABLES = re.compile(rf"^(?P<type>\s*(?!return\b|using\b)[\w:<>*&, ]*[\w>*&] ){VARIABLE}(?:, {VARIABLE})+;$")
COMMENT = re.compile(r"^(.*?)(///|/\*\*|$)(.*)$", re.DOTALL)
ABOVE = re.compile(r"^\s*///(?!<) ?(?P<text>.*)$")


def filtered(lines):
    """The first comment that does not stand behind code is that of the file."""
    result, above = [], []  # above: the comment that ends on the line before
    is_beginning, goes_on = True, False  # where the comment of the file may begin, or go on
    moved = None  # of a declaration whose comment does not stay where it is: its line, code and comment
    for line in lines:
        behind, alone = BEHIND.match(line), GOES_ON.match(line)
        if is_beginning and alone:
            result.append(("/// \\file\n/// " if not any(r.startswith("/// \\file") for r in result) else "/// ") + alone["text"].strip())
        elif behind and not line.lstrip().startswith("#"):
            is_beginning, goes_on = False, True
            text = behind["text"].strip()
            moved = (len(result), behind["code"], [text]) if moves(behind["code"]) else None
            result.append(with_comment(behind["code"], text) if moved else f"{behind['code']}{behind['gap']}///< {text}")
        elif goes_on and alone and moved and not TOPIC.match(line):
            number, code, texts = moved
            texts.append(alone["text"].strip())
            result[number] = with_comment(code, " ".join(texts))
            result.append(line)
        elif goes_on and alone and not TOPIC.match(line):
            result.append(f"///< {alone['text'].strip()}")
        else:
            has_begun = any(each.startswith("/// \\file") for each in result)
            is_beginning = is_beginning and not has_begun and (not line.strip() or line.startswith("#pragma"))
            goes_on = False
            result.append(with_comment(line, " ".join(above)) if above and VARIABLES.match(line) else line)
        text = ABOVE.match(line)
        above = [*above, text["text"].strip()] if text else []
    return [without_links(line) for line in result]


def moves(code):
    """Whether doxygen would take a comment behind the code for that of something else."""
    return bool(OPENS.search(code) or VARIABLES.match(code))


def with_comment(code, text):
    """The code with the comment where doxygen wants it, on the same line: before it, or behind each variable."""
    variables = VARIABLES.match(code)
    if not variables:
        return f"/** {text} */ {code}"
    kind = variables["type"]
    names = code[len(kind):].rstrip(";").split(", ")
    return kind + f" {kind.strip()} ".join(f"{name};  /**< {text} */" for name in names)


def without_links(line):
    """A # in a comment, as in `both#0`, is no link to a member."""
    code, slashes, text = COMMENT.match(line).groups()
    return code + slashes + re.sub(r"(?<!\\)#(?=\w)", r"\\#", text)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(filtered(file.read().splitlines())))


if __name__ == "__main__":
    main()
