#include <set>

#include <fmt/format.h>

#include "rule_language/rule_roles.h"
#include "rule_language/substitution.h"
#include "rule_language/substitution_analysis.h"

namespace lemma {
namespace {

// ---- Expressions ------------------------------------------------------------------------------

int precedence(const RuleExpression& e) {
  switch (e.kind) {
    case RuleExpression::Kind::add:
    case RuleExpression::Kind::subtract: return 1;
    case RuleExpression::Kind::multiply: return 2;
    default: return 3;
  }
}

std::string text_of(const RuleExpression& e);

std::string operand_text(const RuleExpression& e, int at_least) {
  return precedence(e) >= at_least ? text_of(e) : "(" + text_of(e) + ")";
}

std::string joined(const std::vector<RuleExpression>& elements) {
  std::string result;
  for (const RuleExpression& element : elements)
    result += (result.empty() ? "" : ", ") + text_of(element);
  return result;
}

std::string text_of(const RuleExpression& e) {
  using Kind = RuleExpression::Kind;
  switch (e.kind) {
    case Kind::literal: return text(e.literal);
    case Kind::variable: return e.name;
    case Kind::splice: return e.name + "..";
    case Kind::add:
      return operand_text(e.arguments[0], 1) + " + " + operand_text(e.arguments[1], 2);
    case Kind::subtract:
      return operand_text(e.arguments[0], 1) + " - " + operand_text(e.arguments[1], 2);
    case Kind::multiply:
      return operand_text(e.arguments[0], 2) + "*" + operand_text(e.arguments[1], 3);
    case Kind::list: return "[" + joined(e.arguments) + "]";
    case Kind::call: return e.name + "(" + joined(e.arguments) + ")";
  }
  return "?";
}

std::string text_of(const RuleCondition& condition) {
  const auto binary = [&condition](std::string_view sign) {
    return fmt::format("{} {} {}", text_of(condition.arguments[0]), sign,
                       text_of(condition.arguments[1]));
  };
  switch (condition.kind) {
    case RuleCondition::Kind::equal: return binary("==");
    case RuleCondition::Kind::not_equal: return binary("!=");
    case RuleCondition::Kind::less: return binary("<");
    case RuleCondition::Kind::less_equal: return binary("<=");
    case RuleCondition::Kind::predicate: break;
  }
  return condition.predicate + "(" + joined(condition.arguments) + ")";
}

std::string text_of(const RuleParameter& parameter) {
  using Range = RuleParameter::Range;
  switch (parameter.range) {
    case Range::dimensions: return "dimensions[" + text_of(parameter.bounds[0]) + "]";
    case Range::permutation: return "permutation[" + text_of(parameter.bounds[0]) + "]";
    case Range::integer:
      return fmt::format("integer[{}, {})", text_of(parameter.bounds[0]),
                         text_of(parameter.bounds[1]));
    case Range::dimension: return "dimension";
    case Range::real: return "real";
    case Range::type: return "type";
    case Range::strings: break;
  }
  std::string list;
  for (const std::string& value : parameter.strings)
    list += (list.empty() ? "" : ", ") + text(AttributeValue(value));
  return "string[" + list + "]";
}

std::string text_of(const FreeParameter& free) {
  using Source = FreeParameter::Source;
  std::string values;
  switch (free.source) {
    case Source::list:
      for (const std::int64_t value : free.values)
        values += fmt::format("{}{}", values.empty() ? "" : ", ", value);
      break;
    case Source::divisors:
      if (free.most != FreeParameter::usual_divisors)
        values = fmt::format("at most {} ", free.most);
      values += "divisors of " + text_of(free.size);
      break;
    case Source::target: values = "target"; break;
    case Source::any: values = "any"; break;
  }
  return fmt::format("free {} : {}", text_of(free.expression), values);
}

// ---- Terms ------------------------------------------------------------------------------------

/// Writes each operation where it is used, except that one with several outputs or several uses
/// gets a `let`.
class TermWriter {
 public:
  explicit TermWriter(const Substitution& rule)
      : rule_(rule),
        uses_(rule.terms.size(), 0),
        node_of_(rule.terms.size()),
        name_of_(rule.terms.size()) {
    for (const RuleInput& input : rule.inputs) taken_.insert(input.name);
    for (std::uint32_t i = 0; i < rule.terms.size(); ++i) {
      node_of_[i] = first_of_node(i);
      for (const TermId operand : rule.terms[i].operands)
        if (node_of_[i] == i && !operand.is_none()) ++uses_[node_of_[operand.v]];
    }
    for (const TermId id : rule.left) ++uses_[node_of_[id.v]];
    for (const TermId id : rule.right) ++uses_[node_of_[id.v]];
  }

