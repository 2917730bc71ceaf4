#pragma once
// Takes the place of the emitted hip.cuh: the words of ptx.cuh here, and those that only HIP has.

#include <hip/hip_runtime.h>

#include "ptx.cuh"

namespace ptx {

inline void publish_to_device() {}

template <typename Kernel>
hipError_t allow_shared_bytes(Kernel* kernel, int bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}
template <typename Kernel>
hipError_t launch(Kernel* kernel, dim3 grid, dim3 block, void** parameters, std::size_t bytes, hipStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, parameters, bytes, stream);
}
template <typename Kernel>
hipError_t launch_cooperative(Kernel* kernel, dim3 grid, dim3 block, void** parameters, std::size_t bytes, hipStream_t stream) {
  return cudaLaunchCooperativeKernel(kernel, grid, block, parameters, bytes, stream);
}

}  // namespace ptx
