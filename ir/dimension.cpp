#include "ir/dimension.h"

#include <algorithm>
#include <numeric>

#include <absl/hash/hash.h>
#include <fmt/format.h>

#include "base/quoted.h"

namespace lemma {

namespace {

using Atom = Dimension::Atom;
using AtomPointer = Dimension::AtomPointer;
using Term = Dimension::Term;
using Atoms = Dimension::Atoms;
using Terms = Dimension::Terms;

std::strong_ordering compare(const Atom& a, const Atom& b) {
  if (&a == &b) return std::strong_ordering::equal;  // shared, as most equal atoms are
  if (auto order = a.kind <=> b.kind; order != 0) return order;
  if (a.kind == AtomKind::symbol) return a.symbol.compare(b.symbol) <=> 0;
  if (auto order = a.left <=> b.left; order != 0) return order;
  return a.right <=> b.right;
}

std::strong_ordering compare(const Atoms& a, const Atoms& b) {
  // Higher degree first: the leading term of the division algorithm is then the first one.
  if (a.size() != b.size()) return b.size() <=> a.size();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (auto order = compare(*a[i], *b[i]); order != 0) return order;
  return std::strong_ordering::equal;
}

Atoms multiply(const Atoms& a, const Atoms& b) {
  Atoms product;
  product.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(product),
             [](const AtomPointer& x, const AtomPointer& y) { return compare(*x, *y) < 0; });
  return product;
}

/// a / b as monomials, if b divides a.
std::optional<Atoms> divide(const Atoms& a, const Atoms& b) {
  Atoms quotient;
  std::size_t j = 0;
  for (const AtomPointer& atom : a) {
    if (j < b.size() && compare(*atom, *b[j]) == 0)
      ++j;
    else
      quotient.push_back(atom);
  }
  if (j != b.size()) return std::nullopt;
  return quotient;
}

// Beyond these limits a shape is absurd, which is treated as overflow. They bound the time of every
// operation here, and the depth is one that the parser reads back.
constexpr std::size_t term_limit = 1024;
constexpr std::size_t atom_limit = 8192;
constexpr std::size_t depth_limit = 64;

/// Atoms of all terms, also of those nested in atoms.
std::size_t tree_size(const Terms& terms) {
  std::size_t size = 0;
  for (const Term& term : terms)
    for (const AtomPointer& atom : term.atoms) size += atom->size;
  return size;
}

std::size_t tree_depth(const Terms& terms) {
  std::size_t depth = 0;
  for (const Term& term : terms)
    for (const AtomPointer& atom : term.atoms) depth = std::max(depth, atom->depth);
  return depth;
}

bool fits(__int128 value) { return value >= INT64_MIN && value <= INT64_MAX; }

}  // namespace

class DimensionAccess {
 public:
  /// The same terms beside another constant; nothing is copied.
  static Dimension with_constant(const Dimension& dimension, __int128 constant) {
    if (!fits(constant)) return Dimension::invalid();
    Dimension result = dimension;
    result.constant_ = static_cast<std::int64_t>(constant);
    return result;
  }
  static Dimension make(std::int64_t constant, Terms terms) {
    Dimension result(constant);
    if (!terms.empty()) result.terms_ = std::make_shared<const Terms>(std::move(terms));
    return result;
  }
  static Dimension from_atom(Atom atom) {
    atom.hash =
        absl::HashOf(static_cast<int>(atom.kind), atom.symbol, atom.left.hash(), atom.right.hash());
    atom.size = 1 + tree_size(atom.left.terms()) + tree_size(atom.right.terms());
    atom.depth = 1 + std::max(tree_depth(atom.left.terms()), tree_depth(atom.right.terms()));
    if (atom.size > atom_limit || atom.depth > depth_limit) return Dimension::invalid();
    Atoms atoms = {std::make_shared<const Atom>(std::move(atom))};
    return make(0, {Term{std::move(atoms), 1}});
  }
  /// Sums terms with equal monomials; `terms` in any order, and few enough not to overflow a sum.
  static Dimension collect(__int128 constant, Terms terms) {
    if (!fits(constant)) return Dimension::invalid();
    std::sort(terms.begin(), terms.end(),
              [](const Term& a, const Term& b) { return compare(a.atoms, b.atoms) < 0; });
    Terms merged;
    for (std::size_t i = 0, next = 0; i < terms.size(); i = next) {
      __int128 coefficient = 0;
      for (; next < terms.size() && compare(terms[next].atoms, terms[i].atoms) == 0; ++next)
        coefficient += terms[next].coefficient;
      if (!fits(coefficient)) return Dimension::invalid();
      if (coefficient != 0)
        merged.push_back({std::move(terms[i].atoms), static_cast<std::int64_t>(coefficient)});
    }
    if (merged.size() > term_limit || tree_size(merged) > atom_limit) return Dimension::invalid();
    return make(static_cast<std::int64_t>(constant), std::move(merged));
  }
};

