#pragma once
// What a plan asks of a network, and how long that takes on a wiring.

#include <vector>

#include "plans/networks/collective_times.h"
#include "plans/networks/network.h"

namespace lemma::networks {

/// A collective of all groups along an axis, so many times one after the other.
struct Demand {
  clusters::Collective collective = clusters::Collective::all_reduce;
  std::size_t axis = 0;
  double bytes = 0;  // of the whole tensor (plans/clusters/collectives.h)
  double times = 1;
};

struct Demands {
  MeshSizes sizes;
  std::vector<Demand> demands;

  std::size_t devices() const;
};

/// Equal ones together, in order.
Demands merged(Demands demands);

/// Seconds of all demands, one after the other, with what the mesh says of its axes.
double seconds_of(const Demands& demands, const clusters::Mesh& mesh);
/// The same on a network in which all devices can be reached.
double seconds_on(const Demands& demands, const Network& network);
/// The same on a wiring with such links. Infinity: the wiring is wrong (fault_of).
double seconds_on(const Demands& demands, const Wiring& wiring, const LinkSpeed& link);

/// Below which no wiring of devices with such ports is: what each device has to send over all of its ports (2(p-1)/p n for an
/// all-reduce of n bytes among p; Patarasuk and Yuan, JPDC 2009), without latencies.
double least_seconds(const Demands& demands, std::size_t degree, const LinkSpeed& link);

}  // namespace lemma::networks
