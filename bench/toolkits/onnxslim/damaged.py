import sys

import onnxslim

onnxslim.slim(sys.argv[2])