Dimension Dimension::symbol(std::string name) {
  return DimensionAccess::from_atom({AtomKind::symbol, std::move(name), {}, {}});
}

Dimension Dimension::invalid() {
  Dimension result;
  result.invalid_ = true;
  return result;
}

std::optional<std::int64_t> Dimension::constant() const {
  if (!is_constant()) return std::nullopt;
  return constant_;
}

const Dimension::Terms& Dimension::terms() const {
  static const Terms none;
  return terms_ ? *terms_ : none;
}

std::optional<std::string> Dimension::as_symbol() const {
  if (constant_ != 0 || invalid_ || terms().size() != 1) return std::nullopt;
  const Term& term = terms().front();
  if (term.coefficient != 1 || term.atoms.size() != 1) return std::nullopt;
  if (term.atoms.front()->kind != AtomKind::symbol) return std::nullopt;
  return term.atoms.front()->symbol;
}

Dimension operator+(const Dimension& a, const Dimension& b) {
  if (a.invalid_ || b.invalid_) return Dimension::invalid();
  const __int128 constant = static_cast<__int128>(a.constant_) + b.constant_;
  if (!a.terms_) return DimensionAccess::with_constant(b, constant);
  if (!b.terms_) return DimensionAccess::with_constant(a, constant);
  Terms terms;
  terms.reserve(a.terms().size() + b.terms().size());
  terms.insert(terms.end(), a.terms().begin(), a.terms().end());
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return DimensionAccess::collect(constant, std::move(terms));
}

Dimension operator-(const Dimension& a, const Dimension& b) {
  if (a.invalid_ || b.invalid_) return Dimension::invalid();
  const __int128 constant = static_cast<__int128>(a.constant_) - b.constant_;
  if (!b.terms_) return DimensionAccess::with_constant(a, constant);
  if (a.terms_ == b.terms_) return DimensionAccess::with_constant({}, constant);
  Terms terms;
  terms.reserve(a.terms().size() + b.terms().size() + 1);
  terms.insert(terms.end(), a.terms().begin(), a.terms().end());
  for (const Term& term : b.terms()) {
    // The least integer has no negative of its width; in two parts it has.
    const bool least = term.coefficient == INT64_MIN;
    if (least) terms.push_back({term.atoms, 1});
    terms.push_back({term.atoms, least ? INT64_MAX : -term.coefficient});
  }
  return DimensionAccess::collect(constant, std::move(terms));
}

Dimension operator*(const Dimension& a, const Dimension& b) {
  if (a.invalid_ || b.invalid_) return Dimension::invalid();
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  Terms terms;
  if ((a.terms().size() + 1) * (b.terms().size() + 1) > 4 * term_limit) return Dimension::invalid();
  auto add = [&terms](const Atoms& atoms, std::int64_t x, std::int64_t y) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(x, y, &product)) return false;
    if (product != 0) terms.push_back({atoms, product});
    return true;
  };
  for (const Term& term : a.terms())
    if (!add(term.atoms, term.coefficient, b.constant_)) return Dimension::invalid();
  for (const Term& term : b.terms())
    if (!add(term.atoms, term.coefficient, a.constant_)) return Dimension::invalid();
  for (const Term& x : a.terms())
    for (const Term& y : b.terms())
      if (!add(multiply(x.atoms, y.atoms), x.coefficient, y.coefficient))
        return Dimension::invalid();
  return DimensionAccess::collect(static_cast<__int128>(a.constant_) * b.constant_,
                                  std::move(terms));
}

