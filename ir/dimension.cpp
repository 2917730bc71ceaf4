#include "ir/dimension.h"

#include <algorithm>
#include <cctype>

#include <absl/hash/hash.h>
#include <fmt/format.h>

namespace lemma {

namespace {

using Atom = Dimension::Atom;
using AtomPointer = Dimension::AtomPointer;
using Term = Dimension::Term;

std::strong_ordering compare(const Atom& a, const Atom& b) {
  if (&a == &b) return std::strong_ordering::equal;
  if (auto order = a.kind <=> b.kind; order != 0) return order;
  if (a.kind == AtomKind::symbol) return a.symbol.compare(b.symbol) <=> 0;
  if (auto order = a.left <=> b.left; order != 0) return order;
  return a.right <=> b.right;
}

std::strong_ordering compare(const std::vector<AtomPointer>& a, const std::vector<AtomPointer>& b) {
  // Higher degree first: the leading term of the division algorithm is then the first one.
  if (a.size() != b.size()) return b.size() <=> a.size();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (auto order = compare(*a[i], *b[i]); order != 0) return order;
  return std::strong_ordering::equal;
}

std::vector<AtomPointer> multiply(const std::vector<AtomPointer>& a,
                                  const std::vector<AtomPointer>& b) {
  std::vector<AtomPointer> product;
  product.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(product),
             [](const AtomPointer& x, const AtomPointer& y) { return compare(*x, *y) < 0; });
  return product;
}

/// a / b as monomials, if b divides a.
std::optional<std::vector<AtomPointer>> divide(const std::vector<AtomPointer>& a,
                                               const std::vector<AtomPointer>& b) {
  std::vector<AtomPointer> quotient;
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

constexpr std::size_t term_limit = 256;  // beyond this a shape is absurd: treated as overflow

}  // namespace

class DimensionAccess {
 public:
  static Dimension make(std::int64_t constant, std::vector<Term> terms) {
    Dimension result(constant);
    if (!terms.empty()) result.terms_ = std::make_shared<const std::vector<Term>>(std::move(terms));
    return result;
  }
  static Dimension from_atom(Atom atom) {
    std::vector<AtomPointer> atoms = {std::make_shared<const Atom>(std::move(atom))};
    return make(0, {Term{std::move(atoms), 1}});
  }
  /// Sums terms with equal monomials; `terms` in any order.
  static Dimension collect(__int128 constant, std::vector<Term> terms) {
    if (constant > INT64_MAX || constant < INT64_MIN) return Dimension::invalid();
    std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
      return compare(a.atoms, b.atoms) < 0;
    });
    std::vector<Term> merged;
    for (Term& term : terms) {
      if (!merged.empty() && compare(merged.back().atoms, term.atoms) == 0) {
        if (__builtin_add_overflow(merged.back().coefficient, term.coefficient,
                                   &merged.back().coefficient))
          return Dimension::invalid();
        if (merged.back().coefficient == 0) merged.pop_back();
      } else if (term.coefficient != 0) {
        merged.push_back(std::move(term));
      }
    }
    if (merged.size() > term_limit) return Dimension::invalid();
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

const std::vector<Dimension::Term>& Dimension::terms() const {
  static const std::vector<Term> none;
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
  std::vector<Term> terms = a.terms();
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return DimensionAccess::collect(static_cast<__int128>(a.constant_) + b.constant_,
                                  std::move(terms));
}

Dimension operator-(const Dimension& a, const Dimension& b) { return a + b * Dimension(-1); }

Dimension operator*(const Dimension& a, const Dimension& b) {
  if (a.invalid_ || b.invalid_) return Dimension::invalid();
  std::vector<Term> terms;
  if ((a.terms().size() + 1) * (b.terms().size() + 1) > 4 * term_limit) return Dimension::invalid();
  auto add = [&terms](const std::vector<AtomPointer>& atoms, std::int64_t x, std::int64_t y) {
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

bool operator==(const Dimension& a, const Dimension& b) { return (a <=> b) == 0; }

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
  if (!terms_) return absl::HashOf(constant_, invalid_);
  return absl::HashOf(text());
}

namespace {

std::string text_of(const Atom& atom) {
  switch (atom.kind) {
    case AtomKind::symbol: return atom.symbol;
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
  for (int step = 0; step < 64; ++step) {
    if (remainder.is(0)) return quotient;
    const std::int64_t divisor =
        constant_divisor ? b.offset() : b.terms().front().coefficient;
    const std::vector<AtomPointer> divisor_atoms =
        constant_divisor ? std::vector<AtomPointer>{} : b.terms().front().atoms;
    const bool constant_remainder = remainder.is_constant();
    const std::int64_t leading =
        constant_remainder ? remainder.offset() : remainder.terms().front().coefficient;
    const std::vector<AtomPointer> leading_atoms =
        constant_remainder ? std::vector<AtomPointer>{} : remainder.terms().front().atoms;
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

Dimension floor_div(const Dimension& a, const Dimension& b) {
  if (!a.is_valid() || !b.is_valid() || b.is(0)) return Dimension::invalid();
  if (auto quotient = exact_div(a, b)) return *quotient;
  if (!b.is_constant()) return DimensionAccess::from_atom({AtomKind::floor_div, {}, a, b});
  const std::int64_t divisor = b.offset();
  if (a.is_constant()) {
    const std::int64_t value = a.offset();
    if (divisor == -1 && value == INT64_MIN) return Dimension::invalid();
    const std::int64_t quotient = value / divisor;
    return quotient - (value % divisor != 0 && ((value < 0) != (divisor < 0)) ? 1 : 0);
  }
  if (divisor < 0) return DimensionAccess::from_atom({AtomKind::floor_div, {}, a, b});
  // Take out what the divisor divides: floor((d*t + r) / d) = t + floor(r / d).
  std::vector<Term> whole, rest;
  for (const Term& term : a.terms()) {
    const bool divides = term.coefficient % divisor == 0;
    (divides ? whole : rest).push_back(term);
    if (divides) whole.back().coefficient /= divisor;
  }
  const Dimension constant_quotient = floor_div(Dimension(a.offset()), b);
  const std::int64_t constant_rest = a.offset() - constant_quotient.offset() * divisor;
  const Dimension outside = DimensionAccess::make(constant_quotient.offset(), std::move(whole));
  if (rest.empty()) return outside;
  const Dimension inside = DimensionAccess::make(constant_rest, std::move(rest));
  return outside + DimensionAccess::from_atom({AtomKind::floor_div, {}, inside, b});
}

Dimension floor_mod(const Dimension& a, const Dimension& b) { return a - b * floor_div(a, b); }

std::optional<std::int64_t> lower_bound(const Dimension& dimension) {
  if (!dimension.is_valid()) return std::nullopt;
  __int128 bound = dimension.offset();
  for (const Term& term : dimension.terms()) {
    __int128 product = 1;
    for (const AtomPointer& atom : term.atoms) {
      std::optional<std::int64_t> low;
      if (atom->kind == AtomKind::symbol) low = 0;
      if (atom->kind == AtomKind::maximum) {
        auto l = lower_bound(atom->left), r = lower_bound(atom->right);
        low = l && r ? std::max(*l, *r) : (l ? l : r);
      }
      if (atom->kind == AtomKind::minimum) {
        auto l = lower_bound(atom->left), r = lower_bound(atom->right);
        if (l && r) low = std::min(*l, *r);
      }
      if (atom->kind == AtomKind::floor_div && atom->right.is_constant() &&
          atom->right.offset() > 0)
        if (auto l = lower_bound(atom->left))
          low = floor_div(Dimension(*l), atom->right).offset();
      if (!low || *low < 0) return std::nullopt;
      product *= *low;
      if (product > INT64_MAX) return std::nullopt;
    }
    if (term.coefficient < 0) return std::nullopt;
    bound += product * term.coefficient;
    if (bound > INT64_MAX || bound < INT64_MIN) return std::nullopt;
  }
  return static_cast<std::int64_t>(bound);
}

namespace {

/// +1 if a >= b for all non-negative symbols, -1 if a <= b, 0 if not seen.
int order_of(const Dimension& a, const Dimension& b) {
  const Dimension difference = a - b;
  if (auto low = lower_bound(difference); low && *low >= 0) return 1;
  if (auto low = lower_bound(b - a); low && *low >= 0) return -1;
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
        auto found = bindings.find(atom->symbol);
        factor = found != bindings.end() ? found->second : Dimension::symbol(atom->symbol);
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

namespace {

/// Recursive descent over: sum := product (('+'|'-') product)*; product := factor ('*' factor)*.
class DimensionParser {
 public:
  explicit DimensionParser(std::string_view text) : text_(text) {}

  Result<Dimension> parse() {
    LEMMA_ASSIGN_OR_RETURN(Dimension result, sum(0));
    skip_space();
    if (position_ != text_.size()) return error("unexpected text");
    return result;
  }

 private:
  static constexpr int depth_limit = 100;

  Result<Dimension> sum(int depth) {
    if (depth > depth_limit) return error("nested too deeply");
    LEMMA_ASSIGN_OR_RETURN(Dimension total, product(depth));
    while (true) {
      if (accept('+')) {
        LEMMA_ASSIGN_OR_RETURN(Dimension next, product(depth));
        total = total + next;
      } else if (accept('-')) {
        LEMMA_ASSIGN_OR_RETURN(Dimension next, product(depth));
        total = total - next;
      } else {
        return total;
      }
    }
  }

  Result<Dimension> product(int depth) {
    LEMMA_ASSIGN_OR_RETURN(Dimension total, factor(depth));
    while (accept('*')) {
      LEMMA_ASSIGN_OR_RETURN(Dimension next, factor(depth));
      total = total * next;
    }
    return total;
  }

  Result<Dimension> factor(int depth) {
    if (depth > depth_limit) return error("nested too deeply");
    if (accept('-')) {
      LEMMA_ASSIGN_OR_RETURN(Dimension inner, factor(depth + 1));
      return Dimension(0) - inner;
    }
    if (accept('(')) {
      LEMMA_ASSIGN_OR_RETURN(Dimension inner, sum(depth + 1));
      if (!accept(')')) return error("expected ')'");
      return inner;
    }
    skip_space();
    const std::size_t begin = position_;
    if (begin < text_.size() && std::isdigit(static_cast<unsigned char>(text_[begin]))) {
      std::int64_t value = 0;
      for (; position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_]));
           ++position_)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text_[position_] - '0', &value))
          return error("number too large");
      return Dimension(value);
    }
    while (position_ < text_.size() && is_name_character(text_[position_])) ++position_;
    if (position_ == begin) return error("expected a dimension");
    std::string word(text_.substr(begin, position_ - begin));
    if (!accept('(')) return Dimension::symbol(std::move(word));
    LEMMA_ASSIGN_OR_RETURN(Dimension left, sum(depth + 1));
    if (!accept(',')) return error("expected ','");
    LEMMA_ASSIGN_OR_RETURN(Dimension right, sum(depth + 1));
    if (!accept(')')) return error("expected ')'");
    if (word == "floordiv") return floor_div(left, right);
    if (word == "min") return minimum(left, right);
    if (word == "max") return maximum(left, right);
    return error("unknown function '" + word + "'");
  }

  static bool is_name_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '\'';
  }
  void skip_space() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool accept(char c) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  tl::unexpected<Error> error(const std::string& what) const {
    return bad_input(fmt::format("dimension '{}': {} at column {}", text_, what, position_ + 1));
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

Result<Dimension> parse_dimension(std::string_view text) { return DimensionParser(text).parse(); }

Dimension element_count(const Shape& shape) {
  Dimension count(1);
  for (const Dimension& dimension : shape) count = count * dimension;
  return count;
}

bool is_constant(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](const Dimension& dimension) { return dimension.is_constant(); });
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
  for (std::size_t i = 0; i < shape.size(); ++i)
    result += (i == 0 ? "" : ", ") + shape[i].text();
  return result + "]";
}

}  // namespace lemma
