#include "cli/number_check.h"

#include <cmath>
#include <optional>

#include "base/number_text.h"

namespace lemma {

namespace {

std::optional<double> number_in(const std::string& word) {
  const auto value = number_of<double>(word);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// More than any machine runs at a time, and fewer than where systems refuse to start them.
constexpr double most_at_a_time = 1024;

}  // namespace

std::string check_positive(const std::string& word) {
  const auto value = number_in(word);
  return value && *value > 0 ? "" : "'" + word + "' is no number above 0";
}

std::string check_non_negative(const std::string& word) {
  const auto value = number_in(word);
  return value && *value >= 0 ? "" : "'" + word + "' is no number from 0 on";
}

std::string check_bytes(const std::string& word) {
  const auto value = number_in(word);
  return value && *value >= 0 && *value <= 0x1p62 ? "" : "no number of bytes, such as 64M or 2G";
}

std::string check_threads(const std::string& word) {
  const auto value = number_in(word);
  return value && *value >= 0 && *value <= most_at_a_time
             ? ""
             : "'" + word + "' is no number of threads from 0 (all processors) to 1024";
}

std::string check_processes(const std::string& word) {
  const auto value = number_in(word);
  return value && *value > 0 && *value <= most_at_a_time
             ? ""
             : "'" + word + "' is no number of processes from 1 to 1024";
}

}  // namespace lemma
