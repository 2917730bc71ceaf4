#include "system/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace lemma {
namespace {

constexpr std::array<int, 3> thread_counts = {0, 1, 4};

TEST(Parallel, every_number_is_taken_once) {
  for (const int threads : thread_counts) {
    std::vector<std::atomic<int>> taken(1000);
    parallel_for(taken.size(), threads, [&](std::size_t i) { ++taken[i]; });
    for (const std::atomic<int>& one : taken) EXPECT_EQ(one, 1);
    parallel_for(0, threads, [](std::size_t) { FAIL(); });
  }
}

TEST(Parallel, ranges_make_up_the_whole) {
  for (const int threads : thread_counts) {
    std::vector<std::atomic<int>> taken(777);
    parallel_ranges(777, threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++taken[static_cast<std::size_t>(i)];
    });
    for (const std::atomic<int>& one : taken) EXPECT_EQ(one, 1);
  }
}

TEST(Parallel, the_error_of_the_least_number_is_returned) {
  for (const int threads : thread_counts)
    for (int repetition = 0; repetition < 20; ++repetition) {
      std::atomic<int> begun = 0;
      const auto result = parallel_try(200, threads, [&](std::size_t i) -> Result<void> {
        ++begun;
        // The least one that fails takes longest.
        if (i == 17) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (i >= 17) return bad_input(std::to_string(i));
        return {};
      });
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().message, "17");
      EXPECT_GE(begun, 18);
      if (threads == 1) {
        EXPECT_EQ(begun, 18);
      }
    }
}

TEST(Parallel, pieces_are_committed_in_order) {
  for (const int threads : thread_counts) {
    std::vector<std::size_t> committed;
    const auto result = in_order(
        threads, 300, 16,
        [](std::size_t i) {
          if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
          return std::vector<std::size_t>{i, i * i};
        },
        [&](std::size_t i, std::vector<std::size_t> prepared) -> Result<void> {
          EXPECT_EQ(prepared, (std::vector<std::size_t>{i, i * i}));
          committed.push_back(i);
          if (i == 250) return bad_input("at 250");
          return {};
        });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "at 250");
    ASSERT_EQ(committed.size(), 251U);
    EXPECT_TRUE(std::is_sorted(committed.begin(), committed.end()));
  }
}

TEST(Parallel, loops_within_one_thread_are_run_by_it) {
  with_threads(1, [] {
    EXPECT_EQ(count_of_threads(0), 1);
    const std::thread::id own = std::this_thread::get_id();
    parallel_for(100, 0, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), own); });
    parallel_ranges(
        100, 0, [&](std::int64_t, std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), own); });
  });
  EXPECT_EQ(count_of_threads(5), 5);
}

TEST(Parallel, no_piece_begins_within_another) {
  thread_local bool within = false;
  std::atomic<int> begun_within = 0;
  parallel_for(64, 4, [&](std::size_t) {
    if (within) ++begun_within;
    within = true;
    parallel_for(64, 0,
                 [](std::size_t) { std::this_thread::sleep_for(std::chrono::microseconds(20)); });
    within = false;
  });
  EXPECT_EQ(begun_within, 0);
}

}  // namespace
}  // namespace lemma
