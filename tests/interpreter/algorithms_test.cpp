// Scans, scatters and selections by rank against their definitions as they stand: the same elements for all types, sizes,
// attributes, ties, infinities and NaN.

#include "lowering/algorithms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "interpreter/compare.h"
#include "interpreter/evaluate.h"
#include "interpreter/random.h"
#include "lowering/lower.h"

namespace lemma::interpreter {
namespace {

constexpr std::array number_types = {DataType::f32, DataType::f64, DataType::f16, DataType::bf16,
                                     DataType::i8,  DataType::i16, DataType::i32, DataType::i64,
                                     DataType::u8,  DataType::u16, DataType::u32, DataType::u64};

/// Few values, so that there are many equal ones; reals are whole numbers, and with every third seed also infinite or NaN.
Tensor numbers(DataType type, const Sizes& sizes, std::uint64_t seed) {
  const bool with_odd_ones = seed % 3 == 0;
  std::vector<double> elements;
  for (std::int64_t i = 0; i < element_count(sizes); ++i) {
    const std::uint64_t word = random_word(seed, 1, static_cast<std::uint64_t>(i));
    elements.push_back(static_cast<double>(word % 6) - (is_real(type) ? 3 : 0));
    if (!is_real(type) || !with_odd_ones || word / 8 % 4 != 0) continue;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    elements.back() = word / 64 % 3 == 0   ? infinity
                      : word / 64 % 3 == 1 ? -infinity
                                           : std::numeric_limits<double>::quiet_NaN();
  }
  return Tensor::from_reals(type, sizes, elements);
}

/// Indices from `low` up to `high`, which is included.
Tensor indices(const Sizes& sizes, std::int64_t low, std::int64_t high, std::uint64_t seed) {
  return random_tensor(DataType::i64, sizes, seed, 2, {0, 1, low, std::max(low, high)});
}

/// Number of reductions of the operator's outputs that have an algorithm.
int algorithms_of(const Definition& definition, const std::vector<Tensor>& inputs) {
  std::vector<InputView> views;
  for (const Tensor& input : inputs) views.push_back({input.data_type(), input.sizes(), false});
  int count = 0;
  for (const DefinedOutput& output : definition.outputs()) {
    const auto nest = lower(definition, output, views, Domain::native);
    EXPECT_TRUE(nest);
    for (TermNumber id = 0; id < nest->graph.size(); ++id)
      if (find_algorithm(nest->graph, id, nest->axes)) ++count;
  }
  return count;
}

/// How many algorithms were used.
int expect_same(std::string_view name, const std::vector<Tensor>& inputs,
                const Attributes& attributes, std::size_t outputs) {
  const OperatorRecord& op = record(operator_named(name));
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  const auto complete = complete_attributes(op, types, attributes, outputs);
  EXPECT_TRUE(complete) << complete.error().message;
  const Instance instance{types, *complete, outputs};
  EvaluationOptions plain;
  plain.plain = true;
  const auto expected = evaluate(op, instance, inputs, plain),
             actual = evaluate(op, instance, inputs, {});
  EXPECT_TRUE(expected) << expected.error().message;
  EXPECT_TRUE(actual) << actual.error().message;
  if (!expected || !actual) return 0;
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const Comparison comparison = compare((*actual)[i], (*expected)[i], {});
    EXPECT_TRUE(comparison.equal) << name << " of " << text(types[0]) << ", output " << i << ": "
                                  << comparison.type_difference << comparison.description;
  }
  return algorithms_of(op.define(instance), inputs);
}

TEST(Algorithms, scans_are_those_of_the_definitions) {
  int used = 0;
  std::uint64_t seed = 0;
  for (const DataType type : number_types)
    for (const Sizes& sizes :
         std::vector<Sizes>{{0}, {1}, {2}, {9}, {3, 5}, {2, 3, 4}, {2, 0, 3}, {4, 1}})
      for (std::int64_t axis = -static_cast<std::int64_t>(sizes.size());
           axis < static_cast<std::int64_t>(sizes.size()); ++axis)
        for (const std::int64_t exclusive : {0, 1})
          for (const std::int64_t reverse : {0, 1})
            for (const char* name : {"CumSum", "CumProd"})
              used +=
                  expect_same(name, {numbers(type, sizes, ++seed)},
                              {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}}, 1);
  EXPECT_GT(used, 1000);
}

