// Which applications tell NaN from numbers.

#include "facts/observation.h"

#include <cctype>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "facts/operator_instances.h"
#include "facts/value_facts.h"
#include "rule_language/rule_database.h"

namespace lemma {
namespace {

bool observes(std::string_view op, std::vector<TensorType> inputs, Attributes attributes = {},
              std::size_t output_count = 1) {
  Graph graph;
  std::vector<ValueId> values;
  for (TensorType& type : inputs)
    values.push_back(*graph.add_input("x" + std::to_string(values.size()), std::move(type)));
  const auto added =
      graph.add_operation(operator_named(op), values, std::move(attributes), output_count);
  EXPECT_TRUE(added) << op << ": " << (added ? "" : added.error().message);
  if (!added) return false;
  const Node& node = graph.node(*added);
  const std::vector<TensorType> types = graph.input_types(node);
  const Instance instance{types, node.attributes, node.output_count};
  const bool result = observes_undefined(graph.op(node), instance);
  EXPECT_EQ(OperatorFacts(graph.op(node), instance).observes(), result) << op;
  return result;
}

TensorType tensor(DataType type, std::vector<std::int64_t> sizes = {4}) {
  TensorType result{type, Shape()};
  for (const std::int64_t size : sizes) result.shape->push_back(Dimension(size));
  return result;
}

TEST(Observation, ComparisonsOfRealNumbers) {
  for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    EXPECT_TRUE(observes(op, {tensor(DataType::f32), tensor(DataType::f32)})) << op;
    EXPECT_FALSE(observes(op, {tensor(DataType::i64), tensor(DataType::i64)})) << op;
  }
}

TEST(Observation, SelectionsByComparisons) {
  for (const DataType type : {DataType::f16, DataType::f32, DataType::f64}) {
    EXPECT_TRUE(observes("ArgMax", {tensor(type)}));
    EXPECT_TRUE(observes("ArgMin", {tensor(type)}));
    EXPECT_TRUE(
        observes("TopK", {tensor(type)}, {{"k", Dimension(2)}, {"axis", std::int64_t{0}}}, 2));
    EXPECT_TRUE(observes("Hardmax", {tensor(type)}));
    EXPECT_TRUE(observes("ThresholdedRelu", {tensor(type)}));
    EXPECT_TRUE(observes("Shrink", {tensor(type)}));
  }
  EXPECT_FALSE(observes("ArgMax", {tensor(DataType::i32)}));
}

TEST(Observation, PositionsOfMaximaButNotMaxima) {
  const TensorType image = tensor(DataType::f32, {1, 1, 8});
  const Attributes window = {{"kernel_shape", Shape{Dimension(2)}}};
  EXPECT_FALSE(observes("MaxPool", {image}, window, 1));
  EXPECT_TRUE(observes("MaxPool", {image}, window, 2));
  for (const char* op : {"Max", "Min"})
    EXPECT_FALSE(observes(op, {tensor(DataType::f32), tensor(DataType::f32)})) << op;
  EXPECT_FALSE(observes("ReduceMax", {tensor(DataType::f32)}, {{"axes", Integers{0}}}));
}

TEST(Observation, ConversionsByTheTypeThatTheyGive) {
  const auto cast = [](DataType to) {
    return observes("Cast", {tensor(DataType::f32)}, {{"to", to}});
  };
  for (const DataType to : {DataType::boolean, DataType::f4e2m1, DataType::f8e4m3fn,
                            DataType::f8e4m3fnuz, DataType::f8e5m2, DataType::f8e5m2fnuz})
    EXPECT_TRUE(cast(to)) << name(to);
  for (const DataType to :
       {DataType::f16, DataType::f64, DataType::bf16, DataType::i8, DataType::i64})
    EXPECT_FALSE(cast(to)) << name(to);
}

TEST(Observation, BranchesThatKeepWhatIsCompared) {
  for (const char* op : {"LeakyRelu", "Elu", "Selu", "Celu", "Relu", "Sign", "Abs", "Round",
                         "Sigmoid", "HardSigmoid", "HardSwish", "Softmax", "Gelu", "Mish"})
    EXPECT_FALSE(observes(op, {tensor(DataType::f32)})) << op;
  EXPECT_FALSE(observes("PRelu", {tensor(DataType::f32), tensor(DataType::f32)}));
  EXPECT_FALSE(observes("Pow", {tensor(DataType::f32), tensor(DataType::f32)}));
  const TensorType condition = tensor(DataType::boolean);
  EXPECT_FALSE(observes("Where", {condition, tensor(DataType::f32), tensor(DataType::f32)}));
}

TEST(Observation, RecurrencesOverAnyNumberOfSteps) {
  for (const std::string steps : {"n", "n + 1", "3"}) {
    const auto shapes = recurrence_shapes(6, 4, *parse_dimension(steps));
    std::vector<TensorType> inputs;
    for (const Shape& shape : shapes) inputs.push_back({DataType::f32, shape});
    EXPECT_FALSE(observes("LSTM", inputs, {}, 3)) << steps;
  }
}

/// Operators of the list in docs/certificates.md, which the second checker goes by.
std::set<std::string> listed_observers() {
  const auto page = read_text_file("docs/certificates.md");
  EXPECT_TRUE(page);
  const std::size_t start = page->find("### Observers"),
                    end = page->find("The first checker", start);
  std::set<std::string> result;
  std::string word;
  for (const char c : page->substr(start, end - start)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
      continue;
    }
    for (const OperatorRecord& op : all_operators())
      if (op.name == word) result.insert(word);
    word.clear();
  }
  return result;
}

bool observes_somewhere(const OperatorRecord& op) {
  constexpr std::size_t step = 2;  // of the family every other one
  std::size_t count = 0;
  bool found = false;
  visit_instances(op, [&](const OperatorInstance& one) {
    const auto attributes = complete_attributes(op, one.inputs, one.attributes, one.output_count);
    if (!attributes) return false;
    const Instance instance{one.inputs, *attributes, one.output_count};
    if (!op.infer(instance)) return false;
    if (!found && count++ % step == 0) found = observes_undefined(op, instance);
    return true;
  });
  return found;
}

TEST(Observation, AgreesWithTheListOfTheSecondChecker) {
  const std::set<std::string> listed = listed_observers();
  EXPECT_GT(listed.size(), 15U);
  for (const OperatorRecord& op : all_operators()) {
    const std::string name(op.name);
    // The families have no narrow types to convert to.
    if (name == "QuantizeLinear" || name == "CastLike") continue;
    EXPECT_EQ(observes_somewhere(op), listed.contains(name)) << name;
  }
}

}  // namespace
}  // namespace lemma
