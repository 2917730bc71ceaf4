#include "ir/definition.h"

#include <cmath>

#include <gtest/gtest.h>

namespace lemma {
namespace {

std::int64_t integer_constant(double value, DataType type) {
  DefinitionBuilder builder;
  const Expression constant = builder.constant(value, type);
  EXPECT_EQ(constant.type(), type);
  EXPECT_EQ(builder.node(constant.id()).kind, ExpressionKind::integer_constant);
  return builder.node(constant.id()).integer;
}

TEST(DefinitionBuilder, constants_beyond_an_integer_type_are_its_ends) {
  EXPECT_EQ(integer_constant(1e300, DataType::i64), INT64_MAX);
  EXPECT_EQ(integer_constant(-1e300, DataType::i64), INT64_MIN);
  EXPECT_EQ(integer_constant(-0x1p63, DataType::i64), INT64_MIN);
  EXPECT_EQ(integer_constant(0x1p63, DataType::i64), INT64_MAX);
  EXPECT_EQ(integer_constant(INFINITY, DataType::i32), INT32_MAX);
  EXPECT_EQ(integer_constant(-INFINITY, DataType::i32), INT32_MIN);
  EXPECT_EQ(integer_constant(300, DataType::u8), 255);
  EXPECT_EQ(integer_constant(-1, DataType::u8), 0);
  EXPECT_EQ(integer_constant(128, DataType::i8), 127);
  EXPECT_EQ(integer_constant(1e300, DataType::u64), -1);          // all bits set
  EXPECT_EQ(integer_constant(0x1p63, DataType::u64), INT64_MIN);  // the bits of 2^63
  EXPECT_EQ(integer_constant(2, DataType::boolean), 1);
}

TEST(DefinitionBuilder, constants_within_a_type_are_kept) {
  EXPECT_EQ(integer_constant(-5, DataType::i64), -5);
  EXPECT_EQ(integer_constant(2.75, DataType::i32), 2);
  EXPECT_EQ(integer_constant(-2.75, DataType::i32), -2);
  EXPECT_EQ(integer_constant(255, DataType::u8), 255);
  EXPECT_EQ(integer_constant(1, DataType::boolean), 1);
}

}  // namespace
}  // namespace lemma
