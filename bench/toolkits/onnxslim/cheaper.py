import sys

import onnxslim

model = onnxslim.slim(sys.argv[1])
print(len(model.graph.node), "operators")
