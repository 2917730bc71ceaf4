#include "verifier/index/expression.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/number_text.h"

namespace lemma::verifier::index {
namespace {

using Kind = Factor::Kind;

std::string bound_text(const std::vector<Bound>& bound, const Formula& domain) {
  std::string text;
  for (const Bound& variable : bound)
    text +=
        fmt::format("{}{} < {}", text.empty() ? "" : ", ", variable.name, variable.extent.text());
  if (!is_always(domain)) text += fmt::format("{}if {}", text.empty() ? "" : " ", domain->text);
  return text;
}

/// The depth down to which what a reduction of this text contains binds variables.
int height(std::string_view text) {
  int result = 0;
  for (std::size_t at = text.find("_b"); at != std::string_view::npos;
       at = text.find("_b", at + 2)) {
    int depth = 0;
    for (std::size_t i = at + 2; i < text.size() && is_ascii_digit(text[i]); ++i)
      depth = 10 * depth + (text[i] - '0');
    result = std::max(result, depth);
  }
  return result;
}

/// The text of a reduction with names for its variables that say only where they are bound: reductions
/// that differ in such names only have one text. The names, _b and how many reductions are inside each other
/// from here on, are those of no variable, and of no variable that is bound further inside.
std::string with_places(std::string text, const std::vector<Bound>& bound) {
  if (bound.empty()) return text;
  const auto is_part = [](char c) { return is_ascii_letter_or_digit(c) || c == '_'; };
  const int depth = height(text) + 1;
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_part(text[end])) ++end;
    if (end == i) {
      result += text[i++];
      continue;
    }
    const std::string_view name = std::string_view(text).substr(i, end - i);
    std::size_t place = 0;
    while (place < bound.size() && bound[place].name != name) ++place;
    if (place < bound.size())
      result += fmt::format("_b{}_{}", depth, place);
    else
      result += name;
    i = end;
  }
  return result;
}

std::string arguments_text(const Factor& factor) {
  std::string text;
  for (const Polynomial& argument : factor.arguments)
    text += (text.empty() ? "" : ", ") + argument.text;
  return text;
}

std::string text_of(const Factor& factor) {
  switch (factor.kind) {
    case Kind::read: {
      std::string text = fmt::format("x{}[", factor.input);
      for (std::size_t i = 0; i < factor.indices.size(); ++i)
        text += (i == 0 ? "" : ", ") + factor.indices[i].text();
      return text + "]";
    }
    case Kind::constant: return fmt::format("{}", factor.number);
    case Kind::parameter: return fmt::format("real<{}>", factor.number);
    case Kind::size: return fmt::format("real({})", factor.indices[0].text());
    case Kind::inverse: return fmt::format("inverse({})", arguments_text(factor));
    case Kind::function:
      return fmt::format("{}({})", name(factor.function), arguments_text(factor));
    case Kind::power: return fmt::format("power({})", arguments_text(factor));
    case Kind::maximum: return fmt::format("max({})", arguments_text(factor));
    case Kind::greatest:
      return with_places(fmt::format("max({}: {})", bound_text(factor.bound, factor.domain),
                                     arguments_text(factor)),
                         factor.bound);
    case Kind::product:
      return with_places(fmt::format("product({}: {})", bound_text(factor.bound, factor.domain),
                                     arguments_text(factor)),
                         factor.bound);
    case Kind::opaque: return fmt::format("{}({})", factor.name, arguments_text(factor));
    case Kind::infinity: return "infinity";
  }
  return "?";
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw Unsupported("a coefficient is too large");
  return sum;
}

std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw Unsupported("a coefficient is too large");
  return product;
}

void refuse_infinity(const Polynomial& a) {
  if (is_infinite(a)) throw Unsupported("arithmetic with an infinity");
}

bool is_exponential(const Factor& factor) {
  return factor.kind == Kind::function && factor.function == ScalarFunction::exp;
}

bool is_logarithm(const Factor& factor) {
  return factor.kind == Kind::function && factor.function == ScalarFunction::log;
}

FactorPointer function_of(ScalarFunction function, Polynomial argument) {
  Factor factor;
  factor.kind = Kind::function;
  factor.function = function;
  factor.arguments.push_back(std::move(argument));
  return finished(std::move(factor));
}

