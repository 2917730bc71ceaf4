#include "cli/memory_limit.h"

#include <CLI/CLI.hpp>

namespace lemma {

std::string check_memory_limit(const std::string& word) {
  if (word == least_memory) return "";
  std::string bytes = word;
  const std::string error = CLI::AsSizeValue(false)(bytes);
  // CLI11 takes a sign.
  const bool begins_right = !word.empty() && '0' <= word.front() && word.front() <= '9';
  return begins_right && error.empty()
             ? ""
             : "'" + word + "' is neither a number of bytes, as 65536 or 64M, nor 'least'";
}

std::uint64_t bytes_of(const std::string& word) {
  std::string bytes = word;
  CLI::AsSizeValue(false)(bytes);
  return std::stoull(bytes);
}

}  // namespace lemma
