// Timed schedules beside the times that TACOS's tests expect, and what is refused.

#include "plans/collectives/timed.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plans/collectives/checker.h"
#include "plans/collectives/patterns.h"

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

Greedy made_sum(const Topology& topology, Collective collective, std::uint32_t chunks) {
  GreedyRequest request;
  request.collective = collective;
  request.chunks = chunks;
  request.chunk_bytes = 1e5;
  return greedy(topology, request).value();
}

TEST(Timed, SumsAreRightWithTimesAndInSteps) {
  for (const char* name : {"mesh:3x3", "one-way-ring:5", "full:4", "hypercube:3"})
    for (const std::uint32_t chunks : {1U, 2U}) {
      const Topology topology = named_topology(name).value();
      const Greedy gather = made_sum(topology, Collective::all_gather, chunks);
      const Greedy scatter = made_sum(topology, Collective::reduce_scatter, chunks);
      const Greedy all = made_sum(topology, Collective::all_reduce, chunks);
      EXPECT_EQ(scatter.schedule.sends.size(), gather.schedule.sends.size());
      EXPECT_EQ(all.schedule.sends.size(), 2 * gather.schedule.sends.size());
      for (const Greedy* made : {&gather, &scatter, &all}) {
        EXPECT_EQ(fault_of(topology, made->schedule), std::nullopt) << name;
        EXPECT_GE(made->schedule.end(), made->bound);
        const Schedule steps = fitted(by_steps(made->schedule), topology).value();
        EXPECT_EQ(fault_of(topology, steps), std::nullopt) << name;
        const std::string text = schedule_text(made->schedule, name);
        EXPECT_TRUE(is_timed_schedule(text));
        const auto again = parse_timed_schedule(text);
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(schedule_text(*again, name), text);
      }
    }
}

TEST(Timed, WrongSumsAreRefused) {
  const Topology mesh = named_topology("mesh:2x3").value();
  for (const Collective collective : {Collective::reduce_scatter, Collective::all_reduce}) {
    const TimedSchedule right = made_sum(mesh, collective, 1).schedule;
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
      EXPECT_NE(fault([&](TimedSchedule& wrong) { wrong.sends[send].chunk += 1; }), "none");
      EXPECT_NE(fault([&](TimedSchedule& wrong) {
                  Action& action = wrong.sends[send].action;
                  action = action == Action::add ? Action::copy : Action::add;
                }),
                "none");
    }
  }
}

TEST(Timed, FilesWithMistakesAreRefused) {
  const Topology ring = named_topology("ring:4").value();
  const std::string text =
      schedule_text(made_sum(ring, Collective::reduce_scatter, 1).schedule, "");
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string wrong = text;
    wrong.replace(wrong.find(from), from.size(), to);
    const auto read = parse_timed_schedule(wrong);
    return read ? "none" : read.error().message;
  };
  EXPECT_NE(error("\"add\"", "\"sum\"").find("and \"add\" where it is added is needed"),
            std::string::npos);
  EXPECT_NE(error("\"chunk_bytes\": 100000", "\"chunk_bytes\": 0").find("a number above 0"),
            std::string::npos);
  EXPECT_NE(error("lemma timed collective", "lemma plan").find("is no schedule"),
            std::string::npos);
}

}  // namespace
}  // namespace lemma::collectives
