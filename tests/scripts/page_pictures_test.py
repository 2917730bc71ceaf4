#!/usr/bin/env python3
"""scripts/page_pictures says what it lacks; the pictures that documents show are there, as wide as they are said to be
and small."""

import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
SCRIPT = ROOT / "scripts" / "page_pictures"
MOST_BYTES = int(re.search(r"most_bytes=(\d+)", SCRIPT.read_text())[1])


class Pictures(unittest.TestCase):
    def test_without_a_browser_nothing_is_taken(self):
        before = {path.name: path.read_bytes() for path in PICTURES.iterdir()}
        with tempfile.TemporaryDirectory() as folder:
            programs = pathlib.Path(folder)
            for name in ("bash", "dirname"):
                (programs / name).symlink_to(shutil.which(name))
            done = subprocess.run([programs / "bash", SCRIPT], env={"PATH": folder}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 77)
        self.assertIn("there is no browser", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual({path.name: path.read_bytes() for path in PICTURES.iterdir()}, before)

    def test_each_is_there_at_both_widths_light_and_dark(self):
        taken = re.findall(r"^ +take (\w+) ", SCRIPT.read_text(), re.MULTILINE)
        self.assertGreater(len(taken), 2)
        for name in taken:
            for width in (1280, 400):
                for look in ("", "_dark"):
                    data = (PICTURES / f"{name}_{width}{look}.png").read_bytes()
                    self.assertLessEqual(len(data), MOST_BYTES)
                    self.assertEqual(struct.unpack(">I", data[16:20])[0], width)

    def test_documents_show_them(self):
        shown = set()
        for document in (ROOT / "docs").glob("*.md"):
            shown |= set(re.findall(r"\]\(pictures/([^)]+)\)", document.read_text()))
        self.assertLessEqual(shown, {path.name for path in PICTURES.iterdir()})
        self.assertIn("report_1280.png", shown)


if __name__ == "__main__":
    unittest.main()
