// Contractions computed as matrix products against plain evaluation: the same bits.

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "interpreter/contraction.h"
#include "interpreter/evaluate.h"
#include "interpreter/matrix_kernel.h"
#include "interpreter/random.h"
#include "tests/interpreter/definitions.h"

namespace lemma::interpreter {
namespace {

std::vector<Tensor> random_inputs(DataType type, const std::vector<Sizes>& sizes, Domain domain) {
  std::vector<Tensor> inputs;
  RandomRange range;
  range.integer_low = -20;
  range.integer_high = 20;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    inputs.push_back(random_tensor(type, sizes[i], 7, i, range, domain));
  return inputs;
}

void expect_same_as_plain(const Definition& definition, const std::vector<Tensor>& inputs,
                          EvaluationOptions options) {
  const auto lowered = evaluate(definition, inputs, options);
  options.plain = true;
  const auto plain = evaluate(definition, inputs, options);
  ASSERT_TRUE(plain.has_value()) << plain.error().message;
  ASSERT_TRUE(lowered.has_value()) << lowered.error().message;
  EXPECT_EQ((*lowered)[0], (*plain)[0]);
}

constexpr Domain domains[] = {Domain::native, Domain::f64, Domain::exact_integer,
                              Domain::prime_field};

/// Whether the first output of a definition is computed as a matrix product.
std::optional<Contraction> contraction_of(const Definition& definition,
                                          const std::vector<Tensor>& inputs) {
  std::vector<InputView> views;
  for (const Tensor& input : inputs) views.push_back({input.data_type(), input.sizes(), false});
  TermGraph graph(Domain::native, views);
  Environment environment;
  std::vector<LoopVariable> axes;
  for (const VariableId axis : definition.outputs()[0].axes) {
    axes.push_back(*graph.variable(*definition.extent(axis).constant()));
    bind(environment, axis.v, graph.linear(Linear::atom(axes.back())));
  }
  const auto root = translate(graph, definition, definition.outputs()[0].value, environment);
  return find_contraction(graph, *root, axes);
}

TEST(Contraction, IsFoundInProductAndConvolution) {
  const auto inputs = random_inputs(DataType::f32, {{2, 20, 30}, {30, 40}}, Domain::native);
  const auto product = contraction_of(product_definition(DataType::f32, 2, 20, 40, 30), inputs);
  ASSERT_TRUE(product.has_value());
  EXPECT_EQ(product->rows.size(), 2U);  // batch and rows: the right factor has no batch
  EXPECT_EQ(product->columns.size(), 1U);

  const ConvolutionSizes sizes;
  const auto data =
      random_inputs(DataType::f32, {data_sizes(sizes), weight_sizes(sizes)}, Domain::native);
  const auto convolution = contraction_of(convolution_definition(DataType::f32, sizes), data);
  ASSERT_TRUE(convolution.has_value());
  EXPECT_EQ(convolution->rows.size(), 1U);     // output channels
  EXPECT_EQ(convolution->columns.size(), 3U);  // batch and space
  EXPECT_TRUE(convolution->left_must_be_finite);
}

TEST(Contraction, IsNotMadeOfElementwiseProductsAndSmallSums) {
  DefinitionBuilder d;
  const auto i = d.variable(100), k = d.variable(100);
  d.output({i}, d.sum({k}, d.read(0, DataType::f32, {i, k}) * d.read(0, DataType::f32, {i, k})));
  const auto inputs = random_inputs(DataType::f32, {{100, 100}}, Domain::native);
  EXPECT_FALSE(contraction_of(std::move(d).finish(), inputs).has_value());
}

TEST(Contraction, ProductsEqualPlainEvaluation) {
  for (const Domain domain : domains)
    for (const auto& [batch, rows, columns, depth] : {std::array<std::int64_t, 4>{1, 4, 4, 256},
                                                      {1, 61, 67, 300},
                                                      {3, 5, 130, 17},
                                                      {1, 300, 7, 600},
                                                      {2, 33, 300, 5}}) {
      const Definition definition = product_definition(DataType::f32, batch, rows, columns, depth);
      EvaluationOptions options;
      options.domain = domain;
      SCOPED_TRACE(testing::Message() << name(domain) << " " << batch << " " << rows << " "
                                      << columns << " " << depth);
      expect_same_as_plain(
          definition,
          random_inputs(DataType::f32, {{batch, rows, depth}, {depth, columns}}, domain), options);
    }
}

TEST(Contraction, ProductsOfAllTypesEqualPlainEvaluation) {
  for (const DataType type : {DataType::f64, DataType::f16, DataType::bf16, DataType::i32,
                              DataType::i64, DataType::u8, DataType::u64}) {
    SCOPED_TRACE(name(type));
    expect_same_as_plain(product_definition(type, 1, 40, 50, 60),
                         random_inputs(type, {{1, 40, 60}, {60, 50}}, Domain::native), {});
  }
}

TEST(Contraction, ConvolutionsEqualPlainEvaluation) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    auto pick = [&, n = std::uint64_t{0}](std::initializer_list<std::int64_t> values) mutable {
      return values.begin()[random_word(seed, 1, n++) % values.size()];
    };
    ConvolutionSizes sizes;
    sizes.groups = pick({1, 1, 2, 4});
    sizes.batch = pick({1, 2});
    sizes.channels = sizes.groups * pick({1, 3, 8});
    sizes.outputs = sizes.groups * pick({4, 6, 16});
    sizes.height = pick({5, 12, 23});
    sizes.width = pick({7, 16, 70});
    sizes.kernel = pick({1, 2, 3});
    sizes.stride = pick({1, 2});
    sizes.dilation = pick({1, 2});
    sizes.pad = pick({0, 1, 2});
    sizes.bias = pick({0, 1}) != 0;
    EvaluationOptions options;
    options.domain = domains[seed % 4];
    SCOPED_TRACE(seed);
    expect_same_as_plain(
        convolution_definition(DataType::f32, sizes),
        random_inputs(DataType::f32, {data_sizes(sizes), weight_sizes(sizes), {sizes.outputs}},
                      options.domain),
        options);
  }
}

