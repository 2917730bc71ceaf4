// Attributes, quoted strings and data types: text and values.

#include "ir/attributes.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "base/quoted.h"
#include "tests/ir/random_graph.h"

namespace lemma {
namespace {

TEST(AttributeValue, text_reads_back) {
  testing::RandomGraph random(2);
  for (int i = 0; i < 8000; ++i) {
    const auto kind = static_cast<AttributeKind>(random.integer(0, 7));
    const Attributes original({{"a", random.attribute(kind)}});
    const auto read = parse_attribute_value(kind, text(*original.find("a")));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(Attributes({{"a", *read}}), original) << text(original);
    EXPECT_EQ(Attributes({{"a", *read}}).hash(), original.hash()) << text(original);
  }
}

TEST(AttributeValue, text_of_each_kind) {
  EXPECT_EQ(text(AttributeValue(INT64_C(-3))), "-3");
  EXPECT_EQ(text(AttributeValue(3.0)), "3.0");
  EXPECT_EQ(text(AttributeValue(1e300)), "1e+300");
  EXPECT_EQ(text(AttributeValue(-INFINITY)), "-inf");
  EXPECT_EQ(text(AttributeValue(std::string("a\"b"))), R"("a\"b")");
  EXPECT_EQ(text(AttributeValue(Integers{1, -2})), "[1, -2]");
  EXPECT_EQ(text(AttributeValue(Reals{})), "[]");
  EXPECT_EQ(text(AttributeValue(Shape{1, Dimension::symbol("a, b")})), R"([1, "a, b"])");
  EXPECT_EQ(text(AttributeValue(DataType::bf16)), "bf16");
  EXPECT_EQ(text(AttributeValue(Dimension::symbol("N") + 1)), "N + 1");
}

TEST(AttributeValue, malformed_text_is_refused) {
  using K = AttributeKind;
  const std::pair<K, const char*> cases[] = {{K::integer, ""},
                                             {K::integer, "1.5"},
                                             {K::integer, "9223372036854775808"},
                                             {K::integer, "1 "},
                                             {K::integer, "+1"},
                                             {K::real, "1.5x"},
                                             {K::real, "1e999"},
                                             {K::real, ""},
                                             {K::string, "abc"},
                                             {K::string, "\"abc"},
                                             {K::string, "\"a\"b\""},
                                             {K::integers, "1, 2"},
                                             {K::integers, "[1, ]"},
                                             {K::integers, "[,1]"},
                                             {K::integers, "["},
                                             {K::integers, "[1 2]"},
                                             {K::reals, "[x]"},
                                             {K::dimensions, "[N"},
                                             {K::dimensions, "[N,]"},
                                             {K::dimensions, "[\"N]"},
                                             {K::data_type, "f33"},
                                             {K::data_type, ""},
                                             {K::dimension, ""},
                                             {K::dimension, "[N]"}};
  for (const auto& [kind, value] : cases) {
    const auto read = parse_attribute_value(kind, value);
    EXPECT_FALSE(read) << name(kind) << ": " << value;
    if (!read) {
      EXPECT_EQ(read.error().kind, ErrorKind::bad_input);
    }
  }
  EXPECT_TRUE(parse_attribute_value(K::integers, "[ 1 , 2 ]"));
  EXPECT_TRUE(parse_attribute_value(K::reals, "[nan, -inf, 1]"));
}

TEST(Attributes, sorted_whatever_the_order) {
  Attributes a({{"b", INT64_C(1)}, {"a", 2.0}}), b({{"a", 2.0}, {"b", INT64_C(1)}});
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_EQ(text(a), "{a=2.0, b=1}");
  a.set("b", INT64_C(7));
  EXPECT_EQ(a.integer("b"), 7);
  EXPECT_FALSE(a == b);
  a.erase("b");
  a.erase("absent");
  EXPECT_FALSE(a.has("b"));
  EXPECT_EQ(text(a), "{a=2.0}");
  EXPECT_EQ(text(Attributes()), "");
}

TEST(Attributes, kinds_tell_values_apart) {
  const Attributes integer({{"a", INT64_C(1)}}), real({{"a", 1.0}}),
      dimension({{"a", Dimension(1)}});
  EXPECT_FALSE(integer == real);
  EXPECT_FALSE(integer == dimension);
  EXPECT_NE(integer.hash(), dimension.hash());
  EXPECT_THROW((void)integer.real("a"), std::logic_error);
  EXPECT_THROW((void)integer.integer("b"), std::logic_error);
}

TEST(Quoted, all_bytes_read_back) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(unquote(quote(all)), all);
  for (const char c : quote(all)) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  EXPECT_EQ(quote("a\n\"\\"), R"("a\x0a\"\\")");
  EXPECT_EQ(unquote("\"\""), "");
}

TEST(Quoted, exactly_one_quoted_string) {
  for (const char* text : {"", "\"", "a", "\"a", "a\"", "\"a\"b\"", "\"a\" ", "\"\\\"", "\"\\x4\"",
                           "\"\\xg0\"", "\"\\n\"", "\"\\x\""})
    EXPECT_FALSE(unquote(text)) << text;
}

TEST(Quoted, plain_names) {
  for (const char* name : {"N", "unk__1", "a.b'", "_", "A9"}) EXPECT_TRUE(is_plain_name(name));
  for (const char* name : {"", "9a", "a b", "a-b", "ü", "a\n"}) EXPECT_FALSE(is_plain_name(name));
}

TEST(DataType, names_are_unique_and_read_back) {
  std::set<std::string_view> names;
  for (int i = 0; i < data_type_count; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_TRUE(names.insert(name(type)).second);
    EXPECT_EQ(parse_data_type(name(type)), type);
  }
  EXPECT_FALSE(parse_data_type(""));
  EXPECT_FALSE(parse_data_type("F32"));
}

TEST(DataType, classes_and_sizes) {
  EXPECT_EQ(class_of(DataType::bf16), DataTypeClass::real);
  EXPECT_EQ(class_of(DataType::boolean), DataTypeClass::boolean);
  EXPECT_EQ(class_of(DataType::f8e5m2), DataTypeClass::narrow);
  EXPECT_EQ(class_of(DataType::complex64), DataTypeClass::other);
  EXPECT_EQ(byte_size(DataType::f64), 8U);
  EXPECT_EQ(byte_size(DataType::u4), 1U);
  EXPECT_EQ(byte_size(DataType::string), 0U);
  EXPECT_EQ(bits(DataType::u4), 4);
  for (int i = 0; i < data_type_count; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(is_unsigned_integer(type), type == DataType::u8 || type == DataType::u16 ||
                                             type == DataType::u32 || type == DataType::u64);
    EXPECT_TRUE(!is_computable(type) || byte_size(type) > 0) << name(type);
  }
}

}  // namespace
}  // namespace lemma
