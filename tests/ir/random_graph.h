#pragma once
// Random well-formed graphs for property tests: inputs with symbolic sizes, constants of every type,
// opaque nodes, and whatever applications of all operators shape inference accepts.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace lemma::testing {

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {}

  Graph make(std::size_t attempts) {
    graph_ = Graph();
    graph_.set_name(string());
    values_.clear();
    for (int i = 0; i < 4; ++i) add_input("x" + std::to_string(i) + string());
    for (std::size_t i = 0; i < attempts; ++i) {
      const std::int64_t choice = integer(0, 19);
      if (choice == 0) values_.push_back(graph_.add_constant(constant()));
      if (choice == 1) add_opaque();
      if (choice > 1) add_operation();
    }
    const std::int64_t outputs = integer(0, 4);
    for (std::int64_t i = 0; i < outputs; ++i)
      (void)graph_.add_output("y" + std::to_string(i), any_value());
    return std::move(graph_);
  }

  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  std::string string() {
    std::string result(static_cast<std::size_t>(integer(0, 4)), ' ');
    for (char& c : result) c = static_cast<char>(integer(-128, 127));
    return result;
  }

  Dimension size() {
    switch (integer(0, 7)) {
      case 0: return Dimension::symbol("N");
      case 1: return Dimension::symbol("batch size");
      case 2: return floor_div(Dimension::symbol("N") + integer(0, 3), 2);
      case 3: return maximum(Dimension::symbol("M"), 2) * integer(1, 3);
      default: return integer(0, 4);
    }
  }

  Shape shape() {
    Shape result(static_cast<std::size_t>(integer(0, 4)));
    for (Dimension& dimension : result) dimension = size();
    return result;
  }

  DataType data_type() {
    if (integer(0, 2) != 0) return DataType::f32;
    return static_cast<DataType>(integer(1, data_type_count - 1));
  }

  double real() {
    constexpr std::array special = {0.0, -0.0, 1.0, 0.1, -2.5, 1e300, 5e-324, 3.0e-45};
    if (integer(0, 1) == 0) return special.at(static_cast<std::size_t>(integer(0, 7)));
    return std::normal_distribution<double>()(random_);
  }

  /// A constant of any type that can be one, of any bytes.
  Constant constant() {
    while (true) {
      const DataType type = data_type();
      if (bits(type) == 0) continue;
      Shape sizes(static_cast<std::size_t>(integer(0, 3)));
      for (Dimension& dimension : sizes) dimension = integer(0, 3);
      const std::int64_t count = element_count(sizes).offset() * bits(type);
      auto bytes = std::make_shared<std::vector<std::byte>>((count + 7) / 8);
      for (std::byte& byte : *bytes) byte = static_cast<std::byte>(integer(0, 255));
      const std::span<const std::byte> view(*bytes);
      auto result = Constant::create({type, std::move(sizes)}, bytes, view);
      if (result) return *result;
    }
  }

  AttributeValue attribute(AttributeKind kind) {
    switch (kind) {
      case AttributeKind::integer: return integer(-2, 3);
      case AttributeKind::real: return real();
      case AttributeKind::string: return string();
      case AttributeKind::integers: {
        Integers values(static_cast<std::size_t>(integer(0, 4)));
        for (std::int64_t& value : values) value = integer(-2, 3);
        return values;
      }
      case AttributeKind::reals: {
        Reals values(static_cast<std::size_t>(integer(0, 4)));
        for (double& value : values) value = real();
        return values;
      }
      case AttributeKind::dimensions: {
        Shape values = shape();
        if (!values.empty() && integer(0, 1) == 0) values.front() = -1;
        return values;
      }
      case AttributeKind::data_type: return data_type();
      case AttributeKind::dimension: return integer(0, 3) == 0 ? size() : Dimension(integer(-1, 3));
    }
    return {};
  }

  ValueId any_value() {
    return values_[static_cast<std::size_t>(
        integer(0, static_cast<std::int64_t>(values_.size()) - 1))];
  }

  /// How many applications inference has accepted so far.
  std::size_t accepted() const { return accepted_; }

 private:
  void add_input(std::string name) {
    TensorType type{data_type(), shape()};
    if (integer(0, 9) == 0) type.shape.reset();
    auto value = graph_.add_input(std::move(name), std::move(type));
    if (value) values_.push_back(*value);
  }

  void add_opaque() {
    std::vector<ValueId> inputs(static_cast<std::size_t>(integer(0, 3)));
    for (ValueId& input : inputs) input = integer(0, 5) == 0 ? ValueId::none() : any_value();
    std::vector<TensorType> types(static_cast<std::size_t>(integer(1, 3)));
    for (TensorType& type : types) {
      if (integer(0, 1) == 0) type.data_type = data_type();
      if (integer(0, 1) == 0) type.shape = shape();
    }
    const NodeId node =
        graph_.add_opaque({string(), string(), string(), string()}, std::move(inputs), types);
    for (std::uint32_t k = 0; k < types.size(); ++k) values_.push_back(graph_.node(node).output(k));
  }

  void add_operation() {
    const auto table = all_operators();
    const auto last = static_cast<std::int64_t>(table.size()) - 1;
    const OperatorId op{static_cast<std::uint16_t>(integer(0, last))};
    const OperatorRecord& chosen = record(op);
    const int most =
        chosen.inputs.maximum < 0 ? std::max(4, chosen.inputs.minimum) : chosen.inputs.maximum;
    std::vector<ValueId> inputs(static_cast<std::size_t>(integer(chosen.inputs.minimum, most)));
    // Often the same value several times: then types and shapes agree.
    const ValueId common = any_value();
    for (ValueId& input : inputs) input = integer(0, 1) == 0 ? common : any_value();
    for (std::size_t i = static_cast<std::size_t>(chosen.inputs.minimum); i < inputs.size(); ++i)
      if (integer(0, 3) == 0) inputs[i] = ValueId::none();
    Attributes attributes;
    for (const AttributeSpecification& specification : chosen.attributes)
      if (specification.default_text == "required" || integer(0, 2) == 0)
        attributes.set(std::string(specification.name), attribute(specification.kind));
    const int outputs =
        chosen.outputs.maximum < 0 ? std::max(4, chosen.outputs.minimum) : chosen.outputs.maximum;
    const auto count = static_cast<std::size_t>(integer(chosen.outputs.minimum, outputs));
    auto node = graph_.add_operation(op, std::move(inputs), std::move(attributes), count);
    if (!node) return;
    ++accepted_;
    for (std::uint32_t k = 0; k < count; ++k) values_.push_back(graph_.node(*node).output(k));
  }

  std::mt19937_64 random_;
  Graph graph_;
  std::vector<ValueId> values_;
  std::size_t accepted_ = 0;
};

}  // namespace lemma::testing
