#include "database/normal_form.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/sha256.h"
#include "database/expressions.h"
#include "ir/operator.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution_analysis.h"

namespace lemma::database {
namespace {

using Names = std::map<std::string, std::string>;

/// Inputs in the order of their terms; number_terms has put these into the order of first need.
void order_inputs(Substitution& rule) {
  std::vector<RuleInput> inputs;
  std::vector<std::uint32_t> place(rule.inputs.size(), 0);
  for (RuleTerm& term : rule.terms) {
    if (!term.is_input) continue;
    place[term.input] = static_cast<std::uint32_t>(inputs.size());
    inputs.push_back(rule.inputs[term.input]);
  }
  for (RuleTerm& term : rule.terms)
    if (term.is_input) term.input = place[term.input];
  rule.inputs = std::move(inputs);
}

bool is_named(const auto& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&name](const auto& x) { return x.name == name; });
}

/// Names in the order in which inputs and attributes show them.
Names names_for(Substitution& rule) {
  Names names;
  std::size_t groups = 0, sizes = 0, parameters = 0;
  visit_expressions(rule, [&](RuleExpression& e) {
    if (e.kind != RuleExpression::Kind::variable && e.kind != RuleExpression::Kind::splice) return;
    if (names.contains(e.name)) return;
    if (is_named(rule.groups, e.name))
      names[e.name] = groups < 15 ? std::string(1, static_cast<char>('A' + groups))
                                  : fmt::format("A{}", groups),
      ++groups;
    else if (is_named(rule.parameters, e.name))
      names[e.name] = fmt::format("p{}", ++parameters);
    else
      names[e.name] = fmt::format("n{}", ++sizes);
  });
  return names;
}

void rename(Substitution& rule) {
  for (RuleInput& input : rule.inputs)
    input.name = fmt::format("x{}", &input - rule.inputs.data() + 1);
  // Attributes of the operators come first in the text, bounds of parameters do not decide.
  std::vector<RuleParameter> parameters = std::move(rule.parameters);
  std::vector<FreeParameter> free = std::move(rule.free);
  std::vector<RuleCondition> conditions = std::move(rule.conditions);
  rule.parameters = parameters;
  for (RuleParameter& parameter : rule.parameters) parameter.bounds.clear();
  rule.free.clear();
  rule.conditions.clear();
  const Names names = names_for(rule);
  rule.parameters = std::move(parameters);
  rule.free = std::move(free);
  rule.conditions = std::move(conditions);
  const auto renamed = [&names](const std::string& name) {
    const auto entry = names.find(name);
    return entry != names.end() ? entry->second : name;
  };
  visit_expressions(rule, [&](RuleExpression& e) {
    if (e.kind == RuleExpression::Kind::variable || e.kind == RuleExpression::Kind::splice)
      e.name = renamed(e.name);
  });
  for (RuleGroup& group : rule.groups) group.name = renamed(group.name);
  for (RuleParameter& parameter : rule.parameters) parameter.name = renamed(parameter.name);
  const auto by_name = [](const auto& a, const auto& b) {
    return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
  };
  std::sort(rule.groups.begin(), rule.groups.end(), by_name);
  std::sort(rule.parameters.begin(), rule.parameters.end(), by_name);
}

Substitution in_order(Substitution rule) {
  rule.name = "rule";
  rule.line = 0;
  for (RuleInput& input : rule.inputs) input.weight = false;
  detail::number_terms(rule);
  order_inputs(rule);
  rename(rule);
  return rule;
}

/// Outputs of one operation count as one.
std::size_t count_operations(const Substitution& rule, const std::vector<TermId>& terms) {
  std::vector<const RuleTerm*> counted;
  for (const TermId id : terms) {
    const RuleTerm& term = rule.terms[id.v];
    const bool known = std::any_of(counted.begin(), counted.end(), [&term](const RuleTerm* other) {
      return other->op == term.op && other->operands == term.operands &&
             other->attributes == term.attributes;
    });
    if (!term.is_input && !known) counted.push_back(&term);
  }
  return counted.size();
}

std::size_t operations_of(const Substitution& rule, const std::vector<TermId>& roots) {
  return count_operations(rule, detail::reachable_terms(rule, roots));
}

std::string provisional_name(const Substitution& rule) {
  std::string name;
  std::size_t count = 0;
  const auto terms = detail::reachable_terms(rule, rule.left);
  for (auto id = terms.rbegin(); id != terms.rend() && count < 4; ++id) {
    const RuleTerm& term = rule.terms[id->v];
    if (term.is_input || term.output > 0) continue;
    name += lower_name(term.op) + "_";
    ++count;
  }
  return name + sha256(claim_text(rule)).substr(0, 10);
}

}  // namespace

std::string lower_name(OperatorId op) {
  std::string result;
  for (const char c : record(op).name)
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

std::string claim_text(const Substitution& rule) {
  const std::string all = text(rule);
  return all.substr(all.find('\n') + 1);
}

std::optional<Substitution> checked(const Substitution& rule) {
  auto parsed = parse_substitutions(text(rule), "rule");
  if (!parsed || parsed->size() != 1) return std::nullopt;
  parsed->at(0).line = 0;
  return std::move(parsed->at(0));
}

std::optional<Substitution> normal_form(const Substitution& rule) {
  Substitution best = in_order(rule);
  if (rule.bidirectional) {
    Substitution other = in_order(reversed(rule));
    const auto key = [](const Substitution& r) {
      return std::pair(operations_of(r, r.right), claim_text(r));
    };
    if (key(other) < key(best)) best = std::move(other);
  }
  if (best.left == best.right) return std::nullopt;
  best.name = provisional_name(best);
  return checked(best);
}

RuleSize size_of(const Substitution& rule) {
  RuleSize result;
  std::vector<TermId> all;
  for (std::uint32_t i = 0; i < rule.terms.size(); ++i) all.push_back({i});
  result.operations = count_operations(rule, all);
  std::vector<std::size_t> uses(rule.terms.size(), 0);
  for (const RuleTerm& term : rule.terms)
    for (const TermId operand : term.operands)
      if (!operand.is_none()) ++uses[operand.v];
  for (std::size_t i = 0; i < rule.terms.size(); ++i)
    if (rule.terms[i].is_input && uses[i] > 1) result.shared_inputs += uses[i] - 1;
  Substitution copy = rule;
  visit_expressions(copy, [&result](RuleExpression& e) {
    if (e.kind == RuleExpression::Kind::literal) ++result.constants;
  });
  return result;
}

}  // namespace lemma::database
