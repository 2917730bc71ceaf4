#pragma once
// SHA-256 (FIPS 180-4): digests that certificates and their checkers agree on.

#include <string>
#include <string_view>

namespace lemma {

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace lemma
