#include "verifier/index/elements.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

namespace lemma::verifier::index {
namespace {

using Kind = Factor::Kind;

// ---- Names of bound variables ------------------------------------------------------------------

/// Variables that the term binds get the names "_e0", "_e1", ... in order of their appearance.
class Closing {
 public:
  explicit Closing(std::size_t first) : next_(first) {}

  Polynomial of(const Polynomial& value) {
    std::vector<Term> terms;
    for (const Term& term : value.terms) terms.push_back(of(term));
    return polynomial(std::move(terms));
  }

 private:
  Term of(const Term& given) {
    Term term = given;
    const DimensionBindings names = renamed(term.bound);
    term.domain = substitute(term.domain, names);
    for (FactorPointer& factor : term.factors) factor = of(substitute(factor, names));
    return finished(std::move(term));
  }

  FactorPointer of(const FactorPointer& given) {
    Factor factor = *given;
    const DimensionBindings names = renamed(factor.bound);
    factor.domain = substitute(factor.domain, names);
    for (Polynomial& argument : factor.arguments) argument = of(substitute(argument, names));
    return finished(std::move(factor));
  }

  DimensionBindings renamed(std::vector<Bound>& bound) {
    DimensionBindings names;
    for (Bound& variable : bound) {
      std::string name = fmt::format("_e{}", next_++);
      names[variable.name] = Dimension::symbol(name);
      variable.name = std::move(name);
    }
    for (Bound& variable : bound) variable.extent = substituted(variable.extent, names);
    return names;
  }

  std::size_t next_;
};

void collect_bound(const Polynomial& value, std::set<std::string>& names) {
  for (const Term& term : value.terms) {
    for (const Bound& variable : term.bound) names.insert(variable.name);
    for (const FactorPointer& factor : term.factors) {
      for (const Bound& variable : factor->bound) names.insert(variable.name);
      for (const Polynomial& argument : factor->arguments) collect_bound(argument, names);
    }
  }
}

/// The same with names of bound variables that depend on nothing outside: conditions and symbols are
/// compared by their texts.
Polynomial closed(const Polynomial& value) {
  std::set<std::string> bound, names;
  collect_bound(value, bound);
  if (bound.empty()) return value;
  for (const Term& term : value.terms) collect_names(term, names);
  // Not the names that conditions inside of it have.
  std::size_t first = 0;
  for (const std::string& name : names)
    if (name.starts_with("_e") && !bound.contains(name))
      first = std::max(first, static_cast<std::size_t>(std::stoul(name.substr(2))) + 1);
  return Closing(first).of(value);
}

// ---- Conditions --------------------------------------------------------------------------------

Formula element(Polynomial value, bool compares_equal, bool is_negated) {
  FormulaNode node;
  node.kind = FormulaNode::Kind::element;
  node.compares_equal = compares_equal;
  node.is_negated = is_negated;
  node.proposition = fmt::format("[{} {} 0]", value.text, compares_equal ? "==" : ">");
  node.text = (is_negated ? "not " : "") + node.proposition;
  node.element = std::make_shared<const Polynomial>(std::move(value));
  return std::make_shared<const FormulaNode>(std::move(node));
}

/// The sign of a number that is known: -1, 0 or 1.
std::optional<int> known_sign(const Polynomial& value) {
  if (value.terms.empty()) return 0;
  if (value.terms.size() != 1) return std::nullopt;
  const Term& term = value.terms[0];
  int sign = term.coefficient > 0 ? 1 : -1;
  if (!term.is_plain()) return std::nullopt;
  for (const FactorPointer& factor : term.factors) {
    if (factor->kind != Kind::constant || factor->number == 0) return std::nullopt;
    if (factor->number < 0) sign = -sign;
  }
  return sign;
}

void refuse_infinity(const Polynomial& value) {
  if (is_infinite(value)) throw Unsupported("a comparison with an infinity");
}

}  // namespace

std::optional<Dimension> as_dimension(const Polynomial& value) {
  Dimension sum;
  for (const Term& term : value.terms) {
    if (!term.is_plain()) return std::nullopt;
    Dimension product(term.coefficient);
    for (const FactorPointer& factor : term.factors) {
      if (factor->kind != Kind::size) return std::nullopt;
      product = product * factor->indices[0];
    }
    sum = sum + product;
  }
  return sum.is_valid() ? std::optional(sum) : std::nullopt;
}

Formula is_positive(const Polynomial& value) {
  refuse_infinity(value);
  if (const auto sign = known_sign(value)) return *sign > 0 ? always() : never();
  if (const auto index = as_dimension(value)) return less(0, *index);
  return element(closed(value), false, false);
}

Formula equals_zero(const Polynomial& value) {
  refuse_infinity(value);
  if (const auto sign = known_sign(value)) return *sign == 0 ? always() : never();
  if (const auto index = as_dimension(value)) return is_zero(*index);
  // Of a == 0 and -a == 0 one form only.
  Polynomial given = closed(value), opposite = closed(scale(value, -1));
  return element(given.text < opposite.text ? std::move(given) : std::move(opposite), true, false);
}

Formula opposite_of_element(const Formula& formula) {
  return element(*formula->element, formula->compares_equal, !formula->is_negated);
}

Formula substitute_in_element(const Formula& formula, const DimensionBindings& bindings) {
  const Polynomial value = substitute(*formula->element, bindings);
  const Formula result = formula->compares_equal ? equals_zero(value) : is_positive(value);
  return formula->is_negated ? negation(result) : result;
}

// ---- Elements as indices -----------------------------------------------------------------------

namespace {

/// Symbols and what they stand for. A name says all of its value: that others have been here before
/// makes no difference.
class Symbols {
 public:
  const Pieces* find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto entry = values_.find(name);
    return entry == values_.end() ? nullptr : entry->second.get();
  }

