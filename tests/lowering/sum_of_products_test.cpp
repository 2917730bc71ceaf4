// What is a sum of products, and which factors and guards it has.

#include "lowering/sum_of_products.h"

#include <gtest/gtest.h>

#include "lowering/lower.h"

namespace lemma::lowering {
namespace {

constexpr DataType f32 = DataType::f32;

/// The nest of y[i] = value, for three inputs x0, x1 and x2 of 8 elements each.
template <typename Value>
LoweredOutput nest_of(const Value& value) {
  DefinitionBuilder d;
  const auto i = d.variable(4), k = d.variable(8);
  const auto read = [&](std::uint32_t input) { return d.read(input, f32, {k}); };
  d.output({i}, value(d, k, read));
  const Definition definition = std::move(d).finish();
  auto nest = lower(definition, definition.outputs()[0], {{f32, {8}}, {f32, {8}}, {f32, {8}}},
                    Domain::native);
  EXPECT_TRUE(nest) << nest.error().message;
  return std::move(*nest);
}

/// The numbers of the inputs that are read, in order.
std::vector<std::uint32_t> inputs_of(const TermGraph& graph, const std::vector<TermNumber>& reads) {
  std::vector<std::uint32_t> inputs;
  for (const TermNumber id : reads) {
    EXPECT_EQ(graph.term(id).kind, ExpressionKind::read);
    inputs.push_back(graph.term(id).input);
  }
  return inputs;
}

TEST(SumOfProducts, HasTheFactorsFromLeftToRight) {
  const LoweredOutput nest = nest_of([](DefinitionBuilder& d, auto k, const auto& read) {
    return d.sum({k}, (read(0) * read(1)) * (read(2) * read(0)));
  });
  const auto sum = sum_of_products(nest.graph, nest.root);
  ASSERT_TRUE(sum);
  EXPECT_EQ(inputs_of(nest.graph, sum->factors), (std::vector<std::uint32_t>{0, 1, 2, 0}));
  EXPECT_TRUE(sum->guards.empty());
  const auto product = summed_product(nest.graph, nest.graph.term(nest.root));
  ASSERT_TRUE(product);
  EXPECT_EQ(inputs_of(nest.graph, factors_of(nest.graph, product->front())),
            (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(inputs_of(nest.graph, factors_of(nest.graph, product->back())),
            (std::vector<std::uint32_t>{2, 0}));
}

TEST(SumOfProducts, GuardsAddNothingBeyondThem) {
  const LoweredOutput nest = nest_of([](DefinitionBuilder& d, auto k, const auto& read) {
    const auto guard = (k < d.integer(7)) && (d.integer(2) <= k) && (k == d.integer(3));
    return d.sum({k}, d.select(guard, read(0) * read(1), d.constant(0, f32)));
  });
  const auto sum = sum_of_products(nest.graph, nest.root);
  ASSERT_TRUE(sum);
  EXPECT_EQ(inputs_of(nest.graph, sum->factors), (std::vector<std::uint32_t>{0, 1}));
  std::vector<ExpressionKind> guards;
  for (const TermNumber guard : sum->guards) guards.push_back(nest.graph.term(guard).kind);
  EXPECT_EQ(guards, (std::vector<ExpressionKind>{ExpressionKind::less, ExpressionKind::less_equal,
                                                 ExpressionKind::equal}));
  EXPECT_FALSE(summed_product(nest.graph, nest.graph.term(nest.root)));
}

TEST(SumOfProducts, WhatAddsSomethingElseHasOneFactor) {
  const LoweredOutput nest = nest_of([](DefinitionBuilder& d, auto k, const auto& read) {
    return d.sum({k}, d.select(k < d.integer(7), read(0) * read(1), d.constant(1, f32)));
  });
  const auto sum = sum_of_products(nest.graph, nest.root);
  ASSERT_TRUE(sum);
  ASSERT_EQ(sum->factors.size(), 1);
  EXPECT_EQ(nest.graph.term(sum->factors[0]).kind, ExpressionKind::select);
  EXPECT_TRUE(sum->guards.empty());
}

TEST(SumOfProducts, OtherReductionsAreNone) {
  const LoweredOutput nest = nest_of([](DefinitionBuilder& d, auto k, const auto& read) {
    return d.reduce(ExpressionKind::maximum_over, {k}, read(0) * read(1));
  });
  EXPECT_FALSE(sum_of_products(nest.graph, nest.root));
  EXPECT_FALSE(summed_product(nest.graph, nest.graph.term(nest.root)));
}

}  // namespace
}  // namespace lemma::lowering
