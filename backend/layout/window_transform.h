#pragma once
// The matrices of Winograd's algorithm for windows of 3x3 and tiles of 4x4 results, F(4x4,3x3) (Lavin and Gray, "Fast
// algorithms for convolutional neural networks", CVPR 2016): with B, G and A of six rows or columns,
//
//   tile of results = A^T [(G window G^T) * (B^T tile of 6x6 elements B)] A,
//
// where * is element by element, 36 products in place of 144. The points of the polynomials are 0, 5/8, -5/8, 3/2, -3/2 and
// infinity, so that all factors of B and A are exact, and smaller than with 1, -1, 2 and -2 (docs/rtask.md).

#include <array>

#include "ir/constant.h"
#include "ir/definition.h"
#include "lowering/lanes.h"

namespace lemma::backend {

inline constexpr std::int64_t window_side = 3, result_side = 4, tile_side = 6;

/// B^T x.
std::array<Expression, tile_side> transformed_tile_row(DefinitionBuilder& builder,
                                                       const std::array<Expression, tile_side>& x);
/// A^T x.
std::array<Expression, result_side> transformed_product_row(
    DefinitionBuilder& builder, const std::array<Expression, tile_side>& x);

/// G w G^T of each window of [filters, channels, 3, 3], as [filters / panel, 36, channels, panel]; of type u64 over the prime
/// field, since the factors of G are no elements of f32.
Result<Constant> transformed_windows(const Constant& windows, std::int64_t panel,
                                     lowering::Domain domain);

}  // namespace lemma::backend
