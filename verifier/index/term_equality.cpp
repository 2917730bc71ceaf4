#include "verifier/index/term_equality.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "verifier/index/elements.h"
#include "verifier/index/equality.h"
#include "verifier/index/ranges.h"
#include "verifier/index/refutation.h"
#include "verifier/index/renaming.h"
#include "verifier/index/solver.h"

namespace lemma::verifier::index {
namespace {

using Kind = Factor::Kind;
using Facts = std::vector<Formula>;
using Factors = std::vector<FactorPointer>;

Facts with(const Facts& facts, const Formula& more) {
  Facts result = facts;
  if (!is_always(more)) result.push_back(more);
  return result;
}

Formula whole_domain(const std::vector<Bound>& bound, const Formula& domain) {
  return both(ranges(bound), domain);
}

// ---- Renaming bound variables -----------------------------------------------------------------

/// Collects pairs of indices that would have to be equal.
void require_reads(const Factor& a, const Factor& b, Renaming& renaming);

void require_reads(const Polynomial& a, const Polynomial& b, Renaming& renaming) {
  for (std::size_t i = 0; i < std::min(a.terms.size(), b.terms.size()); ++i)
    for (std::size_t j = 0; j < std::min(a.terms[i].factors.size(), b.terms[i].factors.size()); ++j)
      require_reads(*a.terms[i].factors[j], *b.terms[i].factors[j], renaming);
}

/// The indices of elements that are indices.
void require_reads(const Dimension& a, const Dimension& b, Renaming& renaming) {
  const auto x = a.as_symbol(), y = b.as_symbol();
  const Pieces *left = x ? value_of_symbol(*x) : nullptr,
               *right = y ? value_of_symbol(*y) : nullptr;
  if (left == nullptr || right == nullptr) return renaming.require(a, b);
  for (std::size_t i = 0; i < std::min(left->size(), right->size()); ++i)
    require_reads((*left)[i].value, (*right)[i].value, renaming);
}

void require_reads(const Factor& a, const Factor& b, Renaming& renaming) {
  if (a.kind != b.kind || a.input != b.input) return;
  for (std::size_t i = 0; i < std::min(a.indices.size(), b.indices.size()); ++i)
    require_reads(a.indices[i], b.indices[i], renaming);
  for (std::size_t i = 0; i < std::min(a.arguments.size(), b.arguments.size()); ++i)
    require_reads(a.arguments[i], b.arguments[i], renaming);
}

/// The conditions that values are natural numbers: that a variable is not negative goes without
/// saying, but must be shown of what it stands for.
std::vector<Formula> are_natural(const DimensionBindings& values) {
  std::vector<Formula> parts;
  for (const auto& [name, value] : values) parts.push_back(is_nonnegative(value));
  return parts;
}

/// The conditions that every variable has the value that the other map gives for what the first map
/// gives for it.
std::vector<Formula> are_inverse(const DimensionBindings& first, const DimensionBindings& second) {
  std::vector<Formula> parts;
  for (const auto& [name, value] : second)
    parts.push_back(equal(substituted(value, first), Dimension::symbol(name)));
  return parts;
}

/// The indices of `from` that the renaming takes to those of `to` one to one, as a condition on the variables of
/// `from`; nothing if it does not reach all of `to`, which means that
///
///     sum(to: f) = sum(from if the condition: f at the renamed variables).
std::optional<Formula> preimage(const Renaming& renaming, const Formula& to, const Facts& facts) {
  // Each index of `to` comes back to itself by way of natural numbers.
  std::vector<Formula> round_trip = are_inverse(renaming.backward(), renaming.forward());
  for (Formula& part : are_natural(renaming.backward())) round_trip.push_back(std::move(part));
  const Formula reached = conjunction(std::move(round_trip));
  if (!is_always(reached) && !entails(with(facts, to), reached)) return std::nullopt;
  std::vector<Formula> parts = are_natural(renaming.forward());
  for (Formula& part : are_inverse(renaming.forward(), renaming.backward()))
    parts.push_back(std::move(part));
  parts.push_back(substitute(to, renaming.forward()));
  return conjunction(std::move(parts));
}

bool equivalent(const Formula& a, const Formula& b, const Facts& facts) {
  if (a->text == b->text) return true;
  return entails(with(facts, a), b) && entails(with(facts, b), a);
}

/// No variable that the other binds has a name that stands for something here.
template <typename T>
T renamed_from(const T& other, const T& here, const Facts& facts) {
  std::set<std::string> taken;
  collect_names(here, taken);
  for (const Formula& fact : facts) {
    std::map<std::string, int> symbols;
    collect_symbols(fact, symbols);
    for (const auto& [name, count] : symbols) taken.insert(name);
  }
  return renamed_apart(other, taken);
}

// ---- Products ---------------------------------------------------------------------------------

/// Each factor of the one with a factor of the other, in order; all equal.
bool equal_products(const Factors& a, Factors b, const Facts& facts) {
  if (a.size() != b.size()) return false;
  for (const FactorPointer& factor : a) {
    auto partner = std::find_if(b.begin(), b.end(), [&](const FactorPointer& other) {
      return factor->text == other->text;
    });
    if (partner == b.end())
      partner = std::find_if(b.begin(), b.end(), [&](const FactorPointer& other) {
        return equal_factors(*factor, *other, facts);
      });
    if (partner == b.end()) return false;
    b.erase(partner);
  }
  return true;
}

using Sort = std::tuple<Kind, std::uint32_t, ScalarFunction>;
Sort sort_of(const Factor& factor) { return {factor.kind, factor.input, factor.function}; }

/// The functions and inputs that occur: terms in which others do are not compared further.
std::vector<Sort> signature(const Term& term) {
  std::vector<Sort> result;
  for (const FactorPointer& factor : term.factors) result.push_back(sort_of(*factor));
  std::sort(result.begin(), result.end());
  return result;
}

/// Ways to pair the factors of two products, each with one of its kind; at most `limit`.
class Pairings {
 public:
  using Order = std::vector<std::size_t>;  // of the second product
  Pairings(const Factors& a, const Factors& b, std::size_t limit) : a_(a), b_(b), limit_(limit) {
    used_.resize(b.size(), false);
    extend({});
  }
  const std::vector<Order>& all() const { return found_; }

