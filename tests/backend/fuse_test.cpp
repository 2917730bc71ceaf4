// Fused computations give what the separate ones gave.

#include "backend/fuse/fuse.h"

#include <gtest/gtest.h>

#include "interpreter/compare.h"
#include "tests/backend/computations.h"
#include "tests/backend/random_graph.h"

namespace lemma::backend {
namespace {

using interpreter::Tensor;

TEST(Fuse, keeps_what_is_computed) {
  std::size_t before = 0, after = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const ComputationGraph separate = lowered(random_graph(seed, 25));
    const ComputationGraph fused = fuse(separate);
    before += separate.computations.size();
    after += fused.computations.size();
    const std::vector<Tensor> expected = evaluated(separate), actual = evaluated(fused);
    ASSERT_EQ(expected.size(), actual.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const interpreter::Comparison comparison =
          interpreter::compare(actual[i], expected[i], {1e-6, 1e-5});
      EXPECT_TRUE(comparison.equal) << "seed " << seed << ": " << comparison.description;
    }
  }
  std::cout << before << " computations, fused " << after << "\n";
  EXPECT_LT(after, before * 9 / 10);
}

std::vector<std::string> descriptions(const Graph& graph) {
  std::vector<std::string> result;
  for (const Computation& computation : fuse(lowered(graph)).computations)
    result.push_back(computation.description);
  return result;
}

TEST(Fuse, an_epilogue_becomes_part_of_the_product) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{8, 16}});
  const ValueId w = *graph.add_input("w", {DataType::f32, Shape{16, 4}});
  const ValueId b = *graph.add_input("b", {DataType::f32, Shape{4}});
  const ValueId product = *graph.add("MatMul", {x, w});
  ASSERT_TRUE(graph.add_output("y", *graph.add("Relu", {*graph.add("Add", {product, b})})));
  EXPECT_EQ(descriptions(graph), (std::vector<std::string>{"MatMul + Add + Relu"}));
}

/// Each element of the first operand of a product is read as often as the result has columns.
TEST(Fuse, nothing_is_computed_more_than_once) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{8, 16}});
  const ValueId w = *graph.add_input("w", {DataType::f32, Shape{16, 4}});
  ASSERT_TRUE(graph.add_output("y", *graph.add("MatMul", {*graph.add("Exp", {x}), w})));
  EXPECT_EQ(descriptions(graph), (std::vector<std::string>{"Exp", "MatMul"}));

  Graph twice;
  const ValueId z = *twice.add_input("x", {DataType::f32, Shape{8}});
  const ValueId e = *twice.add("Exp", {z});
  ASSERT_TRUE(twice.add_output("y", *twice.add("Neg", {e})));
  ASSERT_TRUE(twice.add_output("z", *twice.add("Sqrt", {e})));
  EXPECT_EQ(descriptions(twice), (std::vector<std::string>{"Exp", "Neg", "Sqrt"}));
}

/// Bit by bit: values of 16 bits are rounded where they would have been stored.
TEST(Fuse, halves_are_rounded_as_if_they_had_been_stored) {
  std::size_t before = 0, after = 0;
  for (const DataType type : {DataType::f16, DataType::bf16})
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const ComputationGraph separate = lowered(random_graph(seed, 25, type));
      const ComputationGraph fused = fuse(separate);
      before += separate.computations.size();
      after += fused.computations.size();
      const std::vector<Tensor> expected = evaluated(separate), actual = evaluated(fused);
      ASSERT_EQ(expected.size(), actual.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const interpreter::Comparison comparison =
            interpreter::compare(actual[i], expected[i], {0, 0});
        EXPECT_TRUE(comparison.equal) << "seed " << seed << ": " << comparison.description;
      }
    }
  EXPECT_LT(after, before * 9 / 10);
}

/// An i8 wraps when it is stored.
TEST(Fuse, what_wraps_when_it_is_stored_is_stored) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::i8, Shape{8}});
  const ValueId sum = *graph.add("Add", {x, x});
  ASSERT_TRUE(graph.add_output("y", *graph.add("Cast", {sum}, {{"to", DataType::i32}})));
  EXPECT_EQ(descriptions(graph), (std::vector<std::string>{"Add", "Cast"}));
}

}  // namespace
}  // namespace lemma::backend
