#include <algorithm>
#include <optional>
#include <utility>

#include "database/expressions.h"
#include "database/proposals.h"
#include "database/trial.h"
#include "rule_language/substitution_analysis.h"

namespace lemma::database {
namespace {

/// A sum of products of symbols; nothing for other sizes, as quotients.
std::optional<RuleExpression> as_expression(const Dimension& size) {
  std::optional<RuleExpression> result;
  const auto add = [&result](RuleExpression e) {
    result = result ? sum(std::move(*result), std::move(e)) : std::move(e);
  };
  if (!size.is_constant())
    for (const Dimension::Term& term : size.terms()) {
      std::optional<RuleExpression> factor;
      if (term.coefficient != 1) factor = literal(term.coefficient);
      for (const Dimension::AtomPointer& atom : term.atoms) {
        if (atom->kind != AtomKind::symbol) return std::nullopt;
        RuleExpression name = variable(atom->symbol);
        factor = factor ? product(std::move(*factor), std::move(name)) : std::move(name);
      }
      add(std::move(*factor));
    }
  if (size.offset() != 0 || !result) add(literal(size.offset()));
  return result;
}

/// The sizes of an input that stands for a term: they are named as they are, or each by a fresh name. One that is above 0,
/// as n + 1, stays so by its name.
std::vector<RuleExpression> shape_items(const Substitution& rule, const Shape& shape,
                                        bool all_fresh) {
  std::vector<RuleExpression> items;
  Substitution taken = rule;  // so that fresh names differ from each other
  for (const Dimension& size : shape) {
    if (auto named = as_expression(size); named && !all_fresh) {
      items.push_back(std::move(*named));
      continue;
    }
    items.push_back(variable(fresh_name(taken, "n")));
    taken.inputs.push_back({items.back().name, DataType::undefined, {}, false});
  }
  return items;
}

Substitution with_input_for(Substitution rule, TermId id, std::vector<RuleExpression> shape,
                            DataType type) {
  RuleInput input;
  input.name = fresh_name(rule, "part");
  // Inputs of the rule share a real type, and so do terms of them.
  input.data_type = is_real(type) ? DataType::undefined : type;
  input.shape = std::move(shape);
  RuleTerm term;
  term.is_input = true;
  term.input = static_cast<std::uint32_t>(rule.inputs.size());
  rule.inputs.push_back(std::move(input));
  rule.terms[id.v] = std::move(term);
  return rule;
}

}  // namespace

std::vector<Proposal> shared_parts(const Substitution& rule) {
  std::vector<Proposal> result;
  const auto types = term_types(rule);
  if (!types) return result;
  const auto left = detail::reachable_terms(rule, rule.left);
  const auto right = detail::reachable_terms(rule, rule.right);
  const bool typed = std::any_of(rule.inputs.begin(), rule.inputs.end(), [](const RuleInput& i) {
    return i.data_type != DataType::undefined;
  });
  if (typed) return result;
  for (auto id = left.rbegin(); id != left.rend(); ++id) {
    const RuleTerm& term = rule.terms[id->v];
    if (term.is_input || std::find(right.begin(), right.end(), *id) == right.end()) continue;
    const TensorType& type = (*types)[id->v];
    for (const bool all_fresh : {true, false})
      result.push_back(
          {"shared part as input",
           with_input_for(rule, *id, shape_items(rule, *type.shape, all_fresh), type.data_type)});
  }
  return result;
}

}  // namespace lemma::database
