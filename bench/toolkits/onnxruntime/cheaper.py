import sys

import onnx
import onnxruntime

options = onnxruntime.SessionOptions()
options.optimized_model_filepath = "cheaper.onnx"
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
onnxruntime.InferenceSession(sys.argv[1], options)
print(len(onnx.load("cheaper.onnx").graph.node), "operators")
