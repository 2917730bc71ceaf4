#include "verifier/index/answer_cache.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lemma::verifier::index {
namespace {

std::string text_of(int number) {
  return std::string(90, 'x') + std::to_string(1000000000 + number);
}

TEST(AnswerCache, KeepsAnswers) {
  AnswerCache cache(10'000);
  EXPECT_EQ(cache.find("a"), std::nullopt);
  cache.add("a", true);
  cache.add("b", false);
  EXPECT_EQ(cache.find("a"), true);
  EXPECT_EQ(cache.find("b"), false);
}

TEST(AnswerCache, ForgetsWhatIsNotAskedFor) {
  AnswerCache cache(10'000);  // 100 of these texts
  for (int i = 0; i < 10'000; ++i) {
    cache.add(text_of(i), i % 2 == 0);
    EXPECT_LE(cache.size(), 102U);
    EXPECT_EQ(cache.find(text_of(0)), true);  // again and again
    EXPECT_EQ(cache.find(text_of(i)), i % 2 == 0);
  }
  EXPECT_EQ(cache.find(text_of(5)), std::nullopt);
}

TEST(AnswerCache, IsUsedBySeveralThreads) {
  AnswerCache cache(10'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&cache] {
      for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(cache.find(text_of(i)).value_or(i % 3 == 0), i % 3 == 0);
        cache.add(text_of(i), i % 3 == 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.size(), 102U);
}

}  // namespace
}  // namespace lemma::verifier::index