 private:
  void extend(Order order) {
    if (found_.size() >= limit_) return;
    if (order.size() == a_.size()) {
      found_.push_back(std::move(order));
      return;
    }
    for (std::size_t i = 0; i < b_.size(); ++i) {
      if (used_[i] || sort_of(*a_[order.size()]) != sort_of(*b_[i])) continue;
      used_[i] = true;
      Order more = order;
      more.push_back(i);
      extend(std::move(more));
      used_[i] = false;
    }
  }

  const Factors &a_, &b_;
  std::size_t limit_;
  std::vector<bool> used_;
  std::vector<Order> found_;
};

/// The domain where, in terms of a's variables, b adds up what a does: b = sum(a's variables if the condition:
/// a's factors). No name stands for something in one and is bound in the other.
std::optional<Formula> domain_of_paired(const Term& a, const Term& b, const Pairings::Order& order,
                                        const Facts& facts) {
  Renaming renaming(a.bound, b.bound);
  // Reads first: of what is inside of a function it is not known which terms correspond.
  for (const bool is_read : {true, false})
    for (std::size_t i = 0; i < order.size(); ++i)
      if (a.factors[i]->arguments.empty() == is_read)
        require_reads(*a.factors[i], *b.factors[order[i]], renaming);
  if (!renaming.solve()) return std::nullopt;
  const auto domain = preimage(renaming, whole_domain(b.bound, b.domain), facts);
  if (!domain || is_never(*domain)) return std::nullopt;
  const Facts inside = with(facts, *domain);
  Ranges known(facts);
  known.add(a.bound);
  known.add(*domain);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const FactorPointer there = substitute(b.factors[order[i]], renaming.forward());
    if (a.factors[i]->text != there->text &&
        !equal_factors(*a.factors[i], simplified(*there, known), inside))
      return std::nullopt;
  }
  return domain;
}

std::optional<Formula> domain_of(const Term& a, const Term& b, const Facts& facts) {
  constexpr std::size_t most_pairings = 24;
  const Pairings pairings(a.factors, b.factors, most_pairings);
  for (const Pairings::Order& order : pairings.all())
    if (auto domain = domain_of_paired(a, b, order, facts)) return domain;
  return std::nullopt;
}

/// Whether terms differ by a sample, apart from their coefficients.
bool differ(Term a, Term b, const Facts& facts) {
  a.coefficient = b.coefficient = 1;
  return differ_by_sample(polynomial({std::move(a)}), polynomial({std::move(b)}), facts);
}

/// Maxima, or products.
bool equal_greatest(const Factor& a, const Factor& other, const Facts& facts) {
  const Factor b = renamed_from(other, a, facts);
  Renaming renaming(a.bound, b.bound);
  require_reads(a.arguments[0], b.arguments[0], renaming);
  if (!renaming.solve()) return false;
  const Formula here = whole_domain(a.bound, a.domain);
  const auto domain = preimage(renaming, whole_domain(b.bound, b.domain), facts);
  return domain && equivalent(here, *domain, facts) &&
         are_equal(a.arguments[0], substitute(b.arguments[0], renaming.forward()),
                   with(facts, here));
}

}  // namespace

