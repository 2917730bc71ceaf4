#pragma once
// What source for GPUs is made for, and what a multiprocessor computes at a time.

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace lemma::backend {

struct CudaOptions {
  std::string architecture = "sm_90";        // as nvcc or hipcc calls it
  std::uint32_t block_threads = 256;         // a multiple of the lanes of a warp
  std::uint32_t blocks = 1;                  // of a multiprocessor, at the same time
  bool takes_tf32 = false;                   // products of f32 may be of elements rounded to TF32
  std::set<std::string> refused_tiles = {};  // by name (blocks/tile_choice.h)
  bool keeps_weights = true;                 // in shared memory (resident_weights.h)
  // Of operators, by digest (TaskOperator): tiles by name, and cuts (parts_text in kernel_times.h).
  std::set<std::pair<std::string, std::string>> refused_tiles_of = {}, refused_cuts_of = {};

  /// Whether the source is HIP for AMD devices, else CUDA.
  bool is_hip() const { return architecture.starts_with("gfx"); }
  /// Lanes of a warp: of a wavefront of the GCN and CDNA architectures of AMD.
  std::uint32_t warp_lanes() const { return is_hip() ? 64 : 32; }
  /// Whether it has units that multiply two matrices of f16, bf16 or TF32, and source for them is written. Those of AMD
  /// (MFMA) have other fragments.
  bool has_matrix_units() const { return architecture != "sm_75" && !is_hip(); }
};

/// Where a unit is: the only block of one, or one of several (CudaOptions::blocks).
struct Multiprocessor {
  double cycles_per_second = 1e9;
  // Multiplications with an addition in a cycle: of lanes, and of f16 by the matrix instruction of a warp (mma.sync).
  double f32_lanes = 128, f64_lanes = 64, matrix_lanes = 1365;
  CudaOptions source = {};  // that runs there
};

}  // namespace lemma::backend
