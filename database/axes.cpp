#include "database/axes.h"

#include <algorithm>

#include "database/expressions.h"
#include "database/trial.h"
#include "ir/operator.h"

namespace lemma::database {
namespace {

using Kind = RuleExpression::Kind;

std::optional<std::vector<std::int64_t>> integers_of(const RuleExpression& e) {
  if (const auto integer = integer_of(e)) return std::vector{*integer};
  if (e.kind != Kind::list) return std::nullopt;
  std::vector<std::int64_t> result;
  for (const RuleExpression& item : e.arguments) {
    const auto value = integer_of(item);
    if (!value) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

/// Writes attributes that name axes where they have a default.
void write_defaults(RuleTerm& term) {
  for (const AttributeSpecification& s : record(term.op).attributes) {
    if (!names_axes(s.role)) continue;
    const bool written = std::any_of(term.attributes.begin(), term.attributes.end(),
                                     [&s](const auto& a) { return a.first == s.name; });
    if (written || s.default_text == "required" || s.default_text == "optional") continue;
    if (auto value = parse_rule_expression(s.default_text))
      term.attributes.emplace_back(std::string(s.name), std::move(*value));
  }
}

}  // namespace

std::optional<AxisUses> axis_uses(Substitution& rule) {
  if (!rule.groups.empty()) return std::nullopt;
  const auto types = term_types(rule);
  if (!types) return std::nullopt;
  AxisUses result;
  for (const RuleInput& input : rule.inputs) {
    result.input_ranks.push_back(input.shape.size());
    result.most = std::max(result.most, input.shape.size());
  }
  for (std::size_t i = 0; i < rule.terms.size(); ++i) {
    RuleTerm& term = rule.terms[i];
    const bool has_operand =
        !term.is_input && !term.operands.empty() && !term.operands[0].is_none();
    result.operand_ranks.push_back(has_operand ? (*types)[term.operands[0].v].shape->size() : 0);
    if (term.is_input) continue;
    write_defaults(term);
    const OperatorRecord& op = record(term.op);
    bool named = op.has(elementwise);
    for (std::size_t k = 0; k < term.attributes.size(); ++k) {
      const auto& [name, value] = term.attributes[k];
      const auto specification =
          std::find_if(op.attributes.begin(), op.attributes.end(),
                       [&name = name](const AttributeSpecification& s) { return s.name == name; });
      if (specification == op.attributes.end()) continue;
      const bool permutation = specification->role == AttributeRole::permutation;
      const bool listed = specification->role == AttributeRole::listed_axes;
      if (!names_axes(specification->role) && !permutation && !listed) continue;
      const auto axes = integers_of(value);
      if (!axes) return std::nullopt;
      AxisUse use{i, k, *axes, value.kind == Kind::list, permutation, result.operand_ranks[i]};
      if (specification->role == AttributeRole::output_axes) use.rank += axes->size();
      for (std::int64_t& axis : use.axes)
        if (axis < 0) axis += static_cast<std::int64_t>(use.rank);
      (permutation ? result.permutations : result.axes).push_back(std::move(use));
      named = true;
    }
    result.only_elementwise = result.only_elementwise && named;
  }
  return result;
}

std::string add_group(Substitution& rule, std::size_t minimum, std::size_t maximum) {
  std::string name;
  const std::vector<std::string> taken = all_names(rule);
  for (char letter = 'A'; letter <= 'Z'; ++letter) {
    name = std::string(1, letter);
    if (std::find(taken.begin(), taken.end(), name) == taken.end()) break;
  }
  rule.groups.push_back({name, minimum, maximum});
  return name;
}

RuleExpression length_of(const std::string& group) { return call("len", {variable(group)}); }

bool is_shape_attribute(const RuleTerm& term, const std::string& name) {
  const auto attributes = record(term.op).attributes;
  return std::any_of(attributes.begin(), attributes.end(), [&name](const auto& specification) {
    return specification.name == name && specification.role == AttributeRole::output_shape;
  });
}

}  // namespace lemma::database
