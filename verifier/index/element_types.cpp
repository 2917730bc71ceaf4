#include "verifier/index/element_types.h"

#include <bit>

#include <fmt/format.h>

#include "ir/operator.h"

namespace lemma::verifier::index {
namespace {

void append_type(std::string& text, DataType type) {
  text += ' ';
  text += is_real(type) ? "real" : name(type);
}

void append_variable(std::string& text, const Definition& definition, VariableId variable) {
  text += fmt::format(" v{}<{}", variable.v, definition.extent(variable).text());
}

void append(std::string& text, const Definition& definition) {
  for (const ExpressionNode& node : definition.nodes()) {
    text += fmt::format("\n{} {}", static_cast<int>(node.kind), static_cast<int>(node.function));
    append_type(text, node.type);
    for (const ExpressionId operand : node.operands) text += fmt::format(" {}", operand.v);
    switch (node.kind) {
      case ExpressionKind::integer_constant:
      case ExpressionKind::real_parameter: text += fmt::format(" {}", node.integer); break;
      case ExpressionKind::real_constant: text += fmt::format(" {}", node.real); break;
      case ExpressionKind::extent: text += ' ' + node.extent.text(); break;
      case ExpressionKind::index: append_variable(text, definition, node.variable); break;
      case ExpressionKind::read: text += fmt::format(" x{}", node.input); break;
      default: break;
    }
    for (const VariableId bound : node.bound) append_variable(text, definition, bound);
  }
  for (const DefinedOutput& output : definition.outputs()) {
    text += fmt::format("\n= {}", output.value.v);
    for (const VariableId axis : output.axes) append_variable(text, definition, axis);
  }
}

/// The number that it stands for, however many of its digits the type has.
void append(std::string& text, const Constant& constant) {
  const TensorType& type = constant.type();
  append_type(text, type.data_type);
  text += lemma::text(*type.shape);
  if (!is_real(type.data_type)) {
    for (const std::int64_t element : constant.integers()) text += fmt::format(" {}", element);
    return;
  }
  const Definition* exact = constant.exact();
  const bool is_expression = exact != nullptr && exact->nodes().size() > 1;
  if (is_expression || constant.is_symbolic()) return append(text, *exact);
  if (exact != nullptr) {
    text += fmt::format(" {}", exact->nodes()[0].real);
    return;
  }
  for (const double element : constant.reals()) text += fmt::format(" {}", element);
}

/// Types among the attributes say what elements are stored as.
void append(std::string& text, const Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    text += fmt::format(" {}=", name);
    if (const auto* type = std::get_if<DataType>(&value))
      append_type(text, *type);
    else
      text += lemma::text(value);
  }
}

}  // namespace

std::string form_for_all_types(const Graph& graph) {
  std::string result;
  for (const Node& node : graph.nodes()) {
    result += fmt::format("\n{}", static_cast<int>(node.kind));
    for (const ValueId input : node.inputs)
      result += input.is_none() ? std::string(" -") : fmt::format(" {}", input.v);
    if (node.kind == NodeKind::constant) append(result, graph.constant(node));
    if (node.kind != NodeKind::operation) continue;
    const OperatorRecord& op = graph.op(node);
    result += ' ';
    result += op.name;
    append(result, node.attributes);
    if (op.define == nullptr) continue;
    const std::vector<TensorType> types = graph.input_types(node);
    append(result, op.define({types, node.attributes, node.output_count}));
  }
  for (const GraphOutput& output : graph.outputs())
    result += fmt::format("\n-> {}", output.value.v);
  return result;
}

}  // namespace lemma::verifier::index
