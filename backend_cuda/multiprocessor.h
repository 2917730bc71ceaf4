#pragma once
// What source for NVIDIA devices is made for, and what a multiprocessor computes at a time.

#include <cstdint>
#include <set>
#include <string>

namespace lemma::backend {

struct CudaOptions {
  std::string architecture = "sm_90";        // as nvcc calls it
  std::uint32_t block_threads = 256;         // a multiple of 32
  bool takes_tf32 = false;                   // products of f32 may be of elements rounded to TF32
  std::set<std::string> refused_tiles = {};  // by name (blocks/tile_choice.h)

  /// Of two matrices of f16, bf16 or TF32.
  bool has_matrix_units() const { return architecture != "sm_75"; }
};

/// A unit that is a multiprocessor with one block.
struct Multiprocessor {
  double cycles_per_second = 1e9;
  // Multiplications with an addition in a cycle: of lanes, and of f16 by the matrix instruction of a warp (mma.sync).
  double f32_lanes = 128, f64_lanes = 64, matrix_lanes = 1365;
  CudaOptions source = {};  // that runs there
};

}  // namespace lemma::backend
