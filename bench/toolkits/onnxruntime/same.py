import sys

import numpy
import onnxruntime

sessions = [onnxruntime.InferenceSession(file) for file in (sys.argv[1], sys.argv[3])]
random = numpy.random.default_rng(0)
feeds = {value.name: random.standard_normal(value.shape).astype(numpy.float32) for value in sessions[0].get_inputs()}
first, second = (session.run(None, feeds) for session in sessions)
print(all(numpy.allclose(a, b) for a, b in zip(first, second)))
