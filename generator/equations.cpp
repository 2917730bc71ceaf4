#include "generator/equations.h"

#include <map>
#include <numeric>

namespace lemma::generator {

bool Equations::unify(const Dimension& a, const Dimension& b) {
  const Dimension difference = without_common_factor(resolve(a) - resolve(b));
  if (!difference.is_valid()) return false;
  if (difference.is_constant()) return difference.is(0);
  std::optional<Solution> best;
  for (const Dimension::Term& term : difference.terms())
    if (auto solution = solve_for(term, difference))
      if (!best || solution->rank < best->rank) best = std::move(solution);
  if (!best) return false;
  assign(best->symbol, best->value);
  return true;
}

void Equations::assign(const std::string& symbol, const Dimension& value) {
  const DimensionBindings binding = {{symbol, value}};
  for (auto& [name, known] : solved_) known = substitute(known, binding);
  solved_[symbol] = value;
}

/// Divided by the number and the symbols that all terms share: sizes are at least 1.
Dimension Equations::without_common_factor(Dimension difference) {
  std::int64_t divisor = difference.offset();
  for (const Dimension::Term& term : difference.terms())
    divisor = std::gcd(divisor, term.coefficient);
  if (divisor > 1)
    if (auto quotient = exact_div(difference, Dimension(divisor))) difference = *quotient;
  while (!difference.is_constant() && difference.offset() == 0) {
    std::optional<Dimension> quotient;
    for (const Dimension::AtomPointer& atom : difference.terms()[0].atoms)
      if (!quotient && atom->kind == AtomKind::symbol)
        quotient = exact_div(difference, Dimension::symbol(atom->symbol));
    if (!quotient) break;
    difference = std::move(*quotient);
  }
  return difference;
}

std::optional<Equations::Solution> Equations::solve_for(const Dimension::Term& term,
                                                        const Dimension& difference) {
  if (term.atoms.size() != 1 || term.atoms[0]->kind != AtomKind::symbol) return std::nullopt;
  if (term.coefficient != 1 && term.coefficient != -1) return std::nullopt;
  const std::string& symbol = term.atoms[0]->symbol;
  const Dimension own = Dimension::symbol(symbol);
  Solution result;
  result.symbol = symbol;
  result.value = term.coefficient == 1 ? own - difference : own + difference;
  std::map<std::string, int> counts;
  collect_symbols(result.value, counts);
  if (counts.contains(symbol)) return std::nullopt;
  bool subtracts = result.value.offset() < 0;
  for (const Dimension::Term& other : result.value.terms())
    subtracts = subtracts || other.coefficient < 0;
  result.rank = (subtracts ? 2 : 0) + (symbol.starts_with("?") ? 0 : 1);
  return result;
}

std::size_t Choices::choose(std::size_t count) {
  if (at_ == taken_.size()) taken_.push_back({0, count});
  return taken_[at_++].first;
}

bool Choices::next() {
  at_ = 0;
  while (!taken_.empty() && taken_.back().first + 1 == taken_.back().second) taken_.pop_back();
  if (taken_.empty()) return false;
  ++taken_.back().first;
  return true;
}

std::optional<OpenFactor> open_factor_of(const Dimension& product) {
  if (product.is_constant()) return std::nullopt;
  for (const Dimension::AtomPointer& atom : product.terms()[0].atoms) {
    if (atom->kind != AtomKind::symbol || !atom->symbol.starts_with("?")) continue;
    auto rest = exact_div(product, Dimension::symbol(atom->symbol));
    if (rest && !rest->is_constant()) return OpenFactor{atom->symbol, std::move(*rest)};
  }
  return std::nullopt;
}

std::vector<std::pair<Dimension, Dimension>> factors_of(const Dimension& size) {
  std::vector<std::pair<Dimension, Dimension>> result;
  if (size.is_constant()) return result;
  std::map<std::string, int> symbols;
  collect_symbols(size, symbols);
  for (const auto& [symbol, count] : symbols) {
    const Dimension factor = Dimension::symbol(symbol);
    auto rest = exact_div(size, factor);
    if (rest && !rest->is(1)) result.emplace_back(factor, std::move(*rest));
  }
  return result;
}

}  // namespace lemma::generator
