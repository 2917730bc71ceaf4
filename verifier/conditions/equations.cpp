#include "verifier/conditions/equations.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace lemma::verifier {
namespace {

/// `zero` without a number that divides all its coefficients.
Dimension without_content(const Dimension& zero) {
  if (zero.is_constant()) return zero;
  std::int64_t content = zero.offset();
  for (const Dimension::Term& term : zero.terms()) content = std::gcd(content, term.coefficient);
  return exact_div(zero, Dimension(content)).value_or(zero);
}

/// Certainly not 0 if all symbols are at least 1.
bool is_not_zero(const Dimension& dimension) {
  bool positive = dimension.offset() >= 0, negative = dimension.offset() <= 0;
  if (dimension.is_constant()) return dimension.offset() != 0;
  for (const Dimension::Term& term : dimension.terms()) {
    positive = positive && term.coefficient > 0;
    negative = negative && term.coefficient < 0;
    for (const Dimension::AtomPointer& atom : term.atoms)
      if (atom->kind != AtomKind::symbol) return false;
  }
  return positive || negative;
}

/// What `name` must be for `zero` to be 0, if that is a polynomial.
std::optional<Dimension> solution(const Dimension& zero, const std::string& name, bool positive) {
  const auto at = [&](std::int64_t value) { return substitute(zero, {{name, value}}); };
  const Dimension rest = at(0), factor = at(1) - rest;
  if (!(at(2) == factor + factor + rest)) return std::nullopt;  // not linear
  if (!factor.is(1) && !factor.is(-1) && (!positive || !is_not_zero(factor))) return std::nullopt;
  return exact_div(Dimension(0) - rest, factor);
}

}  // namespace

void SizeEquations::add(const Dimension& zero) {
  if (!solve_one(zero, false)) open_.push_back(zero);
}

void SizeEquations::solve(bool positive) {
  for (bool again = true; again;) {
    again = false;
    for (const Dimension& zero : std::exchange(open_, {})) {
      if (solve_one(zero, positive))
        again = true;
      else
        open_.push_back(reduced(zero));
    }
  }
}

bool SizeEquations::solve_one(Dimension zero, bool positive) {
  zero = without_content(reduced(zero));
  if (zero.is(0)) return true;
  std::map<std::string, int> symbols;
  collect_symbols(zero, symbols);
  std::optional<std::size_t> best;
  Dimension value;
  for (const auto& [name, count] : symbols) {
    const auto place = std::find(order_.begin(), order_.end(), name);
    const auto rank = static_cast<std::size_t>(place - order_.begin());
    if (place == order_.end() || (best && rank < *best)) continue;
    const auto root = solution(zero, name, positive);
    if (!root) continue;
    best = rank;
    value = *root;
  }
  if (!best) return false;
  const DimensionBindings binding = {{order_[*best], value}};
  for (auto& [name, known] : solved_) known = substitute(known, binding);
  solved_.insert(*binding.begin());
  return true;
}

std::string size_text(const Dimension& size) {
  Dimension minus(0);
  std::string negative;
  for (const Dimension::Term& term : size.is_constant() ? Dimension::Terms{} : size.terms()) {
    if (term.coefficient > 0) continue;
    Dimension product(-term.coefficient);
    for (const Dimension::AtomPointer& atom : term.atoms) {
      if (atom->kind != AtomKind::symbol) return size.text();
      product = product * Dimension::symbol(atom->symbol);
    }
    minus = minus + product;
    negative += " - " + product.text();
  }
  return negative.empty() ? size.text() : (size + minus).text() + negative;
}

}  // namespace lemma::verifier
