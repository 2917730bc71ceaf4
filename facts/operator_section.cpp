#include "facts/operator_section.h"

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facts/operator_example.h"
#include "ir/graph_text.h"

namespace lemma {

namespace {

/// The text with a capital letter, where the first word is one (and not a formula).
std::string sentence(std::string_view text) {
  std::string result(text);
  auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (result.size() > 1 && lower(result[0]) && lower(result[1]))
    result[0] = static_cast<char>(result[0] - 'a' + 'A');
  return result + ".";
}

std::string_view role_text(AttributeRole role) {
  switch (role) {
    case AttributeRole::plain: return "";
    case AttributeRole::axis: return "an axis of the first input";
    case AttributeRole::axes: return "axes of the first input";
    case AttributeRole::output_axes: return "axes of the output";
    case AttributeRole::listed_axes:
    case AttributeRole::permutation:
    case AttributeRole::output_shape:
    case AttributeRole::groups:
    case AttributeRole::number: return "";
  }
  return "";
}

std::string choices_text(std::span<const std::string_view> choices) {
  std::vector<std::string> quoted;
  for (const std::string_view choice : choices) quoted.push_back(fmt::format("`\"{}\"`", choice));
  return fmt::format("one of {}", fmt::join(quoted, ", "));
}

}  // namespace

std::string table_cell(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

std::string onnx_form_text(const OnnxMapping& mapping) {
  std::string result =
      fmt::format("`{}{}{}`", mapping.domain, mapping.domain.empty() ? "" : "::", mapping.name);
  result += mapping.until < 1000
                ? fmt::format(" in operator sets {} to {}", mapping.since, mapping.until)
                : fmt::format(" from operator set {}", mapping.since);
  for (const OnnxParameter& parameter : mapping.parameters)
    result += fmt::format(", `{}` as input {}{}", parameter.attribute, parameter.input,
                          parameter.input_since > mapping.since
                              ? fmt::format(" from {}", parameter.input_since)
                              : "");
  if (mapping.import_only) result += " (read only)";
  return result;
}

namespace {

std::string attributes_text(const OperatorRecord& op) {
  if (op.attributes.empty()) return "";
  std::string result = "| Attribute | Kind | Default | |\n|---|---|---|---|\n";
  for (const AttributeSpecification& specification : op.attributes) {
    const bool special =
        specification.default_text == "required" || specification.default_text == "optional";
    result += fmt::format("| `{}` | {} | {} | {} |\n", specification.name, name(specification.kind),
                          special ? std::string(specification.default_text)
                                  : fmt::format("`{}`", table_cell(specification.default_text)),
                          specification.choices.empty() ? std::string(role_text(specification.role))
                                                        : choices_text(specification.choices));
  }
  return result + "\n";
}

std::string onnx_forms(const OperatorRecord& op) {
  std::vector<std::string> forms;
  for (const OnnxMapping& mapping : op.onnx)
    if (mapping.runtime == op.runtime) forms.push_back(onnx_form_text(mapping));
  if (!op.runtime.empty() && op.onnx.empty())
    return fmt::format("An operator of {}, in no file.\n\n", op.runtime);
  if (!op.runtime.empty())
    return fmt::format("An operator of {}, not of ONNX: {}.\n\n", op.runtime,
                       fmt::join(forms, "; "));
  if (forms.empty()) return "Not an operator of ONNX.\n\n";
  return fmt::format("ONNX: {}.\n\n", fmt::join(forms, "; "));
}

/// "Relu(a: f32[N]) : f32[N]", as in the textual form of graphs.
std::string call_text(const Graph& example, const Node& node) {
  std::vector<std::string> inputs, outputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(example_input_name(i) + ": " + text(example.type(node.inputs[i])));
  for (const TensorType& type : example.output_types(node)) outputs.push_back(text(type));
  return fmt::format("{}{}({}) : {}", example.op(node).name, text(node.attributes),
                     fmt::join(inputs, ", "), fmt::join(outputs, ", "));
}

/// The lines of the composition, without the graph's name.
std::string composition_text(const OperatorRecord& op, const Instance& instance) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    inputs.push_back(*graph.add_input(example_input_name(i), instance.inputs[i]));
  const auto outputs = op.compose(graph, instance, inputs);
  if (!outputs) return "";
  for (const ValueId output : *outputs)
    if (!graph.add_output("y" + std::to_string(graph.outputs().size()), output)) return "";
  const std::string printed = print_graph(graph);
  return printed.substr(printed.find('\n') + 1);
}

std::string meaning_text(OperatorId id) {
  const auto example = example_application(id);
  if (!example) return "";
  const Node& node = example->node(example->producer(example->outputs().front().value));
  const OperatorRecord& op = example->op(node);
  const std::vector<TensorType> types = example->input_types(node);
  const Instance instance{types, node.attributes, node.output_count};
  std::string meaning =
      op.define != nullptr ? text(op.define(instance)) : composition_text(op, instance);
  if (!meaning.empty() && meaning.back() != '\n') meaning += '\n';
  constexpr std::size_t most_read = 8000;  // characters
  if (meaning.size() > most_read)
    return fmt::format("```\n{}\n```\n\nThe formula is too long to be shown.\n\n",
                       call_text(*example, node));
  return fmt::format("```\n{}\n\n{}```\n\n", call_text(*example, node), meaning);
}

}  // namespace

std::string operator_section(OperatorId id, std::string_view meaning_digest) {
  const OperatorRecord& op = record(id);
  std::string result = fmt::format("## {}\n\n{}\n\n", op.name, sentence(op.summary)) +
                       attributes_text(op) + onnx_forms(op) + meaning_text(id) +
                       fmt::format("Digest of the meaning: `{}`\n", meaning_digest);
  while (result.ends_with("\n\n")) result.pop_back();
  return result;
}

}  // namespace lemma
