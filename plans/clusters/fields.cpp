#include "plans/clusters/fields.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace lemma::clusters {

tl::unexpected<Error> wrong(const Field& field, std::string_view needed) {
  const std::string shown = field.json == nullptr ? "is missing" : "is " + field.json->dump();
  const std::string path = field.path.empty() ? "the file" : field.path;
  return bad_input(fmt::format("{}: {}; {} is needed", path, shown, needed));
}

Field member(const Field& object, const std::string& name) {
  const auto at = object.json->find(name);
  return {at == object.json->end() ? nullptr : &*at,
          object.path.empty() ? name : object.path + "." + name};
}

Field element(const Field& list, std::size_t place) {
  return {&(*list.json)[place], fmt::format("{}[{}]", list.path, place)};
}

Result<void> check_object(const Field& field, std::initializer_list<std::string_view> names) {
  if (field.json == nullptr || !field.json->is_object())
    return wrong(field, fmt::format("an object with {}", fmt::join(names, ", ")));
  for (const auto& [name, value] : field.json->items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      return bad_input(fmt::format("{}: is no field; there are {}", member(field, name).path,
                                   fmt::join(names, ", ")));
  return {};
}

Result<std::size_t> list_size(const Field& field, std::string_view needed) {
  if (field.json == nullptr || !field.json->is_array()) return wrong(field, needed);
  return field.json->size();
}

Result<double> number_above_zero(const Field& field) {
  if (field.json == nullptr || !field.json->is_number()) return wrong(field, "a number above 0");
  const double value = field.json->get<double>();
  if (!std::isfinite(value) || value <= 0) return wrong(field, "a number above 0");
  return value;
}

Result<std::size_t> whole_number(const Field& field, std::size_t least, std::size_t most) {
  const std::string needed = fmt::format("a whole number from {} to {}", least, most);
  if (field.json == nullptr || !field.json->is_number_unsigned()) return wrong(field, needed);
  const auto value = field.json->get<std::uint64_t>();
  if (value < least || value > most) return wrong(field, needed);
  return static_cast<std::size_t>(value);
}

Result<std::string> name_at(const Field& field) {
  if (field.json == nullptr || !field.json->is_string() || field.json->get<std::string>().empty())
    return wrong(field, "a name");
  return field.json->get<std::string>();
}

Result<bool> truth_or_false(const Field& field) {
  if (field.json == nullptr) return false;
  if (!field.json->is_boolean()) return wrong(field, "true or false");
  return field.json->get<bool>();
}

}  // namespace lemma::clusters
