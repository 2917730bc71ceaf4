#include "cli/number_check.h"

#include <cmath>
#include <optional>

#include "ir/number_text.h"

namespace lemma {

namespace {

std::optional<double> number_in(const std::string& word) {
  const auto value = number_of<double>(word);
  return value && std::isfinite(*value) ? value : std::nullopt;
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
