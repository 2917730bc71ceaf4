#include "plans/networks/network.h"

#include <set>

#include <gtest/gtest.h>

#include "plans/networks/matching.h"
#include "plans/networks/routes.h"

namespace lemma::networks {
namespace {

constexpr LinkSpeed link{1e-6, 1e9};

/// A ring one way round.
Wiring ring(std::size_t devices, std::size_t degree) {
  Wiring wiring(devices, degree);
  for (Node device = 0; device < devices; ++device)
    wiring.add(device, static_cast<Node>((device + 1) % devices));
  return wiring;
}

TEST(Wiring, IsRightWherePortsSufficeAndAllAreReached) {
  EXPECT_EQ(fault_of(ring(4, 1)), std::nullopt);
  EXPECT_EQ(fault_of(torus(4, 4)), std::nullopt);
  EXPECT_EQ(torus(4, 4).degree(), 4U);
  EXPECT_EQ(torus(4, 4).sending(5), 4U);
  EXPECT_EQ(torus(1, 5).degree(), 2U);
  // Two rows: both links of a column lead to the same device.
  EXPECT_EQ(torus(2, 3).links(0, 3), 2U);
}

TEST(Wiring, MutantsAreRefused) {
  Wiring much = ring(4, 1);
  much.add(0, 2);
  EXPECT_EQ(fault_of(much), "device 0 sends over 2 links; it has 1 ports");
  Wiring received(4, 2);
  for (const Node from : {0U, 1U, 3U}) received.add(from, 2);
  EXPECT_EQ(fault_of(received), "device 2 receives over 3 links; it has 2 ports");
  Wiring own = ring(4, 2);
  own.add(3, 3);
  EXPECT_EQ(fault_of(own), "device 3 has a link to itself");
  Wiring lost = ring(4, 1);
  lost.remove(1, 2);
  EXPECT_EQ(fault_of(lost), "no path leads from device 0 to device 2");
  lost = ring(4, 2);
  lost.remove(2, 3), lost.add(0, 3), lost.remove(3, 0);
  lost.add(2, 0);
  EXPECT_EQ(fault_of(lost), "no path leads from device 3 to device 0");
}

TEST(Routes, AreShortestAndSplitWhatTheyCarry) {
  const Network network = network_of(torus(4, 4), link, "torus");
  const Routes routes(network);
  for (Node from = 0; from < 16; ++from)
    for (Node to = 0; to < 16; ++to) {
      const auto apart = [](Node a, Node b) { return std::min((a + 4 - b) % 4, (b + 4 - a) % 4); };
      EXPECT_EQ(routes.links(from, to), apart(from / 4, to / 4) + apart(from % 4, to % 4));
      if (from == to) continue;
      EXPECT_NEAR(routes.latency_seconds(from, to),
                  1e-6 * static_cast<double>(routes.links(from, to)), 1e-12);
      // What leaves a device on the way is what comes to it.
      std::vector<double> balance(16, 0);
      for (const Flow& flow : routes.flows(from, to)) {
        balance[network.links[flow.link].from] -= flow.share;
        balance[network.links[flow.link].to] += flow.share;
      }
      for (Node node = 0; node < 16; ++node)
        EXPECT_NEAR(balance[node], node == to ? 1 : node == from ? -1 : 0, 1e-12);
    }
  // To the opposite corner all 32 links lead that go away from device 0.
  EXPECT_EQ(routes.flows(0, 10).size(), 32U);
}

TEST(Routes, PassASwitchWithOneLatency) {
  const Routes routes(switched(3, link, "switch"));
  EXPECT_EQ(routes.links(0, 2), 2U);
  EXPECT_NEAR(routes.latency_seconds(0, 2), 1e-6, 1e-15);
  EXPECT_EQ(routes.flows(0, 2).size(), 2U);
}

TEST(Routes, WiderLinksCarryMore) {
  // 0 to 3 by 1 over double links, or by 2.
  Wiring wiring(4, 3);
  wiring.add(0, 1, 2), wiring.add(0, 2), wiring.add(1, 3, 2), wiring.add(2, 3), wiring.add(3, 0);
  const Network network = network_of(wiring, link, "");
  const Routes routes(network);
  for (const Flow& flow : routes.flows(0, 3))
    EXPECT_NEAR(flow.share, network.links[flow.link].speed.bytes_per_second / 3e9, 1e-12);
}

TEST(Matching, IsTheHeaviestOfAll) {
  std::uint64_t state = 7;
  const auto next = [&] {
    return (state = state * 6364136223846793005U + 1442695040888963407U) >> 40U;
  };
  for (int round = 0; round < 50; ++round) {
    const std::size_t size = 2 + next() % 5;
    std::vector<double> weights(size * size);
    for (double& weight : weights) weight = static_cast<double>(next() % 100);
    const auto sum = [&](const std::vector<std::uint32_t>& to) {
      double total = 0;
      for (std::size_t i = 0; i < size; ++i) total += weights[i * size + to[i]];
      return total;
    };
    const std::vector<std::uint32_t> found = heaviest_assignment(weights, size);
    EXPECT_EQ(std::set<std::uint32_t>(found.begin(), found.end()).size(), size);
    double best = -1;
    std::vector<std::uint32_t> to(size);
    for (std::uint32_t i = 0; i < size; ++i) to[i] = i;
    do {
      bool is_allowed = true;
      for (std::uint32_t i = 0; i < size; ++i) is_allowed = is_allowed && to[i] != i;
      if (is_allowed) best = std::max(best, sum(to));
    } while (std::next_permutation(to.begin(), to.end()));
    for (std::uint32_t i = 0; i < size; ++i) EXPECT_NE(found[i], i);
    EXPECT_EQ(sum(found), best);
  }
}

TEST(Picture, HasAllDevicesAndLinks) {
  const std::string picture = picture_svg(network_of(ring(5, 1), link, "a < b"));
  std::size_t circles = 0, paths = 0;
  for (std::size_t at = 0; (at = picture.find("<circle", at)) != std::string::npos; ++at) ++circles;
  for (std::size_t at = 0; (at = picture.find("marker-end=", at)) != std::string::npos; ++at)
    ++paths;
  EXPECT_EQ(circles, 5U);
  EXPECT_EQ(paths, 5U);
  EXPECT_NE(picture.find("a &lt; b"), std::string::npos);
}

}  // namespace
}  // namespace lemma::networks