TEST(Algorithms, selections_are_those_of_the_definitions) {
  int used = 0;
  std::uint64_t seed = 100;
  for (const DataType type : number_types)
    for (const Sizes& sizes : std::vector<Sizes>{{0}, {1}, {2}, {7}, {3, 70}, {100, 2}, {2, 5, 3}})
      for (std::size_t axis = 0; axis < sizes.size(); ++axis)
        for (const std::int64_t largest : {0, 1})
          for (const std::int64_t k : std::set<std::int64_t>{
                   0, std::min<std::int64_t>(1, sizes[axis]), sizes[axis] / 2, sizes[axis]})
            used += expect_same("TopK", {numbers(type, sizes, ++seed)},
                                {{"axis", static_cast<std::int64_t>(axis)},
                                 {"k", Dimension(k)},
                                 {"largest", largest}},
                                2);
  EXPECT_GT(used, 500);
}

constexpr std::array reductions = {"none", "add", "mul", "max", "min"};

TEST(Algorithms, scatters_along_an_axis_are_those_of_the_definitions) {
  int used = 0;
  std::uint64_t seed = 200;
  struct Case {
    Sizes data, updates;
  };
  const std::vector<Case> cases = {{{1}, {1}},
                                   {{5}, {0}},
                                   {{5}, {9}},
                                   {{3, 4}, {3, 4}},
                                   {{3, 4}, {2, 3}},
                                   {{4, 1}, {4, 1}},
                                   {{2, 3, 4}, {2, 2, 4}}};
  for (const DataType type : number_types)
    for (const Case& shapes : cases)
      for (std::size_t axis = 0; axis < shapes.data.size(); ++axis)
        for (const char* reduction : reductions) {
          const std::int64_t size = shapes.data[axis];
          ++seed;
          used += expect_same(
              "ScatterElements",
              {numbers(type, shapes.data, seed), indices(shapes.updates, -size, size - 1, seed),
               numbers(type, shapes.updates, seed + 1000)},
              {{"axis", static_cast<std::int64_t>(axis)}, {"reduction", std::string(reduction)}},
              1);
        }
  EXPECT_GT(used, 200);
}

TEST(Algorithms, scatters_of_slices_are_those_of_the_definitions) {
  int used = 0;
  std::uint64_t seed = 300;
  struct Case {
    Sizes data, indices, updates;
  };
  const std::vector<Case> cases = {{{6}, {4, 1}, {4}},          {{6}, {0, 1}, {0}},
                                   {{6, 3}, {9, 1}, {9, 3}},    {{2, 5}, {2, 3, 2}, {2, 3}},
                                   {{4, 3, 2}, {5, 2}, {5, 2}}, {{1, 4}, {3, 2}, {3}}};
  for (const DataType type : number_types)
    for (const Case& shapes : cases)
      for (const char* reduction : reductions) {
        const std::int64_t least = *std::min_element(
            shapes.data.begin(), shapes.data.begin() + static_cast<long>(shapes.indices.back()));
        ++seed;
        used += expect_same(
            "ScatterND",
            {numbers(type, shapes.data, seed), indices(shapes.indices, -least, least - 1, seed),
             numbers(type, shapes.updates, seed + 1000)},
            {{"reduction", std::string(reduction)}}, 1);
      }
  EXPECT_GT(used, 150);
}

/// A sum is added up from the end of the axis on where it goes from the end.
TEST(Algorithms, scans_add_terms_in_order) {
  const Tensor x = Tensor::of(DataType::f32, {3}, std::vector<float>{1e8F, 1, -1e8F});
  const OperatorRecord& op = record(operator_named("CumSum"));
  const std::vector<TensorType> types = {x.type()};
  for (const std::int64_t reverse : {0, 1}) {
    const auto attributes =
        complete_attributes(op, types, {{"axis", std::int64_t{0}}, {"reverse", reverse}}, 1);
    const auto sums = evaluate(op, {types, *attributes, 1}, std::vector<Tensor>{x}, {});
    ASSERT_TRUE(sums);
    const std::vector<double> expected =
        reverse != 0 ? std::vector<double>{0, -1e8, -1e8} : std::vector<double>{1e8, 1e8, 0};
    EXPECT_EQ((*sums)[0].reals(), expected);
  }
}

}  // namespace
}  // namespace lemma::interpreter