/// exp(a) * exp(b) = exp(a + b): a product has one exponential at most.
std::vector<FactorPointer> with_one_exponential(std::vector<FactorPointer> factors) {
  Polynomial exponent = polynomial({});
  std::size_t count = 0;
  for (const FactorPointer& factor : factors)
    if (is_exponential(*factor)) {
      exponent = add(exponent, factor->arguments[0]);
      ++count;
    }
  if (count < 2) return factors;
  std::erase_if(factors, [](const FactorPointer& factor) { return is_exponential(*factor); });
  if (!exponent.terms.empty())
    factors.push_back(function_of(ScalarFunction::exp, std::move(exponent)));
  return factors;
}

/// x * max(0, x) = max(0, x) * max(0, x).
void rectify(std::vector<FactorPointer>& factors) {
  for (const FactorPointer& given : std::vector(factors)) {
    if (given->kind != Kind::maximum || given->arguments.size() != 2) continue;
    if (!given->arguments[0].terms.empty()) continue;  // "0" comes first of texts
    const Factor* argument = only_factor(given->arguments[1]);
    if (argument == nullptr) continue;
    for (FactorPointer& factor : factors)
      if (factor->text == argument->text) factor = given;
  }
}

bool overlap(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&b](const std::string& name) { return b.contains(name); });
}

void collect_bound(const Term& term, std::set<std::string>& names);

void collect_bound(const Factor& factor, std::set<std::string>& names) {
  for (const Bound& variable : factor.bound) names.insert(variable.name);
  for (const Polynomial& argument : factor.arguments)
    for (const Term& term : argument.terms) collect_bound(term, names);
}

void collect_bound(const Term& term, std::set<std::string>& names) {
  for (const Bound& variable : term.bound) names.insert(variable.name);
  for (const FactorPointer& factor : term.factors) collect_bound(*factor, names);
}

/// Variables that one of both binds, at any depth, do not occur in the other.
Term product(const Term& a, const Term& given) {
  std::set<std::string> bound_here, bound_there, here, there;
  collect_bound(a, bound_here);
  collect_bound(given, bound_there);
  bool clash = false;
  if (!bound_here.empty() || !bound_there.empty()) {
    collect_names(a, here);
    collect_names(given, there);
    clash = overlap(bound_here, there) || overlap(bound_there, here);
  }
  here.insert(there.begin(), there.end());
  const Term b = clash ? renamed_apart(given, here) : given;
  Term result;
  result.coefficient = checked_multiply(a.coefficient, b.coefficient);
  result.bound = a.bound;
  result.bound.insert(result.bound.end(), b.bound.begin(), b.bound.end());
  result.domain = both(a.domain, b.domain);
  result.factors = a.factors;
  result.factors.insert(result.factors.end(), b.factors.begin(), b.factors.end());
  result.factors = with_one_exponential(std::move(result.factors));
  rectify(result.factors);
  return finished(std::move(result));
}

Polynomial of_term(Term term) {
  std::vector<Term> terms;
  terms.push_back(finished(std::move(term)));
  return polynomial(std::move(terms));
}

/// 1 / factor.
Polynomial inverse_of(const FactorPointer& factor) {
  if (factor->kind == Kind::inverse) return factor->arguments[0];
  if (is_exponential(*factor)) return apply(ScalarFunction::exp, scale(factor->arguments[0], -1));
  Term term;
  term.factors = {factor};
  Factor result;
  result.kind = Kind::inverse;
  result.arguments = {of_term(std::move(term))};
  return of_factor(std::move(result));
}

}  // namespace

FactorPointer finished(Factor factor) {
  factor.text = text_of(factor);
  return std::make_shared<const Factor>(std::move(factor));
}

Term finished(Term term) {
  std::sort(term.factors.begin(), term.factors.end(),
            [](const FactorPointer& a, const FactorPointer& b) { return a->text < b->text; });
  std::string factors;
  for (const FactorPointer& factor : term.factors)
    factors += (factors.empty() ? "" : " * ") + factor->text;
  if (factors.empty()) factors = "1";
  term.text =
      term.is_plain()
          ? std::move(factors)
          : with_places(fmt::format("sum({}: {})", bound_text(term.bound, term.domain), factors),
                        term.bound);
  return term;
}

Polynomial polynomial(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return a.text < b.text; });
  Polynomial result;
  for (Term& term : terms) {
    if (is_never(term.domain)) continue;
    if (!result.terms.empty() && result.terms.back().text == term.text)
      result.terms.back().coefficient =
          checked_add(result.terms.back().coefficient, term.coefficient);
    else
      result.terms.push_back(std::move(term));
    if (result.terms.back().coefficient == 0) result.terms.pop_back();
  }
  for (const Term& term : result.terms) {
    const bool negative = term.coefficient < 0;
    if (!result.text.empty())
      result.text += negative ? " - " : " + ";
    else if (negative)
      result.text += "-";
    const auto magnitude = negative ? 0 - static_cast<std::uint64_t>(term.coefficient)
                                    : static_cast<std::uint64_t>(term.coefficient);
    if (magnitude != 1) result.text += fmt::format("{}*", magnitude);
    result.text += term.text;
  }
  if (result.text.empty()) result.text = "0";
  return result;
}

