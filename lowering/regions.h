#pragma once
// Where each term of an expression is computed: a tree of regions, one for each loop of a reduction
// and one for each operand that a guard may exclude.

#include <vector>

#include "lowering/terms.h"

namespace lemma::lowering {

using RegionId = std::uint32_t;
inline constexpr RegionId no_region = 0xffffffffU;

struct Region {
  RegionId parent = no_region;
  std::uint32_t depth = 0;
  bool is_loop = false;
  bool along_lanes = false;       // a loop whose variable runs along the lanes
  LoopVariable variable = 0;      // of a loop
  std::vector<TermNumber> terms;  // in order of evaluation
};

/// The regions below a term: for a select those of its two branches, for logical_and that of its
/// right operand, for a reduction its loops from the outside in.
struct Regions {
  std::vector<Region> regions;               // the first one is the root
  std::vector<std::vector<RegionId>> below;  // by term
  VariableSet lane_variables = 0;            // of loops along lanes
};

/// Whether a term compares two linear forms of loop variables, which needs neither as lanes.
bool compares_linear(const TermGraph& graph, const Term& term);

Regions plan_regions(const TermGraph& graph, TermNumber root, bool reduce_along_lanes);

/// The difference whose sign decides a comparison of two i64 terms.
Linear difference(const TermGraph& graph, const Term& comparison);

}  // namespace lemma::lowering
