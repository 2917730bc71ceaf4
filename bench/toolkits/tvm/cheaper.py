import sys

import onnx
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

module = relax.get_pipeline("zero")(from_onnx(onnx.load(sys.argv[1])))
calls = [binding for block in module["main"].body.blocks for binding in block.bindings if isinstance(binding.value, relax.Call)]
print(len(calls), "calls of functions")