bool operator==(const Dimension& a, const Dimension& b) {
  if (a.constant_ != b.constant_ || a.invalid_ != b.invalid_) return false;
  if (a.terms_ == b.terms_) return true;
  return std::equal(a.terms().begin(), a.terms().end(), b.terms().begin(), b.terms().end(),
                    [](const Term& s, const Term& t) {
                      return s.coefficient == t.coefficient &&
                             std::equal(s.atoms.begin(), s.atoms.end(), t.atoms.begin(),
                                        t.atoms.end(), [](const auto& x, const auto& y) {
                                          return x->hash == y->hash && compare(*x, *y) == 0;
                                        });
                    });
}

std::strong_ordering operator<=>(const Dimension& a, const Dimension& b) {
  if (auto order = a.invalid_ <=> b.invalid_; order != 0) return order;
  if (a.terms_ != b.terms_) {
    const auto &s = a.terms(), &t = b.terms();
    if (s.size() != t.size()) return s.size() <=> t.size();
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (auto order = compare(s[i].atoms, t[i].atoms); order != 0) return order;
      if (auto order = s[i].coefficient <=> t[i].coefficient; order != 0) return order;
    }
  }
  return a.constant_ <=> b.constant_;
}

std::size_t Dimension::hash() const {
  std::size_t state = absl::HashOf(constant_, invalid_);
  for (const Term& term : terms()) {
    state = absl::HashOf(state, term.coefficient, term.atoms.size());
    for (const AtomPointer& atom : term.atoms) state = absl::HashOf(state, atom->hash);
  }
  return state;
}

namespace {

std::string text_of(const Atom& atom) {
  switch (atom.kind) {
    case AtomKind::symbol:
      return is_plain_name(atom.symbol) && atom.symbol != "invalid" ? atom.symbol
                                                                    : quote(atom.symbol);
    case AtomKind::floor_div:
      return fmt::format("floordiv({}, {})", atom.left.text(), atom.right.text());
    case AtomKind::minimum: return fmt::format("min({}, {})", atom.left.text(), atom.right.text());
    case AtomKind::maximum: return fmt::format("max({}, {})", atom.left.text(), atom.right.text());
  }
  return "?";
}

}  // namespace

std::string Dimension::text() const {
  if (invalid_) return "invalid";
  std::string result;
  for (const Term& term : terms()) {
    const bool negative = term.coefficient < 0;
    if (!result.empty())
      result += negative ? " - " : " + ";
    else if (negative)
      result += "-";
    const auto magnitude = negative ? 0 - static_cast<std::uint64_t>(term.coefficient)
                                    : static_cast<std::uint64_t>(term.coefficient);
    if (magnitude != 1) result += fmt::format("{}*", magnitude);
    for (std::size_t i = 0; i < term.atoms.size(); ++i)
      result += (i == 0 ? "" : "*") + text_of(*term.atoms[i]);
  }
  if (result.empty()) return fmt::format("{}", constant_);
  if (constant_ > 0) result += fmt::format(" + {}", constant_);
  if (constant_ < 0) result += fmt::format(" - {}", 0 - static_cast<std::uint64_t>(constant_));
  return result;
}

std::optional<Dimension> exact_div(const Dimension& a, const Dimension& b) {
  if (!a.is_valid() || !b.is_valid() || b.is(0)) return std::nullopt;
  const bool constant_divisor = b.is_constant();
  Dimension remainder = a, quotient;
  // Long division by the leading term; each step removes the leading term of the remainder.
  for (std::size_t step = 0; step <= term_limit + 1; ++step) {
    if (remainder.is(0)) return quotient;
    const std::int64_t divisor = constant_divisor ? b.offset() : b.terms().front().coefficient;
    const Atoms divisor_atoms = constant_divisor ? Atoms{} : b.terms().front().atoms;
    const bool constant_remainder = remainder.is_constant();
    const std::int64_t leading =
        constant_remainder ? remainder.offset() : remainder.terms().front().coefficient;
    const Atoms leading_atoms = constant_remainder ? Atoms{} : remainder.terms().front().atoms;
    auto atoms = divide(leading_atoms, divisor_atoms);
    if (!atoms || (divisor == -1 && leading == INT64_MIN) || leading % divisor != 0)
      return std::nullopt;
    const Dimension factor =
        atoms->empty() ? Dimension(leading / divisor)
                       : DimensionAccess::make(0, {Term{std::move(*atoms), leading / divisor}});
    quotient = quotient + factor;
    remainder = remainder - factor * b;
    if (!remainder.is_valid()) return std::nullopt;
  }
  return std::nullopt;
}

