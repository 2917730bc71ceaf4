#include "interpreter/random.h"

#include <cstring>

#include "base/random_word.h"
#include "lowering/field.h"

namespace lemma::interpreter {

namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15ULL;

}  // namespace

std::uint64_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  return lemma::random_word(seed, stream, counter);
}

std::uint64_t stream_of(std::string_view name) {
  std::uint64_t state = name.size();
  for (const char c : name) state = mix(state + golden_ratio + static_cast<unsigned char>(c));
  return state;
}

Tensor random_tensor(DataType type, Sizes sizes, std::uint64_t seed, std::uint64_t stream,
                     const RandomRange& range, Domain domain) {
  const auto count = static_cast<std::size_t>(element_count(sizes));
  const auto width = static_cast<std::uint64_t>(range.integer_high) -
                     static_cast<std::uint64_t>(range.integer_low) + 1;
  auto integer = [&](std::size_t i) {
    const std::uint64_t word = random_word(seed, stream, i);
    // The bias of the remainder is below 2^-32 for the widths in use.
    const std::uint64_t offset = width == 0 ? word : word % width;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.integer_low) + offset);
  };
  if (!is_real(type)) {
    std::vector<std::int64_t> elements(count);
    for (std::size_t i = 0; i < count; ++i)
      elements[i] = type == DataType::boolean
                        ? static_cast<std::int64_t>(random_word(seed, stream, i) >> 63)
                        : integer(i);
    return Tensor::from_integers(type, std::move(sizes), elements);
  }
  if (domain == Domain::native || domain == Domain::f64) {
    std::vector<double> elements(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double unit = static_cast<double>(random_word(seed, stream, i) >> 11) * 0x1p-53;
      elements[i] = range.low + (range.high - range.low) * unit;
    }
    return *to_domain(Tensor::from_reals(type, std::move(sizes), elements), domain);
  }
  Tensor result = Tensor::uninitialized(type, std::move(sizes), domain);
  std::byte* out = result.writable_bytes().data();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t word = domain == Domain::prime_field
                                   ? random_word(seed, stream, i) % field_modulus
                                   : static_cast<std::uint64_t>(integer(i));
    std::memcpy(out + i * 8, &word, 8);
  }
  return result;
}

}  // namespace lemma::interpreter
