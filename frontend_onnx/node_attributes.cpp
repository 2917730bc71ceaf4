#include "frontend_onnx/node_attributes.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

namespace lemma::frontend {

namespace {

using Attribute = ::onnx::AttributeProto;

/// Files of the first IR version do not state the kind.
Attribute::AttributeType kind_of(const Attribute& attribute) {
  if (attribute.type() != Attribute::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return Attribute::FLOAT;
  if (attribute.has_i()) return Attribute::INT;
  if (attribute.has_s()) return Attribute::STRING;
  if (attribute.has_t()) return Attribute::TENSOR;
  if (attribute.has_g()) return Attribute::GRAPH;
  if (attribute.floats_size() != 0) return Attribute::FLOATS;
  if (attribute.strings_size() != 0) return Attribute::STRINGS;
  return attribute.ints_size() != 0 ? Attribute::INTS : Attribute::UNDEFINED;
}

/// Some writers leave out a value that is 0; a value of another kind is a contradiction.
bool contradicts_type(const Attribute& attribute) {
  const std::pair<Attribute::AttributeType, bool> values[] = {
      {Attribute::FLOAT, attribute.has_f()},
      {Attribute::INT, attribute.has_i()},
      {Attribute::STRING, attribute.has_s()},
      {Attribute::TENSOR, attribute.has_t()},
      {Attribute::GRAPH, attribute.has_g()},
      {Attribute::FLOATS, attribute.floats_size() != 0},
      {Attribute::INTS, attribute.ints_size() != 0},
      {Attribute::STRINGS, attribute.strings_size() != 0}};
  if (!attribute.has_type() || attribute.type() == Attribute::UNDEFINED) return false;
  return std::any_of(
             std::begin(values), std::end(values),
             [&](const auto& value) { return value.second && value.first != attribute.type(); }) &&
         std::none_of(std::begin(values), std::end(values), [&](const auto& value) {
           return value.second && value.first == attribute.type();
         });
}

}  // namespace

Result<void> read_attributes(const ::onnx::NodeProto& node, const TensorSource& source,
                             OnnxCall& call) {
  for (const Attribute& attribute : node.attribute()) {
    const std::string& name = attribute.name();
    if (!attribute.ref_attr_name().empty())
      return bad_input(
          fmt::format("attribute '{}' refers to attribute '{}' of a function, but is "
                      "not in one",
                      name, attribute.ref_attr_name()));
    if (contradicts_type(attribute))
      return bad_input(fmt::format("attribute '{}' has a value that is not of its type, {}", name,
                                   Attribute::AttributeType_Name(attribute.type())));
    if (call.attributes.has(name))
      return bad_input(fmt::format("attribute '{}' is given twice", name));
    switch (kind_of(attribute)) {
      case Attribute::FLOAT: call.attributes.set(name, static_cast<double>(attribute.f())); break;
      case Attribute::INT: call.attributes.set(name, attribute.i()); break;
      case Attribute::STRING: call.attributes.set(name, attribute.s()); break;
      case Attribute::FLOATS:
        call.attributes.set(name, Reals(attribute.floats().begin(), attribute.floats().end()));
        break;
      case Attribute::INTS:
        call.attributes.set(name, Integers(attribute.ints().begin(), attribute.ints().end()));
        break;
      case Attribute::TENSOR: {
        auto constant = constant_from(attribute.t(), source);
        if (!constant)
          return with_context(fmt::format("attribute '{}'", name), std::move(constant.error()));
        call.tensors.emplace_back(name, std::move(*constant));
        break;
      }
      case Attribute::GRAPH: call.others.emplace_back(name, "a graph"); break;
      case Attribute::GRAPHS: call.others.emplace_back(name, "graphs"); break;
      case Attribute::STRINGS:
        call.strings.emplace_back(
            name, std::vector<std::string>(attribute.strings().begin(), attribute.strings().end()));
        break;
      default: call.others.emplace_back(name, "a value of an unusual kind"); break;
    }
  }
  return {};
}

Result<void> write_attribute(const std::string& name, const AttributeValue& value,
                             ::onnx::NodeProto& node) {
  Attribute& out = *node.add_attribute();
  out.set_name(name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    out.set_type(Attribute::INT);
    out.set_i(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    out.set_type(Attribute::FLOAT);
    out.set_f(static_cast<float>(*real));
  } else if (const auto* string = std::get_if<std::string>(&value)) {
    out.set_type(Attribute::STRING);
    out.set_s(*string);
  } else if (const auto* integers = std::get_if<Integers>(&value)) {
    out.set_type(Attribute::INTS);
    for (const std::int64_t element : *integers) out.add_ints(element);
  } else if (const auto* reals = std::get_if<Reals>(&value)) {
    out.set_type(Attribute::FLOATS);
    for (const double element : *reals) out.add_floats(static_cast<float>(element));
  } else if (const auto* type = std::get_if<DataType>(&value)) {
    out.set_type(Attribute::INT);
    out.set_i(static_cast<std::int64_t>(*type));
  } else {
    // A size or a list of sizes: an ONNX attribute cannot be symbolic.
    const auto* single_size = std::get_if<Dimension>(&value);
    const auto sizes =
        constant_sizes(single_size != nullptr ? Shape{*single_size} : std::get<Shape>(value));
    if (!sizes) return unsupported(fmt::format("attribute '{}' would be symbolic", name));
    if (single_size != nullptr) {
      out.set_type(Attribute::INT);
      out.set_i(sizes->front());
    } else {
      out.set_type(Attribute::INTS);
      for (const std::int64_t size : *sizes) out.add_ints(size);
    }
  }
  return {};
}

void write_strings(const std::string& name, const std::vector<std::string>& values,
                   ::onnx::NodeProto& node) {
  Attribute& out = *node.add_attribute();
  out.set_name(name);
  out.set_type(Attribute::STRINGS);
  for (const std::string& value : values) out.add_strings(value);
}

}  // namespace lemma::frontend
