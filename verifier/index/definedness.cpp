#include "verifier/index/definedness.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "verifier/index/coverage.h"
#include "verifier/index/equality.h"
#include "verifier/index/sign.h"
#include "verifier/index/solver.h"

namespace lemma::verifier::index {
namespace {

/// A size of which the left side takes the inverse is not 0. Inside of a reduction that is known
/// for the first values of its variables, if there are such.
void note_size(Known& known, const PartialApplication& given) {
  if (given.function != "inverse" || given.argument.terms.size() != 1) return;
  const Term& term = given.argument.terms[0];
  if (!term.is_plain()) return;
  for (const FactorPointer& factor : term.factors) {
    if (factor->kind != Factor::Kind::size) continue;
    const Dimension& size = factor->indices[0];
    std::map<std::string, int> symbols;
    collect_all_symbols(size, symbols);
    collect_symbols(given.guard, symbols);
    DimensionBindings first;
    for (const auto& [name, count] : symbols)
      if (name.starts_with("_k")) first[name] = 0;
    known.add(
        disjunction({negation(substitute(given.guard, first)), less(0, substituted(size, first))}));
  }
}

/// Other names for the variables of the reductions around it: they stand for all their values.
PartialApplication renamed_apart(PartialApplication application) {
  DimensionBindings names;
  for (std::size_t i = 0; i < application.bound.size(); ++i) {
    const std::string name = fmt::format("_w{}", i);
    names[application.bound[i].name] = Dimension::symbol(name);
    application.bound[i].name = name;
  }
  application.guard = substitute(application.guard, names);
  application.argument = substitute(application.argument, names);
  application.size = substituted(application.size, names);
  return application;
}

/// Values that variables of the left side's reductions may have to take.
std::vector<Dimension> candidates(const PartialApplication& wanted) {
  std::vector<Dimension> result = {Dimension(0)};
  for (const Bound& variable : wanted.bound) result.push_back(Dimension::symbol(variable.name));
  std::map<std::string, int> symbols;
  collect_symbols(wanted.guard, symbols);
  for (const Term& term : wanted.argument.terms) {
    std::set<std::string> names;
    collect_names(term, names);
    for (const std::string& name : names) symbols[name] = 1;
  }
  for (const auto& [name, count] : symbols)
    if (name.starts_with("_i")) result.push_back(Dimension::symbol(name));
  return result;
}

/// Whether a size is at most another: sizes of tensors that elements are the indices of.
bool is_at_most(const std::vector<Formula>& facts, const Dimension& size, const Dimension& other) {
  return size == other || entails(facts, less_equal(size, other));
}

bool is_given(const Known& known, const PartialApplication& original, const ComposedOutput& left) {
  for (const PartialApplication& other : left.partial)
    if (other.function == original.function && other.argument.text == original.argument.text &&
        other.size == original.size && other.guard->text == original.guard->text)
      return true;
  const PartialApplication wanted = renamed_apart(original);
  std::vector<Formula> facts = known.facts();
  facts.push_back(wanted.guard);
  std::vector<Formula> guards;
  constexpr std::size_t most_choices = 32;
  for (const PartialApplication& other : left.partial) {
    if (other.function != wanted.function) continue;
    for (const Witness& witness : choices(other.bound, candidates(wanted), most_choices)) {
      const Formula guard = substitute(other.guard, witness);
      if (is_never(guard)) continue;
      const Polynomial argument = substitute(other.argument, witness);
      if (argument.text != wanted.argument.text) {
        std::vector<Formula> both_apply = facts;
        both_apply.push_back(guard);
        if (!are_equal(wanted.argument, argument, both_apply)) continue;
      }
      if (!is_at_most(facts, substituted(other.size, witness), wanted.size)) continue;
      guards.push_back(guard);
    }
  }
  return !guards.empty() && entails(facts, disjunction(std::move(guards)));
}

bool is_positive_size(const Known& known, const PartialApplication& wanted) {
  if (wanted.argument.terms.size() != 1) return false;
  const Term& term = wanted.argument.terms[0];
  std::vector<Formula> positive;
  for (const FactorPointer& factor : term.factors) {
    if (factor->kind != Factor::Kind::size) return false;
    positive.push_back(less(0, factor->indices[0]));
  }
  std::vector<Formula> facts = known.facts();
  facts.push_back(wanted.guard);
  return term.is_plain() && term.coefficient > 0 && !positive.empty() &&
         entails(facts, conjunction(std::move(positive)));
}

bool is_nonnegative_value(const Known& known, const Polynomial& value);
bool is_positive_value(const Known& known, const Polynomial& value);

/// A positive number or parameter, an exponential, or the inverse or root of what is positive.
bool is_positive_factor(const Known& known, const Factor& factor) {
  if (factor.kind == Factor::Kind::constant || factor.kind == Factor::Kind::parameter)
    return factor.number > 0;
  if (factor.kind == Factor::Kind::inverse) return is_positive_value(known, factor.arguments[0]);
  if (factor.kind != Factor::Kind::function) return false;
  if (factor.function == ScalarFunction::sqrt) return is_positive_value(known, factor.arguments[0]);
  return factor.function == ScalarFunction::exp;
}

/// Whether a term is positive; sums must not be empty for that.
bool is_positive_term(const Known& known, const Term& term) {
  const bool positive =
      term.coefficient > 0 && is_always(term.domain) &&
      std::all_of(term.factors.begin(), term.factors.end(), [&known](const FactorPointer& factor) {
        return is_positive_factor(known, *factor);
      });
  if (!positive) return false;
  std::vector<Formula> sizes;
  for (const Bound& variable : term.bound) sizes.push_back(less(0, variable.extent));
  return known.implies(conjunction(std::move(sizes)));
}

bool is_positive_value(const Known& known, const Polynomial& value) {
  return is_nonnegative_value(known, value) &&
         std::any_of(value.terms.begin(), value.terms.end(),
                     [&known](const Term& term) { return is_positive_term(known, term); });
}

bool is_nonnegative_value(const Known& known, const Polynomial& value) {
  return std::all_of(value.terms.begin(), value.terms.end(), [&known](const Term& term) {
    if (term.coefficient < 0) return false;
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      // Factors are sorted: equal ones are neighbors.
      if (i + 1 < term.factors.size() && term.factors[i]->text == term.factors[i + 1]->text) {
        ++i;
        continue;
      }
      const Factor& factor = *term.factors[i];
      const bool is_size_of =
          factor.kind == Factor::Kind::function && factor.function == ScalarFunction::absolute;
      if (!is_size_of && !is_positive_factor(known, factor)) return false;
    }
    return true;
  });
}

/// An index that turns out to depend on no element. Symbols are natural numbers only where they are
/// known to be inside of a tensor.
bool is_inside(const Known& known, const PartialApplication& wanted) {
  Dimension index;
  for (const Term& term : wanted.argument.terms) {
    Dimension product(term.coefficient);
    for (const FactorPointer& factor : term.factors) product = product * factor->indices[0];
    index = index + product;
  }
  return !depends_on_elements(index) &&
         known.implies(both(less_equal(0, index), less(index, wanted.size)));
}

/// Squares, absolute and rectified values and exponentials have a root; exponentials, and sums of them that are
/// not empty, a logarithm and an inverse.
bool is_surely_defined(const Known& known, const PartialApplication& wanted) {
  const Polynomial& value = wanted.argument;
  Known inside = known;
  inside.add(wanted.guard);
  if (wanted.function == "index") return is_inside(inside, wanted);
  if (wanted.function == "sqrt")
    return is_nonnegative_value(inside, value) || is_nonnegative(value);
  if (wanted.function != "inverse" && wanted.function != "log") return false;
  if (is_positive_size(known, wanted)) return true;
  return is_positive_value(inside, value);
}

/// The factors, exponentials left out, of an argument that is a plain product.
std::optional<std::set<std::string>> factors_of(const PartialApplication& application) {
  const Polynomial& argument = application.argument;
  if (application.is_bound() || argument.terms.size() != 1 || !argument.terms[0].is_plain())
    return std::nullopt;
  std::set<std::string> result;
  for (FactorPointer factor : argument.terms[0].factors) {
    // |x| is not 0 just where x is not.
    if (factor->kind == Factor::Kind::function && factor->function == ScalarFunction::absolute &&
        factor->arguments[0].terms.size() == 1 && factor->arguments[0].terms[0].is_plain() &&
        factor->arguments[0].terms[0].factors.size() == 1)
      factor = factor->arguments[0].terms[0].factors[0];
    if (factor->kind != Factor::Kind::function || factor->function != ScalarFunction::exp)
      result.insert(factor->text);
  }
  return result;
}

/// Each factor of the argument is by itself an argument of the function on the left side.
bool is_product_of_given(const Known& known, const PartialApplication& wanted,
                         const ComposedOutput& left) {
  const Polynomial& argument = wanted.argument;
  if (wanted.is_bound() || argument.terms.size() != 1 || !argument.terms[0].is_plain() ||
      argument.terms[0].coefficient < 0)
    return false;
  const std::vector<FactorPointer>& factors = argument.terms[0].factors;
  return std::all_of(factors.begin(), factors.end(), [&](const FactorPointer& factor) {
    return std::any_of(
        left.partial.begin(), left.partial.end(), [&](const PartialApplication& other) {
          return other.function == wanted.function && other.argument.text == factor->text &&
                 !other.is_bound() && known.implies(other.guard);
        });
  });
}

/// 1 / (a * b) is defined where 1 / a and 1 / b are, and the root of a * b where those of a and b
/// are; and 1 / a where 1 / (a * b) is.
bool follows(const Known& known, const PartialApplication& wanted, const ComposedOutput& left) {
  if (wanted.function == "sqrt") return is_product_of_given(known, wanted, left);
  if (wanted.function != "inverse") return false;
  const auto needed = factors_of(wanted);
  if (!needed) return false;
  std::set<std::string> given;
  for (const PartialApplication& other : left.partial) {
    if (other.function != "inverse" || !known.implies(other.guard)) continue;
    if (const auto factors = factors_of(other)) given.insert(factors->begin(), factors->end());
  }
  return std::includes(given.begin(), given.end(), needed->begin(), needed->end());
}

/// A function is applied where its argument has the sign that it needs: that of other arguments
/// follows by real arithmetic.
std::optional<Claim> claim_of(const PartialApplication& application) {
  if (application.is_bound()) return std::nullopt;
  if (application.function == "inverse") return Claim{application.argument, Claim::Kind::nonzero};
  if (application.function == "log") return Claim{application.argument, Claim::Kind::positive};
  if (application.function == "sqrt") return Claim{application.argument, Claim::Kind::nonnegative};
  return std::nullopt;
}

bool follows_by_arithmetic(const Known& known, const PartialApplication& wanted,
                           const ComposedOutput& left) {
  const auto goal = claim_of(wanted);
  if (!goal) return false;
  std::vector<Formula> facts = known.facts();
  facts.push_back(wanted.guard);
  std::vector<Claim> given;
  for (const PartialApplication& other : left.partial)
    if (auto claim = claim_of(other); claim && entails(facts, other.guard))
      given.push_back(std::move(*claim));
  return !given.empty() && index::follows(given, *goal, facts);
}

}  // namespace

void note_sizes(Known& known, const ComposedOutput& given) {
  for (const PartialApplication& application : given.partial) note_size(known, application);
}

std::optional<std::string> check_definedness(Known known, const ComposedOutput& left,
                                             const ComposedOutput& right,
                                             std::set<std::uint32_t>& reads_more) {
  note_sizes(known, left);
  note_inhabited(known, left.inhabited);
  const std::set<std::uint32_t> uncovered = uncovered_inputs(known, left.reads, right.reads);
  reads_more.insert(uncovered.begin(), uncovered.end());
  if (!are_inhabited(known, left.inhabited, right.inhabited))
    return "the right side is the greatest or least element of what may be nothing";
  for (const PartialApplication& wanted : right.partial)
    if (!is_given(known, wanted, left) && !is_surely_defined(known, wanted) &&
        !follows(known, wanted, left) && !follows_by_arithmetic(known, wanted, left))
      return fmt::format("the right side needs {} of {}, which the left side does not",
                         wanted.function, wanted.argument.text);
  return std::nullopt;
}

}  // namespace lemma::verifier::index
