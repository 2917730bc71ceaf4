#pragma once
// Grids: the first axes of loop nests, where several computations can run together point by point.

#include <map>
#include <set>

#include "backend/lower/computation.h"

namespace lemma::backend {

/// The grids that a computation can have. Numbers are of points: of elements of its first axes.
struct GridChoices {
  std::vector<std::int64_t> points;  // ascending, from 1 on
  std::vector<std::int64_t> fixed;   // those between two axes that cannot become one loop
  /// For each operand the most points of a grid at each of whose points only the operand's elements of that point are
  /// read (stays_at_point). Grids of fewer points have the same property.
  std::map<BufferNumber, std::int64_t> most_points;
  double operations = 0;  // on elements
  bool has_reduction = false;
  bool has_cases = false;  // backend/cases.h
};

Result<GridChoices> grid_choices(const Computation& computation);

/// The most points of a grid that all can have, where each reads only elements of its own point of what the others
/// made; 1 if there is no other. `made`: the buffers that they make.
std::int64_t common_points(const std::vector<const GridChoices*>& members,
                           const std::set<BufferNumber>& made);

/// The nests of computations with the same first axes, which are the grid of so many points.
struct GridNests {
  std::vector<std::int64_t> extents;  // of the grid
  std::vector<lowering::LoweredOutput> nests;
};
/// An error if they have no such grid.
Result<GridNests> nests_on_grid(const std::vector<const Computation*>& members,
                                std::int64_t points);

}  // namespace lemma::backend
