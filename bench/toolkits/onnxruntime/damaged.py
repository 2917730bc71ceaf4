import sys

import onnxruntime

onnxruntime.InferenceSession(sys.argv[2])
