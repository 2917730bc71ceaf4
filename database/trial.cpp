#include "database/trial.h"

#include <algorithm>

#include "database/expressions.h"
#include "database/normal_form.h"
#include "facts/run_time_conditions.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution_analysis.h"
#include "rule_language/substitution_use.h"
#include "verifier/prover/sampling.h"

namespace lemma::database {
namespace {

constexpr std::size_t cases_typed = 12, instances = 10, attempts = 2500, case_limit = 4000;

/// Both sides of a case, well typed, of the same types, and the right side taking nothing for granted
/// that the left one does not.
bool case_is_typed(const Substitution& rule, const RuleCase& rule_case) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < rule_case.inputs.size(); ++i)
    inputs.push_back(*graph.add_input(rule.inputs[i].name, rule_case.inputs[i]));
  const auto left = instantiate(rule, rule.left, inputs, rule_case.bindings, graph);
  const auto right = instantiate(rule, rule.right, inputs, rule_case.bindings, graph);
  if (!left || !right || !check_same_types(graph, {*left, *right})) return false;
  const RunTimeConditions needed = conditions_below(graph, *left);
  return check_follows(conditions_below(graph, *right), needed).has_value() &&
         (!rule.bidirectional ||
          check_follows(needed, conditions_below(graph, *right)).has_value());
}

bool is_typed(const Substitution& rule) {
  const auto cases = required_cases(rule);
  if (!cases || cases->empty() || cases->size() > case_limit) return false;
  const std::size_t count = std::min(cases->size(), cases_typed);
  for (std::size_t i = 0; i < count; ++i)
    if (!case_is_typed(rule, (*cases)[i * cases->size() / count])) return false;
  return true;
}

bool is_not_refuted(const Substitution& rule) {
  const auto sampling = verifier::sample(rule, {instances, attempts, 1});
  return !sampling.counterexample && sampling.evaluated > 0;
}

bool is_used(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Names in shapes and attributes, which can bind them.
std::vector<std::string> binding_names(const Substitution& rule) {
  Substitution copy = rule;
  copy.parameters.clear();
  copy.free.clear();
  copy.conditions.clear();
  copy.groups.clear();
  return all_names(copy);
}

}  // namespace

void tidy(Substitution& rule) {
  detail::number_terms(rule);
  std::vector<RuleInput> inputs;
  for (RuleTerm& term : rule.terms) {
    if (!term.is_input) continue;
    inputs.push_back(rule.inputs[term.input]);
    term.input = static_cast<std::uint32_t>(inputs.size() - 1);
  }
  rule.inputs = std::move(inputs);
  const std::vector<std::string> names = binding_names(rule);
  std::erase_if(rule.groups, [&](const RuleGroup& group) { return !is_used(names, group.name); });
  std::erase_if(rule.parameters, [&](const RuleParameter& p) { return !is_used(names, p.name); });
  std::erase_if(rule.free,
                [&](const FreeParameter& free) { return !is_used(names, detail::name_of(free)); });
}

namespace {

/// All terms in the first case of a rule without groups: cases differ in values of parameters.
struct BuiltTerms {
  Graph graph;
  std::vector<ValueId> values;
};

std::optional<BuiltTerms> built_terms(const Substitution& rule) {
  if (!rule.groups.empty()) return std::nullopt;
  const auto cases = cases_of(rule);
  if (!cases || cases->empty()) return std::nullopt;
  BuiltTerms result;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i)
    inputs.push_back(*result.graph.add_input(rule.inputs[i].name, cases->front().inputs[i]));
  std::vector<TermId> all;
  for (std::uint32_t i = 0; i < rule.terms.size(); ++i) all.push_back({i});
  auto values = instantiate(rule, all, inputs, cases->front().bindings, result.graph);
  if (!values) return std::nullopt;
  result.values = std::move(*values);
  return result;
}

}  // namespace

std::optional<std::vector<TensorType>> term_types(const Substitution& rule) {
  const auto built = built_terms(rule);
  if (!built) return std::nullopt;
  std::vector<TensorType> result;
  for (const ValueId value : built->values) {
    if (!built->graph.type(value).is_known()) return std::nullopt;
    result.push_back(built->graph.type(value));
  }
  return result;
}

std::optional<std::vector<Attributes>> term_attributes(const Substitution& rule) {
  const auto built = built_terms(rule);
  if (!built) return std::nullopt;
  std::vector<Attributes> result;
  for (const ValueId value : built->values)
    result.push_back(built->graph.node(built->graph.producer(value)).attributes);
  return result;
}

std::optional<Substitution> Trial::plausible(Substitution proposal) {
  tidy(proposal);
  std::optional<Substitution> rule = normal_form(proposal);
  if (!rule) return std::nullopt;
  const auto [known, inserted] = tried_.try_emplace(claim_text(*rule), false);
  if (inserted)
    known->second = is_typed(*rule) && is_not_refuted(*rule) &&
                    (!rule->bidirectional || is_not_refuted(reversed(*rule)));
  return known->second ? std::move(rule) : std::nullopt;
}

const verifier::Verdict& Trial::verdict(const Substitution& rule) {
  const auto [known, inserted] = verdicts_.try_emplace(claim_text(rule));
  if (inserted) known->second = verifier::prove(rule, axioms_);
  return known->second;
}

}  // namespace lemma::database
