// Products of parts of one matrix become one: the same results from fewer products, and only where all rows are used.

#include "backend/lower/join_products.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/execute/prepared_graph.h"
#include "tests/backend/computations.h"

namespace lemma::backend {
namespace {

using interpreter::Tensor;

ValueId added(Graph& graph, std::string_view name, const std::vector<ValueId>& operands,
              const Attributes& attributes = {}) {
  const auto value = graph.add(name, operands, attributes);
  EXPECT_TRUE(value) << value.error().message;
  return *value;
}

ValueId weight(Graph& graph, const std::vector<std::int64_t>& sizes, std::uint64_t seed = 3) {
  return graph.add_constant(interpreter::random_tensor(DataType::f32, sizes, seed, 0).constant());
}

ValueId input(Graph& graph, const Shape& sizes) {
  return *graph.add_input("x", {DataType::f32, sizes});
}

ValueId slice(Graph& graph, ValueId x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  return added(graph, "Slice", {x},
               {{"starts", Shape{begin}}, {"ends", Shape{end}}, {"axes", Integers{axis}}});
}

void add_outputs(Graph& graph, const std::vector<ValueId>& values) {
  for (const ValueId value : values)
    EXPECT_TRUE(graph.add_output("y" + std::to_string(value.v), value));
}

std::size_t products_in(const Graph& graph) {
  const std::vector<NodeId> nodes = graph.live_nodes();
  return static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [&](NodeId id) {
    return graph.node(id).kind == NodeKind::operation && graph.op(graph.node(id)).name == "MatMul";
  }));
}

/// The same results, with so many products before and after.
void expect_joined(const Graph& graph, std::size_t before, std::size_t after) {
  const Graph expanded = *expand_composites(graph);
  const auto joined = join_products(expanded);
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_EQ(products_in(expanded), before);
  EXPECT_EQ(products_in(*joined), after);
  const std::vector<Tensor> expected = evaluated(lowered(expanded)),
                            actual = evaluated(lowered(*joined));
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i], expected[i]);
}

/// Products of `x` in slices of `rows` rows, but for the last `unused` ones.
Graph sliced(std::int64_t count, std::int64_t rows, std::int64_t unused = 0) {
  Graph graph;
  const ValueId x = input(graph, {count * rows, 5}), w = weight(graph, {5, 4});
  std::vector<ValueId> products;
  for (std::int64_t i = 0; i + unused < count; ++i)
    products.push_back(added(graph, "MatMul", {slice(graph, x, 0, i * rows, (i + 1) * rows), w}));
  add_outputs(graph, products);
  return graph;
}

TEST(JoinProducts, of_slices_that_take_all_rows) {
  expect_joined(sliced(6, 1), 6, 1);
  expect_joined(sliced(3, 8), 3, 1);
  expect_joined(sliced(2, 1), 2, 1);
}

TEST(JoinProducts, not_of_many_rows_of_some_rows_or_of_one_part) {
  expect_joined(sliced(3, 9), 3, 3);
  expect_joined(sliced(6, 1, 1), 5, 5);
  expect_joined(sliced(1, 4), 1, 1);
}

TEST(JoinProducts, of_a_recurrence_read_its_input_once) {
  for (const std::int64_t batch : {1, 3}) {
    Graph graph;
    const ValueId x = input(graph, {7, batch, 4}), state = weight(graph, {1, batch, 6}, 9);
    const auto steps =
        graph.add_operation(operator_named("LSTM"),
                            {x, weight(graph, {1, 24, 4}), weight(graph, {1, 24, 6}, 4),
                             weight(graph, {1, 48}, 5), state, state},
                            {}, 3);
    ASSERT_TRUE(steps) << steps.error().message;
    add_outputs(graph, {graph.node(*steps).output()});
    const std::vector<interpreter::NamedTensor> inputs = {
        {"x", interpreter::random_tensor(DataType::f32, {7, batch, 4}, 5, 0)}};
    // The weights of the operator are turned ahead of time, and the product of the first state, which is known, is
    // computed then.
    const auto prepared = program_graph(graph, inputs);
    ASSERT_TRUE(prepared) << prepared.error().message;
    expect_joined(*prepared, 13, 7);
  }
}

