// Constants of definitions are real numbers: each element type computes with the nearest of its own, and the exact
// domains with the number itself, in operators with a definition and in those composed of others.

#include <cmath>
#include <functional>
#include <numbers>

#include <gtest/gtest.h>

#include "interpreter/run.h"

namespace lemma::interpreter {
namespace {

const std::vector<double> points = {-3.25, -1.5, -0.3, 0.0, 0.1, 0.7, 1.0, 2.9, 3.75};

/// The operator applied to the points, in an element type and a domain.
std::vector<double> applied(std::string_view op, Attributes attributes, DataType type,
                            Domain domain = Domain::native) {
  Graph graph;
  const auto count = static_cast<std::int64_t>(points.size());
  const auto x = graph.add_input("x", {type, Shape{Dimension(count)}});
  const auto y = graph.add(op, {*x}, std::move(attributes));
  EXPECT_TRUE(y);
  EXPECT_TRUE(graph.add_output("y", *y));
  const std::vector<NamedTensor> inputs = {
      {"x", *to_domain(Tensor::from_reals(type, {count}, points), domain)}};
  RunOptions options;
  options.domain = domain;
  return (*run(graph, inputs, options))[0].reals();
}

void expect_near(const std::vector<double>& values, const std::function<double(double)>& wanted,
                 double tolerance) {
  for (std::size_t i = 0; i < points.size(); ++i)
    EXPECT_NEAR(values[i], wanted(points[i]), tolerance) << "at " << points[i];
}

double hard_swish(double x) { return x * std::fmax(0, std::fmin(1, x / 6 + 0.5)); }
double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
double gelu_by_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

TEST(ConstantsOfDefinitions, AreThoseOfF64ForF64) {
  constexpr double digits = 2e-15;
  expect_near(applied("HardSwish", {}, DataType::f64), hard_swish, digits);
  expect_near(applied("Gelu", {}, DataType::f64), gelu, digits);
  expect_near(applied("Gelu", {{"approximate", std::string("tanh")}}, DataType::f64), gelu_by_tanh,
              digits);
}

TEST(ConstantsOfDefinitions, AreRoundedToF32ForF32) {
  constexpr double digits = 2e-6;
  expect_near(applied("HardSwish", {}, DataType::f32), hard_swish, digits);
  expect_near(applied("Gelu", {}, DataType::f32), gelu, digits);
  expect_near(applied("Gelu", {{"approximate", std::string("tanh")}}, DataType::f32), gelu_by_tanh,
              digits);
}

/// f32 takes 16777217 for 16777216; the product of two numbers with exact constants does not.
double product_with(double alpha, DataType type, Domain domain) {
  Graph graph;
  const auto x = graph.add_input("x", {type, Shape{1, 1}});
  const auto y = graph.add("FusedMatMul", {*x, *x}, {{"alpha", alpha}});
  EXPECT_TRUE(y && graph.add_output("y", *y));
  const std::vector<NamedTensor> inputs = {
      {"x", *to_domain(Tensor::from_reals(type, {1, 1}, std::vector{1.0}), domain)}};
  RunOptions options;
  options.domain = domain;
  return (*run(graph, inputs, options))[0].reals()[0];
}

TEST(ConstantsOfCompositions, AreNotRoundedInExactDomains) {
  EXPECT_EQ(product_with(16777217, DataType::f32, Domain::native), 16777216);
  EXPECT_EQ(product_with(16777217, DataType::f64, Domain::native), 16777217);
  for (const Domain domain : {Domain::exact_integer, Domain::prime_field, Domain::f64})
    EXPECT_EQ(product_with(16777217, DataType::f32, domain), 16777217) << name(domain);
  EXPECT_EQ(product_with(0.1, DataType::f32, Domain::f64), 0.1);
  EXPECT_EQ(product_with(1e-50, DataType::f32, Domain::f64), 1e-50);
}

}  // namespace
}  // namespace lemma::interpreter
