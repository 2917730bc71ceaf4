#pragma once
// --memory-limit: a number of bytes, or the word for the order that needs the least.

#include <cstdint>
#include <string>

namespace lemma {

inline constexpr const char* least_memory = "least";

/// A check for CLI::Option::check(): empty if the word is a number of bytes, as 65536 or 64M (1024 times 1024 times 64), or
/// `least`.
std::string check_memory_limit(const std::string& word);

/// The bytes of a word that was checked.
std::uint64_t bytes_of(const std::string& word);

}  // namespace lemma