Polynomial of_factor(Factor factor) {
  Term term;
  term.factors.push_back(finished(std::move(factor)));
  return of_term(std::move(term));
}

Polynomial whole(std::int64_t value) {
  Term term;
  term.coefficient = value;
  return of_term(std::move(term));
}

Polynomial number(double value) {
  constexpr double limit = 1 << 20;
  if (std::isinf(value)) {
    Factor factor;
    factor.kind = Kind::infinity;
    return scale(of_factor(std::move(factor)), value < 0 ? -1 : 1);
  }
  if (value == std::trunc(value) && std::abs(value) <= limit)
    return whole(static_cast<std::int64_t>(value));
  Factor factor;
  factor.kind = Kind::constant;
  factor.number = value;
  return of_factor(std::move(factor));
}

Polynomial read(std::uint32_t input, std::vector<Dimension> indices) {
  Factor factor;
  factor.input = input;
  factor.indices = std::move(indices);
  return of_factor(std::move(factor));
}

Dimension of_atom(const Dimension::Atom& atom) {
  switch (atom.kind) {
    case AtomKind::symbol: return Dimension::symbol(atom.symbol);
    case AtomKind::floor_div: return floor_div(atom.left, atom.right);
    case AtomKind::minimum: return minimum(atom.left, atom.right);
    case AtomKind::maximum: break;
  }
  return maximum(atom.left, atom.right);
}

Polynomial size(const Dimension& value) {
  if (value.is_constant()) return whole(value.offset());
  const auto factor_of = [](const Dimension& dimension) {
    Factor factor;
    factor.kind = Kind::size;
    factor.indices = {dimension};
    return finished(std::move(factor));
  };
  Term term;
  const bool is_product = value.offset() == 0 && value.terms().size() == 1;
  if (!is_product) {
    term.factors.push_back(factor_of(value));
    return of_term(std::move(term));
  }
  term.coefficient = value.terms()[0].coefficient;
  for (const Dimension::AtomPointer& atom : value.terms()[0].atoms)
    term.factors.push_back(factor_of(of_atom(*atom)));
  return of_term(std::move(term));
}

Polynomial add(const Polynomial& a, const Polynomial& b) {
  refuse_infinity(a);
  refuse_infinity(b);
  std::vector<Term> terms = a.terms;
  terms.insert(terms.end(), b.terms.begin(), b.terms.end());
  return polynomial(std::move(terms));
}

Polynomial scale(const Polynomial& a, std::int64_t factor) {
  if (factor == 1) return a;
  std::vector<Term> terms = a.terms;
  for (Term& term : terms) term.coefficient = checked_multiply(term.coefficient, factor);
  return polynomial(std::move(terms));
}

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  refuse_infinity(a);
  refuse_infinity(b);
  constexpr std::size_t limit = 4096;
  if (a.terms.size() * b.terms.size() > limit) throw Unsupported("a product has too many terms");
  std::vector<Term> terms;
  for (const Term& x : a.terms)
    for (const Term& y : b.terms) terms.push_back(product(x, y));
  return polynomial(std::move(terms));
}

