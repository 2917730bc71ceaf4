#include "engine/pattern.h"

#include <algorithm>

namespace lemma::engine {

namespace {

/// The next step of a plan: a node that shares a class with those that are there. Looking down comes
/// first, because a class has fewer nodes than parents.
std::optional<MatchStep> next_step(const Pattern& pattern, const std::vector<bool>& found,
                                   const std::vector<bool>& known) {
  for (std::uint32_t i = 0; i < pattern.nodes.size(); ++i)
    if (!found[i] && known[pattern.nodes[i].result])
      return MatchStep{i, MatchStep::Source::nodes, pattern.nodes[i].result};
  for (std::uint32_t i = 0; i < pattern.nodes.size(); ++i) {
    if (found[i]) continue;
    for (const std::uint32_t operand : pattern.nodes[i].operands)
      if (known[operand]) return MatchStep{i, MatchStep::Source::parents, operand};
  }
  return std::nullopt;
}

std::vector<MatchStep> plan_from(const Pattern& pattern, std::uint32_t start) {
  std::vector<bool> found(pattern.nodes.size()), known(pattern.variable_count);
  std::vector<MatchStep> plan;
  std::optional<MatchStep> step = MatchStep{start, MatchStep::Source::all, 0};
  for (; step; step = next_step(pattern, found, known)) {
    const PatternNode& node = pattern.nodes[step->node];
    found[step->node] = true;
    known[node.result] = true;
    for (const std::uint32_t operand : node.operands) known[operand] = true;
    plan.push_back(*step);
  }
  return plan;  // of all nodes: a term is connected
}

}  // namespace

std::optional<std::uint32_t> Pattern::variable(std::string_view name) const {
  const auto where = std::find(names.begin(), names.end(), name);
  if (where == names.end()) return std::nullopt;
  return static_cast<std::uint32_t>(where - names.begin());
}

Result<Pattern> compile_pattern(const Term& term, const TermForms& forms) {
  if (term.nodes.back().is_variable())
    return bad_input("the left side " + term.nodes.back().word + " would match everything");
  Pattern pattern;
  for (const Term::Node& node : term.nodes)
    if (node.is_variable() && !pattern.variable(node.word)) pattern.names.push_back(node.word);
  pattern.variable_count = static_cast<std::uint32_t>(pattern.names.size());
  std::vector<std::uint32_t> variable_of;  // by node of the term
  for (std::size_t i = 0; i < term.nodes.size(); ++i) {
    const Term::Node& node = term.nodes[i];
    if (node.is_variable()) {
      variable_of.push_back(*pattern.variable(node.word));
      continue;
    }
    PatternNode compiled{forms.forms[i], forms.symbols[i], pattern.variable_count++, {}};
    for (const std::uint32_t child : node.children) compiled.operands.push_back(variable_of[child]);
    variable_of.push_back(compiled.result);
    pattern.nodes.push_back(std::move(compiled));
  }
  for (std::uint32_t start = 0; start < pattern.nodes.size(); ++start)
    pattern.plans.push_back(plan_from(pattern, start));
  return pattern;
}

Result<Template> compile_template(const Term& term, const TermForms& forms,
                                  const Pattern& pattern) {
  Template result;
  std::vector<std::uint32_t> slot_of;  // by node of the term
  for (std::size_t i = 0; i < term.nodes.size(); ++i) {
    const Term::Node& node = term.nodes[i];
    if (node.is_variable()) {
      const auto variable = pattern.variable(node.word);
      if (!variable) return bad_input("the left side has no " + node.word);
      slot_of.push_back(*variable);
      continue;
    }
    Template::Node built{forms.forms[i], {}};
    for (const std::uint32_t child : node.children) built.operands.push_back(slot_of[child]);
    slot_of.push_back(pattern.variable_count + static_cast<std::uint32_t>(result.nodes.size()));
    result.nodes.push_back(std::move(built));
  }
  result.root = slot_of.back();
  return result;
}

}  // namespace lemma::engine
