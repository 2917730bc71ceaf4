// What people knew to be true follows from the shipped database.

#include <gtest/gtest.h>

#include "database/derivation.h"
#include "rule_language/rule_database.h"
#include "system/parallel.h"

namespace lemma::database {
namespace {

TEST(Shipped, RulesStatedBeforeAnyWasFoundFollow) {
  const auto contents = read_text_file("tests/database/hand_written_first.rules");
  ASSERT_TRUE(contents);
  const auto written = parse_substitutions(*contents, "hand_written_first.rules");
  ASSERT_TRUE(written) << written.error().message;
  ASSERT_GE(written->size(), 160U);
  const auto shipped = read_substitutions("rules/substitutions", ".rules");
  ASSERT_TRUE(shipped) << shipped.error().message;
  const DerivationRules rules(*shipped), searched = rules.as_searched(),
                                         refinements = searched.as_refinements();
  std::vector<Derivation> derivations(written->size());
  parallel_for(written->size(), 0, [&](std::size_t i) {
    derivations[i] = derive((*written)[i], searched, Start::left_side);
    // Where the search reads a rule from right to left only.
    if (!derivations[i].derivable) derivations[i] = derive((*written)[i], rules, Start::left_side);
    if (!derivations[i].derivable && !(*written)[i].bidirectional)
      derivations[i] = derive((*written)[i], refinements, Start::left_side, {30'000, 12});
  });
  for (std::size_t i = 0; i < written->size(); ++i)
    EXPECT_TRUE(derivations[i].derivable) << text((*written)[i]) << derivations[i].stopped;
}

}  // namespace
}  // namespace lemma::database
