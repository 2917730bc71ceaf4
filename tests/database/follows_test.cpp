// What people knew to be true follows from the shipped database.

#include <gtest/gtest.h>

#include "database/derivation.h"
#include "rule_language/rule_database.h"
#include "system/parallel.h"

namespace lemma::database {
namespace {

TEST(Shipped, RulesStatedBeforeAnyWasFoundFollow) {
  const auto contents = read_text_file("tests/database/stated_first.rules");
  ASSERT_TRUE(contents);
  const auto stated = parse_substitutions(*contents, "stated_first.rules");
  ASSERT_TRUE(stated) << stated.error().message;
  ASSERT_GE(stated->size(), 160U);
  const auto shipped = read_substitutions("rules/substitutions", ".rules");
  ASSERT_TRUE(shipped) << shipped.error().message;
  const DerivationRules rules(*shipped), searched = rules.as_searched(),
                                         refinements = searched.as_refinements();
  std::vector<Derivation> derivations(stated->size());
  parallel_for(stated->size(), 0, [&](std::size_t i) {
    derivations[i] = derive((*stated)[i], searched, Start::left_side);
    // Where the search reads a rule from right to left only.
    if (!derivations[i].derivable) derivations[i] = derive((*stated)[i], rules, Start::left_side);
    if (!derivations[i].derivable && !(*stated)[i].bidirectional)
      derivations[i] = derive((*stated)[i], refinements, Start::left_side, {30'000, 12});
  });
  for (std::size_t i = 0; i < stated->size(); ++i)
    EXPECT_TRUE(derivations[i].derivable) << text((*stated)[i]) << derivations[i].stopped;
}

}  // namespace
}  // namespace lemma::database
