#!/usr/bin/env python3
"""lemma plan calibrate: what it writes is a cluster whose figures plans are made and simulated with, threads and processes write the
same fields, and mistakes are answered in a line. No time is compared with another."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models"), str(ROOT / "tests" / "cli")]
import environment

environment.enter_or_skip()

import onnx
import sharded
import tested_programs

LEMMA = None
COLLECTIVES = ["all-gather", "all-reduce", "all-to-all", "broadcast", "message", "own-part", "permute", "reduce-scatter"]
QUICK = ("--bytes", "1K,16K", "--time-limit", "60")


class Calibrate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        onnx.save(sharded.layers(), self.folder / "model.onnx")

    def lemma(self, *words, code=0, launcher=()):
        done = subprocess.run([*launcher, LEMMA, "plan", *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def cluster(self, name="cluster.json"):
        return json.loads((self.folder / name).read_text())

    def test_exchanges_of_all_groups_are_measured(self):
        for exchange in ("collectives", "one-sided"):
            with self.subTest(exchange=exchange):
                self.lemma("calibrate", "-o", "cluster.json", "--ranks", 4, "--exchange", exchange, *QUICK)
                found = self.cluster()
                self.assertEqual([mesh["name"] for mesh in found["meshes"]], ["4", "2 x 2"])
                self.assertEqual(len(found["links"]), 6)
                self.assertIs(found["overlap"], False)
                self.assertEqual(sorted(entry["what"] for entry in found["measured"] if entry["ranks"] == 2), COLLECTIVES)
                self.assertEqual(sorted([*(entry["what"] for entry in found["measured"] if entry["ranks"] == 4), "message"]), COLLECTIVES)
                for entry in found["measured"]:
                    sizes = [size for size, _ in entry["times"]]
                    # The least one may be larger than asked for: a group has to share it.
                    self.assertEqual((len(sizes), sizes[-1]), (2, 16384))

    def test_plans_are_simulated_with_what_was_measured(self):
        self.lemma("calibrate", "model.onnx", "-o", "cluster.json", *QUICK)
        found = self.cluster()
        self.assertGreater(len(found["operators"]), 4)
        # Times of our own, so that what is simulated can be told.
        found["operators"] = {operator: [0.5, predicted] for operator, (_, predicted) in found["operators"].items()}
        for entry in found["measured"]:
            entry["times"] = [[1024, 0.25], [16384, 0.25]]
        (self.folder / "own.json").write_text(json.dumps(found))
        self.lemma("make", "model.onnx", "--cluster", "own.json", "--place", "x:0", "--place", "y:replicated", "-o", "plan.json")
        said = json.loads(self.lemma("simulate", "model.onnx", "plan.json", "--cluster", "own.json", "--json").stdout)
        computing = said["ranks"][0]["computing_seconds"]
        operators = json.loads((self.folder / "plan.json").read_text())["nodes"]
        # The exchange behind them has the devices as well.
        self.assertAlmostEqual(computing, 0.5 * len(operators) + 0.25, places=9)
        self.assertAlmostEqual(said["seconds"], computing, places=9)
        self.lemma("make", "model.onnx", "--cluster", "own.json", "--own-operators", "-o", "own_plan.json")
        self.lemma("simulate", "model.onnx", "own_plan.json", "--cluster", "own.json")

    def test_without_time_the_least_size_is_measured(self):
        self.lemma("calibrate", "model.onnx", "-o", "cluster.json", "--time-limit", 0, "--json")
        found = self.cluster()
        self.assertEqual({len(entry["times"]) for entry in found["measured"]}, {1})
        self.assertNotIn("operators", found)
        self.lemma("make", "model.onnx", "--cluster", "cluster.json", "-o", "plan.json")

    def test_processes_write_what_threads_do(self):
        if shutil.which("mpirun") is None or not (Path(LEMMA).resolve().parent.parent / "lib" / "lemma" / "lemma_mpi_plans.so").exists():
            self.skipTest("lemma was built without MPI, or there is no mpirun")
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]
        said = json.loads(self.lemma("calibrate", "model.onnx", "-o", "processes.json", *QUICK, "--json", launcher=launcher).stdout)
        self.lemma("calibrate", "model.onnx", "-o", "threads.json", *QUICK)
        processes, threads = self.cluster("processes.json"), self.cluster("threads.json")
        self.assertEqual(said["operators"], len(threads["operators"]))
        self.assertEqual(processes["operators"].keys(), threads["operators"].keys())
        self.assertEqual([(entry["what"], entry["ranks"]) for entry in processes["measured"]],
                         [(entry["what"], entry["ranks"]) for entry in threads["measured"]])

    def test_mistakes_are_answered_in_a_line(self):
        for words, said in ((("--ranks", 1), "--ranks: is 1; 2 to 64 are needed"),
                            (("--bytes", "4K,1K"), "--bytes: has 1024 behind 4096; more are needed there"),
                            (("--device", "abacus"), "abacus"),
                            (("absent.onnx",), "absent.onnx")):
            done = self.lemma("calibrate", *words, "-o", "cluster.json", code=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertFalse((self.folder / "cluster.json").exists())

    def test_files_with_mistakes_are_refused(self):
        self.lemma("calibrate", "-o", "cluster.json", "--bytes", "1K")
        right = self.cluster()
        self.lemma("make", "model.onnx", "--cluster", "cluster.json", "--place", "x:0", "-o", "plan.json")
        entry = {"what": "all-reduce", "ranks": 2, "times": [[1024, 1e-5]]}
        for field, value, said in (("overlap", 1, "overlap: is 1; true or false is needed"),
                                   ("measured", [{**entry, "what": "juggling"}], "measured[0].what: is \"juggling\"; one of all-reduce, "),
                                   ("measured", [{**entry, "times": [[8, 1], [8, 2]]}], "measured[0].times[1][0]: is 8; a number above that of the pair before"),
                                   ("measured", [entry, entry], "measured[1]: is "),
                                   ("operators", {"Relu": [1]}, "operators.Relu: is [1]; a pair of measured seconds")):
            (self.folder / "wrong.json").write_text(json.dumps({**right, field: value}))
            done = self.lemma("simulate", "model.onnx", "plan.json", "--cluster", "wrong.json", code=2)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
