// How many lanes share the terms of an element, and how many lines of memory a warp reads at once.

#include "backend/blocks/shared_terms.h"

#include <gtest/gtest.h>

namespace lemma::backend {
namespace {

using lowering::LoweredOutput;
using lowering::Term;

/// y(j) = sum over k of w(k, j), or of w(j, k) where the weights are turned.
LoweredOutput sum_of(std::int64_t terms, std::int64_t columns, bool is_turned, DataType type) {
  DefinitionBuilder builder;
  const Expression j = builder.variable(Dimension(columns)), k = builder.variable(Dimension(terms));
  const std::vector<Expression> indices =
      is_turned ? std::vector<Expression>{j, k} : std::vector<Expression>{k, j};
  builder.output({j}, builder.sum({k}, builder.read(0, type, indices)));
  const Definition definition = std::move(builder).finish();
  const lowering::Sizes sizes =
      is_turned ? lowering::Sizes{columns, terms} : lowering::Sizes{terms, columns};
  auto nest = lowering::lower(definition, definition.outputs()[0], {{type, sizes, false}},
                              lowering::Domain::native);
  EXPECT_TRUE(nest);
  return *std::move(nest);
}

std::int64_t lanes_of(std::int64_t terms, std::int64_t columns, bool is_turned = false,
                      DataType type = DataType::f32, std::int64_t threads = 256,
                      bool is_in_block = false) {
  const LoweredOutput nest = sum_of(terms, columns, is_turned, type);
  std::vector<std::int64_t> lengths;
  for (const lowering::LoopVariable axis : nest.axes) lengths.push_back(nest.graph.extent(axis));
  return spread_of(nest, {is_in_block}, lengths, threads, 32).lanes;
}

const Term& read_of(const LoweredOutput& nest) {
  for (lowering::TermNumber id = 0; id < nest.graph.size(); ++id)
    if (nest.graph.term(id).kind == ExpressionKind::read) return nest.graph.term(id);
  ADD_FAILURE() << "nothing is read";
  return nest.graph.term(0);
}

std::int64_t lines(std::int64_t lanes, bool is_turned, std::int64_t columns = 256,
                   DataType type = DataType::f32) {
  const LoweredOutput nest = sum_of(1024, columns, is_turned, type);
  return lines_of_read(nest, read_of(nest), {{columns}, lanes});
}

TEST(SharedTerms, threads_have_whole_elements_where_there_are_as_many) {
  EXPECT_EQ(lanes_of(1024, 256), 1);
  EXPECT_EQ(lanes_of(1024, 4096), 1);
  EXPECT_EQ(lanes_of(1024, 32, false, DataType::f32, 32), 1);
}

TEST(SharedTerms, all_threads_have_terms_where_there_are_fewer_elements) {
  EXPECT_EQ(lanes_of(1024, 128), 2);
  EXPECT_EQ(lanes_of(1024, 64), 4);
  EXPECT_EQ(lanes_of(1024, 32), 8);
  EXPECT_EQ(lanes_of(1024, 16), 16);
  for (const std::int64_t columns : {1, 5, 8}) EXPECT_EQ(lanes_of(1024, columns), 32) << columns;
  // Two turns of 33 groups would take longer than one turn of half as many lanes.
  EXPECT_EQ(lanes_of(1024, 33), 4);
}

TEST(SharedTerms, short_sums_are_not_shared) {
  EXPECT_EQ(lanes_of(31, 1), 1);
  EXPECT_GT(lanes_of(32, 1), 1);
}

/// Whole elements would have a line for each thread.
TEST(SharedTerms, lanes_go_along_terms_that_lie_together) {
  EXPECT_GE(lanes_of(1024, 4096, true), 8);
  EXPECT_GE(lanes_of(1024, 4096, true, DataType::f16), 8);
}

TEST(SharedTerms, lines_are_those_that_a_warp_touches) {
  // Neighbouring elements: 128 bytes of f32, 256 of f64.
  EXPECT_EQ(lines(1, false), 1);
  EXPECT_EQ(lines(1, false, 256, DataType::f64), 2);
  // Rows of 1,024 bytes.
  EXPECT_EQ(lines(8, false), 8);
  EXPECT_EQ(lines(32, false), 32);
  // Terms of one element, or a line for each of several.
  EXPECT_EQ(lines(1, true), 32);
  EXPECT_EQ(lines(8, true), 4);
  EXPECT_EQ(lines(32, true), 1);
  // Fewer elements than lanes.
  EXPECT_EQ(lines(1, true, 3), 3);
  EXPECT_EQ(lines(4, true, 0), 0);
}

/// Banks serve rows of kept weights as well as columns (blocks/resident_reads.h).
TEST(SharedTerms, the_memory_of_the_block_has_no_lines) {
  EXPECT_GE(lanes_of(1024, 32, true), 8);
  EXPECT_EQ(lanes_of(1024, 32, true, DataType::f32, 256, true), 8);
  EXPECT_LE(lanes_of(1024, 4096, true, DataType::f32, 256, true), 2);
}

/// The second row of a part begins a row of the tensor further on.
TEST(SharedTerms, lines_follow_the_axes_of_a_part) {
  DefinitionBuilder builder;
  const Expression i = builder.variable(Dimension(64)), j = builder.variable(Dimension(64));
  builder.output({i, j}, builder.read(0, DataType::f32, {i, j}));
  const Definition definition = std::move(builder).finish();
  const auto nest = lowering::lower(definition, definition.outputs()[0],
                                    {{DataType::f32, {64, 64}, false}}, lowering::Domain::native);
  ASSERT_TRUE(nest);
  for (const auto& [lengths, expected] : {std::pair{std::vector<std::int64_t>{64, 64}, 1},
                                          {{64, 8}, 4},
                                          {{64, 1}, 32},
                                          {{2, 8}, 2}}) {
    EXPECT_EQ(lines_of_read(*nest, read_of(*nest), {lengths, 1}), expected);
    EXPECT_EQ(lines_of_store(*nest, {lengths, 1}), expected);
  }
}

}  // namespace
}  // namespace lemma::backend