namespace {

std::int64_t floor_quotient(std::int64_t a, std::int64_t positive) {
  return a / positive - (a % positive < 0 ? 1 : 0);
}

/// The canonical form of floor(a / divisor) for a symbolic `a` and a divisor above 1. What the
/// divisor divides is taken out, floor((d*t + r) / d) = t + floor(r / d); a common factor is
/// cancelled; a floor inside a floor is one floor.
Dimension floor_div_symbolic(const Dimension& a, std::int64_t divisor) {
  Terms whole, rest;
  std::int64_t common = divisor;
  for (const Term& term : a.terms()) {
    const std::int64_t quotient = term.coefficient / divisor;
    const std::int64_t remainder = term.coefficient % divisor;
    if (quotient != 0) whole.push_back({term.atoms, quotient});
    if (remainder != 0) rest.push_back({term.atoms, remainder});
    common = std::gcd(common, remainder);
  }
  const std::int64_t offset = floor_quotient(a.offset(), divisor);
  const auto offset_rest =
      static_cast<std::int64_t>(a.offset() - static_cast<__int128>(offset) * divisor);
  Dimension outside = DimensionAccess::make(offset, std::move(whole));
  if (rest.empty()) return outside;
  for (Term& term : rest) term.coefficient /= common;
  const Dimension inside = DimensionAccess::make(offset_rest / common, std::move(rest));
  const Dimension reduced(divisor / common);
  const Term& first = inside.terms().front();
  const Atom& atom = *first.atoms.front();
  if (inside.terms().size() == 1 && first.coefficient == 1 && first.atoms.size() == 1 &&
      atom.kind == AtomKind::floor_div && atom.right.is_constant() && atom.right.offset() > 0) {
    const Dimension both = reduced * atom.right;
    const Dimension numerator = atom.left + Dimension(inside.offset()) * atom.right;
    if (both.is_valid() && numerator.is_valid()) return outside + floor_div(numerator, both);
  }
  return outside + DimensionAccess::from_atom({AtomKind::floor_div, {}, inside, reduced});
}

}  // namespace

Dimension floor_div(const Dimension& a, const Dimension& b) {
  if (!a.is_valid() || !b.is_valid() || b.is(0)) return Dimension::invalid();
  if (b.is(1)) return a;
  if (auto quotient = exact_div(a, b)) return *quotient;
  if (b.is_constant() && b.offset() < 0) {
    const Dimension numerator = a * Dimension(-1), divisor = b * Dimension(-1);
    if (numerator.is_valid() && divisor.is_valid()) return floor_div(numerator, divisor);
    if (a.is_constant()) return Dimension::invalid();
  } else if (b.is_constant()) {
    if (a.is_constant()) return floor_quotient(a.offset(), b.offset());
    return floor_div_symbolic(a, b.offset());
  }
  return DimensionAccess::from_atom({AtomKind::floor_div, {}, a, b});
}

Dimension floor_mod(const Dimension& a, const Dimension& b) {
  if (a.is_constant() && b.is_constant() && b.offset() > 0)
    return a.offset() % b.offset() + (a.offset() % b.offset() < 0 ? b.offset() : 0);
  return a - b * floor_div(a, b);
}

namespace {

/// Lower bound of an atom for all non-negative symbols.
std::optional<std::int64_t> lower_bound_of(const Atom& atom) {
  if (atom.kind == AtomKind::symbol) return 0;
  const auto left = lower_bound(atom.left);
  if (atom.kind == AtomKind::floor_div) {
    const bool divides = atom.right.is_constant() && atom.right.offset() > 0;
    if (!left || !divides) return std::nullopt;
    return floor_quotient(*left, atom.right.offset());
  }
  const auto right = lower_bound(atom.right);
  if (left && right)
    return atom.kind == AtomKind::maximum ? std::max(*left, *right) : std::min(*left, *right);
  return atom.kind == AtomKind::maximum ? (left ? left : right) : std::nullopt;
}

/// Lower bound of the dimension times a sign.
std::optional<std::int64_t> signed_lower_bound(const Dimension& dimension, int sign) {
  if (!dimension.is_valid()) return std::nullopt;
  __int128 bound = static_cast<__int128>(dimension.offset()) * sign;
  for (const Term& term : dimension.terms()) {
    if ((term.coefficient < 0) == (sign > 0)) return std::nullopt;
    __int128 product = 1;
    for (const AtomPointer& atom : term.atoms) {
      const auto low = lower_bound_of(*atom);
      // A negative bound says nothing about a product with another factor.
      if (!low || (*low < 0 && term.atoms.size() > 1)) return std::nullopt;
      product *= *low;
      if (product > INT64_MAX) return std::nullopt;
    }
    bound += product * term.coefficient * sign;
    if (bound > INT64_MAX || bound < INT64_MIN) return std::nullopt;
  }
  if (bound > INT64_MAX || bound < INT64_MIN) return std::nullopt;
  return static_cast<std::int64_t>(bound);
}

}  // namespace

