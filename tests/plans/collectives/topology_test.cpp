#include "plans/collectives/topology.h"

#include <cstdlib>
#include <map>

#include <gtest/gtest.h>

#include "plans/clusters/cluster.h"
#include "targets/data_files.h"

namespace lemma::collectives {
namespace {

std::size_t links(std::string_view text) { return named_topology(text)->links.size(); }

std::string error(std::string_view text, const LinkSpeeds& speeds = {}) {
  const auto topology = named_topology(text, speeds);
  return topology ? "none" : topology.error().message;
}

TEST(Topology, ShapesHaveTheirLinks) {
  EXPECT_EQ(links("ring:8"), 16U);
  EXPECT_EQ(links("ring:2"), 2U);
  EXPECT_EQ(links("one-way-ring:8"), 8U);
  EXPECT_EQ(links("line:8"), 14U);
  EXPECT_EQ(links("star:8"), 14U);
  EXPECT_EQ(links("full:8"), 56U);
  EXPECT_EQ(links("mesh:3x4"), 34U);
  EXPECT_EQ(links("torus:4x4"), 64U);
  EXPECT_EQ(links("torus:4x2x3"), 120U);  // 5 for each node: two along 4, one along 2, two along 3
  EXPECT_EQ(links("hypercube:4"), 64U);
}

TEST(Topology, AxesHaveTheirSpeeds) {
  const Topology mesh =
      named_topology("mesh:2x3", {.latency_seconds = {1e-6}, .bytes_per_second = {1e9, 2e9}})
          .value();
  EXPECT_EQ(mesh.links[*mesh.link(0, 3)].bytes_per_second, 1e9);
  EXPECT_EQ(mesh.links[*mesh.link(0, 1)].bytes_per_second, 2e9);
  EXPECT_EQ(mesh.link(0, 2), std::nullopt);
}

TEST(Topology, ErrorsSayWhatIsNeeded) {
  EXPECT_EQ(
      error("grid:4"),
      "topology 'grid:4': is none; there are ring:, one-way-ring:, line:, star:, full:, mesh:, "
      "torus:, hypercube:");
  EXPECT_EQ(error("ring:4x4"),
            "topology 'ring:4x4': 'ring' needs one whole number from 1 on behind the colon");
  EXPECT_EQ(error("mesh:4x"),
            "topology 'mesh:4x': 'mesh' needs sizes such as 4x4 behind the colon");
  EXPECT_EQ(error("ring:0"),
            "topology 'ring:0': 'ring' needs one whole number from 1 on behind the colon");
  EXPECT_EQ(error("ring:1"), "topology 'ring:1': 2 to 4096 nodes are needed");
  EXPECT_EQ(error("mesh:100x100"), "topology 'mesh:100x100': 2 to 4096 nodes are needed");
  EXPECT_EQ(error("mesh:9999999999x9999999999"),
            "topology 'mesh:9999999999x9999999999': 2 to 4096 nodes are needed");
  EXPECT_EQ(error("hypercube:70"), "topology 'hypercube:70': 2 to 4096 nodes are needed");
  EXPECT_EQ(error("mesh:2x3", {.latency_seconds = {1, 2, 3}, .bytes_per_second = {1}}),
            "topology 'mesh:2x3': 3 latencies are given; 1, or one for each of 2 axes, is needed");
}

TEST(Topology, BackwardsTwiceIsTheSame) {
  const Topology topology = named_topology("one-way-ring:5").value();
  const Topology back = reversed(topology);
  EXPECT_TRUE(back.link(1, 0));
  EXPECT_FALSE(back.link(0, 1));
  const Topology again = reversed(back);
  for (std::size_t link = 0; link < topology.links.size(); ++link)
    EXPECT_EQ(again.links[link].to, topology.links[link].to);
}

TEST(Topology, EachDeviceOfADgxHasSixLinks) {
  setenv("LEMMA_DATA", "targets", 1);
  const auto cluster = clusters::load_cluster(cluster_file("dgx-1").value());
  unsetenv("LEMMA_DATA");
  const Topology dgx = topology_of(cluster.value()).value();
  std::map<Node, std::uint32_t> out, in;
  for (const Link& link : dgx.links) {
    out[link.from] += link.capacity;
    in[link.to] += link.capacity;
  }
  for (Node node = 0; node < 8; ++node) {
    EXPECT_EQ(out[node], 6U);
    EXPECT_EQ(in[node], 6U);
  }
  EXPECT_TRUE(dgx.ports.empty());
}

}  // namespace
}  // namespace lemma::collectives
