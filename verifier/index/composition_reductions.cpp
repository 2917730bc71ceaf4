// Sums, products and maxima of definitions (declared in verifier/index/composer.h).

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "verifier/index/composer.h"
#include "verifier/index/elimination.h"
#include "verifier/index/greatest.h"
#include "verifier/index/reindexing.h"
#include "verifier/index/solver.h"

namespace lemma::verifier::index {
namespace {

bool mentions(const Formula& formula, const std::set<std::string>& names) {
  std::map<std::string, int> symbols;
  collect_symbols(formula, symbols);
  return std::any_of(names.begin(), names.end(),
                     [&symbols](const std::string& name) { return symbols.contains(name); });
}

/// The conjuncts with and without the names.
struct SplitGuard {
  Formula outer, inner;
};
SplitGuard split_guard(const Formula& guard, const std::set<std::string>& names) {
  std::vector<Formula> outer, inner;
  const bool many = guard->kind == FormulaNode::Kind::conjunction;
  for (const Formula& part : many ? guard->parts : std::vector<Formula>{guard})
    (mentions(part, names) ? inner : outer).push_back(part);
  return {conjunction(std::move(outer)), conjunction(std::move(inner))};
}

}  // namespace

Composer::Body Composer::body_of(Scope scope, const ExpressionNode& node, const Formula& path,
                                 int width) {
  Body body;
  for (const VariableId variable : node.bound) {
    const Dimension& extent = scope.definition.extent(variable);
    if (extent.is(1)) {
      scope.variables[variable.v] = 0;
      continue;
    }
    body.bound.push_back({names_.fresh(), extent});
    body.names.insert(body.bound.back().name);
    scope.variables[variable.v] = Dimension::symbol(body.bound.back().name);
  }
  body.path = both(path, ranges(body.bound));
  const std::size_t outer = bound_.size();
  bound_.insert(bound_.end(), body.bound.begin(), body.bound.end());
  body.pieces = real(scope, node.operands[0], body.path, width);
  bound_.resize(outer);
  return body;
}

Pieces Composer::sum(const Scope& scope, const ExpressionNode& node, const Formula& path,
                     int width) {
  const Body body = body_of(scope, node, path, width);
  Pieces result;
  for (const Formula& outer : outer_conditions(body)) {
    Polynomial value = number(0);
    for (const Piece& piece : body.pieces) {
      if (is_infinite(piece.value)) throw Unsupported("a sum of infinities");
      const Formula inner = under(piece.guard, outer);
      for (const Term& term : piece.value.terms) {
        Term whole = term;
        whole.bound.insert(whole.bound.begin(), body.bound.begin(), body.bound.end());
        whole.domain = both(term.domain, inner);
        value = add(value, summed(std::move(whole), path));
      }
    }
    result.push_back({outer, std::move(value)});
  }
  return result;
}

Polynomial Composer::summed(Term term, const Formula& path) const {
  std::vector<Formula> known = facts_;
  known.push_back(path);
  known.push_back(result_.range);
  const IsPositive is_positive = [this](const Dimension& value) {
    return entails(facts_, less(0, value));
  };
  term =
      with_normal_variables(without_single_values(std::move(term), is_positive), ranges_of(path));
  return without_idle_variables(std::move(term), known);
}

std::vector<Formula> Composer::outer_conditions(const Body& body) {
  std::map<std::string, Formula> outer;
  for (const Piece& piece : body.pieces) {
    const bool many = piece.guard->kind == FormulaNode::Kind::conjunction;
    for (const Formula& part : many ? piece.guard->parts : std::vector<Formula>{piece.guard})
      if (part->kind == FormulaNode::Kind::element && !mentions(part, body.names))
        outer.emplace(part->proposition, part);
  }
  constexpr std::size_t most = 3;
  if (outer.size() > most) return {always()};
  std::vector<Formula> result = {always()};
  for (const auto& [text, formula] : outer) {
    std::vector<Formula> more;
    for (const Formula& before : result) {
      more.push_back(both(before, formula));
      more.push_back(both(before, negation(formula)));
    }
    result = std::move(more);
  }
  return result;
}

Formula Composer::under(const Formula& guard, const Formula& condition) {
  if (is_never(both(guard, condition))) return never();
  const bool many = guard->kind == FormulaNode::Kind::conjunction;
  std::vector<Formula> parts;
  for (const Formula& part : many ? guard->parts : std::vector<Formula>{guard})
    if (both(part, condition)->text != condition->text) parts.push_back(part);
  return conjunction(std::move(parts));
}

Pieces Composer::product(const Scope& scope, const ExpressionNode& node, const Formula& path) {
  if (!is_real(node.type)) throw Unsupported("a product of integers");
  const Body body = body_of(scope, node, path);
  Polynomial result = number(1);
  for (const Piece& piece : body.pieces)
    for (const Polynomial& polynomial : factors_of(piece.value)) {
      if (body.bound.empty() && is_always(piece.guard)) {
        result = multiply(result, polynomial);
        continue;
      }
      Factor factor;
      factor.kind = Factor::Kind::product;
      factor.bound = body.bound;
      factor.domain = piece.guard;
      factor.arguments = {polynomial};
      result = multiply(result, of_factor(std::move(factor)));
    }
  return {{always(), std::move(result)}};
}

std::vector<Polynomial> Composer::factors_of(const Polynomial& value) {
  if (is_infinite(value)) throw Unsupported("a product of infinities");
  if (value.terms.size() != 1 || !value.terms[0].is_plain()) return {value};
  std::vector<Polynomial> result;
  if (value.terms[0].coefficient != 1) result.push_back(whole(value.terms[0].coefficient));
  for (const FactorPointer& factor : value.terms[0].factors) result.push_back(of_factor(*factor));
  return result;
}

Pieces Composer::greatest(const Scope& scope, const ExpressionNode& node, const Formula& path,
                          int sign, bool is_result) {
  const Body body = body_of(scope, node, path);
  if (is_result) note_inhabited(body, path);
  std::map<std::string, std::pair<Formula, std::vector<Piece>>> by_outer;
  for (const Piece& piece : body.pieces) {
    if (is_infinite(piece.value)) {
      if (piece.value.text != number(-sign * HUGE_VAL).text)
        throw Unsupported("an infinity that is not the neutral element");
      continue;
    }
    const SplitGuard guard = split_guard(piece.guard, body.names);
    auto& group = by_outer[guard.outer->text];
    group.first = guard.outer;
    group.second.push_back({guard.inner, piece.value});
  }
  Pieces result;
  Formula rest = always();
  for (const auto& [text, group] : by_outer) {
    for (const Piece& other : result)
      if (!is_never(both(other.guard, group.first)))
        throw Unsupported("a maximum over conditions that do not exclude each other");
    Polynomial value = greatest_of(body, group.second[0], group.first, path, sign);
    for (std::size_t i = 1; i < group.second.size(); ++i)
      value = greater(value, greatest_of(body, group.second[i], group.first, path, sign));
    result.push_back({group.first, std::move(value)});
    rest = both(rest, negation(group.first));
  }
  if (!is_never(rest)) result.push_back({rest, number(-HUGE_VAL)});
  return result;
}

void Composer::note_inhabited(const Body& body, const Formula& path) {
  std::vector<Formula> domains;
  for (const Piece& piece : body.pieces)
    if (!is_infinite(piece.value)) domains.push_back(piece.guard);
  const Formula domain = disjunction(std::move(domains));
  if (body.bound.empty() && is_always(domain)) return;
  result_.inhabited.push_back({path, body.bound, domain, bound_});
}

Polynomial Composer::greatest_of(const Body& body, const Piece& piece, const Formula& outer,
                                 const Formula& path, int sign) {
  const Polynomial value = scale(piece.value, sign);
  if (body.bound.empty() && is_always(piece.guard)) return value;
  // Not under body.path, which says that the ranges are not empty.
  std::vector<Formula> known = facts_;
  known.push_back(both(path, outer));
  known.push_back(result_.range);
  return greatest_over(body.bound, piece.guard, value, known);
}

}  // namespace lemma::verifier::index