TEST(JoinProducts, through_squeezed_slices_and_splits) {
  Graph graph;
  const ValueId x = input(graph, {4, 2, 5}), w = weight(graph, {5, 3});
  std::vector<ValueId> products;
  for (std::int64_t i = 0; i < 4; ++i)
    products.push_back(added(
        graph, "MatMul",
        {added(graph, "Squeeze", {slice(graph, x, 0, i, i + 1)}, {{"axes", Integers{0}}}), w}));
  add_outputs(graph, products);
  expect_joined(graph, 4, 1);

  Graph split;
  const ValueId rows = input(split, {6, 5}), v = weight(split, {5, 3});
  const auto parts = split.add_operation(operator_named("Split"), {rows},
                                         {{"axis", INT64_C(0)}, {"split", Shape{1, 2, 3}}}, 3);
  ASSERT_TRUE(parts);
  std::vector<ValueId> results;
  for (std::uint32_t i = 0; i < 3; ++i)
    results.push_back(added(split, "MatMul", {split.node(*parts).output(i), v}));
  add_outputs(split, results);
  expect_joined(split, 3, 1);
}

/// The part of the product has another length than the part of the operand.
TEST(JoinProducts, not_of_parts_that_name_a_length_of_rows_that_products_do_not_have) {
  for (const std::int64_t columns : {3, 5, 7}) {
    Graph graph;
    const ValueId x = input(graph, {2, 5}), w = weight(graph, {5, columns});
    std::vector<ValueId> products;
    for (std::int64_t i = 0; i < 2; ++i) {
      const ValueId part =
          added(graph, "Slice", {x},
                {{"starts", Shape{i, 0}}, {"ends", Shape{i + 1, 5}}, {"axes", Integers{0, 1}}});
      products.push_back(added(graph, "MatMul", {part, w}));
    }
    add_outputs(graph, products);
    expect_joined(graph, 2, columns > 5 ? 2 : 1);
  }
}

TEST(JoinProducts, of_reshaped_parts_where_products_are_as_long_as_the_operand) {
  for (const std::int64_t columns : {5, 4}) {
    Graph graph;
    const ValueId x = input(graph, {3, 1, 5}), w = weight(graph, {5, columns});
    std::vector<ValueId> products;
    for (std::int64_t i = 0; i < 3; ++i)
      products.push_back(added(
          graph, "MatMul",
          {added(graph, "Reshape", {slice(graph, x, 0, i, i + 1)}, {{"shape", Shape{1, 5}}}), w}));
    add_outputs(graph, products);
    expect_joined(graph, 3, columns == 5 ? 1 : 3);
  }
}

TEST(JoinProducts, of_parts_of_what_a_reshape_gives) {
  Graph graph;
  const ValueId x = input(graph, {3, 5}), w = weight(graph, {5, 4});
  const ValueId whole = added(graph, "Reshape", {x}, {{"shape", Shape{3, 1, 5}}});
  std::vector<ValueId> products;
  for (std::int64_t i = 0; i < 3; ++i)
    products.push_back(added(graph, "MatMul", {slice(graph, whole, 0, i, i + 1), w}));
  add_outputs(graph, products);
  expect_joined(graph, 3, 1);
}

TEST(JoinProducts, not_of_columns_of_other_weights_or_of_steps_put_together) {
  Graph columns;
  const ValueId x = input(columns, {2, 8}), w = weight(columns, {4, 3});
  add_outputs(columns, {added(columns, "MatMul", {slice(columns, x, 1, 0, 4), w}),
                        added(columns, "MatMul", {slice(columns, x, 1, 4, 8), w})});
  expect_joined(columns, 2, 2);

  Graph others;
  const ValueId y = input(others, {2, 4});
  add_outputs(others,
              {added(others, "MatMul", {slice(others, y, 0, 0, 1), weight(others, {4, 3}, 1)}),
               added(others, "MatMul", {slice(others, y, 0, 1, 2), weight(others, {4, 3}, 2)})});
  expect_joined(others, 2, 2);

  Graph steps;
  const ValueId z = input(steps, {1, 4}), v = weight(steps, {4, 3});
  const ValueId both =
      added(steps, "Concat", {z, added(steps, "Tanh", {z})}, {{"axis", INT64_C(0)}});
  add_outputs(steps, {added(steps, "MatMul", {slice(steps, both, 0, 0, 1), v}),
                      added(steps, "MatMul", {slice(steps, both, 0, 1, 2), v})});
  expect_joined(steps, 2, 2);
}

}  // namespace
}  // namespace lemma::backend
