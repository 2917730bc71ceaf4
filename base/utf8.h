#pragma once
// Shortening of text for people.

#include <string_view>

namespace lemma {

/// The longest beginning of at most so many bytes that ends with a whole character of UTF-8. Bytes that are
/// no UTF-8 count as characters.
std::string_view utf8_prefix(std::string_view text, std::size_t most_bytes);

}  // namespace lemma
