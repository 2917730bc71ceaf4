#include "verifier/index/formula.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma::verifier::index {
namespace {

using Kind = FormulaNode::Kind;

Formula make(Kind kind, Dimension value, std::vector<Formula> parts, std::string text) {
  return std::make_shared<const FormulaNode>(
      FormulaNode{kind, std::move(value), std::move(parts), std::move(text)});
}

Dimension negative(const Dimension& value) { return Dimension(0) - value; }

bool surely_nonnegative(const Dimension& value) {
  const auto bound = lower_bound(value);
  return bound && *bound >= 0;
}

/// Parts of nested formulas of the same kind, sorted by text, each once.
std::vector<Formula> flattened(Kind kind, std::vector<Formula> parts) {
  std::vector<Formula> flat;
  for (Formula& part : parts) {
    if (part->kind == kind)
      flat.insert(flat.end(), part->parts.begin(), part->parts.end());
    else
      flat.push_back(std::move(part));
  }
  std::sort(flat.begin(), flat.end(),
            [](const Formula& a, const Formula& b) { return a->text < b->text; });
  flat.erase(std::unique(flat.begin(), flat.end(),
                         [](const Formula& a, const Formula& b) { return a->text == b->text; }),
             flat.end());
  return flat;
}

std::string joined(const std::vector<Formula>& parts, std::string_view word) {
  std::string text;
  for (const Formula& part : parts) {
    const bool nested = part->kind == Kind::conjunction || part->kind == Kind::disjunction;
    text += text.empty() ? "" : fmt::format(" {} ", word);
    text += nested ? "(" + part->text + ")" : part->text;
  }
  return text;
}

bool has_contradiction(const std::vector<Formula>& parts) {
  for (const Formula& part : parts) {
    if (part->kind != Kind::nonnegative) continue;
    const Formula opposite = negation(part);
    const auto found =
        std::lower_bound(parts.begin(), parts.end(), opposite,
                         [](const Formula& a, const Formula& b) { return a->text < b->text; });
    if (found != parts.end() && (*found)->text == opposite->text) return true;
  }
  return false;
}

}  // namespace

Formula always() {
  static const Formula formula = make(Kind::truth, {}, {}, "true");
  return formula;
}

Formula never() {
  static const Formula formula = make(Kind::falsity, {}, {}, "false");
  return formula;
}

Formula is_nonnegative(const Dimension& value) {
  if (surely_nonnegative(value)) return always();
  if (surely_nonnegative(negative(value) - 1)) return never();
  return make(Kind::nonnegative, value, {}, value.text() + " >= 0");
}

Formula is_zero(const Dimension& value) {
  if (value.is(0)) return always();
  if (surely_nonnegative(value - 1) || surely_nonnegative(negative(value) - 1)) return never();
  // Of d == 0 and -d == 0 one form only.
  const Dimension opposite = negative(value);
  const Dimension& chosen = opposite < value ? opposite : value;
  return make(Kind::zero, chosen, {}, chosen.text() + " == 0");
}

Formula less(const Dimension& a, const Dimension& b) { return is_nonnegative(b - a - 1); }
Formula less_equal(const Dimension& a, const Dimension& b) { return is_nonnegative(b - a); }
Formula equal(const Dimension& a, const Dimension& b) { return is_zero(a - b); }

Formula conjunction(std::vector<Formula> parts) {
  std::vector<Formula> flat = flattened(Kind::conjunction, std::move(parts));
  if (std::any_of(flat.begin(), flat.end(), is_never)) return never();
  std::erase_if(flat, is_always);
  if (flat.empty()) return always();
  if (flat.size() == 1) return flat.front();
  if (has_contradiction(flat)) return never();
  std::string text = joined(flat, "and");
  return make(Kind::conjunction, {}, std::move(flat), std::move(text));
}

Formula disjunction(std::vector<Formula> parts) {
  std::vector<Formula> flat = flattened(Kind::disjunction, std::move(parts));
  if (std::any_of(flat.begin(), flat.end(), is_always)) return always();
  std::erase_if(flat, is_never);
  if (flat.empty()) return never();
  if (flat.size() == 1) return flat.front();
  std::string text = joined(flat, "or");
  return make(Kind::disjunction, {}, std::move(flat), std::move(text));
}

Formula both(const Formula& a, const Formula& b) {
  if (is_always(a)) return b;
  if (is_always(b)) return a;
  return conjunction({a, b});
}

Formula negation(const Formula& formula) {
  std::vector<Formula> parts;
  switch (formula->kind) {
    case Kind::truth: return never();
    case Kind::falsity: return always();
    case Kind::nonnegative: return is_nonnegative(negative(formula->value) - 1);
    case Kind::zero:
      return disjunction(
          {is_nonnegative(formula->value - 1), is_nonnegative(negative(formula->value) - 1)});
    case Kind::conjunction:
    case Kind::disjunction: break;
  }
  for (const Formula& part : formula->parts) parts.push_back(negation(part));
  return formula->kind == Kind::conjunction ? disjunction(std::move(parts))
                                            : conjunction(std::move(parts));
}

Formula substitute(const Formula& formula, const DimensionBindings& bindings) {
  std::vector<Formula> parts;
  switch (formula->kind) {
    case Kind::truth:
    case Kind::falsity: return formula;
    case Kind::nonnegative: return is_nonnegative(lemma::substitute(formula->value, bindings));
    case Kind::zero: return is_zero(lemma::substitute(formula->value, bindings));
    case Kind::conjunction:
    case Kind::disjunction: break;
  }
  for (const Formula& part : formula->parts) parts.push_back(substitute(part, bindings));
  return formula->kind == Kind::conjunction ? conjunction(std::move(parts))
                                            : disjunction(std::move(parts));
}

Formula ranges(const std::vector<Bound>& bound) {
  std::vector<Formula> parts;
  for (const Bound& variable : bound)
    parts.push_back(less(Dimension::symbol(variable.name), variable.extent));
  return conjunction(std::move(parts));
}

void collect_symbols(const Formula& formula, std::map<std::string, int>& counts) {
  lemma::collect_symbols(formula->value, counts);
  for (const Formula& part : formula->parts) collect_symbols(part, counts);
}

}  // namespace lemma::verifier::index
