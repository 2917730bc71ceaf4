#!/usr/bin/env python3
"""lemma plan topology: the network has no more links than ports, other commands read it and the plan, times are those of the mesh, equal seeds
give equal files, and errors are one line."""

import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models"), str(ROOT / "tests" / "cli")]
import environment

environment.enter_or_skip()

import onnx
import sharded
import tested_programs

LEMMA = None
# The weights of the model do not fit into a device as a whole, so that devices have to send something.
WORDS = ("--memory-limit", str(int(0.7 * 4 * 2 * sharded.WIDTH * sharded.HIDDEN)),
         "--devices", "4", "--degree", "2", "--bandwidth", "25e9", "--latency", "1e-7", "--device", "cpu")


class Topology(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        onnx.save(sharded.layers(), self.folder / "model.onnx")

    def lemma(self, *words, code=0):
        done = subprocess.run([LEMMA, "plan", *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_a_network_and_a_plan(self):
        done = self.lemma("topology", "model.onnx", *WORDS, "--other-networks", "-o", "plan.json", "--network", "network.json", "--picture",
                          "network.svg", "--json")
        found = json.loads(done.stdout)
        own, *others = found["networks"]
        self.assertEqual([other["network"] for other in others], ["fat-tree of equal cost", "switch for all ports"])
        self.assertLess(others[0]["bytes_per_second"], others[1]["bytes_per_second"])
        self.assertEqual(own["bytes_per_second"], others[1]["bytes_per_second"])
        self.assertGreater(own["communicating_seconds"], 0)
        for network in found["networks"]:
            self.assertAlmostEqual(network["seconds"], network["computing_seconds"] + network["communicating_seconds"], places=12)
            self.assertLessEqual(own["computing_seconds"], found["one_device_seconds"])
        # A plan that was made for a wiring is no worse on it than the plan that the wiring was made for.
        self.assertLessEqual(own["seconds"], min(each["wiring_seconds"] for each in found["rounds"]) * (1 + 1e-9))

        network = json.loads((self.folder / "network.json").read_text())
        ports = 25e9 * 2 + 1
        for device in range(4):
            for end in (0, 1):
                self.assertLessEqual(sum(link["bytes_per_second"] for link in network["links"] if link["ends"][end] == device), ports)
        self.assertTrue(all(link["one_way"] for link in network["links"]))
        picture = xml.etree.ElementTree.parse(self.folder / "network.svg").getroot()
        self.assertEqual(len(picture.findall("{http://www.w3.org/2000/svg}circle")), 4)

        # Others read both. Nothing of this plan overlaps but what does not wait, so that it takes no longer than the sum.
        self.lemma("verify", "model.onnx", "plan.json")
        simulated = json.loads(self.lemma("simulate", "model.onnx", "plan.json", "--cluster", "./network.json", "--json").stdout)
        self.assertLessEqual(simulated["seconds"], own["seconds"] * 1.0001)
        self.assertGreater(simulated["seconds"], own["computing_seconds"] * 0.5)
        self.lemma("make", "model.onnx", "--cluster", "./network.json", "-o", "again.json")
        self.lemma("collective", "./network.json", "--collective", "all-gather", "--greedy")

    def test_equal_seeds_give_equal_files(self):
        for number in (0, 1):
            self.lemma("topology", "model.onnx", *WORDS, "--seed", "3", "-o", f"plan{number}.json", "--network", f"network{number}.json")
        for name in ("plan", "network"):
            self.assertEqual((self.folder / f"{name}0.json").read_bytes(), (self.folder / f"{name}1.json").read_bytes())

    def test_errors_are_one_line(self):
        for words, message in ((("--devices", "1"), "--devices: is 1; a number from 2 to 128 is needed"),
                               (("--degree", "200"), "--degree: is 200; a number from 1 to 127 is needed"),
                               (("--devices", "4", "--memory-limit", "16"), "no plan needs at most 16 bytes on a device"),
                               (("--device", "none"), "--device none: no device has this name")):
            with self.subTest(words=words):
                done = self.lemma("topology", "model.onnx", *words, "-o", "plan.json", code=2)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertFalse((self.folder / "plan.json").exists())


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
