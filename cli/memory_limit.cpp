#include "cli/memory_limit.h"

#include <CLI/CLI.hpp>

namespace lemma {

std::string check_memory_limit(const std::string& word) {
  if (word == least_memory) return "";
  // CLI11 takes a sign, and throws where it does not know a unit.
  bool is_right = !word.empty() && '0' <= word.front() && word.front() <= '9';
  try {
    std::string bytes = word;
    is_right = is_right && CLI::AsSizeValue(false)(bytes).empty();
  } catch (const CLI::ValidationError&) {
    is_right = false;
  }
  return is_right ? ""
                  : "'" + word + "' is neither a number of bytes, as 65536 or 64M, nor 'least'";
}

std::uint64_t bytes_of(const std::string& word) {
  std::string bytes = word;
  CLI::AsSizeValue(false)(bytes);
  return std::stoull(bytes);
}

}  // namespace lemma
