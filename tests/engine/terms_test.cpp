#include "engine/terms.h"

#include <gtest/gtest.h>

namespace lemma::engine {
namespace {

TEST(Terms, AreReadAsTheyAreWritten) {
  for (const char* const term : {"x", "?x", "(+ 1 x)", "(f)", "(* (+ a ?b) (g (h c)))"}) {
    const auto parsed = parse_term(term);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(text(*parsed), std::string_view(term) == "(f)" ? "f" : term);
  }
  EXPECT_EQ(text(*parse_term("  ( +\n1\tx )")), "(+ 1 x)");
}

TEST(Terms, ErrorsSayWhatIsWrong) {
  const auto message = [](std::string_view term) { return parse_term(term).error().message; };
  EXPECT_EQ(message("(+ 1 2"), "a bracket is not closed");
  EXPECT_EQ(message("x y"), "there is more behind the term: 'y'");
  EXPECT_EQ(message("(?f x)"), "a bracket must be followed by a word");
  EXPECT_EQ(message("()"), "a bracket must be followed by a word");
}

TEST(Rules, OfAFile) {
  const auto rules = parse_rules(
      "# comment\n\na: (f ?x) => ?x if small ?x, odd ?x ?x\n"
      "b: (g ?x ?y) <=> (g ?y ?x)  # both\n",
      "file");
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_EQ(rules->size(), 3);
  EXPECT_EQ((*rules)[0].conditions.size(), 2);
  EXPECT_EQ((*rules)[0].conditions[1].variables, (std::vector<std::string>{"?x", "?x"}));
  EXPECT_EQ((*rules)[2].name, "b-back");
  EXPECT_EQ(text((*rules)[2].left), "(g ?y ?x)");
  EXPECT_EQ((*rules)[2].place, "file:4");
}

TEST(Rules, ErrorsNameTheLine) {
  const auto message = [](std::string_view text) { return parse_rules(text, "f").error().message; };
  EXPECT_EQ(message("\na: x"), "f:2: there is neither => nor <=>");
  EXPECT_EQ(message("x => y"),
            "f:1: a rule is 'name: left => right'; there is no name before a colon");
  EXPECT_EQ(message("a: (f ?x) => (f"), "f:1: a bracket is not closed");
  EXPECT_EQ(message("a: (f ?x) => ?x if small x"),
            "f:1: 'x' in a condition is no variable such as ?x");
}

}  // namespace
}  // namespace lemma::engine
