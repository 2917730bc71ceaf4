// Which operators may be undefined, and which applications never are.

#include "facts/partial.h"

#include <set>

#include <gtest/gtest.h>

#include "facts/operator_example.h"
#include "rule_language/rule_database.h"

namespace lemma {
namespace {

TEST(Partial, OperatorsThatDivideByElementsOrHaveNoValueSomewhere) {
  for (const char* name : {"Div", "Mod", "Reciprocal", "Sqrt", "Log", "Pow", "Tan", "Asin", "Acos",
                           "Atanh", "BatchNormalization", "LayerNormalization", "ReduceL2"}) {
    EXPECT_TRUE(may_be_undefined(operator_named(name))) << name;
    EXPECT_TRUE(may_be_undefined_by_elements(operator_named(name))) << name;
  }
  for (const char* name : {"Add", "Mul", "Relu", "Exp", "Sigmoid", "Tanh", "Gelu", "Softplus",
                           "Mean", "MatMul", "Conv", "Transpose", "Split"}) {
    EXPECT_FALSE(may_be_undefined(operator_named(name))) << name;
    EXPECT_FALSE(may_be_undefined_by_elements(operator_named(name))) << name;
  }
}

TEST(Partial, OperatorsThatAreUndefinedForSizesOfZero) {
  for (const char* name :
       {"ReduceMean", "ReduceMax", "ReduceMin", "AveragePool", "ArgMax", "ArgMin", "MaxPool"}) {
    EXPECT_TRUE(may_be_undefined(operator_named(name))) << name;
    EXPECT_FALSE(may_be_undefined_by_elements(operator_named(name))) << name;
  }
}

/// The list in docs/certificates.md, which the second checker goes by.
std::set<std::string> listed_as_total() {
  std::set<std::string> result;
  const auto page = read_text_file("docs/certificates.md");
  EXPECT_TRUE(page);
  const std::size_t start = page->find("and it is one of:\n");
  const std::size_t end = page->find("- Pad with the mode", start);
  EXPECT_NE(end, std::string::npos);
  std::string word;
  for (const char c : page->substr(start, end - start)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
      continue;
    }
    if (!word.empty() && std::isupper(static_cast<unsigned char>(word[0])) != 0)
      result.insert(word);
    word.clear();
  }
  return result;
}

bool example_is_total(OperatorId op) {
  const auto example = example_application(op);
  if (!example) return false;
  const Node& node = example->node(example->producer(example->outputs().front().value));
  return is_total(*example, node);
}

TEST(Total, OperatorsAreThoseThatThePageLists) {
  const std::set<std::string> listed = listed_as_total();
  EXPECT_GE(listed.size(), 70U);
  const std::set<std::string> depend_on_types = {
      "Cast", "CastLike",  "Celu",       "GlobalAveragePool", "GlobalMaxPool",
      "Pad",  "ReduceMax", "ReduceMean", "ReduceMin"};
  for (std::uint16_t i = 0; i < all_operators().size(); ++i) {
    const std::string name(record({i}).name);
    if (depend_on_types.contains(name)) continue;
    EXPECT_EQ(example_is_total({i}), listed.contains(name)) << name;
  }
}

/// A value over two inputs, of which x has no undefined element.
bool always_defined(const std::string& term, const std::string& x_shape = "n, m") {
  const auto rules =
      parse_substitutions("rule r\n  x : [" + x_shape + "]\n  y : [n, m]\n  Identity(" + term +
                              ") & x & y => Identity(" + term + ") & x & y\n",
                          "test");
  EXPECT_TRUE(rules) << rules.error().message;
  if (!rules) return false;
  RuleBindings bindings;
  for (const char* name : {"n", "m"}) bindings.dimensions.emplace(name, Dimension::symbol(name));
  Graph graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < 2; ++i) {
    Shape shape;
    for (const RuleExpression& size : rules->front().inputs[i].shape)
      shape.push_back(*evaluate_dimension(size, bindings));
    inputs.push_back(
        *graph.add_input(rules->front().inputs[i].name, {DataType::f32, std::move(shape)}));
  }
  const auto values = instantiate(rules->front(), rules->front().left, inputs, bindings, graph);
  EXPECT_TRUE(values) << values.error().message;
  AlwaysDefined known(graph);
  known.declare(inputs[0]);
  return values && known.holds(values->front());
}

