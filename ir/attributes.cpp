#include "ir/attributes.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <absl/hash/hash.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma {

std::string_view name(AttributeKind kind) {
  constexpr std::array<std::string_view, 7> names = {"integer", "real",       "string",   "integers",
                                                     "reals",   "dimensions", "data type"};
  return names.at(static_cast<std::size_t>(kind));
}

namespace {

std::string real_text(double value) {
  // The shortest text that reads back exactly, always distinguishable from an integer.
  std::string result = fmt::format("{}", value);
  if (result.find_first_of(".enai") == std::string::npos) result += ".0";
  return result;
}

std::string quoted(const std::string& value) {
  std::string result = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\')
      result += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result + "\"";
}

struct TextOf {
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return real_text(value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const Integers& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const Reals& values) const {
    std::vector<std::string> parts(values.size());
    std::transform(values.begin(), values.end(), parts.begin(), real_text);
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  std::string operator()(const Shape& shape) const { return lemma::text(shape); }
  std::string operator()(DataType type) const { return std::string(lemma::name(type)); }
};

auto position(auto& values, std::string_view name) {
  return std::lower_bound(values.begin(), values.end(), name,
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
double Attributes::real(std::string_view name) const { return expect<double>(*this, name); }
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

std::size_t Attributes::hash() const {
  std::size_t state = values_.size();
  for (const auto& [name, value] : values_)
    state = absl::HashOf(state, name, value.index(), lemma::text(value));
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
