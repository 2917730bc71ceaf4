"""ONNX Runtime as a program that `lemma` asks: it compares two models, times models, and saves what it makes of one.

`lemma` starts it early, so that importing ONNX Runtime costs no time. Both speak lines of JSON. The first line says
whether ONNX Runtime is there. Then one line is read for each request, and one written for its answer.

Inputs are sets of {"name": "x", "type": "float32", "shape": [2, 3], "offset": 0}; "data" names a file with the
elements of all of them, row-major and little-endian. In place of type and offset, a tensor of texts has {"strings":
["a"]}. Other inputs are {"sequence": [...]}, of descriptions without names, and {"nothing": true}.

  {"action": "compare", "original": FILE, "result": FILE, "data": FILE, "sets": [[INPUT]], "threads": 0,
   "relative": 1e-4, "absolute": 1e-5, "of_largest": false, "rounding": 2e-6}
  {"verdict": "agrees" | "differs" | "not available", "message": "...", "sets": 3, "max_error": 1e-7}

The criterion is that of check/sampled_check.h: where the original gives a finite number, the result gives one
within the tolerance; integers and booleans are equal. "allowances": {"y": {"relative": 1e-6, "common": 1e-7, "jump": 1e-3,
"jumps": 2}} says what output y may differ by as well (`is_within`). Inputs on which the original cannot be computed say nothing, and
nothing is said of models that differ and whose original computes something else in each run.

  {"action": "time", "models": [FILE], "data": FILE, "sets": [[INPUT]], "threads": 0, "optimized": true,
   "sessions": 2, "rounds": 20, "block_seconds": 0.002, "seconds": 3,
   "least_rounds": 1}
  {"seconds": [[SECONDS]], "failures": [TEXT], "busy": 0.3, "by_processor_time": false}

Every model is run in turn, in blocks of so many runs as take `block_seconds`, in a random order in each round; the
answer has the mean time of a run in each block. Other processes that time models are waited for, at most `seconds`.
`sets` is one set for all models, or one for each. Sessions are made anew `sessions` times, because the place of a model
in memory changes its speed. A model that cannot be run has no times, and its failure says why. After `seconds` no
further round begins once there are `least_rounds`. With one thread the clock is that of the thread, which stands while
other programs run; with more it is the clock on the wall, or, on a busy machine, the processor time of all threads.
`busy` is the share of the time in which a program that wants to run waits for a processor here, because others have it.

  {"action": "load", "models": [FILE], "threads": 0}
  {"failures": [TEXT]}

Why each model cannot be loaded, with all optimizations; empty if it can.

  {"action": "first", "model": FILE, "data": FILE, "sets": [[INPUT]], "also": [INPUT], "threads": 0, "longest_run": 0.5,
   "seconds": 3}
  {"index": 0, "message": "...", "also": true}

The first set that the model can be run on in at most `longest_run` seconds; if it takes longer on all of them, the one
that takes least; -1 if it runs on none; and what was said of the set before. After `seconds` no further set is tried.
`also` may be left out: whether a further set runs in that time too, which is tried if the first one does.

  {"action": "save", "model": FILE, "to": FILE, "threads": 0}
  {"message": ""}

Writes the graph that ONNX Runtime executes, after all of its optimizations.

  {"action": "values", "model": FILE, "data": FILE, "sets": [[INPUT]], "threads": 0}
  {"message": "", "values": {NAME: {"type": "float32", "shape": [2, 3], "integers": [1, 2] | null}}}

Runs a model without optimizing it; the elements of small tensors of integers are told.
"""

import contextlib
import fcntl
import json
import os
import random
import select
import sys
import tempfile
import threading
import time


def end_with_the_reader():
    """Ends this process when `lemma` is gone, in the middle of a request, too."""
    connection = select.poll()
    connection.register(sys.stdin.fileno(), 0)  # only that the other end is closed
    connection.poll()
    os._exit(1)


def answer(**fields):
    print(json.dumps(fields), flush=True)


def session(file, threads, optimized=False, save_to=None, spins=True):
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    # Threads that wait for work would slow down the session that runs next.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if not spins:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if save_to:
        options.optimized_model_filepath = save_to
    with as_unicode(file) as model:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@contextlib.contextmanager
