// What is found or proved impossible by Z3, beside SCCL's published results and known bounds.

#include "plans/collectives/synthesis.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "plans/clusters/cluster.h"
#include "plans/collectives/checker.h"
#include "plans/collectives/patterns.h"
#include "plans/collectives/symmetry.h"
#include "targets/data_files.h"

namespace lemma::collectives {
namespace {

Topology dgx() {
  setenv("LEMMA_DATA", "targets", 1);
  const auto cluster = clusters::load_cluster(cluster_file("dgx-1").value());
  unsetenv("LEMMA_DATA");
  return topology_of(cluster.value()).value();
}

Synthesis asked(const Topology& topology, std::uint32_t steps, std::uint32_t rounds,
                std::uint32_t chunks, Collective collective = Collective::all_gather) {
  SynthesisRequest request;
  request.collective = collective;
  request.steps = steps;
  request.rounds = rounds;
  request.chunks = chunks;
  const auto synthesis = synthesise(topology, request);
  EXPECT_TRUE(synthesis) << synthesis.error().message;
  return *synthesis;
}

/// SCCL's table for the all-gather of a DGX-1 (SYNTHESIS.md of microsoft/sccl).
TEST(Synthesis, FindsWhatScclFindsForADgx) {
  const Topology topology = dgx();
  const std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> found[] = {
      {2, 2, 1}, {2, 3, 2}, {3, 4, 3}, {3, 5, 4}, {3, 6, 5}, {3, 7, 6}};
  for (const auto& [steps, rounds, chunks] : found) {
    const Synthesis synthesis = asked(topology, steps, rounds, chunks);
    ASSERT_EQ(synthesis.answer, Answer::found);
    EXPECT_EQ(fault_of(topology, synthesis.schedule), std::nullopt);
    const Counts counts = counts_of(synthesis.schedule);
    EXPECT_EQ(counts.steps, steps);
    EXPECT_LE(counts.rounds, rounds);
    EXPECT_EQ(synthesis.schedule.chunks, 8 * chunks);
  }
  const Synthesis impossible = asked(topology, 2, 4, 3);
  EXPECT_EQ(impossible.answer, Answer::impossible);
  EXPECT_EQ(impossible.reason, "Z3");  // no bound excludes it
}

TEST(Synthesis, MeetsTheBoundsOfUnitLinks) {
  const std::tuple<const char*, std::uint32_t, std::uint32_t, std::uint32_t> met[] = {
      {"ring:4", 2, 3, 2},    {"ring:8", 4, 7, 2},   {"one-way-ring:8", 7, 7, 1},
      {"line:4", 3, 3, 1},    {"star:8", 2, 7, 1},   {"hypercube:3", 3, 7, 3},
      {"torus:3x3", 2, 2, 1}, {"mesh:3x3", 4, 4, 1}, {"full:8", 1, 1, 1}};
  for (const auto& [name, steps, rounds, chunks] : met) {
    const Topology topology = named_topology(name).value();
    const Bounds bounds = bounds_of(topology, Collective::all_gather).value();
    EXPECT_EQ(bounds.steps, steps) << name;
    EXPECT_EQ(bounds.rounds_over * chunks, bounds.rounds_under * rounds) << name;
    EXPECT_EQ(asked(topology, steps, rounds, chunks).answer, Answer::found) << name;
  }
}

TEST(Synthesis, ReducesAndSpreads) {
  const Topology topology = dgx();
  const Synthesis scatter = asked(topology, 2, 3, 2, Collective::reduce_scatter);
  ASSERT_EQ(scatter.answer, Answer::found);
  EXPECT_EQ(fault_of(topology, scatter.schedule), std::nullopt);
  const Schedule gather = asked(topology, 2, 3, 2).schedule;
  EXPECT_EQ(fault_of(topology, there_and_back(gather)), std::nullopt);
  const Synthesis spread = asked(topology, 2, 2, 2, Collective::broadcast);
  ASSERT_EQ(spread.answer, Answer::found);
  EXPECT_EQ(fault_of(topology, spread.schedule), std::nullopt);
  SynthesisRequest request;
  request.collective = Collective::all_reduce;
  EXPECT_EQ(synthesise(topology, request).error().message,
            "an all-reduce is made of an all-gather, there and back");
}

TEST(Synthesis, BoundsSayWhy) {
  const Topology ring = named_topology("ring:8").value();
  EXPECT_EQ(asked(ring, 3, 7, 2).reason, "a chunk goes over 4 links, one after the other");
  EXPECT_EQ(asked(ring, 4, 6, 2).reason, "a cut needs 7/2 rounds for each chunk");
  EXPECT_EQ(asked(ring, 4, 3, 1).reason, "each step has a round");
}

TEST(Synthesis, TheFrontierOfASmallRing) {
  const Topology ring = named_topology("one-way-ring:4").value();
  const Frontier found = frontier(ring, {}, 2, 5).value();
  EXPECT_TRUE(found.is_complete);
  ASSERT_EQ(found.asked.size(), 1U);
  EXPECT_EQ(found.asked[0].request.rounds, 3U);
  EXPECT_EQ(found.asked[0].synthesis.answer, Answer::found);
}

TEST(Synthesis, NoEffortIsNoAnswer) {
  SynthesisRequest request;
  request.steps = 2;
  request.rounds = 4;
  request.chunks = 3;
  request.effort = 1;
  EXPECT_EQ(synthesise(dgx(), request)->answer, Answer::unknown);
}

TEST(Synthesis, EqualQuestionsHaveEqualAnswers) {
  const Topology topology = dgx();
  EXPECT_EQ(schedule_text(asked(topology, 2, 3, 2).schedule, "dgx-1"),
            schedule_text(asked(topology, 2, 3, 2).schedule, "dgx-1"));
}

TEST(Symmetries, KeepLinksAndMoveAllNodes) {
  for (const char* name : {"ring:6", "torus:3x3", "hypercube:3", "full:5"}) {
    const Topology topology = named_topology(name).value();
    const auto groups = free_symmetries(topology);
    ASSERT_FALSE(groups.empty()) << name;
    for (const Symmetries& group : groups) {
      EXPECT_EQ(group.size(), topology.nodes) << name;
      for (std::size_t at = 0; at < group.size(); ++at) {
        for (const Link& link : topology.links)
          EXPECT_TRUE(topology.link(group[at][link.from], group[at][link.to]));
        for (Node node = 0; node < topology.nodes; ++node)
          EXPECT_EQ(group[at][node] == node, at == 0);
      }
    }
  }
  EXPECT_TRUE(free_symmetries(named_topology("star:5").value()).empty());
}

}  // namespace
}  // namespace lemma::collectives
