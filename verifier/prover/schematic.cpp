#include "verifier/prover/schematic.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/attribute_conversion.h"
#include "rule_language/substitution_analysis.h"

namespace lemma::verifier {
namespace {

/// Whether an expression with this value says more than the value itself.
bool is_telling(const AttributeValue& value) {
  if (const auto list = to_dimensions(value)) return !list->empty();
  return !std::holds_alternative<std::string>(value);
}

/// The text as the parser of expressions would print it.
std::string canonical(const std::string& written) {
  const auto expression = parse_rule_expression(written);
  return expression ? text(*expression) : written;
}

}  // namespace

Schematic::Schematic(const Substitution& rule, const RuleCase& rule_case)
    : rule_(rule), bindings_(rule_case.bindings) {
  for (const RuleParameter& parameter : rule.parameters)
    pool_.push_back({parameter.name, bindings_.parameters.at(parameter.name)});
  for (const RuleTerm& term : rule.terms)
    for (const auto& [name, expression] : term.attributes)
      detail::for_each_expression(expression, [this](const RuleExpression& e) { add_pool(e); });
  for (const RuleParameter& parameter : rule.parameters)
    if (parameter.range == RuleParameter::Range::permutation)
      if (const auto inverse = parse_rule_expression(fmt::format("inverse({})", parameter.name)))
        add_pool(*inverse);
}

void Schematic::add_pool(const RuleExpression& expression) {
  using Kind = RuleExpression::Kind;
  if (expression.kind != Kind::call && expression.kind != Kind::list) return;
  for (const AttributeKind kind :
       {AttributeKind::integer, AttributeKind::integers, AttributeKind::dimension,
        AttributeKind::dimensions, AttributeKind::real})
    if (auto value = evaluate_attribute(expression, kind, bindings_)) {
      pool_.push_back({text(expression), std::move(*value)});
      return;
    }
}

/// A symbol of the case: a variable of the rule, or an element of a group or of a list.
std::string Schematic::symbol(const std::string& name) const {
  if (bindings_.dimensions.contains(name) || bindings_.parameters.contains(name)) return name;
  const Dimension wanted = Dimension::symbol(name);
  const auto element = [&wanted](const std::string& list, const Shape& shape) -> std::string {
    const auto where = std::find(shape.begin(), shape.end(), wanted);
    if (where == shape.end()) return "";
    return fmt::format("at({}, {})", list, where - shape.begin());
  };
  for (const auto& [group, shape] : bindings_.groups)
    if (std::string expression = element(group, shape); !expression.empty()) return expression;
  for (const auto& [parameter, value] : bindings_.parameters)
    if (const auto* shape = std::get_if<Shape>(&value))
      if (std::string expression = element(parameter, *shape); !expression.empty())
        return expression;
  return name;
}

std::string Schematic::dimension(const Dimension& value) const {
  std::string result;
  for (const Dimension::Term& term : value.terms()) {
    if (!result.empty() || term.coefficient < 0) result += term.coefficient < 0 ? " - " : " + ";
    if (result == " - ") result = "0 - ";
    const std::int64_t magnitude = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    std::string product = magnitude == 1 ? "" : fmt::format("{}", magnitude);
    for (const Dimension::AtomPointer& atom : term.atoms) {
      const char* function = atom->kind == AtomKind::minimum   ? "min"
                             : atom->kind == AtomKind::maximum ? "max"
                                                               : "floordiv";
      product += product.empty() ? "" : "*";
      product +=
          atom->kind == AtomKind::symbol
              ? symbol(atom->symbol)
              : fmt::format("{}({}, {})", function, dimension(atom->left), dimension(atom->right));
    }
    result += product;
  }
  if (result.empty()) return fmt::format("{}", value.offset());
  if (value.offset() > 0) result += fmt::format(" + {}", value.offset());
  if (value.offset() < 0) result += fmt::format(" - {}", -value.offset());
  return result;
}

/// The elements with whole groups of the rule in place of their elements, the longest first.
std::string Schematic::elements(const Shape& shape) const {
  std::string result;
  for (std::size_t i = 0; i < shape.size();) {
    std::string written;
    std::size_t length = 0;
    for (const auto& [name, group] : bindings_.groups) {
      if (group.size() <= length || group.size() > shape.size() - i) continue;
      if (!std::equal(group.begin(), group.end(), shape.begin() + static_cast<std::ptrdiff_t>(i)))
        continue;
      written = name + "..";
      length = group.size();
    }
    if (length == 0) {
      written = dimension(shape[i]);
      length = 1;
    }
    result += (result.empty() ? "" : ", ") + written;
    i += length;
  }
  return canonical("[" + result + "]");
}

std::string Schematic::write_list(const std::string& name, const Shape& shape) const {
  const auto same = bindings_.groups.find(name);
  if (same != bindings_.groups.end() && same->second == shape) return fmt::format("[{}..]", name);
  for (const auto& [group, value] : bindings_.groups)
    if (!shape.empty() && value == shape) return fmt::format("[{}..]", group);
  return elements(shape);
}

std::string Schematic::write(const std::string& name, const AttributeValue& value) const {
  const auto same = bindings_.parameters.find(name);
  if (same != bindings_.parameters.end() && same_value(same->second, value)) return name;
  for (const Known& known : pool_)
    if (is_telling(value) && same_value(known.value, value)) return known.text;
  if (const auto* shape = std::get_if<Shape>(&value)) return write_list(name, *shape);
  if (const auto single = to_dimension(value)) return canonical(dimension(*single));
  return canonical(text(value));
}

/// Lists of integers element by element where no expression of the rule is equal: [len(A), 3].
std::string Schematic::write_attribute(const AttributeValue& value) const {
  const auto* list = std::get_if<Integers>(&value);
  std::string whole = write("", value);
  if (list == nullptr || whole != text(value)) return whole;
  std::string result;
  for (const std::int64_t number : *list)
    result += (result.empty() ? "" : ", ") + write("", number);
  return "[" + result + "]";
}

std::string Schematic::write_term(const Graph& graph, ValueId value) const {
  const Node& node = graph.node(graph.producer(value));
  if (node.kind == NodeKind::input) return graph.input_name(node);
  std::string attributes, operands;
  for (const auto& [name, attribute] : node.attributes) {
    const std::string written = write_attribute(attribute);
    attributes += fmt::format("{}{}={}", attributes.empty() ? "" : ", ", name, written);
  }
  for (const ValueId input : node.inputs)
    operands += (operands.empty() ? "" : ", ") +
                (input.is_none() ? std::string("_") : write_term(graph, input));
  if (!attributes.empty()) attributes = "{" + attributes + "}";
  const std::string output =
      node.output_count > 1 ? fmt::format("#{}", graph.output_index(value)) : "";
  return fmt::format("{}{}({}){}", graph.op(node).name, attributes, operands, output);
}

}  // namespace lemma::verifier
