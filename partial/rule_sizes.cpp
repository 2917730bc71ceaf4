#include "partial/rule_sizes.h"

#include <algorithm>

#include "rule_language/substitution_use.h"

namespace lemma::partial {

RuleBindings symbols_of(const Substitution& rule) {
  RuleBindings result;
  for (const std::string& name : variable_names(rule)) {
    const bool is_parameter =
        std::any_of(rule.parameters.begin(), rule.parameters.end(),
                    [&name](const RuleParameter& parameter) { return parameter.name == name; });
    if (is_parameter)
      result.parameters[name] = Dimension::symbol(name);
    else
      result.dimensions[name] = Dimension::symbol(name);
  }
  return result;
}

std::optional<Shape> shape_of(const Substitution& rule, TermId term) {
  const RuleBindings bindings = symbols_of(rule);
  Graph graph;
  const auto inputs = add_rule_inputs(rule, bindings, graph);
  if (!inputs) return std::nullopt;
  const auto values = instantiate(rule, std::vector<TermId>{term}, *inputs, bindings, graph);
  if (!values) return std::nullopt;
  return *graph.type(values->front()).shape;
}

std::optional<Shape> sizes_of_attribute(const Substitution& rule, const RuleTerm& term,
                                        std::string_view name) {
  for (const auto& [attribute, value] : term.attributes) {
    if (attribute != name) continue;
    const auto sizes = evaluate_attribute(value, AttributeKind::dimensions, symbols_of(rule));
    if (!sizes) return std::nullopt;
    if (const auto* shape = std::get_if<Shape>(&*sizes)) return *shape;
  }
  return std::nullopt;
}

namespace {

/// A variable that makes the size at least 0 when something is added to it, and that: what the size subtracts.
std::optional<std::pair<std::string, Dimension>> shift_for(const Dimension& size) {
  Dimension subtracted = size.offset() < 0 ? -size.offset() : 0;
  bool only_numbers = true;
  for (const Dimension::Term& term : size.terms()) {
    if (term.coefficient >= 0) continue;
    only_numbers = false;
    Dimension part(-term.coefficient);
    for (const Dimension::AtomPointer& atom : term.atoms) {
      if (atom->kind != AtomKind::symbol) return std::nullopt;
      part = part * Dimension::symbol(atom->symbol);
    }
    subtracted = subtracted + part;
  }
  std::map<std::string, int> used;
  collect_symbols(subtracted, used);
  for (const Dimension::Term& term : size.terms()) {
    if (term.coefficient <= 0 || term.atoms.size() != 1 ||
        term.atoms[0]->kind != AtomKind::symbol || used.contains(term.atoms[0]->symbol))
      continue;
    if (term.coefficient == 1) return std::pair(term.atoms[0]->symbol, subtracted);
    if (only_numbers)
      return std::pair(term.atoms[0]->symbol,
                       Dimension((-size.offset() + term.coefficient - 1) / term.coefficient));
  }
  return std::nullopt;
}

}  // namespace

Dimension shifted(const Dimension& size, const Shifts& shifts) {
  DimensionBindings bindings;
  for (const auto& [name, amount] : shifts) bindings[name] = Dimension::symbol(name) + amount;
  return substitute(size, bindings);
}

std::optional<Shifts> shifts_for(const std::vector<Dimension>& sizes) {
  Shifts shifts;
  for (const Dimension& given : sizes) {
    const Dimension size = shifted(given, shifts);
    const auto least = lower_bound(size);
    if (least && *least >= 0) continue;
    const auto more = shift_for(size);
    if (!more) return std::nullopt;
    // A variable that is added somewhere stays as it is.
    for (const auto& [name, amount] : shifts) {
      std::map<std::string, int> used;
      collect_symbols(amount, used);
      if (used.contains(more->first)) return std::nullopt;
    }
    shifts[more->first] = shifts[more->first] + more->second;
  }
  return shifts;
}

}  // namespace lemma::partial
