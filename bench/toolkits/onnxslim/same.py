import sys

import onnx
from onnxslim.utils import check_onnx, check_result, gen_onnxruntime_input_data, onnxruntime_inference

first, second = onnx.load(sys.argv[1]), onnx.load(sys.argv[3])
inputs = gen_onnxruntime_input_data(first)
print(check_result(onnxruntime_inference(first, inputs)[0], onnxruntime_inference(second, inputs)[0]))
