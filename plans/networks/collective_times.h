#pragma once
// What collectives take on a network, while all groups of devices along an axis of a mesh do the same: messages are routed, and the
// most loaded link says how long they take.

#include <vector>

#include "plans/clusters/cluster.h"
#include "plans/collectives/schedule.h"
#include "plans/networks/routes.h"

namespace lemma::networks {

/// Sizes of a mesh's axes, all above 1; the last coordinate of device 0, 1, ... changes first.
using MeshSizes = std::vector<std::size_t>;

/// The groups of devices along an axis, each in the order of its coordinate.
std::vector<std::vector<Node>> groups_along(const MeshSizes& sizes, std::size_t axis);

/// Orders in which a ring passes the places of a group: all of them up to 5 places, otherwise those with a stride that has no
/// divisor in common with the number of places (TotientPerms; Wang et al., NSDI 2023, section 4.3).
std::vector<std::vector<std::uint32_t>> ring_orders(std::size_t places);

/// How rings of one collective share its bytes: equal parts, at once.
struct Rings {
  std::vector<std::vector<std::uint32_t>> orders;  // places of a group
  double latency_seconds = 0;                      // of each step
  double seconds_per_byte = 0;                     // the same, for a byte of the whole tensor
};
/// For each number of links that neighbours in a ring may be apart, rings that are added as long as the most loaded link gets less to
/// carry. The first ones have the shortest ways.
std::vector<Rings> chosen_rings(const Routes& routes, const std::vector<std::vector<Node>>& groups);
/// The schedule of such rings on one group of so many places: all_reduce, all_gather or reduce_scatter.
collectives::Schedule ring_schedule(clusters::Collective collective, std::size_t places,
                                    const std::vector<std::vector<std::uint32_t>>& orders);

/// The ways to do a collective: the known algorithms (plans/collectives/patterns.h) with routed messages, and several rings at once.
/// Those that another way beats in latency and bandwidth are left out. A step takes the latency of its longest path and the time of
/// its most loaded link; an all-to-all sends all messages at once, with a latency for each of them that a device sends.
std::vector<clusters::CollectiveTime> ways_of(clusters::Collective collective, const Routes& routes,
                                              const std::vector<std::vector<Node>>& groups);

/// The mesh with what all collectives take along its axes.
clusters::Mesh mesh_on(const Network& network, const MeshSizes& sizes);
/// "4x4".
std::string text_of(const MeshSizes& sizes);

}  // namespace lemma::networks