TEST(Contraction, InfiniteWeightsDoNotReachThePadding) {
  const ConvolutionSizes sizes;
  auto inputs =
      random_inputs(DataType::f32, {data_sizes(sizes), weight_sizes(sizes)}, Domain::native);
  std::vector<double> weights = inputs[1].reals();
  weights[0] = std::numeric_limits<double>::infinity();
  inputs[1] = Tensor::from_reals(DataType::f32, weight_sizes(sizes), weights);
  const Definition definition = convolution_definition(DataType::f32, sizes);
  expect_same_as_plain(definition, inputs, {});
  // The corner sees the infinite weight only through the padding.
  const auto result = evaluate(definition, inputs);
  EXPECT_TRUE(std::isfinite((*result)[0].reals()[0]));
}

TEST(Contraction, UndefinedFactorIsTheErrorOfPlainEvaluation) {
  DefinitionBuilder d;
  const auto i = d.variable(20), j = d.variable(30), k = d.variable(10);
  d.output({i, j}, d.sum({k}, d.read(0, DataType::f32, {i, k + d.integer(1)}) *
                                  d.read(1, DataType::f32, {k, j})));
  const Definition definition = std::move(d).finish();
  const auto inputs = random_inputs(DataType::f32, {{20, 10}, {10, 30}}, Domain::native);
  const auto result = evaluate(definition, inputs);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message,
            "index 10 is outside axis 1 of input 0, which has the size 10 (for the element at "
            "[0, 0] of the axes longer than 1)");
}

TEST(Contraction, OverflowOfExactIntegersIsFound) {
  const Tensor large =
      Tensor::from_reals(DataType::f32, {1, 8, 64}, std::vector<double>(512, 4294967296.0));
  const Tensor right =
      Tensor::from_reals(DataType::f32, {64, 32}, std::vector<double>(2048, 1073741824.0));
  EvaluationOptions options;
  options.domain = Domain::exact_integer;
  const std::vector<Tensor> inputs = {*to_domain(large, options.domain),
                                      *to_domain(right, options.domain)};
  const auto result = evaluate(product_definition(DataType::f32, 1, 8, 32, 64), inputs, options);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("overflow"), std::string::npos);
}

TEST(Contraction, BytesDoNotDependOnThreads) {
  ConvolutionSizes sizes;
  sizes.height = sizes.width = 40;
  sizes.outputs = 70;
  sizes.bias = true;
  const auto inputs = random_inputs(
      DataType::f32, {data_sizes(sizes), weight_sizes(sizes), {sizes.outputs}}, Domain::native);
  const Definition definition = convolution_definition(DataType::f32, sizes);
  for (const bool plain : {false, true}) {
    EvaluationOptions options;
    options.plain = plain;
    options.threads = 1;
    const Tensor single = (*evaluate(definition, inputs, options))[0];
    for (const int threads : {2, 3, 5}) {
      options.threads = threads;
      EXPECT_EQ((*evaluate(definition, inputs, options))[0], single) << threads;
    }
  }
}

TEST(MatrixKernel, VariantsGiveTheSameBits) {
  for (const LaneKind lanes : {LaneKind::f32, LaneKind::f64}) {
    constexpr std::int64_t rows = 12, columns = 32, depth = 37;
    const DataType type = lanes == LaneKind::f32 ? DataType::f32 : DataType::f64;
    const std::size_t bytes = lane_size(lanes);
    const auto a = random_tensor(type, {depth, rows}, 1),
               b = random_tensor(type, {depth, columns}, 2);
    std::vector<std::byte> expected;
    for (int variant = 0; variant < matrix_kernel_variants(lanes); ++variant) {
      const MatrixKernel kernel = matrix_kernel_variant(lanes, variant);
      std::vector<std::byte> total(rows * columns * bytes);
      std::vector<std::byte> left(depth * kernel.rows * bytes),
          right(depth * kernel.columns * bytes);
      for (std::int64_t i = 0; i + kernel.rows <= rows; i += kernel.rows)
        for (std::int64_t j = 0; j + kernel.columns <= columns; j += kernel.columns) {
          for (std::int64_t k = 0; k < depth; ++k) {
            std::memcpy(left.data() + k * kernel.rows * bytes,
                        a.bytes().data() + (k * rows + i) * bytes, kernel.rows * bytes);
            std::memcpy(right.data() + k * kernel.columns * bytes,
                        b.bytes().data() + (k * columns + j) * bytes, kernel.columns * bytes);
          }
          kernel.multiply(depth, left.data(), right.data(),
                          total.data() + (i * columns + j) * bytes, columns);
        }
      if (variant == 0) expected = total;
      EXPECT_EQ(total, expected) << "variant " << variant;
    }
  }
}

}  // namespace
}  // namespace lemma::interpreter
