#include "verifier/index/greatest.h"

#include <algorithm>
#include <map>
#include <optional>

#include "verifier/index/reindexing.h"
#include "verifier/index/sign.h"
#include "verifier/index/solver.h"

namespace lemma::verifier::index {
namespace {

// ---- Whether the set is empty -----------------------------------------------------------------

bool mentions(const Dimension& value, const std::string& name) {
  std::map<std::string, int> symbols;
  collect_all_symbols(value, symbols);
  return symbols.contains(name);
}

}  // namespace

Dimension least_value(const std::vector<Bound>& bound, const Formula& domain,
                      const Bound& variable) {
  const Dimension v = Dimension::symbol(variable.name);
  Dimension result;
  const bool many = domain->kind == FormulaNode::Kind::conjunction;
  for (const Formula& part : many ? domain->parts : std::vector<Formula>{domain}) {
    if (part->kind != FormulaNode::Kind::nonnegative) continue;
    const Dimension e = v - part->value;
    const bool is_free = std::none_of(bound.begin(), bound.end(),
                                      [&e](const Bound& other) { return mentions(e, other.name); });
    if (is_free) result = maximum(result, e);
  }
  return result;
}

namespace {

bool is_in_domain(const Factor& factor, const DimensionBindings& values,
                  const std::vector<Formula>& known) {
  std::vector<Formula> goals;
  for (const Bound& variable : factor.bound) {
    goals.push_back(less_equal(0, values.at(variable.name)));
    goals.push_back(less(values.at(variable.name), variable.extent));
  }
  goals.push_back(substitute(factor.domain, values));
  return entails(known, conjunction(std::move(goals)));
}

/// Whether the first element of all ranges is in the domain, or the least that its lower bounds
/// allow.
bool is_inhabited(const Factor& factor, const std::vector<Formula>& known) {
  DimensionBindings first, least;
  for (const Bound& variable : factor.bound) {
    first[variable.name] = 0;
    least[variable.name] = least_value(factor.bound, factor.domain, variable);
  }
  return is_in_domain(factor, first, known) || is_in_domain(factor, least, known);
}

// ---- The maximum by those of simpler elements -------------------------------------------------

bool is_exponential(const Factor* factor) {
  return factor != nullptr && factor->kind == Factor::Kind::function &&
         factor->function == ScalarFunction::exp;
}

class Greatest {
 public:
  /// `ranges` are those of free variables.
  explicit Greatest(const Ranges& ranges) : ranges_(ranges) {}

  Polynomial of(Factor factor, const Polynomial& value) {
    // max(a + b) = max(a) + b for what does not depend on the variables.
    std::vector<Term> held, free;
    for (const Term& term : value.terms)
      (depends_on(term, factor.bound) ? held : free).push_back(term);
    if (!held.empty() && !free.empty())
      return add(of(factor, polynomial(std::move(held))), polynomial(std::move(free)));
    if (held.empty() && factor.inhabited) return value;
    const Factor* inner = only_factor(value);
    if (inner != nullptr && inner->kind == Factor::Kind::greatest) {
      factor.bound.insert(factor.bound.end(), inner->bound.begin(), inner->bound.end());
      factor.domain = both(factor.domain, inner->domain);
      factor.inhabited = false;  // not known
      factor.arguments = inner->arguments;
      return of_factor(with_normal_variables(factor, ranges_));
    }
    if (auto result = of_sum_with_maximum(factor, value)) return std::move(*result);
    if (factor.inhabited && is_exponential(inner))
      return apply(ScalarFunction::exp, of(factor, inner->arguments[0]));
    if (factor.inhabited && value.terms.size() == 1 && value.terms[0].is_plain())
      if (auto result = of_product(factor, value.terms[0])) return std::move(*result);
    factor.arguments = {value};
    return of_factor(with_normal_variables(factor, ranges_));
  }

 private:
  /// max(a + c * max(u, v)) = max(max(a + c * u), max(a + c * v)) for c > 0.
  std::optional<Polynomial> of_sum_with_maximum(const Factor& factor, const Polynomial& value) {
    for (std::size_t i = 0; i < value.terms.size(); ++i) {
      const Term& term = value.terms[i];
      if (term.coefficient < 0 || !term.is_plain() || term.factors.size() != 1 ||
          term.factors[0]->kind != Factor::Kind::maximum)
        continue;
      std::vector<Term> others = value.terms;
      others.erase(others.begin() + static_cast<long>(i));
      const Polynomial rest = polynomial(std::move(others));
      std::optional<Polynomial> result;
      for (const Polynomial& argument : term.factors[0]->arguments) {
        const Polynomial branch = of(factor, add(rest, scale(argument, term.coefficient)));
        result = result ? maximum(*result, branch) : branch;
      }
      return result;
    }
    return std::nullopt;
  }

  /// Over a set that is not empty: max(c * a) = c * max(a) for a c that is not negative and does
  /// not depend on the variables, max(a^n) = max(a)^n for an odd n or an a that is not negative.
  std::optional<Polynomial> of_product(const Factor& factor, const Term& term) {
    if (term.coefficient < 0) return std::nullopt;
    Term outside, inside;
    outside.coefficient = term.coefficient;
    for (const FactorPointer& part : term.factors) {
      Term alone;
      alone.factors = {part};
      const bool stays = depends_on(alone, factor.bound) || !is_nonnegative(*part);
      (stays ? inside : outside).factors.push_back(part);
    }
    const bool is_power =
        inside.factors.size() > 1 &&
        (inside.factors.size() % 2 == 1 || is_nonnegative(*inside.factors[0])) &&
        std::all_of(inside.factors.begin(), inside.factors.end(), [&](const FactorPointer& part) {
          return part->text == inside.factors[0]->text;
        });
    if (outside.coefficient == 1 && outside.factors.empty() && !is_power) return std::nullopt;
    const std::size_t exponent = is_power ? inside.factors.size() : 1;
    if (is_power) inside.factors.resize(1);
    const Polynomial base = of(factor, polynomial({finished(std::move(inside))}));
    Polynomial result = polynomial({finished(std::move(outside))});
    for (std::size_t i = 0; i < exponent; ++i) result = multiply(result, base);
    return result;
  }

  const Ranges& ranges_;
};

}  // namespace

Polynomial greatest_over(std::vector<Bound> bound, Formula domain, const Polynomial& value,
                         const std::vector<Formula>& known) {
  Factor factor;
  factor.kind = Factor::Kind::greatest;
  factor.bound = std::move(bound);
  factor.domain = std::move(domain);
  factor.inhabited = is_inhabited(factor, known);
  const Ranges ranges(known);
  return Greatest(ranges).of(std::move(factor), value);
}

}  // namespace lemma::verifier::index
