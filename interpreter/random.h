#pragma once
// Random tensors that depend only on a seed, on every machine and in every version: a counter-based
// generator (element i depends on seed, stream and i) and our own conversions.

#include <cstdint>
#include <string_view>

#include "interpreter/tensor.h"

namespace lemma::interpreter {

/// Word number `counter` of the stream: SplitMix64's output function over a mixed key
/// (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
std::uint64_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter);

struct RandomRange {
  double low = -1, high = 1;                       // reals are uniform in [low, high)
  std::int64_t integer_low = 0, integer_high = 1;  // integers are uniform in [low, high]
};

/// Any computable type; booleans are 0 or 1. In the exact domains real elements are uniform over
/// the integers of [integer_low, integer_high] (exact_integer) or over all residues (prime_field).
Tensor random_tensor(DataType type, Sizes sizes, std::uint64_t seed, std::uint64_t stream = 0,
                     const RandomRange& range = {}, Domain domain = Domain::native);

/// A stream number for a name.
std::uint64_t stream_of(std::string_view name);

}  // namespace lemma::interpreter
