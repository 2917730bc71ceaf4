// From an operator set to regions that are proved for all sizes, and to rules that correct the rest.

#include "partial/find.h"

#include <gtest/gtest.h>

#include "tests/generator/helpers.h"

namespace lemma::partial {
namespace {

const std::string sequences = R"(
set sequences
input u : [2, 2, 6]
weight s : [2, 2, 3]
limit elements 64
limit operators 3
free factors

operator conv
  x : [n, c, z]
  weight k : [o, c, 3]
  Conv{strides=[1], pads=[1, 1], dilations=[1], group=1}(x, k)

operator to_length
  x : [n, c, z]
  Reshape{shape=[1, c, n*z]}(Transpose{perm=[1, 0, 2]}(x))

operator from_length
  x : [1, c, n*z]
  where n == 2
  Transpose{perm=[1, 0, 2]}(Reshape{shape=[c, n, z]}(x))
)";

FoundRegions regions_of(const std::string& set) {
  generator::AgreementOptions options;
  auto regions = find_regions(testing::set_of(set), options);
  EXPECT_TRUE(regions) << regions.error().message;
  return regions ? std::move(*regions) : FoundRegions{};
}

TEST(FindRegions, SequencesBesideEachOther) {
  const FoundRegions regions = regions_of(sequences);
  for (const OpenRegion& open : regions.open)
    std::cout << open.target << "\n" << open.claim << open.reason << "\n";
  ASSERT_EQ(regions.found.size(), 1U);
  const FoundRegion& found = regions.found.front();
  std::cout << text(found.claim) << "\n" << text(found.correction.rule) << "\n";
  ASSERT_EQ(found.correction.boxes.size(), 1U);
  EXPECT_TRUE(found.correction.boxes.front().proof.proved);
  EXPECT_TRUE(verifier::prove_by_index(found.correction.rule).proved);
}

}  // namespace
}  // namespace lemma::partial
