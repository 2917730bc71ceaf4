"""Plans of memory beside published ones (docs/memory.md): the largest batches of Checkmate's networks, a step of training of a
transformer with thousands of nodes, and programs with limits, whose anonymous memory is measured.

Networks are as Keras has their layers. A layer and its gradient take the bytes of the layer's result and, in products of two
numbers, its time and twice its time. The gradient of a layer needs its result, the results of the layers that read it, and
their gradients. Weights count twice: with their gradients. A batch fits where a plan within 16e9 bytes takes no more time than
one forward pass beside the step.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "models")]
import environment

environment.enter()

BUDGET = 16 * 10**9
FLOAT = 4


# ---- Networks --------------------------------------------------------------------------------------------------------

class Network:
    """Layers in order: (bytes of the result, products, layers that it reads); the first layers read the image."""

    def __init__(self):
        self.layers, self.weights = [], 0

    def layer(self, sources, elements, products=0, weights=0):
        self.layers.append((elements * FLOAT, products, [s for s in sources if s is not None]))
        self.weights += weights
        return len(self.layers) - 1

    def conv(self, source, size, channels, filters, kernel, bias=True, depthwise=False):
        terms = kernel * kernel * (1 if depthwise else channels)
        return self.layer([source], size * size * filters, size * size * filters * terms,
                          filters * terms + (filters if bias else 0))

    def norm(self, source, size, channels):
        return self.layer([source], size * size * channels, 4 * size * size * channels, 4 * channels)

    def relu(self, source, size, channels):
        return self.layer([source], size * size * channels, size * size * channels)


def vgg19():
    net, size, channels, last = Network(), 224, 3, None
    for count, filters in ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)):
        for _ in range(count):
            last, channels = net.conv(last, size, channels, filters, 3), filters
        size //= 2
        last = net.layer([last], size * size * channels)
    features = size * size * channels
    last = net.layer([last], features)
    for width in (4096, 4096, 1000):
        last = net.layer([last], width, features * width, (features + 1) * width)
        features = width
    return net


def resnet50():
    net = Network()
    last = net.layer([None], 230 * 230 * 3)
    last = net.relu(net.norm(net.conv(last, 112, 3, 64, 7), 112, 64), 112, 64)
    last = net.layer([last], 114 * 114 * 64)
    last, channels, size = net.layer([last], 56 * 56 * 64), 64, 56
    for stage, (count, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(count):
            if block == 0 and stage > 0:
                size //= 2
            inner = last
            for filters, kernel, before in ((width, 1, channels), (width, 3, width)):
                inner = net.relu(net.norm(net.conv(inner, size, before, filters, kernel), size, filters), size, filters)
            inner = net.norm(net.conv(inner, size, width, 4 * width, 1), size, 4 * width)
            beside = last
            if block == 0:
                beside = net.norm(net.conv(last, size, channels, 4 * width, 1), size, 4 * width)
            channels = 4 * width
            last = net.layer([inner, beside], size * size * channels, 2 * size * size * channels)
            last = net.relu(last, size, channels)
    last = net.layer([last], channels)
    net.layer([last], 1000, channels * 1000, (channels + 1) * 1000)
    return net


def mobilenet():
    net = Network()
    last, size, channels = net.layer([None], 225 * 225 * 3), 112, 32
    last = net.relu(net.norm(net.conv(last, size, 3, 32, 3, bias=False), size, 32), size, 32)
    for filters, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)):
        if stride == 2:
            last = net.layer([last], (size + 1) * (size + 1) * channels)
            size //= 2
        last = net.conv(last, size, channels, channels, 3, bias=False, depthwise=True)
        last = net.relu(net.norm(last, size, channels), size, channels)
        last = net.conv(last, size, channels, filters, 1, bias=False)
        last, channels = net.relu(net.norm(last, size, filters), size, filters), filters
    last = net.layer([last], channels)
    last = net.layer([last], channels)
    last = net.layer([last], channels)
    last = net.layer([last], 1000, channels * 1000, (channels + 1) * 1000)
    last = net.layer([last], 1000)
    net.layer([last], 1000, 1000)
    return net


def training(net):
    """The problem of a step of training, for one image, and what an additional forward pass takes."""
    count = len(net.layers)
    readers = [[] for _ in net.layers]
    for layer, (_, _, sources) in enumerate(net.layers):
        for source in sources:
            readers[source].append(layer)
    nodes = [{"seconds": float(products), "bytes": size, "operands": sorted(set(sources)), "kept": False}
             for size, products, sources in net.layers]
    nodes.append({"seconds": 0.0, "bytes": FLOAT, "operands": [count - 1], "kept": False})
    for layer in reversed(range(count)):
        size, products, _ = net.layers[layer]
        operands = {layer, *readers[layer], *(2 * count - reader for reader in readers[layer])}
        if not readers[layer]:
            operands.add(count)
        nodes.append({"seconds": 2.0 * products, "bytes": size, "operands": sorted(operands), "kept": False})
    # All gradients are wanted, but each is used up at once: only the last one is there at the end.
    nodes[-1]["kept"] = True
    return nodes, float(sum(products for _, products, _ in net.layers))


# ---- Plans -----------------------------------------------------------------------------------------------------------

def planned(program, nodes, limit, rounds):
    text = json.dumps({"nodes": nodes, "limit": limit, "rounds": rounds})
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def largest_batch(program, net, rounds):
    """(largest batch with a plan, largest that is not excluded by a bound, its plan)"""
    nodes, forward = training(net)
    room = BUDGET - 2 * FLOAT * net.weights
    most_time = sum(node["seconds"] for node in nodes) + forward

    def outcome(batch):
        return planned(program, nodes, room // batch, rounds)

    def fits(plan):
        return plan["found"] and plan["seconds"] <= most_time

    working_set = outcome(10**6)["least_bytes"]
    impossible = room // working_set + 1  # the limit is below what one layer needs
    low, high, best = 1, impossible, outcome(1)
    while high - low > 1:
        middle = (low + high) // 2
        plan = outcome(middle)
        if fits(plan):
            low, best = middle, plan
        else:
            high = middle
    # Bounds of plans in the order of the layers, above the batch that was found.
    low_bound, high_bound = low, impossible
    while high_bound - low_bound > 1:
        middle = (low_bound + high_bound) // 2
        plan = outcome(middle)
        if plan["found"] and plan["bound"] > most_time:
            high_bound = middle
        else:
            low_bound = middle
    return low, high_bound - 1, best


def keep_all_batch(net):
    """The largest batch in which each layer runs once, in the order of the layers."""
    nodes, _ = training(net)
    last = {}
    for number, node in enumerate(nodes):
        for operand in (*node["operands"], number):
            last[operand] = number
    held = peak = 0
    for number, node in enumerate(nodes):
        held += node["bytes"]
        peak = max(peak, held)
        held -= sum(nodes[v]["bytes"] for v in {number, *node["operands"]} if last[v] == number)
    return (BUDGET - 2 * FLOAT * net.weights) // peak


NETWORKS = {"VGG19": (vgg19, 289), "ResNet50": (resnet50, 193), "MobileNet": (mobilenet, 1105)}


def measure_networks(options):
    for name, (make, published) in NETWORKS.items():
        begin = time.monotonic()
        net = make()
        batch, bound, plan = largest_batch(options.program, net, options.rounds)
        print(f"{name}: {len(net.layers)} layers, {net.weights} weights; batch {keep_all_batch(net)} without recomputation, "
              f"{batch} with ({plan['method']}), none above {bound}; Checkmate {published}; "
              f"{time.monotonic() - begin:.0f} s", flush=True)


# ---- A transformer ---------------------------------------------------------------------------------------------------

def transformer(folder, layers, batch=4):
    import numpy as np
    import onnx
    from onnx import TensorProto, numpy_helper
    import training_models
    m = training_models.Model("gpt", np.float32)
    tokens = m.input("tokens", [batch, 64], TensorProto.INT64)
    x = m("Add", m("Gather", m.weight("embedding", 50, 64), tokens), m.weight("positions", 64, 64))
    m.weights.append(numpy_helper.from_array(np.tril(np.ones((64, 64), bool)), "mask"))
    for layer in range(layers):
        x = m.block(x, f"block{layer}", 64, 64, 4, "mask")
    scores = m("MatMul", m.layer_norm(x, "norm", 64), m.weight("unembedding", 64, 50))
    path = folder / f"transformer_{layers}.onnx"
    onnx.save(m.finish(m("Transpose", scores, perm=[0, 2, 1])), path)
    return path


def measure_transformer(options):
    line = re.compile(r"memory: (\d+) bytes before, (\d+) now.*; (\d+) operators run again, ([-+.\d]+)% of the time"
                      r"(?: as modelled, at least ([-+.\d]+)%)?")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for layers in options.layers:
            model = transformer(folder, layers)

            def differentiate(limit):
                begin = time.monotonic()
                done = subprocess.run([options.lemma, "differentiate", model, "-o", folder / "step.onnx", "--optimizer", "none",
                                       "--memory-limit", limit], capture_output=True, text=True, check=True)
                return done.stdout, time.monotonic() - begin
            text, _ = differentiate("1T")
            nodes, before = int(text.split(" nodes")[0].split()[-1]), int(line.search(text)[1])
            for part in options.parts:
                text, seconds = differentiate(str(int(before * part)))
                found = line.search(text)
                print(f"transformer of {layers} layers, {nodes} nodes, {part} of {before} bytes: {found[2]} bytes, {found[3]} run "
                      f"again, {found[4]}% of the time, at least {found[5] or '+0.00'}%; {seconds:.1f} s", flush=True)


# ---- Programs --------------------------------------------------------------------------------------------------------

def anonymous_bytes():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("no RssAnon in /proc/self/status")


def measure_built(folder, model):
    """Of a program that is built: bytes of anonymous memory that its first run adds, and the least time of a run."""
    import emitted_program
    import numpy as np
    import onnx
    random, feed = np.random.default_rng(1), {}
    for value in onnx.load(model, load_external_data=False).graph.input:
        sizes = [size.dim_value for size in value.type.tensor_type.shape.dim]
        is_real = value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        feed[value.name] = random.normal(size=sizes).astype(np.float32) if is_real else random.integers(0, 8, sizes)
    program = emitted_program.Program(folder, feed)
    for output in program.outputs:
        output.fill(0)
    before = anonymous_bytes()
    program.run()
    added, seconds = anonymous_bytes() - before, []
    for _ in range(11):
        begin = time.perf_counter()
        program.run()
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"bytes": added, "seconds": min(seconds)}))


def measure_programs(options):
    import emitted_program
    import numpy as np
    import onnx
    import training_models
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, step = folder / "model.onnx", folder / "step.onnx"
        onnx.save(training_models.make(options.model, np.float32, options.batch), model)
        subprocess.run([options.lemma, "differentiate", model, "-o", step], capture_output=True, check=True)
        usual = None
        for part in (1.0, 0.7, 0.5):
            words = [] if usual is None else ["--memory-limit", int(part * usual)]
            said, _ = emitted_program.build(options.lemma, step, folder / f"program_{part}", 1, *words)
            usual = usual or said["arena_bytes"]
            done = subprocess.run([sys.executable, __file__, "--built", folder / f"program_{part}", step],
                                  capture_output=True, text=True, check=True)
            run = json.loads(done.stdout)
            memory = said.get("memory", {"seconds": 1, "seconds_before": 1, "again": {}})
            print(f"{options.model}, batch {options.batch}, {part} of {usual} bytes: arena {said['arena_bytes']}, run adds "
                  f"{run['bytes']} ({100 * (run['bytes'] / said['arena_bytes'] - 1):+.1f}%), {1e3 * run['seconds']:.2f} ms; "
                  f"{said['operators']} operators, {sum(memory['again'].values())} again, "
                  f"{100 * (memory['seconds'] / memory['seconds_before'] - 1):+.1f}% as modelled", flush=True)


def arguments():
    parser = argparse.ArgumentParser(prog="bench/models memory", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", default=str(ROOT / "build" / "release" / "bin" / "lemma"))
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "bench" / "bin" / "memory_problems"),
                        help="built by scripts/build release memory_problems")
    parser.add_argument("--rounds", type=int, default=100, help="tries of the local search")
    parser.add_argument("--layers", type=int, nargs="*", default=[5, 20], help="of the transformers")
    parser.add_argument("--parts", type=float, nargs="*", default=[0.7, 0.5], help="of the memory without a limit")
    parser.add_argument("--model", default="gpt", help="of models/training_models.py, for programs")
    parser.add_argument("--batch", type=int, default=1024, help="of that model")
    parser.add_argument("--only", choices=["networks", "transformer", "programs"])
    parser.add_argument("--built", nargs=2, type=Path, metavar=("FOLDER", "MODEL"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = arguments()
    if options.built:
        measure_built(*options.built)
        return 0
    if options.only in (None, "networks"):
        measure_networks(options)
    if options.only in (None, "transformer"):
        measure_transformer(options)
    if options.only in (None, "programs"):
        measure_programs(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
