import sys

import onnx
from tvm.relax.frontend.onnx import from_onnx

from_onnx(onnx.load(sys.argv[2]))