def as_unicode(file):
    """ONNX Runtime takes names of files as Unicode. A model with another name gets one, beside links to all that is in
    its folder."""
    try:
        file.encode()
    except UnicodeEncodeError:
        folder, name = os.path.split(os.path.abspath(file))
        with tempfile.TemporaryDirectory(dir=os.environ.get("LEMMA_SCRATCH")) as view:
            for other in os.listdir(folder):
                os.symlink(os.path.join(folder, other), os.path.join(view, other))
            model = os.path.join(view, f"{hash(name)}.onnx")
            os.symlink(os.path.join(folder, name), model)
            yield model
    else:
        yield file


def named(value):
    """The name of a file that is no Unicode: {"bytes": "6d2e6f6e6e78ff"}."""
    return os.fsdecode(bytes.fromhex(value["bytes"])) if value.keys() == {"bytes"} else value


def contents(file):
    with open(file, "rb") as opened:
        return opened.read()


def value_of(described, data):
    if "nothing" in described:
        return None
    if "sequence" in described:
        return [value_of(element, data) for element in described["sequence"]]
    if "strings" in described:
        return numpy.array(described["strings"], dtype=object).reshape(described["shape"])
    count = 1
    for size in described["shape"]:
        count *= size
    elements = numpy.frombuffer(data, dtype=described["type"], count=count, offset=described["offset"])
    return elements.reshape(described["shape"])


def inputs_of(values, data):
    return {described["name"]: value_of(described, data) for described in values}


def scale_of(magnitudes):
    """Of an output with these elements: the largest, but at most 8 times the median of those that are not 0."""
    nonzero = magnitudes[magnitudes > 0]
    if nonzero.size == 0:
        return 0.0
    middle = nonzero.size // 2
    return min(nonzero.max(), 8 * numpy.partition(nonzero, middle)[middle])


def allowed_differences(magnitudes, request):
    """Of an output's elements: the criterion of check/tolerance.h."""
    scale, absolute = scale_of(magnitudes), request["absolute"]
    if scale > 0 and (request["rounding"] > 0 or request["of_largest"]):
        absolute *= min(1, scale)
    allowed = absolute + request["relative"] * magnitudes + request["rounding"] * scale
    return allowed + request["relative"] * magnitudes.max(initial=0) if request["of_largest"] else allowed


def moved_by_rounding(model, names, feed, expected):
    """By output, how far its elements move when the elements of the inputs change by some units of roundoff. Where large
    elements cancel, the order of a sum alone decides about as much."""
    disturbances, units = 4, 4
    generator = numpy.random.default_rng(0)
    moved = [numpy.zeros(numpy.shape(one)) for one in expected]
    for _ in range(disturbances):
        disturbed = dict(feed)
        for name, tensor in feed.items():
            if isinstance(tensor, numpy.ndarray) and tensor.dtype.kind == "f":
                change = units * numpy.finfo(tensor.dtype).eps / 2 * generator.uniform(-1, 1, tensor.shape)
                disturbed[name] = (tensor * (1 + change)).astype(tensor.dtype)
        try:
            outputs = model.run(names, disturbed)
        except Exception:  # whatever ONNX Runtime raises: nothing is excused by this run
            continue
        for index, (one, other) in enumerate(zip(expected, outputs)):
            if isinstance(one, numpy.ndarray) and one.dtype.kind == "f" and one.shape == other.shape:
                with numpy.errstate(all="ignore"):
                    distance = numpy.abs(one.astype(numpy.float64) - other.astype(numpy.float64))
                moved[index] = numpy.fmax(moved[index], numpy.where(numpy.isfinite(distance), distance, 0))
    return moved


