// What the roles of the shipped rules promise, and that the passes use them.

#include "rule_language/rule_roles.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "egraph/pattern.h"
#include "ir/graph_text.h"
#include "ir/runtime_layout.h"
#include "search/fold_recurrences.h"
#include "search/rule_subset.h"
#include "tests/search/random_network.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Different operations of a side, without those on weights alone.
std::size_t operations(const Substitution& rule, std::span<const TermId> side,
                       const std::vector<char>& is_weight) {
  const std::vector<char> needed = needed_terms(rule, side);
  std::vector<const RuleTerm*> counted;
  std::vector<char> weights(rule.terms.size(), 0);
  for (std::size_t i = 0; i < rule.terms.size(); ++i) {
    const RuleTerm& term = rule.terms[i];
    if (term.is_input) {
      weights[i] = is_weight[term.input];
      continue;
    }
    weights[i] = std::all_of(term.operands.begin(), term.operands.end(), [&](TermId operand) {
      return operand.is_none() || weights[operand.v] != 0;
    });
    const auto is_same = [&term](const RuleTerm* other) {
      return other->op == term.op && other->attributes == term.attributes &&
             other->operands == term.operands;
    };
    if (needed[i] != 0 && weights[i] == 0 && std::none_of(counted.begin(), counted.end(), is_same))
      counted.push_back(&term);
  }
  return counted.size();
}

/// Fewer operations in a direction in which the search uses the rule, if at most one more input is a weight.
bool saves_operations(const Substitution& rule) {
  std::vector<char> is_weight;
  for (const RuleInput& input : rule.inputs) is_weight.push_back(input.weight ? 1 : 0);
  const auto saves = [&] {
    const std::size_t left = operations(rule, rule.left, is_weight),
                      right = operations(rule, rule.right, is_weight);
    return right < left || (rule.bidirectional && !rule.search_forward && left < right);
  };
  if (saves()) return true;
  for (char& weight : is_weight) {
    if (std::exchange(weight, 1) != 0) continue;
    const bool is_saving = saves();
    weight = 0;
    if (is_saving) return true;
  }
  return false;
}

bool has_recurrence(const Substitution& rule, std::span<const TermId> side) {
  const std::vector<char> needed = needed_terms(rule, side);
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (needed[i] != 0 && !rule.terms[i].is_input && record(rule.terms[i].op).has(recurrent))
      return true;
  return false;
}

TEST(Roles, AllShippedRulesStateThem) {
  for (const Substitution& rule : testing::shipped_rules().substitutions())
    EXPECT_FALSE(rule.roles.empty()) << rule.name;
}

TEST(Roles, SimplifyingRulesSaveOperationsOrPrepareThat) {
  std::size_t count = 0;
  for (const Substitution& rule : simplifying_rules(testing::shipped_rules().substitutions())) {
    ++count;
    const std::vector<char> weights(rule.inputs.size(), 0);
    EXPECT_TRUE(saves_operations(rule) || operations(rule, rule.left, weights) == 1) << rule.name;
  }
  EXPECT_GE(count, 100U);
}

TEST(Roles, LayoutsAreAboutTheOperatorsOfALayout) {
  for (const Substitution& rule : testing::shipped_rules().substitutions()) {
    const bool is_about_layout = std::any_of(
        rule.terms.begin(), rule.terms.end(),
        [](const RuleTerm& term) { return !term.is_input && is_of_layout(record(term.op)); });
    EXPECT_EQ(is_about_layout, has_role(rule, RuleRole::layout)) << rule.name;
  }
}

TEST(Roles, RulesForARuntimeAreForOne) {
  for (const Substitution& rule : testing::shipped_rules().substitutions()) {
    if (has_role(rule, RuleRole::layout)) continue;
    EXPECT_EQ(has_role(rule, RuleRole::runtime) ? 1U : 0U, runtimes_of(rule).size()) << rule.name;
  }
}

