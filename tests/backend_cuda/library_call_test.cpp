// What libraries are given: matrices in column-major order, axes that cuDNN wants, and how a target without a device
// answers.

#include "backend_cuda/libraries/library_call.h"

#include <gtest/gtest.h>

#include "backend_cuda/libraries/library_operators.h"
#include "ir/graph.h"
#include "profiler/operator_measurement.h"

namespace lemma::backend {
namespace {

using Values = std::vector<std::int64_t>;

/// Distinct small numbers, so that a wrong element shows.
Values numbered(std::int64_t count, std::int64_t first) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back((first + 7 * i) % 101);
  return values;
}

/// What a row-major operand stands for.
std::int64_t element(const Values& values, const MatrixOperand& operand, std::int64_t batch,
                     std::int64_t row, std::int64_t column) {
  const std::int64_t line = operand.transposed ? column : row;
  const std::int64_t place = operand.transposed ? row : column;
  return values[static_cast<std::size_t>(batch * operand.batch_stride + line * operand.leading +
                                         place)];
}

/// What cuBLASLt takes an operand for: column-major, then transposed by the call.
std::int64_t element(const Values& values, const ColumnMajorMatrix& matrix, std::int64_t batch,
                     std::int64_t row, std::int64_t column) {
  if (matrix.transposed) std::swap(row, column);
  EXPECT_LT(row, matrix.rows);
  EXPECT_LT(column, matrix.columns);
  return values[static_cast<std::size_t>(batch * matrix.batch_stride + column * matrix.leading +
                                         row)];
}

void expect_same_product(const MatrixProduct& product) {
  const Values left = numbered(2000, 3), right = numbered(2000, 5);
  const ColumnMajorProduct call = column_major(product);
  EXPECT_EQ(call.d.rows, product.columns);
  EXPECT_EQ(call.d.columns, product.rows);
  EXPECT_FALSE(call.d.transposed);
  for (std::int64_t batch = 0; batch < product.batches; ++batch)
    for (std::int64_t r = 0; r < product.rows; ++r)
      for (std::int64_t c = 0; c < product.columns; ++c) {
        std::int64_t expected = 0, found = 0;
        for (std::int64_t k = 0; k < product.inner; ++k) {
          expected +=
              element(left, product.left, batch, r, k) * element(right, product.right, batch, k, c);
          found += element(right, call.a, batch, c, k) * element(left, call.b, batch, k, r);
        }
        EXPECT_EQ(found, expected) << batch << " " << r << " " << c;
        EXPECT_EQ(batch * call.d.batch_stride + r * call.d.leading + c,
                  batch * product.result.batch_stride + r * product.result.leading + c);
      }
}

TEST(ColumnMajor, IsTheSameProduct) {
  for (const bool left : {false, true})
    for (const bool right : {false, true}) {
      MatrixProduct product;
      product.rows = 3;
      product.inner = 4;
      product.columns = 5;
      product.batches = 2;
      // Leading dimensions may be larger than the lines.
      product.left = {left, (left ? 3 : 4) + 2, 40};
      product.right = {right, (right ? 4 : 5) + 1, 0};
      product.result = {false, 5, 15};
      expect_same_product(product);
    }
}

TEST(TwoAxes, OneIsPutInFrontOfASingleOne) {
  Convolution line{DataType::f32, {1, 4, 20}, {6, 4, 5}, {1, 6, 18}, 1,
                   {1},           {1},        {1},       false,      false};
  const Convolution plane = with_two_axes(line);
  EXPECT_EQ(plane.input, (Values{1, 4, 1, 20}));
  EXPECT_EQ(plane.weight, (Values{6, 4, 1, 5}));
  EXPECT_EQ(plane.output, (Values{1, 6, 1, 18}));
  EXPECT_EQ(plane.strides, (Values{1, 1}));
  EXPECT_EQ(plane.dilations, (Values{1, 1}));
  EXPECT_EQ(plane.pads, (Values{0, 1}));
  EXPECT_EQ(with_two_axes(plane), plane);
  const Pool pool{DataType::f32, Pool::Kind::maximum, {1, 4, 20}, {1, 4, 10}, {2}, {2}, {0}};
  EXPECT_EQ(with_two_axes(pool).windows, (Values{1, 2}));
  EXPECT_EQ(with_two_axes(with_two_axes(pool)), with_two_axes(pool));
}

CostKey key_of(std::string_view op, const std::vector<TensorType>& inputs) {
  Graph graph;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    operands.push_back(*graph.add_input("in_" + std::to_string(i), inputs[i]));
  const NodeId node = *graph.add_operation(operator_named(op), operands, {}, 1);
  CostKey key;
  key.op = &record(operator_named(op));
  key.attributes = graph.node(node).attributes;
  key.inputs = inputs;
  key.outputs = graph.output_types(graph.node(node));
  return key;
}

TensorType matrix(std::int64_t rows, std::int64_t columns) {
  return {DataType::f32, Shape{Dimension(rows), Dimension(columns)}};
}

/// Remembers what it was given.
class RecordingDevice : public LibraryDevice {
 public:
  explicit RecordingDevice(std::vector<std::string>& seen) : seen_(seen) {}
  RuntimeIdentity identity() const override { return {"CUDA libraries made up", "device", 1}; }
  Result<OperatorTime> time(const LibraryProblem& problem) override {
    seen_.push_back(text(problem));
    return OperatorTime{2e-6, 0, timed_runs};
  }