  /// The `let` lines; names are made on the way.
  std::string lets() {
    std::string result;
    for (std::uint32_t i = 0; i < rule_.terms.size(); ++i) {
      const RuleTerm& term = rule_.terms[i];
      if (term.is_input || node_of_[i] != i || uses_[i] < 2) continue;
      const std::string body = operation(term);
      name_of_[i] = fresh_name();
      result += fmt::format("  let {} = {}\n", name_of_[i], body);
    }
    return result;
  }

  std::string write(TermId id) const {
    if (id.is_none()) return "_";
    const RuleTerm& term = rule_.terms[id.v];
    if (term.is_input) return rule_.inputs[term.input].name;
    const std::string& name = name_of_[node_of_[id.v]];
    const std::string base = name.empty() ? operation(term) : name;
    return term.output_count > 1 ? fmt::format("{}#{}", base, term.output) : base;
  }

  std::string write(const std::vector<TermId>& ids) const {
    std::string result;
    for (const TermId id : ids) result += (result.empty() ? "" : " & ") + write(id);
    return result;
  }

 private:
  std::uint32_t first_of_node(std::uint32_t i) const {
    for (std::uint32_t j = 0; j < i; ++j) {
      const RuleTerm &a = rule_.terms[j], &b = rule_.terms[i];
      if (!a.is_input && !b.is_input && a.op == b.op && a.attributes == b.attributes &&
          a.operands == b.operands)
        return j;
    }
    return i;
  }

  std::string operation(const RuleTerm& term) const {
    std::string attributes, operands;
    for (const auto& [name, value] : term.attributes)
      attributes += (attributes.empty() ? "" : ", ") + name + "=" + text_of(value);
    for (const TermId operand : term.operands)
      operands += (operands.empty() ? "" : ", ") + write(operand);
    if (!attributes.empty()) attributes = "{" + attributes + "}";
    return std::string(record(term.op).name) + attributes + "(" + operands + ")";
  }

  std::string fresh_name() {
    while (true) {
      std::string name = fmt::format("t{}", ++last_name_);
      if (taken_.insert(name).second) return name;
    }
  }

  const Substitution& rule_;
  std::vector<int> uses_;
  std::vector<std::uint32_t> node_of_;
  std::vector<std::string> name_of_;
  std::set<std::string> taken_;
  int last_name_ = 0;
};

}  // namespace

std::string text(const RuleExpression& expression) { return text_of(expression); }

std::string text(const Substitution& rule) {
  std::string result = fmt::format("{} {}\n", rule.is_axiom ? "axiom" : "rule", rule.name);
  for (const RuleInput& input : rule.inputs)
    result += fmt::format("  {}{}{} : {}[{}]\n", input.defined ? "defined " : "",
                          input.weight ? "weight " : "", input.name,
                          input.data_type == DataType::undefined ? "" : name(input.data_type),
                          joined(input.shape));
  for (const RuleGroup& group : rule.groups)
    if (group.minimum != RuleGroup{}.minimum || group.maximum != RuleGroup{}.maximum)
      result += fmt::format("  group {} : {}..{}\n", group.name, group.minimum, group.maximum);
  for (const RuleParameter& parameter : rule.parameters)
    result += fmt::format("  param {} : {}\n", parameter.name, text_of(parameter));
  for (const FreeParameter& free : rule.free) result += "  " + text_of(free) + "\n";
  for (std::size_t i = 0; i < rule.conditions.size(); ++i)
    result += (i == 0 ? "  where " : ", ") + text_of(rule.conditions[i]);
  if (!rule.conditions.empty()) result += "\n";
  if (rule.search_forward) result += "  search forward\n";
  TermWriter terms(rule);
  result += terms.lets();
  return result + fmt::format("  {} {} {}\n", terms.write(rule.left),
                              rule.bidirectional ? "=" : "=>", terms.write(rule.right));
}

std::string text_with_roles(const Substitution& rule) {
  std::string result = text(rule);
  if (rule.roles.empty()) return result;
  std::string line = "  role ";
  for (std::size_t i = 0; i < rule.roles.size(); ++i)
    line += (i == 0 ? "" : ", ") + std::string(name(rule.roles[i]));
  return result.insert(result.find('\n') + 1, line + "\n");
}

Substitution reversed(const Substitution& substitution) {
  Substitution result = substitution;
  std::swap(result.left, result.right);
  detail::number_terms(result);
  return result;
}

}  // namespace lemma
