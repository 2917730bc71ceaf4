"""Compiled models beside ONNX Runtime, as a user calls them. Run by package_test.py in an environment with the module."""

import gc
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from unittest import mock

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import lemma

MODEL = pathlib.Path(os.environ["LEMMA_EXAMPLE"])
F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def model(nodes, inputs, outputs, **weights):
    declared = [[helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in values]
                for values in (inputs, outputs)]
    graph = helper.make_graph(nodes, "graph", *declared,
                              initializer=[numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def dense(rows):
    """Two outputs of a product; `rows` may be a name."""
    weights = np.random.default_rng(1).standard_normal((6, 5), np.float32)
    return model([node("MatMul", "x w", "p"), node("Softmax", "p", "s", axis=-1), node("ReduceSum", "p", "r", keepdims=0)],
                 [("x", F32, [rows, 6])], [("s", F32, [rows, 5]), ("r", F32, [])], w=weights)


def with_nonzero(rows=1000):
    """A program, NonZero with what depends on its sizes, and a program behind both."""
    return model([node("Tanh", "x", "t"), node("NonZero", "t", "n"), node("Shape", "n", "k"),
                  node("Cast", "k", "f", to=F32), node("ReduceSum", "f", "c", keepdims=0), node("Exp", "t", "e"),
                  node("Mul", "e c", "m"), node("Sigmoid", "m", "y")],
                 [("x", F32, [rows, 400])], [("y", F32, [rows, 400]), ("n", I64, [2, "K"])])


def with_sequence():
    """A sequence in the middle, which passes between operators that no program computes."""
    return model([node("Relu", "x", "a"), node("SequenceConstruct", "a x", "q"), node("Neg", "a", "b"),
                  node("SequenceInsert", "q b p", "q2"), node("ConcatFromSequence", "q2", "c", axis=0), node("Abs", "x", "y")],
                 [("x", F32, [1000, 1000]), ("p", I64, [])], [("y", F32, [1000, 1000]), ("c", F32, ["K", 1000])])


def with_loop():
    """Adds rows to a sum until it is large, at most n times, and says what it was; a branch turns the sum around."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Add", "s x", "t"), node("ReduceMax", "t", "most", keepdims=0), node("Less", "most limit", "on"),
         node("Identity", "most", "seen")],
        "body", [value("i", I64, []), value("go", TensorProto.BOOL, []), value("s", F32, ["N", 6])],
        [value("on", TensorProto.BOOL, []), value("t", F32, ["N", 6]), value("seen", F32, [])])
    branches = {f"{name}_branch": helper.make_graph([node(kind, "l", f"b_{name}")], name, [], [value(f"b_{name}", F32, ["N", 6])])
                for name, kind in (("then", "Neg"), ("else", "Abs"))}
    return model([node("Loop", "n true x", "l seen", body=body), node("If", "turn", "y", **branches)],
                 [("n", I64, []), ("turn", TensorProto.BOOL, []), ("x", F32, ["N", 6]), ("limit", F32, [])],
                 [("y", F32, ["N", 6]), ("seen", F32, ["K"])], true=np.array(True))


def arrays(rows=4, seed=0):
    return {"x": np.random.default_rng(seed).standard_normal((rows, 6), np.float32)}


class Foreign:
    """An array that is none of numpy, and supports DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, *words, **more):
        return self.array.__dlpack__(*words, **more)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("c++"):
            raise unittest.SkipTest("there is no compiler")
        cls.cache = tempfile.TemporaryDirectory(prefix="lemma-cache-")
        cls.addClassCleanup(cls.cache.cleanup)
        patched = mock.patch.dict(os.environ, LEMMA_CACHE=cls.cache.name)
        patched.start()
        cls.addClassCleanup(patched.stop)

    def reference(self, proto):
        proto = proto.SerializeToString() if not isinstance(proto, (bytes, str)) else proto
        return onnxruntime.InferenceSession(proto, providers=["CPUExecutionProvider"])

    def assert_same(self, results, expected):
        self.assertEqual(len(results), len(expected))
        for got, wanted in zip(results, expected):
            self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape))
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)

    def test_outputs_are_those_of_onnx_runtime(self):
        feeds = {"x": np.random.default_rng(0).standard_normal((4, 16), np.float32)}
        for given in (MODEL, str(MODEL), MODEL.read_bytes(), onnx.load(MODEL)):
            with lemma.compile(given, threads=1) as session:
                self.assertEqual(session.inputs, [lemma.Value("x", "float32", (4, 16))])
                self.assertEqual(session.outputs, [lemma.Value("y", "float32", (4, 8))])
                self.assert_same(session.run(None, feeds), self.reference(str(MODEL)).run(None, feeds))

    def test_outputs_by_name_and_in_arrays_of_the_caller(self):
        proto = dense(4)
        with lemma.compile(proto, threads=1) as session:
            s, r = self.reference(proto).run(["s", "r"], arrays())
            self.assert_same(session.run(["r", "s"], arrays()), [r, s])
            self.assert_same(session.run(["r"], arrays()), [r])
            place = np.zeros((4, 5), np.float32)
            results = session.run(None, arrays(), outputs={"s": place})
            self.assertIs(results[0], place)
            self.assert_same([place, results[1]], [s, r])

    def test_arrays_of_others_and_arrays_that_are_no_rows(self):
        proto = dense(4)
        expected = self.reference(proto).run(None, arrays())
        x = arrays()["x"]
        aligned = np.zeros(4 * 6 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(4, 6)
        aligned[...] = x
        with lemma.compile(proto, threads=1) as session:
            for given in (Foreign(x), np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], aligned):
                self.assert_same(session.run(None, {"x": given}), expected)
            [s, _] = session.run(None, {"x": x})
            np.testing.assert_array_equal(np.from_dlpack(s), s)

    def test_contiguous_inputs_are_not_copied(self):
        with lemma.compile(dense(4), threads=1) as session:
            library = session._static.library
            x = arrays()["x"]
            self.assertIs(library.checked_input(library.inputs[0], {"x": x}), x)

    def test_wrong_calls_are_said_in_one_line(self):
        x = arrays()["x"]
        for rows in (4, "N"):  # compiled before the call, and at the call
            with lemma.compile(dense(rows), threads=1, background=False) as session:
                for names, feeds, outputs, part in (
                        (None, {}, None, "input 'x' is missing"),
                        (None, {"x": x, "z": x}, None, "there is no input 'z'"),
                        (["z"], {"x": x}, None, "there is no output 'z'"),
                        (None, {"x": x.astype(np.float64)}, None, "is float64[4, 6], and has to be float32["),
                        (None, {"x": x[:, :3].copy()}, None, "is float32[4, 3], and has to be float32["),
                        (None, {"x": x[0]}, None, "is float32[6], and has to be float32["),
                        (None, {"x": [1.0]}, None, "input 'x' is no array: list"),
                        (None, {"x": x}, {"s": np.zeros(3, np.float32)}, "the array for output 's'")):
                    with self.subTest(part, rows=rows), self.assertRaises(lemma.InputError) as raised:
                        session.run(names, feeds, outputs=outputs)
                    self.assertIn(part, str(raised.exception))
                    self.assertNotIn("\n", str(raised.exception))
        with self.assertRaises(lemma.InputError):
            lemma.compile(b"no model", threads=1)
        with self.assertRaises(lemma.InputError):
            lemma.compile(MODEL, threads=-1)

    def test_a_closed_session_does_not_run(self):
        for rows in (4, "N"):
            session = lemma.compile(dense(rows), threads=1, background=False)
            session.run(None, arrays())
            session.close()
            session.close()
            with self.assertRaises(lemma.Error):
                session.run(None, arrays())

    def test_eight_threads_on_a_session(self):
        proto = dense("N")
        reference = self.reference(proto)
        with lemma.compile(proto, threads=2, background=False, keep=2, runs_at_once=3) as session:
            failures = []

            def call(thread):
                try:
                    for step in range(60):
                        feeds = arrays(2 + (thread + step // 20) % 3, seed=100 * thread + step)
                        self.assert_same(session.run(None, feeds), reference.run(None, feeds))
                except BaseException as error:  # of any kind: it is shown below
                    failures.append(error)

            threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(600)
            self.assertEqual(failures, [])
            self.assertLessEqual(len(session._by_sizes), 2)

    def test_a_pool_is_bounded(self):
        with lemma.compile(dense(4), threads=1, runs_at_once=2) as session:
            library = session._static.library
            taken = [library._acquire(), library._acquire()]
            ended = threading.Event()
            waiting = threading.Thread(target=lambda: (session.run(None, arrays()), ended.set()))
            waiting.start()
            self.assertFalse(ended.wait(0.3))
            for instance in taken:
                library._release(instance)
            self.assertTrue(ended.wait(60))
            waiting.join()
            self.assertEqual(library._made, 2)

    def test_operators_in_the_middle_run_in_onnx_runtime(self):
        for proto, name in ((with_nonzero(), "NonZero"), (with_sequence(), "SequenceInsert")):
            with self.subTest(name):
                shape = [size.dim_value for size in proto.graph.input[0].type.tensor_type.shape.dim]
                feeds = {"x": np.random.default_rng(0).standard_normal(shape, np.float32)}
                if len(proto.graph.input) > 1:
                    feeds["p"] = np.array(1, np.int64)
                with self.assertWarnsRegex(lemma.FallbackWarning, name):
                    session = lemma.compile(proto, threads=1)
                with session, warnings.catch_warnings():
                    warnings.simplefilter("error")
                    kinds = [type(part).__name__ for part in session._static.parts]
                    self.assertIn("_ProgramPart", kinds)
                    self.assertIn("_RuntimePart", kinds)
                    expected = self.reference(proto).run(None, feeds)
                    self.assert_same(session.run(None, feeds), expected)
                    places = {output.name: np.zeros_like(array) for output, array in zip(session.outputs, expected)}
                    results = session.run(None, feeds, outputs=places)
                    self.assert_same(results, expected)
                    for output, array in zip(session.outputs, results):
                        self.assertIs(array, places[output.name])

    def test_a_small_model_with_such_operators_runs_in_onnx_runtime(self):
        proto = with_nonzero(2)
        feeds = {"x": np.random.default_rng(0).standard_normal((2, 400), np.float32)}
        expected = self.reference(proto).run(None, feeds)
        with self.assertWarnsRegex(lemma.FallbackWarning, "NonZero.*; the others have too little to do"):
            session = lemma.compile(proto, threads=1)
        with session, warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual([type(part).__name__ for part in session._static.parts], ["_RuntimePart"])
            self.assert_same(session.run(None, feeds), expected)
            self.assert_same(session.run(["n"], feeds), expected[1:])
            self.assertEqual(session.run([], feeds), [])
            self.assert_same(session.run(["n", "y"], {"x": Foreign(feeds["x"])}), expected[::-1])
            places = {"y": np.zeros_like(expected[0])}
            self.assertIs(session.run(["y"], feeds, outputs=places)[0], places["y"])
            for wrong, said in (({}, "input 'x' is missing"), ({"x": feeds["x"][:1]}, "has to be float32"),
                                ({"x": feeds["x"], "z": 1}, "there is no input 'z'")):
                with self.assertRaisesRegex(lemma.InputError, said):
                    session.run(None, wrong)
            with self.assertRaisesRegex(lemma.InputError, "there is no output 'z'"):
                session.run(["z"], feeds)
        with self.assertRaisesRegex(lemma.InternalError, "closed"):
            session.run(None, feeds)

    def test_loops_and_branches_are_in_the_program(self):
        proto, reference = with_loop(), self.reference(with_loop())
        with warnings.catch_warnings():
            warnings.simplefilter("error", lemma.FallbackWarning)
            with lemma.compile(proto, threads=2, background=False, most_steps=20) as session:
                for rows, steps, turn, limit in ((4, 5, True, 1e9), (4, 0, False, 1e9), (3, 1000, False, 20), (4, -3, True, 0),
                                                 (4, 20, True, 1e9), (3, 7, True, -1e9)):
                    feeds = {"n": np.array(steps), "turn": np.array(turn), "limit": np.array(limit, np.float32), **arrays(rows)}
                    self.assert_same(session.run(None, feeds), reference.run(None, feeds))
                feeds["n"], feeds["limit"] = np.array(21), np.array(1e9, np.float32)
                with self.assertRaisesRegex(lemma.Error, "takes more than 20 steps"):
                    session.run(None, feeds)

    def test_without_onnx_runtime_the_operators_are_named(self):
        with mock.patch.object(lemma._session, "_runtime", lambda: None):
            with self.assertRaisesRegex(lemma.UnsupportedError, "NonZero.*ONNX Runtime is not installed"):
                lemma.compile(with_nonzero(), threads=1)
            with lemma.compile(dense("N"), threads=1) as session:  # waits for its programs
                self.assertEqual(session.run(None, arrays(3))[0].shape, (3, 5))
                self.assertEqual(len(session._by_sizes), 1)

    def test_open_sizes_are_compiled_beside_the_calls(self):
        proto = dense("N")
        reference = self.reference(proto)
        with lemma.compile(proto, threads=1, keep=2) as session:
            self.assertEqual(session.inputs, [lemma.Value("x", "float32", ("N", 6))])
            self.assert_same(session.run(None, arrays(3)), reference.run(None, arrays(3)))
            self.assertEqual(len(session._by_sizes), 0)  # ONNX Runtime has answered
            with session._compiling:  # until the thread has ended
                pass
            self.assertEqual(list(session._by_sizes), [((3, 6),)])
            self.assert_same(session.run(None, arrays(3)), reference.run(None, arrays(3)))

    def test_random_sizes_keep_a_bounded_number_of_programs(self):
        proto = dense("N")
        reference = self.reference(proto)
        chosen = random.Random(1)
        maps = pathlib.Path("/proc/self/maps")
        gc.collect()  # errors that other tests have caught hold their sessions
        with lemma.compile(proto, threads=1, keep=2, background=False) as session:
            for _ in range(12):
                feeds = arrays(chosen.randint(1, 5))
                self.assert_same(session.run(None, feeds), reference.run(None, feeds))
                self.assertLessEqual(len(session._by_sizes), 2)
                loaded = {line.split()[-1] for line in maps.read_text().splitlines() if self.cache.name in line}
                self.assertLessEqual(len(loaded), 2)
        gc.collect()
        self.assertNotIn(self.cache.name, maps.read_text())

    def test_sizes_may_be_given(self):
        with lemma.compile(dense("N"), threads=1, shapes={"x": [3, 6]}) as session:
            self.assertEqual(session.inputs, [lemma.Value("x", "float32", (3, 6))])
            with self.assertRaises(lemma.InputError):
                session.run(None, arrays(4))

    def test_a_cache_is_used_again_and_a_private_one_goes(self):
        steps = []
        with lemma.compile(dense(7), threads=1, progress=lambda step: steps.append(step.text)) as session:
            kept = pathlib.Path(session._static.library._functions._name)
        self.assertTrue(kept.exists())
        self.assertEqual(steps, ["reading", "planning", "compiling"])
        with lemma.compile(dense(7), threads=1) as session:
            self.assertEqual(session._static.library._functions._name, str(kept))
        with lemma.compile(dense(7), threads=1, cache=False) as session:
            private = pathlib.Path(session._static.library._functions._name)
            self.assertNotEqual(private, kept)
            session.run(None, arrays(7))
        self.assertFalse(private.exists())

    def test_a_compilation_is_cancelled(self):
        cancel = threading.Event()
        with self.assertRaises(lemma.Cancelled):
            lemma.compile(dense(4), cache=False, cancel=cancel, progress=lambda step: cancel.set())
        task = lemma.start(lemma.compile, dense(4), cache=False)
        self.assertTrue(list(task))  # its steps
        with task.result() as session:
            self.assertEqual(session.run(["s"], {"x": np.zeros((4, 6), np.float32)})[0].shape, (4, 5))

    def test_a_session_runs_after_a_fork(self):
        with lemma.compile(dense(4), threads=2) as session:
            expected = session.run(None, arrays())
            child = os.fork()
            if child == 0:
                same = all(np.array_equal(a, b) for a, b in zip(session.run(None, arrays()), expected))
                os._exit(0 if same else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assert_same(session.run(None, arrays()), expected)

    def test_the_module_does_not_need_numpy(self):
        code = "import sys; sys.modules['numpy'] = None\nimport lemma\ntry:\n    lemma.compile('x')\nexcept lemma.UnsupportedError as e:\n    print(e)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout.strip(), "lemma.compile needs numpy", done.stderr)


if __name__ == "__main__":
    unittest.main()
