"""Computes two ONNX models on the same inputs with ONNX Runtime and compares them.

`lemma optimize` starts this program while it searches, so that importing ONNX Runtime costs no time, and
asks it about the model that it is about to write. Both speak lines of JSON. The first line says whether
ONNX Runtime is there. Then one line is read for each request, and one written for its answer:

  {"original": FILE, "result": FILE, "data": FILE, "threads": 0, "relative": 1e-4, "absolute": 1e-5,
   "of_largest": false, "sets": [[{"name": "x", "type": "float32", "shape": [2, 3], "offset": 0}]]}
  {"verdict": "agrees" | "differs" | "not available", "message": "...", "sets": 3, "max_error": 1e-7}

`data` holds the elements of all inputs, row-major and little-endian. The criterion is that of
search/sampled_check.h: where the original gives a finite number, the result gives one within the tolerance;
integers and booleans are equal. Inputs on which the original cannot be computed say nothing.
"""

import json
import sys


def answer(**fields):
    print(json.dumps(fields), flush=True)


def session(file, threads):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def inputs_of(tensors, data):
    feed = {}
    for tensor in tensors:
        count = 1
        for size in tensor["shape"]:
            count *= size
        elements = numpy.frombuffer(data, dtype=tensor["type"], count=count, offset=tensor["offset"])
        feed[tensor["name"]] = elements.reshape(tensor["shape"])
    return feed


def difference(name, expected, actual, request):
    """What differs, and the largest error."""
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return f"output '{name}' is {actual.dtype}{actual.shape}, not {expected.dtype}{expected.shape}", 0.0
    if expected.dtype.kind != "f":
        if numpy.array_equal(expected, actual):
            return "", 0.0
        return f"output '{name}' differs", 0.0
    wide, other = expected.astype(numpy.float64), actual.astype(numpy.float64)
    finite = numpy.isfinite(wide)
    if not finite.any():
        return "", 0.0
    wide, other = wide[finite], other[finite]
    allowed = request["absolute"] + request["relative"] * numpy.abs(wide)
    if request["of_largest"]:
        allowed = allowed + request["relative"] * numpy.abs(wide).max()
    with numpy.errstate(all="ignore"):
        error = numpy.abs(wide - other)
        wrong = ~(error <= allowed)
    largest = float(error[numpy.isfinite(error)].max(initial=0.0))
    if not wrong.any():
        return "", largest
    first = int(numpy.argmax(wrong))
    return f"output '{name}' has {other[first]} in place of {wide[first]}", largest


def judge(request):
    with open(request["data"], "rb") as file:
        data = file.read()
    try:
        original = session(request["original"], request["threads"])
    except Exception as error:  # whatever ONNX Runtime raises
        return {"verdict": "not available", "message": f"it cannot load the original: {one_line(error)}"}
    try:
        result = session(request["result"], request["threads"])
    except Exception as error:
        return {"verdict": "differs", "message": f"it cannot load the result: {one_line(error)}"}
    names = [output.name for output in original.get_outputs()]
    compared, largest = 0, 0.0
    for tensors in request["sets"]:
        feed = inputs_of(tensors, data)
        try:
            expected = original.run(names, feed)
        except Exception:
            continue
        try:
            actual = result.run(names, feed)
        except Exception as error:
            return {"verdict": "differs", "message": f"it cannot run the result: {one_line(error)}"}
        compared += 1
        for name, left, right in zip(names, expected, actual):
            if not isinstance(left, numpy.ndarray) or not isinstance(right, numpy.ndarray):
                continue
            message, error = difference(name, left, right, request)
            largest = max(largest, error)
            if message:
                return {"verdict": "differs", "message": message, "sets": compared, "max_error": largest}
    if compared == 0:
        return {"verdict": "not available", "message": "it cannot run the original"}
    return {"verdict": "agrees", "message": "", "sets": compared, "max_error": largest}


def one_line(error):
    return " ".join(str(error).split())[:300]


try:
    import numpy
    import onnxruntime
except ImportError as missing:
    answer(available=False, message=one_line(missing))
    sys.exit(0)
if __name__ == "__main__":
    answer(available=True, message=f"ONNX Runtime {onnxruntime.__version__}")
    for line in sys.stdin:
        answer(**judge(json.loads(line)))
