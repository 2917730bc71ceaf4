#pragma once
// Sets of classes as rows of bits.

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace lemma::exact {

class BitMatrix {
 public:
  using Word = std::uint64_t;
  using Row = std::span<Word>;
  using ConstRow = std::span<const Word>;

  BitMatrix() = default;
  BitMatrix(std::size_t rows, std::size_t columns, bool value = false)
      : words_((columns + 63) / 64), bits_(rows * words_, value ? ~Word{0} : Word{0}) {}

  std::size_t words() const { return words_; }
  Row operator[](std::size_t row) { return {bits_.data() + row * words_, words_}; }
  ConstRow operator[](std::size_t row) const { return {bits_.data() + row * words_, words_}; }

 private:
  std::size_t words_ = 0;
  std::vector<Word> bits_;
};

inline bool test_bit(BitMatrix::ConstRow row, std::uint32_t i) {
  return (row[i / 64] >> (i % 64) & 1U) != 0;
}
inline void set_bit(BitMatrix::Row row, std::uint32_t i) {
  row[i / 64] |= BitMatrix::Word{1} << (i % 64);
}
inline void add_bits(BitMatrix::Row row, BitMatrix::ConstRow other) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] |= other[i];
}
inline bool intersect(BitMatrix::ConstRow a, BitMatrix::ConstRow b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] & b[i]) != 0) return true;
  return false;
}
template <typename Visit>
void for_each_bit(BitMatrix::ConstRow row, const Visit& visit) {
  for (std::size_t i = 0; i < row.size(); ++i)
    for (BitMatrix::Word word = row[i]; word != 0; word &= word - 1)
      visit(static_cast<std::uint32_t>(i * 64) +
            static_cast<std::uint32_t>(std::countr_zero(word)));
}

}  // namespace lemma::exact
