#include "verifier/index/equality.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "verifier/index/refutation.h"
#include "verifier/index/sign.h"
#include "verifier/index/solver.h"
#include "verifier/index/term_equality.h"

namespace lemma::verifier::index {
namespace {

using Kind = Factor::Kind;
using Facts = std::vector<Formula>;

Formula whole_domain(const std::vector<Bound>& bound, const Formula& domain) {
  return both(ranges(bound), domain);
}

// ---- Real arithmetic --------------------------------------------------------------------------

std::string literal(std::int64_t value) {
  if (value >= 0) return fmt::format("{}.0", value);
  return fmt::format("(- {}.0)", 0 - static_cast<std::uint64_t>(value));
}

/// A finite f64 as an exact fraction.
std::string exact(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  exponent -= 53;
  std::string power = "1.0";
  for (int i = 0; i < std::abs(exponent); ++i) power = "(* 2.0 " + power + ")";
  const std::string size = fmt::format("({} {}.0 {})", exponent < 0 ? "/" : "*", mantissa, power);
  return value < 0 ? "(- " + size + ")" : size;
}

/// "a - b is not 0" as text for Z3. Factors are real variables, equal ones the same, with the facts
/// of docs/index_proofs.md about them.
class RealQuery {
 public:
  explicit RealQuery(const Facts& facts) : facts_(facts) {}

  std::string difference(const Polynomial& value) {
    return finished("(not (= 0.0 " + text(value) + "))");
  }

  /// That a function is applied says that it is defined there, also if the value is not needed.
  void note_partial(const Polynomial& value) {
    for (const Term& term : value.terms)
      for (const FactorPointer& factor : term.factors)
        if (term.is_plain() && is_partial(*factor)) variable(*factor);
  }

  void assume(const Claim& claim) {
    std::string fact = condition(claim);
    constraints_.push_back(std::move(fact));
  }
  std::string contradiction(const Claim& wanted) {
    return finished("(not " + condition(wanted) + ")");
  }

 private:
  std::string finished(const std::string& assertion) {
    order_parameters();
    std::string result =
        fmt::format("(set-logic {})\n", linear_ ? "QF_LRA" : "QF_NRA") + declarations_;
    for (const std::string& constraint : constraints_) result += "(assert " + constraint + ")\n";
    return result + "(assert " + assertion + ")\n";
  }

  std::string condition(const Claim& claim) {
    const std::string value = text(claim.value);
    switch (claim.kind) {
      case Claim::Kind::nonnegative: return "(<= 0.0 " + value + ")";
      case Claim::Kind::positive: return "(< 0.0 " + value + ")";
      case Claim::Kind::nonzero: break;
    }
    return "(not (= 0.0 " + value + "))";
  }

  std::string text(const Polynomial& value) {
    std::string sum = "0.0";
    for (const Term& term : value.terms) sum = fmt::format("(+ {} {})", sum, product(term));
    return sum;
  }

  std::string product(const Term& term) {
    std::string result = literal(term.coefficient);
    if (!term.is_plain()) {
      if (const auto values = few_values(term.bound, term.domain); !values.empty())
        return fmt::format("(* {} {})", result, few_terms(term, values));
      const auto [outside, inside] = without_free_factors(term, is_inhabited(term));
      linear_ = linear_ && outside.empty();
      for (const FactorPointer& factor : outside)
        result = fmt::format("(* {} {})", result, variable(*factor));
      return fmt::format("(* {} {})", result, reduction(inside));
    }
    linear_ = linear_ && term.factors.size() < 2;
    for (const FactorPointer& factor : term.factors)
      result = fmt::format("(* {} {})", result, variable(*factor));
    return result;
  }

  /// The terms of a sum, or what a maximum is over, one by one if these are two or three.
  static std::vector<DimensionBindings> few_values(const std::vector<Bound>& bound,
                                                   const Formula& domain) {
    const bool few = bound.size() == 1 && is_always(domain) && bound[0].extent.is_constant() &&
                     bound[0].extent.offset() >= 1 && bound[0].extent.offset() <= 3;
    std::vector<DimensionBindings> result;
    if (few)
      for (std::int64_t i = 0; i < bound[0].extent.offset(); ++i)
        result.push_back({{bound[0].name, Dimension(i)}});
    return result;
  }

  std::string few_terms(const Term& term, const std::vector<DimensionBindings>& values) {
    Term body = term;
    body.bound.clear();
    body.coefficient = 1;
    std::string sum = "0.0";
    for (const DimensionBindings& value : values)
      sum = fmt::format("(+ {} {})", sum, text(polynomial({substitute(body, value)})));
    return sum;
  }

