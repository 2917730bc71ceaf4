#include "base/utf8.h"

namespace lemma {

namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; }

}  // namespace

std::string_view utf8_prefix(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  constexpr std::size_t longest_character = 4;
  std::size_t end = most_bytes;
  while (end > 0 && most_bytes - end < longest_character && continues(text[end])) --end;
  return text.substr(0, continues(text[end]) ? most_bytes : end);
}

}  // namespace lemma
