#pragma once
// How a lane of a warp takes its terms of a reduction that neighbouring lanes share.

#include <cstdint>
#include <map>
#include <set>

#include "lowering/terms.h"

namespace lemma::backend {

/// A lane takes `together` terms that follow each other, and reads them by one access of each of `inputs`; `groups` such
/// accesses, as far from each other as the lanes take in one step, begin before what they read is used.
struct LaneTerms {
  std::int64_t together = 1, groups = 1;
  std::set<std::uint32_t> inputs = {};

  /// Terms of a lane that are read before the first of them is used.
  std::int64_t in_flight() const { return together * groups; }
};

/// By reduction.
using TermsOfLanes = std::map<lowering::TermNumber, LaneTerms>;

}  // namespace lemma::backend
