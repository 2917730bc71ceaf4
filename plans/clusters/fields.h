#pragma once
// Values of a JSON file as a cluster's description has them: a wrong one is an error that names the field, what it is, and what is
// needed.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace lemma::clusters {

/// A value of the file, and the path of fields that leads to it. No value: it is missing.
struct Field {
  const nlohmann::json* json = nullptr;
  std::string path;
};

tl::unexpected<Error> wrong(const Field& field, std::string_view needed);
Field member(const Field& object, const std::string& name);
Field element(const Field& list, std::size_t place);
/// An object with no other fields than these.
Result<void> check_object(const Field& field, std::initializer_list<std::string_view> names);
Result<std::size_t> list_size(const Field& field, std::string_view needed);
Result<double> number_above_zero(const Field& field);
Result<std::size_t> whole_number(const Field& field, std::size_t least, std::size_t most);
Result<std::string> name_at(const Field& field);
/// What is missing is false.
Result<bool> truth_or_false(const Field& field);

}  // namespace lemma::clusters
