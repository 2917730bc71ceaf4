#include "verifier/index/formula.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "verifier/index/elements.h"

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

/// Two of the parts are literally opposites. Of comparisons of sizes only inequalities are looked at.
bool has_opposites(const std::vector<Formula>& parts) {
  for (const Formula& part : parts) {
    if (part->kind != Kind::nonnegative && part->kind != Kind::element) continue;
    const Formula opposite = negation(part);
    const auto position =
        std::lower_bound(parts.begin(), parts.end(), opposite,
                         [](const Formula& a, const Formula& b) { return a->text < b->text; });
    if (position != parts.end() && (*position)->text == opposite->text) return true;
  }
  return false;
}

std::size_t length(const std::vector<Formula>& parts) {
  std::size_t sum = 0;
  for (const Formula& part : parts) sum += part->text.size();
  return sum;
}

/// A disjunction about elements where the other parts hold: without what contradicts them, and nothing
/// if one of its ways is given.
std::vector<Formula> with_simpler_ways(const std::vector<Formula>& parts) {
  std::vector<Formula> given, result;
  for (const Formula& part : parts)
    if (part->kind != Kind::disjunction) given.push_back(part);
  if (given.empty() || given.size() == parts.size()) return parts;
  const auto is_given = [&given](const Formula& part) {
    return std::any_of(given.begin(), given.end(),
                       [&part](const Formula& formula) { return formula->text == part->text; });
  };
  for (const Formula& part : parts) {
    if (part->kind != Kind::disjunction || !mentions_elements(part)) {
      result.push_back(part);
      continue;
    }
    std::vector<Formula> ways;
    for (const Formula& way : part->parts) {
      const bool many = way->kind == Kind::conjunction;
      std::vector<Formula> open, all = given;
      for (const Formula& formula : many ? way->parts : std::vector<Formula>{way}) {
        if (!is_given(formula)) open.push_back(formula);
        all.push_back(formula);
      }
      if (!has_opposites(flattened(Kind::conjunction, std::move(all))))
        ways.push_back(conjunction(std::move(open)));
    }
    Formula simpler = disjunction(std::move(ways));
    result.push_back(simpler->text == part->text ? part : std::move(simpler));
  }
  return result;
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
  std::vector<Formula> simpler = with_simpler_ways(flat);
  if (length(simpler) < length(flat)) return conjunction(std::move(simpler));
  if (std::any_of(flat.begin(), flat.end(), is_never)) return never();
  std::erase_if(flat, is_always);
  if (flat.empty()) return always();
  if (flat.size() == 1) return flat.front();
  if (has_opposites(flat)) return never();
  std::string text = joined(flat, "and");
  return make(Kind::conjunction, {}, std::move(flat), std::move(text));
}

Formula disjunction(std::vector<Formula> parts) {
  std::vector<Formula> flat = flattened(Kind::disjunction, std::move(parts));
  if (std::any_of(flat.begin(), flat.end(), is_always)) return always();
  std::erase_if(flat, is_never);
  if (flat.empty()) return never();
  if (flat.size() == 1) return flat.front();
  const bool has_elements = std::any_of(
      flat.begin(), flat.end(), [](const Formula& part) { return part->kind == Kind::element; });
  if (has_elements && has_opposites(flat)) return always();
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
    case Kind::element: return opposite_of_element(formula);
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
    case Kind::nonnegative: return is_nonnegative(substituted(formula->value, bindings));
    case Kind::zero: return is_zero(substituted(formula->value, bindings));
    case Kind::element: return substitute_in_element(formula, bindings);
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
  if (formula->kind == Kind::element) {
    std::set<std::string> names;
    for (const Term& term : formula->element->terms) collect_names(term, names);
    for (const std::string& name : names) ++counts[name];
  }
  collect_all_symbols(formula->value, counts);
  for (const Formula& part : formula->parts) collect_symbols(part, counts);
}

bool mentions_elements(const Formula& formula) {
  return formula->kind == Kind::element ||
         std::any_of(formula->parts.begin(), formula->parts.end(), mentions_elements);
}

}  // namespace lemma::verifier::index
