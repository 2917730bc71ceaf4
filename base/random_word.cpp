#include "base/random_word.h"

namespace lemma {

namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15ULL;

}  // namespace

std::uint64_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  const std::uint64_t key = mix(mix(seed + golden_ratio) ^ (stream * golden_ratio));
  return mix(key + (counter + 1) * golden_ratio);
}

}  // namespace lemma
