#pragma once
// One device function for each distinct kernel of a program, and for each phase of stitched operators.

#include <string>
#include <vector>

#include "backend/program.h"
#include "backend_cuda/emit_cuda/emit_cuda.h"

namespace lemma::backend {

/// A device function: what nvcc makes of it is known by its text.
struct CudaFunction {
  std::string text;   // without its name
  std::string tiles;  // in which it computes a product, by name; none: empty
  /// Whose tasks call it, by program and number.
  std::vector<std::pair<std::size_t, OperatorNumber>> operators;
};

struct CudaKernels {
  std::string text;  // of all functions
  std::vector<CudaFunction> functions;
  /// The number of the kernel, and of that which reads weights that units keep, by program and operator.
  std::vector<std::vector<std::uint32_t>> by_operator, with_residents;
  std::size_t count = 0;
  std::uint64_t shared_bytes = 0;   // of shared memory that slots of a block take at most
  std::uint64_t scratch_bytes = 0;  // of device memory for each block, where slots do not fit
};

/// Errors are `internal` where kernels need the shared memory that a program keeps weights in.
/// Kernels are kernel_0, kernel_1, ...; `run_kernel` calls one by its number. `shared_bytes`: of a block, for slots.
Result<CudaKernels> cuda_kernels(Programs programs, const CudaOptions& options,
                                 std::uint64_t shared_bytes);

}  // namespace lemma::backend
