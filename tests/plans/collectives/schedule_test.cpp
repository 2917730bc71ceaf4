#include "plans/collectives/schedule.h"

#include <gtest/gtest.h>

#include "plans/collectives/patterns.h"

namespace lemma::collectives {
namespace {

TEST(Schedule, IsReadAsItWasWritten) {
  for (const Algorithm algorithm : {Algorithm::naive, Algorithm::ring, Algorithm::tree}) {
    const auto schedule = *pattern(Collective::all_reduce, algorithm, 5);
    const std::string text = schedule_text(schedule, "full:5");
    const auto again = parse_schedule(text);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(schedule_text(*again, "full:5"), text);
    for (std::size_t step = 0; step < schedule.steps.size(); ++step)
      EXPECT_EQ(again->steps[step].sends, schedule.steps[step].sends);
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Schedule, ErrorsNameTheField) {
  const std::string good =
      schedule_text(*pattern(Collective::all_reduce, Algorithm::tree, 2), "full:2");
  const auto error = [&](const std::string& from, const std::string& to) {
    const auto read = parse_schedule(replaced(good, from, to));
    return read ? "none" : read.error().message;
  };
  EXPECT_EQ(parse_schedule("{").error().message, "is not JSON; one JSON object is needed");
  EXPECT_EQ(error("lemma collective", "lemma plan"),
            "is no schedule: \"format\": \"lemma collective\" is needed");
  EXPECT_EQ(error("\"version\": 1", "\"version\": 2"), "version: is 2; 1 is needed");
  EXPECT_EQ(error("all-reduce", "all-to-all"),
            "collective 'all-to-all': is none; there are all-reduce, all-gather, reduce-scatter, "
            "broadcast");
  EXPECT_EQ(error("\"nodes\": 2", "\"nodes\": -2"),
            "nodes: is -2; a whole number from 1 to 4096 is needed");
  EXPECT_EQ(error(" \"chunks\": 1,\n", ""),
            "chunks: is missing; a whole number from 1 to 1048576 is needed");
  EXPECT_EQ(error("[1,0,0,\"add\"]", "[2,0,0,\"add\"]"),
            "steps[0].sends[0][0]: is 2; a whole number from 0 to 1 is needed");
  EXPECT_EQ(
      error("\"add\"", "\"sub\""),
      "steps[0].sends[0]: is [1,0,0,\"sub\"]; a list of the sender, the receiver, the chunk, and "
      "\"add\" or \"add operand\" where it is added is needed");
  EXPECT_EQ(error("\"rounds\": 1", "\"rounds\": 0"),
            "steps[0].rounds: is 0; a whole number from 1 to 4294967295 is needed");
}

TEST(Schedule, SecondsAreLatenciesAndTheSlowestLink) {
  const Topology ring =
      named_topology("ring:4", {.latency_seconds = {1e-6}, .bytes_per_second = {1e9}}).value();
  const auto schedule = *pattern(Collective::all_reduce, Algorithm::ring, 4);
  EXPECT_DOUBLE_EQ(seconds_of(ring, schedule, 4e6), 6 * (1e-6 + 1e6 / 1e9));
}

}  // namespace
}  // namespace lemma::collectives
