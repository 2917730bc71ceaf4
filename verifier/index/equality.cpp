#include "verifier/index/equality.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

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
  explicit RealQuery(const Facts& facts) {
    for (const Formula& fact : facts)
      (mentions_elements(fact) ? about_elements_ : facts_).push_back(fact);
  }

  std::string difference(const Polynomial& value) {
    return finished("(not (= 0.0 " + text(value) + "))");
  }

  /// Notes functions that are defined in some places only: that one is applied says that it is
  /// defined there, also if the value is not needed.
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
    for (const Formula& fact : about_elements_) {
      std::string text = formula(fact);
      constraints_.push_back(std::move(text));
    }
    order_parameters();
    std::string result =
        fmt::format("(set-logic {})\n", linear_ ? "QF_LRA" : "QF_NRA") + declarations_;
    for (const std::string& constraint : constraints_) result += "(assert " + constraint + ")\n";
    return result + "(assert " + assertion + ")\n";
  }

  /// What conditions on elements say. Conditions on sizes are propositions here.
  std::string formula(const Formula& given) {
    using enum FormulaNode::Kind;
    if (given->kind == truth) return "true";
    if (given->kind == falsity) return "false";
    if (given->kind == element) {
      const std::string value = not_surely_evaluated(*given->element);
      const std::string holds =
          fmt::format("({} 0.0 {})", given->compares_equal ? "=" : "<", value);
      return given->is_negated ? "(not " + holds + ")" : holds;
    }
    if (given->parts.empty()) return proposition(given);
    std::string result = given->kind == conjunction ? "(and" : "(or";
    for (const Formula& part : given->parts) result += " " + formula(part);
    return result + ")";
  }

  std::string proposition(const Formula& given) {
    if (const auto known = propositions_.find(given->text); known != propositions_.end())
      return known->second;
    const auto opposite = propositions_.find(negation(given)->text);
    if (opposite != propositions_.end()) return "(not " + opposite->second + ")";
    std::string name = fmt::format("b{}", propositions_.size());
    declarations_ += fmt::format("(declare-const {} Bool)\n", name);
    return propositions_.emplace(given->text, std::move(name)).first->second;
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
    if (term.bound.empty() && mentions_elements(term.domain)) {
      Term inside = term;
      inside.domain = always();
      const std::string holds = formula(term.domain);
      const std::string value = evaluated_where(holds, index::finished(std::move(inside)));
      return fmt::format("(ite {} {} 0.0)", holds, value);
    }
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

  std::string evaluated_where(const std::string& holds, const Term& term) {
    std::string where =
        evaluated_where_.empty() ? holds : fmt::format("(and {} {})", evaluated_where_, holds);
    where.swap(evaluated_where_);
    std::string result = product(term);
    where.swap(evaluated_where_);
    return result;
  }

  /// Whether a condition is looked at depends on others.
  std::string not_surely_evaluated(const Polynomial& value) {
    const bool before = std::exchange(is_evaluated_, false);
    std::string result = text(value);
    is_evaluated_ = before;
    return result;
  }

  bool is_always_evaluated() const { return is_evaluated_ && evaluated_where_.empty(); }

  /// A fact about a function where it is defined. It is defined where it is evaluated, and only of that place the domain
  /// may be stated: elsewhere the variable stands for any number.
  void state_defined(const std::string& domain, const std::string& fact) {
    if (is_always_evaluated()) {
      constraints_.push_back("(and " + domain + " " + fact + ")");
      return;
    }
    constraints_.push_back("(=> " + domain + " " + fact + ")");
    if (is_evaluated_) constraints_.push_back("(=> " + evaluated_where_ + " " + domain + ")");
  }

  /// The terms of a sum, or what a maximum is over, one by one if these are a few.
  static std::vector<DimensionBindings> few_values(const std::vector<Bound>& bound,
                                                   const Formula& domain) {
    constexpr std::size_t most = 16;
    if (bound.empty() || !is_always(domain)) return {};
    std::vector<DimensionBindings> result = {{}};
    for (const Bound& variable : bound) {
      const auto extent = variable.extent.constant();
      if (!extent || *extent < 1 || static_cast<std::size_t>(*extent) * result.size() > most)
        return {};
      std::vector<DimensionBindings> more;
      for (const DimensionBindings& before : result)
        for (std::int64_t i = 0; i < *extent; ++i) {
          more.push_back(before);
          more.back()[variable.name] = Dimension(i);
        }
      result = std::move(more);
    }
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
    for (const FactorPointer& size_factor : term.factors) {
      if (size_factor->kind != Kind::size) return false;
      sizes.push_back(less(0, size_factor->indices[0]));
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
      if (equal_factors(other, factor, facts_)) {
        const std::string known = name;  // more factors may be added
        note_evaluated(factor, known);
        return known;
      }
    if (factor.kind == Kind::infinity) throw Unsupported("arithmetic with an infinity");
    if (factor.kind == Kind::greatest)
      if (const auto values = few_values(factor.bound, factor.domain); !values.empty()) {
        Polynomial largest = substitute(factor.arguments[0], values[0]);
        for (const DimensionBindings& value : values)
          largest = maximum(largest, substitute(factor.arguments[0], value));
        return text(largest);
      }
    const std::vector<std::string> arguments = arguments_of(factor);
    std::string name = declare();
    factors_.emplace_back(factor, name);
    if (is_always_evaluated()) evaluated_.insert(name);
    describe(factor, name, arguments);
    return name;
  }

  std::vector<std::string> arguments_of(const Factor& factor) {
    std::vector<std::string> result;
    if (factor.kind == Kind::greatest || factor.kind == Kind::product) return result;
    for (const Polynomial& argument : factor.arguments) result.push_back(text(argument));
    return result;
  }

  /// Notes what is evaluated: what was met under a condition first is evaluated here in any case.
  void note_evaluated(const Factor& factor, const std::string& x) {
    if (!is_always_evaluated() || !evaluated_.insert(x).second) return;
    const std::vector<std::string> arguments = arguments_of(factor);
    if (is_partial_function(factor)) describe_partial(factor, x, arguments[0]);
  }

  static bool is_partial_function(const Factor& factor) {
    return factor.kind == Kind::inverse ||
           (factor.kind == Kind::function &&
            (factor.function == ScalarFunction::sqrt || factor.function == ScalarFunction::log));
  }

  /// Describes an inverse, a root or a logarithm.
  void describe_partial(const Factor& factor, const std::string& x, const std::string& a) {
    linear_ = linear_ && factor.kind == Kind::function && factor.function == ScalarFunction::log;
    if (factor.kind == Kind::inverse)
      state_defined(fmt::format("(not (= 0.0 {}))", a), fmt::format("(= 1.0 (* {} {}))", x, a));
    else if (factor.function == ScalarFunction::sqrt)
      state_defined(fmt::format("(<= 0.0 {})", a),
                    fmt::format("(and (<= 0.0 {0}) (= {1} (* {0} {0})))", x, a));
    else
      state_defined(fmt::format("(< 0.0 {})", a), "true");
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
      case Kind::inverse: describe_partial(factor, x, a[0]); break;
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
        if (factor.function == ScalarFunction::log) describe_logarithm(x, a[0]);
        if (factor.function == ScalarFunction::exp) describe_exponential(factor, x, a[0]);
        if (factor.function == ScalarFunction::erf)
          state("(and (< (- 1.0) {0}) (< {0} 1.0) (= (<= 0.0 {1}) (<= 0.0 {0})))", x, a[0]);
        if (is_partial_function(factor)) describe_partial(factor, x, a[0]);
        break;
      case Kind::opaque: compare_opaque(factor, x, a); break;
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

  void compare_opaque(const Factor& factor, const std::string& x,
                      const std::vector<std::string>& a) {
    for (const auto& [function, y, b] : opaque_) {
      if (function != factor.name || a.size() != b.size()) continue;
      std::string equal;
      for (std::size_t i = 0; i < a.size(); ++i) equal += fmt::format(" (= {} {})", a[i], b[i]);
      state("(=> (and true{}) (= {} {}))", equal, x, y);
    }
    opaque_.emplace_back(factor.name, x, a);
  }

  /// log(a * b) = log(a) + log(b), and log(a * exp(b)) = log(a) + b, for positive a and b.
  void describe_logarithm(const std::string& x, const std::string& a) {
    logarithms_.emplace_back(x, a);
    for (const auto& [y, b] : logarithms_) relate_to_exponentials(y, b, x, a);
    if (logarithms_.size() < 2) return;
    linear_ = false;
    for (const auto& logarithm : logarithms_)
      for (const auto& first : logarithms_)
        for (const auto& second : logarithms_) {
          const bool is_new = logarithm.first == x || first.first == x || second.first == x;
          if (!is_new || second < first || logarithm == first || logarithm == second) continue;
          state("(=> (and (< 0.0 {1}) (< 0.0 {2}) (= {0} (* {1} {2}))) (= {3} (+ {4} {5})))",
                logarithm.second, first.second, second.second, logarithm.first, first.first,
                second.first);
        }
  }

  void relate_to_exponentials(const std::string& y, const std::string& b, const std::string& x,
                              const std::string& a) {
    for (const auto& [function, power, exponent] : functions_) {
      if (function != ScalarFunction::exp) continue;
      linear_ = false;
      state("(=> (and (< 0.0 {1}) (= {0} (* {1} {2}))) (= {3} (+ {4} {5})))", a, b, power, x, y,
            exponent);
      state("(=> (and (< 0.0 {1}) (= {0} (* {1} {2}))) (= {3} (+ {4} {5})))", b, a, power, y, x,
            exponent);
    }
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

  /// States the order of parameters: only that, and of each with 0, is known.
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

  Facts facts_, about_elements_;
  /// What is rendered now is evaluated where this holds; empty: wherever both values are defined.
  std::string evaluated_where_;
  bool is_evaluated_ = true;         // false: that is not known
  std::set<std::string> evaluated_;  // variables of factors that are evaluated in any case
  bool linear_ = true;
  int count_ = 0;
  std::string declarations_;
  std::vector<std::string> constraints_;
  std::vector<std::pair<Factor, std::string>> factors_;
  std::vector<std::pair<Term, std::string>> reductions_;
  std::map<double, std::string> parameters_;
  std::vector<std::tuple<ScalarFunction, std::string, std::string>> functions_;
  std::vector<std::tuple<std::string, std::string, std::vector<std::string>>> opaque_;
  std::vector<std::pair<std::string, std::string>> logarithms_;
  std::map<std::string, std::string> propositions_;
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
  if (const auto entry = answers.find(key); entry != answers.end()) return entry->second;
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
