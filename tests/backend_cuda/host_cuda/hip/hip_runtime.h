#pragma once
// HIP's words on a processor, by those of CUDA: what emitted source in HIP includes. Wavefronts have 64 lanes. The device is one of
// $HOST_CUDA_HIP_ARCHITECTURE or gfx90a. cuda_runtime.h comes before it.

#include <cstddef>
#include <cstdio>
#include <cstdlib>

inline const bool has_wavefronts = host_cuda::set_warp_lanes(64);

using hipStream_t = cudaStream_t;
using hipEvent_t = cudaEvent_t;
using hipError_t = cudaError_t;
constexpr hipError_t hipSuccess = cudaSuccess, hipErrorOutOfMemory = cudaErrorMemoryAllocation,
                     hipErrorNoDevice = cudaErrorNoDevice;
using hipDeviceAttribute_t = cudaDeviceAttr;
constexpr hipDeviceAttribute_t hipDeviceAttributeMultiprocessorCount =
    cudaDevAttrMultiProcessorCount;
constexpr cudaMemcpyKind hipMemcpyHostToDevice = cudaMemcpyHostToDevice,
                         hipMemcpyDeviceToHost = cudaMemcpyDeviceToHost;
constexpr unsigned hipHostMallocMapped = cudaHostAllocMapped;

#define ihipStream_t CUstream_st
#define hipGetErrorString cudaGetErrorString
#define hipGetLastError cudaGetLastError
#define hipMalloc cudaMalloc
#define hipFree cudaFree
#define hipMemcpy cudaMemcpy
#define hipMemset cudaMemset
#define hipHostMalloc cudaHostAlloc
#define hipHostFree cudaFreeHost
#define hipHostGetDevicePointer cudaHostGetDevicePointer
#define hipGetDeviceCount cudaGetDeviceCount
#define hipGetDevice cudaGetDevice
#define hipDeviceGetAttribute cudaDeviceGetAttribute
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipStreamCreate cudaStreamCreate
#define hipStreamDestroy cudaStreamDestroy
#define hipStreamSynchronize cudaStreamSynchronize
#define hipEventCreate cudaEventCreate
#define hipEventDestroy cudaEventDestroy
#define hipEventRecord cudaEventRecord
#define hipEventElapsedTime cudaEventElapsedTime
#define hipOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessor

struct hipDeviceProp_t {
  char gcnArchName[256];
  int warpSize, cooperativeLaunch;
  std::size_t sharedMemPerBlock;
};

inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  int shared = 0;
  const hipError_t error =
      cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  const char* const architecture = std::getenv("HOST_CUDA_HIP_ARCHITECTURE");
  std::snprintf(properties->gcnArchName, sizeof(properties->gcnArchName), "%s:sramecc+:xnack-",
                architecture == nullptr ? "gfx90a" : architecture);
  properties->warpSize = 64;
  properties->cooperativeLaunch = 1;
  properties->sharedMemPerBlock = static_cast<std::size_t>(shared);
  return error;
}
