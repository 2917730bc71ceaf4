// What registration refuses, and what it takes: one test after the other, before the table of all operators is used.

#include "ir/operator_registration.h"

#include <gtest/gtest.h>

#include <array>

#include "ir/definition.h"
#include "ir/graph.h"

namespace lemma {
namespace {

Result<std::vector<TensorType>> same(const Instance& in) {
  return std::vector<TensorType>{in.inputs[0]};
}

Definition twice(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  const Expression x = d.read(0, in.type(0), axes);
  d.output(axes, x + x);
  return std::move(d).finish();
}

Result<std::vector<ValueId>> nothing(Graph&, const Instance&, std::span<const ValueId> inputs) {
  return std::vector<ValueId>(inputs.begin(), inputs.end());
}

constexpr OperatorRecord sound(std::string_view name) {
  return {.name = name, .summary = "2 x", .infer = same, .define = twice};
}

/// The message of the refusal.
std::string refusal(const OperatorRecord& record) {
  const auto done = register_operators({&record, 1}, "test.so");
  return done ? "nothing is wrong" : done.error().message;
}

constexpr std::array taken_form = {OnnxMapping{.name = "Relu", .since = 20}};
constexpr std::array no_form = {
    OnnxMapping{.name = "Twice", .since = 3, .until = 2, .domain = "test"}};
constexpr std::array bad_default = {
    AttributeSpecification{"alpha", AttributeKind::integer, "half"}};
constexpr std::array same_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real, "1.0"},
    AttributeSpecification{"alpha", AttributeKind::integer, "1"}};

TEST(OperatorRegistration, RecordsThatLackSomething) {
  OperatorRecord bad = sound("Twice");
  bad.infer = nullptr;
  EXPECT_EQ(refusal(bad), "test.so: operator 'Twice': it has no shape rule");
  bad = sound("Twice");
  bad.summary = "";
  EXPECT_EQ(refusal(bad), "test.so: operator 'Twice': it has no summary");
  bad = sound("Twice");
  bad.define = nullptr;
  EXPECT_EQ(refusal(bad),
            "test.so: operator 'Twice': it has neither a definition nor a composition");
  bad.define = twice;
  bad.compose = nothing;
  EXPECT_EQ(
      refusal(bad),
      "test.so: operator 'Twice': it has a definition and a composition; its meaning is one of "
      "them");
  EXPECT_EQ(refusal(sound("twice")),
            "test.so: operator 'twice': a name has letters and digits, and begins with a capital "
            "letter");
  EXPECT_EQ(refusal(sound("TwiceGradient0")),
            "test.so: operator 'TwiceGradient0': names with 'Gradient' or 'PerDevice' are of "
            "operators that Lemma makes");
}

TEST(OperatorRegistration, WrongArities) {
  OperatorRecord bad = sound("Twice");
  bad.inputs = {3, 2};
  EXPECT_EQ(refusal(bad),
            "test.so: operator 'Twice': 3 to 2 operands: the least number is 0 or more, and the "
            "greatest not below it, or -1");
  bad = sound("Twice");
  bad.outputs = {0, 1};
  EXPECT_EQ(refusal(bad),
            "test.so: operator 'Twice': 0 to 1 outputs: the least number is 1 or more, and the "
            "greatest not below it, or -1");
}

TEST(OperatorRegistration, AttributesAndForms) {
  OperatorRecord bad = sound("Twice");
  bad.attributes = bad_default;
  EXPECT_TRUE(
      refusal(bad).starts_with("test.so: operator 'Twice': the default of attribute 'alpha': "))
      << refusal(bad);
  bad.attributes = same_attributes;
  EXPECT_EQ(refusal(bad), "test.so: operator 'Twice': two attributes are named 'alpha'");
  bad = sound("Twice");
  bad.onnx = no_form;
  EXPECT_EQ(refusal(bad),
            "test.so: operator 'Twice': the ONNX form test.Twice is of operator sets 3 to 2");
  bad.onnx = taken_form;
  EXPECT_EQ(refusal(bad), "test.so: operator 'Twice': the ONNX form Relu is that of Relu in Lemma");
}

TEST(OperatorRegistration, NamesThatAreTaken) {
  EXPECT_EQ(refusal(sound("Relu")),
            "test.so: operator 'Relu': there is an operator of this name in Lemma");
  const std::array both = {sound("Twice"), sound("Twice")};
  const auto done = register_operators(both, "test.so");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message,
            "test.so: operator 'Twice': there is an operator of this name beside it");
  EXPECT_EQ(register_operators({}, "test.so").error().message, "test.so: there are no operators");
}

// From here on there are operators from outside, and then the table is used.
TEST(OperatorRegistration, TheTableHasThem) {
  const OperatorRecord second = sound("ZzTwice"), first = sound("AaTwice");
  ASSERT_TRUE(register_operators({&second, 1}, "second.so"));
  ASSERT_TRUE(register_operators({&first, 1}, "first.so"));
  EXPECT_EQ(refusal(first),
            "test.so: operator 'AaTwice': there is an operator of this name from first.so");
  EXPECT_EQ(origin_of("AaTwice"), "first.so");
  EXPECT_EQ(origin_of("Relu"), "");

  const auto table = all_operators();
  EXPECT_EQ(table.size(), own_operators().size() + 2);
  EXPECT_EQ(table.front().name, "AaTwice");
  EXPECT_EQ(table.back().name, "ZzTwice");
  EXPECT_TRUE(std::is_sorted(
      table.begin(), table.end(),
      [](const OperatorRecord& a, const OperatorRecord& b) { return a.name < b.name; }));
  EXPECT_EQ(operator_named("AaTwice"), OperatorId{0});
  EXPECT_EQ(record(operator_named("ZzTwice")).summary, "2 x");

  EXPECT_EQ(refusal(sound("Late")),
            "test.so: operators are registered before the first one is used, and some were");
}

TEST(OperatorRegistration, TheMarkNamesTheVersion) {
  EXPECT_TRUE(operator_library_mark().starts_with("Lemma operator library for "));
  EXPECT_NE(operator_library_mark().find(" layout "), std::string_view::npos);
}

}  // namespace
}  // namespace lemma
