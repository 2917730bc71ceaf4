#include "verifier/index/renaming.h"

#include <map>

#include "verifier/index/ranges.h"

namespace lemma::verifier::index {
namespace {

/// The variables of the list that have no value and occur.
std::vector<const Bound*> open_variables(const Dimension& value,
                                         const std::vector<Bound>& variables,
                                         const DimensionBindings& known) {
  std::map<std::string, int> symbols;
  collect_all_symbols(value, symbols);
  std::vector<const Bound*> result;
  for (const Bound& variable : variables)
    if (!known.contains(variable.name) && symbols.contains(variable.name))
      result.push_back(&variable);
  return result;
}

}  // namespace

/// c * v + r = 0 gives v = -r / c where that is a polynomial.
bool Renaming::solve_one(const std::vector<Bound>& variables, DimensionBindings& known) const {
  for (const Dimension& equation : equations_) {
    const Dimension value = substituted(equation, known);
    const auto open = open_variables(value, variables, known);
    if (open.size() != 1) continue;
    const auto factor = factor_of(value, open[0]->name);
    if (!factor || factor->is(0)) continue;
    const Dimension rest = value - *factor * Dimension::symbol(open[0]->name);
    const auto result = exact_div(Dimension(0) - rest, *factor);
    if (!result) continue;
    known[open[0]->name] = *result;
    return true;
  }
  return false;
}

/// d * u + w = e with w < d gives u = floor(e / d) and w = e - d * u.
bool Renaming::solve_radix(const std::vector<Bound>& variables, DimensionBindings& known) const {
  for (const Dimension& equation : equations_) {
    const Dimension value = substituted(equation, known);
    const auto open = open_variables(value, variables, known);
    if (open.size() != 2) continue;
    for (const auto& [u, w] : {std::pair(open[0], open[1]), std::pair(open[1], open[0])}) {
      const auto high = factor_of(value, u->name), low = factor_of(value, w->name);
      if (!high || !low || low->is(0) || high->is(0)) continue;
      const bool is_radix = *high == *low * w->extent && (low->is(1) || low->is(-1));
      if (!is_radix) continue;
      const Dimension rest =
          value - *high * Dimension::symbol(u->name) - *low * Dimension::symbol(w->name);
      const Dimension e = Dimension(0) - *low * rest, quotient = floor_div(e, w->extent);
      known[u->name] = quotient;
      known[w->name] = e - w->extent * quotient;
      return true;
    }
  }
  return false;
}

void Renaming::solve_for(const std::vector<Bound>& variables, DimensionBindings& known) const {
  while (solve_one(variables, known) || solve_radix(variables, known)) {
  }
}

void Renaming::pair(bool of_equal_extents) {
  for (const Bound& there : to_) {
    if (forward_.contains(there.name)) continue;
    for (const Bound& here : from_) {
      if (backward_.contains(here.name)) continue;
      if (of_equal_extents && here.extent != there.extent) continue;
      forward_[there.name] = Dimension::symbol(here.name);
      backward_[here.name] = Dimension::symbol(there.name);
      break;
    }
  }
}

bool Renaming::solve() {
  solve_for(to_, forward_);
  solve_for(from_, backward_);
  pair(true);
  pair(false);
  // Now that some are paired, equations may determine others.
  solve_for(to_, forward_);
  solve_for(from_, backward_);
  return forward_.size() == to_.size() && backward_.size() == from_.size();
}

}  // namespace lemma::verifier::index
