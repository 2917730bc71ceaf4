#pragma once
// One device function for each distinct kernel of a program, and for each phase of stitched operators.

#include <string>
#include <vector>

#include "backend_cuda/emit_cuda/emit_cuda.h"
#include "backend_cuda/program.h"

namespace lemma::backend {

struct CudaKernels {
  std::string text;  // of all functions
  /// By program and operator: the number of its kernel.
  std::vector<std::vector<std::uint32_t>> by_operator;
  std::size_t count = 0;
  std::uint64_t shared_bytes = 0;   // of shared memory that slots of a block take at most
  std::uint64_t scratch_bytes = 0;  // of device memory for each block, where slots do not fit
};

/// Kernels are kernel_0, kernel_1, ...; `run_kernel` calls one by its number. `shared_bytes`: of a block, for slots.
Result<CudaKernels> cuda_kernels(Programs programs, const CudaOptions& options,
                                 std::uint64_t shared_bytes);

}  // namespace lemma::backend
