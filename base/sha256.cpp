#include "base/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#define LEMMA_HAS_SHA_INSTRUCTIONS
#endif

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

void add_blocks_plainly(Words& state, const unsigned char* blocks, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) add_block(state, blocks + 64 * i);
}

#ifdef LEMMA_HAS_SHA_INSTRUCTIONS

bool has_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("sse4.1") != 0 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
         (b & bit_SHA) != 0;
}

/// The same with the SHA extensions of x86 (Intel, "Intel SHA Extensions", 2013), about ten times as fast. The processor keeps
/// the state as the vectors (a, b, e, f) and (c, d, g, h), the first word at the highest place.
__attribute__((target("sha,sse4.1"))) void add_blocks_by_instructions(Words& state,
                                                                      const unsigned char* blocks,
                                                                      std::size_t count) {
  const auto* const round = reinterpret_cast<const __m128i*>(constants().round.data());  // NOLINT
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto word = [&state](std::size_t i) { return static_cast<int>(state[i]); };
  __m128i abef = _mm_set_epi32(word(0), word(1), word(4), word(5));
  __m128i cdgh = _mm_set_epi32(word(2), word(3), word(6), word(7));
  for (std::size_t block = 0; block < count; ++block, blocks += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];  // NOLINT: vectors in an array; the next 16 words of the schedule
    for (std::size_t i = 0; i < 4; ++i)
      w[i] = _mm_shuffle_epi8(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks) + i),  // NOLINT: bytes
          big_endian);
    for (std::size_t i = 0; i < 16; ++i) {
      const __m128i added = _mm_add_epi32(w[i % 4], _mm_loadu_si128(round + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
      const __m128i last = w[(i + 3) % 4];
      const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]),
                                        _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
      w[i % 4] = _mm_sha256msg2_epu32(sum, last);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const auto store = [&state](__m128i words, const std::array<std::size_t, 4>& places) {
    std::array<std::uint32_t, 4> stored{};
    _mm_storeu_si128(reinterpret_cast<__m128i*>(stored.data()), words);  // NOLINT
    for (std::size_t i = 0; i < 4; ++i) state[places[i]] = stored[i];
  };
  store(abef, {5, 4, 1, 0});
  store(cdgh, {7, 6, 3, 2});
}

#endif

using AddBlocks = void (*)(Words&, const unsigned char*, std::size_t);

AddBlocks fastest_way() {
#ifdef LEMMA_HAS_SHA_INSTRUCTIONS
  if (has_sha_instructions()) return add_blocks_by_instructions;
#endif
  return add_blocks_plainly;
}

std::string digest_of(std::string_view bytes, AddBlocks add_blocks) {
  Words state = constants().start;
  const auto* const blocks = reinterpret_cast<const unsigned char*>(bytes.data());  // NOLINT: bytes
  const std::size_t whole = bytes.size() / 64;
  add_blocks(state, blocks, whole);
  std::string padded(bytes.substr(64 * whole));
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift);
  add_blocks(state, reinterpret_cast<const unsigned char*>(padded.data()),  // NOLINT: bytes
             padded.size() / 64);
  std::string result;
  for (const std::uint32_t word : state) result += fmt::format("{:08x}", word);
  return result;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  static const AddBlocks add_blocks = fastest_way();
  return digest_of(bytes, add_blocks);
}

std::string sha256_without_instructions(std::string_view bytes) {
  return digest_of(bytes, add_blocks_plainly);
}

}  // namespace lemma
