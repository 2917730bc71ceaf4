#pragma once
// Random small networks of the operators that rules are about, with weights, and the shipped rules.

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "costmodel/graph_cost.h"
#include "egraph/pattern.h"
#include "ir/graph.h"
#include "rule_language/rule_database.h"
#include "search/rule_subset.h"

namespace lemma::testing {

class RandomNetwork {
 public:
  explicit RandomNetwork(std::uint64_t seed) : random_(seed) {}

  Graph make(std::size_t operations) {
    values_ = {*graph_.add_input("x", {DataType::f32, Shape{2, 4}}),
               *graph_.add_input("y", {DataType::f32, Shape{2, 4}})};
    for (std::size_t i = 0; i < 3; ++i) weights_.push_back(weight());
    while (graph_.node_count() < operations + 5) add();
    for (std::size_t i = 0; i < 3 && i < values_.size(); ++i)
      EXPECT_TRUE(graph_.add_output("out" + std::to_string(i), values_[values_.size() - 1 - i]));
    return std::move(graph_);
  }

 private:
  std::size_t number(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }
  /// Late ones more often, so that graphs get deep.
  ValueId any() { return values_[std::max(number(values_.size()), number(values_.size()))]; }
  ValueId weight() {
    std::vector<float> elements(16);
    for (float& element : elements) element = static_cast<float>(number(9)) / 4.0F - 1.0F;
    return graph_.add_constant(Constant::of(DataType::f32, {4, 4}, elements));
  }

  void add() {
    switch (number(8)) {
      case 0:
      case 1:
      case 2: return take(graph_.add("MatMul", {any(), weights_[number(3)]}));
      case 3: return take(graph_.add("Add", {any(), any()}));
      case 4: return take(graph_.add("Mul", {any(), any()}));
      case 5: return take(graph_.add("Relu", {any()}));
      case 6: return take(graph_.add("Tanh", {any()}));
      default: break;
    }
    // There and back again.
    const auto joined = graph_.add("Concat", {any(), any()}, {{"axis", std::int64_t{1}}});
    ASSERT_TRUE(joined);
    const auto split = graph_.add_operation(*find_operator("Split"), {*joined},
                                            {{"axis", std::int64_t{1}}, {"split", Shape{4, 4}}}, 2);
    ASSERT_TRUE(split) << split.error().message;
    for (std::uint32_t k = 0; k < 2; ++k) values_.push_back(graph_.node(*split).output(k));
  }

  void take(const Result<ValueId>& value) {
    ASSERT_TRUE(value) << value.error().message;
    values_.push_back(*value);
  }

  std::mt19937_64 random_;
  Graph graph_;
  std::vector<ValueId> values_, weights_;
};

inline const RuleDatabase& shipped_rules() {
  static const RuleDatabase rules = [] {
    auto loaded = load_rules("rules");
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded->up_to(RoundingClass::rounding);
  }();
  return rules;
}

inline const OperatorCosts& cpu_costs() {
  static const OperatorCosts costs(priced_by_roofline(*load_device("targets/devices/cpu.json")));
  return costs;
}

inline std::vector<CompiledRule> compiled_for(const Graph& graph) {
  auto compiled = compile_rules(relevant_rules(graph, shipped_rules().substitutions()));
  EXPECT_TRUE(compiled) << compiled.error().message;
  return std::move(*compiled);
}

}  // namespace lemma::testing
