#pragma once
// A checksum of a file's bytes, taken piece by piece. Every change within one word of 8 bytes changes it: each step is
// one to one in the word and in what came before. It is no protection against somebody who wants it to fit.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lemma::weight_checksum {

class Checksum {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; bytes > 0 && filled_ != 0; --bytes) add_byte(*at++);
    for (; bytes >= word_bytes; bytes -= word_bytes, at += word_bytes) {
      std::uint64_t word;
      std::memcpy(&word, at, word_bytes);
      add_word(word);
    }
    for (; bytes > 0; --bytes) add_byte(*at++);
  }

  void add_zeros(std::uint64_t bytes) {
    for (; bytes > 0 && filled_ != 0; --bytes) add_byte(0);
    for (; bytes >= word_bytes; bytes -= word_bytes) add_word(0);
    for (; bytes > 0; --bytes) add_byte(0);
  }

  std::uint64_t value() const {
    Checksum whole = *this;
    while (whole.filled_ != 0) whole.add_byte(0);
    std::uint64_t result = whole.words_;
    for (const std::uint64_t lane : whole.lanes_) result = (result ^ lane) * factor;
    return result ^ (result >> 32);
  }

 private:
  static constexpr std::size_t word_bytes = 8, lane_count = 4;
  static constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;  // odd

  /// Bytes of a word are little-endian, as in memory here.
  void add_byte(unsigned char byte) {
    partial_ |= static_cast<std::uint64_t>(byte) << (8 * filled_);
    if (++filled_ < word_bytes) return;
    add_word(partial_);
    partial_ = 0;
    filled_ = 0;
  }

  void add_word(std::uint64_t word) {
    std::uint64_t& lane = lanes_[words_ % lane_count];
    lane = (lane ^ word) * factor;
    lane ^= lane >> 29;
    ++words_;
  }

  std::uint64_t lanes_[lane_count] = {1, 2, 3, 4};  // so that steps do not wait for one another
  std::uint64_t words_ = 0, partial_ = 0;
  std::size_t filled_ = 0;
};

/// As 16 hexadecimal digits.
inline void write_digits(std::uint64_t value, char* to) {
  for (int i = 15; i >= 0; --i, value >>= 4) to[i] = "0123456789abcdef"[value & 15];
}

}  // namespace lemma::weight_checksum
