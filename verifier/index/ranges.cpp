#include "verifier/index/ranges.h"

#include <algorithm>

namespace lemma::verifier::index {
namespace {

bool is_variable(const std::string& name) { return name.starts_with("_"); }

bool mentions_variables(const Dimension& value) {
  std::map<std::string, int> symbols;
  collect_all_symbols(value, symbols);
  return std::any_of(symbols.begin(), symbols.end(),
                     [](const auto& symbol) { return is_variable(symbol.first); });
}

bool mentions_variables(const Dimension::Atom& atom) {
  if (atom.kind == AtomKind::symbol) return is_variable(atom.symbol);
  return mentions_variables(atom.left) || mentions_variables(atom.right);
}

bool is_nonnegative_size(const Dimension& value) {
  const auto least = lower_bound(value);
  return least && *least >= 0;
}

bool has_quotients(const Dimension& value) {
  for (const Dimension::Term& term : value.terms())
    for (const Dimension::AtomPointer& atom : term.atoms)
      if (atom->kind != AtomKind::symbol) return true;
  return false;
}

}  // namespace

std::vector<GroupedTerm> grouped(const Dimension& value) {
  std::vector<GroupedTerm> result;
  const auto add = [&result](const Dimension& variables, const Dimension& factor) {
    for (GroupedTerm& term : result)
      if (term.variables == variables) {
        term.factor = term.factor + factor;
        return;
      }
    result.push_back({variables, factor});
  };
  if (value.offset() != 0) add(1, value.offset());
  for (const Dimension::Term& term : value.terms()) {
    Dimension variables(1), factor(term.coefficient);
    for (const Dimension::AtomPointer& atom : term.atoms)
      (mentions_variables(*atom) ? variables : factor) =
          (mentions_variables(*atom) ? variables : factor) * of_atom(*atom);
    add(variables, factor);
  }
  return result;
}

std::optional<Dimension> factor_of(const Dimension& value, const std::string& variable) {
  Dimension result;
  const Dimension v = Dimension::symbol(variable);
  for (const Dimension::Term& term : value.terms()) {
    Dimension rest(term.coefficient);
    bool is_multiple = false;
    for (const Dimension::AtomPointer& atom : term.atoms) {
      if (!is_multiple && atom->kind == AtomKind::symbol && atom->symbol == variable) {
        is_multiple = true;
        continue;
      }
      rest = rest * of_atom(*atom);
    }
    std::map<std::string, int> symbols;
    collect_all_symbols(rest, symbols);
    if (symbols.contains(variable)) return std::nullopt;
    if (is_multiple) result = result + rest;
  }
  return result;
}

Ranges::Ranges(const std::vector<Formula>& facts) {
  for (const Formula& fact : facts) add(fact);
}

void Ranges::add(const Formula& fact) {
  if (fact->kind == FormulaNode::Kind::conjunction)
    for (const Formula& part : fact->parts) add(part);
  if (fact->kind != FormulaNode::Kind::nonnegative) return;
  for (const Dimension::Term& term : fact->value.terms()) {
    if (term.coefficient != -1 || term.atoms.size() != 1) continue;
    const Dimension::Atom& atom = *term.atoms[0];
    if (atom.kind != AtomKind::symbol || !is_variable(atom.symbol)) continue;
    const Dimension extent = fact->value + Dimension::symbol(atom.symbol) + 1;
    if (!mentions_variables(extent)) extents_.emplace(atom.symbol, extent);
    return;
  }
}

void Ranges::add(const std::vector<Bound>& bound) {
  for (const Bound& variable : bound) {
    extents_.erase(variable.name);
    if (!mentions_variables(variable.extent)) extents_.emplace(variable.name, variable.extent);
  }
}

const Dimension* Ranges::extent(const std::string& variable) const {
  const auto entry = extents_.find(variable);
  return entry == extents_.end() ? nullptr : &entry->second;
}

/// The greatest value, or the least one negated.
std::optional<Dimension> Ranges::bound(const Dimension& value, int sign) const {
  Dimension result;
  for (const GroupedTerm& term : grouped(value)) {
    const Dimension factor = Dimension(sign) * term.factor;
    if (term.variables.is(1)) {
      result = result + factor;
      continue;
    }
    const auto low = lower_bound(term.variables);
    if (!low || *low < 0) return std::nullopt;
    if (is_nonnegative_size(Dimension(0) - factor)) continue;  // at most 0
    if (!is_nonnegative_size(factor) || term.variables.terms().size() != 1) return std::nullopt;
    Dimension most = factor;
    for (const Dimension::AtomPointer& atom : term.variables.terms()[0].atoms) {
      const Dimension* limit = atom->kind == AtomKind::symbol ? extent(atom->symbol) : nullptr;
      if (limit == nullptr) return std::nullopt;
      most = most * (*limit - 1);
    }
    result = result + most;
  }
  return result.is_valid() ? std::optional(result) : std::nullopt;
}

std::optional<Dimension> Ranges::greatest(const Dimension& value) const { return bound(value, 1); }

std::optional<Dimension> Ranges::least(const Dimension& value) const {
  const auto result = bound(value, -1);
  return result ? std::optional(Dimension(0) - *result) : std::nullopt;
}

bool Ranges::is_below(const Dimension& value, const Dimension& limit) const {
  const auto low = least(value), high = greatest(value);
  return low && high && is_nonnegative_size(*low) && is_nonnegative_size(limit - 1 - *high);
}

/// floor((d * x + r) / (d * y)) = floor(x / y) for 0 <= r < d, where d is the extent of a variable of r.
std::optional<Dimension> Ranges::split_quotient(const Dimension& a, const Dimension& b) const {
  const std::vector<GroupedTerm> terms = grouped(a);
  for (const GroupedTerm& candidate : terms) {
    const auto name = candidate.variables.as_symbol();
    const Dimension* d = name ? extent(*name) : nullptr;
    const auto rest_of_divisor = d == nullptr || d->is_constant() ? std::nullopt : exact_div(b, *d);
    if (!rest_of_divisor || rest_of_divisor->is(1)) continue;
    Dimension x, r;
    for (const GroupedTerm& term : terms) {
      const auto multiple = exact_div(term.factor, *d);
      if (multiple)
        x = x + term.variables * *multiple;
      else
        r = r + term.variables * term.factor;
    }
    if (x.is(0) || !is_below(r, *d)) continue;
    return quotient(x, *rest_of_divisor);
  }
  return std::nullopt;
}

Dimension Ranges::quotient(const Dimension& a, const Dimension& b) const {
  Dimension whole, rest;
  for (const GroupedTerm& term : grouped(a)) {
    const auto multiple = exact_div(term.factor, b);
    if (multiple)
      whole = whole + term.variables * *multiple;
    else
      rest = rest + term.variables * term.factor;
  }
  if (rest.is(0)) return whole;
  for (const std::int64_t t : {0, -1, 1})
    if (is_below(rest - Dimension(t) * b, b)) return whole + Dimension(t);
  if (const auto split = split_quotient(rest, b)) return whole + *split;
  return whole + floor_div(rest, b);
}

Dimension Ranges::simplified(const Dimension& value) const {
  if (!has_quotients(value)) return value;
  Dimension result(value.offset());
  for (const Dimension::Term& term : value.terms()) {
    Dimension monomial(term.coefficient);
    for (const Dimension::AtomPointer& atom : term.atoms) {
      const bool is_quotient = atom->kind == AtomKind::floor_div;
      monomial =
          monomial * (is_quotient ? quotient(simplified(atom->left), atom->right) : of_atom(*atom));
    }
    result = result + monomial;
  }
  return result.is_valid() ? result : value;
}

Formula mapped(const Formula& formula, const DimensionMap& map) {
  using Kind = FormulaNode::Kind;
  std::vector<Formula> parts;
  switch (formula->kind) {
    case Kind::truth:
    case Kind::falsity:
    case Kind::element: return formula;
    case Kind::nonnegative: return is_nonnegative(map(formula->value));
    case Kind::zero: return is_zero(map(formula->value));
    case Kind::conjunction:
    case Kind::disjunction: break;
  }
  for (const Formula& part : formula->parts) parts.push_back(mapped(part, map));
  return formula->kind == Kind::conjunction ? conjunction(std::move(parts))
                                            : disjunction(std::move(parts));
}

namespace {

/// The ranges inside a reduction.
Ranges inside(const Ranges& ranges, const std::vector<Bound>& bound) {
  Ranges result = ranges;
  result.add(bound);
  return result;
}

Formula simplified(const Formula& formula, const Ranges& ranges) {
  return mapped(formula, [&ranges](const Dimension& value) { return ranges.simplified(value); });
}

}  // namespace

Factor simplified(const Factor& factor, const Ranges& outer) {
  Factor result = factor;
  const Ranges ranges = factor.bound.empty() ? outer : inside(outer, factor.bound);
  for (Dimension& index : result.indices) index = ranges.simplified(index);
  for (Polynomial& argument : result.arguments) argument = simplified(argument, ranges);
  result.domain = simplified(result.domain, ranges);
  return *finished(std::move(result));
}

Term simplified(const Term& term, const Ranges& outer) {
  Term result = term;
  const Ranges ranges = term.bound.empty() ? outer : inside(outer, term.bound);
  for (FactorPointer& factor : result.factors) factor = finished(simplified(*factor, ranges));
  result.domain = simplified(result.domain, ranges);
  return finished(std::move(result));
}

Polynomial simplified(const Polynomial& value, const Ranges& ranges) {
  std::vector<Term> terms;
  for (const Term& term : value.terms) terms.push_back(simplified(term, ranges));
  return polynomial(std::move(terms));
}

}  // namespace lemma::verifier::index
