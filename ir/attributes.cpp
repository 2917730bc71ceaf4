#include "ir/attributes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

#include <absl/hash/hash.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/quoted.h"

namespace lemma {

AttributeKind kind_of(const AttributeValue& value) {
  if (std::holds_alternative<RealSymbol>(value)) return AttributeKind::real;
  return static_cast<AttributeKind>(value.index());
}

std::string_view name(AttributeKind kind) {
  constexpr std::array<std::string_view, 8> names = {
      "integer", "real", "string", "integers", "reals", "dimensions", "data type", "dimension"};
  return names.at(static_cast<std::size_t>(kind));
}

namespace {

std::string real_text(double value) {
  // The shortest text that reads back exactly, always distinguishable from an integer.
  std::string result = fmt::format("{}", value);
  if (result.find_first_of(".enai") == std::string::npos) result += ".0";
  return result;
}

struct TextOf {
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return real_text(value); }
  std::string operator()(RealSymbol symbol) const { return fmt::format("real<{}>", symbol.rank); }
  std::string operator()(const std::string& value) const { return quote(value); }
  std::string operator()(const Integers& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const Reals& values) const {
    std::vector<std::string> parts(values.size());
    std::transform(values.begin(), values.end(), parts.begin(), real_text);
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  std::string operator()(const Shape& shape) const { return lemma::text(shape); }
  std::string operator()(const Dimension& value) const { return value.text(); }
  std::string operator()(DataType type) const { return std::string(lemma::name(type)); }
};

auto position(auto& values, std::string_view name) {
  return std::lower_bound(
      values.begin(), values.end(), name,
      [](const auto& entry, std::string_view key) { return entry.first < key; });
}

template <typename T>
const T& expect(const Attributes& attributes, std::string_view name) {
  const AttributeValue* value = attributes.find(name);
  const T* typed = value != nullptr ? std::get_if<T>(value) : nullptr;
  if (typed == nullptr)
    throw std::logic_error(fmt::format("attribute '{}' is missing or of another kind", name));
  return *typed;
}

}  // namespace

std::string text(const AttributeValue& value) { return std::visit(TextOf{}, value); }

namespace {

/// The parts of "[a, f(b, c), d]": split at commas outside parentheses and quotes.
std::optional<std::vector<std::string_view>> list_parts(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '"') quoted = !quoted;
    if (i + 1 < text.size() && quoted && text[i] == '\\') ++i;
    if (quoted && i < text.size()) continue;
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      std::string_view part = text.substr(begin, i - begin);
      while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
      while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
      if (!part.empty() || !parts.empty() || i < text.size()) parts.push_back(part);
      begin = i + 1;
    }
  }
  return parts;
}

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename T>
std::optional<std::vector<T>> parse_numbers(std::string_view text) {
  const auto parts = list_parts(text);
  if (!parts) return std::nullopt;
  std::vector<T> values;
  for (const std::string_view part : *parts) {
    const auto value = parse_number<T>(part);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

Result<AttributeValue> parse_dimensions(std::string_view text) {
  const auto parts = list_parts(text);
  if (!parts) return bad_input(fmt::format("'{}' is not a list of dimensions", text));
  Shape shape;
  for (const std::string_view part : *parts) {
    LEMMA_ASSIGN_OR_RETURN(Dimension dimension, parse_dimension(part));
    shape.push_back(std::move(dimension));
  }
  return AttributeValue(std::move(shape));
}

}  // namespace

Result<AttributeValue> parse_attribute_value(AttributeKind kind, std::string_view text) {
  std::optional<AttributeValue> value;
  switch (kind) {
    case AttributeKind::integer: value = parse_number<std::int64_t>(text); break;
    case AttributeKind::real: value = parse_number<double>(text); break;
    case AttributeKind::string: value = unquote(text); break;
    case AttributeKind::integers: value = parse_numbers<std::int64_t>(text); break;
    case AttributeKind::reals: value = parse_numbers<double>(text); break;
    case AttributeKind::dimensions: return parse_dimensions(text);
    case AttributeKind::data_type: value = parse_data_type(text); break;
    case AttributeKind::dimension: {
      LEMMA_ASSIGN_OR_RETURN(Dimension dimension, parse_dimension(text));
      return AttributeValue(std::move(dimension));
    }
  }
  if (!value) return bad_input(fmt::format("'{}' is not of kind {}", text, name(kind)));
  return std::move(*value);
}

Attributes::Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> values) {
  for (const auto& [name, value] : values) set(name, value);
}

