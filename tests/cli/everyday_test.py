#!/usr/bin/env python3
"""What a model keeps when nothing is changed, what it loses that changes nothing, and what is said when a run ends
early. Models are encoded by hand."""

import json
import os
import pathlib
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import tested_programs
import tiny_models
from tiny_models import F32, content, integer_attribute, integers_attribute, node, number, tensor_type

LEMMA = None
VECTOR = tensor_type(F32, [2])


def with_graph_fields(model, fields):
    """The bytes of a model with more fields in its graph; messages of one field are merged."""
    return model + tiny_models.content(7, fields)


class Everyday(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-everyday-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *words):
        return subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=120)

    def optimize(self, model, *words):
        done = self.run_it("optimize", model, *words, "--json", "--no-second-judge", "--no-measure")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["models"][0]

    def write(self, name, *parts, **more):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(tiny_models.model(*parts, **more))
        return file

    def one_relu(self, name="relu.onnx"):
        return self.write(name, [node("Relu", ["x"], ["y"])], [("x", VECTOR)], [("y", VECTOR)])

    def external_weights(self, name, values=(1, 2)):
        """x + w, where w is in a file below the model's folder."""
        file = self.write(name, [node("Add", ["x", "w"], ["y"])], [("x", VECTOR)], [("y", VECTOR)],
                          initializers=[tiny_models.external_tensor("w", [2], "data/weights.bin")])
        data = file.parent / "data" / "weights.bin"
        data.parent.mkdir(exist_ok=True)
        data.write_bytes(tiny_models.floats(values))
        return file

    def test_a_model_in_which_nothing_is_cheaper_is_the_same_bytes(self):
        model = self.one_relu()
        figures = self.optimize(model, "-o", self.folder / "out.onnx")
        self.assertEqual(figures["status"], "unchanged")
        self.assertEqual((self.folder / "out.onnx").read_bytes(), model.read_bytes())

    def test_its_data_goes_along(self):
        model = self.external_weights("a/model.onnx")
        out = self.folder / "out"
        self.assertEqual(self.optimize(model, "--out-dir", out)["status"], "unchanged")
        data, = out.glob("weights-*.data")
        self.assertEqual(data.read_bytes(), tiny_models.floats((1, 2)))
        self.assertEqual((out / "model.onnx").read_bytes().count(data.name.encode()), 1)
        self.assertEqual(len(list(out.iterdir())), 2)
        # In the folder that it is in, there is nothing to copy.
        self.optimize(model, "-o", model.parent / "again.onnx")
        self.assertEqual((model.parent / "again.onnx").read_bytes(), model.read_bytes())

    def test_data_of_another_model_is_not_replaced(self):
        out = self.folder / "out"
        self.optimize(self.external_weights("a/one.onnx"), "--out-dir", out)
        other = self.external_weights("b/two.onnx", (3, 4))
        self.assertEqual(self.optimize(other, "--out-dir", out)["status"], "unchanged")
        data = {file.read_bytes(): file.name.encode() for file in out.glob("weights-*.data")}
        self.assertEqual(set(data), {tiny_models.floats((1, 2)), tiny_models.floats((3, 4))})
        self.assertIn(data[tiny_models.floats((1, 2))], (out / "one.onnx").read_bytes())
        self.assertIn(data[tiny_models.floats((3, 4))], (out / "two.onnx").read_bytes())

    def test_what_only_merges_is_an_improvement_and_is_explained(self):
        matrix = tensor_type(F32, [2, 3])
        turned = [integers_attribute("perm", [1, 0])]
        middles = {
            "negations": [node("Neg", ["a"], ["m"]), node("Neg", ["m"], ["b"])],
            "transposes": [node("Transpose", ["a"], ["m"], attributes=turned),
                           node("Transpose", ["m"], ["b"], attributes=turned)],
            "relus": [node("Relu", ["a"], ["m"]), node("Relu", ["m"], ["b"])],
            "parts": [node("Split", ["a"], ["m", "n"], attributes=[integer_attribute("axis", 0)]),
                      node("Concat", ["m", "n"], ["b"], attributes=[integer_attribute("axis", 0)])],
        }
        for name, middle in middles.items():
            nodes = [node("Tanh", ["x"], ["a"]), *middle, node("Sigmoid", ["b"], ["y"])]
            model = self.write(f"{name}.onnx", nodes, [("x", matrix)], [("y", matrix)])
            for strategy in ("auto", "saturation", "combined", "backtracking"):
                figures = self.optimize(model, "-o", self.folder / "out.onnx", "--strategy", strategy)
                self.assertEqual(figures["status"], "optimized", (name, strategy))
                self.assertEqual(figures["after"]["operators"], 3 if name == "relus" else 2, (name, strategy))
                self.assertTrue(figures["rules_used"], (name, strategy))

    def test_more_threads_than_any_machine_runs_are_refused_in_a_line(self):
        model = self.folder / "model.onnx"
        for words in (("optimize", model, "-o", model), ("emit", model, "-o", self.folder / "program"),
                      ("run", model, "--random", 1), ("compare", model, model), ("profile", model), ("rules", "verify")):
            for number in ("30000", "1025", "-1"):
                done = self.run_it(*words, "--threads", number)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertIn(f"'{number}' is no number of threads from 0 (all processors) to 1024", done.stderr)
        done = self.run_it("simplify", model, "-o", model, "--jobs", 30000)
        self.assertIn("'30000' is no number of processes from 1 to 1024", done.stderr)

    def test_names_of_sizes_may_be_of_any_letters(self):
        for name in ("DynamicDimension.1", "batch size", "max", "len", "inf", "2nd", "a'b", "n\u00e9", "N-1"):
            matrix = tensor_type(F32, [name, 3])
            nodes = [node("Tanh", ["x"], ["a"]), node("Identity", ["a"], ["b"]), node("Neg", ["b"], ["c"]),
                     node("Neg", ["c"], ["d"]), node("Sigmoid", ["d"], ["y"])]
            model = self.write("named.onnx", nodes, [("x", matrix)], [("y", matrix)])
            figures = self.optimize(model, "-o", self.folder / "out.onnx")
            self.assertEqual(figures["status"], "optimized", (name, figures["message"]))
            self.assertIn(name.encode(), (self.folder / "out.onnx").read_bytes())

    def test_what_an_opaque_operator_is_given_stays_the_same_even_where_it_is_undefined(self):
        # The mean over an image of unknown size may be 0/0.
        image = tensor_type(F32, ["N", 3, "H", "W"])
        pooled = tensor_type(F32, ["N", 3, 1, 1])
        nodes = [node("GlobalAveragePool", ["x"], ["a"]), node("Identity", ["a"], ["b"]),
                 node("Log", ["b"], ["c"]), node("Exp", ["c"], ["d"]), node("Relu", ["d"], ["e"]),
                 node("Relu", ["e"], ["f"]),
                 node("Unheard", ["f"], ["g"], domain="test"), node("Neg", ["f"], ["y"])]
        model = self.write("opaque.onnx", nodes, [("x", image)], [("g", pooled), ("y", pooled)], domains=["test"])
        for strategy in ("auto", "backtracking"):
            figures = self.optimize(model, "-o", self.folder / "out.onnx", "--strategy", strategy)
            self.assertNotEqual(figures["status"], "mismatch", figures["message"])
            self.assertEqual(figures["warning"], "")

    def test_a_branch_that_a_constant_takes_is_written_in_its_place(self):
        branches = [tiny_models.graph_attribute(f"{which}_branch", [node(op, ["x"], [which])], [(which, VECTOR)])
                    for which, op in (("then", "Tanh"), ("else", "Neg"))]
        nodes = [node("If", ["c"], ["a"], attributes=branches), node("Relu", ["a"], ["y"])]
        truth = tiny_models.content(8, "c") + tiny_models.number(2, 9) + tiny_models.content(9, bytes([1]))
        model = self.write("branch.onnx", nodes, [("x", VECTOR)], [("y", VECTOR)], initializers=[truth])
        self.assertEqual(self.optimize(model, "-o", self.folder / "out.onnx")["status"], "optimized")
        written = (self.folder / "out.onnx").read_bytes()
        self.assertIn(b"Tanh", written)
        self.assertNotIn(b"then_branch", written)
        self.assertNotIn(b"Neg", written)

    # ---- What was refused although it is right

    def test_an_unknown_operator_is_given_what_a_directed_rule_made(self):
        """Of what it is given not all is defined, so that it has to be equal."""
        image = tensor_type(F32, [1, 2, 4, 4])
        initializers = [tiny_models.tensor("w", [2, 2, 1, 1], [1, 2, 3, 4]), tiny_models.tensor("b", [1, 2, 1, 1], [5, 6])]
        model = self.write("unknown.onnx",
                           [node("Conv", ["x", "w"], ["c"]), node("Add", ["c", "b"], ["s"]), node("Sqrt", ["x"], ["r"]),
                            node("Add", ["s", "r"], ["a"]), node("Unknown", ["a"], ["y"], domain="elsewhere")],
                           [("x", image)], [("y", image)], domains=["elsewhere"], initializers=initializers)
        figures = self.optimize(model, "-o", self.folder / "out.onnx")
        self.assertEqual((figures["status"], figures["warning"]), ("optimized", ""), figures["message"])
        self.assertEqual(figures["before"]["operators"] - figures["after"]["operators"], 1)

    def test_what_topk_takes_may_be_rewritten(self):
        """Its position lies within the axis whatever the elements are."""
        nodes = [node("Softmax", ["x"], ["s"]), node("Log", ["s"], ["l"]), node("Min", ["l", "l"], ["a"]),
                 node("TopK", ["a", "k"], ["y", "i"])]
        model = self.write("top.onnx", nodes, [("x", VECTOR)], [("y", tensor_type(F32, [1]))],
                           initializers=[tiny_models.tensor("k", [1], [1], tiny_models.I64)])
        for strategy in ("auto", "backtracking"):
            figures = self.optimize(model, "-o", self.folder / "out.onnx", "--strategy", strategy)
            self.assertEqual((figures["status"], figures["warning"]), ("optimized", ""), strategy)

    def test_an_operator_without_record_may_hold_weights_and_change_names(self):
        """Its data is elsewhere in the written file, and the names of what it takes and gives change."""
        weights = tiny_models.content(1, "w") + tiny_models.content(
            5, tiny_models.tensor("", [200], range(200))) + tiny_models.number(20, 4)
        nodes = [node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["b"]),
                 node("Strange", ["b"], ["c"], "example", [weights]),
                 node("Relu", ["c"], ["f"]), node("Neg", ["c"], ["d"]), node("Neg", ["d"], ["y"])]
        model = self.write("strange.onnx", nodes, [("x", VECTOR)], [("y", VECTOR), ("f", VECTOR)],
                           domains=["example"])
        declared = tiny_models.content(13, tiny_models.value_info("c", VECTOR))
        model.write_bytes(with_graph_fields(model.read_bytes(), declared))
        figures = self.optimize(model, "-o", self.folder / "out.onnx")
        self.assertEqual((figures["status"], figures["after"]["operators"]), ("optimized", 2), figures)
        self.assertIn(tiny_models.floats(range(200)), (self.folder / "out.onnx").read_bytes())

    def test_a_size_that_a_reader_would_infer_otherwise_is_written(self):
        """As -1 the size would be that of the operand, min(1000000000, N)."""
        rows = tensor_type(F32, ["N", 2])
        integers = {"starts": [0], "ends": [10 ** 9], "axes": [0], "first": [0], "rest": [2, 1]}
        nodes = [node("Slice", ["x", "starts", "ends", "axes"], ["a"]), node("Shape", ["x"], ["s"]),
                 node("Gather", ["s", "first"], ["n"]),
                 node("Concat", ["n", "rest"], ["shape"], attributes=[integer_attribute("axis", 0)]),
                 node("Reshape", ["a", "shape"], ["y"])]
        model = self.write("sizes.onnx", nodes, [("x", rows)], [("y", tensor_type(F32, ["N", 2, 1]))],
                           initializers=[tiny_models.tensor(name, [len(values)], values, tiny_models.I64)
                                         for name, values in integers.items()])
        self.optimize(model, "-o", self.folder / "out.onnx", "--strategy", "none")

    def test_a_changed_model_keeps_what_was_declared_of_its_values(self):
        nodes = [node("Tanh", ["x"], ["t"]), node("Neg", ["t"], ["a"]), node("Neg", ["a"], ["b"]),
                 node("Relu", ["b"], ["y"])]
        model = self.write("declared.onnx", nodes, [("x", tensor_type(F32, ["N", 2]))],
                           [("y", tensor_type(F32, ["rows_out", 2]))])
        declared = tiny_models.content(13, tiny_models.value_info("t", tensor_type(F32, ["rows_within", 2])))
        model.write_bytes(with_graph_fields(model.read_bytes(), declared))
        self.assertEqual(self.optimize(model, "-o", self.folder / "out.onnx")["status"], "optimized")
        written = (self.folder / "out.onnx").read_bytes()
        self.assertIn(b"rows_out", written)
        self.assertIn(b"rows_within", written)

    def test_a_constant_may_hold_an_infinity(self):
        matrix = tensor_type(F32, [2, 2])
        for values in ((float("inf"), 1, 2, 3), (float("-inf"), float("nan"), 0, 1)):
            model = self.write("infinite.onnx", [node("MatMul", ["x", "w"], ["a"]), node("Neg", ["a"], ["b"]),
                                                 node("Neg", ["b"], ["c"]), node("Relu", ["c"], ["y"])],
                               [("x", matrix)], [("y", matrix)],
                               initializers=[tiny_models.tensor("w", [2, 2], values)])
            figures = self.optimize(model, "-o", self.folder / "out.onnx")
            self.assertIn(figures["status"], ("optimized", "unchanged"))
            self.assertEqual(figures["warning"], "")
            self.assertIn(tiny_models.floats(values), (self.folder / "out.onnx").read_bytes())

    def test_weights_of_four_bits_are_read_and_converted(self):
        u4, matrix = 21, tensor_type(F32, [3, 5])
        weights = (tiny_models.number(1, 5) + tiny_models.number(1, 3) + tiny_models.number(2, u4) +
                   tiny_models.content(8, "w") + tiny_models.content(9, bytes([0x21, 0x43, 0x65, 0x87, 0xa9, 0xcb, 0xed, 0x0f])))
        nodes = [node("Transpose", ["w"], ["t"], attributes=[integers_attribute("perm", [1, 0])]),
                 node("Cast", ["t"], ["c"], attributes=[integer_attribute("to", F32)]),
                 node("Neg", ["x"], ["n"]), node("Neg", ["n"], ["m"]), node("Add", ["m", "c"], ["y"])]
        model = self.write("packed.onnx", nodes, [("x", matrix)], [("y", matrix)], initializers=[weights])
        run = self.run_it("run", model, "--random", "0", "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        figures = self.optimize(model, "-o", self.folder / "out.onnx")
        self.assertEqual((figures["status"], figures["opaque_operators"]), ("optimized", 0))
        self.assertEqual((figures["after"]["operators"], figures["max_error"]), (1, 0.0))

    def test_sizes_may_be_called_anything(self):
        rows = tensor_type(F32, ["Dynamic.0", 2])
        nodes = [node("Transpose", ["x"], ["a"], attributes=[integers_attribute("perm", [1, 0])]),
                 node("Tanh", ["a"], ["b"]), node("Neg", ["b"], ["c"]), node("Neg", ["c"], ["d"]),
                 node("Reshape", ["d", "shape"], ["e"]), node("Reshape", ["e", "shape"], ["y"])]
        model = self.write("named.onnx", nodes, [("x", rows)], [("y", tensor_type(F32, [2, "Dynamic.0"]))],
                           initializers=[tiny_models.tensor("shape", [2], (2, -1), tiny_models.I64)])
        figures = self.optimize(model, "-o", self.folder / "out.onnx")
        self.assertEqual(figures["status"], "optimized")
        self.assertIn(b"Dynamic.0", (self.folder / "out.onnx").read_bytes())
        for name in ("Dynamic.0", "Rows.1"):
            self.optimize(model, "-o", self.folder / "out.onnx", "--shape", f"x:{name},2")

    def test_a_branch_that_constants_decide_is_written_in_its_place_at_any_depth(self):
        """The conditions are computed, the inner one from a constant of the outer branch."""
        def boolean(name, value):
            return tiny_models.content(8, name) + tiny_models.number(2, 9) + tiny_models.content(9, bytes([value]))

        def constant(name, value):
            tensor = tiny_models.content(1, "value") + tiny_models.content(5, boolean("", value))
            return node("Constant", [], [name], attributes=[tensor + tiny_models.number(20, 4)])

        def choice(condition, output, then_nodes, else_nodes):
            branches = [tiny_models.graph_attribute(f"{which}_branch", nodes, [(f"{output}_{which}", VECTOR)])
                        for which, nodes in (("then", then_nodes), ("else", else_nodes))]
            return node("If", [condition], [output], attributes=branches)

        inner = choice("n", "i", [node("Tanh", ["x"], ["i_then"])], [node("Sin", ["x"], ["i_else"])])
        outer = choice("m", "o", [node("Cos", ["x"], ["o_then"])],
                       [constant("k", 0), node("Not", ["k"], ["n"]), inner, node("Relu", ["i"], ["o_else"])])
        model = self.write("nested.onnx", [node("Not", ["c"], ["m"]), outer, node("Neg", ["o"], ["y"])],
                           [("x", VECTOR)], [("y", VECTOR)], initializers=[boolean("c", 1)])
        for command in (("optimize", "--no-measure"), ("simplify",)):
            done = self.run_it(*command, model, "-o", self.folder / "out.onnx", "--no-second-judge", "--json")
            figures = json.loads(done.stdout)["models"][0]
            self.assertEqual((figures["status"], figures["opaque_operators"]), ("optimized", 0), command)
            written = (self.folder / "out.onnx").read_bytes()
            for op, there in ((b"Tanh", True), (b"Relu", True), (b"Sin", False), (b"Cos", False), (b"If", False)):
                self.assertEqual(op in written, there, (command, op))

    def test_batch_normalization_is_folded_in_double(self):
        f64, image = 11, tensor_type(11, [1, 2, 3, 3])

        def weights(name, sizes, values):
            dimensions = b"".join(tiny_models.number(1, size) for size in sizes)
            return (dimensions + tiny_models.number(2, f64) + tiny_models.content(8, name) +
                    tiny_models.content(9, struct.pack(f"<{len(values)}d", *values)))

        nodes = [node("Conv", ["x", "w"], ["a"]), node("BatchNormalization", ["a", "s", "b", "m", "v"], ["y"])]
        model = self.write("normalized.onnx", nodes, [("x", image)], [("y", image)], initializers=[
            weights("w", [2, 2, 1, 1], (1, 2, 3, 4)),
            *(weights(name, [2], (1.5, 2.5)) for name in "sbmv")])
        figures = self.optimize(model, "-o", self.folder / "out.onnx")
        self.assertEqual((figures["status"], figures["after"]["operators"]), ("optimized", 1))

    # ---- How much is said

    def test_quiet_says_what_fails_only_and_verbose_every_step(self):
        models = [self.one_relu(f"{i}.onnx") for i in range(2)]
        out = self.folder / "out"
        quiet = self.run_it("optimize", *models, "--out-dir", out, "--quiet", "--no-measure")
        self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr), (0, "", ""))
        damaged = self.folder / "damaged.onnx"
        damaged.write_bytes(b"no model")
        self.assertIn("damaged.onnx", self.run_it("optimize", damaged, "--out-dir", out, "-q").stderr)
        verbose = self.run_it("simplify", models[0], "-o", self.folder / "out.onnx", "--verbose")
        self.assertIn("0.onnx: loading rules\n", verbose.stderr)
        self.assertEqual(self.run_it("optimize", *models, "--out-dir", out, "-q", "-v").returncode, 2)

    def test_a_model_may_come_and_go_on_standard_streams(self):
        model = self.write("negations.onnx", [node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["b"]),
                                              node("Relu", ["b"], ["y"])], [("x", VECTOR)], [("y", VECTOR)])
        self.optimize(model, "-o", self.folder / "out.onnx")
        piped = subprocess.run([LEMMA, "simplify", "-", "-o", "-"], input=model.read_bytes(), capture_output=True,
                               timeout=120)
        self.assertEqual(piped.returncode, 0, piped.stderr)
        self.assertEqual(piped.stdout, (self.folder / "out.onnx").read_bytes())
        for words in (["-o", "-", "--json"], [str(model), "-o", "-"]):
            self.assertEqual(self.run_it("simplify", "-", *words).returncode, 2)
        empty = subprocess.run([LEMMA, "simplify", "-", "-o", "-"], input=b"", capture_output=True, timeout=120)
        self.assertEqual((empty.returncode, empty.stdout), (2, b""))

    def test_outputs_that_are_not_wanted_are_left_out(self):
        nodes = [node("Neg", ["x"], ["y"]), node("Relu", ["x"], ["z"]), node("Tanh", ["x"], ["w"])]
        model = self.write("outputs.onnx", nodes, [("x", VECTOR)], [(name, VECTOR) for name in "yzw"])
        out = self.folder / "out.onnx"
        self.optimize(model, "-o", out, "--keep-output", "w", "--outputs", "y")
        for op, there in ((b"Neg", True), (b"Tanh", True), (b"Relu", False)):
            self.assertEqual(op in out.read_bytes(), there)
        done = self.run_it("optimize", model, "-o", out, "--keep-output", "v")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no graph output is named 'v'", done.stderr)

    def test_a_model_is_written_for_another_operator_set(self):
        """Squeeze takes its axes from an input since 13, from an attribute before."""
        nodes = [node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["b"]), node("Unsqueeze", ["b", "axis"], ["c"]),
                 node("Relu", ["c"], ["y"])]
        model = self.write("newer.onnx", nodes, [("x", VECTOR)], [("y", tensor_type(F32, [1, 2]))],
                           initializers=[tiny_models.tensor("axis", [1], [0], tiny_models.I64)])
        out = self.folder / "out.onnx"
        standard = tiny_models.content(1, "")
        for version, axes in ((11, True), (13, False), (21, False)):
            for words in ((), ("--strategy", "none")):
                figures = self.optimize(model, "-o", out, "--target-opset", version, *words)
                self.assertIn(figures["status"], ("optimized", "unchanged"), figures["message"])
                written = out.read_bytes()
                sets = [tiny_models.content(8, each + tiny_models.number(2, version)) for each in (standard, b"")]
                self.assertTrue(any(each in written for each in sets), version)
                self.assertEqual(b"axes" in written, axes, version)
        # Unchanged otherwise, but not the same bytes.
        relu = self.one_relu()
        self.assertEqual(self.optimize(relu, "-o", out, "--target-opset", 20)["status"], "unchanged")
        self.assertNotEqual(out.read_bytes(), relu.read_bytes())
        self.assertEqual(self.run_it("diff", relu, out, "--json").returncode, 4)
        self.assertEqual(self.optimize(relu, "-o", out, "--target-opset", 17)["status"], "unchanged")
        self.assertEqual(out.read_bytes(), relu.read_bytes())

    def test_what_cannot_be_written_for_another_operator_set_is_refused(self):
        out = self.folder / "out.onnx"
        bits = self.write("bits.onnx", [node("BitwiseNot", ["x"], ["y"])], [("x", tensor_type(tiny_models.I64, [2]))],
                          [("y", tensor_type(tiny_models.I64, [2]))])
        bits.write_bytes(bits.read_bytes().replace(tiny_models.number(2, 17), tiny_models.number(2, 18)))
        body = [tiny_models.graph_attribute(f"{which}_branch", [node(op, ["x"], [which])], [(which, VECTOR)])
                for which, op in (("then", "Tanh"), ("else", "Neg"))]
        branch = self.write("if.onnx", [node("If", ["c"], ["y"], attributes=body)],
                            [("x", VECTOR), ("c", tensor_type(9, []))], [("y", VECTOR)])
        for model, answer in ((bits, "BitwiseNot"), (branch, "If is written as it was read")):
            done = self.run_it("optimize", model, "-o", out, "--target-opset", "11", "--no-measure")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(answer, done.stderr)
            self.assertEqual(out.read_bytes(), model.read_bytes())  # as it was
        self.assertEqual(self.run_it("optimize", branch, "-o", out, "--target-opset", "6").returncode, 2)

    def test_a_terminal_shows_how_far_a_batch_has_come(self):
        models = [str(self.one_relu(f"{i}.onnx")) for i in range(3)]
        terminal, program = pty.openpty()
        running = subprocess.Popen([LEMMA, "simplify", *models, "--out-dir", self.folder / "out", "--jobs", "1"],
                                   stdout=subprocess.DEVNULL, stderr=program)
        os.close(program)
        said = b""
        try:
            while piece := os.read(terminal, 4096):
                said += piece
        except OSError:  # the other end is closed
            pass
        self.assertEqual(running.wait(timeout=60), 0)
        self.assertRegex(said, rb"\[\.{20}\] 0/3, \d+ s .*0\.onnx: loading rules")
        self.assertRegex(said, rb"\[#{13}\.{7}\] 2/3, about \d+ s left .*2\.onnx: ")

    def test_sizes_for_the_check_leave_the_model_as_it_is(self):
        """A window of 3,000 positions is larger than any size that is tried."""
        signal_type = tensor_type(F32, ["batch", 1, "length"])
        window = [integers_attribute("kernel_shape", [3000])]
        nodes = [node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["b"]),
                 node("AveragePool", ["b"], ["y"], attributes=window)]
        model = self.write("window.onnx", nodes, [("x", signal_type)], [("y", tensor_type(F32, ["batch", 1, "left"]))])
        out = self.folder / "out.onnx"
        figures = self.optimize(model, "-o", out)
        self.assertEqual(figures["status"], "unchanged")
        self.assertIn("the check is impossible", figures["message"])
        for shape in ("x:2,1,3100", "x:2x1x3100"):
            self.assertEqual(self.optimize(model, "-o", out, "--sample-shape", shape)["status"], "optimized")
            self.assertIn(b"length", out.read_bytes())
        for wrong, answer in (("z:1", "no graph input is named 'z'"), ("x:1,1", "does not fit"),
                              ("x:1,2,3100", "1 cannot be 2"), ("x:N,1,3100", "are numbers")):
            done = self.run_it("optimize", model, "-o", out, "--sample-shape", wrong)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn(answer, done.stderr)

    def test_a_window_tells_how_large_inputs_of_the_check_must_be(self):
        signal_type = tensor_type(F32, ["batch", "length"])
        nodes = [node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["b"]), node("Unsqueeze", ["b", "axis"], ["c"]),
                 node("Conv", ["c", "w"], ["y"])]
        model = self.write("filter.onnx", nodes, [("x", signal_type)],
                           [("y", tensor_type(F32, ["batch", 1, "left"]))],
                           initializers=[tiny_models.tensor("w", [1, 1, 512], range(512)),
                                         tiny_models.tensor("axis", [1], [1], tiny_models.I64)])
        self.assertEqual(self.optimize(model, "-o", self.folder / "out.onnx")["status"], "optimized")

    # ---- What is said, and what is written, when something does not go well

    def test_a_model_that_cannot_be_optimized_is_in_the_folder_all_the_same(self):
        newer = tiny_models.number(1, 1000) + self.one_relu().read_bytes()[2:]  # its IR version
        strange = self.folder / "newer.onnx"
        strange.write_bytes(newer)
        damaged = self.folder / "damaged.onnx"
        damaged.write_bytes(b"no model")
        out = self.folder / "out"
        done = self.run_it("optimize", strange, damaged, self.one_relu(), "--out-dir", out, "--json")
        self.assertEqual(done.returncode, 3)
        answers = {pathlib.Path(each["model"]).stem: each for each in json.loads(done.stdout)["models"]}
        self.assertEqual((out / "newer.onnx").read_bytes(), newer)
        self.assertEqual(answers["newer"]["status"], "failed")
        self.assertEqual(answers["newer"]["output"], str(out / "newer.onnx"))
        self.assertIn("written as it was", done.stderr)
        self.assertTrue((out / "relu.onnx").exists())
        self.assertFalse((out / "damaged.onnx").exists())
        self.assertIsNone(answers["damaged"]["output"])

    def test_a_model_whose_time_is_up_is_written_as_it_was(self):
        model = self.one_relu()
        done = self.run_it("optimize", model, "-o", self.folder / "out.onnx", "--model-time-limit", "0.001")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("timed out", done.stderr)
        self.assertEqual((self.folder / "out.onnx").read_bytes(), model.read_bytes())

    def test_what_is_interrupted_has_not_crashed(self):
        models = [self.one_relu(f"{i}.onnx") for i in range(3)]
        call = [LEMMA, "optimize", *models, "--out-dir", self.folder / "out", "--json"]
        running = subprocess.Popen(list(map(str, call)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        children = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children")
        while not children.read_text():  # a child reads the rules for longer than it takes to see it
            time.sleep(0.001)
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        output, said = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 3)
        self.assertNotIn("crashed", said)
        statuses = [each["status"] for each in json.loads(output)["models"]]
        self.assertEqual(statuses, ["interrupted"] * 3, said)

    def test_a_path_may_be_any_bytes(self):
        folder = os.fsencode(self.folder)
        odd = folder + b"/mod\xe8le \xff.onnx"
        with open(odd, "wb") as file:
            file.write(self.one_relu().read_bytes())
        done = subprocess.run([LEMMA, "optimize", odd, "-o", folder + b"/out\xfe.onnx"], capture_output=True,
                              timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(folder + b"/out\xfe.onnx"))

    def test_mistakes_are_answered_in_short_lines(self):
        model = self.one_relu()
        for words, answer in (
                ("frobnicate", ", inspect, "),
                ("", ", inspect, "),
                ("rules frobnicate", "there is no command 'lemma rules frobnicate'"),
                (f"optimize {model} -o out.onnx --budget 0", "'0' is no number above 0"),
                (f"optimize {model} -o out.onnx --check x", "'x' is no number above 0"),
                (f"optimize {model} -o out.onnx --overwrite-input-shape x:1,2", "is --shape NAME:1,3,224,224 here"),
                (f"simplify {model} -o out.onnx --model_check", "--samples N sets the number of inputs"),
                ("rules verify --threads -1", "'-1' is no number of threads from 0"),
                ("rules build --set taso -o out --threads x", "'x' is no number of threads from 0"),
                ("rules build --set taso -o out --max-ops 0", "'0' is no number above 0"),
                ("rules minimize out.rules --threads -2", "'-2' is no number of threads from 0"),
                ("rules minimize out.rules --nodes 0", "'0' is no number above 0"),
                ("rules obligations --threads -1", "'-1' is no number of threads from 0"),
                (f"optimize {model} -o out.onnx --threads -1", "'-1' is no number of threads from 0")):
            done = self.run_it(*words.split())
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(answer, done.stderr)
            self.assertNotIn("optimize-worker", done.stderr)
            self.assertLess(len(done.stderr), 240)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