 private:
  std::vector<std::string>& seen_;
};

TEST(LibraryOperators, GiveProblemsToTheDeviceAndNameTheRest) {
  auto database = ProfileDatabase::open(":memory:");
  ASSERT_TRUE(database);
  std::vector<std::string> seen, refused;
  LibraryOperators timer(std::make_unique<RecordingDevice>(seen));
  MeasurementOptions options;
  options.on_refusal = [&refused](const CostKey&, const std::string& why) {
    refused.push_back(why);
  };
  NodeTimes times{{}};
  const CostKey product = key_of("MatMul", {matrix(4, 8), matrix(8, 16)});
  const CostKey relu = key_of("Relu", {matrix(4, 8)});
  EXPECT_EQ(timer.measure(*database, {product, relu}, {}, times, options), 1U);
  EXPECT_EQ(seen, std::vector<std::string>{"product f32 4x8x16"});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(refused[0].starts_with("no call of cuBLASLt or cuDNN: ")) << refused[0];
  EXPECT_EQ(times.find(profiled_operator(product, {}))->seconds, 2e-6);
  // No entry of this target is one of another.
  EXPECT_TRUE(database->entries({"task programs 1", processor_identity(), 1})->empty());
  EXPECT_EQ(database->entries(*timer.identity())->size(), 1U);
}

TEST(LibraryOperators, WithoutTheModuleSayThatItWasNotBuilt) {
  LibraryOperators timer(std::filesystem::path("/nowhere/lemma_cuda.so"));
  const auto identity = timer.identity();
  ASSERT_FALSE(identity);
  EXPECT_EQ(identity.error().message, "this lemma was built without the CUDA toolkit");
  EXPECT_EQ(identity.error().kind, ErrorKind::unsupported);
}

#ifdef LEMMA_CUDA_MODULE
TEST(LibraryOperators, WithoutADeviceSaySo) {
  LibraryOperators timer(std::filesystem::path(LEMMA_CUDA_MODULE));
  const auto identity = timer.identity();
  if (identity) {
    EXPECT_TRUE(identity->runtime.starts_with(library_runtime));
    EXPECT_NE(identity->runtime.find("TF32"), std::string::npos);
    GTEST_SKIP() << "there is a device: " << identity->processor;
  }
  if (identity.error().message.starts_with("the CUDA libraries cannot be loaded"))
    GTEST_SKIP() << identity.error().message;
  EXPECT_EQ(identity.error().message, "no CUDA device was found");
}

/// Each kind of problem, where there is a device.
TEST(LibraryOperators, TimeEachKindOfProblem) {
  LibraryOperators timer(std::filesystem::path(LEMMA_CUDA_MODULE));
  if (const auto identity = timer.identity(); !identity) GTEST_SKIP() << identity.error().message;
  auto database = ProfileDatabase::open(":memory:");
  ASSERT_TRUE(database);
  const auto cube = [](std::int64_t channels, std::int64_t size) {
    return TensorType{DataType::f32,
                      Shape{Dimension(1), Dimension(channels), Dimension(size), Dimension(size)}};
  };
  const std::vector<CostKey> keys = {
      key_of("MatMul", {matrix(64, 128), matrix(128, 256)}),
      key_of("Gemm", {matrix(64, 128), matrix(128, 256), {DataType::f32, Shape{Dimension(256)}}}),
      key_of("Conv",
             {cube(16, 32),
              {DataType::f32, Shape{Dimension(8), Dimension(16), Dimension(3), Dimension(3)}}}),
      key_of("GlobalAveragePool", {cube(16, 32)})};
  NodeTimes times{{}};
  MeasurementOptions options;
  options.on_refusal = [](const CostKey& key, const std::string& why) {
    ADD_FAILURE() << key.op->name << ": " << why;
  };
  EXPECT_EQ(timer.measure(*database, keys, {}, times, options), keys.size());
}
#endif

TEST(CallLine, NamesAllThatACallIsGiven) {
  Convolution convolution;
  convolution.type = DataType::f16;
  convolution.input = {2, 3, 9};
  convolution.weight = {5, 3, 4};
  convolution.output = {2, 5, 6};
  convolution.strides = {2};
  convolution.dilations = {3};
  convolution.pads = {7};
  convolution.relu = true;
  EXPECT_EQ(call_line(convolution), "convolution f16 4 2 3 1 9 5 3 1 4 2 5 1 6 1 1 2 1 3 0 7 0 1");
  Pool pool;
  pool.type = DataType::f32;
  pool.kind = Pool::Kind::average;
  pool.input = {1, 2, 8, 6};
  pool.output = {1, 2, 4, 3};
  pool.windows = {2, 3};
  pool.strides = {4, 5};
  pool.pads = {0, 1};
  EXPECT_EQ(call_line(pool), "pool f32 4 1 1 2 8 6 1 2 4 3 2 3 4 5 0 1");
}

}  // namespace
}  // namespace lemma::backend
