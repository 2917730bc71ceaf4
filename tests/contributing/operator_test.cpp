// The worked example of "Add an operator in one file": what its record infers, means and computes.

#include <array>

#include <gtest/gtest.h>

#include "interpreter/evaluate.h"
#include "ir/operator.h"
#include "operators/elementwise.h"

namespace lemma::operators {
namespace {

using Operands = std::vector<Expression>;

#include "operator_example.h"

class Example : public ::testing::Test {
 protected:
  Result<Attributes> completed(Attributes attributes) const {
    return complete_attributes(record_, inputs_, std::move(attributes), 1);
  }

  const OperatorRecord& record_ = records.front();
  const std::vector<TensorType> inputs_ = {{DataType::f32, Shape{Dimension::symbol("N"), 2}}};
};

TEST_F(Example, infers_its_type) {
  const auto attributes = completed({});
  ASSERT_TRUE(attributes) << attributes.error().message;
  EXPECT_EQ(text(*attributes), "{bias=0.0, lambd=0.5}");
  const auto types = infer_types(record_, {inputs_, *attributes, 1});
  ASSERT_TRUE(types) << types.error().message;
  EXPECT_EQ(*types, inputs_);
  const std::vector<TensorType> integers = {{DataType::i32, Shape{3}}};
  EXPECT_FALSE(infer_types(record_, {integers, *attributes, 1}));
}

TEST_F(Example, means_what_is_written) {
  const auto attributes = completed({{"bias", 0.25}});
  ASSERT_TRUE(attributes);
  EXPECT_EQ(text(record_.define({inputs_, *attributes, 1})),
            "y[i0, i1] = select(a[i0, i1] < 0 - 0.5, a[i0, i1] + 0.25, "
            "select(0.5 < a[i0, i1], a[i0, i1] - 0.25, 0))");
}

TEST_F(Example, computes_it) {
  const auto attributes = completed({{"bias", 0.25}});
  ASSERT_TRUE(attributes);
  const auto x = interpreter::Tensor::of(DataType::f32, {3, 2},
                                         std::vector<float>{-2, -0.5F, -0.25F, 0, 0.5F, 4});
  const std::vector<TensorType> types = {x.type()};
  const auto y = interpreter::evaluate(record_, {types, *attributes, 1}, std::array{x});
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(y->front().reals(), (std::vector<double>{-1.75, 0, 0, 0, 0, 3.75}));
}

TEST_F(Example, has_the_form_of_its_counterpart_in_the_table) {
  const OperatorRecord& real = record(operator_named(record_.name));
  EXPECT_EQ(record_.onnx.size(), real.onnx.size());
  EXPECT_EQ(record_.onnx.front().since, real.onnx.front().since);
  EXPECT_EQ(record_.attributes.size(), real.attributes.size());
  EXPECT_EQ(record_.flags, real.flags);
}

}  // namespace
}  // namespace lemma::operators
