// What is known of values, and what must not be believed.

#include "facts/value_facts.h"

#include <limits>

#include <gtest/gtest.h>

#include "ir/graph_text.h"

namespace lemma {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Facts of the outputs of a graph in text form, in order.
std::vector<ValueFacts> facts(const std::string& text, std::vector<ValueFacts> inputs = {},
                              Reads reads = Reads::must_be_shown) {
  const auto graph = parse_graph("graph \"g\"\n" + text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  if (!graph) return {{}};
  const std::vector<ValueFacts> all = facts_of_values(*graph, inputs, reads);
  std::vector<ValueFacts> result;
  for (const GraphOutput& output : graph->outputs()) result.push_back(all[output.value.v]);
  return result;
}

/// The result of one operator on x : f32[n, 4] and y : f32[n, 4].
ValueFacts of(const std::string& term, const std::string& type = "f32[\"n\", 4]",
              std::vector<ValueFacts> inputs = {}) {
  return facts("  input %0 \"x\" : " + type + "\n  input %1 \"y\" : " + type + "\n  %2 = " + term +
                   "\n  output \"z\" = %2\n",
               std::move(inputs))
      .front();
}

ValueFacts bounded(double lower, double upper, bool nonzero = false) {
  ValueFacts result = facts_of_input(DataType::f32);
  result.lower = lower;
  result.upper = upper;
  result.nonzero = nonzero || lower > 0 || upper < 0;
  return result;
}

TEST(ValueFacts, SumsAndProductsOfInputsAreDefinedAndFinite) {
  for (const char* term : {"Add(%0, %1)", "Mul(%0, %1)", "Sub(%0, %0)", "Exp(%0)", "Relu(%0)",
                           "Sigmoid(%0)", "Tanh(%0)", "Gelu(%0)", "Softplus(%0)", "Neg(%0)"}) {
    const ValueFacts known = of(term);
    EXPECT_TRUE(known.defined) << term;
    EXPECT_TRUE(known.finite()) << term;
  }
}

TEST(ValueFacts, PartialFunctionsOfInputsAreNotKnownToBeDefined) {
  for (const char* term :
       {"Div(%0, %1)", "Reciprocal(%0)", "Log(%0)", "Sqrt(%0)", "Pow(%0, %1)", "Tan(%0)",
        "Asin(%0)", "Acos(%0)", "Acosh(%0)", "Atanh(%0)", "Mod{fmod=1}(%0, %1)"})
    EXPECT_FALSE(of(term).defined) << term;
}

TEST(ValueFacts, ADivisorThatMayBeZeroTaints) {
  EXPECT_FALSE(of("Div(%0, %1)").finite());
  EXPECT_FALSE(of("Reciprocal(%0)").finite());
  EXPECT_FALSE(of("Log(%0)").finite());
  EXPECT_TRUE(of("Div(%0, %1)", "f32[4]", {bounded(-1, 1), bounded(2, 3)}).finite());
  EXPECT_TRUE(of("Div(%0, %1)", "f32[4]", {bounded(-1, 1), bounded(2, 3)}).defined);
  EXPECT_TRUE(of("Div(%0, %1)", "f32[4]", {bounded(-1, 1), bounded(-3, 3, true)}).defined);
  EXPECT_FALSE(of("Div(%0, %1)", "f32[4]", {bounded(-1, 1), bounded(0, 3)}).defined);
}

TEST(ValueFacts, BoundsAreKept) {
  const ValueFacts quotient = of("Div(%0, %1)", "f32[4]", {bounded(1, 4), bounded(2, 8)});
  EXPECT_EQ(quotient.lower, 0.125);
  EXPECT_EQ(quotient.upper, 2);
  const ValueFacts product = of("Mul(%0, %1)", "f32[4]", {bounded(-2, 3), bounded(-5, 1)});
  EXPECT_EQ(product.lower, -15);
  EXPECT_EQ(product.upper, 10);
  const ValueFacts sigmoid = of("Sigmoid(%0)");
  EXPECT_EQ(sigmoid.lower, 0);
  EXPECT_EQ(sigmoid.upper, 1);
  EXPECT_TRUE(sigmoid.nonzero);
  EXPECT_TRUE(of("Exp(%0)").positive());
  EXPECT_TRUE(of("Clip{max=6.0, min=0.0}(%0)").nonnegative());
  EXPECT_EQ(of("Clip{max=6.0, min=0.0}(%0)").upper, 6);
  EXPECT_FALSE(of("Relu(%0)").positive());
  EXPECT_EQ(of("ReduceSum{axes=[1]}(%0)", "f32[\"n\", 4]", {bounded(1, 2), {}}).lower, 4);
}

TEST(ValueFacts, RoundingOfBoundsIsOutward) {
  const ValueFacts sum = of("Add(%0, %1)", "f64[4]", {bounded(0.1, 0.1), bounded(0.2, 0.2)});
  EXPECT_LT(sum.lower, 0.30000000000000004);
  EXPECT_GE(sum.upper, 0.30000000000000004);
  EXPECT_LE(of("Exp(%0)", "f32[4]", {bounded(1, 1), {}}).lower, 2.718281828459045);
}

TEST(ValueFacts, ASquareIsNotNegativeButMayBeZero) {
  const ValueFacts square = of("Mul(%0, %0)");
  EXPECT_TRUE(square.nonnegative());
  EXPECT_FALSE(square.positive());
  EXPECT_FALSE(of("Mul(%0, %1)").nonnegative());
  EXPECT_FALSE(facts("  input %0 \"x\" : f32[4]\n  %1 = Mul(%0, %0)\n  %2 = Reciprocal(%1)\n"
                     "  output \"z\" = %2\n")
                   .front()
                   .defined);
}

TEST(ValueFacts, ASquareOfTheSameElementOnly) {
  // x[i] * x[j] of one operand is no square.
  const ValueFacts outer =
      facts(
          "  input %0 \"x\" : f32[4]\n  %1 = Reshape{shape=[4, 1]}(%0)\n  %2 = Mul(%0, %1)\n"
          "  output \"z\" = %2\n")
          .front();
  EXPECT_FALSE(outer.nonnegative());
}

TEST(ValueFacts, NormalizationsAreDefinedByTheirEpsilon) {
  const std::string written =
      "  input %0 \"x\" : f32[\"n\", 8]\n  %1 = ReduceMean{axes=[1]}(%0)\n  %2 = Sub(%0, %1)\n"
      "  %3 = Mul(%2, %2)\n  %4 = ReduceMean{axes=[1]}(%3)\n"
      "  %5 = ConstantOfShape{data_type=f32, shape=[], value=0.00001}()\n  %6 = Add(%4, %5)\n"
      "  %7 = Sqrt(%6)\n  %8 = Div(%2, %7)\n  output \"z\" = %8\n  output \"v\" = %4\n";
  EXPECT_TRUE(facts(written)[0].defined);
  EXPECT_TRUE(facts(written)[0].finite());
  EXPECT_TRUE(facts(written)[1].nonnegative());
  std::string without = written;
  without.replace(without.find("0.00001"), 7, "0.0");
  EXPECT_FALSE(facts(without)[0].defined);
}

TEST(ValueFacts, ReductionsOfNothing) {
  EXPECT_FALSE(of("ReduceMax{axes=[0]}(%0)").defined);
  EXPECT_FALSE(of("ReduceMin{axes=[0]}(%0)").defined);
  EXPECT_FALSE(of("ReduceMean{axes=[0]}(%0)").defined);
  EXPECT_TRUE(of("ReduceSum{axes=[0]}(%0)").defined);
  EXPECT_TRUE(of("ReduceProd{axes=[0]}(%0)").defined);
  EXPECT_TRUE(of("ReduceMax{axes=[1]}(%0)").defined);
  EXPECT_TRUE(of("ReduceMean{axes=[1]}(%0)").defined);
  EXPECT_FALSE(of("ReduceMax{axes=[0]}(%0)", "i32[\"n\", 4]").defined);
  EXPECT_FALSE(of("ReduceSum{axes=[0]}(%0)", "f32[\"n\", 4]", {bounded(1, 2), {}}).positive());
  EXPECT_TRUE(of("ReduceMax{axes=[0]}(%0)", "f32[n + 1, 4]").defined);
}

TEST(ValueFacts, SoftmaxEndsATaint) {
  ValueFacts masked = facts_of_input(DataType::f32);
  masked.minus_infinity = true;
  EXPECT_TRUE(of("Softmax{axis=1}(%0)").defined);
  EXPECT_TRUE(of("Softmax{axis=0}(%0)").defined) << "without elements where n is 0";
  EXPECT_TRUE(of("Softmax{axis=1}(%0)", "f32[\"n\", 4]", {masked, {}}).finite());
  EXPECT_FALSE(of("Softmax{axis=1}(%0)", "f32[\"n\", 4]", {masked, {}}).defined)
      << "all elements may be masked";
  EXPECT_EQ(of("Softmax{axis=1}(%0)").upper, 1);
  EXPECT_TRUE(of("LogSoftmax{axis=1}(%0)").defined);
  EXPECT_TRUE(of("LogSoftmax{axis=1}(%0)").upper <= 0);
  EXPECT_FALSE(of("LogSoftmax{axis=1}(%0)", "f32[\"n\", 4]", {masked, {}}).finite());
  const ValueFacts power =
      facts(
          "  input %0 \"x\" : f32[2, 4]\n  %1 = LogSoftmax{axis=1}(%0)\n  %2 = Exp(%1)\n"
          "  output \"z\" = %2\n",
          {masked})
          .front();
  EXPECT_TRUE(power.finite());
}

TEST(ValueFacts, TaintTravelsAndEnds) {
  ValueFacts infinite = facts_of_input(DataType::f32);
  infinite.minus_infinity = infinite.plus_infinity = true;
  ValueFacts mask = bounded(-infinity, 0);
  mask.minus_infinity = true;
  const auto one = [](const char* term, const ValueFacts& x) {
    return of(term, "f32[2, 4]", {x, {}});
  };
  EXPECT_FALSE(one("Neg(%0)", infinite).finite());
  EXPECT_FALSE(one("Relu(%0)", infinite).finite());
  EXPECT_TRUE(one("Relu(%0)", mask).finite());
  EXPECT_TRUE(one("Exp(%0)", mask).finite());
  EXPECT_FALSE(one("Exp(%0)", mask).nonzero);
  EXPECT_TRUE(one("Sigmoid(%0)", infinite).finite());
  EXPECT_TRUE(one("Sigmoid(%0)", infinite).defined);
  EXPECT_TRUE(one("Tanh(%0)", infinite).finite());
  EXPECT_TRUE(one("Clip{max=1.0, min=0.0}(%0)", infinite).finite());
  EXPECT_FALSE(one("Clip{min=0.0}(%0)", infinite).finite());
  EXPECT_FALSE(one("Mul(%0, %0)", infinite).finite());
  EXPECT_FALSE(one("Sub(%0, %0)", infinite).defined) << "inf - inf";
  EXPECT_FALSE(one("Sin(%0)", infinite).defined);
  EXPECT_FALSE(of("Mul(%0, %1)", "f32[4]", {infinite, bounded(-1, 1)}).defined) << "inf * 0";
  EXPECT_TRUE(of("Mul(%0, %1)", "f32[4]", {infinite, bounded(1, 2)}).defined);
  EXPECT_TRUE(of("Add(%0, %1)", "f32[4]", {bounded(-1, 1), mask}).defined);
  EXPECT_FALSE(of("Add(%0, %1)", "f32[4]", {bounded(-1, 1), mask}).finite());
  EXPECT_FALSE(one("ReduceSum{axes=[1]}(%0)", infinite).defined);
  EXPECT_TRUE(one("ReduceSum{axes=[1]}(%0)", mask).defined);
}

TEST(ValueFacts, Constants) {
  const auto constant = [](std::vector<float> elements) {
    const auto size = static_cast<std::int64_t>(elements.size());
    return facts_of_constant(Constant::of(DataType::f32, {size}, elements));
  };
  EXPECT_EQ(constant({1, -2, 3}).lower, -2);
  EXPECT_EQ(constant({1, -2, 3}).upper, 3);
  EXPECT_TRUE(constant({1, -2, 3}).nonzero);
  EXPECT_FALSE(constant({1, -0.0F}).nonzero);
  EXPECT_FALSE(constant({1, std::numeric_limits<float>::quiet_NaN()}).defined);
  EXPECT_TRUE(constant({1, 2}).finite());
  const ValueFacts mask = constant({0, -std::numeric_limits<float>::infinity()});
  EXPECT_TRUE(mask.defined);
  EXPECT_TRUE(mask.minus_infinity);
  EXPECT_FALSE(mask.plus_infinity);
  std::vector<float> large(5000, 1.0F);
  EXPECT_TRUE(constant(large).positive());
  large[4999] = -1;
  EXPECT_FALSE(constant(large).positive());
  const std::vector<std::uint16_t> halves = {f32_to_f16(0.5F), f32_to_f16(-4)};
  EXPECT_EQ(facts_of_constant(Constant::of(DataType::f16, {2}, halves)).lower, -4);
  const std::vector<std::uint16_t> brains = {f32_to_bf16(0.5F), f32_to_bf16(2)};
  EXPECT_EQ(facts_of_constant(Constant::of(DataType::bf16, {2}, brains)).lower, 0.5);
  EXPECT_EQ(
      facts_of_constant(Constant::of(DataType::i64, {2}, std::vector<std::int64_t>{-7, 9})).upper,
      9);
  EXPECT_TRUE(facts_of_constant(Constant::of(DataType::f32, {0}, std::vector<float>{})).defined);
}

TEST(ValueFacts, IntegersWrap) {
  EXPECT_EQ(of("Add(%0, %1)", "u8[4]").lower, 0);
  EXPECT_EQ(of("Add(%0, %1)", "u8[4]").upper, 255);
  const ValueFacts sum = of("Add(%0, %1)", "i64[4]", {bounded(1, 9e18), bounded(1, 9e18)});
  EXPECT_FALSE(sum.positive());
  EXPECT_FALSE(of("Mul(%0, %0)", "i32[4]").nonnegative()) << "65536 * 65536 is 0, 46341^2 < 0";
  EXPECT_FALSE(of("Sub(%0, %1)", "u8[4]", {bounded(1, 2), bounded(3, 4)}).nonzero);
  EXPECT_FALSE(of("Abs(%0)", "i8[4]").nonnegative()) << "|-128| is -128";
  EXPECT_FALSE(of("Div(%0, %1)", "i32[4]").defined);
  EXPECT_TRUE(of("Div(%0, %1)", "i32[4]", {bounded(0, 100), bounded(1, 5)}).defined);
  EXPECT_TRUE(of("Div(%0, %1)", "i32[4]", {bounded(0, 100), bounded(1, 5)}).nonnegative());
  EXPECT_FALSE(of("Mod(%0, %1)", "i32[4]").defined);
  EXPECT_FALSE(of("Pow(%0, %1)", "i32[4]").defined);
}

TEST(ValueFacts, SmallFloatTypes) {
  for (const char* type : {"f16[4]", "bf16[4]"}) {
    EXPECT_TRUE(of("Add(%0, %1)", type).defined) << type;
    EXPECT_FALSE(of("Div(%0, %1)", type).defined) << type;
    EXPECT_TRUE(of("Sigmoid(%0)", type).positive()) << type;
  }
}

TEST(ValueFacts, WhereReadsBothOfItsBranches) {
  const auto where = [](const ValueFacts& a, const ValueFacts& b) {
    return facts(
               "  input %0 \"c\" : bool[4]\n  input %1 \"a\" : f32[4]\n  input %2 \"b\" : f32[4]\n"
               "  %3 = Where(%0, %1, %2)\n  output \"z\" = %3\n",
               {facts_of_input(DataType::boolean), a, b})
        .front();
  };
  EXPECT_TRUE(where(bounded(0, 1), bounded(2, 3)).defined);
  EXPECT_EQ(where(bounded(0, 1), bounded(2, 3)).upper, 3);
  EXPECT_FALSE(where(bounded(0, 1), unknown_facts(DataType::f32)).defined);
  EXPECT_FALSE(where(unknown_facts(DataType::f32), bounded(0, 1)).finite());
}

TEST(ValueFacts, ConditionsOfADefinitionRefine) {
  // Where x is not 0, the norm's quotient is there; the two are operators of their own here.
  EXPECT_TRUE(of("LeakyRelu{alpha=0.5}(%0)").defined);
  EXPECT_TRUE(of("Elu{alpha=1.0}(%0)").defined);
  EXPECT_TRUE(of("Softsign(%0)").defined);
  EXPECT_TRUE(of("HardSigmoid{alpha=0.2, beta=0.5}(%0)").upper <= 1);
  EXPECT_FALSE(of("Celu{alpha=0.0}(%0)").defined) << "x / alpha";
  EXPECT_TRUE(of("Celu{alpha=1.0}(%0)").defined);
}

TEST(ValueFacts, ReadsAtComputedIndices) {
  const auto gather = [](const ValueFacts& index, Reads reads) {
    return facts(
               "  input %0 \"x\" : f32[10, 4]\n  input %1 \"i\" : i64[3]\n"
               "  %2 = Gather{axis=0}(%0, %1)\n  output \"z\" = %2\n",
               {facts_of_input(DataType::f32), index}, reads)
        .front();
  };
  const ValueFacts any = facts_of_input(DataType::i64);
  ValueFacts good = any, beyond = any, negative = any;
  good.lower = 0, good.upper = 9;
  beyond.lower = 0, beyond.upper = 10;
  negative.lower = -10, negative.upper = 9;
  EXPECT_FALSE(gather(any, Reads::must_be_shown).defined);
  EXPECT_TRUE(gather(any, Reads::succeed).defined);
  EXPECT_TRUE(gather(good, Reads::must_be_shown).defined);
  EXPECT_FALSE(gather(beyond, Reads::must_be_shown).defined);
  EXPECT_TRUE(gather(negative, Reads::must_be_shown).defined);
  negative.lower = -11;
  EXPECT_FALSE(gather(negative, Reads::must_be_shown).defined);
}

TEST(ValueFacts, Windows) {
  const auto pool = [](const std::string& size, const std::string& attributes) {
    return facts("  input %0 \"x\" : f32[1, 2, " + size + "]\n  %1 = MaxPool{" + attributes +
                 "}(%0)\n  output \"z\" = %1\n")
        .front();
  };
  const std::string usual =
      "ceil_mode=0, dilations=[1], kernel_shape=[3], pads=[1, 1], storage_order=0, strides=[2]";
  EXPECT_TRUE(pool("8", usual).defined);
  EXPECT_TRUE(pool("8", usual).finite()) << "the padding is neutral";
  EXPECT_TRUE(pool("\"h\"", usual).defined);
  const std::string wide =
      "ceil_mode=0, dilations=[1], kernel_shape=[2], pads=[2, 2], storage_order=0, strides=[1]";
  EXPECT_FALSE(pool("8", wide).defined) << "a window of padding only";
  const std::string over =
      "ceil_mode=0, dilations=[5], kernel_shape=[2], pads=[3, 3], storage_order=0, strides=[1]";
  EXPECT_FALSE(pool("2", over).defined) << "the dilation leads over the whole input";
  const std::string mean =
      "  input %0 \"x\" : f32[1, 2, \"h\"]\n  %1 = AveragePool{ceil_mode=0, count_include_pad=0, "
      "dilations=[1], kernel_shape=[3], pads=[1, 1], strides=[1]}(%0)\n  output \"z\" = %1\n";
  EXPECT_TRUE(facts(mean).front().defined);
  EXPECT_TRUE(of("GlobalAveragePool(%0)", "f32[1, 2, 4, 4]").defined);
  EXPECT_FALSE(of("GlobalAveragePool(%0)", "f32[1, 2, \"h\", 4]").defined);
}

TEST(ValueFacts, Movement) {
  for (const char* term :
       {"Transpose{perm=[1, 0]}(%0)", "Reshape{shape=[2, 6]}(%0)", "Concat{axis=0}(%0, %1)",
        "Pad{mode=\"constant\", pads=[1, 0, 0, 2], value=0.0}(%0)", "Unsqueeze{axes=[0]}(%0)",
        "Slice{axes=[0], ends=[2], starts=[1], steps=[1]}(%0)", "Expand{shape=[5, 3, 4]}(%0)"})
    EXPECT_TRUE(of(term, "f32[3, 4]").defined) << term;
}

TEST(ValueFacts, Totality) {
  const std::vector<TensorType> two = {{DataType::f32, Shape{2, 3}}, {DataType::f32, Shape{2, 3}}};
  const auto total = [&](const char* op, std::size_t inputs, Attributes attributes = {}) {
    const OperatorRecord& one = record(operator_named(op));
    const std::span types = std::span(two).first(inputs);
    const auto complete = complete_attributes(one, types, std::move(attributes), 1);
    return is_total(one, {types, *complete});
  };
  EXPECT_TRUE(total("Add", 2));
  EXPECT_TRUE(total("Sub", 2));
  EXPECT_TRUE(total("Softmax", 1));
  EXPECT_TRUE(total("ReduceMax", 1));
  EXPECT_TRUE(total("ReduceMean", 1));
  EXPECT_FALSE(total("Div", 2));
  EXPECT_FALSE(total("Sqrt", 1));
  EXPECT_FALSE(total("Log", 1));
  EXPECT_FALSE(total("Reciprocal", 1));
  const std::vector<TensorType> empty = {{DataType::f32, Shape{2, Dimension::symbol("n")}}};
  const OperatorRecord& maximum = record(operator_named("ReduceMax"));
  EXPECT_FALSE(is_total(maximum, {empty, *complete_attributes(maximum, empty, {}, 1)}));
}

TEST(ValueFacts, BothAndEither) {
  const ValueFacts a = bounded(-1, 4), b = bounded(0, 9);
  EXPECT_EQ(both(a, b).lower, 0);
  EXPECT_EQ(both(a, b).upper, 4);
  EXPECT_EQ(either(a, b).lower, -1);
  EXPECT_EQ(either(a, b).upper, 9);
  EXPECT_TRUE(both(a, unknown_facts(DataType::f32)).defined);
  EXPECT_FALSE(either(a, unknown_facts(DataType::f32)).defined);
  EXPECT_TRUE(implies(both(a, b), a));
  EXPECT_FALSE(implies(a, both(a, b)));
}

}  // namespace
}  // namespace lemma
