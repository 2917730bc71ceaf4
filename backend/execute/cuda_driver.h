#pragma once
// What the CUDA driver says of the first device. The driver is loaded when it is asked for; no toolkit is needed.

#include <cstdint>
#include <string>

#include "base/result.h"

namespace lemma::backend {

struct CudaDriverDevice {
  std::string architecture;  // "sm_90"
  std::uint32_t multiprocessors = 0;
};

/// An error (`unsupported`): "no CUDA device was found", and why.
Result<CudaDriverDevice> first_cuda_device();

}  // namespace lemma::backend
