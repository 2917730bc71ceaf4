"""The module as a user has it: installed, without the checkout. Run by package_test.py; $LEMMA_EXAMPLE is a model."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock
from xml.etree import ElementTree

import onnx
from onnx import TensorProto, helper

import lemma

MODEL = pathlib.Path(os.environ["LEMMA_EXAMPLE"])
QUICK = {"target": "cpu", "second_judge": False, "time_limit": 20}

WRONG_RULE = """rule wrongly_negated_difference
  a : [A..]
  b : [A..]
  Neg(Sub(a, b)) => Sub(a, b)
"""
RIGHT_RULE = WRONG_RULE.replace("wrongly_", "").replace("=> Sub(a, b)", "=> Sub(b, a)")


def double_negation():
    """A model of which nothing need be computed but one Neg."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 4]) for name in "xy")
    nodes = [helper.make_node("Neg", [a], [b]) for a, b in ("xp", "pq", "qy")]
    return helper.make_model(helper.make_graph(nodes, "negations", [x], [y]), ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17)])


def long_chain(length=400):
    """On which backtracking spends minutes."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 8]) for name in "xz"]
    nodes, last = [], "x"
    for i in range(length):
        kind = ("MatMul", "Add", "Mul", "Transpose")[i % 4]
        nodes.append(helper.make_node(kind, [last] if kind == "Transpose" else [last, "z"], [f"v{i}"]))
        last = f"v{i}"
    output = helper.make_tensor_value_info(last, TensorProto.FLOAT, [8, 8])
    return helper.make_model(helper.make_graph(nodes, "chain", inputs, [output]), ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17)])


@contextlib.contextmanager
def place_for_folders():
    """Where private folders are made meanwhile, of the module and of the programs that it starts: other programs make
    theirs elsewhere."""
    with tempfile.TemporaryDirectory(prefix="place-") as place, \
            mock.patch.object(lemma._models, "_IN_MEMORY", place), \
            mock.patch.dict(os.environ, TMPDIR=place), mock.patch.object(tempfile, "tempdir", place):
        yield pathlib.Path(place)


class Optimize(unittest.TestCase):
    def check(self, model, report):
        self.assertEqual(report.status, "optimized", report.message)
        self.assertLess(report.cost_after, report.cost_before)
        self.assertLess(report.operators_after, report.operators_before)
        self.assertGreaterEqual(report.samples_compared, 1)
        self.assertTrue(report.rules_used)
        self.assertEqual(report.details["rules_used"], report.rules_used)
        onnx.checker.check_model(model, full_check=True)
        self.assertTrue(lemma.verify(MODEL, model))

    def test_path(self):
        model, report = lemma.optimize(str(MODEL), **QUICK)
        self.assertIsInstance(model, bytes)
        self.check(model, report)

    def test_path_to_path(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "result.onnx"
            path, report = lemma.optimize(MODEL, output=str(output), **QUICK)
            self.assertEqual(path, output)
            self.check(output.read_bytes(), report)
            self.assertEqual([each.name for each in pathlib.Path(folder).iterdir()], ["result.onnx"])

    def test_bytes_and_message_give_the_same(self):
        with place_for_folders() as place:
            content, report = lemma.optimize(MODEL.read_bytes(), **QUICK)
            self.check(content, report)
            message, _ = lemma.optimize(onnx.load(MODEL), **QUICK)
            self.assertEqual(list(place.iterdir()), [])
        self.assertIsInstance(message, onnx.ModelProto)
        self.assertEqual(message.SerializeToString(), onnx.load_from_string(content).SerializeToString())

    def test_options_arrive(self):
        _, report = lemma.optimize(MODEL, only_rules="no_rule_has_this_name", **QUICK)
        self.assertEqual(report.status, "unchanged")
        self.assertIn("no_rule_has_this_name", report.message)
        _, report = lemma.optimize(MODEL, strategy="none", **QUICK)
        self.assertEqual(report.strategy, "none")

    def test_shapes(self):
        dynamic = double_negation()
        for value in (*dynamic.graph.input, *dynamic.graph.output):
            value.type.tensor_type.shape.dim[0].dim_param = "n"
        fixed, _ = lemma.optimize(dynamic, shapes={"x": [5, 4]}, **QUICK)
        self.assertEqual(fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value, 5)

    def test_simplify(self):
        with_identity = double_negation()
        with_identity.graph.node[-1].output[0] = "r"
        with_identity.graph.node.append(helper.make_node("Identity", ["r"], ["y"]))
        model, report = lemma.simplify(with_identity, second_judge=False)
        self.assertLess(len(model.graph.node), len(with_identity.graph.node), report)
        self.assertTrue(lemma.verify(with_identity, model))

    def test_threads_work_at_the_same_time(self):
        ticks = []
        stop = threading.Event()

        def tick():
            while not stop.wait(0.01):
                ticks.append(time.monotonic())

        beside = threading.Thread(target=tick)
        beside.start()
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(lemma.optimize, MODEL, **QUICK)
            second = pool.submit(lemma.optimize, double_negation(), **QUICK)
            self.check(*first.result())
            self.assertEqual(len(second.result()[0].graph.node), 1, second.result()[1])
        stop.set()
        beside.join()
        self.assertGreater(len(ticks), 3)


class Progress(unittest.TestCase):
    def test_steps_arrive_in_order(self):
        steps = []
        lemma.optimize(MODEL, progress=steps.append, **QUICK)
        self.assertGreater(len(steps), 5)
        self.assertEqual(steps, sorted(steps, key=lambda step: step.seconds))
        self.assertEqual({step.model for step in steps}, {str(MODEL)})
        self.assertIn("reading", [step.text for step in steps])

    def test_an_exception_ends_the_program(self):
        def give_up(step):
            if step.text == "reading":
                raise LookupError(step.text)

        with place_for_folders() as place:
            with self.assertRaises(LookupError):
                lemma.simplify(MODEL, progress=give_up, second_judge=False)
            self.assertEqual(list(place.iterdir()), [])


class Cancel(unittest.TestCase):
    LONG = {"strategy": "backtracking", "target": "cpu", "second_judge": False, "time_limit": 120}

    def test_an_event_ends_the_call(self):
        cancel = threading.Event()

        def stop(step):
            if step.text != "reading":
                cancel.set()

        with tempfile.TemporaryDirectory() as folder, place_for_folders() as place:
            output = pathlib.Path(folder) / "result.onnx"
            before = time.monotonic()
            with self.assertRaises(lemma.Cancelled):
                lemma.optimize(long_chain(), output=output, progress=stop, cancel=cancel, **self.LONG)
            self.assertLess(time.monotonic() - before, 100)  # it would search for 120 s
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
            self.assertEqual(list(place.iterdir()), [])

    def test_an_event_that_is_set_before(self):
        cancel = threading.Event()
        cancel.set()
        for call in (lambda: lemma.simplify(MODEL, cancel=cancel), lambda: lemma.verify(MODEL, MODEL, cancel=cancel),
                     lambda: lemma.optimize_all([MODEL], cancel=cancel), lambda: lemma.Rule(RIGHT_RULE).prove(cancel=cancel)):
            with self.assertRaises(lemma.Cancelled):
                call()

    def test_an_event_that_is_never_set(self):
        model, report = lemma.optimize(MODEL, cancel=threading.Event(), **QUICK)
        self.assertEqual(report.status, "optimized")
        self.assertEqual(model, lemma.optimize(MODEL, **QUICK)[0])


class Tasks(unittest.TestCase):
    def test_steps_and_result(self):
        task = lemma.start(lemma.optimize, MODEL, **QUICK)
        texts = [step.text for step in task]
        self.assertIn("reading", texts)
        model, report = task.result()
        self.assertTrue(task.done())
        self.assertEqual(report.status, "optimized")
        self.assertEqual(texts, [step.text for step in task])  # from the first one on
        self.assertEqual(model, lemma.optimize(MODEL, **QUICK)[0])

    def test_a_task_is_cancelled(self):
        with place_for_folders() as place:
            with lemma.start(lemma.optimize, long_chain(), **Cancel.LONG) as task:
                next(iter(task))
                with self.assertRaises(TimeoutError):
                    task.result(0.01)
            self.assertTrue(task.done())
            with self.assertRaises(lemma.Cancelled):
                task.result()
            self.assertEqual(list(place.iterdir()), [])

    def test_errors_come_with_the_result(self):
        task = lemma.start(lemma.optimize, b"no model")
        list(task)
        with self.assertRaises(lemma.InputError):
            task.result()
        for wrong in (lambda: lemma.start(lemma.inspect, MODEL),
                      lambda: lemma.start(lemma.optimize, MODEL, progress=print)):
            with self.assertRaises(lemma.InputError):
                wrong()


class Pictures(unittest.TestCase):
    def check(self, pictures, titles):
        self.assertEqual([picture.title for picture in pictures], titles)
        for picture in pictures:
            root = ElementTree.fromstring(picture._repr_svg_())
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            self.assertIn(".compute", picture.svg)

    def test_of_a_result(self):
        _, report = lemma.optimize(MODEL, pictures=True, **QUICK)
        self.check(report.pictures, ["Before", "After"])
        self.assertIn("MatMul", report.pictures[0].svg)
        shown = report._repr_html_()
        self.assertEqual(shown.count("<img "), 2)
        self.assertIn(next(iter(report.rules_used)), shown)

    def test_of_a_report_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "report.json"
            _, report = lemma.optimize(MODEL, report=file, pictures=True, **QUICK)
            self.assertTrue(file.exists())
        for without in (report, lemma.optimize(MODEL, **QUICK)[1]):
            self.assertEqual(without.pictures, ())
            self.assertNotIn("<img ", without._repr_html_())

    def test_of_proofs(self):
        for verdict in lemma.verify_rules(RIGHT_RULE + "\n" + WRONG_RULE):
            self.check(verdict.pictures, ["Left side", "Right side"])
            self.assertIn("Neg", verdict.pictures[0].svg)
            self.assertEqual(verdict._repr_html_().count("<img "), 2)


class Terms(unittest.TestCase):
    def test_a_rule_of_terms(self):
        a, b = lemma.tensor("a : [A..]"), lemma.tensor("b : [A..]")
        rule = lemma.rule_of("negated_difference", -(a - b), b - a)
        self.assertEqual(rule.text, RIGHT_RULE)
        self.assertTrue(rule.prove())

    def test_attributes_results_and_lines(self):
        x, w = lemma.tensor("x : [m, k]"), lemma.tensor("weight w : [k, n]")
        parts = lemma.op.Split(lemma.op.Transpose(x @ w, perm=[1, 0]), axis=0, split=["p", "q"])
        self.assertEqual(str(parts[1] / x), "Div(Split{axis=0, split=[p, q]}(Transpose{perm=[1, 0]}(MatMul(x, w)))#1, x)")
        rule = lemma.rule_of("one_by_one", x @ w, w @ x, "where m == 1, k == 1, n == 1", both_ways=True)
        self.assertIn("  weight w : [k, n]\n  where m == 1, k == 1, n == 1\n  MatMul(x, w) = MatMul(w, x)\n", rule.text)
        self.assertTrue(rule.prove())

    def test_wrong_terms(self):
        x = lemma.tensor("x : [m, k]")
        for wrong in (lambda: lemma.tensor("[m, k]"), lambda: x @ 2, lambda: x[-1], lambda: x + lemma.tensor("x : [k, m]")):
            with self.assertRaises(lemma.InputError):
                wrong()
        with self.assertRaises(lemma.InputError) as raised:
            lemma.rule_of("no_operator", lemma.op.NoSuchOperator(x), x).prove()
        self.assertIn("NoSuchOperator", str(raised.exception))


class ManyModels(unittest.TestCase):
    def test_results_are_in_order(self):
        results = lemma.optimize_all([MODEL, double_negation(), MODEL.read_bytes()], jobs=2, **QUICK)
        self.assertEqual([type(result.model) for result in results], [bytes, onnx.ModelProto, bytes])
        self.assertTrue(all(result.error is None for result in results), results)
        self.assertEqual(len(results[1].model.graph.node), 1)
        self.assertTrue(lemma.verify(MODEL, results[2].model))

    def test_a_bad_model_does_not_concern_the_others(self):
        bad, good = lemma.simplify_all([b"no model", double_negation()], second_judge=False)
        self.assertIsInstance(bad.error, lemma.Error)
        self.assertIsNone(bad.model)
        self.assertIsNone(good.error)
        (bad,) = lemma.simplify_all([b"no model"], second_judge=False)
        self.assertIn("not an ONNX model", str(bad.error))
        with self.assertRaises(lemma.InputError):
            lemma.simplify_all([double_negation()], time_limit=-1)

    def test_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            (result,) = lemma.simplify_all([MODEL], output=folder, second_judge=False)
            self.assertEqual(result.model, pathlib.Path(folder) / MODEL.name)
            self.assertTrue(result.model.exists())
        self.assertEqual(lemma.optimize_all([]), [])
        with self.assertRaises(lemma.InputError):
            lemma.optimize_all(MODEL)


class Look(unittest.TestCase):
    def test_inspect(self):
        found = lemma.inspect(double_negation())
        self.assertEqual(found.operators, {"Neg": 3})
        self.assertEqual((found.parameters, dict(found.opaque)), (0, {}))
        self.assertEqual(found.details["operator_set"], 17)
        self.assertIn("Neg", lemma.text_of(double_negation()))

    def test_diff(self):
        other = double_negation()
        self.assertFalse(lemma.diff(double_negation(), other))
        other.graph.node[0].op_type = "Abs"
        found = lemma.diff(double_negation(), other)
        self.assertTrue(found)
        self.assertFalse(found.same_program)
        self.assertIn("operators", found.details)

    def test_profile(self):
        with tempfile.TemporaryDirectory() as folder:
            database = pathlib.Path(folder) / "times.sqlite"
            try:
                answer = lemma.profile([MODEL], database=database, time_limit=0.01)
            except lemma.UnsupportedError as error:
                self.skipTest(str(error))
            self.assertTrue(answer)


class Options(unittest.TestCase):
    """Every option of the command is an argument, or belongs to what a call is."""

    OF_THE_CALL = {"--help", "--output", "--out-dir", "--resume", "--jobs", "--json", "--quiet", "--verbose"}

    def options_of(self, command):
        program = pathlib.Path(lemma.__file__).parent / "bin" / "lemma"
        said = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout
        return {word for line in said.splitlines() if line.startswith("  -") for word in
                re.findall(r"--[a-z][a-z-]*", line[:line.find("   ", 4)] if "   " in line[4:] else line)}

    def test_every_option_is_an_argument(self):
        for command, known in (("optimize", lemma._options.OPTIMIZE_OPTIONS),
                               ("simplify", lemma._options.SIMPLIFY_OPTIONS)):
            reached = {option for option, _ in known.values()}
            self.assertEqual(self.options_of(command) - self.OF_THE_CALL, reached, command)

    def test_lists_and_flags(self):
        model = double_negation()
        model.graph.output.append(helper.make_tensor_value_info("p", TensorProto.FLOAT, [3, 4]))
        kept, _ = lemma.simplify(model, keep_outputs=["p"], second_judge=False)
        self.assertEqual([value.name for value in kept.graph.output], ["p"])
        _, report = lemma.optimize(MODEL, target_values=[2, 4], keep_original=True, **QUICK)
        self.assertTrue(report.status)
        for wrong in ({"keep_outputs": "p"}, {"shapes": [1]}):
            with self.assertRaises(lemma.InputError):
                lemma.simplify(MODEL, **wrong)
        with self.assertRaises(TypeError):
            lemma.simplify(MODEL, strategy="auto")


class TooLarge:
    """A message of more than 2 GB, as versions of protobuf have them."""

    def __init__(self, size):
        self.size = size

    def ByteSize(self):  # noqa: N802: the name is protobuf's
        if self.size is None:
            raise ValueError("too large to count")
        return self.size

    def SerializeToString(self):  # noqa: N802: the name is protobuf's
        raise ValueError("too large to write")


class Errors(unittest.TestCase):
    def test_messages_above_2_gb(self):
        for message in (TooLarge(3_000_000_000), TooLarge(None), TooLarge(1000)):
            with self.assertRaises(lemma.InputError) as raised:
                lemma.optimize(message)
            self.assertIn("paths", str(raised.exception))

    def test_text_is_that_of_the_command_line(self):
        program = pathlib.Path(lemma.__file__).parent / "bin" / "lemma"
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder) / "bad.onnx"
            bad.write_bytes(b"no model")
            said = subprocess.run([program, "optimize", bad, "-o", bad.with_name("r.onnx")], capture_output=True,
                                  text=True).stderr
            with self.assertRaises(lemma.InputError) as raised:
                lemma.optimize(bad)
            self.assertEqual(f"lemma: {raised.exception}\n", said)
            with self.assertRaises(lemma.InputError) as raised_for_bytes:
                lemma.optimize(b"no model")
            self.assertEqual(str(raised_for_bytes.exception),
                             str(raised.exception).replace(str(bad), "model.onnx"))

    def test_kinds(self):
        for error in (lemma.InputError, lemma.UnsupportedError, lemma.CheckError, lemma.InternalError):
            self.assertTrue(issubclass(error, lemma.Error))
        self.assertTrue(issubclass(lemma.InputError, ValueError))

    def test_bad_arguments(self):
        for arguments in ({"rounding_class": "sloppy"}, {"target": "abacus"}, {"shapes": {"nobody": [1]}},
                          {"time_limit": -1}, {"shapes": {"x": "1,2"}}):
            with self.subTest(arguments), self.assertRaises(lemma.InputError) as raised:
                lemma.optimize(MODEL, **arguments)
            self.assertTrue(str(raised.exception))
        with self.assertRaises(lemma.InputError):
            lemma.optimize(7)
        with self.assertRaises(lemma.InputError):
            lemma.optimize("no_such_file.onnx")

    def test_hyphen_is_no_option(self):
        with self.assertRaises(lemma.InputError) as raised:
            lemma.optimize("--help")
        self.assertIn("--help", str(raised.exception))


class Interrupt(unittest.TestCase):
    def start(self, folder, place, before=""):
        """A Python in which a call is at work for long; its private folder is in `place`."""
        model = pathlib.Path(folder) / "long.onnx"
        onnx.save(long_chain(), model)
        code = (f"import lemma, signal, sys\n{before}\n"
                f"lemma._models._IN_MEMORY = {str(place)!r}\n"
                "try:\n"
                f"  lemma.optimize(open({str(model)!r}, 'rb').read(), strategy='backtracking', target='cpu',\n"
                "                 second_judge=False, time_limit=120)\n"
                "except KeyboardInterrupt:\n"
                "  print('interrupted')\n"
                "else:\n"
                "  print('done')\n")
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)

    def test_a_killed_caller_leaves_nothing_behind(self):
        for before in ("", "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
                       "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])"):
            with self.subTest(before), tempfile.TemporaryDirectory() as folder, place_for_folders() as place:
                process = self.start(folder, place, before)
                children = self.wait_for_children(process.pid)
                process.kill()
                process.communicate(timeout=60)
                for child in children:
                    self.assertTrue(self.has_ended(child, seconds=60), child)
                # The next call removes the folder of the killed one, and not that of one that is at work.
                self.assertNotEqual(list(place.iterdir()), [])
                working = self.start(folder, place)
                self.wait_for_children(working.pid)
                kept = list(place.glob(".lemma-*"))
                lemma.optimize(double_negation(), **QUICK)
                self.assertEqual(list(place.glob(".lemma-*")), kept)
                working.kill()
                working.communicate(timeout=60)
                lemma.optimize(double_negation(), **QUICK)
                self.assertEqual(list(place.iterdir()), [])

    def test_control_c_ends_all(self):
        with tempfile.TemporaryDirectory() as folder, place_for_folders() as place:
            process = self.start(folder, place)
            children = self.wait_for_children(process.pid)
            time.sleep(1)
            self.assertNotEqual(list(place.iterdir()), [])
            process.send_signal(2)
            output, _ = process.communicate(timeout=60)  # the search alone would take twice as long
            self.assertEqual(output.strip(), "interrupted")
            for child in children:
                self.assertTrue(self.has_ended(child), child)
            self.assertEqual(list(place.iterdir()), [])

    @staticmethod
    def children_of(process):
        listed = pathlib.Path(f"/proc/{process}/task/{process}/children")
        return [int(each) for each in listed.read_text().split()]

    def wait_for_children(self, process):
        """The program and the process that it started for the model."""
        for _ in range(200):
            time.sleep(0.05)
            for child in self.children_of(process):
                if self.children_of(child):
                    return [child, *self.children_of(child)]
        self.fail("no program was started")

    @staticmethod
    def has_ended(process, seconds=2):
        for _ in range(int(50 * seconds)):
            try:
                if pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
            except (FileNotFoundError, ProcessLookupError):
                return True
            time.sleep(0.02)
        return False


class Verify(unittest.TestCase):
    def test_a_difference_is_shown(self):
        other = double_negation()
        other.graph.node[0].op_type = "Abs"
        comparison = lemma.verify(double_negation(), other)
        self.assertFalse(comparison)
        self.assertTrue(comparison.difference)
        self.assertTrue(lemma.verify(double_negation(), double_negation()))

    def test_other_interfaces_differ(self):
        other = double_negation()
        other.graph.output[0].name = other.graph.node[-1].output[0] = "elsewhere"
        self.assertIn("elsewhere", lemma.verify(double_negation(), other).difference)


class Rules(unittest.TestCase):
    def test_shipped_rules(self):
        rules = lemma.rules()
        self.assertGreater(len(rules), 500)
        self.assertEqual(len({rule.name for rule in rules}), len(rules))
        for rule in rules:
            self.assertIn(f"rule {rule.name}\n", rule.text)
            self.assertIn(rule.rounding_class, ("bitwise", "reassociation", "distributive", "rounding"))
            self.assertEqual(rule.proofs, ("certificate", "index"))

    def test_rules_with_one_proof_say_why(self):
        for rule in lemma.rules(one_proof=True):
            self.assertEqual(len(rule.proofs), 1)
            self.assertTrue(rule.reason)

    def test_verdicts(self):
        proved, refuted = lemma.verify_rules(RIGHT_RULE + "\n" + WRONG_RULE)
        self.assertEqual((proved.verdict, refuted.verdict), ("proved", "refuted"))
        self.assertIsNone(proved.counterexample)
        self.assertTrue(refuted.counterexample["difference"])

    def test_a_rule_of_ones_own(self):
        right, wrong = lemma.Rule(RIGHT_RULE), lemma.Rule(WRONG_RULE)
        proof = right.prove()
        self.assertTrue(proof)
        self.assertEqual(proof.rule, right.name)
        self.assertIn("lemma certificate", proof.certificate)
        self.assertIn(proof.certificate.rstrip("\n"), str(proof))
        self.assertIn("proved (certificate and index)", proof._repr_html_())
        refuted = wrong.prove()
        self.assertFalse(refuted)
        self.assertEqual(refuted.certificate, "")
        self.assertIn("element", str(refuted))
        self.assertIn("&gt;", wrong._repr_html_())  # =>
        for text in ("", RIGHT_RULE + "\n" + WRONG_RULE, "Neg(x) => x"):
            with self.assertRaises(lemma.InputError):
                lemma.Rule(text)

    def test_rules_without_proof_are_named(self):
        rule = "rule twice_negated_without_proof\n  x : [A..]\n  Neg(Neg(x)) => x\n"
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "mine.rules"
            file.write_text(rule)
            _, report = lemma.optimize(double_negation(), unproved=file, only_rules="twice_negated_without_proof", **QUICK)
        self.assertEqual(report.rules_without_proof, ["twice_negated_without_proof"])

    def test_no_rule(self):
        with self.assertRaises(lemma.InputError) as raised:
            lemma.verify_rules("rule half_a_rule\n")
        self.assertIn("given.rules", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
