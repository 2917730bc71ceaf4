#pragma once
// The innermost loop of contractions: a small tile of a matrix product. There are variants for the
// vector instructions of the machine, chosen when the program runs; all of them add the products of
// an element one after another, each rounded by itself, so that they give the same bits.

#include <cstdint>

#include "interpreter/lane_kernels.h"

namespace lemma::interpreter {

/// c[r * stride + j] += sum over k of a[k * rows + r] * b[k * columns + j]. Returns false where a
/// result is not in the domain (overflow of exact integers).
using TileKernel = bool (*)(std::int64_t depth, const void* a, const void* b, void* c,
                            std::int64_t stride);

struct MatrixKernel {
  std::int64_t rows = 0, columns = 0;  // of the tile
  TileKernel multiply = nullptr;       // null: there is no product of such lanes
};

MatrixKernel matrix_kernel(LaneKind lanes);
/// All variants that this machine can run, for tests.
int matrix_kernel_variants(LaneKind lanes);
MatrixKernel matrix_kernel_variant(LaneKind lanes, int variant);

}  // namespace lemma::interpreter
