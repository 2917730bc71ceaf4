#!/usr/bin/env python3
"""Every option that writes, crossed with everything that can be in its way: the model itself, its data, another output,
devices, FIFOs, links, permissions, names that are no Unicode."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, integers_attribute, node, tensor_type

LEMMA = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIET = ("--no-second-judge", "--no-measure", "-q")

# By name: the words of a call that writes OUT of the model MODEL. IN is another input than a model.
WRITERS = {
    "optimize -o": ("optimize", "MODEL", "-o", "OUT", *QUIET),
    "optimize --report": ("optimize", "MODEL", "-o", "result.onnx", "--report", "OUT", *QUIET),
    "optimize --report page": ("optimize", "MODEL", "-o", "result.onnx", "--report", "OUT.html", *QUIET),
    "simplify -o": ("simplify", "MODEL", "-o", "OUT", "--no-second-judge", "-q"),
    "inspect --dot": ("inspect", "MODEL", "--dot", "OUT"),
    "diff --html": ("diff", "MODEL", "other.onnx", "--html", "OUT"),
    "emit --timeline": ("emit", "MODEL", "--plan", "--timeline", "OUT"),
    "schedule --timeline": ("schedule", "MODEL", "--device", "h100", "--timeline", "OUT"),
    "schedule --write-kernel-times": ("schedule", "MODEL", "--device", "h100", "--write-kernel-times", "OUT"),
    "schedule --write-library-calls": ("schedule", "MODEL", "--device", "h100", "--json", "--library-calls", "h100",
                                       "--write-library-calls", "OUT"),
    "schedule --measure-kernels": ("schedule", "MODEL", "--device", "cpu", "--measure-kernels", "OUT"),
    "profile --export": ("profile", "--database", "profile.sqlite", "--export", "OUT"),
    "extract -o": ("extract", "egraph.json", "-o", "OUT"),
    "rules verify --verdicts": ("rules", "verify", "some.rules", "--verdicts", "OUT"),
    "rules minimize -o": ("rules", "minimize", "some.rules", "-o", "OUT"),
    "rules export -o": ("rules", "export", "some.rules", "-o", "OUT"),
    "rules generate -o": ("rules", "generate", "--set", "some.set", "--max-ops", "1", "-o", "OUT"),
    "rules generate --refuted": ("rules", "generate", "--set", "some.set", "--max-ops", "1", "-o", "found.rules",
                                 "--refuted", "OUT"),
    "rules regions -o": ("rules", "regions", "--set", "some.set", "--max-ops", "1", "-o", "OUT"),
    "rules regions --record": ("rules", "regions", "--set", "some.set", "--max-ops", "1", "-o", "found.rules", "--record", "OUT"),
}
# Folders: the words of a call that fills OUT.
FILLERS = {
    "optimize --out-dir": ("optimize", "MODEL", "--out-dir", "OUT", *QUIET),
    "optimize --trace": ("optimize", "MODEL", "-o", "result.onnx", "--trace", "OUT", *QUIET),
    "emit -o": ("emit", "MODEL", "-o", "OUT", "--replace"),
    "emit --trace": ("emit", "MODEL", "--plan", "--trace", "OUT"),
    "run --outputs": ("run", "MODEL", "--random", "1", "--outputs", "OUT"),
    "rules verify --certificates": ("rules", "verify", "some.rules", "--certificates", "OUT"),
}
# Which file of a call is its input, where that is no model.
INPUTS = {"extract -o": "egraph.json", "rules verify --verdicts": "some.rules", "rules minimize -o": "some.rules",
          "rules export -o": "some.rules", "rules generate -o": "some.set", "rules generate --refuted": "some.set",
          "rules regions -o": "some.set", "rules regions --record": "some.set",
          "profile --export": "profile.sqlite"}
EGRAPH = {"nodes": {"a": {"op": "a", "cost": 1, "eclass": "1", "children": []}},
          "root_eclasses": ["1"], "class_data": {}}
RULE = "rule swapped\n  a : [A..]\n  b : [A..]\n  Add(a, b) => Add(b, a)\n"


class Outputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-outputs-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("model.onnx", "a/model.onnx")
        self.write("other.onnx", "other.onnx")
        (self.folder / "egraph.json").write_text(json.dumps(EGRAPH))
        (self.folder / "some.rules").write_text(RULE)
        shipped = pathlib.Path(__file__).resolve().parents[2] / "rules" / "operator_sets" / "elementary.set"
        (self.folder / "some.set").write_bytes(shipped.read_bytes())

    def write(self, name, place, data=None, shape=(2, 3)):
        """A model with something to simplify; with its weights in a file if a name is given."""
        kind = tensor_type(F32, list(shape))
        turned = [integers_attribute("perm", [1, 0])]
        weights = (tiny_models.external_tensor("w", list(shape), data) if data
                   else tiny_models.tensor("w", list(shape), range(shape[0] * shape[1])))
        nodes = [node("Add", ["x", "w"], ["a"]), node("Transpose", ["a"], ["b"], attributes=turned),
                 node("Transpose", ["b"], ["c"], attributes=turned), node("Relu", ["c"], ["y"])]
        file = self.folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(tiny_models.model(nodes, [("x", kind)], [("y", kind)], initializers=[weights]))
        if data:
            (file.parent / data).write_bytes(tiny_models.floats(range(shape[0] * shape[1])))
        return file

    def run_it(self, *words, **more):
        environment = {**os.environ, "TMPDIR": str(self.scratch()), "LEMMA_CACHE": str(self.folder / "cache"),
                       "LEMMA_PROFILE": str(self.folder / "profile.sqlite")}
        return subprocess.run([LEMMA, *words], cwd=self.folder, capture_output=True, env=environment, timeout=300, **more)

    def scratch(self):
        place = self.folder / "scratch"
        place.mkdir(exist_ok=True)
        return place

    def call(self, words, output, model="a/model.onnx"):
        return self.run_it(*(word.replace("OUT", os.fspath(output)) if word in ("OUT", "OUT.html") else
                             model if word == "MODEL" else word for word in words))

    def assert_one_line(self, done, code=2):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def contents(self):
        return {file.relative_to(self.folder): file.read_bytes() for file in sorted(self.folder.rglob("*"))
                if file.is_file() and "sqlite" not in file.name}

    def assert_nothing_left(self):
        left = [file for file in self.folder.rglob("*") if file.name.startswith(".lemma-") and
                file.name not in (".lemma-files", ".lemma-optimize")]
        self.assertEqual(left, [])
        # The lock of those who time models stays.
        self.assertLessEqual({file.name for file in self.scratch().iterdir()}, {f"lemma-timing-{os.getuid()}.lock"})

    def each_file(self, check, every=1):
        """check(name, words) for each option that names a file to write, or for every third one and so on."""
        for name, words in list(WRITERS.items())[::every]:
            with self.subTest(name):
                check(name, words)
                self.assert_nothing_left()

    def test_the_input_is_never_replaced(self):
        self.run_it("profile", "--database", "profile.sqlite", "--list")
        def check(name, words):
            if name == "optimize --report page":
                return
            file = self.folder / INPUTS.get(name, "a/model.onnx")
            links = {"itself": file, "link": self.folder / "soft", "hard link": self.folder / "hard",
                     "detour": self.folder / "a" / ".." / file.relative_to(self.folder),
                     "other case": file.with_name(file.name.upper())}
            links["link"].unlink(missing_ok=True)
            links["hard link"].unlink(missing_ok=True)
            links["link"].symlink_to(file)
            links["hard link"].hardlink_to(file)
            before = self.contents()
            for way, output in links.items():
                with self.subTest(way):
                    done = self.call(words, output)
                    self.assert_one_line(done)
                    self.assertRegex(done.stderr, rb"would (replace|be one file)")
                    self.assertEqual(self.contents(), before)

        self.each_file(check)

    def test_the_data_of_the_model_is_never_replaced(self):
        self.write("with_data", "d/model.onnx", data="weights.bin")
        def check(name, words):
            if "MODEL" not in words or "OUT" not in words:
                return
            before = self.contents()
            done = self.call(words, "d/weights.bin", model="d/model.onnx")
            self.assert_one_line(done)
            self.assertIn(b"the data of the", done.stderr)
            self.assertEqual(self.contents(), before)

        self.each_file(check)

    def test_two_outputs_are_two_files(self):
        before = self.contents()
        for words in (("optimize", "a/model.onnx", "-o", "r", "--report", "r", *QUIET),
                      ("optimize", "a/model.onnx", "-o", "r.explanation", "--explain", "R.explanation",
                       *QUIET),
                      ("schedule", "a/model.onnx", "--device", "h100", "--timeline", "t", "--write-kernel-times", "./t"),
                      ("rules", "generate", "--set", "some.set", "-o", "f", "--refuted", "f"),
                      ("emit", "a/model.onnx", "-o", "p", "--timeline", "p"),
                      ("optimize", "a/model.onnx", "a/../a/model.onnx", "--out-dir", "o", *QUIET)):
            with self.subTest(words):
                self.assert_one_line(self.run_it(*words))
                self.assertEqual(self.contents(), before)

    @tested_programs.long
    def test_devices_and_pipes_are_written_to_by_all(self):
        self.check_devices_and_pipes(every=1)

    def test_devices_and_pipes_are_written_to(self):
        self.check_devices_and_pipes(every=4)

    def check_devices_and_pipes(self, every):
        def check(name, words):
            if "OUT.html" in words:
                return
            done = self.call(words, "/dev/null")
            self.assertIn(done.returncode, (0, 4), done.stderr)
            self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
            plain = self.folder / "plain"
            plain.unlink(missing_ok=True)
            self.assertIn(self.call(words, plain).returncode, (0, 4))
            pipe = self.folder / "pipe"
            os.mkfifo(pipe)
            received = []
            reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
            reader.start()
            done = self.call(words, pipe)
            if done.returncode not in (0, 4):  # nobody writes
                os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))
            reader.join()
            self.assertIn(done.returncode, (0, 4), done.stderr)
            self.assertTrue(stat.S_ISFIFO(os.lstat(pipe).st_mode))
            if "report" not in name and "measure" not in name and "verdicts" not in name:  # these have times
                self.assertEqual(received[0], plain.read_bytes())
            self.assertEqual(len(received[0]) > 0, plain.stat().st_size > 0)
            pipe.unlink()

        self.each_file(check, every)

    def test_standard_output_may_be_named(self):
        for words in (("inspect", "a/model.onnx", "--json", "--dot", "/dev/stdout"),
                      ("simplify", "a/model.onnx", "-o", "/dev/stdout", "--no-second-judge"),
                      ("simplify", "a/model.onnx", "-o", "-", "--no-second-judge")):
            done = self.run_it(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            if words[0] == "simplify":
                self.assertEqual(self.run_it("simplify", "a/model.onnx", "-o", "r.onnx", "--no-second-judge").returncode, 0)
                self.assertEqual(done.stdout, (self.folder / "r.onnx").read_bytes())
            else:
                self.assertTrue(done.stdout.startswith(b"digraph"))
        # What was in a file before stays before.
        log = self.folder / "log"
        log.write_bytes(b"before\n")
        with open(log, "ab") as out:
            subprocess.run([LEMMA, "simplify", self.folder / "a/model.onnx", "-o", "/dev/stdout", "--no-second-judge"],
                           stdout=out, timeout=120, check=True)
        self.assertEqual(log.read_bytes(), b"before\n" + (self.folder / "r.onnx").read_bytes())
        # Standard output may be the model.
        model = self.folder / "a/model.onnx"
        before = model.read_bytes()
        with open(model, "ab") as out:
            done = subprocess.run([LEMMA, "simplify", model, "-o", "-", "--no-second-judge"], stdout=out,
                                  stderr=subprocess.PIPE, timeout=120)
        self.assert_one_line(done)
        self.assertEqual(model.read_bytes(), before)

    def test_weights_go_into_what_is_sent(self):
        self.write("with_data", "d/model.onnx", data="weights.bin")
        done = self.run_it("simplify", "d/model.onnx", "-o", "-", "--no-second-judge")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(tiny_models.floats(range(6)), done.stdout)

    @tested_programs.long
    def test_links_are_followed_by_all(self):
        self.check_links(every=1)

    def test_links_are_followed(self):
        self.check_links(every=4)

    def check_links(self, every):
        def check(name, words):
            if "OUT" not in words:
                return
            target, link = self.folder / "there" / "target", self.folder / "link"
            target.parent.mkdir(exist_ok=True)
            target.unlink(missing_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to("there/target")
            self.assertIn(self.call(words, link).returncode, (0, 4))
            self.assertTrue(link.is_symlink())
            self.assertTrue(target.is_file())

        self.each_file(check, every)

    def test_a_folder_is_no_file(self):
        (self.folder / "kept").mkdir()
        (self.folder / "kept" / "file").write_text("kept")
        def check(name, words):
            if "OUT" in words:
                before = self.contents()
                self.assert_one_line(self.call(words, "kept"))
                self.assertEqual(self.contents(), before)

        self.each_file(check)

    def test_a_file_is_no_folder(self):
        for name, words in FILLERS.items():
            with self.subTest(name):
                (self.folder / "file").write_text("kept")
                for output in ("file", "a/model.onnx"):
                    before = self.contents()
                    done = self.call(words, output)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    after = self.contents()
                    for files in (before, after):
                        files.pop(pathlib.Path("result.onnx"), None)
                    self.assertEqual(after, before)

    @tested_programs.long
    def test_what_a_private_model_gives_is_private(self):
        model = self.folder / "a/model.onnx"
        for mode in (0o600, 0o640, 0o644):
            model.chmod(mode)
            hidden = ~mode & 0o044
            for name, words in {**WRITERS, **FILLERS}.items():
                if "MODEL" not in words:
                    continue
                with self.subTest((name, oct(mode))):
                    out = self.folder / f"out-{mode}-{name.replace(' ', '')}"
                    self.assertIn(self.call(words, out).returncode, (0, 4))
                    made = [self.folder / "result.onnx", *self.folder.glob(out.name + "*"), *out.rglob("*")]
                    for file in made:
                        if file.exists():
                            self.assertEqual(file.stat().st_mode & hidden, 0, file)
                        if file.suffix == ".onnx" and file.exists():
                            self.assertEqual(stat.S_IMODE(file.stat().st_mode), mode, file)
                    (self.folder / "result.onnx").unlink(missing_ok=True)

    def test_results_and_their_data_have_the_model_s_permissions(self):
        model = self.write("with_data", "d/model.onnx", data="weights.bin", shape=(30, 40))
        model.chmod(0o640)
        for options in ((), ("--external-data",)):
            done = self.run_it("optimize", "d/model.onnx", "--out-dir", "out", *options, *QUIET)
            self.assertEqual(done.returncode, 0, done.stderr)
        for file in (self.folder / "out").iterdir():
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o640, file)

    def test_foreign_files_beside_a_result_stay(self):
        for name in ("result.data", "result.svg", "result.onnx.data"):
            (self.folder / name).write_text("of the user")
        self.write("large", "large.onnx", shape=(30, 40))
        self.assertEqual(self.run_it("optimize", "large.onnx", "-o", "result.onnx", "--external-data", *QUIET).returncode, 0)
        done = self.run_it("inspect", "a/model.onnx", "--dot", "result.dot")
        self.assertEqual(done.returncode, 0)
        for name in ("result.data", "result.svg", "result.onnx.data"):
            self.assertEqual((self.folder / name).read_text(), "of the user")
        if (self.folder / "result-1.svg").exists():  # Graphviz is installed
            self.run_it("inspect", "a/model.onnx", "--dot", "result.dot")
            self.assertFalse((self.folder / "result-2.svg").exists())

    def test_a_journal_takes_another_folder_beside_a_file_of_the_user(self):
        candidates, axioms = self.folder / "candidates.rules", self.folder / "axioms" / "axioms"
        candidates.write_text("rule first\n  x : [n]\n  y : [n]\n  Relu(Add(x, y)) => Relu(Add(y, x))\n")
        axioms.mkdir(parents=True)
        (axioms / "mine.axioms").write_text("axiom commutes\n  x : [n]\n  y : [n]\n  Add(x, y) = Add(y, x)\n")
        shutil.copy(ROOT / "rules" / "axioms.rounding", axioms.parent)
        (self.folder / "one.work").write_text("mine")
        (self.folder / "two.work").mkdir()
        (self.folder / "two.work" / "mine.journal").write_text("dear diary")
        for name in ("one", "two"):
            for _ in range(2):
                done = self.run_it("rules", "build", "--candidates", candidates, "--rules", axioms.parent, "--name", "mine",
                                   "-o", name, "--threads", "1")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"{name}.work is there and is another program's".encode(), done.stderr)
            self.assertTrue((self.folder / f"{name}-1.work" / "mine.journal").exists())
            self.assertFalse((self.folder / f"{name}-2.work").exists())
        self.assertEqual((self.folder / "one.work").read_text(), "mine")
        self.assertEqual((self.folder / "two.work" / "mine.journal").read_text(), "dear diary")

    def test_pages_of_an_audit_do_not_replace_pages_of_the_user(self):
        site = self.folder / "site"
        site.mkdir()
        (site / "index.html").write_text("<!DOCTYPE html><title>mine</title>")
        words = ("audit", "--rules", ROOT / "rules", "--html")
        done = self.run_it(*words, "site", "hard_sigmoid_spelled")
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
        self.assertIn(b"index.html: lemma audit did not write it", done.stderr)
        self.assertEqual([file.name for file in site.iterdir()], ["index.html"])
        for _ in range(2):  # its own pages are replaced
            done = self.run_it(*words, "pages", "hard_sigmoid_spelled")
            self.assertEqual(done.returncode, 0, done.stderr)

    @tested_programs.long
    def test_two_models_never_share_data_by_accident(self):
        for name, stem in (("net.v1", "d/net.v1.onnx"), ("net.v2", "e/net.v2.onnx")):
            self.write(name, stem, data="weights.bin", shape=(30, 40))
        (self.folder / "e/weights.bin").write_bytes(tiny_models.floats(range(1, 1201)))
        for command in ("simplify", "optimize"):
            for number in range(3):
                out = f"out-{command}-{number}"
                words = QUIET if command == "optimize" else ("--no-second-judge", "-q")
                done = self.run_it(command, "d/net.v1.onnx", "e/net.v2.onnx", "--out-dir", out, "--jobs", "2", *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                for model in ("d/net.v1.onnx", "e/net.v2.onnx"):
                    written = f"{out}/{pathlib.Path(model).name}"
                    self.assertEqual(self.run_it("compare", model, written).returncode, 0)

    def test_equal_data_is_shared_on_purpose(self):
        for place in ("d/one.onnx", "e/two.onnx"):
            self.write("same", place, data="weights.bin", shape=(30, 40))
        self.assertEqual(self.run_it("simplify", "d/one.onnx", "e/two.onnx", "--out-dir", "out", "--no-second-judge",
                                     "-q").returncode, 0)
        self.assertEqual(len(list((self.folder / "out").glob("*.data"))), 1)

    def test_names_that_are_no_unicode(self):
        name = os.fsdecode(b"m\xff.onnx")
        folder = os.fsdecode(b"f\xfe")
        self.write("strange", f"{folder}/{name}", data="weights.bin", shape=(30, 40))
        strange = f"{folder}/{name}"
        done = self.run_it("optimize", strange, "-o", f"{folder}/out.onnx", "--report", f"{folder}/r.json",
                           "--time-limit", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.folder / folder / "r.json").read_bytes())["models"][0]
        self.assertIn(report["second_judge"], ("agrees", "not asked", "not available"))
        if report["second_judge"] == "not available":
            self.skipTest("ONNX Runtime is not installed")
        self.assertNotIn("No such file", json.dumps(report))
        done = self.run_it("profile", strange, "--seconds", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in (("inspect", strange, "--json"), ("emit", strange, "--plan", "--json"),
                      ("schedule", strange, "--device", "h100", "--json"), ("run", strange, "--random", "1", "--json")):
            done = self.run_it(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            json.loads(done.stdout)

    def test_without_a_home_nothing_is_made_here(self):
        here = self.folder / "here"
        here.mkdir()
        home = self.folder / "home"
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("HOME", "LEMMA_PROFILE", "LEMMA_CACHE", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
        for more in ({}, {"HOME": ""}, {"HOME": str(home)}):
            subprocess.run([LEMMA, "profile", "--list"], cwd=here, env={**environment, **more}, capture_output=True,
                           timeout=60)
            subprocess.run([LEMMA, "optimize", self.folder / "a/model.onnx", "-o", self.folder / "r.onnx", "--costs",
                            "measured", *QUIET], cwd=here, env={**environment, **more}, capture_output=True, timeout=60)
            self.assertEqual(list(here.iterdir()), [])
        self.assertTrue((home / ".local/share/lemma").is_dir())

    def emit(self, output, *options):
        return self.run_it("emit", "a/model.onnx", "-o", output, "--threads", "1", *options)

    def test_only_what_was_emitted_is_replaced(self):
        (self.folder / "folder").mkdir()
        (self.folder / "folder" / "file").write_text("of the user")
        (self.folder / "looks").mkdir()
        for name in ("schedule.h", "weights.bin"):
            (self.folder / "looks" / name).write_text("of the user")
        (self.folder / "to-folder").symlink_to("folder")
        for output in ("folder", "looks", "a/model.onnx", "a", "to-folder", "some.rules"):
            with self.subTest(output):
                before = self.contents()
                self.assert_one_line(self.emit(output, "--replace"))
                self.assertEqual(self.contents(), before)
        self.assertEqual(self.emit("program").returncode, 0)
        (self.folder / "program" / "build").mkdir()
        (self.folder / "program" / "build" / "made").write_text("by cmake")
        before = self.contents()
        self.assert_one_line(self.emit("program"))
        self.assertEqual(self.contents(), before)
        (self.folder / "program" / "kernels.h").write_text("edited")
        self.assertEqual(self.emit("program", "--replace").returncode, 0)
        self.assertEqual(self.contents(), before)
        self.assert_nothing_left()


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