namespace {

bool mentions(const Factor& factor, const std::vector<Bound>& variables);

bool mentions(const Dimension& value, const std::vector<Bound>& variables) {
  std::map<std::string, int> symbols;
  collect_all_symbols(value, symbols);
  return std::any_of(variables.begin(), variables.end(),
                     [&](const Bound& variable) { return symbols.contains(variable.name); });
}

bool mentions(const Formula& formula, const std::vector<Bound>& variables) {
  std::map<std::string, int> symbols;
  collect_symbols(formula, symbols);
  return std::any_of(variables.begin(), variables.end(),
                     [&](const Bound& variable) { return symbols.contains(variable.name); });
}

bool mentions_any(const Polynomial& a, const std::vector<Bound>& variables) {
  return std::any_of(a.terms.begin(), a.terms.end(),
                     [&](const Term& term) { return depends_on(term, variables); });
}

/// Names of bound variables are unique within a proof: inner ones hide none.
bool mentions(const Factor& factor, const std::vector<Bound>& variables) {
  return std::any_of(factor.indices.begin(), factor.indices.end(),
                     [&](const Dimension& index) { return mentions(index, variables); }) ||
         std::any_of(
             factor.arguments.begin(), factor.arguments.end(),
             [&](const Polynomial& polynomial) { return mentions_any(polynomial, variables); }) ||
         std::any_of(factor.bound.begin(), factor.bound.end(),
                     [&](const Bound& bound) { return mentions(bound.extent, variables); }) ||
         mentions(factor.domain, variables);
}

/// The exponentials of a sum that do not depend on its variables, taken out of it: both parts
/// multiplied are the term. Of a term that is no sum, all exponentials.
std::pair<std::vector<FactorPointer>, Term> without_exponentials(const Term& term) {
  std::vector<FactorPointer> outside;
  Term inside = term;
  std::erase_if(inside.factors, [&](const FactorPointer& factor) {
    // exp(a + b) is exp(a) * exp(b): what does not depend on the variables is a factor.
    if (!is_exponential(*factor) || mentions(*factor, term.bound)) return false;
    outside.push_back(factor);
    return true;
  });
  std::vector<FactorPointer> split;
  for (FactorPointer& factor : inside.factors) {
    if (!is_exponential(*factor)) continue;
    std::vector<Term> free, held;
    for (const Term& part : factor->arguments[0].terms)
      (depends_on(part, term.bound) ? held : free).push_back(part);
    if (free.empty()) continue;
    outside.push_back(function_of(ScalarFunction::exp, polynomial(std::move(free))));
    factor = function_of(ScalarFunction::exp, polynomial(std::move(held)));
  }
  return {std::move(outside), finished(std::move(inside))};
}

/// The one term, if it is a sum or product with a coefficient of 1.
bool is_one_term(const Polynomial& a) { return a.terms.size() == 1 && a.terms[0].coefficient == 1; }

Polynomial inverse_of_unit(const Term& term) {
  Polynomial result = number(static_cast<double>(term.coefficient));
  for (const FactorPointer& factor : term.factors) result = multiply(result, inverse_of(factor));
  return result;
}

}  // namespace

bool is_partial(const Factor& factor) {
  using enum ScalarFunction;
  static const std::set<ScalarFunction> total = {negate, absolute, exp,   sin,  cos,
                                                 atan,   sinh,     cosh,  tanh, asinh,
                                                 erf,    sign,     floor, ceil, round};
  if (factor.kind == Kind::inverse || factor.kind == Kind::power || factor.kind == Kind::opaque)
    return true;
  if (factor.kind == Kind::function && !total.contains(factor.function)) return true;
  return std::any_of(
      factor.arguments.begin(), factor.arguments.end(), [](const Polynomial& argument) {
        return std::any_of(argument.terms.begin(), argument.terms.end(), [](const Term& term) {
          return std::any_of(term.factors.begin(), term.factors.end(),
                             [](const FactorPointer& inner) { return is_partial(*inner); });
        });
      });
}

std::pair<std::vector<FactorPointer>, Term> without_free_factors(const Term& term, bool inhabited) {
  std::vector<FactorPointer> outside;
  Term inside = term;
  inside.factors.clear();
  const auto may_leave = [inhabited](const FactorPointer& factor) {
    return inhabited || !is_partial(*factor);
  };
  for (const FactorPointer& factor : term.factors) {
    if (!mentions(*factor, term.bound)) {
      (may_leave(factor) ? outside : inside.factors).push_back(factor);
      continue;
    }
    std::vector<Term> free, held;
    if (is_exponential(*factor))  // exp(a + b) = exp(a) * exp(b)
      for (const Term& part : factor->arguments[0].terms) {
        const bool leaves = !depends_on(part, term.bound) &&
                            std::all_of(part.factors.begin(), part.factors.end(), may_leave);
        (leaves ? free : held).push_back(part);
      }
    if (free.empty()) {
      inside.factors.push_back(factor);
      continue;
    }
    outside.push_back(function_of(ScalarFunction::exp, polynomial(std::move(free))));
    inside.factors.push_back(function_of(ScalarFunction::exp, polynomial(std::move(held))));
  }
  return {std::move(outside), finished(std::move(inside))};
}

bool depends_on(const Factor& factor, const std::vector<Bound>& variables) {
  return mentions(factor, variables);
}

bool depends_on(const Term& term, const std::vector<Bound>& variables) {
  return std::any_of(term.factors.begin(), term.factors.end(),
                     [&](const FactorPointer& factor) { return mentions(*factor, variables); }) ||
         std::any_of(term.bound.begin(), term.bound.end(),
                     [&](const Bound& bound) { return mentions(bound.extent, variables); }) ||
         mentions(term.domain, variables);
}

