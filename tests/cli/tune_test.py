#!/usr/bin/env python3
"""Tests of `lemma tune`: schedules are searched, kept and read. No result depends on how long anything takes: what is timed may be
found faster or not, and records that have to be there are written by the test."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import environment

environment.enter_or_skip()

import tested_programs

LEMMA = ""
PRODUCT = ["--operator", "MatMul", "--operand", "f32[12, 40]", "--operand", "constant f32[40, 24]"]
SUM = ["--operator", "ReduceSum", "--operand", "f32[3, 20, 30]", "--attribute", "axes=[1]"]


class TuneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A database with trials of the product, which most tests begin with."""
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.tuned = Path(temporary.name) / "profile.sqlite"
        done = subprocess.run([LEMMA, "tune", *PRODUCT, "--database", cls.tuned, "--threads", "1", "--seconds", "8", "--json"],
                              capture_output=True, text=True, timeout=300, check=True)
        cls.first, = json.loads(done.stdout)["operators"]

    def take_tuned(self):
        with sqlite3.connect(self.tuned) as source, sqlite3.connect(self.database) as copy:
            source.backup(copy)

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.database = self.folder / "profile.sqlite"

    def run_it(self, *options, code=0, check=True):
        done = subprocess.run([LEMMA, *map(str, options)], capture_output=True, text=True, timeout=300, check=False)
        if check:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def tune(self, *options, seconds=4):
        done = self.run_it("tune", *options, "--database", self.database, "--threads", 1, "--seconds", seconds, "--json")
        return json.loads(done.stdout)["operators"]

    def model(self, sizes=(12, 40, 24)):
        """A product with weights, as a file."""
        import numpy
        import onnx
        from onnx import TensorProto, helper, numpy_helper
        rows, terms, columns = sizes
        weights = numpy.arange(terms * columns, dtype=numpy.float32).reshape(terms, columns) % 7 - 3
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, terms])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, columns])],
            [numpy_helper.from_array(weights, "w")])
        file = self.folder / "product.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
        return file

    def rows(self, table):
        with sqlite3.connect(self.database) as connection:
            return connection.execute(f"SELECT * FROM {table}").fetchall()

    def write_record(self, schedule, **changes):
        """A record of the product of model(), under the identity of the trials."""
        with sqlite3.connect(self.database) as connection:
            runtime, processor, threads = connection.execute(
                "SELECT DISTINCT runtime, processor, threads FROM loop_trials").fetchone()
            key = self.key_of_product()
            row = {"runtime": runtime, "processor": processor, "threads": threads, "key": key, "schedule": schedule,
                   "description": "test", "seconds_before": 2e-6, "seconds": 1e-6, "rounds": 32, "date": "2026-11-27"} | changes
            connection.execute("DELETE FROM loop_schedules")
            connection.execute(f"INSERT INTO loop_schedules VALUES ({', '.join('?' * len(row))})", list(row.values()))

    def key_of_product(self):
        """As the trials name it."""
        return next(row[4].split()[0] for row in self.rows("loop_trials") if row[3].startswith("MatMul"))

    def emitted(self, model, *options):
        folder = self.folder / "emitted"
        self.run_it("emit", model, "-o", folder, "--replace", "--threads", 1, *options)
        return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}

    def test_what_is_timed_is_kept_and_not_timed_again(self):
        self.take_tuned()
        first = self.first
        self.assertGreater(first["planned"], 10)
        self.assertGreater(first["timed"], 0)
        self.assertEqual(len(self.rows("loop_trials")), first["timed"])
        again, = self.tune(*PRODUCT, seconds=2)
        self.assertGreaterEqual(again["known"], 1)
        self.assertEqual(len(self.rows("loop_trials")), first["timed"] + again["timed"])
        if first["recorded"]:
            self.assertLess(first["seconds"], first["seconds_before"])
            self.assertTrue(again["recorded"])

    def test_a_record_changes_what_is_emitted_and_compiled(self):
        model = self.model()
        plain = self.emitted(model, "--no-schedules")
        self.assertEqual(self.emitted(model, "--database", self.database), plain)  # there is no such file
        self.take_tuned()
        self.write_record("vectors=1 rows=3 unroll=2")
        tuned = self.emitted(model, "--database", self.database)
        self.assertEqual(self.emitted(model, "--database", self.database, "--no-schedules"), plain)
        self.assertNotEqual(tuned, plain)
        self.assertIn(b"even_parts(12, 3)", b"".join(tuned.values()))
        self.assertIn(b"#pragma GCC unroll 2", b"".join(tuned.values()))
        subprocess.run(["cmake", "-S", self.folder / "emitted", "-B", self.folder / "build"], check=True, capture_output=True)
        subprocess.run(["cmake", "--build", self.folder / "build"], check=True, capture_output=True)
        subprocess.run(["ctest", "--test-dir", self.folder / "build"], check=True, capture_output=True)

    def test_records_of_others_are_ignored(self):
        model = self.model()
        plain = self.emitted(model, "--no-schedules")
        self.take_tuned()
        for other in ({"processor": "another"}, {"runtime": "loop schedules 0, another"}, {"threads": 7}, {"key": "0" * 20}):
            with self.subTest(other=other):
                self.write_record("vectors=1 rows=3", **other)
                self.assertEqual(self.emitted(model, "--database", self.database), plain)

    def test_a_record_that_cannot_be_read_is_an_error(self):
        model = self.model()
        self.take_tuned()
        self.write_record("rows=many")
        done = self.run_it("emit", model, "-o", self.folder / "emitted", "--threads", 1, "--database", self.database, code=2)
        self.assertIn("'rows=many' is no field of a loop schedule", done.stderr)
        self.assertFalse((self.folder / "emitted").exists())

    @tested_programs.long
    def test_an_interruption_leaves_a_file_that_can_be_gone_on_with(self):
        call = [LEMMA, "tune", *PRODUCT, "--database", self.database, "--threads", "1", "--seconds", "100"]
        with subprocess.Popen(list(map(str, call)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            for _ in range(600):
                if self.database.exists() and self.tables() and self.rows("loop_trials"):
                    break
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3)
        trials = self.rows("loop_trials")
        self.assertTrue(trials)
        again, = self.tune(*PRODUCT, seconds=2)
        self.assertGreater(again["known"], 0)
        self.assertLessEqual({tuple(row) for row in trials}, {tuple(row) for row in self.rows("loop_trials")})

    def tables(self):
        with sqlite3.connect(self.database) as connection:
            return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'loop_trials'").fetchall()

    def test_a_model_and_a_limit_of_time(self):
        report = self.tune(self.model(), "--time-limit", 3)
        self.assertEqual(report[0]["operator"].split()[0], "MatMul{}" if "{" in report[0]["operator"] else "MatMul")
        nothing = self.tune(*SUM, seconds=0)
        self.assertEqual((nothing[0]["timed"], nothing[0]["recorded"], nothing[0]["complete"]), (0, False, False))

    def test_schedules_travel_as_json(self):
        self.take_tuned()
        self.write_record("rows=3")
        file, again = self.folder / "profile.json", self.folder / "again.json"
        self.run_it("profile", "--database", self.database, "--export", file)
        self.run_it("profile", "--database", self.folder / "other.sqlite", "--import", file, "--export", again)
        self.assertIn('"schedule":"rows=3"', file.read_text())
        self.assertEqual(file.read_text(), again.read_text())

    def test_what_is_wrong_is_said(self):
        for options, part in (
                ([], "give models to tune"),
                (["--operator", "Nothing"], "'Nothing' is no operator"),
                (["--operator", "MatMul", "--operand", "f32[2, 3]", "--operand", "f32[4, 5]"], ""),
                (["--operator", "MatMul", "--operand", "f32[N, 3]", "--operand", "f32[3, 5]"], "not fixed"),
                (["--operator", "ReduceSum", "--operand", "f32[2]", "--attribute", "axis=1"], "is no attribute")):
            with self.subTest(options=options):
                done = self.run_it("tune", *options, "--database", self.database, code=2)
                self.assertIn(part, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    LEMMA, words = tested_programs.given(__doc__, "lemma")
    os.environ.pop("LEMMA_PROFILE", None)
    unittest.main(argv=[sys.argv[0], *words])
