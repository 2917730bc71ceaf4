// The worked example of "Add a language": its rules are read, what is known of its classes is found, and conditions hold.

#include <optional>

#include <gtest/gtest.h>

#include "engine/chosen_term.h"
#include "engine/egraph.h"
#include "engine/saturation.h"

namespace lemma {
namespace {

#include "language_example.h"

std::string simplified(std::string_view term) {
  Texts::Graph terms;
  const auto rules = engine::compile_rules(terms, text_rules, "rules");
  EXPECT_TRUE(rules) << rules.error().message;
  const auto root = engine::add_term(terms, term);
  EXPECT_TRUE(root) << root.error().message;
  if (!rules || !root) return "";
  engine::saturate<Texts::Graph>(terms, *rules);
  return engine::text(*engine::smallest_term(terms, *root));
}

TEST(Example, simplifies_terms) {
  EXPECT_EQ(simplified("(join nothing ab)"), "ab");
  EXPECT_EQ(simplified("(join (join ab nothing) (join nothing nothing))"), "ab");
  EXPECT_EQ(simplified("(join a b)"), "(join a b)");
}

TEST(Example, knows_letters) {
  Texts::Graph terms;
  const auto root = engine::add_term(terms, "(join abc (join nothing de))");
  ASSERT_TRUE(root);
  terms.rebuild();
  EXPECT_EQ(terms.data(terms.find(*root)), 5U);
}

TEST(Example, has_no_other_condition) {
  Texts::Graph terms;
  const auto rules = engine::compile_rules(terms, "a: (f ?x) => ?x if full ?x", "rules");
  ASSERT_FALSE(rules);
  EXPECT_NE(rules.error().message.find("no condition 'full'"), std::string::npos);
}

}  // namespace
}  // namespace lemma
