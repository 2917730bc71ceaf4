#pragma once
// SHA-256 (FIPS 180-4): digests that certificates and their checkers agree on.

#include <string>
#include <string_view>

namespace lemma {

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

/// The same, computed without the processor's instructions for it, which are used where there are some: for comparison.
std::string sha256_without_instructions(std::string_view bytes);

}  // namespace lemma
