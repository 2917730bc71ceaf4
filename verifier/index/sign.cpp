#include "verifier/index/sign.h"

#include <algorithm>

namespace lemma::verifier::index {

using Kind = Factor::Kind;

bool is_nonnegative(const Factor& factor) {
  const auto one_argument = [](const Polynomial& argument) { return is_nonnegative(argument); };
  switch (factor.kind) {
    case Kind::constant:
    case Kind::parameter: return factor.number > 0;
    case Kind::size: return lower_bound(factor.indices[0]).value_or(-1) >= 0;
    case Kind::inverse: return is_nonnegative(factor.arguments[0]);
    case Kind::function:
      return factor.function == ScalarFunction::exp || factor.function == ScalarFunction::sqrt ||
             factor.function == ScalarFunction::absolute;
    case Kind::maximum:
      return std::any_of(factor.arguments.begin(), factor.arguments.end(), one_argument);
    // Over nothing it would be an infinity.
    case Kind::greatest: return factor.inhabited && is_nonnegative(factor.arguments[0]);
    case Kind::product: return is_nonnegative(factor.arguments[0]);
    case Kind::opaque: return is_unsigned_integer(factor.type);
    case Kind::read:
    case Kind::power:
    case Kind::infinity: break;
  }
  return false;
}

bool is_nonnegative(const Term& term) {
  if (term.coefficient < 0) return false;
  // Factors are sorted by text.
  for (std::size_t i = 0, end = 0; i < term.factors.size(); i = end) {
    while (end < term.factors.size() && term.factors[end]->text == term.factors[i]->text) ++end;
    if ((end - i) % 2 != 0 && !is_nonnegative(*term.factors[i])) return false;
  }
  return true;
}

bool is_nonnegative(const Polynomial& value) {
  return std::all_of(value.terms.begin(), value.terms.end(),
                     [](const Term& term) { return is_nonnegative(term); });
}

}  // namespace lemma::verifier::index