bool equal_factors(const Factor& a, const Factor& b, const Facts& facts) {
  if (a.text == b.text) return true;
  if (a.kind != b.kind || a.input != b.input || a.function != b.function || a.name != b.name)
    return false;
  if (a.indices.size() != b.indices.size() || a.arguments.size() != b.arguments.size())
    return false;
  if (a.kind == Kind::constant || a.kind == Kind::parameter || a.kind == Kind::infinity)
    return a.number == b.number && a.text == b.text;
  if (a.kind != Kind::read && differ_by_sample(of_factor(a), of_factor(b), facts)) return false;
  if (a.kind == Kind::greatest || a.kind == Kind::product) return equal_greatest(a, b, facts);
  std::vector<Formula> goals;
  for (std::size_t i = 0; i < a.indices.size(); ++i)
    goals.push_back(equal(a.indices[i], b.indices[i]));
  if (!entails(facts, conjunction(std::move(goals)))) return false;
  for (std::size_t i = 0; i < a.arguments.size(); ++i)
    if (!are_equal(a.arguments[i], b.arguments[i], facts)) return false;
  return true;
}

bool equal_terms(const Term& a, const Term& other, const Facts& facts) {
  if (a.text == other.text) return true;
  if (signature(a) != signature(other) || differ(a, other, facts)) return false;
  if (a.bound.empty() && other.bound.empty()) {
    const Facts inside = with(facts, a.domain);
    return equivalent(a.domain, other.domain, facts) &&
           equal_products(a.factors, other.factors, inside);
  }
  const Term b = renamed_from(other, a, facts);
  const auto domain = domain_of(a, b, facts);
  return domain && equivalent(whole_domain(a.bound, a.domain), *domain, facts);
}

// ---- Sums over parts of a domain --------------------------------------------------------------

namespace {

/// Terms that add up the same over different domains.
struct Parts {
  std::vector<std::size_t> terms;  // positions
  std::vector<Formula> domains;    // over the variables of the first
  std::vector<std::int64_t> coefficients;
};

/// Wherever the domains of a set of them meet outside of those of all others, their coefficients add up to 0.
class Cancellation {
 public:
  Cancellation(const Parts& parts, const Facts& facts) : parts_(parts), facts_(facts) {}

