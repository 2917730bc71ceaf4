#pragma once
// CUDA's words on a processor, for tests of emitted source: a C++ compiler with this folder in its include path compiles
// a .cu file. The threads of a grid are fibres of one thread (host_cuda.h), so that every order of them can be tried.
// There is one device, with $HOST_CUDA_PROCESSORS multiprocessors or very many, of sm_$HOST_CUDA_ARCHITECTURE or 90, with
// $HOST_CUDA_SHARED_BYTES of shared memory for a block or very many, and $HOST_CUDA_MEMORY bytes of memory or all of the
// process's. With $HOST_CUDA_LOST_SIGNALS no block learns that another one has ended a step. Every call has ended when it returns.

// All that emitted source includes: words that are defined below occur in these headers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "host_cuda.h"

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __grid_constant__
#define __noinline__ __attribute__((noinline))
#define threadIdx (host_cuda::thread_index())
#define blockIdx (host_cuda::block_index())

inline void __syncthreads() { host_cuda::synchronize_block(); }
inline void __syncwarp() { host_cuda::synchronize_warp(); }

struct dim3 {
  explicit dim3(unsigned size) : x(size) {}
  unsigned x;
};

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorNoDevice = 100,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrCooperativeLaunch,
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrComputeCapabilityMinor,
  cudaDevAttrMaxSharedMemoryPerBlockOptin
};
constexpr unsigned cudaHostAllocMapped = 2;
#define CUDART_VERSION 13000
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
struct CUstream_st {};
using cudaStream_t = CUstream_st*;
using cudaEvent_t = int;

#include "host_graph.h"

/// Calls that must not be part of a capture, and fail after a trap.
cudaError_t not_captured();

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess                 ? "no error"
         : error == cudaErrorMemoryAllocation ? "out of memory"
         : error == cudaErrorNoDevice         ? "no CUDA-capable device is detected"
         : error == cudaErrorLaunchFailure    ? "unspecified launch failure"
                                              : "operation not permitted when stream is capturing";
}

namespace host_cuda {

/// Whether all of some memory belongs to one allocation, as calls of libraries demand of what they are given.
bool is_allocated(const void* memory, std::size_t bytes);

}  // namespace host_cuda

/// Memory begins with contents that are no numbers.
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return not_captured();
}
inline cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}

/// $HOST_CUDA_DRIVER is the version of the driver (none: 0), $HOST_CUDA_DEVICES the number of devices.
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
/// The last error of cudaMalloc that was not asked for.
cudaError_t cudaGetLastError();
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned);
cudaError_t cudaFreeHost(void* memory);
inline cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int);
inline cudaError_t cudaDeviceSynchronize() { return not_captured(); }

inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return not_captured(); }
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = 0;
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 0;
  return cudaSuccess;
}

template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int, std::size_t) {
  *blocks = 1;
  return cudaSuccess;
}

/// Parameters are taken when the launch is called, also where it is captured.
template <typename... Parameters, std::size_t... i>
std::tuple<Parameters...> taken(void (*)(Parameters...), void** parameters,
                                std::index_sequence<i...>) {
  return {*static_cast<std::remove_const_t<Parameters>*>(parameters[i])...};
}
template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                             void** parameters, std::size_t shared_bytes, cudaStream_t) {
  host_cuda::enqueue(
      [=, values = taken(kernel, parameters, std::index_sequence_for<Parameters...>())] {
        host_cuda::launch(grid.x, block.x, shared_bytes, [&] { std::apply(kernel, values); });
      });
  return cudaSuccess;
}
template <typename... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                        void** parameters, std::size_t shared_bytes,
                                        cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, parameters, shared_bytes, stream);
}
