#pragma once
// The schedule of a program as constant tables for parts/run_time.cuh.in.

#include <string>

#include "backend_cuda/emit_cuda/cuda_kernels.h"

namespace lemma::backend {

/// Where a program keeps things in the memory of the device and of a block, in bytes.
struct CudaMemory {
  std::uint64_t address_bytes = 0;  // of shared memory, for the addresses of a task's tensors
  std::uint64_t shared_bytes = 0;   // of shared memory, in all
  // From the beginning of the arena.
  std::uint64_t scratch_offset = 0, state_offset = 0;
};

/// The shared memory that addresses take: as much as the operator with the most arguments needs.
std::uint64_t address_bytes(Programs programs);
CudaMemory cuda_memory(Programs programs, const CudaKernels& kernels);

/// Programs for several sizes have a namespace each.
std::string cuda_tables(Programs programs, const CudaKernels& kernels, const CudaMemory& memory,
                        const CudaOptions& options);

}  // namespace lemma::backend