def difference(name, expected, actual, request, moved=None):
    """What differs, and the largest error. `moved`: see moved_by_rounding; several times as much is allowed, but at most
    a hundredth of the output's scale, or the absolute tolerance: rounding excuses no more. Where elements jump between
    neighbors of a coarse grid, as those of a sigmoid near 0 do, others may jump than were seen to: 4 times as many and 2, by
    1.5 times the largest movement of elements that are not much larger (as RoundingAllowance of check/tolerance.h)."""
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
    without = allowed = allowed_differences(numpy.abs(wide), request)
    most = 0.0
    if moved is not None:
        moved, most = moved[finite], max(0.01 * scale_of(numpy.abs(wide)), request["absolute"])
        allowed = without + numpy.minimum(8 * moved, most)
    with numpy.errstate(all="ignore"):
        error = numpy.abs(wide - other)
        wrong = ~(error <= allowed)
    if moved is not None and wrong.sum() <= 4 * (moved > without).sum() + 2:
        magnitudes = numpy.abs(wide)
        order = numpy.argsort(magnitudes)
        largest_so_far = numpy.maximum.accumulate(moved[order])  # of elements that are no larger
        last_alike = numpy.searchsorted(magnitudes[order], 4 * magnitudes[wrong], side="right") - 1
        wrong[wrong] = ~(error[wrong] <= numpy.minimum(1.5 * largest_so_far[last_alike], most))
    largest = float(error[numpy.isfinite(error)].max(initial=0.0))
    if not wrong.any():
        return "", largest
    first = int(numpy.argmax(wrong))
    return f"output '{name}' has {other[first]} in place of {wide[first]}", largest


def difference_of_values(name, expected, actual, request):
    """The same for what is no tensor: sequences, maps, numbers and texts, and optional values."""
    if isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)) and len(expected) == len(actual):
        parts = [(f"{name}[{index}]", left, right) for index, (left, right) in enumerate(zip(expected, actual))]
    elif isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        parts = [(f"{name}[{key!r}]", expected[key], actual[key]) for key in expected]
    elif isinstance(expected, numpy.ndarray) and isinstance(actual, numpy.ndarray):
        return difference(name, expected, actual, request)
    elif isinstance(expected, float) and isinstance(actual, float):
        return difference(name, numpy.array(expected), numpy.array(actual), request)
    else:
        same = type(expected) is type(actual) and isinstance(expected, (str, bytes, int, type(None))) and expected == actual
        return ("" if same else f"output '{name}' differs"), 0.0
    largest = 0.0
    for part in parts:
        message, error = difference_of_values(*part, request)
        largest = max(largest, error)
        if message:
            return message, largest
    return "", largest


def is_within(expected, actual, allowed):
    """Whether a tensor differs by no more than rounding was seen to move it by elsewhere (OutputAllowance of
    check/rounding_spread.h): "relative" and "common" for each element, and "jumps" elements by "jump" in place of it."""
    if expected.dtype != actual.dtype or expected.shape != actual.shape or expected.dtype.kind != "f":
        return False
    left, right = expected.astype(numpy.float64).ravel(), actual.astype(numpy.float64).ravel()
    with numpy.errstate(all="ignore"):
        error = numpy.abs(left - right) - allowed["relative"] * numpy.abs(left)
    equal = (left == right) | (numpy.isnan(left) & numpy.isnan(right))
    jumps = ~equal & ~(error <= allowed["common"])
    return jumps.sum() <= allowed["jumps"] and bool((error[jumps] <= allowed["jump"]).all())


def is_random(model, name, first, feed, request):
    """Whether the model computes something else when it is run again.

    Few draws of few values may be equal by chance, so a fast model is run up to 16 times. A slow one is run once: telling
    a wrong result late is not telling it.
    """
    end = time.monotonic() + 0.2
    try:
        for _ in range(16):
            if difference_of_values(name, first, model.run([name], feed)[0], request)[0] != "":
                return True
            if time.monotonic() > end:
                break
        return False
    except Exception:  # whatever ONNX Runtime raises
        return False


def compare(request):
    data = contents(request["data"])
    try:
        original = session(request["original"], request["threads"])
    except Exception as error:  # whatever ONNX Runtime raises
        return {"verdict": "not available", "message": f"it cannot load the original: {one_line(error)}"}
    try:
        result = session(request["result"], request["threads"])
    except Exception as error:
        return {"verdict": "differs", "message": f"it cannot load the result: {one_line(error)}"}
    names = [output.name for output in result.get_outputs()]  # the original may have more
    compared, largest, random, allowances = 0, 0.0, set(), request.get("allowances", {})
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
        moved, first, different = None, "", []
        for index, (name, left, right) in enumerate(zip(names, expected, actual)):
            is_tensor = isinstance(left, numpy.ndarray) and isinstance(right, numpy.ndarray)
            message, error = difference_of_values(name, left, right, request)
            if message and is_tensor and request["rounding"] > 0 and error > 0:
                moved = moved or moved_by_rounding(original, names, feed, expected)
                message, error = difference(name, left, right, request, moved[index])
            if message and is_tensor and name in allowances and is_within(left, right, allowances[name]):
                message = ""
            # What is random says nothing, of the other outputs neither. One that differs decides.
            if name in random or (message and not first and is_random(original, name, left, feed, request)):
                random.add(name)
                continue
            largest = max(largest, error)
            if message:
                first = first or message
                different.append(name)
        if different:
            return {"verdict": "differs", "message": first, "sets": compared, "max_error": largest,
                    "different": different}
    if compared == 0:
        return {"verdict": "not available", "message": "it cannot run the original"}
    told = ", ".join(f"output '{name}' is random" for name in names if name in random)
    if names and len(random) == len(names):
        return {"verdict": "not available", "message": told}
    return {"verdict": "agrees", "message": told, "sets": compared, "max_error": largest}


