#include "verifier/index/elimination.h"

#include <algorithm>
#include <map>
#include <optional>

#include "verifier/index/solver.h"

namespace lemma::verifier::index {
namespace {

bool mentions(const Dimension& value, const std::string& name) {
  std::map<std::string, int> symbols;
  collect_all_symbols(value, symbols);
  return symbols.contains(name);
}

/// The variable's value where `zero` is 0: zero = c * (v - value) with a c that is not 0.
std::optional<Dimension> solved_for(const std::string& name, const Dimension& zero,
                                    const IsPositive& is_positive) {
  Dimension c;
  for (const Dimension::Term& term : zero.terms()) {
    Dimension rest(term.coefficient);
    bool is_multiple = false;
    for (const Dimension::AtomPointer& atom : term.atoms)
      if (!is_multiple && atom->kind == AtomKind::symbol && atom->symbol == name)
        is_multiple = true;
      else
        rest = rest * of_atom(*atom);
    if (is_multiple) c = c + rest;
  }
  const auto quotient = c.is(0) ? std::nullopt : exact_div(zero, c);
  if (!quotient || mentions(c, name)) return std::nullopt;
  if (!c.is_constant() && !is_positive(c) && !is_positive(Dimension(0) - c)) return std::nullopt;
  const Dimension value = Dimension::symbol(name) - *quotient;
  return mentions(value, name) ? std::nullopt : std::optional(value);
}

/// The value that range and domain leave to a variable, if they say e >= 0 and -e >= 0 literally of
/// an e that can be solved for it.
std::optional<Dimension> only_value(const Formula& domain, const Bound& variable,
                                    const IsPositive& is_positive) {
  const Dimension v = Dimension::symbol(variable.name);
  std::vector<Dimension> nonnegative = {v, variable.extent - 1 - v};
  const bool many = domain->kind == FormulaNode::Kind::conjunction;
  for (const Formula& part : many ? domain->parts : std::vector<Formula>{domain})
    if (part->kind == FormulaNode::Kind::nonnegative) {
      nonnegative.push_back(part->value);
    } else if (part->kind == FormulaNode::Kind::zero) {
      nonnegative.push_back(part->value);
      nonnegative.push_back(Dimension(0) - part->value);
    }
  for (const Dimension& lower : nonnegative)
    for (const Dimension& upper : nonnegative) {
      if (!(lower + upper).is(0)) continue;
      if (auto value = solved_for(variable.name, lower, is_positive)) return value;
    }
  return std::nullopt;
}

}  // namespace

Term without_single_values(Term term, const IsPositive& is_positive) {
  for (std::size_t i = 0; i < term.bound.size();) {
    const Bound variable = term.bound[i];
    const auto value = only_value(term.domain, variable, is_positive);
    if (!value) {
      ++i;
      continue;
    }
    // The value may mention other variables of this sum, which must not count as bound meanwhile.
    std::vector<Bound> others = term.bound;
    others.erase(others.begin() + static_cast<long>(i));
    const DimensionBindings binding = {{variable.name, *value}};
    term.bound.clear();
    term = substitute(term, binding);
    for (Bound& other : others) other.extent = substituted(other.extent, binding);
    term.bound = std::move(others);
    term.domain = conjunction({term.domain, less_equal(0, *value), less(*value, variable.extent)});
    i = 0;
  }
  return term;
}

Polynomial without_idle_variables(Term term, const std::vector<Formula>& facts) {
  const bool partial = std::any_of(term.factors.begin(), term.factors.end(),
                                   [](const FactorPointer& factor) { return is_partial(*factor); });
  std::vector<Dimension> counts;
  for (std::size_t i = term.bound.size(); i-- > 0;) {
    const Bound variable = term.bound[i];
    Term rest = term;
    rest.bound.erase(rest.bound.begin() + static_cast<long>(i));
    if (depends_on(rest, {variable})) continue;
    if (partial && !entails(facts, less(0, variable.extent))) continue;
    term = std::move(rest);
    counts.push_back(variable.extent);
  }
  Polynomial result = polynomial({finished(std::move(term))});
  for (const Dimension& count : counts) result = multiply(result, size(count));
  return result;
}

}  // namespace lemma::verifier::index
