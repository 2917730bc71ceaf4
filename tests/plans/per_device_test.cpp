#include "made_operators/per_device.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "facts/operator_instances.h"
#include "interpreter/random.h"
#include "interpreter/run.h"
#include "rule_language/operator_meaning.h"

namespace lemma {
namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

constexpr std::int64_t device_count = 3;

/// An application of an operator on one device, and its copies on several.
struct Example {
  Graph local, distributed;
};

bool has_small_sizes(const OperatorInstance& instance) {
  if (instance.inputs.empty()) return false;  // on no devices
  return std::all_of(instance.inputs.begin(), instance.inputs.end(), [](const TensorType& type) {
    if (type.data_type == DataType::undefined) return true;
    const auto sizes = constant_sizes(*type.shape);
    return sizes && std::all_of(sizes->begin(), sizes->end(),
                                [](std::int64_t size) { return size >= 1 && size <= 8; });
  });
}

std::optional<Example> example_of(OperatorId op, const OperatorInstance& instance) {
  Example example;
  std::vector<ValueId> operands, placed;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    TensorType type = instance.inputs[i];
    if (type.data_type == DataType::undefined) {
      operands.push_back(ValueId::none());
      placed.push_back(ValueId::none());
      continue;
    }
    const std::string name = "x" + std::to_string(i);
    operands.push_back(*example.local.add_input(name, type));
    type.shape->insert(type.shape->begin(), Dimension(device_count));
    placed.push_back(*example.distributed.add_input(name, type));
  }
  const auto local =
      example.local.add_operation(op, operands, instance.attributes, instance.output_count);
  if (!local) return std::nullopt;
  const Attributes& attributes = example.local.node(*local).attributes;
  const auto copies = example.distributed.add_operation(
      operator_named(made_operators::per_device_name(record(op).name)), placed,
      made_operators::per_device_attributes(attributes, 1), instance.output_count);
  EXPECT_TRUE(copies) << record(op).name << ": " << copies.error().message;
  if (!copies) return std::nullopt;
  for (std::uint32_t i = 0; i < example.local.node(*local).output_count; ++i) {
    const std::string name = "y" + std::to_string(i);
    EXPECT_TRUE(example.local.add_output(name, example.local.node(*local).output(i)));
    EXPECT_TRUE(example.distributed.add_output(name, example.distributed.node(*copies).output(i)));
  }
  return example;
}

/// Ends the visit of instances, of which there are very many.
struct EnoughSeen {};

std::optional<Example> example_of(OperatorId op) {
  std::optional<Example> result;
  try {
    visit_instances(record(op), [&](const OperatorInstance& instance) {
      const auto attributes = complete_attributes(record(op), instance.inputs, instance.attributes,
                                                  instance.output_count);
      const bool is_accepted = attributes && infer_types(record(op), {instance.inputs, *attributes,
                                                                      instance.output_count});
      if (is_accepted && has_small_sizes(instance)) result = example_of(op, instance);
      if (result) throw EnoughSeen{};
      return is_accepted;
    });
  } catch (const EnoughSeen&) {
  }
  return result;
}

/// The part of a tensor that device `device` has.
Tensor part_of(const Tensor& tensor, std::int64_t device) {
  interpreter::Sizes sizes(tensor.sizes().begin() + 1, tensor.sizes().end());
  const std::size_t size = tensor.bytes().size() / device_count;
  return Tensor::over(tensor.data_type(), sizes, std::make_shared<Tensor>(tensor),
                      tensor.bytes().subspan(static_cast<std::size_t>(device) * size, size));
}

TEST(PerDevice, ComputesOnEachDeviceWhatTheOperatorComputes) {
  std::size_t compared = 0;
  for (std::uint16_t i = 0; i < all_operators().size(); ++i) {
    const std::string name(record({i}).name);
    const auto example = example_of({i});
    if (!example || example->distributed.inputs().empty()) continue;
    std::vector<NamedTensor> inputs;
    for (const NodeId id : example->distributed.inputs()) {
      const Node& node = example->distributed.node(id);
      const TensorType& type = example->distributed.type(node.output());
      const std::string& input = example->distributed.input_name(node);
      interpreter::RandomRange range;
      range.low = 0.25;
      inputs.push_back(
          {input, interpreter::random_tensor(type.data_type, *constant_sizes(*type.shape), 1,
                                             interpreter::stream_of(input), range)});
    }
    const auto all = interpreter::run(example->distributed, inputs);
    bool is_computed_everywhere = true;
    for (std::int64_t device = 0; device < device_count; ++device) {
      std::vector<NamedTensor> local;
      for (const NamedTensor& input : inputs)
        local.push_back({input.name, part_of(input.value, device)});
      const auto alone = interpreter::run(example->local, local);
      is_computed_everywhere = is_computed_everywhere && alone;
      if (!alone || !all) continue;
      for (std::size_t output = 0; output < alone->size(); ++output) {
        const Tensor part = part_of((*all)[output], device);
        EXPECT_EQ(part.sizes(), (*alone)[output].sizes()) << name;
        const std::vector<double> expected = (*alone)[output].reals(), actual = part.reals();
        ASSERT_EQ(expected.size(), actual.size()) << name;
        for (std::size_t k = 0; k < expected.size(); ++k) {
          if (!std::isnan(expected[k]) || !std::isnan(actual[k])) {
            EXPECT_NEAR(expected[k], actual[k], 1e-5 * (1 + std::abs(expected[k]))) << name;
          }
        }
      }
      ++compared;
    }
    EXPECT_EQ(all.has_value(), is_computed_everywhere) << name;
  }
  EXPECT_GE(compared, 3U * 150U);
}

TEST(PerDevice, NamesMeanAnOperatorOnce) {
  EXPECT_TRUE(find_operator("ConvPerDevice"));
  EXPECT_TRUE(find_operator("ConvGradient1PerDevice"));
  EXPECT_FALSE(find_operator("PerDevice"));
  EXPECT_FALSE(find_operator("NothingPerDevice"));
  EXPECT_FALSE(find_operator("ConvPerDevicePerDevice"));
}

TEST(PerDevice, HasADigestOfItsOwn) {
  const OperatorId conv = operator_named("ConvPerDevice"), relu = operator_named("ReluPerDevice");
  EXPECT_EQ(made_operators::local_operator(record(conv)), operator_named("Conv"));
  EXPECT_NE(conv, relu);
}

TEST(PerDevice, RefusesOperandsOnDifferentDevices) {
  Graph graph;
  const auto x = graph.add_input("x", {DataType::f32, Shape{2, 4}});
  const auto y = graph.add_input("y", {DataType::f32, Shape{3, 4}});
  const auto scalar = graph.add_input("s", {DataType::f32, Shape{}});
  EXPECT_TRUE(graph.add("AddPerDevice", {*x, *x}));
  EXPECT_FALSE(graph.add("AddPerDevice", {*x, *y}));
  EXPECT_FALSE(graph.add("AddPerDevice", {*x, *scalar}));
  EXPECT_FALSE(graph.add("AddPerDevice", {*x, *x}, {{"device_axes", std::int64_t{0}}}));
  EXPECT_FALSE(graph.add("AddPerDevice", {*x, *x}, {{"device_axes", std::int64_t{3}}}));
  EXPECT_FALSE(graph.add("AddPerDevice", {*x, *x}, {{"device_axes", INT64_MAX}}));
}

}  // namespace
}  // namespace lemma
