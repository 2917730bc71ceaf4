// What was measured on ranks: times between sizes, fits of lines, and the file.

#include "plans/clusters/measured.h"

#include <gtest/gtest.h>

#include "plans/clusters/cluster.h"
#include "plans/clusters/collectives.h"

namespace lemma::clusters {
namespace {

TEST(Measured, TimesBetweenSizesAreOnALine) {
  MeasuredTimes times;
  times.add("all-reduce", 2, {{100, 1.0}, {300, 2.0}, {400, 6.0}});
  EXPECT_EQ(times.seconds("all-reduce", 100, 2), 1.0);
  EXPECT_EQ(times.seconds("all-reduce", 200, 2), 1.5);
  EXPECT_EQ(times.seconds("all-reduce", 350, 2), 4.0);
  EXPECT_EQ(times.seconds("all-reduce", 1, 2), 1.0);
  EXPECT_EQ(times.seconds("all-reduce", 800, 2), 12.0);
  EXPECT_EQ(times.seconds("all-reduce", 100, 4), std::nullopt);
  EXPECT_EQ(times.seconds("broadcast", 100, 2), std::nullopt);
}

TEST(Measured, TimesOnALineHaveItsLatencyAndBandwidth) {
  const LinkFit fit =
      fitted_link({{1e3, 2e-6 + 1e3 / 5e9}, {1e5, 2e-6 + 1e5 / 5e9}, {1e7, 2e-6 + 1e7 / 5e9}});
  EXPECT_NEAR(fit.latency_seconds, 2e-6, 1e-12);
  EXPECT_NEAR(fit.bytes_per_second, 5e9, 1e3);
}

TEST(Measured, FitsAreAboveZero) {
  for (const auto& times : {std::vector<MeasuredTime>{{1e3, 1e-6}},
                            {{1e3, 1e-6}, {1e6, 1e-2}, {1e7, 1e-1}},
                            {{1e3, 3e-6}, {1e6, 2e-6}, {1e7, 1e-6}}}) {
    const LinkFit fit = fitted_link(times);
    EXPECT_GT(fit.latency_seconds, 0);
    EXPECT_GT(fit.bytes_per_second, 0);
  }
}

TEST(Measured, ComesBeforeClosedForms) {
  MeasuredTimes times;
  times.add("all-reduce", 4, {{1000, 0.5}});
  Wire wire{1e-6, 1e-9, 0};
  const BestAlgorithm by_formula = best_algorithm(Collective::all_reduce, 1000, 4, wire);
  wire.measured = &times;
  const BestAlgorithm measured = best_algorithm(Collective::all_reduce, 1000, 4, wire);
  EXPECT_EQ(measured.seconds, 0.5);
  EXPECT_EQ(measured.algorithm, by_formula.algorithm);
  EXPECT_EQ(best_algorithm(Collective::all_reduce, 1000, 2, wire).seconds,
            best_algorithm(Collective::all_reduce, 1000, 2, Wire{1e-6, 1e-9, 0}).seconds);
  EXPECT_EQ(best_algorithm(Collective::all_reduce, 1000, 1, wire).seconds, 0);
}

TEST(Measured, ClustersAreReadAsWritten) {
  Cluster cluster;
  cluster.name = "three \"ranks\"";
  cluster.source = "a test";
  cluster.devices.assign(3, {"cpu", 2e9});
  cluster.links = {{0, 1, 1e-6, 1e9}, {0, 2, 2e-6, 2e9}, {1, 2, 3e-6, 3e9}};
  cluster.meshes = {{"3", {{"rank", 3, 1e-6, 1e9}}}};
  cluster.overlaps = false;
  MeasuredTimes times;
  times.add("all-reduce", 3, {{1024, 1.25e-5}, {4096, 2.5e-5}});
  times.add(std::string(message_name), 2, {{1024, 1e-6}});
  cluster.measured = std::make_shared<const MeasuredTimes>(std::move(times));
  cluster.operators = {{"MatMul{} f32[8, 16], f32[16, 4] -> f32[8, 4]", 1e-5, 4e-6},
                       {"Relu{} f32[8] -> f32[8]", 2e-6, 1e-6}};
  const std::string text = cluster_text(cluster);
  const auto again = read_cluster(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(cluster_text(*again), text);
  EXPECT_EQ(again->devices.size(), 3U);
  EXPECT_EQ(again->measured->seconds("all-reduce", 4096, 3), 2.5e-5);
  EXPECT_EQ(again->meshes.front().axes.front().measured, again->measured);
  EXPECT_EQ(again->operators.size(), 2U);
  EXPECT_FALSE(again->overlaps);
}

}  // namespace
}  // namespace lemma::clusters
