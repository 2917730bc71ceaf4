#include "cli/number_check.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace lemma {

namespace {

std::optional<double> number_in(const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

}  // namespace

std::string check_positive(const std::string& word) {
  const auto value = number_in(word);
  return value && *value > 0 ? "" : "'" + word + "' is no number above 0";
}

std::string check_non_negative(const std::string& word) {
  const auto value = number_in(word);
  return value && *value >= 0 ? "" : "'" + word + "' is no number from 0 on";
}

}  // namespace lemma
