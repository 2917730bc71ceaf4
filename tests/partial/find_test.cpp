// From an operator set to regions that are proved for all sizes, and to rules that correct the rest.

#include "partial/find.h"

#include <gtest/gtest.h>

#include "tests/generator/helpers.h"
#include "verifier/prover/sampling.h"

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
  ASSERT_EQ(regions.found.size(), 1U) << (regions.open.empty() ? "" : regions.open[0].reason);
  const FoundRegion& found = regions.found.front();
  ASSERT_EQ(found.correction.boxes.size(), 1U);
  EXPECT_EQ(text(found.correction.boxes.front().box), "[0, n0 + 1) x [0, n3) x [1, n2 + 1)");
  // The sizes for which all parts exist, and the margin of each border.
  const std::string rule = text(found.correction.rule);
  for (const char* part : {"u : [n0 + 1, n1, n2 + 2]", "Concat{axis=2}", "pads=[1, 0]",
                           "pads=[0, 1]", "Slice{axes=[2], ends=[2], starts=[0]}(u)",
                           "Slice{axes=[2], ends=[n2 + 2], starts=[n2]}(u)"})
    EXPECT_NE(rule.find(part), std::string::npos) << part << "\n" << rule;
  EXPECT_TRUE(verifier::prove_by_index(found.correction.rule).proved);
  EXPECT_FALSE(verifier::prove_by_index(found.claim).proved) << "it is not true everywhere";
}

/// Regions and rules for all sizes are the same whatever the contents and the threads are.
TEST(FindRegions, DoNotDependOnContentsAndThreads) {
  const generator::OperatorSet set = testing::set_of(sequences);
  generator::AgreementOptions options;
  const auto first = find_regions(set, options);
  options.seed = 5;
  options.threads = 2;
  const auto second = find_regions(set, options);
  ASSERT_TRUE(first && second);
  ASSERT_EQ(first->found.size(), second->found.size());
  for (std::size_t i = 0; i < first->found.size(); ++i)
    EXPECT_EQ(text(first->found[i].correction.rule), text(second->found[i].correction.rule));
}

/// The border is as wide as the pads, and images are wide enough for two of them.
TEST(FindRegions, KernelsMayHaveAnySize) {
  std::string any = sequences;
  const std::string kernel = "weight k : [o, c, 3]\n  Conv{strides=[1], pads=[1, 1]";
  ASSERT_NE(any.find(kernel), std::string::npos);
  any.replace(any.find(kernel), kernel.size(),
              "weight k : [o, c, 2*p + 1]\n  where p == 1\n  Conv{strides=[1], pads=[p, p]");
  const FoundRegions regions = regions_of(any);
  ASSERT_EQ(regions.found.size(), 1U) << (regions.open.empty() ? "" : regions.open[0].reason);
  const Substitution& rule = regions.found.front().correction.rule;
  const auto read = parse_substitutions(text(rule), "again.rules");
  ASSERT_TRUE(read) << read.error().message << text(rule);
  EXPECT_NE(text(rule).find("2*(n4 + 1) + 1"), std::string::npos) << text(rule);
  EXPECT_TRUE(verifier::prove_by_index(read->front()).proved);
  EXPECT_FALSE(verifier::sample(read->front()).counterexample);
}

TEST(FindRegions, WrongBoxesAreNotProved) {
  const FoundRegions regions = regions_of(sequences);
  ASSERT_EQ(regions.found.size(), 1U);
  // One index more at either side.
  for (const bool at_end : {false, true}) {
    const Substitution claim = regions.found.front().correction.boxes.front().claim;
    const std::string text_of_claim = text(claim);
    const std::string from = "ends=[n2 + 1], starts=[1]";
    const std::string to = at_end ? "ends=[n2 + 2], starts=[1]" : "ends=[n2 + 1], starts=[0]";
    std::string changed = text_of_claim;
    for (std::size_t at = changed.find(from); at != std::string::npos;
         at = changed.find(from, at + 1))
      changed.replace(at, from.size(), to);
    ASSERT_NE(changed, text_of_claim);
    const auto wrong = parse_substitutions(changed, "wrong.rules");
    ASSERT_TRUE(wrong) << wrong.error().message;
    EXPECT_TRUE(verifier::prove_by_index(claim).proved);
    EXPECT_FALSE(verifier::prove_by_index(wrong->front()).proved) << changed;
    EXPECT_TRUE(verifier::sample(wrong->front()).counterexample) << changed;
  }
}

}  // namespace
}  // namespace lemma::partial