  bool run() {
    const std::size_t count = parts_.domains.size();
    constexpr std::size_t most_parts = 8;
    if (count > most_parts) return false;
    relate();
    for (std::size_t set = 1; set < std::size_t{1} << count; ++set) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < count; ++i)
        if (has(set, i)) sum += parts_.coefficients[i];
      if (sum != 0 && is_possible(set) && !contradicts(facts_, where_exactly(set))) return false;
    }
    return true;
  }

 private:
  static bool has(std::size_t set, std::size_t i) { return ((set >> i) & 1U) != 0; }

  void relate() {
    const std::size_t count = parts_.domains.size();
    disjoint_.assign(count, std::vector<bool>(count, false));
    inside_ = disjoint_;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < count; ++j) {
        if (i == j) continue;
        const Formula &a = parts_.domains[i], &b = parts_.domains[j];
        if (i < j) disjoint_[i][j] = is_never(both(a, b)) || contradicts(facts_, both(a, b));
        inside_[i][j] = !disjoint_[std::min(i, j)][std::max(i, j)] && entails(with(facts_, a), b);
      }
  }

  bool is_possible(std::size_t set) const {
    const std::size_t count = parts_.domains.size();
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < count; ++j) {
        if (i < j && disjoint_[i][j] && has(set, i) && has(set, j)) return false;
        if (i != j && inside_[i][j] && has(set, i) && !has(set, j)) return false;
      }
    return true;
  }

  Formula where_exactly(std::size_t set) const {
    std::vector<Formula> conditions;
    for (std::size_t i = 0; i < parts_.domains.size(); ++i)
      conditions.push_back(has(set, i) ? parts_.domains[i] : negation(parts_.domains[i]));
    return conjunction(std::move(conditions));
  }

  const Parts& parts_;
  const Facts& facts_;
  std::vector<std::vector<bool>> disjoint_, inside_;
};

/// All terms that add up what the first one does.
Parts parts_like(const std::vector<Term>& terms, std::size_t first, const Facts& facts) {
  const Term& base = terms[first];
  Parts parts;
  parts.terms = {first};
  parts.domains = {whole_domain(base.bound, base.domain)};
  parts.coefficients = {base.coefficient};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (i == first || signature(terms[i]) != signature(base)) continue;
    if (base.is_plain() && terms[i].is_plain()) continue;  // not equal, or they would be one
    const Term other = renamed_from(terms[i], base, facts);
    auto domain = domain_of(base, other, facts);
    if (!domain) continue;
    parts.terms.push_back(i);
    parts.domains.push_back(std::move(*domain));
    parts.coefficients.push_back(other.coefficient);
  }
  return parts;
}

std::vector<Term> without_cancelled(std::vector<Term> terms, const Facts& facts) {
  for (std::size_t i = 0; i < terms.size();) {
    const Parts parts = parts_like(terms, i, facts);
    if (parts.terms.size() < 2 || !Cancellation(parts, facts).run()) {
      ++i;
      continue;
    }
    std::vector<Term> rest;
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (std::find(parts.terms.begin(), parts.terms.end(), k) == parts.terms.end())
        rest.push_back(std::move(terms[k]));
    terms = std::move(rest);
    i = 0;
  }
  return terms;
}

}  // namespace

Polynomial merged(const Polynomial& a, const Facts& facts) {
  std::vector<Term> terms;
  for (const Term& term : a.terms) {
    const auto same = std::find_if(terms.begin(), terms.end(), [&](const Term& other) {
      return equal_terms(other, term, facts);
    });
    if (same == terms.end()) {
      terms.push_back(term);
      continue;
    }
    if (__builtin_add_overflow(same->coefficient, term.coefficient, &same->coefficient))
      throw Unsupported("a coefficient is too large");
    if (same->coefficient == 0) terms.erase(same);
  }
  return polynomial(without_cancelled(std::move(terms), facts));
}

}  // namespace lemma::verifier::index
