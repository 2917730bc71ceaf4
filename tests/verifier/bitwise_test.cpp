// What is called bitwise in rules/axioms.rounding, and every rule of that class, keeps every bit:
// both sides are computed on contents full of zeros of both signs, infinities, NaN and numbers at the
// borders of their type, and compared bit by bit. A NaN equals any NaN.

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interpreter/random.h"
#include "interpreter/run.h"
#include "rule_language/rounding.h"
#include "rule_language/rule_database.h"
#include "verifier/prover/sampling.h"

namespace lemma {
namespace {

using interpreter::Tensor;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr int seeds = 6;

/// The largest number, the smallest normal one and the smallest denormal one of a type.
std::array<double, 3> borders(DataType type) {
  if (type == DataType::f16) return {65504, std::ldexp(1, -14), std::ldexp(1, -24)};
  return {std::numeric_limits<float>::max(), std::ldexp(1, -126), std::ldexp(1, -149)};
}

std::uint64_t word(std::uint64_t seed, std::uint64_t stream, std::size_t counter) {
  return interpreter::random_word(seed, stream, counter);
}

/// Seed 0 has zeros and ones only; then infinities come in, then all the rest.
Tensor special_reals(DataType type, const interpreter::Sizes& sizes, std::uint64_t seed,
                     std::uint64_t stream) {
  const auto [largest, smallest, denormal] = borders(type);
  const std::vector<double> numbers = {0.0,       -0.0,     1,        -1.5,           infinity,
                                       -infinity, 0.0,      -0.0,     not_a_number,   largest,
                                       -largest,  smallest, denormal, -denormal,      0.1,
                                       -0.1,      2.75,     -3.3125,  largest * 0.75, 1 / 3.0};
  const std::size_t kinds = seed == 0 ? 4 : seed == 1 ? 8 : numbers.size();
  std::vector<double> values(static_cast<std::size_t>(interpreter::element_count(sizes)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = numbers[word(seed, stream, i) % kinds];
  return Tensor::from_reals(type, sizes, values);
}

Tensor contents(const TensorType& type, std::uint64_t seed, std::uint64_t stream) {
  const interpreter::Sizes sizes = *constant_sizes(*type.shape);
  if (is_real(type.data_type)) return special_reals(type.data_type, sizes, seed, stream);
  interpreter::RandomRange range{-1, 1, seed % 2 == 0 ? 0 : -3, 3};
  if (type.data_type == DataType::boolean) range.integer_low = 0, range.integer_high = 1;
  return interpreter::random_tensor(type.data_type, sizes, seed, stream, range);
}

/// The first element whose bits differ, for people; empty if there is none.
std::string difference(const Tensor& left, const Tensor& right) {
  if (!(left.type() == right.type())) return "the types differ";
  const std::size_t size = left.element_size();
  const std::vector<double> l = left.reals(), r = right.reals();
  for (std::size_t i = 0; i < l.size(); ++i) {
    const bool same = std::memcmp(&left.bytes()[i * size], &right.bytes()[i * size], size) == 0;
    if (same || (std::isnan(l[i]) && std::isnan(r[i]))) continue;
    return fmt::format("element {} is {} and {}", i, l[i], r[i]);
  }
  return "";
}

/// An instance as one graph that computes both sides.
struct Sides {
  Graph graph;
  std::vector<TensorType> types;
};

std::optional<Sides> instantiate_both(const Substitution& rule, const RuleBindings& bindings,
                                      DataType real) {
  Sides sides;
  std::vector<ValueId> inputs;
  for (const RuleInput& input : rule.inputs) {
    RuleExpression list;
    list.kind = RuleExpression::Kind::list;
    list.arguments = input.shape;
    const auto shape = evaluate_attribute(list, AttributeKind::dimensions, bindings);
    if (!shape) return std::nullopt;
    sides.types.push_back(
        {input.data_type == DataType::undefined ? real : input.data_type, std::get<Shape>(*shape)});
    inputs.push_back(*sides.graph.add_input(input.name, sides.types.back()));
  }
  const auto left = instantiate(rule, rule.left, inputs, bindings, sides.graph);
  const auto right = left ? instantiate(rule, rule.right, inputs, bindings, sides.graph) : left;
  if (!left || !right) return std::nullopt;
  for (std::size_t i = 0; i < left->size(); ++i) {
    (void)sides.graph.add_output(fmt::format("left {}", i), (*left)[i]);
    (void)sides.graph.add_output(fmt::format("right {}", i), (*right)[i]);
  }
  return sides;
}

/// The first difference of the sides; empty if there is none. `computed` counts what was compared.
std::string difference(const Substitution& rule, const Sides& sides, std::uint64_t seed,
                       std::size_t& computed) {
  std::vector<interpreter::NamedTensor> inputs;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i)
    inputs.push_back({rule.inputs[i].name, contents(sides.types[i], seed, i + 1)});
  interpreter::RunOptions options;
  options.plain = true;
  options.threads = 1;
  const auto outputs = interpreter::run(sides.graph, inputs, options);
  if (!outputs) return "";  // an index out of range
  ++computed;
  for (std::size_t i = 0; i + 1 < outputs->size(); i += 2) {
    const std::string found = difference((*outputs)[i], (*outputs)[i + 1]);
    if (found.empty()) continue;
    std::string shown;
    for (const auto& [name, value] : inputs)
      if (value.element_count() <= 8)
        shown += fmt::format(" {}={}", name, fmt::join(value.reals(), " "));
    return found + shown;
  }
  return "";
}

/// Real parameters take numbers at borders as well, where the conditions allow it.
RuleBindings with_special_reals(const Substitution& rule, RuleBindings bindings,
                                std::uint64_t seed) {
  constexpr std::array<double, 8> numbers = {0.0,       -0.0, 1.0,  infinity,
                                             -infinity, 1e38, -2.5, 1e-40};
  RuleBindings changed = bindings;
  for (const RuleParameter& parameter : rule.parameters)
    if (parameter.range == RuleParameter::Range::real)
      changed.parameters[parameter.name] =
          numbers[word(seed, interpreter::stream_of(parameter.name), 0) % numbers.size()];
  return conditions_hold(rule, changed) ? changed : bindings;
}

std::string find_difference(const Substitution& rule, std::size_t& computed) {
  Substitution typed = rule;
  for (RuleInput& input : typed.inputs)
    if (input.data_type == DataType::undefined) input.data_type = DataType::f32;
  std::size_t number = 0;
  for (const verifier::LabelledInstance& instance :
       verifier::label_instances(typed, {.wanted = 10, .attempts = 3000})) {
    for (const DataType real : {DataType::f32, DataType::f16}) {
      RuleBindings bindings = with_special_reals(rule, instance.bindings, number++);
      for (const RuleParameter& parameter : rule.parameters)
        if (parameter.range == RuleParameter::Range::type)
          bindings.parameters[parameter.name] = real;
      const auto sides = instantiate_both(rule, bindings, real);
      if (!sides) continue;
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const std::string found = difference(rule, *sides, seed, computed);
        if (!found.empty()) return std::string(name(real)) + ": " + found;
      }
    }
  }
  return "";
}

TEST(Bitwise, AxiomsKeepEveryBit) {
  const auto axioms = read_substitutions("rules/axioms", ".axioms");
  const auto table = read_rounding_table("rules");
  ASSERT_TRUE(axioms && table);
  std::size_t computed = 0;
  for (const Substitution& axiom : *axioms) {
    if (table->at(axiom.name) != RoundingClass::bitwise) continue;
    const std::size_t before = computed;
    const std::string found = find_difference(axiom, computed);
    EXPECT_EQ(found, "") << axiom.name;
    EXPECT_GT(computed, before) << axiom.name << " was never computed";
  }
  EXPECT_GT(computed, 20000U);
}

TEST(Bitwise, RulesKeepEveryBit) {
  const auto rules = load_rules("rules");
  ASSERT_TRUE(rules) << rules.error().message;
  std::size_t computed = 0;
  const RuleDatabase database = rules->up_to(RoundingClass::bitwise);
  const std::span<const Substitution> bitwise = database.substitutions();
  for (const Substitution& rule : bitwise) {
    const std::size_t before = computed;
    const std::string found = find_difference(rule, computed);
    EXPECT_EQ(found, "") << rule.name;
    EXPECT_GT(computed, before) << rule.name << " was never computed";
  }
  EXPECT_GT(bitwise.size(), 100U);
  EXPECT_GT(computed, 5000U);
}

/// The comparison finds what differs at a zero's sign, at infinities, at NaN, and in overflow only.
TEST(Bitwise, DifferencesAreFound) {
  const std::vector<const char*> claims = {
      "Add(x, ConstantOfShape{data_type=f32, shape=[], value=0.0}()) => x",
      "Neg(Add(x, y)) => Add(Neg(x), Neg(y))",
      "Mul(Sub(x, x), y) => Sub(y, y)",
      "Max(x, y) => Max(y, x)",
      "Sub(Max(x, y), x) => Max(Sub(x, x), Sub(y, x))",
      "Relu(Neg(x)) => Sub(Relu(x), x)",
      "Sub(x, y) => Neg(Sub(y, x))",
      "Abs(x) => Relu(x)",
      "Max(x, x) => Abs(x)",
      "Min(x, y) => Neg(Max(Neg(y), Neg(x)))",
      "Div(x, x) => Exp(Sub(x, x))",
  };
  for (const char* claim : claims) {
    const bool has_y = std::string_view(claim).find("y)") != std::string_view::npos ||
                       std::string_view(claim).find("y,") != std::string_view::npos;
    const auto rules = parse_substitutions(
        fmt::format("rule claim\n  x : f32[A..]\n{}  {}\n", has_y ? "  y : f32[A..]\n" : "", claim),
        "t");
    if (!rules) {
      ADD_FAILURE() << claim << ": " << rules.error().message;
      continue;
    }
    std::size_t computed = 0;
    EXPECT_NE(find_difference(rules->front(), computed), "") << claim;
  }
}

}  // namespace
}  // namespace lemma
