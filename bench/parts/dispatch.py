"""A command of bench/ that has parts: each is a program of its own in this folder."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(description, parts):
    """Becomes the part that the first argument names. `parts` maps names to (file without .py, what it says)."""
    command = f"bench/{Path(sys.argv[0]).name}"
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    if chosen in parts:
        file = HERE / f"{parts[chosen][0]}.py"
        os.execv(sys.executable, [sys.executable, str(file), *sys.argv[2:]])
    width = max(map(len, parts))
    usage = [f"usage: {command} PART [OPTION...]", "", description.strip(), ""]
    usage += [f"  {name:{width}}  {what}" for name, (_, what) in parts.items()]
    usage += ["", f"`{command} PART --help` lists the options of a part."]
    if chosen in ("-h", "--help"):
        print("\n".join(usage))
        sys.exit(0)
    wrong = f"there is no part '{chosen}'" if chosen else "a part is missing"
    print(f"{command}: {wrong}; it has {', '.join(parts)}", file=sys.stderr)
    sys.exit(2)
