// What windows read, from the definitions of operators.

#include "partial/reads.h"

#include <gtest/gtest.h>

#include "rule_language/substitution.h"

namespace lemma::partial {
namespace {

/// The reads of the left side of a rule along an axis, as lines.
std::vector<std::string> reads_of(std::string_view text, std::size_t axis) {
  const auto rules = parse_substitutions(text, "reads.rules");
  EXPECT_TRUE(rules) << rules.error().message;
  std::vector<std::string> lines;
  const auto reads = reads_along(rules->front(), rules->front().left.front(), axis);
  if (!reads) return {"unknown"};
  for (const ReadAxis& read : *reads)
    lines.push_back(std::to_string(read.operand) + ":" + std::to_string(read.axis) + " " +
                    read.reach.factor.text() + ", " + read.reach.least.text() + ", " +
                    read.reach.greatest.text());
  return lines;
}

using Lines = std::vector<std::string>;

constexpr std::string_view conv = R"(rule conv
  x : [n, c, y, z]
  w : [o, c, i + 1, j + 1]
  param s : dimension
  param d : dimension
  param p : dimension
  Conv{strides=[s + 1, 1], pads=[p, 0, p, 0], dilations=[d, 1], group=1}(x, w)
    => Conv{strides=[s + 1, 1], pads=[p, 0, p, 0], dilations=[d, 1], group=1}(x, w)
)";

TEST(Reads, WindowsReachAsFarAsTheirKernels) {
  EXPECT_EQ(reads_of(conv, 0), (Lines{"0:0 1, 0, 0"}));
  EXPECT_EQ(reads_of(conv, 1), (Lines{"1:0 1, 0, 0"}));
  EXPECT_EQ(reads_of(conv, 2), (Lines{"0:2 s + 1, -p, d*i - p"}));
  EXPECT_EQ(reads_of(conv, 3), (Lines{"0:3 1, 0, j"}));
}

TEST(Reads, ChannelsOfGroupsAreNotAffine) {
  constexpr std::string_view groups = R"(rule groups
  x : [n, g*c, y, z]
  w : [g*o, c, 3, 3]
  Conv{strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], group=g}(x, w)
    => Conv{strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], group=g}(x, w)
)";
  EXPECT_EQ(reads_of(groups, 1), (Lines{"unknown"}));
  EXPECT_EQ(reads_of(groups, 2), (Lines{"0:2 1, -1, 1"}));
}

TEST(Reads, OtherOperatorsHaveThemToo) {
  constexpr std::string_view pool = R"(rule pool
  x : [n, c, y + 2, z + 2]
  MaxPool{kernel_shape=[2, 3], strides=[2, 1]}(x) => MaxPool{kernel_shape=[2, 3], strides=[2, 1]}(x)
)";
  EXPECT_EQ(reads_of(pool, 2), (Lines{"0:2 2, 0, 1"}));
  EXPECT_EQ(reads_of(pool, 3), (Lines{"0:3 1, 0, 2"}));
  constexpr std::string_view product = R"(rule product
  a : [m, k]
  b : [k, n]
  MatMul(a, b) => MatMul(a, b)
)";
  EXPECT_EQ(reads_of(product, 0), (Lines{"0:0 1, 0, 0"}));
  EXPECT_EQ(reads_of(product, 1), (Lines{"1:1 1, 0, 0"}));
}

}  // namespace
}  // namespace lemma::partial
