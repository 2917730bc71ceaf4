// Timed schedules beside the times that TACOS's tests expect, and what is refused.

#include "plans/collectives/timed.h"

#include <cmath>

#include <gtest/gtest.h>

namespace lemma::collectives {
namespace {

constexpr double gigabyte = 1024.0 * 1024 * 1024;

/// What a test of TACOS says (github.com/astra-sim/tacos, tests): GB/s of each axis, microseconds, chunks of each node, MB of the
/// tensor, and the microseconds that are expected within 1 percent.
struct Case {
  const char* topology;
  std::vector<double> bandwidths;
  double latency;
  std::uint32_t chunks;
  double megabytes, expected;
};

Result<Greedy> made(const Case& of, std::uint64_t seed = 0) {
  LinkSpeeds speeds{{of.latency * 1e-6}, {}};
  for (const double bandwidth : of.bandwidths)
    speeds.bytes_per_second.push_back(bandwidth * gigabyte);
  const Topology topology = named_topology(of.topology, speeds).value();
  GreedyRequest request;
  request.chunks = of.chunks;
  request.chunk_bytes =
      std::floor(of.megabytes * 1024 * 1024 / static_cast<double>(topology.nodes * of.chunks));
  request.seed = seed;
  return greedy(topology, request);
}

TEST(Timed, HaveTheTimesOfTacos) {
  const Case cases[] = {
      {"mesh:5x5", {50}, 0.5, 1, 1024, 9606.0},
      {"mesh:10x10", {100}, 1, 2, 1024, 5049.0},
      {"mesh:12x7", {100}, 1, 3, 4096, 19966.27},
      {"mesh:3x3x3", {50}, 0.5, 1, 1024, 6671.17},
      {"mesh:5x4x3", {50}, 0.5, 2, 2048, 13353.33},
      {"mesh:3x2x4", {50}, 0.5, 3, 3072, 19178.17},
      {"torus:3x3x3", {50}, 0.5, 1, 1024, 3706.20},
      {"torus:5x4x3", {50}, 0.5, 2, 2048, 6676.67},
      {"torus:3x2x4", {50}, 0.5, 3, 3072, 11673.67},
      {"mesh:5x5", {75, 50}, 0.5, 1, 1024, 8005.0},
      {"mesh:5x8", {35, 80}, 1, 2, 1024, 8595.43},
      {"mesh:10x7", {73, 16}, 1.5, 3, 4096, 44612.47},
  };
  for (const Case& of : cases) {
    const auto result = made(of);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->schedule.end(), result->bound) << of.topology;
    EXPECT_NEAR(static_cast<double>(result->schedule.end()) / 1e6, of.expected, 0.01)
        << of.topology;
  }
}

const Case small = {"mesh:3x3", {50}, 0.5, 1, 9, 0};

TEST(Timed, EqualSeedsHaveEqualSchedules) {
  EXPECT_EQ(schedule_text(made(small, 3)->schedule, ""),
            schedule_text(made(small, 3)->schedule, ""));
}

TEST(Timed, PortsCarryOneChunkAtATime) {
  Topology star = named_topology("full:4").value();
  for (Node node = 0; node < 4; ++node)
    for (const bool enters : {false, true}) {
      Port port{node, enters, {}, 1};
      for (std::size_t link = 0; link < star.links.size(); ++link)
        if ((enters ? star.links[link].to : star.links[link].from) == node)
          port.links.push_back(link);
      star.ports.push_back(port);
    }
  GreedyRequest request;
  request.chunk_bytes = 25e3;
  const auto result = greedy(star, request);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->bound, 3 * 2'000'000);
  EXPECT_GE(result->schedule.end(), result->bound);
  // The ports of the schedule of a topology without them are busy twice.
  Topology without = star;
  without.ports.clear();
  const auto wide = greedy(without, request);
  EXPECT_EQ(wide->schedule.end(), 2'000'000);
  EXPECT_NE(fault_of(star, wide->schedule), std::nullopt);
}

TEST(Timed, WrongOnesAreRefused) {
  const Topology mesh = named_topology("mesh:3x3", {{0.5e-6}, {50 * gigabyte}}).value();
  const TimedSchedule right = made(small)->schedule;
  EXPECT_EQ(fault_of(mesh, right), std::nullopt);
  const auto fault = [&](auto change) {
    TimedSchedule wrong = right;
    change(wrong);
    return fault_of(mesh, wrong).value_or("none");
  };
  for (std::size_t send = 0; send < right.sends.size(); ++send) {
    EXPECT_NE(fault([&](TimedSchedule& wrong) {
                wrong.sends.erase(wrong.sends.begin() + static_cast<std::ptrdiff_t>(send));
              }),
              "none");
    EXPECT_NE(fault([&](TimedSchedule& wrong) { wrong.sends.push_back(wrong.sends[send]); }),
              "none");
    EXPECT_NE(fault([&](TimedSchedule& wrong) { ++wrong.sends[send].chunk; }), "none");
    EXPECT_NE(fault([&](TimedSchedule& wrong) { --wrong.sends[send].end; }), "none");
    if (right.sends[send].begin > 0) {
      EXPECT_NE(fault([&](TimedSchedule& wrong) {
                  --wrong.sends[send].begin;
                  --wrong.sends[send].end;
                }),
                "none");
    }
  }
}

}  // namespace
}  // namespace lemma::collectives
