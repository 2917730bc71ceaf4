// Real attributes are opaque to the functions of a record: nothing can be computed with one, and a symbol of a proof is
// never taken for a number, in any operator.

#include "ir/real.h"

#include <gtest/gtest.h>

#include <concepts>
#include <functional>
#include <stdexcept>
#include <type_traits>

#include "facts/operator_instances.h"
#include "ir/constant_expression.h"
#include "ir/graph.h"

namespace lemma {
namespace {

template <typename Operation, typename A, typename B>
concept computes = requires(A a, B b, Operation operation) {
  operation(a, b);
};

template <typename Operation>
concept is_refused = !computes<Operation, Real, Real> && !computes<Operation, Real, double> &&
                     !computes<Operation, double, Real> && !computes<Operation, Real, int>;

static_assert(!std::is_convertible_v<Real, double> && !std::is_constructible_v<double, Real>);
static_assert(!std::is_convertible_v<Real, bool> && !std::is_constructible_v<Real, double>);
static_assert(is_refused<std::plus<>> && is_refused<std::minus<>> &&
              is_refused<std::multiplies<>> && is_refused<std::divides<>>);
static_assert(is_refused<std::less<>> && is_refused<std::equal_to<>> &&
              is_refused<std::greater_equal<>>);
static_assert(!std::invocable<std::negate<>, Real>);

TEST(RealAttribute, GivesItsNumberToCodeThatAsksForIt) {
  const Attributes attributes = {{"a", 2.5}, {"b", 0.0}, {"c", RealSymbol{2}}};
  EXPECT_EQ(attributes.number("a"), 2.5);
  EXPECT_TRUE(attributes.is_zero("b"));
  EXPECT_FALSE(attributes.is_zero("a"));
  EXPECT_FALSE(attributes.is_zero("c"));
  EXPECT_THROW((void)attributes.number("c"), std::logic_error);
}

TEST(RealAttribute, IsNoNumberAsASymbol) {
  const Attributes symbol = {{"a", RealSymbol{1}}};
  for (const double number : {1.0, 1031.125, 0.0})
    EXPECT_FALSE(symbol == Attributes({{"a", number}})) << number;
  EXPECT_FALSE(symbol == Attributes({{"a", RealSymbol{2}}}));
  EXPECT_EQ(text(symbol), "{a=real<1>}");
  EXPECT_EQ(kind_of(RealSymbol{1}), AttributeKind::real);
}

TEST(ConstantExpression, IsRoundedOnceToEachType) {
  const auto sixth = [](DefinitionBuilder& d, DataType type) {
    return d.real(1, type) / d.real(6, type);
  };
  const Constant f64 =
      exact_scalar(DataType::f64, [&](auto& d) { return sixth(d, DataType::f64); });
  const Constant f32 =
      exact_scalar(DataType::f32, [&](auto& d) { return sixth(d, DataType::f32); });
  EXPECT_EQ(f64.reals(), Reals{1.0 / 6});
  EXPECT_EQ(f32.reals(), Reals{static_cast<double>(1.0F / 6)});
  ASSERT_NE(f32.exact(), nullptr);
  EXPECT_EQ(text(*f32.exact()), text(*f64.exact()));
  const Constant half =
      exact_scalar(DataType::f32, [](auto& d) { return d.real(0.5, DataType::f32); });
  EXPECT_EQ(half.exact(), nullptr);
  EXPECT_TRUE(half == Constant::scalar_f32(0.5F));
  const Constant large =
      exact_scalar(DataType::f32, [](auto& d) { return d.real(16777217, DataType::f32); });
  EXPECT_FALSE(large == Constant::scalar_f32(16777216));
  EXPECT_EQ(large.reals(), Reals{16777216});
}

/// The application with the first `count` real attributes as symbols.
Attributes with_symbols(const OperatorRecord& record, Attributes attributes) {
  std::int64_t rank = 0;
  for (const AttributeSpecification& one : record.attributes)
    if (one.kind == AttributeKind::real) attributes.set(std::string(one.name), RealSymbol{++rank});
  return attributes;
}

bool has_symbol(const Definition& definition) {
  for (const ExpressionNode& node : definition.nodes())
    if (node.kind == ExpressionKind::real_parameter) return true;
  return false;
}

bool has_symbol(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.kind == NodeKind::constant && graph.constant(node).is_symbolic()) return true;
    for (const auto& [name, value] : node.attributes)
      if (std::holds_alternative<RealSymbol>(value)) return true;
  }
  return false;
}

/// Whether the meaning has the symbols in it. Nothing may ask for their numbers.
bool takes_symbols(const OperatorRecord& record, const Instance& in) {
  if (record.define != nullptr) return has_symbol(record.define(in));
  Graph graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < in.inputs.size(); ++i)
    inputs.push_back(in.has(i) ? *graph.add_input("x" + std::to_string(i), in.inputs[i])
                               : ValueId::none());
  const auto outputs = record.compose(graph, in, inputs);
  if (!outputs) return false;  // a type that the shape rule does not look at
  return has_symbol(graph);
}

TEST(EveryOperatorWithRealAttributes, HasADefinitionForSymbolsOrRefusesThem) {
  constexpr std::size_t most_looked_at = 30;
  std::size_t with_reals = 0, accepting = 0;
  for (const OperatorRecord& record : all_operators()) {
    bool has_reals = false, has_numbers = false;
    for (const AttributeSpecification& one : record.attributes) {
      has_reals = has_reals || one.kind == AttributeKind::real;
      has_numbers = has_numbers || one.role == AttributeRole::number;
    }
    if (!has_reals) continue;
    ++with_reals;
    bool accepted = false, seen = false;
    std::size_t looked_at = 0;
    visit_instances(record, [&](const OperatorInstance& given) {
      if (looked_at == most_looked_at) return false;  // the family ends there
      const auto attributes = complete_attributes(
          record, given.inputs, with_symbols(record, given.attributes), given.output_count);
      if (attributes) {
        const Instance in{given.inputs, *attributes, given.output_count};
        if (infer_types(record, in)) {
          ++looked_at;
          accepted = true;
          seen = takes_symbols(record, in) || seen;
        }
      }
      // The family goes on around what is accepted with numbers.
      const auto numbers =
          complete_attributes(record, given.inputs, given.attributes, given.output_count);
      return numbers &&
             infer_types(record, {given.inputs, *numbers, given.output_count}).has_value();
    });
    EXPECT_EQ(accepted, !has_numbers) << record.name;
    // What another attribute does not use may be brought into canonical form.
    EXPECT_TRUE(seen == accepted || record.normalize != nullptr) << record.name;
    accepting += accepted ? 1 : 0;
  }
  EXPECT_GE(with_reals, 30U);
  EXPECT_GE(accepting, 28U);
}

}  // namespace
}  // namespace lemma
