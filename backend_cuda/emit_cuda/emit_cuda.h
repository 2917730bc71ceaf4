#pragma once
// A task program as a directory of CUDA source: one persistent kernel, in which each block is a unit of the schedule.

#include <cstdint>
#include <set>
#include <string>

#include "backend_cuda/emit/emit_program.h"

namespace lemma::backend {

struct CudaOptions {
  std::string architecture = "sm_90";        // as nvcc calls it
  std::uint32_t block_threads = 256;         // a multiple of 32
  bool takes_tf32 = false;                   // products of f32 may be of elements rounded to TF32
  std::set<std::string> refused_tiles = {};  // by name (tile_choice.h)

  /// Of two matrices of f16, bf16 or TF32.
  bool has_matrix_units() const { return architecture != "sm_75"; }
};

/// Contents by name of file, as emit_program has them for a processor, with the same errors. The shared memory of a block
/// is that of a unit of the programs' device.
Result<ProgramFiles> emit_cuda_program(Programs programs, const ProgramNames& names,
                                       const CudaOptions& options);

}  // namespace lemma::backend
