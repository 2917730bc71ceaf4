#pragma once
// A good wiring for what a plan asks of the network (TopoOpt's TopologyFinder; Wang et al., NSDI 2023, section 4.2).

#include "plans/networks/demands.h"

namespace lemma::networks {

struct WiringOptions {
  std::uint64_t seed = 0;
  std::size_t moves = 4000;  // that the local search tries
};

struct ChosenWiring {
  Wiring wiring;
  double seconds = 0;
  std::string found_by;
};

/// The best of these, then improved by simulated annealing: two links exchange their ends, or two devices all of
/// their links:
/// - all ways to give some ports to rings along each axis and the others to matchings. Rings have strides that have no divisor in
///   common with the size of the group, nearest to a geometric sequence (SelectPermutations, section 4.3). A matching connects each
///   device to the one that it sends the most to (heaviest_assignment); what has got a link counts half then;
/// - circulant wirings: the same strides for all devices;
/// - tori where there are 2 or 4 ports, and two directions of each ring.
/// The degree is at least 1, and there are at least 2 devices.
ChosenWiring choose_wiring(const Demands& demands, std::size_t degree, const LinkSpeed& link,
                           const WiringOptions& options = {});

/// Strides below `places` without a divisor in common with it, `count` of them: 1 first, then those that are nearest to a
/// geometric sequence. All of them and again from the first one on where there are fewer.
std::vector<std::size_t> geometric_strides(std::size_t places, std::size_t count);

}  // namespace lemma::networks
