#include "base/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace lemma {
namespace {

using Words = std::array<std::uint32_t, 8>;

/// The first 32 bits of the fractional part of `root`.
std::uint32_t fraction(long double root) {
  return static_cast<std::uint32_t>((root - std::floor(root)) * 4294967296.0L);
}

/// The constants are defined by the square and cube roots of the first primes.
struct Constants {
  Words start = {};
  std::array<std::uint32_t, 64> round = {};
  Constants() {
    std::size_t count = 0;
    for (std::uint32_t candidate = 2; count < 64; ++candidate) {
      bool prime = true;
      for (std::uint32_t d = 2; d * d <= candidate; ++d) prime = prime && candidate % d != 0;
      if (!prime) continue;
      if (count < 8) start[count] = fraction(std::sqrt(static_cast<long double>(candidate)));
      round[count++] = fraction(std::cbrt(static_cast<long double>(candidate)));
    }
  }
};

const Constants& constants() {
  static const Constants once;
  return once;
}

void add_block(Words& state, const unsigned char* block) {
  const Constants& table = constants();
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 4; ++j) w[i] = w[i] << 8 | block[4 * i + j];
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  Words v = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t first = v[7] +
                                (std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25)) +
                                ((v[4] & v[5]) ^ (~v[4] & v[6])) + table.round[i] + w[i];
    const std::uint32_t second = (std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22)) +
                                 ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    v = {first + second, v[0], v[1], v[2], v[3] + first, v[4], v[5], v[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) state[i] += v[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  std::string padded(bytes);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift);
  Words state = constants().start;
  for (std::size_t i = 0; i < padded.size(); i += 64)
    add_block(state, reinterpret_cast<const unsigned char*>(padded.data()) + i);
  std::string result;
  for (const std::uint32_t word : state) result += fmt::format("{:08x}", word);
  return result;
}

}  // namespace lemma
