#pragma once
// A device that solves problems of libraries. It is in a module of its own, which is built where the CUDA toolkit is
// and loaded when it is asked for: the program needs no library of CUDA.

#include <cstddef>
#include <string>

#include "backend_cuda/libraries/library_problem.h"
#include "profiler/operator_timer.h"

namespace lemma::backend {

class LibraryDevice {
 public:
  LibraryDevice() = default;
  LibraryDevice(const LibraryDevice&) = delete;
  LibraryDevice& operator=(const LibraryDevice&) = delete;
  virtual ~LibraryDevice() = default;

  /// Libraries and their versions, driver, TF32; the device, its clocks.
  virtual RuntimeIdentity identity() const = 0;
  /// The time by the fastest algorithm that the library finds. An error: the library cannot solve
  /// it.
  virtual Result<OperatorTime> time(const LibraryProblem& problem) = 0;
};

/// What the module has: the first device, or null, and why in `reason`.
using OpenLibraryDevice = LibraryDevice*(char* reason, std::size_t reason_bytes);
inline constexpr const char* open_library_device_name = "lemma_open_cuda_device";

}  // namespace lemma::backend
