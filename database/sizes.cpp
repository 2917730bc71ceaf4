#include <algorithm>
#include <map>
#include <set>

#include "database/expressions.h"
#include "database/proposals.h"

namespace lemma::database {
namespace {

using Kind = RuleExpression::Kind;

/// Occurrences of a name in shapes and attributes, in order.
std::vector<RuleExpression*> occurrences(Substitution& rule, const std::string& name) {
  std::vector<RuleExpression*> result;
  const auto visit = [&](RuleExpression& e) {
    if (e.kind == Kind::variable && e.name == name) result.push_back(&e);
  };
  for (RuleInput& input : rule.inputs)
    for (RuleExpression& item : input.shape) visit_inside(item, visit);
  for (RuleTerm& term : rule.terms)
    for (auto& [attribute, value] : term.attributes) visit_inside(value, visit);
  return result;
}

bool is_group(const Substitution& rule, const std::string& name) {
  return std::any_of(rule.groups.begin(), rule.groups.end(),
                     [&name](const RuleGroup& group) { return group.name == name; });
}

/// The occurrences in `mask` (bit i: the one after number i) get another name.
Substitution separated(Substitution rule, const std::string& name, std::size_t mask) {
  const std::string other = fresh_name(rule, name);
  const auto parameter = std::find_if(rule.parameters.begin(), rule.parameters.end(),
                                      [&name](const RuleParameter& p) { return p.name == name; });
  if (parameter != rule.parameters.end()) {
    RuleParameter copy = *parameter;
    copy.name = other;
    rule.parameters.push_back(std::move(copy));
  }
  const auto places = occurrences(rule, name);
  for (std::size_t i = 1; i < places.size(); ++i)
    if ((mask >> (i - 1) & 1U) != 0) places[i]->name = other;
  return rule;
}

Substitution with_size(Substitution rule, const std::string& text_of_item, std::size_t only) {
  const std::string name = fresh_name(rule, "n");
  std::size_t number = 0;
  for (RuleInput& input : rule.inputs)
    for (RuleExpression& item : input.shape) {
      if (text(item) != text_of_item) continue;
      if (only == 0 || ++number == only) item = variable(name);
    }
  return rule;
}

}  // namespace

std::vector<Proposal> separate_names(const Substitution& rule) {
  std::vector<Proposal> result;
  Substitution copy = rule;
  std::set<std::string> seen;
  std::vector<std::string> names;
  visit_expressions(copy, [&](RuleExpression& e) {
    if (e.kind == Kind::variable && !is_group(rule, e.name) && seen.insert(e.name).second)
      names.push_back(e.name);
  });
  for (const std::string& name : names) {
    const std::size_t count = occurrences(copy, name).size();
    if (count < 2) continue;
    const auto add = [&](std::size_t mask) {
      result.push_back({"different sizes", separated(rule, name, mask)});
    };
    if (count > 7) {
      for (std::size_t i = 0; i + 1 < count; ++i) add(std::size_t{1} << i);
      continue;
    }
    for (std::size_t mask = 1; mask < std::size_t{1} << (count - 1); ++mask) add(mask);
  }
  return result;
}

std::vector<Proposal> fixed_sizes(const Substitution& rule) {
  std::vector<Proposal> result;
  std::map<std::string, std::size_t> items;
  for (const RuleInput& input : rule.inputs)
    for (const RuleExpression& item : input.shape)
      if (item.kind != Kind::variable && item.kind != Kind::splice) ++items[text(item)];
  for (const auto& [item, count] : items) {
    result.push_back({"any size", with_size(rule, item, 0)});
    for (std::size_t i = 1; i <= count && count > 1; ++i)
      result.push_back({"any size", with_size(rule, item, i)});
  }
  return result;
}

}  // namespace lemma::database
