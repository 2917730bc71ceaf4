#pragma once
// The best of all wirings of a few devices, by enumeration.

#include <optional>

#include "plans/networks/demands.h"

namespace lemma::networks {

struct BestWiring {
  Wiring wiring;
  double seconds = 0;
  std::size_t wirings = 0;  // that were priced
};

/// The wiring that takes the least time of all in which each port is used; of equal ones the first. Nothing where there are more
/// than `most` of them: 6 devices of degree 2 have 27,990.
std::optional<BestWiring> best_of_all_wirings(const Demands& demands, std::size_t degree,
                                              const LinkSpeed& link, std::size_t most = 100'000);

}  // namespace lemma::networks