TEST(AlwaysDefined, AreTotalOperatorsOfWhatIs) {
  for (const char* term :
       {"x",
        "Add(x, x)",
        "Exp(Neg(x))",
        "Sigmoid(MatMul(x, Transpose{perm=[1, 0]}(x)))",
        "Softplus(Tanh(x))",
        "ReduceSum{axes=[1], keepdims=0}(x)",
        "Where(Less(x, x), x, x)",
        "ConstantOfShape{shape=[n], value=2.0}()",
        "Reshape{shape=[m, n]}(x)",
        "Unsqueeze{axes=[0]}(x)",
        "Expand{shape=[3, n, m]}(x)",
        "Clip{min=0.0}(x)",
        "Concat{axis=0}(x, Exp(x))",
        "Slice{axes=[0], starts=[0], ends=[n]}(Concat{axis=0}(x, x))",
        "Split{axis=0, split=[n, n]}(Concat{axis=0}(x, Neg(x)))#1",
        "Pad{mode=\"constant\", pads=[1, 0, 2, n]}(x)",
        "Mean(x, x)",
        "Celu{alpha=2.0}(x)",
        "Conv{dilations=[1], group=1, pads=[1, 1], strides=[2]}(Unsqueeze{axes=[0]}(x), "
        "Unsqueeze{axes=[2]}(Transpose{perm=[1, 0]}(x)))",
        "Cast{to=f32}(x)",
        "Einsum{equation=\"ij,ij->i\"}(x, x)",
        "Mul(x, ConstantOfShape{shape=[], value=0.0}())"})
    EXPECT_TRUE(always_defined(term)) << term;
  EXPECT_TRUE(always_defined("ReduceMax{axes=[0], keepdims=0}(x)", "n + 1, m"));
  EXPECT_TRUE(always_defined("ReduceMean{axes=[0], keepdims=0}(x)", "n + 1, m"));
  EXPECT_TRUE(always_defined("ReduceMin{axes=[0, 1], keepdims=0}(x)", "n + 1, m + 2"));
}

TEST(AlwaysDefined, AreNoOthers) {
  for (const char* term : {"y",
                           "Add(x, y)",
                           "Exp(Neg(y))",
                           "Div(x, x)",
                           "Reciprocal(x)",
                           "Sqrt(x)",
                           "Log(x)",
                           "Sqrt(Exp(x))",
                           "Pow(x, x)",
                           "Tan(x)",
                           "Asin(x)",
                           "Sub(Div(x, x), Div(x, x))",
                           "ReduceMean{axes=[0], keepdims=0}(x)",
                           "ReduceMax{axes=[0], keepdims=0}(x)",
                           "ReduceMin{axes=[1], keepdims=0}(x)",
                           "Pad{mode=\"reflect\", pads=[0, 9, 0, 0]}(x)",
                           "Gather{axis=0}(x, Cast{to=i64}(x))",
                           "IsNaN(Div(x, x))",
                           "Where(Less(x, x), x, Div(x, x))",
                           "Mul(Reciprocal(x), x)",
                           "ReduceLogSumExp{axes=[0], keepdims=0}(x)",
                           "Cast{to=i32}(x)",
                           "GlobalMaxPool(Unsqueeze{axes=[0]}(x))"})
    EXPECT_FALSE(always_defined(term)) << term;
  EXPECT_FALSE(always_defined("ReduceMax{axes=[0, 1], keepdims=0}(x)", "n + 1, m"));
  EXPECT_FALSE(always_defined("Reshape{shape=[7]}(x)"));
}

}  // namespace
}  // namespace lemma
