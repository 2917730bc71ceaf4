#!/usr/bin/env python3
"""Fields of IR versions 11 to 13 that older readers do not know travel with a model that is changed. Models are encoded
by hand."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tested_programs
from tiny_models import F32, content, node, number, tensor_type, value_info

LEMMA = None
VECTOR = tensor_type(F32, [2])
# Messages of onnx.proto: DeviceConfigurationProto {name, num_devices} and NodeDeviceConfigurationProto
# {configuration_id, sharding_spec {tensor_name}, pipeline_stage}.
DEVICES = content(1, "two devices") + number(2, 2)
STAGE = content(1, "two devices") + number(3, 7)
SHARDED_OUTPUT = content(1, "two devices") + content(2, content(1, "y"))
SHARDED_INPUT = content(1, "two devices") + content(2, content(1, "b"))
REMARK = content(1, "layer") + content(2, "first")


def newest_model():
    """y = Tanh(Neg(Neg(x))) in IR 13, where the node that stays has devices, and the model a configuration."""
    last = node("Tanh", ["b"], ["y"]) + content(3, "last") + content(9, REMARK)
    last += b"".join(content(10, each) for each in (STAGE, SHARDED_INPUT, SHARDED_OUTPUT))
    graph = b"".join(content(1, each) for each in (node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["b"]), last))
    graph += content(2, "newest") + content(11, value_info("x", VECTOR)) + content(12, value_info("y", VECTOR))
    graph += content(16, REMARK)
    return number(1, 13) + content(7, graph) + content(8, content(1, "") + number(2, 17)) + content(26, DEVICES)


class NewerFields(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lemma-newer-fields-")
        self.addCleanup(folder.cleanup)
        self.model = pathlib.Path(folder.name) / "model.onnx"
        self.result = pathlib.Path(folder.name) / "result.onnx"
        self.model.write_bytes(newest_model())

    def run_it(self, *words):
        done = subprocess.run([LEMMA, *map(str, words)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def assert_kept(self):
        written = self.result.read_bytes()
        self.assertEqual(written[:2], number(1, 13))
        for field in (content(26, DEVICES), content(10, STAGE), content(10, SHARDED_OUTPUT), content(9, REMARK),
                      content(16, REMARK)):
            self.assertIn(field, written)
        # The node reads x now.
        self.assertNotIn(content(10, SHARDED_INPUT), written)

    def test_they_travel_with_a_model_that_is_changed(self):
        answer = json.loads(self.run_it("optimize", self.model, "-o", self.result, "--no-measure", "--no-second-judge",
                                        "--json"))["models"][0]
        self.assertEqual(answer["status"], "optimized", answer)
        self.assertNotIn(b"Neg", self.result.read_bytes())
        self.assert_kept()

    def test_they_travel_with_a_model_that_is_cleaned(self):
        self.run_it("simplify", self.model, "-o", self.result, "--no-second-judge")
        self.assertNotIn(b"Neg", self.result.read_bytes())
        self.assert_kept()


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
