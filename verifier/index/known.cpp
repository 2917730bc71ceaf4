#include "verifier/index/known.h"

#include <algorithm>

#include "verifier/index/solver.h"

namespace lemma::verifier::index {

Known::Known(const std::vector<Formula>& facts) : facts_(facts) {
  for (const Formula& fact : facts_) note(fact);
}

void Known::add(const Formula& given) {
  const Formula fact = without_given(given);
  if (is_always(fact) || texts_.contains(fact->text)) return;
  note(fact);
  facts_.push_back(fact);
}

bool Known::implies(const Formula& goal) const { return is_obvious(goal) || entails(facts_, goal); }

void Known::note(const Formula& fact) {
  texts_.insert(fact->text);
  if (fact->kind == FormulaNode::Kind::zero) zeros_.push_back(fact->value);
  if (fact->kind == FormulaNode::Kind::conjunction)
    for (const Formula& part : fact->parts) note(part);
}

/// A conjunct that is given anyway is left out, also of the consequence of an implication.
Formula Known::without_given(const Formula& fact) const {
  using Kind = FormulaNode::Kind;
  if (texts_.contains(fact->text)) return always();
  if (fact->kind != Kind::conjunction && fact->kind != Kind::disjunction) return fact;
  std::vector<Formula> parts;
  for (const Formula& part : fact->parts) parts.push_back(without_given(part));
  return fact->kind == Kind::conjunction ? conjunction(std::move(parts))
                                         : disjunction(std::move(parts));
}

bool Known::is_obvious(const Formula& goal) const {
  if (is_always(goal) || texts_.contains(goal->text)) return true;
  using Kind = FormulaNode::Kind;
  if (goal->kind == Kind::conjunction)
    return std::all_of(goal->parts.begin(), goal->parts.end(),
                       [this](const Formula& part) { return is_obvious(part); });
  if (goal->kind == Kind::disjunction)
    return std::any_of(goal->parts.begin(), goal->parts.end(),
                       [this](const Formula& part) { return is_obvious(part); });
  if (goal->kind == Kind::zero) return is_sum_of_zeros(goal->value);
  return goal->kind == Kind::nonnegative && is_positive_product(goal->value + 1);
}

/// The sum or difference of two values that are given as 0: numbers of elements that are equal
/// to a third one.
bool Known::is_sum_of_zeros(const Dimension& value) const {
  for (const Dimension& a : zeros_)
    for (const Dimension& b : zeros_)
      if (value == a + b || value == a - b || value == Dimension(0) - a - b) return true;
  return false;
}

/// c * a * b * ... with factors that are given as positive.
bool Known::is_positive_product(const Dimension& value) const {
  if (value.offset() != 0 || value.terms().size() != 1) return false;
  const Dimension::Term& term = value.terms()[0];
  return term.coefficient > 0 &&
         std::all_of(term.atoms.begin(), term.atoms.end(), [this](const auto& atom) {
           return atom->kind == AtomKind::symbol &&
                  texts_.contains(less(0, Dimension::symbol(atom->symbol))->text);
         });
}

}  // namespace lemma::verifier::index