  /// The inverse of a product of sizes that are not 0.
  bool is_inverse_of_sizes(const Factor& factor) const {
    if (factor.kind != Kind::inverse || factor.arguments[0].terms.size() != 1) return false;
    const Term& term = factor.arguments[0].terms[0];
    std::vector<Formula> sizes;
    for (const FactorPointer& one : term.factors) {
      if (one->kind != Kind::size) return false;
      sizes.push_back(less(0, one->indices[0]));
    }
    return term.is_plain() && entails(facts_, conjunction(std::move(sizes)));
  }

  /// Surely, if what is not defined everywhere would leave the sum.
  bool is_inhabited(const Term& term) const {
    const bool total =
        std::all_of(term.factors.begin(), term.factors.end(), [this](const FactorPointer& factor) {
          return !is_partial(*factor) || is_inverse_of_sizes(*factor);
        });
    if (total) return true;
    if (!is_always(term.domain)) return false;
    std::vector<Formula> sizes;
    for (const Bound& variable : term.bound) sizes.push_back(less(0, variable.extent));
    return entails(facts_, conjunction(std::move(sizes)));
  }

  std::string declare() {
    std::string name = fmt::format("r{}", count_++);
    declarations_ += fmt::format("(declare-const {} Real)\n", name);
    return name;
  }

  std::string reduction(const Term& term) {
    if (term.factors.empty() && is_always(term.domain)) {
      std::string count = "1.0";
      for (const Bound& variable : term.bound)
        count = fmt::format("(* {} {})", count, text(size(variable.extent)));
      return count;
    }
    for (const auto& [other, name] : reductions_)
      if (equal_terms(other, term, facts_)) return name;
    std::string name = declare();
    Term once = term;
    once.coefficient = 1;
    if (is_nonnegative(once)) state("(<= 0.0 {})", name);
    reductions_.emplace_back(term, name);
    return name;
  }

  std::string variable(const Factor& factor) {
    for (const auto& [other, name] : factors_)
      if (equal_factors(other, factor, facts_)) return name;
    if (factor.kind == Kind::infinity) throw Unsupported("arithmetic with an infinity");
    if (factor.kind == Kind::greatest)
      if (const auto values = few_values(factor.bound, factor.domain); !values.empty()) {
        Polynomial largest = substitute(factor.arguments[0], values[0]);
        for (const DimensionBindings& value : values)
          largest = maximum(largest, substitute(factor.arguments[0], value));
        return text(largest);
      }
    std::vector<std::string> arguments;
    if (factor.kind != Kind::greatest)
      for (const Polynomial& argument : factor.arguments) arguments.push_back(text(argument));
    std::string name = declare();
    factors_.emplace_back(factor, name);
    describe(factor, name, arguments);
    return name;
  }

