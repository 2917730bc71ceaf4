// Bounds beside known ones, and beside all cuts one by one.

#include "plans/collectives/bounds.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include <gtest/gtest.h>

#include "plans/clusters/cluster.h"
#include "plans/collectives/patterns.h"
#include "targets/data_files.h"

namespace lemma::collectives {
namespace {

using Ratio = std::pair<std::uint64_t, std::uint64_t>;

Ratio rounds(const Bounds& bounds) { return {bounds.rounds_over, bounds.rounds_under}; }

Bounds gather(std::string_view topology) {
  return bounds_of(named_topology(topology).value(), Collective::all_gather).value();
}

TEST(Bounds, OfUnitLinks) {
  const std::tuple<const char*, std::uint64_t, Ratio> known[] = {
      {"ring:4", 2, {3, 2}},       {"ring:8", 4, {7, 2}},     {"one-way-ring:8", 7, {7, 1}},
      {"line:4", 3, {3, 1}},       {"star:8", 2, {7, 1}},     {"hypercube:3", 3, {7, 3}},
      {"hypercube:4", 4, {15, 4}}, {"torus:4x4", 4, {15, 4}}, {"torus:3x3", 2, {2, 1}},
      {"mesh:3x3", 4, {4, 1}},     {"full:8", 1, {1, 1}}};
  for (const auto& [topology, steps, over] : known) {
    const Bounds bounds = gather(topology);
    EXPECT_EQ(bounds.steps, steps) << topology;
    EXPECT_EQ(rounds(bounds), over) << topology;
  }
}

/// The worst of all cuts, one by one.
Ratio worst_cut(const Topology& topology) {
  Ratio worst = {0, 1};
  for (std::uint32_t side = 1; side + 1 < 1U << topology.nodes; ++side) {
    std::uint64_t crossing = 0;
    for (const Link& link : topology.links)
      if ((side >> link.from & 1) == 1 && (side >> link.to & 1) == 0) crossing += link.capacity;
    const auto inside = static_cast<std::uint64_t>(std::popcount(side));
    if (inside * worst.second > worst.first * crossing) worst = {inside, crossing};
  }
  const std::uint64_t divisor = std::gcd(worst.first, worst.second);
  return {worst.first / divisor, worst.second / divisor};
}

TEST(Bounds, AreTheWorstOfAllCuts) {
  for (const char* name : {"mesh:2x5", "mesh:3x3", "star:6", "line:7", "torus:2x4", "ring:9"}) {
    Topology topology = named_topology(name).value();
    for (std::size_t seed = 0; seed < 8; ++seed) {
      for (std::size_t link = 0; link < topology.links.size(); ++link)
        topology.links[link].capacity = 1 + static_cast<std::uint32_t>((link * 7 + seed * 5) % 4);
      const Bounds bounds = bounds_of(topology, Collective::all_gather).value();
      EXPECT_EQ(rounds(bounds), worst_cut(topology)) << name << " " << seed;
      EXPECT_FALSE(bounds.cut.empty());
      EXPECT_EQ(rounds(bounds_of(topology, Collective::reduce_scatter).value()),
                worst_cut(reversed(topology)));
    }
  }
}

TEST(Bounds, NoPatternBeatsThem) {
  for (const char* text : {"full:6", "full:8", "full:13"}) {
    const Topology topology = named_topology(text).value();
    for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter,
                                        Collective::all_reduce, Collective::broadcast}) {
      const Bounds bounds = bounds_of(topology, collective).value();
      for (int number = 0; number < clusters::algorithm_count; ++number) {
        const auto made = pattern(collective, static_cast<Algorithm>(number), topology.nodes);
        if (!made) continue;
        const Counts counts = counts_of(fitted(*made, topology).value());
        const bool has_parts =
            collective == Collective::all_gather || collective == Collective::reduce_scatter;
        EXPECT_GE(counts.steps, bounds.steps);
        EXPECT_GE(counts.rounds,
                  bounds.rounds_for(has_parts ? made->chunks / topology.nodes : made->chunks));
      }
    }
  }
}

TEST(Bounds, OfAClusterWithSwitches) {
  setenv("LEMMA_DATA", "targets", 1);
  const auto load = [](const char* name) {
    return topology_of(clusters::load_cluster(cluster_file(name).value()).value()).value();
  };
  // A device gets 7 chunks over one port.
  const Bounds host = bounds_of(load("h100-host"), Collective::all_gather).value();
  EXPECT_EQ(host.steps, 1U);
  EXPECT_EQ(rounds(host), (Ratio{7, 1}));
  // A DGX-1 gets 7 chunks over 6 links of a device.
  const Bounds dgx = bounds_of(load("dgx-1"), Collective::all_gather).value();
  EXPECT_EQ(dgx.steps, 2U);
  EXPECT_EQ(rounds(dgx), (Ratio{7, 6}));
  // 8 chunks of one host go to the other one over 8 ports of capacity 1; a device gets 15 over 8 + 1.
  const Bounds hosts = bounds_of(load("h100-hosts"), Collective::all_gather).value();
  EXPECT_EQ(rounds(hosts), (Ratio{5, 3}));
  unsetenv("LEMMA_DATA");
}

TEST(Bounds, OfBroadcastsAndReductions) {
  const Topology ring = named_topology("ring:8").value();
  EXPECT_EQ(rounds(bounds_of(ring, Collective::broadcast, 3).value()), (Ratio{1, 2}));
  EXPECT_EQ(bounds_of(ring, Collective::broadcast, 3)->steps, 4U);
  // 14 sends of each chunk over 16 links.
  EXPECT_EQ(rounds(bounds_of(ring, Collective::all_reduce).value()), (Ratio{7, 8}));
  EXPECT_EQ(rounds(bounds_of(named_topology("line:4").value(), Collective::all_reduce).value()),
            (Ratio{1, 1}));
}

TEST(Bounds, OfNodesWithoutAPath) {
  Topology topology = named_topology("one-way-ring:3").value();
  topology.links.pop_back();
  EXPECT_EQ(bounds_of(topology, Collective::all_gather).error().message,
            "'one-way-ring:3': no path leads from node 1 to node 0");
}

}  // namespace
}  // namespace lemma::collectives