  void add(const std::string& name, Pieces value) {
    const std::lock_guard lock(mutex_);
    values_.try_emplace(name, std::make_unique<const Pieces>(std::move(value)));
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<const Pieces>> values_;
};

Symbols& symbols() {
  static Symbols instance;
  return instance;
}

constexpr char mark = '@';

}  // namespace

Dimension as_index(Pieces value) {
  std::erase_if(value, [](const Piece& piece) { return is_never(piece.guard); });
  if (value.size() == 1)
    if (auto index = as_dimension(value[0].value)) return *index;
  for (Piece& piece : value) piece.value = closed(piece.value);
  std::sort(value.begin(), value.end(), [](const Piece& a, const Piece& b) {
    return std::pair(a.guard->text, a.value.text) < std::pair(b.guard->text, b.value.text);
  });
  std::string name = fmt::format("{}{{", mark);
  for (const Piece& piece : value) {
    if (!is_always(piece.guard)) name += piece.guard->text + ": ";
    name += piece.value.text + "; ";
  }
  name += "}";
  symbols().add(name, std::move(value));
  return Dimension::symbol(std::move(name));
}

const Pieces* value_of_symbol(const std::string& symbol) {
  return symbol.empty() || symbol[0] != mark ? nullptr : symbols().find(symbol);
}

bool depends_on_elements(const Dimension& index) {
  std::map<std::string, int> names;
  lemma::collect_symbols(index, names);
  return std::any_of(names.begin(), names.end(),
                     [](const auto& name) { return value_of_symbol(name.first) != nullptr; });
}

Dimension substituted(const Dimension& value, const DimensionBindings& bindings) {
  std::map<std::string, int> names;
  lemma::collect_symbols(value, names);
  DimensionBindings all = bindings;
  for (const auto& [name, count] : names) {
    const Pieces* pieces = value_of_symbol(name);
    if (pieces == nullptr || bindings.contains(name)) continue;
    Pieces changed;
    for (const Piece& piece : *pieces)
      changed.push_back({substitute(piece.guard, bindings), substitute(piece.value, bindings)});
    all[name] = as_index(std::move(changed));
  }
  return lemma::substitute(value, all);
}

void collect_all_symbols(const Dimension& value, std::map<std::string, int>& counts) {
  std::map<std::string, int> names;
  lemma::collect_symbols(value, names);
  for (const auto& [name, count] : names) {
    counts[name] += count;
    const Pieces* pieces = value_of_symbol(name);
    if (pieces == nullptr) continue;
    std::set<std::string> inner;
    for (const Piece& piece : *pieces) {
      collect_symbols(piece.guard, counts);
      for (const Term& term : piece.value.terms) collect_names(term, inner);
    }
    for (const std::string& inner_name : inner) ++counts[inner_name];
  }
}

// ---- Integers ----------------------------------------------------------------------------------

namespace {

/// Whole numbers from `least` to `greatest`, which are exact below 2^100.
struct Range {
  long double least = 0, greatest = 0;
};

Range operator+(const Range& a, const Range& b) {
  return {a.least + b.least, a.greatest + b.greatest};
}

Range operator*(const Range& a, const Range& b) {
  const auto [least, greatest] = std::minmax(
      {a.least * b.least, a.least * b.greatest, a.greatest * b.least, a.greatest * b.greatest});
  return {least, greatest};
}

std::optional<Range> range_of(DataType type) {
  if (type == DataType::boolean) return Range{0, 1};
  if (!is_integer(type)) return std::nullopt;
  const int width = bits(type);
  if (is_unsigned_integer(type)) return Range{0, std::ldexp(1.0L, width) - 1};
  return Range{-std::ldexp(1.0L, width - 1), std::ldexp(1.0L, width - 1) - 1};
}

std::optional<Range> range_of(const Polynomial& value, const InputTypes& types);

/// Sizes are below 2^31; of an index that is not a sum of products of them nothing is known.
std::optional<Range> range_of(const Dimension& value) {
  Range sum{static_cast<long double>(value.offset()), static_cast<long double>(value.offset())};
  for (const Dimension::Term& term : value.terms()) {
    const auto coefficient = static_cast<long double>(term.coefficient);
    Range product{coefficient, coefficient};
    for (const Dimension::AtomPointer& atom : term.atoms) {
      if (atom->kind != AtomKind::symbol) return std::nullopt;
      product = product * Range{0, std::ldexp(1.0L, 31)};
    }
    sum = sum + product;
  }
  return sum;
}

std::optional<Range> range_of(const Factor& factor, const InputTypes& types) {
  switch (factor.kind) {
    case Kind::read: return range_of(types(factor.input));
    case Kind::size: return range_of(factor.indices[0]);
    case Kind::opaque: return range_of(factor.type);
    case Kind::maximum: {
      std::optional<Range> result;
      for (const Polynomial& argument : factor.arguments) {
        const auto range = range_of(argument, types);
        if (!range) return std::nullopt;
        result = result ? Range{std::max(result->least, range->least),
                                std::max(result->greatest, range->greatest)}
                        : *range;
      }
      return result;
    }
    case Kind::greatest:
      return factor.inhabited ? range_of(factor.arguments[0], types) : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Range> range_of(const Polynomial& value, const InputTypes& types) {
  Range sum;
  for (const Term& term : value.terms) {
    if (!term.bound.empty()) return std::nullopt;
    const auto coefficient = static_cast<long double>(term.coefficient);
    Range product{coefficient, coefficient};
    for (const FactorPointer& factor : term.factors) {
      const auto range = range_of(*factor, types);
      if (!range) return std::nullopt;
      product = product * *range;
    }
    // A term that has a condition may be 0.
    if (!is_always(term.domain))
      product = {std::min(product.least, 0.0L), std::max(product.greatest, 0.0L)};
    sum = sum + product;
  }
  constexpr long double exact = 1e18L;
  const bool is_exact = value.terms.size() < 2 || (-exact < sum.least && sum.greatest < exact);
  return is_exact ? std::optional(sum) : std::nullopt;
}

}  // namespace

Polynomial opaque(std::string function, std::vector<Polynomial> arguments, DataType type) {
  for (const Polynomial& argument : arguments) refuse_infinity(argument);
  Factor factor;
  factor.kind = Kind::opaque;
  factor.name = std::move(function);
  factor.arguments = std::move(arguments);
  factor.type = type;
  return of_factor(std::move(factor));
}

bool fits(const Polynomial& value, DataType type, const InputTypes& types) {
  const auto has = range_of(value, types), wanted = range_of(type);
  return has && wanted && wanted->least <= has->least && has->greatest <= wanted->greatest;
}

Polynomial wrapped(const Polynomial& value, DataType type, const InputTypes& types) {
  // Sizes and indices are unbounded.
  if (type == DataType::i64 && as_dimension(value)) return value;
  if (fits(value, type, types)) return value;
  return opaque(fmt::format("wrapped_{}", name(type)), {value}, type);
}

}  // namespace lemma::verifier::index
