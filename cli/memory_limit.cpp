#include "cli/memory_limit.h"

#include <CLI/CLI.hpp>

namespace lemma {

std::string check_memory_limit(const std::string& word) {
  if (word == least_memory) return "";
  std::string bytes = word;
  const std::string error = CLI::AsSizeValue(false)(bytes);
  return error.empty()
             ? ""
             : "'" + word + "' is neither a number of bytes, as 65536 or 64M, nor 'least'";
}

std::uint64_t bytes_of(const std::string& word) {
  std::string bytes = word;
  CLI::AsSizeValue(false)(bytes);
  return std::stoull(bytes);
}

}  // namespace lemma
