#!/usr/bin/env python3
"""Times a model under another runtime on the CUDA device: runtimes.py onnxruntime|torch|tensorrt|xla MODEL RUNS
All compute in f32 without TF32, and copy nothing to or from the device in the timed part.
Prints "seconds LEAST MEDIAN P99". Exit code: 77, with one line, where something is not installed."""

import importlib.util
import re
import shutil
import subprocess
import sys
import time

WARM_UP = 20


def skip(reason):
    print(reason)
    sys.exit(77)


def need(*names):
    for name in names:
        if importlib.util.find_spec(name) is None:
            skip(f"{name} is not installed")


def print_times(run, runs):
    for _ in range(WARM_UP):
        run()
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    seconds.sort()
    print("seconds", seconds[0], seconds[(runs - 1) // 2], seconds[(runs - 1) * 99 // 100])


def inputs_of(declared):
    """Random tensors by name, for (name, sizes, type of ONNX Runtime)."""
    import numpy
    generator = numpy.random.default_rng(0)
    types = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32,
             "tensor(bool)": numpy.bool_}
    return {name: (generator.standard_normal(sizes) if kind == "tensor(float)" else numpy.zeros(sizes)).astype(types[kind])
            for name, sizes, kind in declared}


def declared_inputs(model):
    """What inputs_of() takes, of a model that was read."""
    names = {1: "tensor(float)", 6: "tensor(int32)", 7: "tensor(int64)", 9: "tensor(bool)"}
    known = {tensor.name for tensor in model.graph.initializer}
    return [(value.name, [size.dim_value for size in value.type.tensor_type.shape.dim], names[value.type.tensor_type.elem_type])
            for value in model.graph.input if value.name not in known]


def onnxruntime(model, runs):
    need("numpy", "onnxruntime")
    import onnxruntime as runtime
    if "CUDAExecutionProvider" not in runtime.get_available_providers():
        skip("onnxruntime is installed without CUDA")
    session = runtime.InferenceSession(model, providers=[("CUDAExecutionProvider", {"use_tf32": 0})])
    if "CUDAExecutionProvider" not in session.get_providers():
        skip("onnxruntime cannot use the CUDA device")
    binding = session.io_binding()
    tensors = inputs_of([(value.name, value.shape, value.type) for value in session.get_inputs()])
    for name, value in tensors.items():
        binding.bind_ortvalue_input(name, runtime.OrtValue.ortvalue_from_numpy(value, "cuda", 0))
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda")

    def run():
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()

    print_times(run, runs)


def torch(model, runs):
    need("torch", "onnx", "onnx2torch")
    import onnx
    import onnx2torch
    import torch as runtime
    if not runtime.cuda.is_available():
        skip("torch is installed without CUDA")
    read = onnx.load(model)
    tensors = [runtime.from_numpy(value).cuda() for value in inputs_of(declared_inputs(read)).values()]
    # This mode records CUDA graphs.
    compiled = runtime.compile(onnx2torch.convert(read).cuda().eval(), mode="reduce-overhead")

    def run():
        with runtime.no_grad():
            compiled(*tensors)
        runtime.cuda.synchronize()

    print_times(run, runs)


def tensorrt(model, runs):
    program = shutil.which("trtexec")
    if program is None:
        skip("trtexec of TensorRT is not installed")
    done = subprocess.run([program, f"--onnx={model}", "--noTF32", "--useCudaGraph", "--noDataTransfers", f"--iterations={runs}",
                           "--percentile=99"], capture_output=True, text=True, check=False)
    line = re.search(r"Latency: min = (\S+) ms.* median = (\S+) ms, percentile\(99%\) = (\S+) ms", done.stdout)
    if done.returncode != 0 or not line:
        print((done.stderr.strip() or done.stdout.strip() or "trtexec failed").splitlines()[-1], file=sys.stderr)
        sys.exit(1)
    print("seconds", *(float(part) * 1e-3 for part in line.groups()))


def xla(model, runs):
    need("numpy", "onnx", "jax", "jaxonnxruntime")
    import jax
    import onnx
    from jaxonnxruntime import call_onnx
    if not any(device.platform in ("cuda", "gpu") for device in jax.devices()):
        skip("jax is installed without CUDA")
    jax.config.update("jax_default_matmul_precision", "highest")  # no TF32
    read = onnx.load(model)
    tensors = inputs_of(declared_inputs(read))
    function, weights = call_onnx.call_onnx_model(read, tensors)
    compiled = jax.jit(function)
    weights, tensors = jax.device_put(weights), jax.device_put(tensors)
    print_times(lambda: jax.block_until_ready(compiled(weights, tensors)), runs)


if __name__ == "__main__":
    {"onnxruntime": onnxruntime, "torch": torch, "tensorrt": tensorrt, "xla": xla}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
