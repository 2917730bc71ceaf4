#pragma once
// Serialization of numbers and texts, for messages between processes of one program on machines of
// the same kind.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ranks/ranks.h"

namespace lemma::ranks {

inline void append(std::string& bytes, std::uint64_t number) {
  char text[sizeof number];
  std::memcpy(text, &number, sizeof number);
  bytes.append(text, sizeof number);
}

inline void append_text(std::string& bytes, std::string_view text) {
  append(bytes, text.size());
  bytes += text;
}

/// Reads what was appended, in the same order. The bytes outlive it.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool is_at_end() const { return bytes_.empty(); }
  std::uint64_t number() {
    std::uint64_t result = 0;
    std::memcpy(&result, bytes_.data(), sizeof result);
    bytes_.remove_prefix(sizeof result);
    return result;
  }
  std::string text() {
    const std::size_t size = number();
    std::string result(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return result;
  }
  std::string rest() const { return std::string(bytes_); }

 private:
  std::string_view bytes_;
};

inline std::string to_bytes(const std::vector<std::string>& texts) {
  std::string result;
  append(result, texts.size());
  for (const std::string& text : texts) append_text(result, text);
  return result;
}
inline std::vector<std::string> texts_of(Reader& reader) {
  std::vector<std::string> result(reader.number());
  for (std::string& text : result) text = reader.text();
  return result;
}

inline std::string to_bytes(const std::vector<std::size_t>& numbers) {
  std::string result;
  append(result, numbers.size());
  for (const std::size_t number : numbers) append(result, number);
  return result;
}
inline std::vector<std::size_t> numbers_of(Reader& reader) {
  std::vector<std::size_t> result(reader.number());
  for (std::size_t& number : result) number = reader.number();
  return result;
}

inline std::string to_bytes(const Claim& claim) {
  std::string result;
  append(result, claim.share);
  return result + to_bytes(claim.wanted) + to_bytes(claim.ahead);
}
inline Claim claim_of(Reader& reader) {
  Claim claim;
  claim.share = reader.number();
  claim.wanted = texts_of(reader);
  claim.ahead = texts_of(reader);
  return claim;
}

}  // namespace lemma::ranks
