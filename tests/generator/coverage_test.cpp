// Whether TASO's shipped rules follow from what the generator finds.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "egraph/egraph.h"
#include "egraph/saturation.h"
#include "interpreter/random.h"
#include "rule_language/substitution_use.h"
#include "tests/generator/helpers.h"
#include "verifier/exchange/taso_format.h"
#include "verifier/exchange/taso_import.h"

namespace lemma {
namespace {

/// TASO's own file, where it is at hand.
std::filesystem::path taso_file() {
  const char* shared = std::getenv("LEMMA_SHARED");
  return std::filesystem::path(shared != nullptr ? shared : "../shared") /
         "peers/taso/graph_subst.pb";
}

/// A choice of sizes: groups that stand alone make matrices, others are empty.
RuleBindings sizes_of(const Substitution& rule, std::uint64_t seed) {
  RuleBindings bindings;
  std::uint64_t counter = 0;
  const auto size = [&]() -> Dimension {
    return 1 + static_cast<std::int64_t>(interpreter::random_word(seed, 0, counter++) % 6);
  };
  for (const RuleGroup& group : rule.groups) {
    bool alone = false;
    for (const RuleInput& input : rule.inputs)
      alone = alone || (input.shape.size() == 1 && input.shape[0].name == group.name);
    Shape shape;
    for (std::size_t i = 0; i < std::max<std::size_t>(group.minimum, alone ? 2 : 0); ++i)
      shape.push_back(size());
    bindings.groups[group.name] = std::move(shape);
  }
  for (const std::string& name : variable_names(rule)) {
    if (bindings.groups.contains(name)) continue;
    const Dimension value =
        name.starts_with("group")
            ? Dimension(1 + static_cast<std::int64_t>(interpreter::random_word(seed, 1, 0) % 2))
            : size();
    bool is_parameter = false;
    for (const RuleParameter& parameter : rule.parameters)
      is_parameter = is_parameter || parameter.name == name;
    if (is_parameter)
      bindings.parameters[name] = value;
    else
      bindings.dimensions[name] = value;
  }
  return bindings;
}

struct BothSides {
  Graph graph;
  std::vector<ValueId> left, right;
};

/// Both sides at some sizes for which both are well typed and have the same types; `seed` is where
/// to start looking, and is moved behind what was found.
std::optional<BothSides> instance_of(const Substitution& rule, std::uint64_t& seed) {
  for (const std::uint64_t end = seed + 20'000; seed < end;) {
    const RuleBindings bindings = sizes_of(rule, seed++);
    BothSides sides;
    std::vector<ValueId> inputs;
    for (const RuleInput& input : rule.inputs) {
      RuleExpression list;
      list.kind = RuleExpression::Kind::list;
      list.arguments = input.shape;
      const auto shape = evaluate_attribute(list, AttributeKind::dimensions, bindings);
      if (!shape || !has_sizes(std::get<Shape>(*shape))) break;
      inputs.push_back(
          *sides.graph.add_input(input.name, {DataType::f32, std::get<Shape>(*shape)}));
    }
    if (inputs.size() < rule.inputs.size() || !conditions_hold(rule, bindings)) continue;
    auto left = instantiate(rule, rule.left, inputs, bindings, sides.graph);
    auto right = instantiate(rule, rule.right, inputs, bindings, sides.graph);
    if (!left || !right) continue;
    bool same_types = true;
    for (std::size_t i = 0; i < left->size(); ++i) {
      same_types = same_types && sides.graph.type((*left)[i]) == sides.graph.type((*right)[i]);
      (void)sides.graph.add_output("l" + std::to_string(i), (*left)[i]);
      (void)sides.graph.add_output("r" + std::to_string(i), (*right)[i]);
    }
    if (!same_types) continue;
    sides.left = std::move(*left);
    sides.right = std::move(*right);
    return sides;
  }
  return std::nullopt;
}

/// Whether the sides are joined by saturation, alternating with searches that start anew.
bool follows(const BothSides& sides, std::span<const CompiledRule> rules) {
  EGraph egraph;
  const std::vector<ClassId> classes = egraph.add_graph(sides.graph);
  SaturationLimits limits;
  limits.node_limit = 20'000;
  limits.iterations = 1;
  limits.match_limit = 0;
  for (int iteration = 0; iteration < 8; ++iteration) {
    bool joined = true;
    for (std::size_t i = 0; i < sides.left.size(); ++i)
      joined =
          joined && egraph.find(classes[sides.left[i].v]) == egraph.find(classes[sides.right[i].v]);
    if (joined) return true;
    const SaturationReport report = saturate(egraph, rules, limits);
    if (report.stop != StopReason::iterations) return false;
  }
  return false;
}

/// Those that an independent evaluation has found to be wrong.
const std::set<std::size_t> wrong = {98, 99, 100, 105, 125, 126, 127, 128, 129, 130, 131};

TEST(Coverage, TasosTrueRulesFollowAndItsWrongOnesDoNot) {
  std::ifstream file(taso_file(), std::ios::binary);
  if (!file) GTEST_SKIP() << "needs " << taso_file() << " (or LEMMA_SHARED)";
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto parsed = exchange::read_taso(bytes);
  ASSERT_TRUE(parsed) << parsed.error().message;
  const exchange::ImportedRules imported = exchange::import_rules(*parsed);
  ASSERT_EQ(imported.rules.size(), 133U);

  const generator::Generated generated =
      testing::generated_from(testing::shipped_set("taso"), 3, 2);
  const auto rules = compile_rules(generated.rules);
  ASSERT_TRUE(rules) << rules.error().message;

  for (std::size_t i = 0; i < imported.rules.size(); ++i) {
    const Substitution& rule = imported.rules[i];
    std::uint64_t seed = 1;
    const auto sides = instance_of(rule, seed);
    ASSERT_TRUE(sides) << rule.name;
    bool all = follows(*sides, *rules);
    if (!wrong.contains(i)) {
      EXPECT_TRUE(all) << rule.name << " does not follow";
      continue;
    }
    // Some hold for a few sizes, such as one group.
    for (int more = 0; all && more < 20; ++more) {
      const auto others = instance_of(rule, seed);
      ASSERT_TRUE(others) << rule.name;
      all = follows(*others, *rules);
    }
    EXPECT_FALSE(all) << rule.name << " is wrong, but follows";
  }
}

}  // namespace
}  // namespace lemma