/// The pass for recurrences applies its rules from left to right.
TEST(Roles, RulesForRecurrencesGoForward) {
  const RecurrenceRules rules = recurrence_rules(testing::shipped_rules().substitutions());
  EXPECT_GE(rules.form.size(), 5U);
  EXPECT_GE(rules.recurrence.size(), 5U);
  EXPECT_GE(rules.results.size(), 1U);
  for (const auto* list : {&rules.form, &rules.recurrence, &rules.results}) {
    const auto compiled = compile_rules(*list);
    ASSERT_TRUE(compiled) << compiled.error().message;
    EXPECT_EQ(compiled->size(), list->size());
    for (const CompiledRule& rule : *compiled) EXPECT_FALSE(rule.backward) << rule.rule.name;
  }
  for (const Substitution& rule : rules.form) {
    EXPECT_FALSE(has_recurrence(rule, rule.left) || has_recurrence(rule, rule.right)) << rule.name;
    EXPECT_EQ(rule.right.size(), 1U) << rule.name;
  }
  for (const Substitution& rule : rules.recurrence)
    EXPECT_TRUE(has_recurrence(rule, rule.right)) << rule.name;
  for (const Substitution& rule : rules.results) {
    const std::vector<char> weights(rule.inputs.size(), 0);
    EXPECT_TRUE(has_recurrence(rule, rule.left)) << rule.name;
    EXPECT_EQ(operations(rule, rule.left, weights), 1U) << rule.name;
  }
}

/// A role decides, whatever the rule looks like.
TEST(Roles, TheSearchUsesWhatIsStated) {
  auto rules = parse_substitutions(R"(
rule unused_by_simplify
  role general
  x : [A..]
  Neg(Neg(x)) = x

rule used_by_simplify
  role simplification
  x : [A..]
  y : [A..]
  Add(x, y) = Add(y, x)

rule for_no_graph
  role layout
  x : [A..]
  Abs(Abs(x)) = Abs(x)
)",
                                   "test.rules");
  ASSERT_TRUE(rules) << rules.error().message;
  const auto names = [](const std::vector<Substitution>& list) {
    std::vector<std::string> result;
    for (const Substitution& rule : list) result.push_back(rule.name);
    return result;
  };
  EXPECT_THAT(names(simplifying_rules(*rules)), ElementsAre("used_by_simplify"));
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{2}});
  ASSERT_TRUE(graph.add_output("y", *graph.add("Abs", {*graph.add("Neg", {x})})));
  EXPECT_THAT(names(relevant_rules(graph, *rules)), ElementsAre("unused_by_simplify"));
  for (Substitution& rule : *rules) rule.roles = {RuleRole::recurrence_form};
  EXPECT_THAT(simplifying_rules(*rules), IsEmpty());
  // Without a rule that looks for the form it is used like any other.
  EXPECT_THAT(recurrence_rules(*rules).form, IsEmpty());
  EXPECT_THAT(names(relevant_rules(graph, *rules)),
              ElementsAre("unused_by_simplify", "for_no_graph"));
}

TEST(Roles, PartialEquivalenceIsForTargetsThatAskForIt) {
  const auto rules = parse_substitutions(R"(
rule for_some_targets
  role partial
  x : [A..]
  Neg(Neg(x)) => x

rule for_all_targets
  role general
  x : [A..]
  Neg(Abs(Neg(x))) => Neg(Abs(x))
)",
                                         "test.rules");
  ASSERT_TRUE(rules) << rules.error().message;
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{2}});
  ASSERT_TRUE(graph.add_output("y", *graph.add("Abs", {*graph.add("Neg", {x})})));
  const auto count = [&](bool takes_partial) {
    return relevant_rules(graph, *rules, {"", 0, takes_partial}).size();
  };
  EXPECT_EQ(count(false), 1U);
  EXPECT_EQ(count(true), 2U);
}

TEST(Roles, RulesThatRegroupImagesAreNotUsedUnasked) {
  const auto parsed = parse_graph(R"(graph "images"
  input %0 "x" : f32[4, 3, 8, 8]
  input %1 "w" : f32[2, 3, 3, 3]
  %2 = Conv{strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], group=1}(%0, %1)
  output "y" = %2
)");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Graph& graph = *parsed;
  const auto counted = [&](bool takes_partial) {
    std::size_t count = 0;
    for (const Substitution& rule :
         relevant_rules(graph, testing::shipped_rules().substitutions(), {"", 0, takes_partial}))
      count += has_role(rule, RuleRole::partial) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(counted(false), 0U);
  EXPECT_GT(counted(true), 10U);
}

}  // namespace
}  // namespace lemma