std::optional<std::int64_t> lower_bound(const Dimension& dimension) {
  return signed_lower_bound(dimension, 1);
}

namespace {

/// +1 if a >= b for all non-negative symbols, -1 if a <= b, 0 if not seen.
int order_of(const Dimension& a, const Dimension& b) {
  if (a.is_constant() && b.is_constant()) return a.offset() >= b.offset() ? 1 : -1;
  const Dimension difference = a - b;
  if (const auto low = signed_lower_bound(difference, 1); low && *low >= 0) return 1;
  if (const auto low = signed_lower_bound(difference, -1); low && *low >= 0) return -1;
  return 0;
}

Dimension extremum(AtomKind kind, const Dimension& a, const Dimension& b) {
  if (!a.is_valid() || !b.is_valid()) return Dimension::invalid();
  const int order = order_of(a, b);
  if (order != 0) return (order > 0) == (kind == AtomKind::maximum) ? a : b;
  const bool swap = b < a;
  return DimensionAccess::from_atom({kind, {}, swap ? b : a, swap ? a : b});
}

}  // namespace

Dimension minimum(const Dimension& a, const Dimension& b) {
  return extremum(AtomKind::minimum, a, b);
}
Dimension maximum(const Dimension& a, const Dimension& b) {
  return extremum(AtomKind::maximum, a, b);
}

Dimension substitute(const Dimension& dimension, const DimensionBindings& bindings) {
  if (dimension.is_constant() || !dimension.is_valid() || bindings.empty()) return dimension;
  Dimension result(dimension.offset());
  for (const Term& term : dimension.terms()) {
    Dimension product(term.coefficient);
    for (const AtomPointer& atom : term.atoms) {
      Dimension factor;
      if (atom->kind == AtomKind::symbol) {
        auto entry = bindings.find(atom->symbol);
        factor = entry != bindings.end() ? entry->second : Dimension::symbol(atom->symbol);
      } else {
        const Dimension left = substitute(atom->left, bindings);
        const Dimension right = substitute(atom->right, bindings);
        factor = atom->kind == AtomKind::floor_div ? floor_div(left, right)
                                                   : extremum(atom->kind, left, right);
      }
      product = product * factor;
    }
    result = result + product;
  }
  return result;
}

void collect_symbols(const Dimension& dimension, std::map<std::string, int>& counts) {
  for (const Term& term : dimension.terms())
    for (const AtomPointer& atom : term.atoms) {
      if (atom->kind == AtomKind::symbol) {
        ++counts[atom->symbol];
      } else {
        collect_symbols(atom->left, counts);
        collect_symbols(atom->right, counts);
      }
    }
}

Dimension element_count(const Shape& shape) {
  const bool valid = std::all_of(shape.begin(), shape.end(),
                                 [](const Dimension& dimension) { return dimension.is_valid(); });
  const bool empty = std::any_of(shape.begin(), shape.end(),
                                 [](const Dimension& dimension) { return dimension.is(0); });
  if (valid && empty) return 0;  // however large the other sizes are
  Dimension count(1);
  for (const Dimension& dimension : shape) count = count * dimension;
  return count;
}

bool is_constant(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](const Dimension& dimension) { return dimension.is_constant(); });
}

bool has_sizes(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dimension& dimension) {
    return dimension.is_valid() && (!dimension.is_constant() || dimension.offset() >= 0);
  });
}

std::optional<std::vector<std::int64_t>> constant_sizes(const Shape& shape) {
  std::vector<std::int64_t> sizes;
  for (const Dimension& dimension : shape) {
    if (!dimension.is_constant()) return std::nullopt;
    sizes.push_back(dimension.offset());
  }
  return sizes;
}

std::string text(const Shape& shape) {
  std::string result = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) result += (i == 0 ? "" : ", ") + shape[i].text();
  return result + "]";
}

}  // namespace lemma
