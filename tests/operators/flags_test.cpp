// What the flags of records claim holds for the definitions: on applications of every operator that has the flag.

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "interpreter/run.h"
#include "ir/graph.h"
#include "tests/backend/operator_samples.h"

namespace lemma {
namespace {

using interpreter::Tensor;

constexpr std::size_t most_applications = 25;

/// The results of one application; nothing where the definition is not evaluated or undefined.
std::optional<std::vector<Tensor>> applied(const OperatorRecord& record,
                                           const OperatorInstance& instance,
                                           const std::vector<Tensor>& inputs) {
  Graph graph;
  std::vector<ValueId> operands;
  std::vector<interpreter::NamedTensor> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operands.push_back(ValueId::none());
    if (inputs[i].is_absent()) continue;
    const std::string name = "x" + std::to_string(i);
    operands.back() = *graph.add_input(name, inputs[i].type());
    given.push_back({name, inputs[i]});
  }
  const auto node = graph.add_operation(operator_named(record.name), operands, instance.attributes,
                                        static_cast<std::uint32_t>(instance.output_count));
  if (!node) return std::nullopt;
  for (std::uint32_t i = 0; i < graph.node(*node).output_count; ++i)
    if (!graph.add_output("y" + std::to_string(i), graph.node(*node).output(i)))
      return std::nullopt;
  auto results = interpreter::run(graph, given);
  if (!results) return std::nullopt;
  return std::move(*results);
}

/// Calls `check` for some applications of each operator with the flag; returns for how many operators it said that it had compared.
template <typename Check>
std::size_t for_each_with(OperatorFlag flag, Check check) {
  std::size_t operators = 0;
  for (const OperatorRecord& record : all_operators()) {
    if ((record.flags & flag) == 0) continue;
    std::size_t applications = 0;
    for (const OperatorInstance& instance : backend::small_instances(record)) {
      if (applications == most_applications) break;
      const auto inputs = backend::random_inputs(instance.inputs);
      if (inputs && check(record, instance, *inputs)) ++applications;
    }
    operators += applications > 0 ? 1 : 0;
  }
  return operators;
}

std::string named(const OperatorRecord& record, const OperatorInstance& instance) {
  return backend::text_of(record, instance.inputs) + " " + text(instance.attributes);
}

TEST(Flags, CommutativeOperatorsGiveTheSameForExchangedInputs) {
  const std::size_t operators =
      for_each_with(commutative, [](const auto& record, const auto& instance, const auto& inputs) {
        if (inputs.size() < 2) return false;
        OperatorInstance exchanged = instance;
        std::swap(exchanged.inputs[0], exchanged.inputs[1]);
        std::vector<Tensor> turned = inputs;
        std::swap(turned[0], turned[1]);
        const auto one = applied(record, instance, inputs),
                   other = applied(record, exchanged, turned);
        if (!one || !other) return false;
        EXPECT_EQ(*one, *other) << named(record, instance);
        return true;
      });
  EXPECT_GE(operators, 8U);
}

TEST(Flags, DataMovementCopiesElements) {
  const std::size_t operators = for_each_with(
      data_movement, [](const auto& record, const auto& instance, const auto& inputs) {
        const auto results = applied(record, instance, inputs);
        if (!results) return false;
        std::set<double> given = {0};  // what Pad and the like put where there is nothing
        for (const Tensor& input : inputs)
          if (!input.is_absent())
            for (const double element : input.reals()) given.insert(element);
        for (const Tensor& result : *results)
          for (const double element : result.reals())
            EXPECT_TRUE(std::isnan(element) || given.contains(element)) << named(record, instance);
        return true;
      });
  EXPECT_GE(operators, 12U);
}

TEST(Flags, ViewsKeepTheOrder) {
  const std::size_t operators =
      for_each_with(view, [](const auto& record, const auto& instance, const auto& inputs) {
        const auto results = applied(record, instance, inputs);
        if (!results) return false;
        EXPECT_TRUE(std::ranges::equal(results->front().bytes(), inputs.front().bytes()))
            << named(record, instance);
        return true;
      });
  EXPECT_GE(operators, 4U);
}

/// Sums of small whole numbers are exact.
Tensor whole_numbers(const Tensor& like, int shift) {
  std::vector<double> elements;
  for (std::int64_t i = 0; i < like.element_count(); ++i)
    elements.push_back(static_cast<double>((i * 7 + shift) % 5 - 2));
  return Tensor::from_reals(like.data_type(), like.sizes(), elements);
}

TEST(Flags, LinearOperatorsAreAdditiveInEachInput) {
  const std::size_t operators =
      for_each_with(linear, [](const auto& record, const auto& instance, const auto& inputs) {
        bool has_compared = false;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          if (inputs[i].is_absent() || inputs[i].data_type() != DataType::f32) continue;
          std::vector<Tensor> first = inputs;
          for (Tensor& each : first)
            if (!each.is_absent() && each.data_type() == DataType::f32)
              each = whole_numbers(each, 0);
          std::vector<Tensor> second = first, both = first;
          second[i] = whole_numbers(inputs[i], 3);
          std::vector<double> sums = first[i].reals();
          const std::vector<double> added = second[i].reals();
          for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += added[k];
          both[i] = Tensor::from_reals(DataType::f32, inputs[i].sizes(), sums);
          const auto one = applied(record, instance, first),
                     other = applied(record, instance, second),
                     all = applied(record, instance, both);
          if (!one || !other || !all) continue;
          for (std::size_t output = 0; output < all->size(); ++output) {
            const std::vector<double> left = (*all)[output].reals(), a = (*one)[output].reals(),
                                      b = (*other)[output].reals();
            for (std::size_t k = 0; k < left.size(); ++k) {
              const double sum = a[k] + b[k];
              if (std::isnan(left[k]) && std::isnan(sum)) continue;
              EXPECT_NEAR(left[k], sum, 1e-4 * (1 + std::abs(left[k])))
                  << named(record, instance) << ", input " << i;
            }
          }
          has_compared = true;
        }
        return has_compared;
      });
  EXPECT_GE(operators, 8U);
}

}  // namespace
}  // namespace lemma
