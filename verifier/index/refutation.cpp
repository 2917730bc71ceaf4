#include "verifier/index/refutation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "verifier/index/elements.h"

namespace lemma::verifier::index {
namespace {

constexpr std::int64_t large = 1 << 20;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15U + b + 0xD1B54A32D192ED03U;
  x ^= x >> 30U;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 27U;
  x *= 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

std::uint64_t hash_of(const std::string& name) {
  std::uint64_t result = 14695981039346656037U;
  for (const char c : name) result = (result ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return result;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

std::int64_t Sample::value(const std::string& name) const {
  const auto entry = values_.find(name);
  if (entry != values_.end()) return entry->second;
  return static_cast<std::int64_t>(mixed(hash_of(name), seed_) % 3);
}

std::optional<std::int64_t> Sample::value(const Dimension& dimension) const {
  std::int64_t result = dimension.offset();
  for (const Dimension::Term& term : dimension.terms()) {
    std::int64_t product = term.coefficient;
    for (const Dimension::AtomPointer& atom : term.atoms) {
      std::int64_t factor = 0;
      if (atom->kind == AtomKind::symbol) {
        if (value_of_symbol(atom->symbol) != nullptr) return std::nullopt;  // an element
        factor = value(atom->symbol);
      } else {
        const auto left = value(atom->left), right = value(atom->right);
        if (!left || !right) return std::nullopt;
        if (atom->kind == AtomKind::floor_div && *right <= 0) return std::nullopt;
        factor = atom->kind == AtomKind::floor_div ? floor_quotient(*left, *right)
                 : atom->kind == AtomKind::minimum ? std::min(*left, *right)
                                                   : std::max(*left, *right);
      }
      product *= factor;
      if (std::abs(product) > large) return std::nullopt;
    }
    result += product;
    if (std::abs(result) > large) return std::nullopt;
  }
  return result;
}

std::optional<bool> Sample::holds(const Formula& formula) const {
  using Kind = FormulaNode::Kind;
  switch (formula->kind) {
    case Kind::truth: return true;
    case Kind::falsity: return false;
    case Kind::nonnegative:
    case Kind::zero: {
      const auto number = value(formula->value);
      if (!number) return std::nullopt;
      return formula->kind == Kind::zero ? *number == 0 : *number >= 0;
    }
    case Kind::element: return std::nullopt;
    case Kind::conjunction:
    case Kind::disjunction: break;
  }
  // A part that decides does so whatever the others are.
  const bool decides = formula->kind == Kind::disjunction;
  bool known = true;
  for (const Formula& part : formula->parts) {
    const auto truth = holds(part);
    if (truth && *truth == decides) return decides;
    known = known && truth.has_value();
  }
  return known ? std::optional(!decides) : std::nullopt;
}

namespace {

/// Draws a value for each name: sizes first, then variables below the extents that facts state.
class Draw {
 public:
  explicit Draw(const std::vector<Formula>& facts) : facts_(facts) {
    std::map<std::string, int> symbols;
    for (const Formula& fact : facts) {
      collect_symbols(fact, symbols);
      note(fact);
    }
    for (const auto& [name, count] : symbols)
      (name.starts_with("_") ? variables_ : sizes_).push_back(name);
  }

  std::optional<Sample> draw(std::uint64_t seed) const {
    Sample sample(seed);
    std::uint64_t state = seed;
    const auto next = [&state] { return state = mixed(state, 7); };
    const std::uint64_t most = 2 + seed % 3;
    for (const std::string& name : sizes_)
      sample.set(name, static_cast<std::int64_t>(next() % (most + 1)));
    for (const std::string& name : variables_) {
      const auto entry = extents_.find(name);
      const auto extent = entry == extents_.end() ? std::nullopt : sample.value(entry->second);
      if (extent && *extent <= 0) return std::nullopt;
      sample.set(
          name, static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(extent.value_or(3))));
    }
    for (const Formula& fact : facts_)
      if (!sample.holds(fact).value_or(false)) return std::nullopt;
    return sample;
  }

 private:
  /// variable < extent
  void note(const Formula& fact) {
    if (fact->kind == FormulaNode::Kind::conjunction)
      for (const Formula& part : fact->parts) note(part);
    if (fact->kind != FormulaNode::Kind::nonnegative) return;
    for (const Dimension::Term& term : fact->value.terms()) {
      if (term.coefficient != -1 || term.atoms.size() != 1) continue;
      const Dimension::Atom& atom = *term.atoms[0];
      if (atom.kind == AtomKind::symbol && atom.symbol.starts_with("_"))
        extents_.emplace(atom.symbol, fact->value + Dimension::symbol(atom.symbol) + 1);
    }
  }

  const std::vector<Formula>& facts_;
  std::vector<std::string> sizes_, variables_;
  std::map<std::string, Dimension> extents_;
};

}  // namespace

const std::vector<Sample>& samples_of(const std::vector<Formula>& facts) {
  constexpr std::size_t wanted = 4, most_draws = 48, most_known = 2'000;
  thread_local std::unordered_map<std::string, std::vector<Sample>> known;
  std::string key;
  for (const Formula& fact : facts) key += fact->text + "\n";
  if (const auto entry = known.find(key); entry != known.end()) return entry->second;
  const Draw draw(facts);
  std::vector<Sample> result;
  for (std::size_t seed = 1; seed <= most_draws && result.size() < wanted; ++seed)
    if (auto sample = draw.draw(seed)) result.push_back(std::move(*sample));
  if (known.size() >= most_known) known.clear();
  return known.emplace(std::move(key), std::move(result)).first->second;
}

bool is_refuted_by_sample(const std::vector<Formula>& facts, const Formula& goal) {
  for (const Sample& sample : samples_of(facts))
    if (!sample.holds(goal).value_or(true)) return true;
  return false;
}

// ---- Elements ---------------------------------------------------------------------------------

namespace {

/// Values of elements at a sample; NaN where there is none, or it is not known.
class Elements {
 public:
  Elements(const Sample& sample, bool positive) : sample_(sample), positive_(positive) {}

  /// Adds the size of each term to `size`, for the error of rounding.
  double value(const Polynomial& polynomial, double& size) {
    double sum = 0;
    for (const Term& term : polynomial.terms) {
      const double summand = static_cast<double>(term.coefficient) * value(term);
      size += std::abs(summand);
      sum += summand;
    }
    return sum;
  }

 private:
  static constexpr double unknown = NAN;

  double value(const Polynomial& polynomial) {
    double size = 0;
    return value(polynomial, size);
  }

  /// Calls `visit` for each value of the variables in the domain; false if that cannot be done.
  template <typename F>
  bool for_each(const std::vector<Bound>& bound, std::size_t first, const Formula& domain,
                F&& visit) {
    if (++steps_ > most_steps) return false;
    if (first == bound.size()) {
      const auto inside = sample_.holds(domain);
      if (!inside) return false;
      if (*inside) visit();
      return true;
    }
    const auto extent = sample_.value(bound[first].extent);
    if (!extent) return false;
    const std::int64_t outside = sample_.value(bound[first].name);
    bool complete = true;
    for (std::int64_t i = 0; i < *extent && complete; ++i) {
      sample_.set(bound[first].name, i);
      complete = for_each(bound, first + 1, domain, visit);
    }
    sample_.set(bound[first].name, outside);
    return complete;
  }

  double value(const Term& term) {
    double sum = 0;
    const bool complete = for_each(term.bound, 0, term.domain, [&] {
      double product = 1;
      for (const FactorPointer& factor : term.factors) product *= value(*factor);
      sum += product;
    });
    return complete ? sum : unknown;
  }

  double value(const Factor& factor) {
    using Kind = Factor::Kind;
    switch (factor.kind) {
      case Kind::read: return element(factor);
      case Kind::constant: return factor.number;
      case Kind::parameter: return 0.37 * factor.number;
      case Kind::size: {
        const auto number = sample_.value(factor.indices[0]);
        return number ? static_cast<double>(*number) : unknown;
      }
      case Kind::inverse: return 1 / value(factor.arguments[0]);
      case Kind::function: return function(factor.function, value(factor.arguments[0]));
      case Kind::power: return std::pow(value(factor.arguments[0]), value(factor.arguments[1]));
      case Kind::maximum: {
        double result = -HUGE_VAL;
        for (const Polynomial& argument : factor.arguments) {
          const double argument_value = value(argument);
          if (std::isnan(argument_value)) return unknown;
          result = std::max(result, argument_value);
        }
        return result;
      }
      case Kind::greatest: return greatest(factor);
      case Kind::product:
      case Kind::opaque:
      case Kind::infinity: break;
    }
    return unknown;
  }

  double greatest(const Factor& factor) {
    double result = -HUGE_VAL;
    bool known = true;
    const bool complete = for_each(factor.bound, 0, factor.domain, [&] {
      const double argument_value = value(factor.arguments[0]);
      known = known && !std::isnan(argument_value);
      result = std::max(result, argument_value);
    });
    return complete && known ? result : unknown;
  }

  double element(const Factor& factor) {
    std::uint64_t hash = mixed(factor.input, sample_.seed());
    for (const Dimension& index : factor.indices) {
      const auto number = sample_.value(index);
      if (!number) return unknown;
      hash = mixed(hash, static_cast<std::uint64_t>(*number));
    }
    const double size = 0.25 + static_cast<double>(hash % 1000003U) / 1000003.0;
    return positive_ || (hash >> 40U) % 2 == 0 ? size : -size;
  }

  static double function(ScalarFunction function, double x) {
    using enum ScalarFunction;
    switch (function) {
      case negate: return -x;
      case absolute: return std::abs(x);
      case exp: return std::exp(x);
      case log: return std::log(x);
      case sqrt: return std::sqrt(x);
      case reciprocal: return 1 / x;
      case sin: return std::sin(x);
      case cos: return std::cos(x);
      case tan: return std::tan(x);
      case atan: return std::atan(x);
      case sinh: return std::sinh(x);
      case cosh: return std::cosh(x);
      case tanh: return std::tanh(x);
      case asinh: return std::asinh(x);
      case erf: return std::erf(x);
      default: return unknown;  // those that rounding makes jump among them
    }
  }

  static constexpr std::size_t most_steps = 4000;
  Sample sample_;
  bool positive_;
  std::size_t steps_ = 0;
};

}  // namespace

bool differ_by_sample(const Polynomial& a, const Polynomial& b, const std::vector<Formula>& facts) {
  for (const Sample& sample : samples_of(facts))
    for (const bool positive : {false, true}) {
      double size = 1;
      const double left = Elements(sample, positive).value(a, size),
                   difference = left - Elements(sample, positive).value(b, size);
      constexpr double tolerance = 1e-6;
      if (std::isfinite(size) && std::isfinite(difference) &&
          std::abs(difference) > tolerance * size)
        return true;
    }
  return false;
}

}  // namespace lemma::verifier::index
