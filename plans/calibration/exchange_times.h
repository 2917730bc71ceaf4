#pragma once
// What exchanges take on ranks, as programs of ranks carry them out.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "plans/calibration/rank_timer.h"
#include "plans/clusters/measured.h"
#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

/// Makes what exchanges tensors over ranks; where it makes nothing, the ranks do so as they were started.
using MakeWay = std::function<Result<std::unique_ptr<Communicator>>(Communicator& base)>;

struct ExchangeTimesRequest {
  MakeWay make_way;
  std::vector<std::size_t> bytes;  // of tensors, ascending
  /// Is told what is measured next; none: nobody is.
  std::function<void(const std::string& what)> on_progress = {};
};

/// Sizes of groups of ranks that meshes of so many have: its divisors from 2 on.
std::vector<std::size_t> group_sizes(std::size_t ranks);

/// Messages between the first two ranks (half of the time there and back), and collectives of groups of ranks that follow one
/// another, all groups at once, with tensors of f32. All ranks call it, and get the same. Each measurement has a way of its own, since
/// some keep memory for the sizes of the first step. Sizes that there is no time for are left out; the least size is always measured.
Result<clusters::MeasuredTimes> exchange_times(Communicator& base, RankTimer& timer,
                                               const ExchangeTimesRequest& request);

}  // namespace lemma::plans