void Attributes::set(std::string name, AttributeValue value) {
  auto where = position(values_, name);
  if (where != values_.end() && where->first == name)
    where->second = std::move(value);
  else
    values_.emplace(where, std::move(name), std::move(value));
}

void Attributes::erase(std::string_view name) {
  auto where = position(values_, name);
  if (where != values_.end() && where->first == name) values_.erase(where);
}

const AttributeValue* Attributes::find(std::string_view name) const {
  auto where = position(values_, name);
  return where != values_.end() && where->first == name ? &where->second : nullptr;
}

std::int64_t Attributes::integer(std::string_view name) const {
  return expect<std::int64_t>(*this, name);
}
Real Attributes::real(std::string_view name) const {
  const AttributeValue* value = find(name);
  if (value != nullptr)
    if (const auto* symbol = std::get_if<RealSymbol>(value)) return Real(*symbol);
  return Real(expect<double>(*this, name));
}
bool Attributes::is_zero(std::string_view name) const { return real(name).is_written(0); }
bool Attributes::is_nan(std::string_view name) const {
  const auto* number = std::get_if<double>(find(name));
  return number != nullptr && std::isnan(*number);
}
bool Attributes::is_whole(std::string_view name) const {
  const auto* number = std::get_if<double>(find(name));
  return number != nullptr && std::trunc(*number) == *number && std::abs(*number) <= 0x1p53;
}
double Attributes::number(std::string_view name) const { return expect<double>(*this, name); }
const std::string& Attributes::string(std::string_view name) const {
  return expect<std::string>(*this, name);
}
const Integers& Attributes::integers(std::string_view name) const {
  return expect<Integers>(*this, name);
}
const Reals& Attributes::reals(std::string_view name) const { return expect<Reals>(*this, name); }
const Shape& Attributes::dimensions(std::string_view name) const {
  return expect<Shape>(*this, name);
}
DataType Attributes::data_type(std::string_view name) const {
  return expect<DataType>(*this, name);
}

const Dimension& Attributes::dimension(std::string_view name) const {
  return expect<Dimension>(*this, name);
}

namespace {

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool same(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* real = std::get_if<double>(&a)) return same_bits(*real, std::get<double>(b));
  if (const auto* reals = std::get_if<Reals>(&a))
    return std::equal(reals->begin(), reals->end(), std::get<Reals>(b).begin(),
                      std::get<Reals>(b).end(), same_bits);
  return a == b;
}

}  // namespace

bool operator==(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && same(x.second, y.second);
  });
}

namespace {

struct HashOf {
  std::size_t operator()(double value) const {
    return absl::HashOf(std::bit_cast<std::uint64_t>(value));
  }
  std::size_t operator()(const Reals& values) const {
    std::size_t state = values.size();
    for (const double value : values) state = absl::HashOf(state, (*this)(value));
    return state;
  }
  template <typename T>
  std::size_t operator()(const T& value) const {
    return absl::HashOf(value);
  }
};

}  // namespace

std::size_t Attributes::hash() const {
  std::size_t state = values_.size();
  for (const auto& [name, value] : values_)
    state = absl::HashOf(state, name, value.index(), std::visit(HashOf{}, value));
  return state;
}

std::string text(const Attributes& attributes) {
  if (attributes.empty()) return "";
  std::string result = "{";
  for (const auto& [name, value] : attributes) {
    if (result.size() > 1) result += ", ";
    result += name + "=" + text(value);
  }
  return result + "}";
}

}  // namespace lemma
