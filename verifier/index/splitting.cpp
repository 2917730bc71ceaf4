#include "verifier/index/splitting.h"

#include <algorithm>

#include "verifier/index/elements.h"
#include "verifier/index/equality.h"

namespace lemma::verifier::index {
namespace {

using Kind = Factor::Kind;

bool has_arguments(const Factor& factor) {
  return factor.kind == Kind::function || factor.kind == Kind::inverse ||
         factor.kind == Kind::power || factor.kind == Kind::opaque || factor.kind == Kind::maximum;
}

bool is_absolute(const Factor& factor) {
  return factor.kind == Kind::function && factor.function == ScalarFunction::absolute;
}

/// A maximum or an absolute value inside of another function. What a reduction binds is left out:
/// there the case would be another one for each element.
FactorPointer nested_choice(const Polynomial& value, bool is_nested) {
  for (const Term& term : value.terms) {
    if (!term.is_plain()) continue;
    for (const FactorPointer& factor : term.factors) {
      if (!has_arguments(*factor)) continue;
      const bool is_choice = factor->kind == Kind::maximum || is_absolute(*factor);
      if (is_choice && is_nested) return factor;
      for (const Polynomial& argument : factor->arguments)
        if (FactorPointer choice = nested_choice(argument, is_nested || !is_choice)) return choice;
    }
  }
  return nullptr;
}

/// Puts a value in the place of a factor, and simplifies what it stands in.
class Replacement {
 public:
  Replacement(const Factor& factor, const Polynomial& value) : factor_(factor), value_(value) {}

  Polynomial in(const Polynomial& whole) const {
    Polynomial sum = number(0);
    for (const Term& term : whole.terms) sum = add(sum, in(term));
    return sum;
  }

 private:
  Polynomial in(const Term& term) const {
    if (!term.is_plain()) return polynomial({term});
    Polynomial product = index::whole(term.coefficient);
    for (const FactorPointer& factor : term.factors) product = multiply(product, in(*factor));
    return product;
  }

  Polynomial in(const Factor& factor) const {
    if (factor.text == factor_.text) return value_;
    if (!has_arguments(factor)) return of_factor(factor);
    std::vector<Polynomial> arguments;
    for (const Polynomial& argument : factor.arguments) arguments.push_back(in(argument));
    switch (factor.kind) {
      case Kind::function: return apply(factor.function, arguments[0]);
      case Kind::inverse: return inverse(arguments[0]);
      case Kind::power: return power(arguments[0], arguments[1]);
      case Kind::opaque: return opaque(factor.name, std::move(arguments), factor.type);
      default: break;
    }
    Polynomial result = arguments[0];
    for (const Polynomial& argument : arguments) result = maximum(result, argument);
    return result;
  }

  const Factor& factor_;
  const Polynomial& value_;
};

/// The values that the factor may have, each where it has it.
std::vector<Piece> cases_of(const Factor& factor) {
  std::vector<Polynomial> values = factor.arguments;
  if (is_absolute(factor)) values.push_back(scale(values[0], -1));
  std::vector<Piece> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<Formula> largest;
    for (std::size_t j = 0; j < values.size(); ++j)
      if (j != i) largest.push_back(negation(is_positive(add(values[j], scale(values[i], -1)))));
    result.push_back({conjunction(std::move(largest)), values[i]});
  }
  return result;
}

bool are_equal_in_cases(const Polynomial& a, const Polynomial& b, const std::vector<Formula>& facts,
                        int depth) {
  if (are_equal(a, b, facts)) return true;
  if (depth == 0) return false;
  FactorPointer choice = nested_choice(a, false);
  if (!choice) choice = nested_choice(b, false);
  if (!choice) return false;
  const std::vector<Piece> cases = cases_of(*choice);
  return std::all_of(cases.begin(), cases.end(), [&](const Piece& piece) {
    std::vector<Formula> here = facts;
    here.push_back(piece.guard);
    const Replacement replacement(*choice, piece.value);
    return are_equal_in_cases(replacement.in(a), replacement.in(b), here, depth - 1);
  });
}

}  // namespace

bool are_equal_by_cases(const Polynomial& a, const Polynomial& b,
                        const std::vector<Formula>& facts) {
  constexpr int most_choices = 3;
  if (is_infinite(a) || is_infinite(b)) return false;
  if (!nested_choice(a, false) && !nested_choice(b, false)) return false;
  return are_equal_in_cases(a, b, facts, most_choices);
}

}  // namespace lemma::verifier::index
