#pragma once
// Options that say which NVIDIA device source is for.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/emission.h"

namespace lemma {

struct CudaChoice {
  std::string architecture = "sm_90";
  std::string device;       // a shipped description or a file; empty: that of the architecture
  std::uint32_t units = 0;  // blocks; 0: as many as the device has units
  std::uint32_t block_threads = 256;
  bool takes_tf32 = false;
  std::vector<std::string> resources;  // files of scripts/cuda_resources
};

/// "sm_75" and so on, as nvcc calls them.
std::vector<std::string> cuda_architectures();

/// The device that is chosen, by itself or by the architecture; empty: none is known for that.
std::string device_name(const CudaChoice& choice);

/// Errors name the option: a device that is not known, an architecture without a description, a number of threads that
/// is no multiple of a warp, a file of resources that cannot be read.
Result<CudaTarget> cuda_target(const CudaChoice& choice);

}  // namespace lemma
