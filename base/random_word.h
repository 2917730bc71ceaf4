#pragma once
// A counter-based generator: number i of a stream depends on the seed, the stream and i alone, on every machine and in every
// version.

#include <cstdint>

namespace lemma {

/// Word number `counter` of the stream: SplitMix64's output function over a mixed key
/// (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
std::uint64_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter);

}  // namespace lemma