def load(request):
    failures = []
    for file in request["models"]:
        try:
            session(file, request["threads"], True)
            failures.append("")
        except Exception as error:  # whatever ONNX Runtime raises
            failures.append(one_line(error) or "no reason is given")
    return {"failures": failures}


def first(request):
    data = contents(request["data"])
    end, message = time.monotonic() + request["seconds"], "there are no inputs"
    try:
        ran = session(request["model"], request["threads"])
        wanted = {value.name for value in ran.get_inputs()}
    except Exception as error:
        return {"index": -1, "message": one_line(error) or "no reason is given"}

    def seconds_on(tensors):
        """Of a run that is not the first one if that takes too long: it plans memory."""
        feed = {name: array for name, array in inputs_of(tensors, data).items() if name in wanted}
        seconds = seconds_of(ran, feed)
        return min(seconds, seconds_of(ran, feed)) if seconds > request["longest_run"] else seconds

    def runs_in_time(tensors):
        try:
            return seconds_on(tensors) <= request["longest_run"]
        except Exception:  # whatever ONNX Runtime raises
            return False

    fastest = None  # (seconds, index) of sets that take too long
    for index, tensors in enumerate(request["sets"]):
        if index > 0 and time.monotonic() > end:
            break
        try:
            seconds = seconds_on(tensors)
            if seconds <= request["longest_run"]:
                also = index == 0 and "also" in request and runs_in_time(request["also"])
                return {"index": index, "message": "", "also": also}
            fastest = min(fastest or (seconds, index), (seconds, index))
        except Exception as error:
            message = one_line(error) or "no reason is given"
    return {"index": fastest[1], "message": ""} if fastest else {"index": -1, "message": message}


def seconds_of(ran, feed):
    begin = time.perf_counter()
    ran.run(None, feed)
    return time.perf_counter() - begin


@contextlib.contextmanager
def alone(seconds):
    """Programs of one user time their models one after the other: two at once would measure each other. After so many
    seconds of waiting it is done all the same."""
    file = os.path.join(tempfile.gettempdir(), f"lemma-timing-{os.getuid()}.lock")
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)  # which also gives the lock back


class Timed:
    """One model, ready to run, its inputs and outputs bound."""

    def __init__(self, file, feed, request, by_processor_time):
        # Threads that spin take processor time for nothing.
        self.session = session(file, request["threads"], request["optimized"], spins=not by_processor_time)
        self.binding = self.session.io_binding()
        wanted = {value.name for value in self.session.get_inputs()}
        for name, array in feed.items():
            if name in wanted:
                self.binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
        for value in self.session.get_outputs():
            self.binding.bind_output(value.name)
        # The first runs plan memory and pack weights. The blocks are as long as the fastest of some runs says.
        # With one thread the time in which other programs had the processor can be left out.
        self.clock = time.thread_time if request["threads"] == 1 else \
            time.process_time if by_processor_time else time.perf_counter
        self.run_block(1)
        self.runs = 1
        fastest = min(self.run_block(1) for _ in range(3))
        if fastest < request["block_seconds"]:
            self.runs = max(1, round(request["block_seconds"] / min(fastest, self.run_block(10))))

    def run_block(self, runs):
        run, binding, clock = self.session.run_with_iobinding, self.binding, self.clock
        begin = clock()
        for _ in range(runs):
            run(binding)
        return (clock() - begin) / runs


