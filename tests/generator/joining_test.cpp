#include "generator/joining.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace lemma::generator {
namespace {

Group group_of(std::size_t count) {
  Group group;
  for (std::size_t i = 0; i < count; ++i) {
    TermNode node;
    node.op = static_cast<std::uint32_t>(i);
    group.terms.push_back(node);
  }
  return group;
}

/// Against parts that are kept as numbers.
TEST(Joining, KnowsWhatIsJoined) {
  constexpr std::size_t count = 60;
  Joining joining(group_of(count));
  std::vector<std::size_t> part(count);
  for (std::size_t i = 0; i < count; ++i) part[i] = i;
  std::mt19937 random(7);
  for (std::size_t rule = 0; rule < 200; ++rule) {
    const std::size_t a = random() % count, b = random() % count;
    joining.join(a, b, rule);
    const std::size_t from = part[a], to = part[b];
    for (std::size_t& each : part)
      if (each == from) each = to;
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(joining.are_joined(a, i), part[a] == part[i]) << rule << " " << i;
  }
  EXPECT_EQ(joining.is_one(), std::ranges::count(part, part[0]) == count);
}

TEST(Joining, NamesTheRulesBetweenTerms) {
  Joining joining(group_of(4));
  joining.join(0, 1, 10);
  joining.join(2, 3, 11);
  EXPECT_FALSE(joining.is_one());
  EXPECT_TRUE(joining.between(0, 3).empty());
  joining.join(3, 1, 12);
  joining.join(0, 2, 13);  // are joined already
  EXPECT_TRUE(joining.is_one());
  EXPECT_EQ(joining.between(0, 2), (std::vector<std::size_t>{11, 12, 10}));
}

/// Each joined to the one before it.
TEST(Joining, HoldsLongChains) {
  constexpr std::size_t count = 200'000;
  Joining joining(group_of(count));
  for (std::size_t i = 1; i < count; ++i) joining.join(i - 1, i, i);
  EXPECT_TRUE(joining.is_one());
  EXPECT_TRUE(joining.are_joined(0, count - 1));
}

}  // namespace
}  // namespace lemma::generator
