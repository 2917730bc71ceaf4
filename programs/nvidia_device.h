#pragma once
// Which GPU source is for, of NVIDIA or AMD.

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/profile_database.h"
#include "programs/emission.h"

namespace lemma {

/// Where it is known what nvcc made of functions.
struct ResourceChoice {
  std::string database = default_profile_file().string();
  std::string compiler;  // as `nvcc --version` ends; empty: that of the nvcc that is here
  bool is_ignored = false;
};

struct CudaChoice {
  std::string architecture = "sm_90";
  std::string device;       // a shipped description or a file; empty: that of the architecture
  std::uint32_t units = 0;  // blocks; 0: as many as the device has units
  std::uint32_t multiprocessors = 0;  // 0: as many as the device has units
  std::uint32_t block_threads = 256;
  bool takes_tf32 = false;
  bool keeps_weights = true;  // in shared memory, where tasks of a block read them several times
  std::vector<std::string> resources;  // files of scripts/cuda_resources
  ResourceChoice known;
};

/// What the database has of an architecture, where so many blocks share a multiprocessor. Nothing where it is not there; with facts but without a compiler, facts of none
/// are taken.
Result<backend::KnownResources> known_resources(const ResourceChoice& choice,
                                                const std::string& architecture,
                                                std::uint32_t blocks);

/// "sm_75" and so on, as nvcc calls them.
std::vector<std::string> cuda_architectures();
/// "gfx906" and so on, as hipcc calls them: of AMD devices with wavefronts of 64 lanes.
std::vector<std::string> hip_architectures();

/// The device that is chosen, by itself or by the architecture; empty: none is known for that.
std::string device_name(const CudaChoice& choice);

/// Chooses the architecture and the units of the first device that is here. An error: there is none.
Result<void> choose_device_here(CudaChoice& choice);

/// Errors name the option: a device that is not known, an architecture without a description, a number of threads that
/// is no multiple of a warp, more blocks than multiprocessors have threads for, a file of resources that cannot be read.
Result<NvidiaDevice> nvidia_device(const CudaChoice& choice);

}  // namespace lemma
