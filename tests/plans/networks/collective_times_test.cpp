#include "plans/networks/collective_times.h"

#include <numeric>

#include <gtest/gtest.h>

#include "plans/collectives/checker.h"
#include "plans/networks/demands.h"

namespace lemma::networks {
namespace {

using clusters::Collective;

constexpr LinkSpeed link{1e-6, 1e9};

Wiring rings(std::size_t devices, const std::vector<std::size_t>& strides) {
  Wiring wiring(devices, strides.size());
  for (const std::size_t stride : strides)
    for (Node device = 0; device < devices; ++device)
      wiring.add(device, static_cast<Node>((device + stride) % devices));
  return wiring;
}

double best_bandwidth(Collective collective, const Network& network, const MeshSizes& sizes) {
  return ways_of(collective, Routes(network), groups_along(sizes, 0)).back().bytes_per_second;
}

TEST(Groups, FollowTheMesh) {
  EXPECT_EQ(groups_along({2, 3}, 0), (std::vector<std::vector<Node>>{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(groups_along({2, 3}, 1), (std::vector<std::vector<Node>>{{0, 1, 2}, {3, 4, 5}}));
}

TEST(RingOrders, PassEachPlaceOnce) {
  EXPECT_EQ(ring_orders(16).size(), 8U);  // Euler's function of 16
  EXPECT_EQ(ring_orders(5).size(), 24U);
  for (const std::size_t places : {2U, 5U, 12U})
    for (std::vector<std::uint32_t> order : ring_orders(places)) {
      std::sort(order.begin(), order.end());
      for (std::uint32_t i = 0; i < places; ++i) EXPECT_EQ(order[i], i);
    }
}

TEST(Rings, DisjointOnesShareTheBytes) {
  const Network network = network_of(rings(16, {1, 3, 5, 7}), link, "");
  const Rings found = chosen_rings(Routes(network), groups_along({16}, 0)).front();
  EXPECT_EQ(found.orders.size(), 4U);
  // 2(p-1)/p of the bytes over four links: what no all-reduce beats.
  EXPECT_NEAR(best_bandwidth(Collective::all_reduce, network, {16}), 4e9 / (2 * 15.0 / 16), 1);
}

TEST(Rings, TheirSchedulesDeliverOverTheLinks) {
  const Network network = network_of(rings(16, {1, 3, 5, 7}), link, "");
  collectives::Topology topology{"", 16, {}, {}};
  for (const Link& each : network.links)
    topology.links.push_back(
        {each.from, each.to, 1, each.speed.latency_seconds, each.speed.bytes_per_second});
  std::vector<std::vector<std::uint32_t>> orders =
      chosen_rings(Routes(network), groups_along({16}, 0)).front().orders;
  for (const Collective collective :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
    const collectives::Schedule schedule = ring_schedule(collective, 16, orders);
    EXPECT_EQ(collectives::fault_of(topology, schedule), std::nullopt);
    // Each link carries one chunk in each step.
    EXPECT_EQ(collectives::counts_of(schedule).rounds, schedule.steps.size());
    const double bytes = 1e6;
    EXPECT_NEAR(seconds_of(topology, schedule, bytes),
                ways_of(collective, Routes(network), groups_along({16}, 0)).back().seconds(bytes),
                1e-9);
  }
  // Two rings over the same links do not fit.
  orders[1] = orders[0];
  EXPECT_NE(collectives::fault_of(topology, ring_schedule(Collective::all_gather, 16, orders)),
            std::nullopt);
}

TEST(Ways, OnASwitchAreThoseOfTheClosedForms) {
  const Network network = switched(8, link, "");
  const Routes routes(network);
  const clusters::Wire wire{link.latency_seconds, 1 / link.bytes_per_second, 0};
  for (const Collective collective :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
        Collective::all_to_all, Collective::broadcast, Collective::permute})
    for (const double bytes : {8.0, 1e4, 1e6, 1e9}) {
      const double closed = clusters::best_algorithm(collective, bytes, 8, wire).seconds;
      double least = 1e9;
      for (const auto& way : ways_of(collective, routes, groups_along({8}, 0)))
        least = std::min(least, way.seconds(bytes));
      // A schedule may send less than the closed form, where a node would get what it has (docs/plans.md).
      EXPECT_LE(least, closed * (1 + 1e-9)) << name(collective) << " " << bytes;
      EXPECT_GE(least, closed * 0.74) << name(collective) << " " << bytes;
    }
}

TEST(Ways, AnAllToAllOnARingPassesHalfOfIt) {
  // One way round, a message passes 4 of 7 links on average: 7 messages of a 64th, 4 links each, over one link a device.
  const Network network = network_of(rings(8, {1}), link, "");
  EXPECT_NEAR(best_bandwidth(Collective::all_to_all, network, {8}), 1e9 / (7 * 4.0 / 64), 1);
  // Several groups that pass each other's links take longer.
  const Network pairs = network_of(rings(4, {1}), link, "");
  EXPECT_NEAR(best_bandwidth(Collective::permute, pairs, {2, 2}), 1e9 / (2 * 0.5), 1);
}

TEST(Mesh, SaysWhatCollectivesTake) {
  const Network network = network_of(torus(4, 4), link, "torus");
  const clusters::Mesh mesh = mesh_on(network, {4, 4});
  ASSERT_EQ(mesh.axes.size(), 2U);
  EXPECT_EQ(mesh.name, "4x4");
  // Two rings of a row, one each way.
  EXPECT_NEAR(clusters::seconds_along(mesh.axes[1], Collective::all_reduce, 1e9),
              1e9 * 1.5 / 2e9 + 6e-6, 1e-9);
  const Demands demands{{4, 4}, {{Collective::all_reduce, 1, 1e9, 2}}};
  EXPECT_EQ(seconds_on(demands, network), seconds_of(demands, mesh));
  EXPECT_EQ(
      merged({{4, 4}, {{Collective::all_reduce, 1, 1e9, 2}, {Collective::all_reduce, 1, 1e9, 1}}})
          .demands.front()
          .times,
      3);
}

}  // namespace
}  // namespace lemma::networks