Polynomial inverse(const Polynomial& a) {
  refuse_infinity(a);
  if (a.terms.empty()) throw Unsupported("division by zero");
  const bool is_unit = a.terms.size() == 1 && a.terms[0].is_plain() &&
                       (a.terms[0].coefficient == 1 || a.terms[0].coefficient == -1);
  if (is_unit) return inverse_of_unit(a.terms[0]);
  Polynomial argument = a, outside = number(1);
  if (is_one_term(a)) {
    auto [exponentials, rest] = without_exponentials(a.terms[0]);
    for (const FactorPointer& factor : exponentials)
      outside = multiply(outside, inverse_of(factor));
    argument = polynomial({std::move(rest)});
  }
  Factor factor;
  factor.kind = Kind::inverse;
  factor.arguments = {std::move(argument)};
  return multiply(outside, of_factor(std::move(factor)));
}

Polynomial apply(ScalarFunction function, const Polynomial& a) {
  refuse_infinity(a);
  if (function == ScalarFunction::negate) return scale(a, -1);
  if (function == ScalarFunction::reciprocal) return inverse(a);
  if (function == ScalarFunction::exp && a.terms.empty()) return number(1);
  if (function == ScalarFunction::exp)
    if (const Factor* factor = only_factor(a); factor != nullptr && is_logarithm(*factor))
      return factor->arguments[0];
  if (function == ScalarFunction::sqrt && a.text == number(1).text) return a;
  if (function == ScalarFunction::log)
    if (const Factor* factor = only_factor(a); factor != nullptr) {
      if (is_exponential(*factor)) return factor->arguments[0];
      if (factor->kind == Kind::inverse) return scale(apply(function, factor->arguments[0]), -1);
    }
  if (function == ScalarFunction::log && is_one_term(a))
    if (auto [exponentials, rest] = without_exponentials(a.terms[0]); !exponentials.empty()) {
      Polynomial result = apply(ScalarFunction::log, polynomial({std::move(rest)}));
      for (const FactorPointer& factor : exponentials) result = add(result, factor->arguments[0]);
      return result;
    }
  // tanh(x) = 2 / (1 + exp(-2 x)) - 1.
  if (function == ScalarFunction::tanh)
    return add(scale(inverse(add(number(1), apply(ScalarFunction::exp, scale(a, -2)))), 2),
               number(-1));
  Term term;
  // |-x| = |x|: the first coefficient is positive.
  const bool flip =
      function == ScalarFunction::absolute && !a.terms.empty() && a.terms[0].coefficient < 0;
  term.factors.push_back(function_of(function, flip ? scale(a, -1) : a));
  return of_term(std::move(term));
}

Polynomial maximum(const Polynomial& a, const Polynomial& b) {
  refuse_infinity(a);
  refuse_infinity(b);
  std::vector<Polynomial> arguments;
  for (const Polynomial* side : {&a, &b}) {
    const Factor* factor = only_factor(*side);
    if (factor != nullptr && factor->kind == Kind::maximum)
      arguments.insert(arguments.end(), factor->arguments.begin(), factor->arguments.end());
    else
      arguments.push_back(*side);
  }
  std::sort(arguments.begin(), arguments.end(),
            [](const Polynomial& x, const Polynomial& y) { return x.text < y.text; });
  arguments.erase(
      std::unique(arguments.begin(), arguments.end(),
                  [](const Polynomial& x, const Polynomial& y) { return x.text == y.text; }),
      arguments.end());
  if (arguments.size() == 1) return arguments[0];
  Factor factor;
  factor.kind = Kind::maximum;
  factor.arguments = std::move(arguments);
  return of_factor(std::move(factor));
}

Polynomial power(const Polynomial& a, const Polynomial& b) {
  refuse_infinity(a);
  refuse_infinity(b);
  Factor factor;
  factor.kind = Kind::power;
  factor.arguments = {a, b};
  return of_factor(std::move(factor));
}

const Factor* only_factor(const Polynomial& a) {
  if (a.terms.size() != 1) return nullptr;
  const Term& term = a.terms[0];
  return term.coefficient == 1 && term.is_plain() && term.factors.size() == 1
             ? term.factors[0].get()
             : nullptr;
}

bool is_infinite(const Polynomial& a) {
  return std::any_of(a.terms.begin(), a.terms.end(), [](const Term& term) {
    return std::any_of(term.factors.begin(), term.factors.end(),
                       [](const FactorPointer& factor) { return factor->kind == Kind::infinity; });
  });
}

}  // namespace lemma::verifier::index