class Load:
    """How busy the machine is: what share of its time this program waits for a processor while it computes something."""

    busy = 0.1  # from which share on times show it

    def __init__(self):
        self.waited, self.whole, self.stolen = 0.0, 0.0, stolen_time()

    def probe(self, seconds=0.006):
        begin, ran = time.monotonic(), time.thread_time()
        while time.monotonic() - begin < seconds:
            pass
        whole = time.monotonic() - begin
        self.whole += whole
        self.waited += max(0.0, whole - (time.thread_time() - ran))
        return self

    def share(self):
        stolen, whole = (now - before for now, before in zip(stolen_time(), self.stolen))
        waited = self.waited / self.whole if self.whole > 0 else 0.0
        return min(1.0, max(waited, stolen / whole if whole > 0 else 0.0))


def stolen_time():
    """What a host has taken from this virtual machine, and all time of all processors; the unit is of no importance."""
    try:
        with open("/proc/stat") as counters:
            fields = [int(field) for field in counters.readline().split()[1:9]]
        return fields[7], sum(fields)
    except (OSError, ValueError, IndexError):
        return 0, 0


def time_models(request):
    with alone(request["seconds"]):
        before = Load()
        for _ in range(5):
            before.probe()
        several = request["threads"] != 1
        timed = time_models_alone(request, several and before.share() > Load.busy)
        if several and not timed["by_processor_time"] and timed["busy"] > Load.busy:
            timed = time_models_alone(request, True)
        return timed


def time_models_alone(request, by_processor_time):
    load = Load()
    data = contents(request["data"])
    sets, models = request["sets"], request["models"]
    feeds = [inputs_of(tensors, data) for tensors in sets]
    seconds, failures = [[] for _ in models], [""] * len(models)
    order = random.Random(0)
    end, done = time.perf_counter() + request["seconds"], 0
    for _ in range(request["sessions"]):
        ready = []
        for index in order.sample(range(len(models)), len(models)):
            if failures[index]:
                continue
            try:
                feed = feeds[index if len(feeds) > 1 else 0]
                ready.append((index, Timed(models[index], feed, request, by_processor_time)))
            except Exception as error:  # whatever ONNX Runtime raises
                failures[index] = one_line(error)
        for _ in range(max(1, request["rounds"] // request["sessions"])):
            load.probe()
            for index, timed in order.sample(ready, len(ready)):
                seconds[index].append(timed.run_block(timed.runs))
            done += 1
            if time.perf_counter() > end and done >= request["least_rounds"]:
                break
        if time.perf_counter() > end and done >= request["least_rounds"]:
            break
    return {"seconds": [[] if failure else times for times, failure in zip(seconds, failures)], "failures": failures,
            "busy": load.share(), "by_processor_time": by_processor_time}


def save(request):
    try:
        session(request["model"], request["threads"], True, request["to"])
    except Exception as error:
        return {"message": one_line(error) or "no reason is given"}
    return {"message": ""}


def values(request):
    feed = inputs_of(request["sets"][0], contents(request["data"]))
    try:
        ran = session(request["model"], request["threads"])
        names = [output.name for output in ran.get_outputs()]
        wanted = {value.name for value in ran.get_inputs()}
        results = ran.run(names, {name: array for name, array in feed.items() if name in wanted})
    except Exception as error:
        return {"message": one_line(error) or "no reason is given", "values": {}}
    told = {}
    for name, array in zip(names, results):
        if isinstance(array, numpy.ndarray):
            small = array.dtype.kind in "iub" and array.size <= 4096
            told[name] = {"type": array.dtype.name, "shape": array.shape,
                          "integers": [int(element) for element in array.flat] if small else None}
    return {"message": "", "values": told}


def one_line(error):
    return " ".join(str(error).split())[:300]


# Arrays are only compared: numpy's threads for products would start, wait and cost time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
try:
    import numpy
    import onnxruntime
except ImportError as missing:
    answer(available=False, message=one_line(missing))
    sys.exit(0)
if __name__ == "__main__":
    threading.Thread(target=end_with_the_reader, daemon=True).start()
    answer(available=True, message="", version=onnxruntime.__version__)
    actions = {"compare": compare, "first": first, "load": load, "time": time_models, "save": save, "values": values}
    for line in sys.stdin:
        asked = json.loads(line, object_hook=named)
        answer(**actions[asked["action"]](asked))