  template <typename... Arguments>
  void state(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    constraints_.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  void describe(const Factor& factor, const std::string& x, const std::vector<std::string>& a) {
    switch (factor.kind) {
      case Kind::constant: state("(= {} {})", x, exact(factor.number)); break;
      case Kind::size: describe_size(factor.indices[0], x); break;
      case Kind::parameter: parameters_[factor.number] = x; break;
      case Kind::inverse:
        linear_ = false;
        state("(= 1.0 (* {} {}))", x, a[0]);
        break;
      case Kind::maximum: {
        std::string equal;
        for (const std::string& argument : a) {
          state("(<= {} {})", argument, x);
          equal += fmt::format(" (= {} {})", argument, x);
        }
        state("(or{})", equal);
        break;
      }
      case Kind::function:
        if (factor.function == ScalarFunction::absolute)
          state("(= {0} (ite (<= 0.0 {1}) {1} (- {1})))", x, a[0]);
        compare_functions(factor.function, x, a[0]);
        if (factor.function == ScalarFunction::exp) describe_exponential(factor, x, a[0]);
        if (factor.function == ScalarFunction::erf)
          state("(and (< (- 1.0) {0}) (< {0} 1.0) (= (<= 0.0 {1}) (<= 0.0 {0})))", x, a[0]);
        if (factor.function != ScalarFunction::sqrt) break;
        linear_ = false;
        state("(and (<= 0.0 {0}) (= {1} (* {0} {0})))", x, a[0]);
        break;
      case Kind::greatest:
        if (is_nonnegative(factor)) state("(<= 0.0 {})", x);
        break;
      default: break;
    }
  }

  /// A sum of sizes is the sum of them as real numbers.
  void describe_size(const Dimension& value, const std::string& x) {
    if (const auto least = lower_bound(value)) state("(<= {} {})", literal(*least), x);
    if (value.terms().size() + (value.offset() == 0 ? 0 : 1) < 2) return;
    std::string sum = literal(value.offset());
    for (const Dimension::Term& term : value.terms()) {
      Dimension monomial(term.coefficient);
      for (const Dimension::AtomPointer& atom : term.atoms) monomial = monomial * of_atom(*atom);
      sum = fmt::format("(+ {} {})", sum, text(size(monomial)));
    }
    state("(= {} {})", x, sum);
  }

  /// Equal arguments give equal values; exp and erf increase.
  void compare_functions(ScalarFunction function, const std::string& x, const std::string& a) {
    const bool increases = function == ScalarFunction::exp || function == ScalarFunction::erf;
    for (const auto& [other, y, b] : functions_) {
      if (other != function) continue;
      if (increases)
        state("(and (= (<= {0} {1}) (<= {2} {3})) (= (<= {1} {0}) (<= {3} {2})))", a, b, x, y);
      else
        state("(=> (= {} {}) (= {} {}))", a, b, x, y);
    }
    functions_.emplace_back(function, x, a);
  }

  /// exp(a) > 0, exp(a) >= 1 + a, exp(0) = 1, exp(a) * exp(-a) = 1, and exp(2 a) = exp(a)^2.
  void describe_exponential(const Factor& factor, const std::string& x, const std::string& a) {
    state("(and (< 0.0 {0}) (<= (+ 1.0 {1}) {0}) (=> (<= {1} 0.0) (<= {0} 1.0)))", x, a);
    const Polynomial& argument = factor.arguments[0];
    for (const auto& [other, name] : factors_) {
      if (other.kind != Kind::function || other.function != ScalarFunction::exp) continue;
      if (name == x) continue;
      const Polynomial& known = other.arguments[0];
      if (are_equal(known, scale(argument, -1), facts_)) {
        linear_ = false;
        state("(= 1.0 (* {} {}))", x, name);
      } else if (are_equal(known, scale(argument, 2), facts_)) {
        linear_ = false;
        state("(= {1} (* {0} {0}))", x, name);
      } else if (are_equal(argument, scale(known, 2), facts_)) {
        linear_ = false;
        state("(= {0} (* {1} {1}))", x, name);
      }
    }
  }

  /// Only the order of parameters, and of each with 0, is known.
  void order_parameters() {
    const std::string* before = nullptr;
    double rank = -HUGE_VAL;
    for (const auto& [number, x] : parameters_) {
      if (before != nullptr) state("(< {} {})", *before, x);
      if (number > 0 && rank < 0) state("(< 0.0 {})", x);
      if (number < 0) state("(< {} 0.0)", x);
      before = &x;
      rank = number;
    }
  }

  const Facts& facts_;
  bool linear_ = true;
  int count_ = 0;
  std::string declarations_;
  std::vector<std::string> constraints_;
  std::vector<std::pair<Factor, std::string>> factors_;
  std::vector<std::pair<Term, std::string>> reductions_;
  std::map<double, std::string> parameters_;
  std::vector<std::tuple<ScalarFunction, std::string, std::string>> functions_;
};

}  // namespace

Polynomial without_empty_terms(const Polynomial& a, const Facts& facts) {
  std::vector<Term> terms;
  for (const Term& term : a.terms)
    if (term.is_plain() || !contradicts(facts, whole_domain(term.bound, term.domain))) {
      terms.push_back(term);
      // A condition on free variables that holds anyway is left out.
      if (term.bound.empty() && entails(facts, term.domain)) {
        terms.back().domain = always();
        terms.back() = finished(std::move(terms.back()));
      }
    }
  return polynomial(std::move(terms));
}

namespace {

bool are_equal_anew(const Polynomial& a, const Polynomial& b, const Facts& facts) {
  if (is_infinite(a) || is_infinite(b) || differ_by_sample(a, b, facts)) return false;
  Polynomial difference = merged(add(a, scale(b, -1)), facts);
  if (difference.terms.empty()) return true;
  difference = merged(without_empty_terms(difference, facts), facts);
  if (difference.terms.empty()) return true;
  RealQuery query(facts);
  query.note_partial(a);
  query.note_partial(b);
  return is_refuted(query.difference(difference));
}

/// Texts say all but the names of bound variables.
std::string question(const Polynomial& a, const Polynomial& b, const Facts& facts) {
  std::string result = a.text + "\n" + b.text;
  for (const Formula& fact : facts) result += "\n" + fact->text;
  return result;
}

}  // namespace

bool are_equal(const Polynomial& a, const Polynomial& b, const Facts& facts) {
  if (a.text == b.text) return true;
  // Different pairings of factors ask the same of what is inside of these.
  thread_local std::unordered_map<std::string, bool> answers;
  const std::string key = question(a, b, facts);
  if (const auto found = answers.find(key); found != answers.end()) return found->second;
  const bool answer = are_equal_anew(a, b, facts);
  constexpr std::size_t most_answers = 20'000;
  if (answers.size() >= most_answers) answers.clear();
  answers.emplace(key, answer);
  return answer;
}

bool follows(const std::vector<Claim>& given, const Claim& wanted, const Facts& facts) {
  RealQuery query(facts);
  for (const Claim& claim : given) query.assume(claim);
  return is_refuted(query.contradiction(wanted));
}

}  // namespace lemma::verifier::index
