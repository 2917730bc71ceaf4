#include "verifier/index/reindexing.h"

#include <algorithm>
#include <map>
#include <optional>

namespace lemma::verifier::index {
namespace {

using Kind = FormulaNode::Kind;

bool mentions(const Dimension& value, const std::string& name) {
  std::map<std::string, int> symbols;
  collect_all_symbols(value, symbols);
  return symbols.contains(name);
}

// ---- What occurs ------------------------------------------------------------------------------

void collect(const Term& term, std::vector<Dimension>& values);

void collect(const Formula& formula, std::vector<Dimension>& values) {
  for (const Formula& part : formula->parts) collect(part, values);
  if (formula->kind == Kind::element)
    for (const Term& term : formula->element->terms) collect(term, values);
  if (formula->parts.empty() && !formula->value.is_constant()) values.push_back(formula->value);
}

void collect(const Factor& factor, std::vector<Dimension>& values) {
  values.insert(values.end(), factor.indices.begin(), factor.indices.end());
  for (const Bound& variable : factor.bound) values.push_back(variable.extent);
  collect(factor.domain, values);
  for (const Polynomial& argument : factor.arguments)
    for (const Term& term : argument.terms) collect(term, values);
}

void collect(const Term& term, std::vector<Dimension>& values) {
  for (const Bound& variable : term.bound) values.push_back(variable.extent);
  collect(term.domain, values);
  for (const FactorPointer& factor : term.factors) collect(*factor, values);
}

std::vector<Dimension> dimensions_of(const Reduction& reduction) {
  std::vector<Dimension> values = reduction.indices;
  for (const Bound& variable : reduction.bound) values.push_back(variable.extent);
  collect(reduction.domain, values);
  for (const Term& term : reduction.terms) collect(term, values);
  return values;
}

/// Quotients, also inside of each other.
void collect_quotients(const Dimension& value, std::vector<Dimension::AtomPointer>& quotients) {
  for (const Dimension::Term& term : value.terms())
    for (const Dimension::AtomPointer& atom : term.atoms) {
      if (atom->kind == AtomKind::symbol) continue;
      if (atom->kind == AtomKind::floor_div) quotients.push_back(atom);
      collect_quotients(atom->left, quotients);
      collect_quotients(atom->right, quotients);
    }
}

/// The reduction with values for variables that it does not bind any more.
Reduction replaced(const Reduction& reduction, const DimensionBindings& bindings) {
  Reduction result = reduction;
  for (Bound& variable : result.bound) variable.extent = substituted(variable.extent, bindings);
  result.domain = substitute(result.domain, bindings);
  for (Term& term : result.terms) term = substitute(term, bindings);
  for (Dimension& index : result.indices) index = substituted(index, bindings);
  return result;
}

Reduction simplified(Reduction reduction, const Ranges& outer) {
  Ranges ranges = outer;
  ranges.add(reduction.bound);
  const auto simple = [&ranges](const Dimension& value) { return ranges.simplified(value); };
  reduction.domain = mapped(reduction.domain, simple);
  for (Term& term : reduction.terms) term = index::simplified(term, ranges);
  for (Dimension& index : reduction.indices) index = simple(index);
  return reduction;
}

std::string unused_name(std::string name, const Reduction& reduction) {
  std::map<std::string, int> used;
  for (const Dimension& value : dimensions_of(reduction)) collect_all_symbols(value, used);
  for (const Bound& variable : reduction.bound) used[variable.name] = 1;
  std::set<std::string> inner;
  for (const Term& term : reduction.terms) collect_names(term, inner);
  do name += "h";
  while (used.contains(name) || inner.contains(name));
  return name;
}

// ---- Splitting --------------------------------------------------------------------------------

/// v < q*d is u*d + w with u < q, w < d: the name of w stays v.
std::optional<Reduction> with_one_split(const Reduction& reduction, const Ranges& ranges) {
  const std::vector<Dimension> values = dimensions_of(reduction);
  for (std::size_t i = 0; i < reduction.bound.size(); ++i) {
    const Bound& v = reduction.bound[i];
    for (const Dimension& d : wanted_splits(values, v)) {
      const std::string name = unused_name(v.name, reduction);
      const Dimension u = Dimension::symbol(name), w = Dimension::symbol(v.name);
      Reduction result = replaced(reduction, {{v.name, u * d + w}});
      result.bound[i] = {v.name, d};
      result.bound.insert(result.bound.begin() + static_cast<long>(i),
                          {name, *exact_div(v.extent, d)});
      return simplified(std::move(result), ranges);
    }
  }
  return std::nullopt;
}

// ---- Joining ----------------------------------------------------------------------------------

/// u and w < d occur as u*d + w only.
bool are_one(const std::vector<Dimension>& values, const Bound& u, const Bound& w) {
  bool is_mentioned = false;
  for (const Dimension& value : values) {
    if (!mentions(value, u.name) && !mentions(value, w.name)) continue;
    const DimensionBindings joined = {
        {w.name, Dimension::symbol(w.name) - Dimension::symbol(u.name) * w.extent}};
    if (mentions(substituted(value, joined), u.name)) return false;
    is_mentioned = true;
  }
  return is_mentioned;
}

std::optional<Reduction> with_one_join(const Reduction& reduction, const Ranges& ranges) {
  if (reduction.bound.size() < 2) return std::nullopt;
  const std::vector<Dimension> values = dimensions_of(reduction);
  for (std::size_t i = 0; i < reduction.bound.size(); ++i)
    for (std::size_t j = 0; j < reduction.bound.size(); ++j) {
      const Bound &u = reduction.bound[i], &w = reduction.bound[j];
      if (i == j || mentions(w.extent, u.name) || mentions(u.extent, w.name)) continue;
      if (lower_bound(w.extent).value_or(-1) < 0) continue;
      if (!are_one(values, u, w)) continue;
      // The name of the variable for both is that of w.
      const Dimension both = Dimension::symbol(w.name);
      Reduction result =
          replaced(reduction, {{w.name, both - Dimension::symbol(u.name) * w.extent}});
      result.bound[j].extent = u.extent * w.extent;
      result.bound.erase(result.bound.begin() + static_cast<long>(i));
      return simplified(std::move(result), ranges);
    }
  return std::nullopt;
}

// ---- Congruences ------------------------------------------------------------------------------

std::vector<Formula> conjuncts(const Formula& formula) {
  if (formula->kind == Kind::conjunction) return formula->parts;
  return {formula};
}

/// e, if the condition says that s divides it: e - s * floor(e / s) == 0.
std::optional<Dimension> divided(const Formula& condition, const Dimension::Atom& quotient) {
  if (condition->kind != Kind::zero) return std::nullopt;
  const Dimension rest = quotient.left - quotient.right * floor_div(quotient.left, quotient.right);
  if (condition->value == rest || condition->value == Dimension(0) - rest) return quotient.left;
  return std::nullopt;
}

/// What the conditions say of a quotient: 0 <= quotient + shift < limit.
struct Range {
  Dimension shift, limit;
};

bool is_of_sizes(const Dimension& value) {
  std::map<std::string, int> symbols;
  collect_all_symbols(value, symbols);
  return std::none_of(symbols.begin(), symbols.end(),
                      [](const auto& symbol) { return symbol.first.starts_with("_"); });
}

std::optional<Range> range_of(const Dimension& quotient, const std::vector<Formula>& conditions,
                              const std::vector<Bound>& bound) {
  const auto is_free = [&bound](const Dimension& value) {
    return std::none_of(bound.begin(), bound.end(),
                        [&value](const Bound& other) { return mentions(value, other.name); });
  };
  std::vector<Dimension> shifts;
  if (lower_bound(quotient).value_or(-1) >= 0) shifts.push_back(0);
  for (const Formula& condition : conditions)
    if (condition->kind == Kind::nonnegative && is_free(condition->value - quotient))
      shifts.push_back(condition->value - quotient);
  for (const Dimension& shift : shifts)
    for (const Formula& condition : conditions) {
      if (condition->kind != Kind::nonnegative) continue;
      const Dimension limit = condition->value + quotient + shift + 1;
      if (is_of_sizes(limit)) return Range{shift, limit};
    }
  return std::nullopt;
}

/// The sums over v where s divides e = sign * v + r, as one over q = e / s + shift.
std::optional<Reduction> over_quotient(const Reduction& reduction, std::size_t position,
                                       const Dimension& e, const Dimension& s, const Range& range) {
  const Bound v = reduction.bound[position];
  const auto sign = factor_of(e, v.name);
  if (!sign || (!sign->is(1) && !sign->is(-1)) || mentions(s, v.name)) return std::nullopt;
  for (const Bound& other : reduction.bound)
    if (mentions(other.extent, v.name)) return std::nullopt;
  const std::string name = unused_name(v.name, reduction);
  const Dimension rest = e - *sign * Dimension::symbol(v.name);
  const Dimension value = *sign * (s * (Dimension::symbol(name) - range.shift) - rest);
  Reduction result = replaced(reduction, {{v.name, value}});
  result.bound[position] = {name, range.limit};
  result.domain = conjunction({result.domain, less_equal(0, value), less(value, v.extent)});
  return result;
}

std::optional<Reduction> without_one_congruence(const Reduction& reduction, const Ranges& ranges) {
  const std::vector<Formula> conditions = conjuncts(reduction.domain);
  for (const Formula& condition : conditions) {
    if (condition->kind != Kind::zero) continue;
    std::vector<Dimension::AtomPointer> quotients;
    collect_quotients(condition->value, quotients);
    for (const Dimension::AtomPointer& quotient : quotients) {
      const auto e = divided(condition, *quotient);
      if (!e) continue;
      const auto range = range_of(floor_div(*e, quotient->right), conditions, reduction.bound);
      if (!range) continue;
      for (std::size_t i = 0; i < reduction.bound.size(); ++i)
        if (auto result = over_quotient(reduction, i, *e, quotient->right, *range))
          return simplified(std::move(*result), ranges);
    }
  }
  return std::nullopt;
}

// ---- Determined variables ---------------------------------------------------------------------

/// 0 <= a - d*q < d leaves one value: q = floor(a / d).
std::optional<Reduction> without_one_determined(const Reduction& reduction, const Ranges& ranges) {
  const std::vector<Formula> conditions = conjuncts(reduction.domain);
  for (std::size_t i = 0; i < reduction.bound.size(); ++i) {
    const Bound q = reduction.bound[i];
    for (const Formula& lower : conditions) {
      if (lower->kind != Kind::nonnegative) continue;
      const auto factor = factor_of(lower->value, q.name);
      if (!factor || factor->is(0)) continue;
      const Dimension d = Dimension(0) - *factor;
      if (lower_bound(d).value_or(0) < 1) continue;
      const auto upper =
          std::find_if(conditions.begin(), conditions.end(), [&](const Formula& other) {
            return other->kind == Kind::nonnegative && other->value == d - 1 - lower->value;
          });
      if (upper == conditions.end()) continue;
      Reduction rest = reduction;
      rest.bound.erase(rest.bound.begin() + static_cast<long>(i));
      std::vector<Formula> others;
      for (const Formula& other : conditions)
        if (other != lower && other != *upper) others.push_back(other);
      rest.domain = conjunction(std::move(others));
      const Dimension a = lower->value + d * Dimension::symbol(q.name);
      Ranges inner = ranges;
      inner.add(rest.bound);
      const Dimension value = inner.quotient(a, d);
      const bool is_free =
          std::none_of(rest.bound.begin(), rest.bound.end(),
                       [&](const Bound& other) { return mentions(other.extent, q.name); });
      if (!is_free || mentions(value, q.name)) continue;
      Reduction result = replaced(rest, {{q.name, value}});
      result.domain = conjunction({result.domain, less_equal(0, value), less(value, q.extent)});
      return simplified(std::move(result), ranges);
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Dimension> wanted_splits(const std::vector<Dimension>& values, const Bound& variable) {
  std::vector<Dimension::AtomPointer> quotients;
  for (const Dimension& value : values)
    if (mentions(value, variable.name)) collect_quotients(value, quotients);
  std::vector<Dimension> result;
  for (const Dimension::AtomPointer& atom : quotients) {
    const auto factor = factor_of(atom->left, variable.name);
    if (!factor || !factor->is(1)) continue;
    const auto count = exact_div(variable.extent, atom->right);
    if (!count || count->is(1) || atom->right.is(1)) continue;
    const bool of_sizes = is_of_sizes(atom->right);
    // A size: the split has as many values also where one of both parts has none.
    if (of_sizes && lower_bound(atom->right).value_or(-1) >= 0 &&
        std::find(result.begin(), result.end(), atom->right) == result.end())
      result.push_back(atom->right);
  }
  return result;
}

std::vector<Dimension> dimensions_of(const Polynomial& value, const Formula& guard) {
  std::vector<Dimension> values;
  collect(guard, values);
  for (const Term& term : value.terms) collect(term, values);
  return values;
}

Reduction with_normal_variables(Reduction reduction, const Ranges& ranges) {
  if (reduction.bound.empty()) return reduction;
  constexpr int most_steps = 16;
  for (int step = 0; step < most_steps; ++step) {
    std::optional<Reduction> next = without_one_congruence(reduction, ranges);
    if (!next) next = without_one_determined(reduction, ranges);
    if (!next) next = with_one_split(reduction, ranges);
    if (!next) next = with_one_join(reduction, ranges);
    if (!next) break;
    reduction = std::move(*next);
  }
  return reduction;
}

Term with_normal_variables(const Term& term, const Ranges& ranges) {
  if (term.bound.empty()) return term;
  Reduction reduction;
  reduction.bound = term.bound;
  reduction.domain = term.domain;
  reduction.terms = {term};
  reduction.terms[0].bound.clear();
  reduction.terms[0].domain = always();
  reduction = with_normal_variables(std::move(reduction), ranges);
  Term result = std::move(reduction.terms[0]);
  result.bound = std::move(reduction.bound);
  result.domain = both(result.domain, reduction.domain);
  return finished(std::move(result));
}

Factor with_normal_variables(const Factor& factor, const Ranges& ranges) {
  if (factor.bound.empty()) return factor;
  Reduction reduction;
  reduction.bound = factor.bound;
  reduction.domain = factor.domain;
  reduction.terms = factor.arguments[0].terms;
  reduction = with_normal_variables(std::move(reduction), ranges);
  Factor result = factor;
  result.bound = std::move(reduction.bound);
  result.domain = std::move(reduction.domain);
  result.arguments = {polynomial(std::move(reduction.terms))};
  return result;
}

}  // namespace lemma::verifier::index
